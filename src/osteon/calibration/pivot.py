"""The point that another body's markers keep their distance to."""

from typing import NamedTuple

import numpy as np

from osteon.calibration.frame_choice import MOSTLY
from osteon.typing import Array

FEWEST = 30
"""Frames that must show both bodies."""
PULL = 0.01
"""Metres of misfit that a pivot one metre away from the bodies' nearest markers is worth: decides
where motion leaves the pivot open, and nowhere else."""
STEPS = 20
INDEPENDENT = 25
"""Frames in a take that tell something new."""
BEYOND = 0.5
"""How far past its two points a line may carry its pivot, in its own length."""
STEADIEST = 0.001
"""Metres. No distance on skin is taken to be steadier than this."""


class Pivot(NamedTuple):
    """A joint candidate in the frame of the body that carries it."""

    point: Array
    """(3,); on a line (1,), the share of the way from its start to its end."""
    misfit: float
    """RMS deviation of the markers' distances to it, metres."""
    reach: float
    """How far the nearest markers of both bodies are from it, metres."""
    sigma: float
    """Standard deviation in the direction that motion tells least about, metres."""
    turned: float
    """How far the other body mostly swings to either side of its middle, radians."""


def find_pivot(own: Array, other: Array) -> Pivot | None:
    """Fit concentric spheres, one per marker of the other body.

    Parameters
    ----------
    own : (n_frames, n, 3)
        Markers of the body whose frame this is.
    other : (n_frames, m, 3)
        Markers of the other body in that frame; NaN where not seen.
    """
    seen = np.isfinite(other[..., 0])
    if (seen.sum(axis=0) < FEWEST).any():
        return None
    middle = _mean(other)
    home = _mean(own)
    guess = _between(home, middle)
    point = guess.copy()
    for _ in range(STEPS):
        slope, residual = _linearised(point, other, seen)
        pull = seen.sum() * PULL**2
        normal = slope.T @ slope + pull * np.eye(3)
        step = -np.linalg.solve(normal, slope.T @ residual + pull * (point - guess))
        point = point + step
        if np.linalg.norm(step) < 1e-6:
            break
    misfit, radius = _steadiness(point, other, seen)
    reach = np.min(np.linalg.norm(home - point, axis=-1)) + radius
    slope, _ = _linearised(point, other, seen)
    told = np.linalg.eigvalsh(slope.T @ slope)[0] * min(1.0, INDEPENDENT / len(other))
    sigma = max(misfit, STEADIEST) / np.sqrt(max(told, 1e-12))
    return Pivot(point, misfit, float(reach), float(sigma), _turned(other - point))


def find_pivot_on_line(start: Array, end: Array, other: Array) -> Pivot | None:
    """The same for a body without a frame: somewhere on the line through two of its points.

    Parameters
    ----------
    start, end : (n_frames, 3)
        The two points; one given twice is the pivot itself.
    other : (n_frames, m, 3)
        Markers of the other body, in the world as the line is; NaN where not seen.
    """
    along = (end - start)[:, None]
    other = np.where(np.isfinite(along[..., :1]), other, np.nan)
    seen = np.isfinite(other[..., 0])
    if (seen.sum(axis=0) < FEWEST).any():
        return None
    length = float(np.nanmean(np.linalg.norm(along, axis=-1)))
    pull = seen.sum() * (PULL * length) ** 2 + 1e-12
    share, slope = 0.5, np.zeros(seen.size)
    for _ in range(STEPS):
        slopes, residual = _linearised(start[:, None] + share * along, other, seen, along)
        slope = slopes[:, 0]
        step = -(slope @ residual + pull * (share - 0.5)) / (slope @ slope + pull)
        share = float(np.clip(share + step, -BEYOND, 1.0 + BEYOND))
        if abs(step) < 1e-6:
            break
    misfit, radius = _steadiness(start[:, None] + share * along, other, seen)
    reach = min(abs(share), abs(1.0 - share)) * length + radius
    told = slope @ slope * min(1.0, INDEPENDENT / len(other))
    sigma = length * max(misfit, STEADIEST) / np.sqrt(max(told, 1e-12))
    # of a body without a frame only the angle to its line is known: as an arm in one plane
    arms = other - (start[:, None] + share * along)
    lifted = np.sum(arms * along, axis=-1) / np.maximum(np.linalg.norm(along, axis=-1), 1e-12)
    flat = np.sqrt(np.maximum(np.sum(arms**2, axis=-1) - lifted**2, 0.0))
    planar = np.stack([lifted, flat, np.zeros_like(flat)], axis=-1)
    return Pivot(np.array([share]), misfit, float(reach), float(sigma), _turned(planar))


def _turned(arms: Array) -> float:
    """How far the longest of ``arms`` (n_frames, m, 3) is from its middle in nine frames of ten."""
    lengths = np.linalg.norm(arms, axis=-1)
    longest = int(np.argmax(np.nansum(lengths, axis=0) / np.isfinite(lengths).sum(axis=0)))
    seen = lengths[:, longest] > 0.0
    ways = arms[seen, longest] / lengths[seen, longest, None]
    middle = ways.mean(axis=0)
    cosines = ways @ middle / max(float(np.linalg.norm(middle)), 1e-12)
    return float(np.quantile(np.arccos(np.clip(cosines, -1.0, 1.0)), MOSTLY))


def _steadiness(point: Array, other: Array, seen: np.ndarray) -> tuple[float, float]:
    """RMS deviation of the distances from their means, and the smallest of these; metres."""
    distance = np.linalg.norm(other - point, axis=-1)
    radius = np.nansum(distance, axis=0) / seen.sum(axis=0)
    misfit = float(np.sqrt(np.nansum((distance - radius) ** 2) / seen.sum()))
    return misfit, float(np.min(radius))


def _linearised(
    point: Array, other: Array, seen: np.ndarray, along: Array | None = None
) -> tuple[Array, Array]:
    """The distances' deviations from their means, and how the point changes them.

    The point moves freely, or in each frame ``along`` (n_frames, 1, 3) only.
    """
    away = np.where(seen[..., None], point - other, 0.0)
    distance = np.linalg.norm(away, axis=-1)
    count = seen.sum(axis=0)
    direction = away / np.where(distance > 0.0, distance, 1.0)[..., None]
    if along is not None:
        direction = np.sum(np.where(seen[..., None], direction * along, 0.0), axis=-1)[..., None]
    slope = direction - direction.sum(axis=0) / count[:, None]
    residual = distance - distance.sum(axis=0) / count
    slope = np.where(seen[..., None], slope, 0.0).reshape(-1, slope.shape[-1])
    return slope, np.where(seen, residual, 0.0).reshape(-1)


def _between(home: Array, middle: Array) -> Array:
    """Halfway between the two nearest markers."""
    gaps = np.linalg.norm(home[:, None] - middle[None], axis=-1)
    first, second = np.unravel_index(np.argmin(gaps), gaps.shape)
    return 0.5 * (home[first] + middle[second])


def _mean(points: Array) -> Array:
    seen = np.isfinite(points[..., :1])
    total = np.where(seen, points, 0.0).sum(axis=0)
    return total / np.maximum(seen.sum(axis=0), 1)
