"""Least squares with bounds."""

import numpy as np

from osteon.typing import Array


def non_negative(system: Array, target: Array) -> Array:
    """Return x ≥ 0 (n,) of the least |system x − target|, as Lawson and Hanson do.

    Unknowns come in one by one, the steepest first; those that would fall below zero go again.
    """
    products, slopes = system.T @ system, system.T @ target
    n = len(slopes)
    x, used = np.zeros(n), np.zeros(n, dtype=bool)
    rounding = n * np.finfo(float).eps * np.abs(products).max(initial=0.0)
    for _ in range(3 * n):
        left = np.where(used, -np.inf, slopes - products @ x)
        if left.max(initial=-np.inf) <= rounding * max(1.0, x.max()):
            break
        used[np.argmax(left)] = True
        best = _among(products, slopes, used)
        while (best[used] <= 0.0).any():
            falling = np.flatnonzero(used & (best <= 0.0))
            shares = x[falling] / np.maximum(x[falling] - best[falling], np.finfo(float).tiny)
            first = int(np.argmin(shares))
            x += shares[first] * (best - x)
            used[falling[first]] = False  # one goes in each round, so that rounds end
            x[~used] = 0.0
            best = _among(products, slopes, used)
        x = best
    return x


def _among(products: Array, slopes: Array, used: np.ndarray) -> Array:
    """Return the least-squares x with zero for all that are not used."""
    x = np.zeros(len(slopes))
    x[used] = np.linalg.lstsq(products[np.ix_(used, used)], slopes[used], rcond=None)[0]
    return x
