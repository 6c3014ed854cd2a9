"""A smooth path over a gap in time, from the samples on both sides."""

import numpy as np

from osteon.typing import Array


def bridge(path: Array, first: int, last: int) -> Array:
    """A cubic for frames ``first`` to ``last`` that leaves and arrives as ``path`` (n, 3) goes.

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
