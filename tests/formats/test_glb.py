"""GLB: the Khronos validator is content, joints come back where they were, foreign files read."""

import base64
import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from conftest import assert_rotations_close
from glb_files import khronos, parts
from osteon.errors import BadValue, FormatError, NotEnoughData, OsteonError, WrongContent
from osteon.formats import read, write
from osteon.formats.glb.read import read_glb
from osteon.formats.glb.write import bone_mesh
from osteon.formats.own.skeleton_json import skeleton_text
from osteon.maths import quat
from osteon.values import Body, Joint, Mark, Motion, Skeleton, Take
from rigs import hinge_chain, human, move, single_body
from whole_values import assert_same

RIGS = {"human": human(), "hinges": hinge_chain(), "single": single_body()}
RIGS["many"] = hinge_chain(300)  # joints no longer fit into a byte
TOLERANCE = 1e-5
"""Metres. float32 keeps 2.4e-7 at 3 m, and a turn of 6e-8 moves the end of 2 m of bones 1.2e-7;
300 links of 0.3 m add up to 90 m, whose far end moves 5e-6."""


def test_the_khronos_validator_finds_nothing(tmp_path):
    """No error, warning, information or hint, for trees, chains and lone bodies."""
    for name, skeleton in RIGS.items():
        for n_frames in (0, 1, 2, 60):
            write(move(skeleton, n_frames), tmp_path / f"{name}_{n_frames}.glb")
        write(skeleton, tmp_path / f"{name}_still.glb")
    stretching = move(human(), 20, offsets=np.random.default_rng(1).normal(size=(20, 17, 3)))
    write(stretching, tmp_path / "stretching.glb")
    paths = sorted(tmp_path.iterdir())
    assert len(paths) == 21
    for path, report in zip(paths, khronos(*paths), strict=True):
        assert report["issues"]["messages"] == [], path.name
        assert report["info"]["hasSkins"]


@pytest.mark.parametrize("name", RIGS)
@pytest.mark.parametrize("n_frames", [0, 1, 2, 60])
def test_joints_come_back_where_they_were(tmp_path, name, n_frames):
    motion = move(RIGS[name], n_frames)
    write(motion, tmp_path / "a.glb")
    back = read(tmp_path / "a.glb").motion()
    assert (back.rate, back.n_frames, back.offsets) == (motion.rate, n_frames, None)
    for ours, theirs in zip(motion.world(), back.world(), strict=True):
        assert ours.shape == theirs.shape
    np.testing.assert_allclose(back.world()[1], motion.world()[1], atol=TOLERANCE, rtol=0)
    assert_rotations_close(back.rotations, motion.rotations, 1e-6)


def test_the_skeleton_comes_back_whole(tmp_path):
    """Kinds, limits, markers, tips and frames away from the joint travel in ``extras``."""
    marks = (Mark("strike", 0.25, "Left"),)
    motion = move(human(), 10, marks=marks, held=(3,), history=("solved",))
    write(motion, tmp_path / "a.glb")
    back = read(tmp_path / "a.glb").motion()
    assert_same(back.skeleton, motion.skeleton)
    assert (back.marks, back.held, back.history) == (marks, (3,), ("solved",))
    assert (back.source.format, back.source.up, back.source.problems) == ("GLB", "y", ())


def test_a_skeleton_alone_comes_back(tmp_path):
    write(human(), tmp_path / "a.glb")
    take = read(tmp_path / "a.glb")
    assert take.kinds == ("skeleton",)
    assert skeleton_text(take.skeleton()) == skeleton_text(human())


def test_bones_that_stretch_come_back(tmp_path, rng):
    motion = move(human(), 30)
    offsets = motion.skeleton.offsets + rng.normal(size=(30, 17, 3)) * 0.01
    motion = replace(motion, offsets=offsets)
    write(motion, tmp_path / "a.glb")
    back = read(tmp_path / "a.glb").motion()
    np.testing.assert_allclose(back.world()[1], motion.world()[1], atol=TOLERANCE, rtol=0)
    assert_same(back.skeleton, motion.skeleton)


