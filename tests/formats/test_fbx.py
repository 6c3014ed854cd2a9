"""FBX: what stands in the file. That other programs read it: test_model_loaders, test_blender."""

import struct
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation

from characters import mixamo_like
from conftest import assert_rotations_close
from osteon.errors import BadValue, FormatError, WrongContent
from osteon.formats import character_ending, read, write, write_character, write_skinned
from osteon.formats.fbx.nodes import MAGIC, FbxFile, FbxRecord, pack_file, pack_value
from osteon.formats.fbx.write import TICK_RATE
from osteon.formats.glb.read import Skinned, read_glb_mesh
from osteon.formats.shared.units import TO_Z_UP, turn_points
from osteon.human import figure_at_rest
from osteon.maths import forward_kinematics, quat
from osteon.skinning import make_skin, make_skin_for
from osteon.values import Motion, Source
from rigs import human, move
from samples import some_motion, some_skeleton


def named(file: FbxFile, kind: str) -> list[FbxRecord]:
    objects = file.root.find("Objects")
    assert objects is not None
    return list(objects.all(kind))


def properties(record: FbxRecord | None) -> dict[str, tuple]:
    table = record.find("Properties70") if record else None
    assert table is not None
    return {p.values[0]: p.values[4:] for p in table.all("P")}


def settings_of(path) -> dict[str, tuple]:
    return properties(FbxFile(path).root.find("GlobalSettings"))


def test_the_end_is_where_every_record_says(tmp_path, rng):
    """The reader follows end offsets; all values and names come back."""
    write(some_motion(rng), tmp_path / "a.fbx")
    file = FbxFile(tmp_path / "a.fbx")
    assert file.version == 7400
    assert [record.name for record in file.root.children][-3:] == [
        "Objects",
        "Connections",
        "Takes",
    ]
    names = [record.values[1] for record in named(file, "Model")]
    assert names == [f"{name}\0\x01Model" for name in some_skeleton().names]
    assert all(record.values[2] == "LimbNode" for record in named(file, "Model"))


@pytest.mark.parametrize(
    ("rate", "mode"),
    [(24.0, 11), (30.0, 6), (30000 / 1001, 9), (24000 / 1001, 13), (60.0, 3), (120.0, 1),
     (100.0, 2), (87.5, 14), (200.0, 14)],
)  # fmt: skip
def test_frame_times_are_exact(rate, mode, tmp_path, rng):
    write(replace(some_motion(rng, 50), rate=rate), tmp_path / "a.fbx")
    file = FbxFile(tmp_path / "a.fbx")
    told = properties(file.root.find("GlobalSettings"))
    assert told["TimeMode"] == (mode,) and told["CustomFrameRate"] == (rate,)
    exact = [frame * TICK_RATE / Fraction(rate) for frame in range(50)]
    for curve in named(file, "AnimationCurve"):
        times = file.numbers(curve.find("KeyTime"), np.int64).tolist()
        # rounded to whole ticks; a thousandth, for some fall between two by what a float rounds
        assert max(abs(t - e) for t, e in zip(times, exact, strict=True)) <= Fraction(501, 1000)
        (stack,) = named(file, "AnimationStack")
        assert properties(stack)["LocalStop"] == (times[-1],)


def test_curves_do_not_jump(tmp_path):
    """A body that turns on and on gets angles that go on and on."""
    motion = move(human(), 200)
    angle = 0.1 * np.arange(200)
    rotations = motion.rotations.copy()
    rotations[:, 3] = np.stack(
        [np.cos(angle / 2), np.sin(angle / 2), 0 * angle, 0 * angle], axis=-1
    )
    write(replace(motion, rotations=rotations), tmp_path / "a.fbx")
    file = FbxFile(tmp_path / "a.fbx")
    for curve in named(file, "AnimationCurve"):
        assert np.abs(np.diff(file.numbers(curve.find("KeyValueFloat"), np.float64))).max() < 30.0


@pytest.mark.parametrize(
    ("unit", "up", "factor", "axes"),
    [
        ("cm", "y", 1.0, (0, 1, 2, 1)),
        ("m", "z", 100.0, (0, 2, 1, -1)),
        ("in", "y", 2.54, (0, 1, 2, 1)),
    ],
)
def test_units_and_axes_are_told(unit, up, factor, axes, tmp_path, rng):
    write(some_motion(rng), tmp_path / "a.fbx", unit=unit, up=up)
    told = settings_of(tmp_path / "a.fbx")
    assert told["UnitScaleFactor"] == pytest.approx((factor,))
    keys = ("CoordAxis", "UpAxis", "FrontAxis", "FrontAxisSign")
    assert tuple(told[key][0] for key in keys) == axes


