"""The cleaned recording: measured markers without gaps, and what the rig knows beside them."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import osteon as ost
from osteon import synth
from osteon.cli import osteon
from osteon.pipeline import Solved, clean_take, solve
from osteon.values import Recording, Take

ARM = ("RELB", "RFRM", "RWRA", "RWRB", "RFIN")
HIDDEN = slice(200, 230)


def performance() -> synth.Performance:
    return synth.perform(
        synth.human(), synth.exercise(10.0, rate=60.0, together=True), noise=0.0005, seed=3
    )


@pytest.fixture(scope="module")
def take() -> synth.Performance:
    return performance()


@pytest.fixture(scope="module")
def solved(take: synth.Performance) -> Solved:
    """A forearm and hand hidden for half a second, one marker seen once in a while."""
    positions = np.array(take.recording.positions)
    columns = [take.recording.index(name) for name in ARM]
    positions[HIDDEN, columns[0]] = np.nan
    positions[HIDDEN, columns[2]] = np.nan
    hidden = take.recording.with_positions(positions, did="hidden")
    return solve(Take(recordings=(hidden,)))[0]


def test_gaps_are_filled_where_the_markers_were(take: synth.Performance, solved: Solved) -> None:
    cleaned = clean_take(solved)
    own = cleaned.select(solved.recording.names)
    assert own.seen.all()
    index = own.index("RELB")
    away = own.positions[HIDDEN, index] - take.recording.positions[HIDDEN, index]
    # half a marker's breadth, while an arm swings through 0.3 m
    assert np.linalg.norm(away, axis=-1).max() < 0.01
    assert not own.measured[HIDDEN, index].any() and own.measured[:200, index].all()


def test_what_was_measured_stays(solved: Solved) -> None:
    cleaned = clean_take(solved).select(solved.recording.names)
    seen = solved.recording.seen
    assert np.array_equal(cleaned.positions[seen], solved.recording.positions[seen])


def test_the_rigs_points_stand_beside_them(solved: Solved) -> None:
    cleaned = clean_take(solved)
    knee = cleaned.positions[:, cleaned.index("left_knee_centre")]
    joints = solved.motion.world()[1]
    assert np.allclose(knee, joints[:, solved.skeleton.index("left_shin")])
    thigh = [cleaned.index(f"{name}_model") for name in ("LTHI", "LKNE")]
    apart = np.linalg.norm(cleaned.positions[:, thigh[0]] - cleaned.positions[:, thigh[1]], axis=-1)
    assert np.ptp(apart) < 1e-9
    assert not cleaned.measured[:, thigh].any()


def test_the_cleaned_file_gives_the_same_rig(solved: Solved, tmp_path: Path) -> None:
    """What no camera saw is no evidence, however often it is read again."""
    ost.write(clean_take(solved), tmp_path / "clean.c3d")
    again = solve(tmp_path / "clean.c3d")[0]
    assert again.skeleton.names == solved.skeleton.names
    # C3D rounds to floats of millimetres
    assert np.abs(again.skeleton.offsets - solved.skeleton.offsets).max() < 1e-5


def test_verb_writes_a_file_and_tells(take: synth.Performance, tmp_path: Path) -> None:
    source, target = tmp_path / "take.c3d", tmp_path / "clean.trc"
    ost.write(take.recording, source)
    result = CliRunner().invoke(osteon, ["clean", str(source), "-o", str(target)])
    assert result.exit_code == 0
    assert "0 still missing" in result.stdout and str(target) in result.stdout
    names = ost.read(target).recording().names
    assert {"LTHI", "LTHI_model", "left_knee_centre"} <= set(names)


@pytest.mark.parametrize("target", ["clean.bvh", "take.c3d"])
def test_unfit_targets_are_refused_before_the_work(target: str, tmp_path: Path) -> None:
    source = tmp_path / "take.c3d"
    still = Recording(np.zeros((3, 1, 3)), ("LTHI",), 60.0)  # nothing could be solved of it
    ost.write(still, source)
    result = CliRunner().invoke(osteon, ["clean", str(source), "-o", str(tmp_path / target)])
    assert isinstance(result.exception, ost.OsteonError)
    assert ("holds no markers" if target == "clean.bvh" else "overwritten") in str(result.exception)