def test_several_roots_come_back(tmp_path, rng):
    bodies = (Body("a", None), Body("b", None), Body("c", "b", Joint("ball", (0, 0, 1))))
    motion = move(Skeleton(bodies), 8, offsets=rng.normal(size=(8, 3, 3)))
    write(motion, tmp_path / "a.glb")
    back = read(tmp_path / "a.glb").motion()
    assert back.skeleton.parents == (-1, -1, 1)
    np.testing.assert_allclose(back.world()[1], motion.world()[1], atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("rate", [24.0, 59.94, 120.0, 1000 / 3, 2000.0])
def test_the_rate_comes_back_exactly(tmp_path, rate):
    write(move(single_body(), 500, rate), tmp_path / "a.glb")
    assert read(tmp_path / "a.glb").motion().rate == rate


def test_the_same_motion_gives_the_same_bytes(tmp_path):
    for name in "ab":
        write(move(human(), 20), tmp_path / f"{name}.glb")
    assert (tmp_path / "a.glb").read_bytes() == (tmp_path / "b.glb").read_bytes()


# -- what is inside a written file --------------------------------------------------------------


def floats(gltf: dict, binary: bytes, accessor: int) -> np.ndarray:
    """An accessor's numbers, read with nothing of our own reader."""
    about = gltf["accessors"][accessor]
    view = gltf["bufferViews"][about["bufferView"]]
    width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}[about["type"]]
    start = view.get("byteOffset", 0)
    assert start % 4 == 0
    return np.frombuffer(binary, "<f4", about["count"] * width, start).reshape(-1, width)


def test_nodes_sit_at_joints_and_turn_with_bodies(tmp_path):
    """Markers are at ``node place + node rotation · bone_axes⁻¹ · (position − in_body)``, y up."""
    motion = move(human(), 12)
    write(motion, tmp_path / "a.glb")
    gltf, binary = parts(tmp_path / "a.glb")
    names = [node["name"] for node in gltf["nodes"]]
    assert [names[joint] for joint in gltf["skins"][0]["joints"]] == list(motion.skeleton.names)
    rotations, places = scene_poses(gltf, binary, frame=7)
    up = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])  # (x, y, z) → (x, z, −y)
    for index, body in enumerate(motion.skeleton.bodies):
        node = names.index(body.name)
        q, p = (value[7, index] for value in motion.world())
        np.testing.assert_allclose(places[node], up @ p, atol=TOLERANCE)
        axes = quat.to_matrix(np.array(gltf["nodes"][node]["extras"]["osteon"]["bone_axes"]))
        np.testing.assert_allclose(rotations[node] @ axes.T, up @ quat.to_matrix(q), atol=1e-5)


def scene_poses(gltf: dict, binary: bytes, frame: int) -> tuple[dict, dict]:
    """World rotation matrices and places of all nodes, by the letter of glTF."""
    local = {}
    for index, node in enumerate(gltf["nodes"]):
        local[index] = (node.get("rotation", [0, 0, 0, 1]), node.get("translation", [0, 0, 0]))
    animation = gltf["animations"][0]
    for channel in animation["channels"]:
        values = floats(gltf, binary, animation["samplers"][channel["sampler"]]["output"])[frame]
        q, p = local[channel["target"]["node"]]
        rotates = channel["target"]["path"] == "rotation"
        local[channel["target"]["node"]] = (values, p) if rotates else (q, values)
    rotations, places = {}, {}

    def visit(index: int, turn: np.ndarray, place: np.ndarray) -> None:
        (x, y, z, w), p = local[index]
        places[index] = place + turn @ p
        rotations[index] = turn @ quat.to_matrix(np.array([w, x, y, z], dtype=float))
        for child in gltf["nodes"][index].get("children", []):
            visit(child, rotations[index], places[index])

    for root in gltf["scenes"][0]["nodes"]:
        visit(root, np.eye(3), np.zeros(3))
    return rotations, places


