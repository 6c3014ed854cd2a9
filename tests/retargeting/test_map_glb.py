"""Skinned characters of other programs: they stand as their skin was put on, and walk on it."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import osteon as ost
from characters import mixamo_like
from conftest import real
from glb_files import parts, save
from osteon import synth
from osteon.cli import osteon
from osteon.formats import read, write_character
from osteon.formats.glb.read import Skinned, read_glb_mesh
from osteon.human.standing_figure import figure_at_rest
from osteon.maths import quat
from osteon.pipeline.map_take import map_to
from osteon.posing.contacts import contacts_of

KINDS = {
    "T": {},
    "A": {"spread": 0.9},
    "metres": {"centimetres": False},
    "posed": {"posed": True, "spread": 0.6},
    "posed_metres": {"posed": True, "centimetres": False},
    "ends_are_nodes": {"ends": "nodes"},
    "no_ends": {"ends": "none"},
    "visor": {"visor": True},
    "no_colon": {"prefix": "mixamorig"},
    "details": {"details": True},
    "unreal_A": {"style": "unreal", "spread": 0.8, "details": True},
    "unreal_odd": {"style": "unreal", "posed": True, "spread": 1.2, "ends": "none"},
    "vrm_T": {"style": "vrm", "centimetres": False, "details": True},
    "vrm_odd": {"style": "vrm", "posed": True, "spread": 0.6},
}


@pytest.fixture(scope="module")
def walked():
    return synth.act(synth.human(), synth.walk(2.0), seed=2)


def deformed(skin: Skinned, motion, frame: int) -> np.ndarray:
    """The mesh as glTF has it in a frame."""
    mesh, (turned, joints) = skin.mesh, motion.world()
    assert skin.skeleton.names == motion.skeleton.names
    turns = quat.multiply(turned[frame], quat.inverse(mesh.rotations))
    placed = np.zeros_like(mesh.vertices)
    for bodies, weights in zip(mesh.bodies.T, mesh.weights.T, strict=True):
        arms = quat.rotate(turns[bodies], mesh.vertices - mesh.joints[bodies])
        placed += weights[:, None] * (arms + joints[frame, bodies])
    return placed


def stretch(skin: Skinned, motion) -> tuple[float, float]:
    """Least and most that an edge is stretched against the pose of the skin."""
    edges = np.concatenate([skin.mesh.triangles[:, [0, 1]], skin.mesh.triangles[:, [1, 2]]])

    def lengths(places):
        return np.linalg.norm(places[edges[:, 1]] - places[edges[:, 0]], axis=-1)

    own = lengths(skin.mesh.vertices)
    long = own > 0.02
    every = [
        (lengths(deformed(skin, motion, frame)) / own)[long]
        for frame in range(0, motion.n_frames, 12)
    ]
    return float(np.min(every)), float(np.max(every))


def feet_off_travel(motion) -> np.ndarray:
    """(2, n_frames) degrees between each foot's heading and the way that the root goes."""
    figure, (turned, joints) = figure_at_rest(motion.skeleton), motion.world()
    way = joints[-1, 0] - joints[0, 0]
    found = []
    for side in ("left", "right"):
        foot, end = figure.joint(f"{side}_foot"), figure.end(f"{side}_foot")
        assert end is not None
        body = motion.skeleton.index(figure.parts[f"{side}_foot"])
        heading = quat.rotate(quat.inverse(figure.rotations[body]), end - foot)
        heading = quat.rotate(turned[:, body], heading)
        turn = np.arctan2(heading[:, 1], heading[:, 0]) - np.arctan2(way[1], way[0])
        found.append(np.degrees(np.abs(np.angle(np.exp(1j * turn)))))
    return np.array(found)


def stood(contacts, n_frames: int) -> np.ndarray:
    """(2, n_frames) whether each foot touches the ground, left first."""
    on = np.zeros((2, n_frames), dtype=bool)
    for contact in contacts:
        side = int("right" in contact.body.lower() or "_R_" in contact.body or "_r" in contact.body)
        on[side, contact.frames[0] : contact.frames[1] + 1] = True
    return on


@pytest.mark.parametrize("kind", KINDS)
def test_a_character_stands_as_its_skin_was_put_on(tmp_path, kind):
    """Upright and level, left on its left, in metres, whatever its nodes do."""
    path = mixamo_like(tmp_path / "hero.glb", **KINDS[kind])
    figure = figure_at_rest(read(path).skeleton())
    up = figure.axes()[:, 2]
    # shoulders are 3 cm behind the hips and 50 cm above them
    assert up == pytest.approx([0.0, 0.0, 1.0], abs=0.07)
    # y up, facing z; in our world that faces −y, whose left is x
    assert figure.axes()[:, 0] == pytest.approx([0.0, -1.0, 0.0], abs=0.07)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        sole, foot = figure.sole(side), figure.joint(f"{side}_foot")
        assert sole is not None
        assert sole[:, 0] == pytest.approx([0.0, -1.0, 0.0], abs=0.15)  # toes 1 cm out, flesh 2
        hips = figure.middle("thigh")
        assert hips is not None
        assert foot - hips == pytest.approx([sign * 0.09, 0.02, -0.84], abs=1e-4)


