"""Statistics of angles and of rotations, these measured along the turns themselves.

Radians. NaN is passed over.
"""

from typing import NamedTuple

import numpy as np

from osteon.maths import quat
from osteon.typing import Array

TURN = 2.0 * np.pi
"""Radians of a whole turn: defined."""


class Spread(NamedTuple):
    """How rotations lie about their mean: principal geodesic analysis. docs/methods.md §7."""

    mean: Array
    """(..., 4) Fréchet mean."""
    std: Array
    """(..., 3) radians along each principal direction, largest first."""
    directions: Array
    """(..., 3, 3) rows are unit turn axes in the frame of the mean, in the order of ``std``."""


def frechet_mean(
    q: Array, weights: Array | None = None, *, tolerance: float = 1e-12, max_iterations: int = 50
) -> Array:
    """Return the rotation (..., 4) with the least summed squared angle to all samples, w ≥ 0.

    Starts at the chordal mean [Markley 2007], whose sign of each sample does not matter, and steps
    along the mean log until it vanishes.

    Parameters
    ----------
    q : (n_samples, ..., 4)
        Rotations; NaN where missing.
    weights : (n_samples, ...), optional
        Not negative.
    """
    share = _shares(q, weights)
    filled = np.where(np.isfinite(q), q, 0.0)
    moments = np.einsum("n...,n...i,n...j->...ij", share, filled, filled)
    mean = np.linalg.eigh(moments)[1][..., -1]
    for _ in range(max_iterations):
        step = np.einsum("n...,n...i->...i", share, _logs(mean, q))
        mean = quat.normalise(quat.multiply(mean, quat.exp(step)))
        if np.abs(step).max(initial=0.0) < tolerance:
            break
    mean = np.where(mean[..., :1] < 0.0, -mean, mean)
    return np.where(share.sum(axis=0)[..., None] > 0.0, mean, np.nan)


def _logs(mean: Array, q: Array) -> Array:
    """Turns (n_samples, ..., 3) from the mean to each sample, in the mean's frame; missing: 0."""
    logs = quat.log(quat.between(mean[None], q))
    return np.where(np.isfinite(logs), logs, 0.0)


def _shares(q: Array, weights: Array | None) -> Array:
    """Weights (n_samples, ...) that sum to 1, or to 0 where nothing was seen."""
    seen = np.isfinite(q).all(axis=-1)
    weights = np.where(seen, 1.0 if weights is None else weights, 0.0)
    total = weights.sum(axis=0)
    return weights / np.where(total > 0.0, total, 1.0)


def wrap(angles: Array) -> Array:
    """Return the same angles in [−π, π)."""
    return (np.asarray(angles) + np.pi) % TURN - np.pi


def unwrap(angles: Array, axis: int = 0) -> Array:
    """Add whole turns so that seen neighbours along ``axis`` differ by at most π."""
    moved = np.moveaxis(np.array(angles, dtype=float), axis, 0)
    for series in moved.reshape(len(moved), -1).T if moved.size else ():
        seen = np.isfinite(series)
        series[seen] = np.unwrap(series[seen])
    return np.moveaxis(moved, 0, axis)


def resultant_length(angles: Array, axis: int | None = None) -> Array:
    """Length of the mean vector: 1 all alike, 0 spread evenly (or cancelling); NaN of nothing."""
    seen = np.isfinite(angles)
    total = seen.sum(axis=axis)
    vector = np.where(seen, np.exp(1j * np.where(seen, angles, 0.0)), 0.0).sum(axis=axis)
    return np.abs(np.where(total > 0, vector / np.maximum(total, 1), np.nan))
