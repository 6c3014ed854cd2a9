"""The whole-clip smoother: closer to the truth than any fit frame by frame, kicks kept."""

import numpy as np
import pytest

from conftest import assert_close
from osteon import posing, synth
from osteon.maths import quat
from osteon.posing import whole_take as smooth
from osteon.posing._kernels.time_band import EMPTY, factor_band, substitute_band
from osteon.posing.per_frame import PoseProblem, solve_frames
from osteon.posing.whole_take import coordinate_steps, process_noise, smooth_frames
from pose_rigs import figure, motion_of, performance, row_of_balls


def off(rig, poses, rotations, markers) -> tuple[float, float]:
    """RMS to the truth: markers in millimetres, joints in degrees."""
    error = rig.markers(poses.rotations, poses.root) - markers
    angles = quat.angle(quat.between(poses.rotations, rotations))
    rms = np.sqrt(np.mean(np.sum(error**2, axis=-1)))
    return 1e3 * rms, np.degrees(np.sqrt(np.mean(angles**2)))


@pytest.mark.parametrize("n", [1, 3, 20, 203])
@pytest.mark.parametrize("width", [0, 2, 5, 30])
def test_banded_solve_equals_dense(rng, n, width):
    root = np.tril(np.triu(rng.normal(size=(n, n)), -width)) + (3.0 + width) * np.eye(n)
    full, right = root @ root.T, rng.normal(size=n)
    band = np.zeros((n, width + 1 + EMPTY))
    for j in range(n):
        column = full[j : j + width + 1, j]
        band[j, : len(column)] = column
    answer = right.copy()
    for first in range(0, n, 48):  # in pieces, as a clip is
        factor_band(band, np.uint64(first), np.uint64(min(first + 48, n)))
    substitute_band(band, answer)
    assert_close(answer, np.linalg.solve(full, right), 1e-9)


def test_variances_are_the_inverse_of_the_normal_matrix(rng):
    """By differences of the markers: for unit noise the inverse of JᵀJ has them."""
    rig, rotations, root, markers, _ = performance(70, rng, noise=0.0)
    poses = solve_frames(PoseProblem(rig, markers), start=(rotations, root))
    found = smooth._coordinate_variances(rig, markers, poses)
    for frame in (0, 69):
        pose = poses.rotations[frame], poses.root[frame]
        steps = 1e-6 * np.eye(rig.tree.n_dofs)
        many = tuple(np.repeat(part[None], len(steps), axis=0) for part in pose)
        there, back = (rig.markers(*rig.move(*many, sign * steps)) for sign in (1.0, -1.0))
        slopes = ((there - back) / 2e-6).reshape(len(steps), -1)
        normal = slopes @ slopes.T + smooth.UNSEEN_STIFFNESS * np.eye(len(steps))
        # central differences: 1e-16 / 1e-6 of rounding, enlarged by how badly it is conditioned
        np.testing.assert_allclose(found[frame], np.linalg.inv(normal).diagonal(), rtol=1e-5)


def test_process_noise_is_found_and_follows_the_motion(rng):
    """Third differences of 1e-3 that stop half-way, seen with 1e-2 noise."""
    jerk = rng.normal(scale=1e-3, size=(1000, 8))
    jerk[500:] = 0.0
    tracks = jerk.cumsum(axis=0).cumsum(axis=0).cumsum(axis=0)
    seen = tracks + rng.normal(scale=1e-2, size=tracks.shape)
    found = process_noise(seen, np.full(seen.shape, 1e-4), window=12.0)
    # 10 draws: the median is the candidate 1e-3 before, the smallest candidate after
    assert 5e-4 < np.median(found[100:400]) < 2e-3
    assert np.median(found[700:]) < 1e-4


def test_steps_add_up_to_the_motion(rng):
    rig = figure()
    rotations, root = motion_of(rig, 50, rng)
    steps = coordinate_steps(rig, rotations, root)
    assert_close(steps[:, :3].sum(axis=0), root[-1] - root[0])
    knee = 2.0 * np.arctan2(rotations[:, 10, 2], rotations[:, 10, 0])
    dof = np.flatnonzero(rig.tree.dof_body == 10)[0]
    assert_close(steps[:, dof], np.diff(knee), 1e-12)


