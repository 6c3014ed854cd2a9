"""Meshes told in limb frames: they stay on their limbs, and fit people of other sizes."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from test_figure import bone_middles, windings

from glb_files import khronos, parts
from osteon import synth
from osteon.anatomy.limb_frames import normalise
from osteon.cli import osteon
from osteon.errors import FormatError, NotEnoughData, UnknownName
from osteon.formats import read, write, write_skinned
from osteon.formats.glb.read import Skinned
from osteon.formats.glb.schema import Gltf, pack
from osteon.formats.obj import Triangles, read_obj
from osteon.formats.shared.standing_pose import stood
from osteon.maths import quat
from osteon.skinning.body_skin import make_skin
from osteon.skinning.wear_meshes import (
    bind_mesh,
    dress_limbs,
    fit_skin,
    match_bodies,
    read_mesh,
    read_meshes,
)
from osteon.values import Body, Joint, Skeleton

ROD = "# a rod along the limb\nv 0 0 -0.5\nv 0.1 0 0\nv 0 0 0.5\nv -0.1 0 0\nf 1 2 3 4\n"


@pytest.fixture
def rods(tmp_path):
    folder = tmp_path / "meshes"
    folder.mkdir()
    for name in ("left_thigh", "right_forearm", "head"):
        (folder / f"{name}.obj").write_text(ROD)
    return folder


def acted(height):
    return synth.act(synth.human(height), synth.exercise(10), seed=1).motion


@pytest.mark.parametrize("height", [1.2, 1.75])
def test_a_mesh_reaches_from_joint_to_joint(rods, height):
    found = normalise(acted(height))
    mesh, rig = dress_limbs(found, read_meshes(rods)), found.rig()
    thigh = rig.skeleton.index("left_thigh")
    worn = mesh.vertices[mesh.bodies[:, 0] == thigh]
    assert np.ptp(worn[:, 2]) == pytest.approx(0.42 * height / 1.75)
    # in the rest pose all frames are parallel: the rod's upper end is the hip, where the node sits
    hip = sum(rig.skeleton.offsets[i] for i in (0, thigh))
    assert np.linalg.norm(worn - hip, axis=-1).min() < 1e-9
    np.testing.assert_allclose(np.linalg.norm(mesh.normals(), axis=-1), 1.0)


def test_command_line(tmp_path, rods):
    write(acted(1.75), tmp_path / "take.osteon")
    args = ["normalise", str(tmp_path / "take.osteon"), "-o", str(tmp_path), "--meshes", str(rods)]
    done = CliRunner().invoke(osteon, args)
    assert done.exit_code == 0, done.output
    back = read(tmp_path / "dressed.glb").motion()
    joints = acted(1.75).world()[1]
    order = [back.skeleton.index(name) for name in synth.human().names]
    np.testing.assert_allclose(back.world()[1][:, order], joints, atol=1e-5)


def test_what_cannot_be_worn_is_refused(tmp_path, rods):
    (rods / "left_wing.obj").write_text(ROD)
    with pytest.raises(UnknownName, match="left_wing"):
        dress_limbs(normalise(acted(1.75)), read_meshes(rods))
    with pytest.raises(NotEnoughData, match="holds no mesh"):
        read_meshes(tmp_path)
    for text in ("v 1 2 3\n", "v 1 2\nf 1 1 1\n", "v 1 2 3\nf 1 2 9\n", "v a b c\n"):
        (tmp_path / "bad.obj").write_text(text)
        with pytest.raises(FormatError):
            read_obj(tmp_path / "bad.obj")


# -- one skin over the whole body ---------------------------------------------------------------


def obj_of(skin, path):
    """The skin's rest pose as OBJ: y up, facing z, in centimetres somewhere else."""
    x, y, z = 100.0 * skin.vertices.T  # synth's people look along y
    lines = [f"v {a:.6f} {b:.6f} {c:.6f}" for a, b, c in zip(-x + 5.0, z, y, strict=True)]
    lines += ["f " + " ".join(str(corner + 1) for corner in face) for face in skin.triangles]
    path.write_text("\n".join(lines))


