"""Samples displaced for a few frames are found by their distances, and nothing else is."""

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
    # simulated: 0.93 and more; hands of one marker and shins of two have few companions
    assert found[off].mean() > 0.85
    assert found[~off].mean() < 0.005


def test_bursts_beside_gaps_are_found(walk):
    dirty, off = in_bursts(walk, 4, 0.12)
    positions = dirty.positions.copy()
    after = np.roll(off, 4, axis=0) & ~off
    positions[after] = np.nan
    assert find_spikes(dirty.with_positions(positions, "gaps"))[off].mean() > 0.8


def test_what_is_clean_stays(walk):
    assert find_spikes(walk).mean() < 0.0005
