"""Paths of keypoints: noise and jumps are told from motion by time alone."""

import numpy as np
import pytest

from keypoint_scenes import scene
from osteon.keypoints import steady_tracks

WALK = scene("OpenCap-20")


def test_exact_paths_stay_exact():
    """A smooth path has no noise to take out: what moves is below the noise that is assumed."""
    tracks = steady_tracks(WALK.points, 100.0)
    assert np.abs(tracks.positions - WALK.points).max() < 1e-3
    assert not tracks.jumps.any()


@pytest.mark.parametrize("noise", [0.003, 0.015, 0.03])
def test_noise_is_found_and_taken_out(noise):
    """White noise is read off the path within a tenth (simulated: 400 frames, 20 points: 3 %)."""
    recording = WALK.seen(noise)
    tracks = steady_tracks(recording.positions, recording.rate)
    assert np.median(tracks.noise) == pytest.approx(noise, rel=0.1)
    before = np.sqrt(np.mean((recording.positions - WALK.points) ** 2))
    after = np.sqrt(np.mean((tracks.positions - WALK.points) ** 2))
    assert after < 0.6 * before


def test_jumps_are_found_and_honest_samples_kept():
    recording = WALK.seen(0.015, 0.03)
    jumped = np.linalg.norm(recording.positions - WALK.points, axis=-1) > 0.09
    tracks = steady_tracks(recording.positions, recording.rate)
    assert tracks.jumps[jumped].mean() > 0.6
    assert tracks.jumps[~jumped].mean() < 0.005
    off = np.linalg.norm(tracks.positions - WALK.points, axis=-1)
    assert np.median(off) < 0.010 and np.percentile(off, 95) < 0.025


def test_short_gaps_are_bridged_and_long_ones_stay():
    points = WALK.points.copy()
    points[50:60, 3] = np.nan
    points[100:200, 3] = np.nan
    found = steady_tracks(points, 100.0).positions[:, 3]
    assert np.linalg.norm(found[50:60] - WALK.points[50:60, 3], axis=-1).max() < 0.02
    assert np.isnan(found[120:180]).all() and np.isfinite(found[200:]).all()


def test_a_point_never_seen_stays_so():
    points = WALK.points.copy()
    points[:, 5] = np.nan
    tracks = steady_tracks(points, 100.0)
    assert np.isnan(tracks.positions[:, 5]).all()
    assert np.isfinite(np.delete(tracks.positions, 5, axis=1)).all()
