"""Force plates: channels made of known forces, every kind of plate, every way to be wrong."""

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import osteon as ost
from conftest import DATA, real
from osteon.formats.c3d.parameters import C3dParameters
from osteon.formats.c3d.plates import read_plates
from osteon.maths import quat
from osteon.values import Analog, GroundReaction

N_FRAMES, PER_FRAME = 60, 5
N_SAMPLES = N_FRAMES * PER_FRAME
HALF_X, HALF_Y, DEPTH = 0.2, 0.3, 0.04
"""Metres, chosen: half a plate's sides, and how deep below the surface it measures."""
ASKEW = np.array([0.8, 0.6, 0.0])
"""The plate's own x in the laboratory, chosen: a share of x and of y."""


def plate_in_lab() -> tuple[np.ndarray, np.ndarray]:
    """Axes in columns, z down, and the place of its middle."""
    down = np.array([0.0, 0.0, -1.0])
    axes = np.stack([ASKEW, np.cross(down, ASKEW), down], axis=-1)
    return axes, np.array([0.7, -0.4, 0.05])


def a_step() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Force on the person in the plate's axes, its centre on the surface, and the free moment."""
    time = np.linspace(0.0, 1.0, N_SAMPLES)
    carried = np.clip(np.sin(2.0 * np.pi * (time - 0.25)), 0.0, None)[:, None]
    force = carried * np.array([60.0, -110.0, -800.0]) * (1.0 + 0.2 * np.sin(9.0 * time))[:, None]
    path = np.stack([0.05 + 0.04 * time, -0.15 + 0.3 * time], axis=-1)
    return force, path, 5.0 * carried[:, 0] * np.cos(5.0 * time)


def at_depth(force, path, free, *, about: np.ndarray) -> np.ndarray:
    """Moments about a point in the plate's axes."""
    arm = np.concatenate([path, np.zeros((len(path), 1))], axis=1) - about
    return np.cross(arm, force) + free[:, None] * np.array([0.0, 0.0, 1.0])


def at_corners(force: np.ndarray, moments: np.ndarray) -> np.ndarray:
    """(n_samples, 4, 3) forces of sensors at ±x, ±y that add up to these, as small as can be."""
    places = np.array([(HALF_X, HALF_Y), (-HALF_X, HALF_Y), (-HALF_X, -HALF_Y), (HALF_X, -HALF_Y)])
    columns = []
    for x, y in places:
        lever = np.array([[0.0, 0.0, y], [0.0, 0.0, -x], [-y, x, 0.0]])
        columns.append(np.concatenate([np.eye(3), lever]))
    spread = np.linalg.pinv(np.concatenate(columns, axis=1))
    return (np.concatenate([force, moments], axis=1) @ spread.T).reshape(-1, 4, 3)


def channels_of(kind: int, unit: float) -> np.ndarray:
    """What a plate of this kind shows, lengths in ``unit``."""
    force, path, free = a_step()
    if kind == 1:
        return np.concatenate([force, path / unit, free[:, None] / unit], axis=1)
    depth = np.array([0.0, 0.0, DEPTH])  # z points down
    if kind in (2, 4, 5):
        shown = np.concatenate([force, at_depth(force, path, free, about=depth) / unit], axis=1)
        return shown if kind == 2 else shown @ np.linalg.pinv(matrix_of(kind)).T
    each = at_corners(force, at_depth(force, path, free, about=depth))
    if kind == 6:
        return each.reshape(-1, 12) @ np.linalg.inv(matrix_of(6)).T
    (x1, y1, z1), (x2, y2, z2), (x3, y3, z3), (x4, y4, z4) = np.moveaxis(each, 0, -1)
    shown = np.stack([x1 + x2, x3 + x4, y1 + y4, y2 + y3, z1, z2, z3, z4], axis=-1)
    return shown if kind == 3 else shown @ np.linalg.inv(matrix_of(7)).T