def test_the_bind_pose_only_turns_the_mesh_up(tmp_path):
    """Joint · inverse bind is the turn from z up to y up at rest, for every joint."""
    write(human(), tmp_path / "a.glb")
    gltf, binary = parts(tmp_path / "a.glb")
    gltf["animations"] = [{"channels": []}]
    rotations, places = scene_poses(gltf, binary, 0)
    skin = gltf["skins"][0]
    inverse = floats(gltf, binary, skin["inverseBindMatrices"]).reshape(-1, 4, 4)
    for joint, columns in zip(skin["joints"], inverse, strict=True):
        world = np.eye(4)
        world[:3, :3], world[:3, 3] = rotations[joint], places[joint]
        turn = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
        np.testing.assert_allclose(world @ columns.T, turn, atol=1e-6)


def test_curves_are_continuous_and_times_increase(tmp_path):
    motion = move(human(), 50)
    flipped = motion.rotations * np.where(np.arange(50) % 2, -1.0, 1.0)[:, None, None]
    write(replace(motion, rotations=flipped), tmp_path / "a.glb")
    gltf, binary = parts(tmp_path / "a.glb")
    animation = gltf["animations"][0]
    for channel in animation["channels"]:
        sampler = animation["samplers"][channel["sampler"]]
        times = floats(gltf, binary, sampler["input"])[:, 0]
        np.testing.assert_array_equal(times, (np.arange(50) / 120.0).astype(np.float32))
        if channel["target"]["path"] == "rotation":
            q = floats(gltf, binary, sampler["output"])
            assert (np.sum(q[1:] * q[:-1], axis=-1) > 0).all()


@pytest.mark.parametrize("name", RIGS)
def test_the_bone_mesh_is_closed_and_faces_outwards(name):
    """Each octahedron encloses a positive volume, and opposite edges cancel."""
    skeleton = RIGS[name]
    mesh = bone_mesh(skeleton, np.zeros((len(skeleton.bodies), 3)))
    triangles = mesh.vertices.reshape(-1, 8, 3, 3)
    volume = np.einsum(
        "nfi,nfi->n", triangles[:, :, 0], np.cross(triangles[:, :, 1], triangles[:, :, 2])
    )
    assert (volume > 0).all()
    edges = np.roll(triangles, -1, axis=2) - triangles
    np.testing.assert_allclose(edges.sum(axis=(1, 2)), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(mesh.normals(), axis=-1), 1.0)
    assert set(mesh.bodies[:, 0]) == set(range(len(skeleton.bodies)))


# -- files of other programs --------------------------------------------------------------------


