"""Distances between points."""

import numpy as np

from osteon.typing import Array


def distances_between(some: Array, others: Array) -> Array:
    """Return (n, m) distances of points (n, d) from points (m, d)."""
    squares = np.zeros((len(some), len(others)))
    for x, y in zip(some.T, others.T, strict=True):
        squares += (x[:, None] - y) ** 2
    return np.sqrt(squares)
