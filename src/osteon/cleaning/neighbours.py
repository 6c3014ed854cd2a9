"""Which markers move with a marker."""

from collections.abc import Sequence

import numpy as np

from osteon.typing import Array

FRAMES = 300
"""Frames that are enough to tell who moves with whom."""


def sparse(positions: Array) -> Array:
    """Evenly chosen frames, at most ``FRAMES``."""
    return positions[:: max(len(positions) // FRAMES, 1)]


def distance_spread(positions: Array, markers: Sequence[int] | None = None) -> tuple[Array, Array]:
    """Median distance of pairs and its robust spread, (n_markers, all markers) each, metres.

    Infinite where a pair is seen together in fewer than a tenth of the frames. The spread is the
    range of the middle 80 %, so that a swapped tenth does not spoil it.

    Parameters
    ----------
    markers
        Whose distances; everybody's by default.
    """
    few = sparse(positions)
    rows = range(few.shape[1]) if markers is None else markers
    middle, spread = np.full((2, len(rows), few.shape[1]), np.inf)
    for row, a in enumerate(rows if len(few) else ()):
        ordered = np.sort(np.linalg.norm(few - few[:, a : a + 1], axis=-1), axis=0)  # NaN last
        together = np.isfinite(ordered).sum(axis=0)
        low, centre, high = (
            np.take_along_axis(ordered, (share * (together - 1).clip(0)).astype(int)[None], 0)[0]
            for share in (0.1, 0.5, 0.9)
        )
        often = together >= max(0.1 * len(few), 1)
        often[a] = False
        middle[row, often], spread[row, often] = centre[often], (high - low)[often]
    return middle, spread


def companions(positions: Array, n: int, markers: Sequence[int] | None = None) -> list[list[int]]:
    """For every marker the ``n`` others that keep their distance to it best, best first.

    Far markers must be more rigid to count: a tenth of the distance is added to the spread, since
    a long lever turns small errors into large ones.

    Parameters
    ----------
    markers
        Whose companions; everybody's by default.
    """
    middle, spread = distance_spread(positions, markers)
    cost = spread + 0.1 * middle
    order = np.argsort(cost, axis=1)[:, :n]
    return [[int(b) for b in row if np.isfinite(cost[a, b])] for a, row in enumerate(order)]