def test_the_animation_is_named_after_the_take(tmp_path, rng):
    motion = replace(some_motion(rng), source=Source("walk_01.c3d", "C3D"))
    write(motion, tmp_path / "a.fbx")
    (stack,) = named(FbxFile(tmp_path / "a.fbx"), "AnimationStack")
    assert stack.values[1] == "walk_01\0\x01AnimStack"


def test_the_bound_figure_stands_on_the_ground_and_zero_is_its_pose(tmp_path):
    motion = move(human(), 3)
    skin = make_skin_for(motion)
    write_skinned(tmp_path / "a.fbx", motion, skin)
    file = FbxFile(tmp_path / "a.fbx")
    (mesh,) = named(file, "Geometry")
    vertices = file.numbers(mesh.find("Vertices"), np.float64).reshape(-1, 3)
    assert vertices[:, 1].min() == pytest.approx(0.0, abs=1e-9)
    # it faces x, and z in the file: its breadth, along our y, is along x there
    np.testing.assert_allclose(
        np.ptp(vertices, axis=0), 100 * np.ptp(skin.vertices, axis=0)[[1, 2, 0]]
    )
    bones = [record for record in named(file, "Model") if record.values[2] == "LimbNode"]
    assert all(properties(bone)["Lcl Rotation"] == (0.0, 0.0, 0.0) for bone in bones)
    clusters = [record for record in named(file, "Deformer") if record.values[2] == "Cluster"]
    total = np.zeros(len(vertices))
    for cluster in clusters:
        indices = file.numbers(cluster.find("Indexes"), np.int64)
        assert len(set(indices)) == len(indices)
        total[indices] += file.numbers(cluster.find("Weights"), np.float64)
    np.testing.assert_allclose(total, 1.0, atol=1e-6)


def test_a_skin_put_on_at_other_joints_moves_as_told(tmp_path):
    """A character's skin and its animation may differ in where joints are, by millimetres."""
    motion = move(human(), 5)
    skin = make_skin(human())
    joints = skin.joints + np.random.default_rng(3).normal(scale=0.004, size=skin.joints.shape)
    write_skinned(tmp_path / "a.fbx", motion, replace(skin, joints=joints))
    back = read(tmp_path / "a.fbx").motion()
    order = [back.skeleton.index(name) for name in motion.skeleton.names]
    np.testing.assert_allclose(back.world()[1][:, order], motion.world()[1], atol=1e-6)


