"""Weights that keep outliers from ruling a least-squares fit, and a scale they cannot move.

Each weight function maps residuals to the factor by which iteratively reweighted least squares
multiplies their squares: 1 at zero, smaller farther out. Residuals and scale share a unit. NaN
residuals (not seen) weigh nothing.
"""

import numpy as np

from osteon.typing import Array

NORMAL = 1.4826
"""Standard deviation by median absolute deviation of a normal distribution."""


def huber(residuals: Array, scale: float | Array) -> Array:
    """1 up to ``scale``, then scale / |r|: far residuals pull with constant force."""
    size = np.abs(residuals)
    return _seen(scale / np.maximum(size, scale))


def mad_scale(values: Array, axis: int | None = None) -> Array:
    """Standard deviation judged by the median absolute deviation; NaN is passed over.

    Half of the values may be anything. NaN where no value was seen.
    """
    values = np.ma.masked_invalid(values)
    centre = np.ma.median(values, axis=axis, keepdims=True)
    spread = np.ma.median(np.ma.abs(values - centre), axis=axis)
    return np.ma.filled(NORMAL * spread, np.nan)


def _seen(weights: Array) -> Array:
    return np.where(np.isfinite(weights), weights, 0.0)
