"""How long a bone is when its ends are noisy: moments of its length over the take."""

from typing import NamedTuple

import numpy as np

from osteon.typing import Array, Indices, Mask

N_BLOCKS = 32
"""Stretches of the take that count as independent in standard errors. Chosen: noise has memory."""


class Moments(NamedTuple):
    """Sums over stretches of the take of powers of each bone's length, (n_blocks, n_joints)."""

    counts: Array
    first: Array
    second: Array
    fourth: Array

    @property
    def frames(self) -> Array:
        """(n_joints,) frames that show both ends."""
        return self.counts.sum(axis=0)


class LengthEstimate(NamedTuple):
    """Lengths of bones, each (n_joints,), metres; NaN for roots and bones never seen."""

    lengths: Array
    errors: Array
    """Standard errors."""
    noise: Array
    """Standard deviation of one coordinate of the bone's vector."""
    doubtful: Mask
    """Bones no longer than their noise: the mean of what was seen stands for them."""


def length_moments(positions: Array, parents: Indices) -> Moments:
    """Sums of the powers of bone lengths in ``positions`` (n_frames, n_joints, 3)."""
    bones = positions - positions[:, parents]
    bones[:, parents < 0] = np.nan
    squares = bones[..., 0] ** 2 + bones[..., 1] ** 2 + bones[..., 2] ** 2
    seen = np.isfinite(squares)
    squares[~seen] = 0.0
    starts = np.unique(np.linspace(0, len(positions), N_BLOCKS, endpoint=False).astype(int))
    powers = (seen.astype(float), np.sqrt(squares), squares, squares**2)
    return Moments(*(np.add.reduceat(power, starts, axis=0) for power in powers))


def debiased(moments: Moments, noise: float | None = None) -> LengthEstimate:
    """Lengths freed of what joint noise adds.

    A bone of length l whose vector has noise of variance s in each coordinate shows
    E‖d‖² = l² + 3s, so l = √(E‖d‖² − 3s) (docs/methods.md §5). Without ``noise``, the standard
    deviation of one coordinate of a joint, s is told from the same bone: Var‖d‖² = 4l²s + 6s²
    makes l² = √((E‖d‖²)² − 1.5 Var‖d‖²). Both hold for noise that is Gaussian, alike in all
    directions and blind to the bone's direction; memory in time does no harm. What the two ends
    share, as when a whole limb is shifted, is no noise of the bone and is left alone.
    """
    return _estimate(moments, lambda sums: _debiased_squares(sums, noise))


def mean_lengths(moments: Moments) -> LengthEstimate:
    """Mean lengths as seen, noise and all: where least squares starts."""
    own = debiased(moments)
    plain = _estimate(moments, lambda sums: _share(sums[1], sums[0]) ** 2)
    return plain._replace(noise=own.noise)


def _debiased_squares(sums: Array, noise: float | None) -> Array:
    """l² from sums (4, ...) of powers; below zero where the noise hides the bone."""
    mean, fourth = _share(sums[2], sums[0]), _share(sums[3], sums[0])
    if noise is not None:
        return mean - 6.0 * noise**2  # two ends, three coordinates
    below = mean**2 - 1.5 * np.maximum(fourth - mean**2, 0.0)
    return np.sign(below) * np.sqrt(np.abs(below))


def _estimate(moments: Moments, squares_of) -> LengthEstimate:
    """Value, and standard error by leaving out one stretch of the take after another."""
    sums = np.stack(moments)
    total = sums.sum(axis=1)
    squares, mean_square = squares_of(total), _share(total[2], total[0])
    doubtful = squares <= 0.0
    mean = _share(total[1], total[0])
    # exact lengths of zero are no doubt, and no noise either
    lengths = np.where(doubtful, mean, np.sqrt(np.maximum(squares, 0.0)))
    noise = np.sqrt(np.maximum(mean_square - squares, 0.0) / 3.0)
    without = np.sqrt(np.maximum(squares_of(total[:, None] - sums), 0.0))
    told = np.isfinite(without)
    n = np.maximum(told.sum(axis=0), 1)
    spread = np.where(told, without - np.where(told, without, 0.0).sum(axis=0) / n, 0.0)
    errors = np.sqrt((n - 1) / n * np.sum(spread**2, axis=0))
    errors = np.where((n > 2) & np.isfinite(lengths), errors, np.nan)
    return LengthEstimate(lengths, errors, noise, doubtful & (mean > 0.0))


def _share(total: Array, count: Array) -> Array:
    return total / np.where(count > 0.5, count, np.nan)