def matrix_of(kind: int) -> np.ndarray:
    rows, columns = {4: (6, 6), 5: (6, 8), 6: (12, 12), 7: (8, 8)}[kind]
    rng = np.random.default_rng(kind)
    return 50.0 * np.eye(rows, columns) + rng.normal(size=(rows, columns))


def platform(kind: int, unit: float = 1e-3, **said) -> tuple[C3dParameters, Analog]:
    axes, middle = plate_in_lab()
    corners = [(HALF_X, HALF_Y), (-HALF_X, HALF_Y), (-HALF_X, -HALF_Y), (HALF_X, -HALF_Y)]
    placed = middle + np.array([[x, y, 0.0] for x, y in corners]) @ axes.T
    shown = said.pop("shown", channels_of(kind, unit))
    n = shown.shape[1]
    sensors = [HALF_X, HALF_Y, -DEPTH] if kind in (3, 6, 7) else [0.0, 0.0, -DEPTH]
    group = {
        "USED": np.array([1]),
        "TYPE": np.array([kind]),
        "CHANNEL": np.arange(n) + 1,
        "CORNERS": placed.ravel() / unit,
        "ORIGIN": np.array(said.pop("origin", sensors)) / unit,
        "CAL_MATRIX": matrix_of(kind).T.ravel() if kind >= 4 else np.zeros(0),
    }
    analog = Analog(shown, tuple(f"c{i}" for i in range(n)), ("",) * n, 100.0 * PER_FRAME)
    return C3dParameters(groups={"FORCE_PLATFORM": group | said}), analog


def read_one(parameters: C3dParameters, analog: Analog, unit: float = 1e-3, turn=None):
    problems: list[str] = []
    turn = np.eye(3) if turn is None else turn
    plates = read_plates(parameters, analog, (1, N_FRAMES), unit, turn, problems)
    return plates, problems


def check(reaction: GroundReaction, turn: np.ndarray | None = None) -> None:
    """Against the step, in the laboratory."""
    axes, middle = plate_in_lab()
    if turn is not None:
        axes, middle = turn @ axes, turn @ middle
    force, path, free = a_step()
    on = -force[:, 2] > 20.0
    places = middle + path @ axes[:, :2].T
    np.testing.assert_array_equal(reaction.loaded, on)
    np.testing.assert_allclose(reaction.force, force @ axes.T, atol=1e-6)
    np.testing.assert_allclose(reaction.centre[on], places[on], atol=1e-8)
    # about z down is clockwise from above
    np.testing.assert_allclose(reaction.free_moment[on], -free[on], atol=1e-6)
    assert np.isnan(reaction.centre[~on]).all() and np.isnan(reaction.free_moment[~on]).all()
    arm, up = places - middle, -axes[:, 2]
    moments = np.cross(arm, force @ axes.T) - free[:, None] * up
    np.testing.assert_allclose(reaction.moment[on], moments[on], atol=1e-6)


@pytest.mark.parametrize("unit", [1.0, 1e-3])
@pytest.mark.parametrize("kind", range(1, 8))
def test_every_kind_of_plate(kind, unit):
    parameters, analog = platform(kind, unit)
    [plate], problems = read_one(parameters, analog, unit)
    assert not problems
    check(plate.reaction(analog.values, analog.rate))


@pytest.mark.parametrize("kind", [2, 3, 4])
def test_an_origin_with_the_wrong_sign(kind):
    origin = [HALF_X, HALF_Y, DEPTH] if kind == 3 else [0.0, 0.0, DEPTH]
    parameters, analog = platform(kind, origin=origin)
    [plate], _ = read_one(parameters, analog)
    check(plate.reaction(analog.values, analog.rate))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_treadmill_measures_beside_its_belt(sign):
    """At its height, so that the sign of the origin's z tells nothing."""
    force, path, free = a_step()
    beside = np.array([0.9, 0.25, 0.0])
    shown = np.concatenate([force, 1e3 * at_depth(force, path, free, about=beside)], axis=1)
    parameters, analog = platform(2, shown=shown, origin=-sign * beside)
    [plate], problems = read_one(parameters, analog)
    assert len(problems) == (sign < 0.0)
    check(plate.reaction(analog.values, analog.rate))


