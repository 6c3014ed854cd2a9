"""Median, least and mean of the frames around each; beyond its ends a track keeps its last value.

A window of an even number of frames has one more before its frame than after.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from osteon.typing import Array

BLOCK_NUMBERS = 1 << 20
"""Count of numbers that a median sorts at once. Chosen: 8 MB, however long the take."""


def moving_median(tracks: Array, window: int) -> Array:
    """Return the median (n_frames, ...) over windows of tracks; of an even one the upper half's
    least."""
    around, middle = _around(tracks, window), np.empty(tracks.shape)
    block = max(1, BLOCK_NUMBERS * len(tracks) // (window * max(tracks.size, 1)))
    for first in range(0, len(tracks), block):
        ranked = np.partition(around[first : first + block], window // 2, axis=-1)
        middle[first : first + block] = ranked[..., window // 2]
    return middle


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


def _around(tracks: Array, window: int) -> Array:
    return sliding_window_view(_with_ends(tracks, window), window, axis=0)


def _with_ends(tracks: Array, window: int) -> Array:
    before = window // 2
    beside = [(before, window - 1 - before)] + [(0, 0)] * (tracks.ndim - 1)
    return np.pad(tracks, beside, mode="edge")