class Foreign:
    """A glTF file put together by hand."""

    def __init__(self) -> None:
        self.binary = b""
        self.gltf: dict = {
            "asset": {"version": "2.0"}, "nodes": [], "accessors": [], "bufferViews": [],
            "animations": [{"channels": [], "samplers": []}],
        }  # fmt: skip

    def add(self, values, kind: str) -> int:
        values = np.asarray(values, dtype="<f4")
        self.gltf["bufferViews"].append(
            {"buffer": 0, "byteOffset": len(self.binary), "byteLength": values.nbytes}
        )
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[kind]
        self.gltf["accessors"].append(
            {"bufferView": len(self.gltf["bufferViews"]) - 1, "componentType": 5126,
             "count": values.size // width, "type": kind}
        )  # fmt: skip
        self.binary += values.tobytes()
        return len(self.gltf["accessors"]) - 1

    def drive(self, node: int, path: str, times, values, interpolation: str = "LINEAR") -> None:
        animation = self.gltf["animations"][0]
        kind = "VEC4" if path == "rotation" else "VEC3"
        animation["samplers"].append(
            {"input": self.add(times, "SCALAR"), "output": self.add(values, kind),
             "interpolation": interpolation}
        )  # fmt: skip
        target = {"node": node, "path": path}
        animation["channels"].append({"sampler": len(animation["samplers"]) - 1, "target": target})

    def save(self, path: Path) -> Path:
        self.gltf["buffers"] = [{"byteLength": len(self.binary)}]
        text = json.dumps(self.gltf).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
        chunks += struct.pack("<II", len(self.binary), 0x004E4942) + self.binary
        path.write_bytes(b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks)
        return path


def arm(times=(0.0, 0.5, 1.0)) -> Foreign:
    """Scaled and turned armature, upper arm along x, hand a metre further; no skin."""
    file = Foreign()
    h = float(np.sqrt(0.5))
    file.gltf["nodes"] = [
        {"name": "armature", "children": [1], "scale": [0.01] * 3, "rotation": [0, h, 0, h]},
        {"name": "upper", "children": [2], "translation": [100, 0, 0]},
        {"name": "hand", "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 100, 0, 0, 1]},
    ]
    turns = quat.from_axis_angle(np.array([0.0, 0, 1]), np.linspace(0, np.pi / 2, len(times)))
    file.drive(1, "rotation", times, turns[:, [1, 2, 3, 0]])
    return file


def test_a_foreign_tree_without_skin_reads(tmp_path):
    """Turned 90° about y, x points to −z; in our world that is +y. Scale is folded in."""
    motion = read(arm().save(tmp_path / "a.glb")).motion()
    assert motion.skeleton.names == ("upper", "hand")
    assert (motion.rate, motion.n_frames, motion.offsets) == (2.0, 3, None)
    places = motion.world()[1]
    np.testing.assert_allclose(places[:, 0], [[0, 1, 0]] * 3, atol=1e-6)
    # the arm turns from +x to +y of the file: from our +y to our +z
    np.testing.assert_allclose(places[[0, 2], 1], [[0, 2, 0], [0, 1, 1]], atol=1e-6)
    assert any("no skin" in problem for problem in motion.source.problems)


def test_a_skin_decides_what_the_bodies_are(tmp_path):
    file = arm()
    file.gltf["nodes"].append({"name": "light"})
    file.gltf["nodes"][0]["children"].append(3)
    file.gltf["skins"] = [{"joints": [2, 0]}]
    motion = read(file.save(tmp_path / "a.glb")).motion()
    # 'upper' lies between two joints, so it is a body; parents come first
    assert motion.skeleton.names == ("armature", "upper", "hand")
    np.testing.assert_allclose(motion.world()[1][2, 2], [0, 1, 1], atol=1e-6)


@pytest.mark.parametrize("interpolation", ["LINEAR", "STEP", "CUBICSPLINE"])
def test_interpolations_agree_at_their_keys(tmp_path, interpolation):
    file = arm((0.0, 1.0, 2.0))
    times, places = [0.0, 1.0, 2.0], np.array([[100, 0, 0], [100, 50, 0], [100, 50, 30.0]])
    if interpolation == "CUBICSPLINE":
        places = np.stack([places * 7, places, places * -3], axis=1)
    file.drive(2, "translation", times, places, interpolation)
    motion = read(file.save(tmp_path / "a.glb")).motion()
    assert motion.offsets is not None
    expected = [[1, 0, 0], [1, 0.5, 0], [1, 0.5, 0.3]]
    np.testing.assert_allclose(motion.offsets[:, 1], expected, atol=1e-6)


def test_curves_between_their_keys(tmp_path):
    """Another channel's keys lie between: LINEAR half way, STEP holds, Hermite by its formula."""
    file = arm((0.0, 0.5, 1.0))
    still = np.zeros((2, 3))
    nodes = [{"name": f"n{i}", "translation": [0, 0, 0]} for i in range(3)]
    file.gltf["nodes"][2]["children"] = [3, 4, 5]
    file.gltf["nodes"] += nodes
    ends = np.array([[0, 0, 0], [100, 0, 0.0]])
    file.drive(3, "translation", [0.0, 1.0], ends)
    file.drive(4, "translation", [0.0, 1.0], ends, "STEP")
    tangents = np.array([[0, 80.0, 0], [0, 0, 0]])
    file.drive(5, "translation", [0.0, 1.0], np.stack([still, ends, tangents], 1), "CUBICSPLINE")
    offsets = read(file.save(tmp_path / "a.glb")).motion().offsets
    assert offsets is not None
    # Hermite at ½ with unit span: ½(a + b) + (out − in)/8
    np.testing.assert_allclose(offsets[1, 2:], [[0.5, 0, 0], [0, 0, 0], [0.5, 0.1, 0]], atol=1e-6)
    np.testing.assert_allclose(offsets[2, 2:], [[1, 0, 0]] * 3, atol=1e-6)


def test_uneven_keys_are_sampled_evenly_and_said_so(tmp_path):
    motion = read(arm((0.0, 0.25, 0.5, 0.75, 2.0)).save(tmp_path / "a.glb")).motion()
    assert (motion.rate, motion.n_frames) == (4.0, 9)
    assert any("not evenly spaced" in problem for problem in motion.source.problems)
    angles = quat.angle(quat.between(motion.rotations[:1, 0], motion.rotations[:, 0]))
    eighth = np.pi / 8  # keys at 0 … 3, then five steps share the last
    np.testing.assert_allclose(angles[:4], eighth * np.arange(4), atol=1e-6)
    np.testing.assert_allclose(angles[3:], eighth * (3 + np.arange(6) / 5), atol=1e-6)


def test_several_animations_and_nameless_nodes_are_noted(tmp_path):
    file = arm()
    file.gltf["animations"] *= 2
    del file.gltf["nodes"][2]["name"]
    motion = read(file.save(tmp_path / "a.glb")).motion()
    assert motion.skeleton.names == ("upper", "node_2")
    assert any("2 animations" in problem for problem in motion.source.problems)


def test_a_rest_pose_that_is_turned_is_a_motion_of_one_frame(tmp_path):
    file = arm()
    file.gltf["animations"] = []
    file.gltf["skins"] = [{"joints": [1, 2]}]
    motion = read(file.save(tmp_path / "a.glb")).motion()
    np.testing.assert_allclose(motion.world()[1], [[[0, 1, 0], [0, 2, 0]]], atol=1e-6)


def test_text_form_with_embedded_numbers_reads(tmp_path):
    file = arm()
    uri = "data:application/octet-stream;base64," + base64.b64encode(file.binary).decode()
    file.gltf["buffers"] = [{"byteLength": len(file.binary), "uri": uri}]
    (tmp_path / "a.gltf").write_text(json.dumps(file.gltf))
    motion = read(tmp_path / "a.gltf").motion()
    np.testing.assert_allclose(motion.world()[1][2, 1], [0, 1, 1], atol=1e-6)
    file.gltf["buffers"][0]["uri"] = "arm.bin"
    (tmp_path / "a.gltf").write_text(json.dumps(file.gltf))
    with pytest.raises(FormatError, match=r"in 'arm\.bin', which is not beside it; put it there"):
        read(tmp_path / "a.gltf")


def told_anew(file: Foreign, accessor: int, row: int, value: list[float]) -> dict:
    """A sparse accessor: one row of it stands elsewhere."""
    view = len(file.gltf["bufferViews"])
    for numbers in (np.array([row], "<u2"), np.array(value, "<f4")):
        file.binary += bytes(-len(file.binary) % 4)
        file.gltf["bufferViews"].append(
            {"buffer": 0, "byteOffset": len(file.binary), "byteLength": numbers.nbytes}
        )
        file.binary += numbers.tobytes()
    sparse = {"count": 1, "indices": {"bufferView": view, "componentType": 5123},
              "values": {"bufferView": view + 1}}  # fmt: skip
    file.gltf["accessors"][accessor]["sparse"] = sparse
    return sparse


def test_sparse_accessors_are_read(tmp_path):
    plain, file = arm(), arm()
    output = file.gltf["animations"][0]["samplers"][0]["output"]
    told_anew(file, output, 1, [0.0, 0.0, 1.0, 0.0])
    before = read(plain.save(tmp_path / "a.glb")).motion()
    after = read(file.save(tmp_path / "b.glb")).motion()
    still = [0, 2]
    np.testing.assert_array_equal(after.rotations[still], before.rotations[still])
    half = quat.angle(quat.between(before.rotations[1], after.rotations[1]))
    assert half.max() > 1.0  # a half turn about z instead of what stood there
    wrong = told_anew(file, output, 3, [0.0, 0.0, 1.0, 0.0])
    with pytest.raises(FormatError, match="its indices are not below 3"):
        read(file.save(tmp_path / "c.glb"))
    wrong["indices"]["componentType"] = 7
    with pytest.raises(FormatError, match="of no known type"):
        read(file.save(tmp_path / "d.glb"))


def test_zeros_that_no_byte_tells_do_not_fill_memory(tmp_path):
    file = arm()
    file.gltf["accessors"][0] |= {"bufferView": None, "count": 2**31}
    with pytest.raises(FormatError, match="again and again"):
        read(file.save(tmp_path / "a.glb"))


def test_sizes_that_change_are_told(tmp_path):
    """Bones are rigid: who is squashed and stretched moves without that."""
    file = arm()
    before = read(file.save(tmp_path / "a.glb")).motion()
    file.drive(1, "scale", [0.0, 0.5, 1.0], [[1, 1, 1], [2, 2, 2], [1, 3, 1]])
    motion = read(file.save(tmp_path / "b.glb")).motion()
    np.testing.assert_array_equal(motion.world()[1], before.world()[1])
    assert any("size of 1 node changes" in said for said in motion.source.problems)


def test_the_shape_of_what_carries_nothing_is_nothing_to_bones(tmp_path):
    file = arm()
    before = read(file.save(tmp_path / "a.glb")).motion()
    for scale in ([1.0, 0.5, 2.0], [0.0, 0.0, 0.0]):  # a flat hand; a prop that is hidden
        file.gltf["nodes"][2]["scale"] = scale
        found = read(file.save(tmp_path / "b.glb")).motion()
        np.testing.assert_array_equal(found.world()[1], before.world()[1])


# -- refusals -----------------------------------------------------------------------------------


def put(path: str, value: object):
    """Set one member of a document, ``nodes/0/scale`` style."""

    def change(gltf: dict) -> None:
        *way, last = [int(key) if key.isdigit() else key for key in path.split("/")]
        for key in way:
            gltf = gltf[key]
        gltf[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("nodes/0/scale", [1, 2, 1]), r"nodes\[0\]: scale runs from 1 to 2; bones are rigid"),
        (put("nodes/0/scale", [0, 0, 0]), "scale runs from 0 to 0"),
        (put("nodes/2/matrix", [1, 1] + [0] * 14), "shears, mirrors or flattens"),
        (put("nodes/0/rotation", [0, 0, 0, 0]), r"\$\.nodes\[0\]\.rotation: is no rotation"),
        (put("nodes/2/children", [0]), "their own ancestors"),
        (put("nodes/0/children", [1, 2]), "node 2 has two parents"),
        (put("nodes/0/children", [9]), "there are 3 nodes, none 9"),
        (put("nodes/0/translation", [1, 2]), r"\$\.nodes\[0\]\.translation"),
        (put("nodes/0/translation", [1e300, 0, 0]), "out of all measure"),
        (put("accessors/0/count", 2**31), "promises 2147483648 entries"),
        (put("accessors/0/count", 2), "2 keys need 2 values, got 3"),
        (put("accessors/1/type", "VEC3"), "expected VEC4 of a known type, got VEC3"),
        (put("accessors/1/bufferView", 7), r"\$\.bufferViews: there are 2"),
        (put("accessors/1/sparse", {}), "sparse"),
        (put("accessors/0/bufferView", None), "times of keys must increase"),  # zeros, by glTF
        (put("animations/0/channels/0/sampler", 5), "there is no sampler 5"),
        (put("asset/version", "1.0"), r"\$\.asset\.version: glTF version must be 2"),
        (put("extensionsRequired", ["EXT_meshopt_compression"]), "without compression"),
        (put("skins", [{"joints": [8]}]), r"\$\.skins\[0\]\.joints"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(tmp_path, change, message):
    file = arm()
    change(file.gltf)
    with pytest.raises(FormatError, match=message):
        read(file.save(tmp_path / "a.glb"))


def test_a_scene_without_skeleton_is_refused(tmp_path):
    file = arm()
    file.gltf["animations"] = []
    with pytest.raises(WrongContent, match="neither a skin nor an animation"):
        read(file.save(tmp_path / "a.glb"))


def test_keys_spread_too_far_are_refused(tmp_path):
    with pytest.raises(FormatError, match="keys are spread over 1e"):
        read(arm((0.0, 0.001, 0.002, 1e9)).save(tmp_path / "a.glb"))


def test_a_file_of_many_nodes_and_few_bytes_is_refused(tmp_path):
    times = np.arange(5000) / 100
    file = arm(times)
    file.gltf["nodes"] += [{} for _ in range(4000)]
    file.gltf["nodes"][2]["children"] = list(range(3, 4003))
    with pytest.raises(FormatError, match="frames of 4003 nodes are more than"):
        read(file.save(tmp_path / "a.glb"))


def test_a_file_cut_short_says_how_much_is_there(tmp_path):
    data = arm().save(tmp_path / "a.glb").read_bytes()
    (tmp_path / "a.glb").write_bytes(data[:-10])
    with pytest.raises(FormatError, match=f"cut short: {len(data) - 10} of {len(data)} bytes"):
        read(tmp_path / "a.glb")


def test_what_gltf_cannot_hold_is_not_written(tmp_path):
    motion = move(human(), 5)
    gap = motion.rotations.copy()
    gap[3, 4] = np.nan
    with pytest.raises(BadValue, match="frame 3 of body 'head' is missing"):
        write(replace(motion, rotations=gap), tmp_path / "a.glb")
    with pytest.raises(BadValue, match="single precision"):
        write(move(single_body(), 3, 1e-50), tmp_path / "a.glb")
    with pytest.raises(BadValue, match="y up"):
        write(motion, tmp_path / "a.glb", up="z")
    with pytest.raises(BadValue, match="this one has none"):
        write(Motion(Skeleton(()), np.ones((1, 0, 4)), np.ones((1, 3)), 1.0), tmp_path / "a.glb")
    with pytest.raises(NotEnoughData, match="2 subjects"):
        write(Take(motions=(motion, motion)), tmp_path / "a.glb")
    assert list(tmp_path.iterdir()) == []


def test_a_node_moved_by_others_keeps_their_place(tmp_path):
    """Extras are believed only where the node still sits as written."""
    write(human(), tmp_path / "a.glb")
    gltf, binary = parts(tmp_path / "a.glb")
    index = next(i for i, node in enumerate(gltf["nodes"]) if node["name"] == "left_shin")
    gltf["nodes"][index]["translation"] = [0, 0.5, 0]  # on along the thigh
    file = Foreign()
    file.gltf, file.binary = gltf, binary
    skeleton = read(file.save(tmp_path / "b.glb")).skeleton()
    moved = skeleton.offsets[skeleton.index("left_shin")]
    np.testing.assert_allclose(moved, [0, 0, -0.5], atol=1e-12)
    assert skeleton.body("left_shin").joint.kind == "ball"
    assert skeleton.body("right_shin").joint.kind == "hinge"


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_damaged_file_is_refused_or_read(tmp_path, data):
    """Only our own errors leave the reader, whatever bytes were changed or cut."""
    if data.draw(st.booleans()):
        write(move(hinge_chain(3), 4), tmp_path / "a.glb")
    else:
        arm().save(tmp_path / "a.glb")
    content = bytearray((tmp_path / "a.glb").read_bytes())
    tokens = [b"-1", b"1e9", b"null", b'"', b"[]", b"99999999999", b"\xff\xff", b"\x00", b"5", b"8"]
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        token = data.draw(st.sampled_from(tokens))
        content[at : at + len(token)] = token
    if data.draw(st.integers(0, 3)) == 0:
        del content[data.draw(st.integers(1, len(content))) :]
    (tmp_path / "b.glb").write_bytes(content)
    try:
        read_glb(tmp_path / "b.glb")
    except OsteonError as error:
        assert "\n" not in str(error)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_document_with_any_number_anywhere_is_refused_or_read(tmp_path, data):
    """Every leaf of the document in turn becomes something else."""
    file = arm()
    file.gltf["skins"] = [{"joints": [1, 2]}]
    leaves = list(all_leaves(file.gltf))
    for _ in range(data.draw(st.integers(1, 2))):
        holder, key = data.draw(st.sampled_from(leaves))
        wild = st.one_of(
            st.integers(-3, 9), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
            st.none(), st.text(max_size=3), st.just([]), st.just({}),
        )  # fmt: skip
        holder[key] = data.draw(wild)
    try:
        read_glb(file.save(tmp_path / "a.glb"))
    except OsteonError as error:
        assert "\n" not in str(error)


def all_leaves(tree):
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        if isinstance(value, dict | list):
            yield from all_leaves(value)
        yield tree, key


# --- text files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [list, sorted, lambda keys: sorted(keys, reverse=True)])
@pytest.mark.parametrize("beside", [None, "numbers 1.bin", "below/numbers.bin"])
def test_our_own_file_saved_as_text_reads(order, beside, tmp_path):
    """With the numbers inside or in a file beside it, keys in whatever order."""
    motion = move(human(), 20)
    write(motion, tmp_path / "a.glb")
    gltf, binary = parts(tmp_path / "a.glb")
    if beside is None:
        uri = "data:application/octet-stream;base64," + base64.b64encode(binary).decode()
    else:
        uri = beside.replace(" ", "%20")
        (tmp_path / beside).parent.mkdir(exist_ok=True)
        (tmp_path / beside).write_bytes(binary)
    gltf["buffers"][0]["uri"] = uri
    text = json.dumps({key: gltf[key] for key in order(gltf)}, indent=1)
    (tmp_path / "a.gltf").write_text(text)
    assert_same(read(tmp_path / "a.gltf").motion().skeleton, motion.skeleton)
    again = read(tmp_path / "a.gltf").motion()
    np.testing.assert_allclose(again.world()[1], motion.world()[1], atol=TOLERANCE)


@pytest.mark.parametrize(
    "uri",
    ["../a.bin", "/etc/hostname", "gone.bin", ".", "link.bin", "%00", "http://x/a.bin", "x" * 300],
)
def test_numbers_elsewhere_are_not_fetched(uri, tmp_path):
    home = tmp_path / "home"
    write(move(human(), 5), home / "a.glb")
    gltf, binary = parts(home / "a.glb")
    (tmp_path / "a.bin").write_bytes(binary)
    (home / "link.bin").symlink_to(tmp_path / "a.bin")
    gltf["buffers"][0]["uri"] = uri
    (home / "a.gltf").write_text(json.dumps(gltf))
    with pytest.raises(FormatError, match=r"buffers\[0\]"):
        read(home / "a.gltf")