def test_moments_in_another_unit_than_stated():
    parameters, analog = platform(2)
    metres = analog.values * np.repeat([1.0, 1e-3], 3)
    for values, unit in ((metres, "Nmm"), (analog.values, "Nm")):
        said = replace(analog, values=values, units=("N",) * 3 + (unit,) * 3)
        [plate], _ = read_one(parameters, said)
        check(plate.reaction(said.values, said.rate))


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_forces_on_the_plate_become_those_on_the_person(kind):
    parameters, analog = platform(kind)
    signs = np.array([-1, -1, -1, 1, 1, -1]) if kind == 1 else -1.0
    pressed = replace(analog, values=signs * analog.values)
    [plate], _ = read_one(parameters, pressed)
    check(plate.reaction(pressed.values, pressed.rate))


def test_offsets_are_taken_off_where_nobody_is_on_the_plate():
    parameters, analog = platform(2, ZERO=np.array([1, 10]))
    off = replace(analog, values=analog.values + np.array([3.0, -2.0, 31.0, 40.0, 900.0, -70.0]))
    [plate], problems = read_one(parameters, off)
    assert not problems
    check(plate.reaction(off.values, off.rate))
    # frames with somebody on the plate, or none named: the quiet part of the take tells
    for named in ([28, 33], [0, 0], [1, 0]):
        parameters.groups["FORCE_PLATFORM"]["ZERO"] = np.array(named)
        [plate], problems = read_one(parameters, off)
        assert problems == ["force plate 1 shows 31 N while nobody is on it, which are taken off"]
        check(plate.reaction(off.values, off.rate))


def test_the_quiet_part_overrules_frames_before_the_amplifier_was_on():
    """The frames that ZERO names are all zero, and the take is not."""
    parameters, analog = platform(2, ZERO=np.array([1, 1]))
    values = analog.values + np.array([3.0, -2.0, 31.0, 40.0, 900.0, -70.0])
    values[:PER_FRAME] = 0.0
    [plate], problems = read_one(parameters, replace(analog, values=values))
    assert problems == ["force plate 1 shows 31 N while nobody is on it, which are taken off"]
    assert plate.zeros[2] == pytest.approx(31.0, abs=1.0)


