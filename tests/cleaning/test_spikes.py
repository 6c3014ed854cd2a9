"""Samples displaced for a few frames are found by their path, and nothing else is."""

import numpy as np
import pytest

from osteon import synth
from osteon.cleaning import find_spikes


@pytest.fixture(scope="module")
def walk():
    script = synth.walk(seconds=6, rate=60)
    return synth.perform(synth.human(), script, seed=1, noise=0.001, skin=1.0).recording


def in_bursts(recording, frames: int, metres: float):
    """One burst per marker, never two at a time, in directions of every kind."""
    rng = np.random.default_rng(5)
    positions, off = recording.positions.copy(), np.zeros(recording.positions.shape[:2], bool)
    for marker in range(recording.n_markers):
        first = 12 + marker * 8
        way = rng.normal(size=3)
        positions[first : first + frames, marker] += metres * way / np.linalg.norm(way)
        off[first : first + frames, marker] = True
    return recording.with_positions(positions, "bursts"), off


@pytest.mark.parametrize("frames", [1, 3, 5, 7])
def test_bursts_are_found(walk, frames):
    dirty, off = in_bursts(walk, frames, 0.12)
    found = find_spikes(dirty)
    # simulated: all, for 120 mm are far beyond what limbs do in a frame of a walk
    assert found[off].mean() > 0.99
    assert found[~off].mean() < 0.0005


def test_bursts_beside_gaps_are_found(walk):
    dirty, off = in_bursts(walk, 4, 0.12)
    positions = dirty.positions.copy()
    after = np.roll(off, 4, axis=0) & ~off
    positions[after] = np.nan
    assert find_spikes(dirty.with_positions(positions, "gaps"))[off].mean() > 0.99


def test_what_is_clean_stays(walk):
    assert find_spikes(walk).mean() < 0.0005


def test_many_bursts_of_any_size_are_found(walk):
    rng = np.random.default_rng(3)
    positions, off = walk.positions.copy(), np.zeros(walk.positions.shape[:2], bool)
    while off.mean() < 0.07:
        marker, first = rng.integers(walk.n_markers), rng.integers(walk.n_frames)
        frames = slice(first, first + rng.integers(1, 6))
        if not off[max(first - 1, 0) : frames.stop + 1, marker].any():
            way = rng.normal(size=3)
            positions[frames, marker] += rng.uniform(0.03, 0.17) * way / np.linalg.norm(way)
            off[frames, marker] = True
    found = find_spikes(walk.with_positions(positions, "bursts"))
    # simulated: 0.98 and 0.0006; bursts two frames apart hide each other
    assert found[off].mean() > 0.95
    assert found[~off].mean() < 0.003


def test_a_blow_is_no_spike(walk):
    hand = [walk.index(name) for name in ("LWRA", "LWRB", "LFIN")]
    positions = walk.positions.copy()
    positions[120:124, hand] += np.array([0.0, 0.0, 0.06])
    assert not find_spikes(walk.with_positions(positions, "blow")).any()


@pytest.mark.parametrize("frames", [10, 60])
def test_what_stays_away_is_no_spike(walk, frames):
    positions = walk.positions.copy()
    positions[100 : 100 + frames, walk.index("LKNE")] += np.array([0.0, 0.05, 0.05])
    assert not find_spikes(walk.with_positions(positions, "another path")).any()


def test_bursts_near_each_other_and_the_end_are_told_from_what_follows_them(walk):
    """The samples after the second burst, taken for the displaced ones, would explain one end of
    it: they are the last of the take."""
    positions, off = walk.positions.copy(), np.zeros(walk.positions.shape[:2], bool)
    marker = walk.index("RUPA")
    for frames, way in ((slice(-13, -12), [-0.14, 0.0, 0.0]), (slice(-8, -4), [0.0, 0.15, 0.0])):
        positions[frames, marker] += way
        off[frames, marker] = True
    found = find_spikes(walk.with_positions(positions, "bursts"))
    assert (found[:, marker] == off[:, marker]).all()


@pytest.mark.parametrize(("length", "apart", "other"), [(1, 3, 1), (5, 3, 1), (4, 1, 3)])
def test_bursts_that_one_across_both_would_explain_are_two(walk, length, apart, other):
    positions, off = walk.positions.copy(), np.zeros(walk.positions.shape[:2], bool)
    marker, second = walk.index("RWRA"), 150 + length + apart
    for frames, way in (
        (slice(150, 150 + length), [0.1, 0.1, 0.03]),
        (slice(second, second + other), [0.14, 0.06, -0.02]),
    ):
        positions[frames, marker] += way
        off[frames, marker] = True
    found = find_spikes(walk.with_positions(positions, "bursts"))
    assert (found[:, marker] == off[:, marker]).all()