@pytest.mark.parametrize("posed", [False, True])
def test_all_skins_of_a_character_are_read(tmp_path, posed):
    """A small one that comes first, with a joint that the body's has not and numbers of another
    size, is worn where it belongs."""
    path = mixamo_like(tmp_path / "hero.glb", visor=True, posed=posed)
    plain = read_glb_mesh(mixamo_like(tmp_path / "plain.glb", posed=posed))
    skin = read_glb_mesh(path)
    assert isinstance(skin, Skinned) and isinstance(plain, Skinned)
    assert set(skin.skeleton.names) - set(plain.skeleton.names) == {"LeftEye"}
    head = skin.skeleton.index("mixamorig:Head")
    assert skin.skeleton.bodies[skin.skeleton.index("LeftEye")].parent == "mixamorig:Head"
    n_own = len(plain.mesh.vertices)
    np.testing.assert_allclose(skin.mesh.vertices[:n_own], plain.mesh.vertices, atol=1e-5)
    visor = skin.mesh.vertices[n_own:] - skin.mesh.joints[head]
    assert np.linalg.norm(visor, axis=-1) == pytest.approx([0.02] * 3, abs=1e-5)
    assert skin.mesh.bodies[n_own, 0] == head


@pytest.mark.parametrize("kind", KINDS)
def test_a_motion_walks_on_a_character(tmp_path, walked, kind):
    path = mixamo_like(tmp_path / "hero.glb", **KINDS[kind])
    mapped = map_to(ost.Take(motions=(walked.motion,)), path)
    # the performer's own feet head where they go; the character's toes point 5° outwards
    assert feet_off_travel(mapped.motion).max() < 15.0
    skin = read_glb_mesh(path)
    assert isinstance(skin, Skinned)
    least, most = stretch(skin, mapped.motion)
    assert least > 0.5 and most < 2.0
    n_frames = walked.motion.n_frames
    own = stood(contacts_of(walked.motion), n_frames)
    assert own.any()
    assert np.mean(own == stood(mapped.contacts, n_frames)) > 0.9


def test_the_character_comes_out_with_its_mesh(tmp_path, walked):
    """Onto a character, and where only its feet are mended."""
    hero, walk = mixamo_like(tmp_path / "hero.glb"), tmp_path / "walk.bvh"
    ost.write(walked.motion, walk)
    first, again = tmp_path / "first", tmp_path / "again"
    run = CliRunner()
    arguments = ["map", str(walk), "--skeleton", str(hero), "-o", str(first)]
    assert run.invoke(osteon, arguments).exit_code == 0
    moved = ["map", str(first / "motion.glb"), "--feet-only", "-o", str(again)]
    assert run.invoke(osteon, moved).exit_code == 0
    own = parts(hero)[0]
    for folder, names in ((first, ["walk"]), (again, ["walk", "motion"])):
        found = parts(folder / "motion.glb")[0]
        assert found["meshes"] == own["meshes"] and found["skins"] == own["skins"]
        assert [each["name"] for each in found["animations"]] == names


def test_markers_move_a_character(tmp_path):
    take = synth.perform(synth.human(), synth.walk(1.2), noise=0.001, seed=4)
    path = mixamo_like(tmp_path / "hero.glb", **KINDS["posed"])
    mapped = map_to(ost.Take(recordings=(take.recording,)), path)
    assert feet_off_travel(mapped.motion).max() < 15.0
    own = stood(take.truth.contacts, take.recording.n_frames)
    assert np.mean(own == stood(mapped.contacts, take.recording.n_frames)) > 0.9


@pytest.mark.parametrize("version", [0, 1])
def test_a_vrm_tells_which_bone_is_which(tmp_path, walked, version):
    """Whatever its nodes are called, and they keep their names."""
    document, numbers = parts(mixamo_like(tmp_path / "plain.glb", style="vrm", centimetres=False))
    for index, node in enumerate(document["nodes"]):
        node["name"] = f"Bone.{index:03d}"
    if version == 0:
        told = document.pop("extensions")["VRMC_vrm"]["humanoid"]["humanBones"]
        bones = [{"bone": bone} | each for bone, each in told.items()]
        document["extensions"] = {"VRM": {"humanoid": {"humanBones": bones}}}
        document["extensionsUsed"] = ["VRM"]
    hero = save(tmp_path / "hero.vrm", document, numbers)
    mapped = map_to(ost.Take(motions=(walked.motion,)), hero)
    assert feet_off_travel(mapped.motion).max() < 15.0
    write_character(tmp_path / "moved.glb", hero, mapped.motion, "walk")
    moved = parts(tmp_path / "moved.glb")[0]
    assert [n["name"] for n in moved["nodes"]] == [n["name"] for n in document["nodes"]]
    assert [each["name"] for each in moved["animations"]] == ["walk"]


