"""Least and mean of the frames around each; beyond its ends a track keeps its last value.

A window of an even number of frames has one more before its frame than after.
"""

import numpy as np

from osteon.typing import Array


def moving_least(tracks: Array, window: int) -> Array:
    """Return the least (n_frames, ...) over windows of tracks, in a time that hardly grows with
    their length."""
    least, covered = _with_ends(tracks, window), 1
    while covered < window:
        step = min(covered, window - covered)
        least = np.minimum(least[:-step], least[step:])
        covered += step
    return least


def moving_mean(tracks: Array, window: int) -> Array:
    """Return the mean (n_frames, ...) over windows of tracks, summed along them."""
    ends = _with_ends(tracks, window)
    first = np.add.accumulate(ends[:window], axis=0)[-1:]
    sums = np.add.accumulate(np.concatenate([first, ends[window:] - ends[:-window]]), axis=0)
    return sums / window


def _with_ends(tracks: Array, window: int) -> Array:
    before = window // 2
    beside = [(before, window - 1 - before)] + [(0, 0)] * (tracks.ndim - 1)
    return np.pad(tracks, beside, mode="edge")