def lifted(motion, degrees=90.0):
    """A skin put on with the arms lifted."""
    rest = quat.identity((len(motion.skeleton.bodies),)).copy()
    for name, sign in (("left_upper_arm", 1.0), ("right_upper_arm", -1.0)):
        turn = np.array([0.0, sign * np.radians(degrees), 0.0])
        rest[motion.skeleton.index(name)] = quat.exp(turn)
    return make_skin(motion.skeleton, rest)


def stretched(skin, motion, frames):
    """Longest edge of the moved skin by its length at rest, for edges of 5 mm and more."""
    rotations, joints = motion.world()
    first, second = skin.triangles[:, [0, 1]].T
    rest = np.linalg.norm(skin.vertices[first] - skin.vertices[second], axis=-1)
    worst = 0.0
    for frame in frames:
        moved = skin.moved(rotations[frame], joints[frame])
        edges = np.linalg.norm(moved[first] - moved[second], axis=-1)
        worst = max(worst, float((edges / rest)[rest > 5e-3].max()))
    return worst


@pytest.mark.parametrize("height", [1.2, 1.75])
@pytest.mark.parametrize("kind", ["glb", "obj"])
def test_one_skin_fits_other_people(tmp_path, kind, height):
    """Made for a person of 1.6 m, worn by others: their bones lie in it, and it does not tear."""
    first = acted(1.6)
    skin = lifted(first)
    path = tmp_path / f"skin.{kind}"
    if kind == "glb":
        write_skinned(path, first, skin)
    else:
        obj_of(skin, path)
    other = acted(height)
    found, mesh = normalise(other), read_mesh(path)
    worn = fit_skin(mesh, found) if isinstance(mesh, Skinned) else bind_mesh(mesh, found)
    rotations, joints = other.world()
    for frame in range(0, other.n_frames, 200):
        moved = worn.moved(rotations[frame], joints[frame])
        middles = bone_middles(other.skeleton, joints[frame])
        assert (windings(middles, moved, worn.triangles) > 0.9).all()
    # a skin made for the person stretches 2.3 times; with one body a vertex, as a torn one, 9.7
    assert stretched(worn, other, range(0, other.n_frames, 100)) < 4.0


def test_limbs_of_a_fitted_skin_have_the_other_person_s_lengths(tmp_path):
    first, other = acted(1.2), acted(1.8)
    write_skinned(tmp_path / "skin.glb", first, lifted(first))
    mesh = read_mesh(tmp_path / "skin.glb")
    assert isinstance(mesh, Skinned)
    worn = fit_skin(mesh, normalise(other))
    for name in ("left_shin", "right_forearm"):
        sizes = [
            np.ptp(skin.vertices[(skin.bodies[:, 0] == body) & (skin.weights[:, 0] > 0.9)], axis=0)
            for skin, body in (
                (mesh.mesh, mesh.skeleton.index(name)),
                (worn, other.skeleton.index(name)),
            )
        ]
        assert np.max(sizes[1]) / np.max(sizes[0]) == pytest.approx(1.5, rel=0.02)


def test_a_skin_of_other_names_goes_to_the_same_parts(tmp_path):
    """As animators call them; fingers that the rig does not have go with the hand."""
    names = {"left_thigh": "mixamorig:LeftUpLeg", "left_shin": "mixamorig:LeftLeg"}
    names |= {"pelvis": "mixamorig:Hips", "left_foot": "mixamorig:LeftFoot"}
    first = acted(1.6)
    bodies = [
        replace(
            body,
            name=names.get(body.name, body.name),
            parent=names.get(str(body.parent), body.parent),
        )
        for body in first.skeleton.bodies
    ]
    thumb = Body("left_thumb", "left_hand", Joint(in_parent=np.array([0.0, 0.02, -0.05])))
    renamed = Skeleton((*bodies, thumb))
    partners = match_bodies(renamed, first.skeleton)
    np.testing.assert_array_equal(partners, [*range(len(bodies)), -1])
    strange = Skeleton(tuple(Body(f"x{i}", None if i == 0 else "x0") for i in range(5)))
    with pytest.raises(NotEnoughData, match="name 4 or more of them alike"):
        match_bodies(strange, first.skeleton)