@pytest.mark.parametrize("source", ["markers", "poses"])
@pytest.mark.parametrize("kind", ["T", "unreal_A", "no_ends"])
def test_flesh_stands_on_the_ground(tmp_path, walked, kind, source):
    """Neither bones nor markers say how thick a foot is: its mesh does."""
    path = mixamo_like(tmp_path / "hero.glb", **KINDS[kind])
    take = synth.perform(synth.human(), synth.walk(1.2), noise=0.001, seed=4)
    given = ost.Take(recordings=(take.recording,))
    mapped = map_to(given if source == "markers" else ost.Take(motions=(walked.motion,)), path)
    skin = read_glb_mesh(path)
    assert isinstance(skin, Skinned)
    frames = range(0, mapped.motion.n_frames, 4)
    names = np.char.lower(skin.skeleton.names)
    feet = [
        body for body, name in enumerate(names) if any(w in name for w in ("foot", "toe", "ball"))
    ]
    own = np.isin(skin.mesh.bodies[:, 0], feet)
    lowest = np.array([deformed(skin, mapped.motion, frame)[own, 2].min() for frame in frames])
    # the performer's ground is at 0; a 2 cm crosspiece is all the flesh that these feet have, and
    # its corners turn below the sole while a foot rolls
    assert np.abs(np.median(lowest)) < 0.01
    assert np.mean(np.abs(lowest) < 0.015) > 0.8


@pytest.mark.parametrize("name", ["CesiumMan", "RiggedFigure"])
def test_khronos_characters_walk_forwards(name):
    """Numbered joints, bones along z, no ends of limbs but those of the flesh."""
    path = real(f"characters/{name}.glb")
    mapped = map_to(real("cmu-02/02_01.bvh"), path)
    assert np.median(feet_off_travel(mapped.motion)) < 15.0
    assert len({contact.body for contact in mapped.contacts}) == 2
    skin = read_glb_mesh(Path(path))
    assert isinstance(skin, Skinned)
    # the man's own walk stretches some of his edges as well
    assert stretch(skin, mapped.motion)[1] < max(2.0, stretch(skin, read(path).motion())[1])


def pitch(motion, part: str) -> np.ndarray:
    """(n_frames,) degrees that a part looks up, against its rest pose."""
    figure, turned = figure_at_rest(motion.skeleton), motion.world()[0]
    body = motion.skeleton.index(figure.parts[part])
    forward = quat.rotate(quat.inverse(figure.rotations[body]), figure.axes()[:, 0])
    return np.degrees(np.arcsin(quat.rotate(turned[:, body], forward)[:, 2]))


@pytest.mark.parametrize("onto", ["T", "02.asf"])
def test_markers_do_not_hunch_a_neck(tmp_path, onto):
    """Its neck is not as long as the performer's: the head looks where the performer's does, and
    the neck stays between chest and head."""
    if onto == "T":
        take = synth.perform(synth.human(), synth.walk(1.2), noise=0.001, seed=4)
        source, performer = ost.Take(recordings=(take.recording,)), take.truth.motion
        path = mixamo_like(tmp_path / "hero.glb")
    else:
        source, path = ost.read(real("cmu-02/02_01.c3d")), real("cmu-02/02.asf")
        performer = ost.solve(source)[0].motion
    motion = map_to(source, path).motion
    off = pitch(motion, "head") - pitch(performer, "head")
    assert np.abs(np.median(off)) < 7.0  # where the calibrated performer's head is level
    chest, neck, head = (np.median(pitch(motion, part)) for part in ("chest", "neck", "head"))
    assert min(chest, head) - 7.0 < neck < max(chest, head) + 7.0


def test_places_in_whole_numbers_are_places(tmp_path):
    """Meshes that were made small: millimetres as short integers, the skin says how long they
    are."""
    path = mixamo_like(tmp_path / "hero.glb", centimetres=False)
    plain = read_glb_mesh(path)
    document, numbers = parts(path)
    attributes = document["meshes"][0]["primitives"][0]["attributes"]
    at = attributes["POSITION"]
    view = document["bufferViews"][document["accessors"][at]["bufferView"]]
    start, size = view["byteOffset"], view["byteLength"]
    vertices = np.frombuffer(numbers[start : start + size], "<f4").reshape(-1, 3)
    short = np.pad(np.rint(1e3 * vertices).astype("<i2"), ((0, 0), (0, 1)))
    numbers = bytearray(numbers)
    numbers[start : start + short.nbytes] = short.tobytes()
    view |= {"byteLength": short.nbytes, "byteStride": 8}
    document["accessors"][at] |= {"componentType": 5122}
    for end in ("min", "max"):
        del document["accessors"][at][end]
    told = document["accessors"][document["skins"][0]["inverseBindMatrices"]]
    told = document["bufferViews"][told["bufferView"]]
    start, size = told["byteOffset"], told["byteLength"]
    binds = np.frombuffer(bytes(numbers[start : start + size]), "<f4").reshape(-1, 4, 4).copy()
    binds[:, :3] *= 1e-3  # columns that the mesh's axes become
    numbers[start : start + size] = binds.tobytes()
    small = read_glb_mesh(save(tmp_path / "small.glb", document, bytes(numbers)))
    assert isinstance(plain, Skinned) and isinstance(small, Skinned)
    np.testing.assert_allclose(small.mesh.vertices, plain.mesh.vertices, atol=1e-3)
