"""Runs of frames in which a marker is seen or not, and a smooth path over those where it is not."""

from typing import NamedTuple

import numpy as np

from osteon.typing import Array


class SeenRun(NamedTuple):
    """Neighbouring frames of one marker that share a property."""

    marker: int
    first: int
    last: int

    @property
    def length(self) -> int:
        return self.last - self.first + 1


def runs(mask: np.ndarray) -> list[SeenRun]:
    """List runs of True in a (n_frames, n_markers) array, marker by marker."""
    edges = np.diff(np.pad(mask.astype(np.int8), ((1, 1), (0, 0))), axis=0)
    # transposed, so that both lists go through the markers in order and pair up
    marker, first = np.nonzero((edges == 1).T)
    _, after = np.nonzero((edges == -1).T)
    return [
        SeenRun(int(m), int(f), int(a) - 1) for m, f, a in zip(marker, first, after, strict=True)
    ]


def frames_text(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"


def bridge(path: Array, first: int, last: int) -> Array:
    """Return a cubic over frames ``first`` to ``last``, joining ``path`` (n, 3) smoothly.

    The frames before and after must be there and seen.
    """
    ends = np.array([first - 1, last + 1])
    slopes = [_slope(path, first - 1, -1), _slope(path, last + 1, 1)]
    from scipy.interpolate import CubicHermiteSpline  # slow to load, rarely asked for

    return CubicHermiteSpline(ends, path[ends], slopes)(np.arange(first, last + 1))


def _slope(path: Array, at: int, away: int) -> Array:
    """Movement per frame at a sample, from up to four more on the side away from the gap."""
    frames = [at]
    while len(frames) < 5 and 0 <= frames[-1] + away < len(path):
        if not np.isfinite(path[frames[-1] + away, 0]):
            break
        frames.append(frames[-1] + away)
    if len(frames) < 2:
        return np.zeros(3)
    # a parabola follows an accelerating marker up to the edge; two samples allow a line only
    fit = np.polynomial.polynomial.polyfit(
        np.array(frames) - at, path[frames], min(2, len(frames) - 1)
    )
    return fit[1]