def test_vertices_at_one_place_get_the_same_weights(tmp_path):
    """Texture seams double vertices; they must not open."""
    motion = acted(1.75)
    skin = lifted(motion)
    double = Triangles(
        skin.vertices[skin.triangles].reshape(-1, 3), np.arange(skin.triangles.size).reshape(-1, 3)
    )
    worn = bind_mesh(double, normalise(motion))
    first = np.unique(skin.triangles.reshape(-1), return_index=True)[1][skin.triangles.reshape(-1)]
    np.testing.assert_array_equal(worn.weights, worn.weights[first])
    np.testing.assert_array_equal(worn.bodies, worn.bodies[first])


def test_one_skin_on_the_command_line(tmp_path):
    write(acted(1.75), tmp_path / "take.osteon")
    first = acted(1.3)
    write_skinned(tmp_path / "skin.glb", first, lifted(first))
    obj_of(lifted(first), tmp_path / "skin.obj")
    for skin in ("skin.glb", "skin.obj"):
        args = ["normalise", str(tmp_path / "take.osteon"), "-o", str(tmp_path / "out")]
        done = CliRunner().invoke(osteon, [*args, "--meshes", str(tmp_path / skin)])
        assert done.exit_code == 0, done.output
        back = read(tmp_path / "out" / "dressed.glb").motion()
        np.testing.assert_allclose(back.world()[1], acted(1.75).world()[1], atol=1e-5)
        report = khronos(tmp_path / "out" / "dressed.glb")[0]
        assert report["issues"]["messages"] == []


@pytest.mark.parametrize("change", ["meshes", "weights", "joints"])
def test_a_broken_skin_is_refused(tmp_path, change):
    first = acted(1.3)
    write_skinned(tmp_path / "skin.glb", first, lifted(first))
    gltf, binary = parts(tmp_path / "skin.glb")
    attributes = gltf["meshes"][0]["primitives"][0]["attributes"]
    if change == "meshes":
        gltf["nodes"][-1].pop("mesh")
    elif change == "weights":
        attributes.pop("WEIGHTS_0")
    else:
        gltf["skins"][0]["joints"] = gltf["skins"][0]["joints"][:3]
    (tmp_path / "bad.glb").write_bytes(pack(msgspec.convert(gltf, Gltf), binary))
    with pytest.raises(FormatError, match=r"bad\.glb"):
        read_mesh(tmp_path / "bad.glb")


def test_a_skin_of_another_program_is_read_in_its_own_world(tmp_path):
    """Without our extras, in centimetres below a node that scales: the same mesh, upright."""
    first = acted(1.6)
    skin = lifted(first)
    write_skinned(tmp_path / "ours.glb", first, skin)
    gltf, binary = parts(tmp_path / "ours.glb")
    gltf["asset"].pop("extras")
    for node in gltf["nodes"]:
        node.pop("extras", None)
    gltf["nodes"][0]["scale"] = [0.01, 0.01, 0.01]
    for node in gltf["nodes"][1:-1]:
        node["translation"] = [100.0 * x for x in node.get("translation", [0.0, 0.0, 0.0])]
    data = bytearray(binary)
    view = gltf["bufferViews"][
        gltf["accessors"][gltf["skins"][0]["inverseBindMatrices"]]["bufferView"]
    ]
    start, size = view["byteOffset"], view["byteLength"]
    inverse = np.frombuffer(binary, "<f4", size // 4, start).reshape(-1, 4, 4).copy()
    inverse[:, :, :3] *= 100.0  # columns: metres of the mesh to centimetres of the bones
    data[start : start + size] = inverse.astype("<f4").tobytes()
    gltf["animations"] = []
    (tmp_path / "theirs.glb").write_bytes(pack(msgspec.convert(gltf, Gltf), bytes(data)))
    mesh = read_mesh(tmp_path / "theirs.glb")
    assert isinstance(mesh, Skinned)
    bound = stood(first.skeleton, skin)  # on the ground, as files have it
    np.testing.assert_allclose(mesh.mesh.vertices, bound.vertices, atol=1e-5)
    np.testing.assert_allclose(mesh.mesh.joints, bound.joints, atol=1e-5)
    other = acted(1.8)
    worn = fit_skin(mesh, normalise(other))
    rotations, joints = other.world()
    moved = worn.moved(rotations[300], joints[300])
    middles = bone_middles(other.skeleton, joints[300])
    assert (windings(middles, moved, worn.triangles) > 0.9).all()
