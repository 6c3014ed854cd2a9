"""Stretches of neighbouring frames that share a property."""

import numpy as np


def runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each run of True in a (n_frames,) mask."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