def test_what_is_missing_is_refused(tmp_path, rng):
    motion = some_motion(rng)
    rotations = motion.rotations.copy()
    rotations[4, 2] = np.nan
    with pytest.raises(BadValue, match="frame 4 of body 'größe_2' is missing, which FBX"):
        write(replace(motion, rotations=rotations), tmp_path / "a.fbx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_five_thousand_frames_in_five_seconds(tmp_path):
    motion = move(human(), 5000)
    start = time.perf_counter()
    write(motion, tmp_path / "a.fbx")
    assert time.perf_counter() - start < 5.0


def table(**told) -> FbxRecord:
    """Properties, each of numbers."""
    rows = [
        FbxRecord("P", (name.replace("__", " "), "", "", "", *values))
        for name, values in told.items()
    ]
    return FbxRecord("Properties70", (), rows)


def curve(number: int, times: list[int], values: list[float], flags: int, slopes=(0.0, 0.0)):
    told = {
        "KeyTime": np.array(times, np.int64),
        "KeyValueFloat": np.array(values, np.float32),
        "KeyAttrFlags": np.array([flags], np.int32),
        "KeyAttrDataFloat": np.array([*slopes, 0, 0], np.float32),
        "KeyAttrRefCount": np.array([len(times)], np.int32),
    }
    rows = [FbxRecord(name, (value,)) for name, value in told.items()]
    return FbxRecord("AnimationCurve", (np.int64(number), "\0\x01AnimCurve", ""), rows)


def model(number: int, name: str, kind: str, **told) -> FbxRecord:
    return FbxRecord("Model", (np.int64(number), f"{name}\0\x01Model", kind), [table(**told)])


def document(objects, links, **settings) -> list[FbxRecord]:
    links = [
        FbxRecord("C", ("OP" if way else "OO", np.int64(child), np.int64(parent), *way))
        for child, parent, *way in links
    ]
    return [
        FbxRecord("GlobalSettings", (), [table(**settings)]),
        FbxRecord("Objects", (), objects),
        FbxRecord("Connections", (), links),
    ]


def animated(objects, links, target: int, driven: str, *curves: FbxRecord, **settings):
    """A document in which curves drive x, y, z of one property."""
    parts = [
        FbxRecord("AnimationStack", (np.int64(900), "take\0\x01AnimStack", "")),
        FbxRecord("AnimationLayer", (np.int64(901), "base\0\x01AnimLayer", "")),
        FbxRecord("AnimationCurveNode", (np.int64(902), "R\0\x01AnimCurveNode", "")),
    ]
    more = [(901, 900), (902, 901), (902, target, driven)]
    more += [(each.values[0], 902, f"d|{axis}") for axis, each in zip("XYZ", curves, strict=False)]
    return document([*objects, *parts, *curves], [*links, *more], **settings)


def matrix(turn=None, place=(0.0, 0.0, 0.0), scale=1.0) -> np.ndarray:
    found = np.diag([scale, scale, scale, 1.0])
    if turn is not None:
        found[:3, :3] = turn.as_matrix() * scale
    found[:3, 3] = place
    return found


@pytest.mark.parametrize("code", range(6))
def test_transforms_follow_the_formula_of_fbx(code, tmp_path, rng):
    """Pivots, offsets, turns before and after, all orders, an even scale: T·Roff·Rp·Rpre·R·Rpost⁻¹·
    Rp⁻¹·Soff·Sp·S·Sp⁻¹ multiplied out by scipy."""
    order = ("xyz", "xzy", "yzx", "yxz", "zxy", "zyx")[code]
    place, offset, pivot, shift, centre = rng.normal(scale=20.0, size=(5, 3))
    angles, before, after = rng.uniform(-80.0, 80.0, size=(3, 3))
    told = {
        "Lcl__Translation": place, "Lcl__Rotation": angles, "Lcl__Scaling": (2.0,) * 3,
        "PreRotation": before, "PostRotation": after, "RotationOffset": offset,
        "RotationPivot": pivot, "ScalingOffset": shift, "ScalingPivot": centre,
        "RotationOrder": (code,), "RotationActive": (1,),
    }  # fmt: skip
    told = {name: tuple(np.array(each).tolist()) for name, each in told.items()}
    child, tip = rng.normal(scale=20.0, size=(2, 3))
    objects = [
        model(1, "a", "LimbNode", **told),
        model(2, "b", "LimbNode", Lcl__Translation=tuple(child.tolist())),
        model(3, "c", "LimbNode", Lcl__Translation=tuple(tip.tolist())),
    ]
    still = curve(9, [0], [float(child[0])], 4)
    records = animated(objects, [(1, 0), (2, 1), (3, 2)], 2, "Lcl Translation", still)
    (tmp_path / "a.fbx").write_bytes(pack_file(records))
    spin = Rotation.from_euler(order, angles[["xyz".index(axis) for axis in order]], degrees=True)
    turns = [Rotation.from_euler("xyz", each, degrees=True) for each in (before, after)]
    world = matrix(place=place + offset + pivot) @ matrix(turns[0]) @ matrix(spin)
    world = world @ matrix(turns[1].inv()) @ matrix(place=shift + centre - pivot)
    world = world @ matrix(scale=2.0) @ matrix(place=-centre)
    truth = [(world @ [*place, 1.0])[:3] for place in (np.zeros(3), child, child + tip)]
    found = read(tmp_path / "a.fbx").motion().world()[1][0]
    np.testing.assert_allclose(found, turn_points(0.01 * np.array(truth), TO_Z_UP["y"]), atol=1e-7)


def sampled(tmp_path, times, values, flags, **settings) -> Motion:
    """A bone whose turn about x is keyed, frames of 10 per second unless the keys say more."""
    ticks = [round(time * TICK_RATE) for time in times]
    keys = curve(9, ticks, values, flags, (20.0, -50.0))
    bones = [model(1, "a", "LimbNode"), model(2, "b", "LimbNode")]
    settings = {"TimeMode": (14,), "CustomFrameRate": (10.0,)} | settings
    records = animated(bones, [(1, 0), (2, 1)], 2, "Lcl Rotation", keys, **settings)
    (tmp_path / "a.fbx").write_bytes(pack_file(records))
    return read(tmp_path / "a.fbx").motion()


def degrees_about_x(motion: Motion) -> np.ndarray:
    return np.degrees(2.0 * np.arctan2(motion.rotations[:, 1, 1], motion.rotations[:, 1, 0]))


def test_keys_hold_go_straight_or_bend(tmp_path):
    times, values, at = [0.0, 0.5, 1.0], [0.0, 30.0, 10.0], np.arange(11) / 10
    held = degrees_about_x(sampled(tmp_path, times, values, 2))
    np.testing.assert_allclose(held, [0] * 5 + [30] * 5 + [10], atol=1e-4)
    straight = degrees_about_x(sampled(tmp_path, times, values, 4))
    np.testing.assert_allclose(straight, np.interp(at, times, values), atol=1e-4)
    bent = degrees_about_x(sampled(tmp_path, times, values, 8 | 0x400))
    pieces = [CubicHermiteSpline(times[i : i + 2], values[i : i + 2], [20, -50]) for i in (0, 1)]
    truth = [pieces[int(t >= 0.5)](t) for t in at]
    np.testing.assert_allclose(bent, truth, atol=1e-4)
    even = degrees_about_x(sampled(tmp_path, [0.0, 0.3, 1.0], [0.0, 9.0, 30.0], 8 | 0x100))
    np.testing.assert_allclose(even, 30.0 * at, atol=1e-4)  # slopes that the reader has to find


def test_frames_are_the_files_unless_keys_lie_closer(tmp_path):
    sparse = sampled(tmp_path, [0.2, 1.2], [0.0, 30.0], 4)
    assert (sparse.rate, sparse.n_frames, sparse.source.first_frame) == (10.0, 11, 2)
    dense = sampled(tmp_path, np.arange(31) / 60, list(range(31)), 4)
    assert (dense.rate, dense.n_frames) == (60.0, 31)
    film = sampled(tmp_path, np.arange(31) * 1001 / 24000, list(range(31)), 4, TimeMode=(13,))
    assert (film.rate, film.n_frames) == (24000 / 1001, 31)
    np.testing.assert_allclose(degrees_about_x(film), np.arange(31), atol=1e-4)


def test_what_stands_above_the_bones_moves_them(tmp_path):
    """A scaled, turned empty node above the root, as Blender writes it; a mesh is no body."""
    objects = [
        model(1, "Armature", "Null", Lcl__Scaling=(100.0,) * 3, Lcl__Rotation=(-90.0, 0.0, 0.0)),
        model(2, "hips", "LimbNode", Lcl__Translation=(0.0, 0.0, 0.01)),
        model(3, "head", "LimbNode", Lcl__Translation=(0.0, 0.0, 0.005)),
        model(4, "body", "Mesh"),
    ]
    links = [(1, 0), (2, 1), (3, 2), (4, 1)]
    keys = curve(9, [0], [0.0], 4)
    records = animated(objects, links, 3, "Lcl Rotation", keys, UnitScaleFactor=(100.0,))
    (tmp_path / "a.fbx").write_bytes(pack_file(records))
    motion = read(tmp_path / "a.fbx").motion()
    assert motion.skeleton.names == ("hips", "head") and motion.source.unit == "m"
    np.testing.assert_allclose(motion.world()[1][0], [[0, 0, 1.0], [0, 0, 1.5]], atol=1e-12)


def test_bodies_rest_as_the_skin_was_put_on(tmp_path):
    motion = move(human(), 4)
    bent = quat.exp(np.random.default_rng(3).normal(scale=0.4, size=(len(human().bodies), 3)))
    write_skinned(tmp_path / "a.fbx", motion, make_skin(human(), bent))
    back = read(tmp_path / "a.fbx").motion().skeleton
    joints = forward_kinematics(back.rest, back.offsets, back.parents)[1]
    bound = forward_kinematics(bent, human().offsets, human().parents)[1]
    # the figure, which faces x as it is made, is turned to −y about the vertical
    np.testing.assert_allclose(joints, bound @ [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-9)


def pack_wide(records: Sequence[FbxRecord]) -> bytes:
    """A file of version 7.5, whose offsets have 64 bits."""
    data = bytearray(MAGIC + struct.pack("<I", 7500))

    def add(record: FbxRecord) -> None:
        values, start = b"".join(map(pack_value, record.values)), len(data)
        data.extend(bytes(24) + bytes([len(record.name)]) + record.name.encode() + values)
        for child in record.children:
            add(child)
        data.extend(bytes(25))
        struct.pack_into("<QQQ", data, start, len(data), len(record.values), len(values))

    for record in records:
        add(record)
    return bytes(data) + bytes(25)


def test_wide_records_are_read(tmp_path):
    bones = [
        model(1, "hips", "LimbNode"),
        model(2, "head", "LimbNode", Lcl__Translation=(0.0, 9.0, 0.0)),
    ]
    (tmp_path / "a.fbx").write_bytes(pack_wide(document(bones, [(1, 0), (2, 1)])))
    skeleton = read(tmp_path / "a.fbx").skeleton()
    assert skeleton.names == ("hips", "head") and skeleton.parents == (-1, 0)
    np.testing.assert_allclose(skeleton.offsets[1], [0.0, 0.09, 0.0])


def test_what_cannot_be_read_says_why(tmp_path, rng):
    path = tmp_path / "a.fbx"

    def refused(data: bytes, match: str) -> None:
        path.write_bytes(data)
        with pytest.raises(FormatError, match=match):
            read(path)

    write(some_motion(rng), path)
    whole = path.read_bytes()
    for share in (0.01, 0.3, 0.6, 0.95):
        refused(whole[: int(share * len(whole))], "cut short or damaged")
    refused(b"; FBX 7.7.0 project file\n", "binary FBX")
    refused(MAGIC + struct.pack("<I", 6100) + whole[27:], "version 6100")
    secret = FbxRecord("FBXHeaderExtension", (), [FbxRecord("EncryptionType", (1,))])
    refused(pack_file([secret]), "is encrypted")
    refused(pack_file(document([model(1, "a", "Mesh")], [(1, 0)])), "no bones")
    refused(pack_file(document([model(1, "a", "LimbNode")], [(1, 1)])), "their own ancestors")
    odd = [model(1, "a", "LimbNode", Lcl__Scaling=(1.0, 2.0, 1.0)), model(2, "b", "LimbNode")]
    refused(pack_file(document(odd, [(1, 0), (2, 1)])), "bones are rigid")


def test_axes_of_any_program(tmp_path):
    """x up, as some Max files have it: right, up and front are told by the file."""
    bones = [
        model(1, "hips", "LimbNode"),
        model(2, "head", "LimbNode", Lcl__Translation=(9.0, 0.0, 0.0)),
    ]
    axes = {"UpAxis": (0,), "CoordAxis": (1,), "CoordAxisSign": (-1,), "FrontAxis": (2,)}
    keys = curve(9, [0], [0.0], 4)
    records = animated(bones, [(1, 0), (2, 1)], 2, "Lcl Rotation", keys, **axes)
    (tmp_path / "a.fbx").write_bytes(pack_file(records))
    motion = read(tmp_path / "a.fbx").motion()
    assert motion.source.up == "x" and motion.source.problems == ()
    np.testing.assert_allclose(motion.world()[1][0, 1], [0.0, 0.0, 0.09], atol=1e-12)


def character(rng, **settings) -> list[FbxRecord]:
    """Three bones with pivots, turns and orders of their own, below a scaled and turned empty node;
    one carries skin. Something that Osteon does not know is in it too."""
    bones = []
    for number, (name, code) in enumerate(zip("abc", (0, 4, 2), strict=True), 2):
        told = {
            key: tuple(rng.uniform(-60.0, 60.0, 3).tolist())
            for key in ("Lcl__Rotation", "PreRotation", "PostRotation")
        }
        told |= {
            key: tuple(rng.normal(size=3).tolist())
            for key in ("Lcl__Translation", "RotationPivot", "RotationOffset", "ScalingOffset")
        }
        told |= {"RotationOrder": (code,), "RotationActive": (1,)}
        bones.append(model(number, name, "LimbNode", **told))
    empty = {"Lcl__Scaling": (10.0,) * 3, "Lcl__Rotation": (-90.0, 20.0, 0.0)}
    empty["Lcl__Translation"] = (3.0, 4.0, 5.0)
    objects = [
        model(1, "Armature", "Null", **empty),
        *bones,
        FbxRecord("Deformer", (np.int64(5), "\0\x01SubDeformer", "Cluster")),
        FbxRecord("Unheard", (np.int64(6), "of\0\x01Unheard", ""), [FbxRecord("Y", (b"\1\2",))]),
    ]
    links = [(1, 0), (2, 1), (3, 2), (4, 3), (4, 5)]
    return [FbxRecord("Creator", ("someone",)), *document(objects, links, **settings)]


def same(found: FbxRecord, given: FbxRecord) -> bool:
    """Whether a record is the same, byte by byte, with all that is in it."""
    pairs = zip(found.children, given.children, strict=True)
    return (found.name, found.packed) == (given.name, given.packed) and all(
        same(a, b) for a, b in pairs
    )


@pytest.mark.parametrize("pack", [pack_file, pack_wide], ids=["narrow", "wide"])
def test_a_character_comes_out_with_one_more_animation(pack, tmp_path, rng):
    path, out, again = (tmp_path / f"{name}.fbx" for name in ("hero", "out", "again"))
    path.write_bytes(pack(character(rng, UnitScaleFactor=(2.54,), UpAxis=(2,), FrontAxis=(1,),
                                    FrontAxisSign=(-1,))))  # fmt: skip
    assert character_ending(path) == "fbx"
    skeleton = read(path).skeleton()
    rotations = quat.exp(np.cumsum(rng.normal(scale=0.1, size=(40, 3, 3)), axis=0))
    motion = Motion(skeleton, rotations, rng.normal(size=(40, 3)), 48.0)
    write_character(out, path, motion, "walk")
    found = read(out).motion()
    assert (found.n_frames, found.rate) == (40, 48.0)
    np.testing.assert_allclose(found.world()[1], motion.world()[1], atol=1e-6)
    assert_rotations_close(found.world()[0], motion.world()[0], 1e-6)
    before, after = FbxFile(path), FbxFile(out)
    assert after.version == before.version
    for given, record in zip(before.root.children, after.root.children, strict=True):
        assert (record.name, record.packed) == (given.name, given.packed)
        kept = record.children[: len(given.children)]
        assert all(same(a, b) for a, b in zip(kept, given.children, strict=True))
    write_character(again, out, motion, "walk")
    stacks = [
        record.values[1].partition("\0")[0] for record in named(FbxFile(again), "AnimationStack")
    ]
    assert stacks == ["walk", "walk_"]
    assert read(again).motion().source.problems == (
        "2 animations; the first that moves bones is read",
    )


def test_what_is_no_character(tmp_path, rng):
    motion = move(human(), 3)
    write_skinned(tmp_path / "ours.fbx", motion, make_skin_for(motion))
    assert character_ending(tmp_path / "ours.fbx") is None
    (tmp_path / "hero.fbx").write_bytes(pack_file(character(rng)))
    with pytest.raises(WrongContent, match="has other bodies than the motion"):
        write_character(tmp_path / "out.fbx", tmp_path / "hero.fbx", motion, "walk")
    assert not (tmp_path / "out.fbx").exists()


def test_records_are_written_as_they_were_read(tmp_path, rng):
    write(some_motion(rng), tmp_path / "a.fbx")
    file = FbxFile(tmp_path / "a.fbx")
    data = (tmp_path / "a.fbx").read_bytes()
    assert pack_file(file.root.children, file.version, file.foot) == data


@pytest.mark.parametrize("kind", [{}, {"posed": True}])
def test_soles_are_known_by_the_flesh(tmp_path, kind):
    """As of the same character in GLB: lower than the joints of its feet, 7 cm below ankles, by
    most of the 2 cm of flesh there (a fiftieth of its few corners may be lower)."""
    glb = mixamo_like(tmp_path / "hero.glb", **kind)
    skin = read_glb_mesh(glb)
    assert isinstance(skin, Skinned)
    motion = Motion(skin.skeleton, skin.skeleton.rest[None], np.array([[0.0, 0.0, 1.0]]), 30.0)
    write_skinned(tmp_path / "hero.fbx", motion, skin.mesh)
    ends = []
    for path in (glb, tmp_path / "hero.fbx"):
        figure = figure_at_rest(read(path).skeleton())
        for side in ("left", "right"):
            end = figure.end(f"{side}_foot")
            assert end is not None
            ends.append(end - figure.joint(f"{side}_foot"))
    assert all(-0.091 < end[2] < -0.08 for end in ends)
    lengths = np.linalg.norm(ends, axis=-1)
    assert lengths[2:] == pytest.approx(lengths[:2], abs=1e-4)
