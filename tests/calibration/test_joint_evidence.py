"""Blind calibration of mechanical joints: as good as SCoRE and SARA, and a hinge is called one."""

from itertools import product

import numpy as np
import pytest

import mechanism
import osteon as ost
from osteon.calibration import calibrate_blind
from osteon.maths import fit_rigid, quat
from osteon.pipeline import SolveOptions
from osteon.values import Body, Recording, Take

FEW, MANY = 4, 12
"""Draws of a row."""
SCATTER = {FEW: 1.3, MANY: 1.1}
"""Ratio of two rms over so many draws. 38 rows of four draws: places 0.23–1.03 of SCoRE's, axes
0.69–1.16 of SARA's."""
FILTERED = 0.05
"""Seconds: what a low-pass of 6 Hz leaves of noise."""
ROWS = list(product((0.0, FILTERED), ((20, 3, 0.0002), (60, 9, 0.0005), (140, 3, 0.002))))
ALL_ROWS = [
    (smoothed, row)
    for smoothed, row in product(
        (0.0, FILTERED), product((20, 40, 60, 90, 140), (3, 5, 9), (0.0002, 0.0005, 0.001, 0.002))
    )
    if row[0] / row[2] >= (75_000 if smoothed else 60_000)
]
"""Degrees, markers on a body, metres of noise; where turns are less clear than that, the markers of
both bodies keep their distances and are taken for one body."""


def carried(recording: Recording, body: Body, point) -> tuple[np.ndarray, np.ndarray]:
    """Path of a point of a body in the world, and the body's turns, by its own markers."""
    columns = [recording.index(marker.name) for marker in body.markers]
    shape = np.array([marker.position for marker in body.markers])
    fit = fit_rigid(shape, recording.positions[:, columns])
    return fit.positions + quat.rotate(fit.rotations, np.asarray(point)), fit.rotations


def errors_of(kind: str, take: mechanism.Mechanism) -> list[float]:
    """Ours and SCoRE's of the place, metres; of a hinge ours and SARA's of the axis, radians."""
    solved = ost.solve(
        Take(recordings=(take.recording,)), options=SolveOptions(template="none", clean=False)
    )[0]
    base, arm = solved.skeleton.bodies
    one, turns = carried(take.recording, base, arm.joint.in_parent)
    other, _ = carried(take.recording, arm, arm.joint.in_body)
    found = [
        mechanism.off_joint(take, kind, place)
        for place in (0.5 * (one + other), mechanism.score(take))
    ]
    assert arm.joint.kind == kind
    if kind == "ball":
        return found
    axes = (quat.rotate(turns, arm.joint.axes[0]), mechanism.sara(take))
    return found + [mechanism.off_axis(take, axis) for axis in axes]


def check(kind: str, smoothed: float, row: tuple[int, int, float], draws: int) -> None:
    degrees, n_markers, noise = row
    takes = [
        mechanism.mechanism(
            kind, degrees, n_markers, noise, smoothed=smoothed, seed=seed, n_frames=400
        )
        for seed in range(draws)
    ]
    squares = np.mean(np.square([errors_of(kind, take) for take in takes]), axis=0)
    assert (np.sqrt(squares[::2]) < SCATTER[draws] * np.sqrt(squares[1::2])).all()


@pytest.mark.parametrize("kind", ["hinge", "ball"])
@pytest.mark.parametrize(("smoothed", "row"), ROWS)
def test_blind_joints_are_no_worse_than_plain_score_and_sara(kind, smoothed, row):
    check(kind, smoothed, row, FEW)


@pytest.mark.parametrize("kind", ["hinge", "ball"])
@pytest.mark.parametrize("row", [(140, 3, 0.0002), (60, 9, 0.002)])
def test_what_all_frames_have_told_is_not_counted_again(kind, row):
    """Place and deviations are those of `joints`, which sees every frame once. Closing lets markers
    give way by their skin, of which noise leaves some to chance: a tenth of a deviation."""
    degrees, n_markers, noise = row
    take = mechanism.mechanism(kind, degrees, n_markers, noise, seed=2, n_frames=400)
    names, options = take.recording.names, SolveOptions(template="none", clean=False)
    (solved,) = ost.solve(Take(recordings=(take.recording,)), options=options)
    groups = (names[:n_markers], names[n_markers:])
    assert {m.name for m in solved.skeleton.bodies[0].markers} == set(groups[0])
    tracked, link = mechanism.joined(take.recording, groups)
    stated = solved.skeleton.bodies[1].joint.covariance
    assert stated is not None
    assert np.linalg.eigvalsh(stated) == pytest.approx(
        np.linalg.eigvalsh(link.covariance[3:, 3:]), rel=1e-3
    )
    root, joint = solved.skeleton.bodies[0], solved.skeleton.bodies[1].joint
    fit = fit_rigid(tracked.templates[0], np.array([m.position for m in root.markers])[None])
    there = fit.positions[0] + quat.rotate(fit.rotations[0], np.asarray(link.in_parent))
    away = joint.in_parent - there
    assert np.sqrt(away @ np.linalg.solve(stated, away)) < 0.1


def test_every_take_tells_of_the_joints():
    """Two takes of one mechanism, cut from one: the joint lies where the whole has it."""
    take = mechanism.mechanism("ball", 90, 3, 0.001, seed=4, n_frames=400)
    halves = [
        Recording(take.recording.positions[part], take.recording.names, 100.0)
        for part in (slice(0, 250), slice(250, 400))
    ]
    whole, both = (calibrate_blind(some).skeleton for some in ([take.recording], halves))
    one, other = whole.bodies[1].joint, both.bodies[1].joint
    assert np.allclose(one.covariance, other.covariance, rtol=0.05, atol=1e-8)
    longest = calibrate_blind(halves[:1]).skeleton.bodies[1].joint
    assert np.trace(longest.covariance) > 1.2 * np.trace(other.covariance)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hinge", "ball"])
@pytest.mark.parametrize(("smoothed", "row"), ALL_ROWS)
def test_blind_joints_are_no_worse_in_any_row(kind, smoothed, row):
    check(kind, smoothed, row, MANY)