def test_who_stands_there_throughout_is_no_offset():
    parameters, analog = platform(2, ZERO=np.array([1, 10]))
    still = replace(analog, values=np.tile(analog.values[N_SAMPLES // 2], (N_SAMPLES, 1)))
    [plate], problems = read_one(parameters, still)
    assert not problems and plate.reaction(still.values, still.rate).loaded.all()


def test_plates_turn_with_the_markers():
    parameters, analog = platform(3)
    turn = quat.to_matrix(quat.normalise(np.array([0.9, 0.2, -0.1, 0.3])))
    [plate], _ = read_one(parameters, analog)
    check(plate.turned(turn).reaction(analog.values, analog.rate), turn)


def test_what_cannot_be_read_is_said():
    parameters, analog = platform(2)
    group = parameters.groups["FORCE_PLATFORM"]
    for change, told in (
        ({"TYPE": np.array([21])}, "is of type 21"),
        ({"CHANNEL": np.array([1, 2, 3])}, "has 3 channels"),
        ({"CHANNEL": np.arange(6) + 2}, "names a channel"),
        ({"CORNERS": np.zeros(12)}, "span no surface"),
        ({"TYPE": np.array([3]), "CHANNEL": np.array([1, 2, 3, 4, 5, 6, 1, 2])}, "its sensors"),
        ({"CORNERS": np.zeros(3)}, "1 force plates are announced, 0 described"),
    ):
        plates, problems = read_one(
            C3dParameters(groups={"FORCE_PLATFORM": {**group, **change}}), analog
        )
        assert not plates and told in problems[0]


# --- real files ----------------------------------------------------------------------------------

PEER = """
import sys, pickle, ezc3d
for path, out in zip(sys.argv[1::2], sys.argv[2::2]):
    try:
        found = ezc3d.c3d(path, extract_forceplat_data=True)["data"]["platform"]
    except Exception:
        continue
    names = ("force", "center_of_pressure", "Tz")
    with open(out, "wb") as file:
        pickle.dump([{name: each[name].T for name in names} for each in found], file)
"""


def compare_with_ezc3d(paths: list[Path], folder: Path) -> int:
    """Plates that are the same, but for its missing baselines and its sign."""
    outs = [folder / f"{i}.pickle" for i in range(len(paths))]
    pairs = [str(x) for pair in zip(paths, outs, strict=True) for x in pair]
    subprocess.run([sys.executable, "-c", PEER, *pairs], capture_output=True)
    compared = 0
    for path, out in zip(paths, outs, strict=True):
        recording = ost.read(path).recordings[0]
        peers = pickle.loads(out.read_bytes()) if out.exists() else []
        assert recording.analog is not None
        unit = ost.formats.metres_per(recording.source.unit)
        turn = quat.to_matrix(ost.formats.to_z_up(recording.source.up))
        for plate, peer in zip(recording.plates, peers, strict=bool(peers)):
            plain = replace(plate, zeros=np.zeros_like(plate.zeros))
            ours = plain.reaction(recording.analog.values, recording.analog.rate)
            force, centre, free = (peer[name] @ turn.T for name in peer)
            sign = np.sign(np.nansum(force * ours.force))
            # it takes one edge for the plate's axes, we two: corners measured by hand differ
            np.testing.assert_allclose(sign * force, ours.force, rtol=2e-3, atol=1.0)
            on = ours.loaded
            np.testing.assert_allclose(unit * centre[on], ours.centre[on], atol=1e-3)
            about = sign * unit * (free[on] @ plate.normal)
            np.testing.assert_allclose(about, ours.free_moment[on], atol=0.02)
            compared += 1
    return compared


def test_some_real_plates_against_ezc3d(tmp_path):
    pytest.importorskip("ezc3d")
    names = ("c3d-org/sample_10/TYPE-4.C3D", "c3d-org/sample_24/MotionMonitorC3D.c3d")
    names += ("pycgm/ROM/Sample_Static.c3d", "gaitalytics/treadmill_events.c3d")
    names += ("c3d-org/sample_00/Codamotion/codamotion_gaitwands_19970212.c3d",)
    assert compare_with_ezc3d([real(name) for name in names], tmp_path) == 6


@pytest.mark.slow
def test_centres_of_pressure_lie_under_feet():
    """The nearest low marker, while somebody is carried: closer than a foot is long."""
    checked = 0
    for path in sorted(path for path in DATA.rglob("*") if path.suffix.lower() == ".c3d"):
        if path.parent.name in ("sample_21", "sample_33", "sample_30"):
            continue  # no person, none near, not where the plate is said to be
        try:
            recording = ost.read(path).recordings[0]
        except (ost.OsteonError, IndexError):
            continue
        assert recording.plates == () or recording.analog is not None
        for reaction in recording.ground_reactions():
            checked += _under_feet(path, recording, reaction)
    assert checked > 80 or not DATA.exists()


def _under_feet(path: Path, recording, reaction: GroundReaction) -> bool:
    ratio = max(1, round(reaction.rate / recording.rate))
    markers = recording.markers().positions
    n = min(len(markers), len(reaction.force) // ratio)
    carried = np.flatnonzero(reaction.force[: n * ratio : ratio, 2] > 300.0)
    if not len(carried):
        return False
    off = markers[carried] - reaction.centre[::ratio][carried, None]
    far = np.where(off[..., 2] < 0.25, np.linalg.norm(off[..., :2], axis=-1), np.inf)
    assert np.nanmedian(np.nanmin(far, axis=1)) < 0.15, path
    return True
