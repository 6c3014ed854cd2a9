"""Noise of tracks, and scales that outliers cannot move. NaN is passed over.

White noise survives repeated differencing and motion does not: high differences of a track are
nearly pure noise, enlarged by a known factor. Noise that is smooth in time is not seen there.

And runs of neighbouring frames.
"""

from math import comb

import numpy as np

from osteon.typing import Array

NORMAL_RATIO = 1.4826
"""Ratio of standard to median absolute deviation; derived: 1 / 0.67449 for a normal law."""
SMOOTH_ORDER = 5
"""Count of differences taken. Derived: at 60 Hz it damps a swing of 1 Hz to 1e-5, (2π / 60)⁵."""
BLOCK_NUMBERS = 2**18
"""Count of numbers that a step over a long take works on at once. Chosen: 2 MB stay near a
processor, whole takes do not, and all that is computed on the way would need their memory again."""
FEWEST_SAMPLES = 30
"""Count of differences. Chosen: the median of fewer is chance, and their track counts as
noiseless."""


def blocks(count: int, numbers: int) -> list[slice]:
    """Return what to take at once of ``count`` rows (frames, markers …) of so many numbers each."""
    step = max(1, BLOCK_NUMBERS // max(1, numbers))
    return [slice(first, first + step) for first in range(0, count, step)]


def mad_scale(values: Array, axis: int | None = None) -> Array:
    """Return the standard deviation judged by the median absolute deviation.

    Half of the values may be anything. NaN where no value was seen.
    """
    values = np.ma.masked_invalid(values)
    centre = np.ma.median(values, axis=axis, keepdims=True)
    spread = np.ma.median(np.ma.abs(values - centre), axis=axis)
    return np.ma.filled(NORMAL_RATIO * spread, np.nan)


def weighted_median(values: Array, weights: Array) -> float:
    """Return the value that half of all weight lies below."""
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(share, 0.5 * share[-1])])


def noise_gain(order: int) -> int:
    """Return the variance of white noise after ``order`` differences, in its own before."""
    return comb(2 * order, order)


def white_noise(paths: Array, order: int = SMOOTH_ORDER) -> Array:
    """Return the deviation per axis (n_points,) of the noise on paths (n_frames, n_points, 3)."""
    noise = np.zeros(paths.shape[1])
    for part in blocks(paths.shape[1], paths[:, :1].size):
        noise[part] = noise_of_differences(np.diff(paths[:, part], n=order, axis=0), order)
    return noise


def noise_of_differences(differences: Array, order: int = SMOOTH_ORDER) -> Array:
    """Return the deviation per axis (n_points,) of the noise behind differences (n, n_points, …).

    The median ignores impacts and jumps.
    """
    enough = np.isfinite(differences).sum(axis=(0, 2)) > FEWEST_SAMPLES
    scale = np.zeros(differences.shape[1])
    if enough.any():
        scale[enough] = np.nanmedian(np.abs(differences[:, enough]), axis=(0, 2))
    return NORMAL_RATIO * scale / np.sqrt(noise_gain(order))


def runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each run of True in a (n_frames,) mask."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def low_pass(path: Array, cutoff: float, rate: float) -> Array:
    """Butterworth's filter along the first axis, half of the power left at ``cutoff`` (Hz).

    Second order, there and back: fourth order without lag, its cut-off set for both passes.
    """
    if len(path) < 4:
        return path
    both_ways = (np.sqrt(2.0) - 1.0) ** 0.25
    warped = np.tan(np.pi * cutoff / rate) / both_ways
    single = np.arctan(warped) * rate / np.pi
    from scipy.signal import butter, sosfiltfilt  # slow to load, rarely asked for

    sections = butter(2, single, fs=rate, output="sos")
    # a reflected second at each end lets the filter settle before the data begins
    return sosfiltfilt(sections, path, axis=0, padlen=min(round(rate), len(path) - 1))
