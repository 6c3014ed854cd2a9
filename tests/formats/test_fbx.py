"""FBX: what stands in the file. That other programs read it: test_model_loaders, test_blender."""

import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from osteon.errors import BadValue
from osteon.formats import write, write_skinned
from osteon.formats.fbx.nodes import FbxFile, FbxRecord
from osteon.formats.fbx.write import TICK_RATE
from osteon.skinning import make_skin_for
from osteon.values import Source
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
    np.testing.assert_allclose(
        np.ptp(vertices, axis=0), 100 * np.ptp(skin.vertices, axis=0)[[0, 2, 1]]
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