def test_smoothing_beats_frames_by_far(rng):
    rig, rotations, _, markers, observed = performance(600, rng, noise=0.002)
    problem = PoseProblem(rig, observed)
    poses = solve_frames(problem)
    smooth = smooth_frames(problem, poses, rate=120.0)
    # 10 draws: frame by frame 1.91–1.95 mm, 1.32–1.43°; smoothed 0.59–0.64 mm, 0.30–0.36°
    assert off(rig, poses, rotations, markers)[0] > 1.8
    millimetres, degrees = off(rig, smooth, rotations, markers)
    assert millimetres < 0.8 and degrees < 0.45
    assert smooth.marker_noise == pytest.approx(0.002, rel=0.05)


def test_a_kick_keeps_its_peak_speed(rng):
    """Hip and knee swing 86° and 115° and back within a quarter of a second: 21 m/s at the foot."""
    rig, n_frames = figure(), 400
    rotations, root = motion_of(rig, n_frames, rng, size=0.1)
    time = (np.arange(n_frames) - 200) / 120.0
    for body, size in ((9, 1.5), (10, 2.0)):
        swing = quat.from_axis_angle(
            np.array([0.0, 1, 0]), size * np.exp(-0.5 * (time / 0.06) ** 2)
        )
        rotations[:, body] = quat.multiply(rotations[:, body], swing)
    markers = rig.markers(rotations, root)
    observed = markers + rng.normal(scale=0.002, size=markers.shape)
    problem = PoseProblem(rig, observed)
    smooth = smooth_frames(problem, solve_frames(problem), rate=120.0)
    foot = np.flatnonzero(rig.tree.marker_bodies == 11)

    def peak(points):
        return np.linalg.norm(np.diff(points[:, foot].mean(axis=1), axis=0), axis=-1).max()

    found = rig.markers(smooth.rotations, smooth.root)
    assert peak(found) == pytest.approx(peak(markers), rel=0.02)


def test_gaps_are_bridged_by_motion_not_held(rng):
    """Ten frames without a marker: closer to the truth than the nearest frame held."""
    rig, _, _, markers, observed = performance(200, rng, noise=0.001)
    observed[100:110] = np.nan
    problem = PoseProblem(rig, observed)
    poses = solve_frames(problem)
    smooth = smooth_frames(problem, poses, rate=120.0)
    gap = slice(100, 110)

    def worst(found):
        return np.abs(rig.markers(found.rotations, found.root) - markers)[gap].max()

    assert poses.held == tuple(range(100, 110))
    # 10 draws: 0.004–0.018 of it
    assert worst(smooth) < 0.05 * worst(poses)


@pytest.mark.parametrize("n_frames", [1, 2, 3, 4, 7])
def test_short_clips(rng, n_frames):
    rig, *_, observed = performance(n_frames, rng, noise=0.001)
    problem = PoseProblem(rig, observed)
    smooth = smooth_frames(problem, solve_frames(problem), rate=120.0)
    assert np.isfinite(smooth.rotations).all() and smooth.rotations.shape == (n_frames, 15, 4)


def test_solve_smooths_on_request():
    take = synth.perform(synth.human(), synth.walk(seconds=2), noise=0.002, seed=1)
    truth = take.truth.motion.world()[1]

    def off(smooth):
        motion = posing.solve(take.recording, take.truth.skeleton, smooth=smooth).motion
        return np.sqrt(np.mean(np.sum((motion.world()[1] - truth) ** 2, axis=-1)))

    assert off(smooth=True) < 0.5 * off(smooth=False)


def test_windows_leave_no_seam(rng, monkeypatch):
    """The free turn of a hand with one marker too goes on where the window before left it."""
    rig = row_of_balls(rng, 4, 4, 1)
    observed = rig.markers(*motion_of(rig, 500, rng))
    observed += rng.normal(scale=0.002, size=observed.shape)
    problem = PoseProblem(rig, observed)
    poses = solve_frames(problem)
    whole = smooth_frames(problem, poses, rate=120.0)
    monkeypatch.setattr(smooth, "WINDOW_FRAMES", 100)
    parts = smooth_frames(problem, poses, rate=120.0)

    def fastest(found):
        return np.degrees(quat.angle(quat.between(found.rotations[:-1], found.rotations[1:])).max())

    # 10 draws: whole 2.1–2.7°, parts 2.1–2.8°; without what the window before left 39–135°
    assert fastest(parts) < 1.2 * fastest(whole)
    seen = [rig.markers(found.rotations, found.root) for found in (parts, whole)]
    assert np.abs(seen[0] - seen[1]).max() < 0.0005  # a quarter of the noise
