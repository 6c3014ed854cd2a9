"""Runs of frames: where a marker is seen without a break, and where it is not."""

from typing import NamedTuple

import numpy as np


class SeenRun(NamedTuple):
    """Neighbouring frames of one marker that share a property."""

    marker: int
    first: int
    last: int

    @property
    def length(self) -> int:
        return self.last - self.first + 1


def runs(mask: np.ndarray) -> list[SeenRun]:
    """Runs of True in a (n_frames, n_markers) array, marker by marker."""
    edges = np.diff(np.pad(mask.astype(np.int8), ((1, 1), (0, 0))), axis=0)
    # transposed, so that both lists go through the markers in order and pair up
    marker, first = np.nonzero((edges == 1).T)
    _, after = np.nonzero((edges == -1).T)
    return [
        SeenRun(int(m), int(f), int(a) - 1) for m, f, a in zip(marker, first, after, strict=True)
    ]


def frames_text(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"
