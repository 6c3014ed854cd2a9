"""Statistics of angles, radians. NaN is passed over."""

from typing import NamedTuple

import numpy as np

from osteon.typing import Array

TURN = 2.0 * np.pi


class Interval(NamedTuple):
    """An arc that holds every sample, going up from ``low``."""

    low: float
    """In [−π, π)."""
    high: float
    """``low`` ≤ ``high`` < ``low`` + 2π."""
    gap: float
    """Size of the largest arc without samples, 2π − (high − low)."""


def wrap(angles: Array) -> Array:
    """Return the same angles in [−π, π)."""
    return (np.asarray(angles) + np.pi) % TURN - np.pi


def difference(a: Array, b: Array) -> Array:
    """From ``b`` to ``a`` the shorter way, in [−π, π)."""
    return wrap(np.asarray(a) - np.asarray(b))


def unwrap(angles: Array, axis: int = 0) -> Array:
    """Add whole turns so that seen neighbours along ``axis`` differ by at most π."""
    moved = np.moveaxis(np.array(angles, dtype=float), axis, 0)
    for series in moved.reshape(len(moved), -1).T if moved.size else ():
        seen = np.isfinite(series)
        series[seen] = np.unwrap(series[seen])
    return np.moveaxis(moved, 0, axis)


def mean(angles: Array, weights: Array | None = None, axis: int | None = None) -> Array:
    """Direction of the mean vector, in [−π, π); NaN where there are no samples.

    When the samples cancel the direction means nothing: see :func:`resultant_length`.
    """
    return wrap(np.angle(_resultant(angles, weights, axis)))


def resultant_length(angles: Array, weights: Array | None = None, axis: int | None = None) -> Array:
    """Length of the mean vector: 1 all alike, 0 spread evenly (or cancelling)."""
    return np.abs(_resultant(angles, weights, axis))


def std(angles: Array, weights: Array | None = None, axis: int | None = None) -> Array:
    """Circular standard deviation √(−2 ln R), radians; infinite when the samples cancel."""
    length = np.minimum(resultant_length(angles, weights, axis), 1.0)
    with np.errstate(divide="ignore"):
        return np.sqrt(-2.0 * np.log(length))


def _resultant(angles: Array, weights: Array | None, axis: int | None) -> Array:
    angles = np.asarray(angles, dtype=float)
    seen = np.isfinite(angles)
    weights = np.broadcast_to(1.0 if weights is None else weights, angles.shape)
    weights = np.where(seen, weights, 0.0)
    total = weights.sum(axis=axis)
    vector = (weights * np.exp(1j * np.where(seen, angles, 0.0))).sum(axis=axis)
    # no samples: NaN rather than the direction of nothing
    return np.where(total > 0.0, vector / np.where(total > 0.0, total, 1.0), np.nan)
