"""How far an angle goes: the arc outside the largest gap, per motion, then joined.

Swing–twist limits: where bones may point and how far they may twist. docs/methods.md §8.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from osteon.errors import BadValue
from osteon.joint_limits._kinds_kernel import split_turns
from osteon.maths import TURN, kernel, quat
from osteon.typing import Array, Indices
from osteon.values import Cone, Skeleton, in_rows, read_only

CELL_SIZE = np.radians(5.0)
"""Radians, of the cells by which coverage is told. Chosen."""
COMBINATIONS = ("general", "specific")
N_SIDES = 16
"""Of the spherical polygon. Chosen: every 22.5°."""
NARROWEST_RADIUS = np.radians(0.01)
"""Radians, of an ellipse or polygon that would otherwise have no inside. Chosen."""


@dataclass(frozen=True, slots=True)
class RangeOptions:
    """How tight limits are drawn about the samples."""

    quantile: float = 1.0
    """Share of the samples, about the middle, that each limit keeps; 1: all."""
    margin: float = 0.0
    """Added at every end, degrees; negative makes limits tighter."""
    combine: str = "general"
    """Of several motions, ``general`` allows what any of them does, ``specific`` what all do."""

    def __post_init__(self) -> None:
        if not 0.0 < self.quantile <= 1.0:
            raise BadValue(f"quantile must lie above 0 and at most at 1, got {self.quantile}")
        if not abs(self.margin) <= 180.0:
            raise BadValue(f"margin must be between −180 and 180 degrees, got {self.margin}")
        if self.combine not in COMBINATIONS:
            raise BadValue(
                f"combine must be one of {', '.join(COMBINATIONS)}, got {self.combine!r}"
            )

    @property
    def tail(self) -> float:
        """Share of the samples cut off at each end."""
        return 0.5 * (1.0 - self.quantile)


class Arc(NamedTuple):
    """The range of an angle and what it rests on. Radians."""

    low: float
    high: float
    gap: float
    """Largest arc without samples."""
    coverage: float
    """Share of the 5° cells between low and high that hold a sample."""


NO_ARC = Arc(np.nan, np.nan, TURN, 0.0)


def find_arc(angles: Array, motion_of: Indices, options: RangeOptions) -> Arc:
    """Return the range of angles (n_samples,), of which ``motion_of`` (n_samples,) tells the
    motion."""
    return find_arcs(angles[:, None], motion_of, options)[0]


def find_arcs(angles: Array, motion_of: Indices, options: RangeOptions) -> list[Arc]:
    """Return the ranges of n angles (n_samples, n); NaN is passed over."""
    above, start, width, coverage, n_seen = measure_arcs(angles, CELL_SIZE)
    low = -highest(-above, motion_of, options)
    high = highest(above, motion_of, options)
    # nothing that all motions share, or a negative margin: the middle is left
    middle = 0.5 * (low + high)
    low, high = np.where(low > high, middle, low), np.where(low > high, middle, high)
    high = np.minimum(high, low + TURN)
    columns = (start + low, start + high, TURN - width, coverage)
    arcs = map(Arc, *(column.tolist() for column in columns))
    return [arc if n else NO_ARC for arc, n in zip(arcs, n_seen.tolist(), strict=True)]


def highest(values: Array, motion_of: Indices, options: RangeOptions) -> Array:
    """Upper end (...) of values (n_samples, ...), quantile, margin and combination applied."""
    n_motions = motion_of[-1] + 1
    if n_motions == 1:
        end = _upper(values, options)
    else:
        ends = [_upper(values[motion_of == motion], options) for motion in range(n_motions)]
        end = np.max(ends, axis=0) if options.combine == "general" else np.min(ends, axis=0)
    return end + np.radians(options.margin)


def _upper(values: Array, options: RangeOptions) -> Array:
    if options.tail == 0.0:
        return np.fmax.reduce(values, axis=0, initial=-np.inf)
    return np.nanquantile(values, 1.0 - options.tail, axis=0)


def bone_axes(skeleton: Skeleton) -> Array:
    """Return (n_bodies, 3) unit vectors along the bones, each in its body's frame."""
    ends = [_bone_end(skeleton, index) for index in range(len(skeleton.bodies))]
    return quat.normalise(np.array(ends))


def _bone_end(skeleton: Skeleton, index: int) -> Array:
    """Return (3,) along the bone: to the next joint, else to the tip.

    A body that has neither continues the direction it hangs in; a body at its parent's joint: z.
    """
    length, ends = skeleton.bodies[index].length, skeleton.bone_ends(index)
    if length is not None:
        n_joints = len(skeleton.children_of(index))
        joints = sorted(ends[:n_joints], key=lambda end: abs(float(np.linalg.norm(end)) - length))
        ends = [*joints, *ends[n_joints:]]
    for end in (*ends, skeleton.offsets[index]):
        if end @ end > 1e-18:
            return end
    return np.array([0.0, 0.0, 1.0])


def find_cones(
    samples: Array, mean: Array, axes: Array, motion_of: Indices, options: RangeOptions
) -> tuple[list[Cone], list[Arc]]:
    """Cones of n joints, and the evidence of their twist.

    Parameters
    ----------
    samples : (n_samples, n_joints, 4)
    mean : (n_joints, 4)
        Rotation in the midst of the samples: swing and twist are told apart about it first.
    axes : (n_joints, 3)
        The bones, in their own frames.
    """
    centre, across, swing, twist = split_turns(samples, mean, axes)
    arcs = find_arcs(twist, motion_of, options)
    # joint by joint: of a long motion all sides of all joints together are large
    sides = [
        highest(swing[:, joint] @ side_normals().T, motion_of, options)
        for joint in range(swing.shape[1])
    ]
    polygons = close_polygons(np.stack(sides), NARROWEST_RADIUS)
    radii = _radii(swing, motion_of, options)
    columns = map(read_only, (centre, axes, across, radii, polygons))
    cones = in_rows(Cone, *columns, ((arc.low, arc.high) for arc in arcs))
    return cones, arcs


def _radii(swing: Array, motion_of: Indices, options: RangeOptions) -> Array:
    """Return (n_joints, 2) half axes: the proportions of the box, the size that holds the
    samples."""
    plain = RangeOptions(options.quantile, 0.0, options.combine)
    half = np.maximum(highest(np.abs(swing), motion_of, plain), NARROWEST_RADIUS)
    size = highest(np.hypot(*np.moveaxis(swing / half, -1, 0)), motion_of, plain)
    return np.maximum(half * size[:, None] + np.radians(options.margin), NARROWEST_RADIUS)


def side_normals() -> Array:
    """Return (N_SIDES, 2) the directions that a polygon's sides look in."""
    angles = 2.0 * np.pi * np.arange(N_SIDES) / N_SIDES
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


@kernel
def measure_arcs(angles, cell):
    """The arcs outside the largest gaps of angles (n_samples, n); NaN is passed over.

    Returns
    -------
    above : (n_samples, n)
        The angles from where their arc begins.
    start, width : (n,)
        Where the arcs begin, in [−π, π), and how wide they are.
    coverage : (n,)
        Share of the cells of this size in an arc that hold a sample.
    n_seen : (n,)
    """
    n_samples, n = angles.shape
    above = np.full((n_samples, n), np.nan)
    start, width, coverage = np.zeros(n), np.zeros(n), np.zeros(n)
    n_seen = np.zeros(n, dtype=np.int64)
    filled = np.zeros(int(TURN / cell) + 2, dtype=np.bool_)
    for j in range(n):
        start[j], gap, n_seen[j] = _widest_gap(angles, j)
        width[j] = TURN - gap
        n_cells = max(1, int(np.ceil(width[j] / cell)))
        filled[:] = False
        for i in range(n_samples):
            if np.isfinite(angles[i, j]):
                value = (angles[i, j] - start[j]) % TURN
                above[i, j] = 0.0 if value > width[j] + 1e-9 else value  # rounding at the low end
                filled[min(int(above[i, j] / cell), n_cells - 1)] = True
        coverage[j] = filled.sum() / n_cells
    return above, start, width, coverage, n_seen


@kernel
def _widest_gap(angles, j):
    """Where the largest gap between angles ends, how wide it is, and how many angles there are.

    Without sorting: of n angles in n cells, the largest gap lies between cells.
    """
    n_samples = angles.shape[0]
    lowest, highest = np.full(n_samples, np.inf), np.full(n_samples, -np.inf)
    seen = 0
    for i in range(n_samples):
        if np.isfinite(angles[i, j]):
            value = (angles[i, j] + np.pi) % TURN
            at = min(int(value / TURN * n_samples), n_samples - 1)
            lowest[at], highest[at] = min(lowest[at], value), max(highest[at], value)
            seen += 1
    first, last, gap, end = np.inf, -np.inf, 0.0, 0.0
    for at in range(n_samples):
        if lowest[at] <= highest[at]:
            first = min(first, lowest[at])
            if lowest[at] - last > gap and np.isfinite(last):
                gap, end = lowest[at] - last, lowest[at]
            last = highest[at]
    if seen == 0:
        return 0.0, TURN, seen
    if first + TURN - last > gap:
        gap, end = first + TURN - last, first
    return end - np.pi, gap, seen


@kernel
def close_polygons(reach, narrowest):
    """Corners (n, n_sides, 2) of the polygons u·x ≤ reach (n, n_sides) for evenly turned u.

    A side that others make idle is drawn in until it touches; sides that exclude each other
    (a negative margin on a narrow range) meet in a point.
    """
    n_sides = reach.shape[1]
    step = TURN / n_sides
    corners = np.empty((len(reach), n_sides, 2))
    sides, drawn = np.empty(n_sides), np.empty(n_sides)
    for j in range(len(reach)):
        for k in range(n_sides):
            own, opposite = reach[j, k], reach[j, (k + n_sides // 2) % n_sides]
            sides[k] = (0.5 * (own - opposite) if own + opposite < 0.0 else own) + narrowest
        for _ in range(n_sides // 2):
            for k in range(n_sides):
                beside = sides[k - 1] + sides[(k + 1) % n_sides]
                drawn[k] = min(sides[k], beside / (2.0 * np.cos(step)))
            sides[:] = drawn
        for k in range(n_sides):
            x, y = np.cos(k * step), np.sin(k * step)
            along = (sides[(k + 1) % n_sides] - sides[k] * np.cos(step)) / np.sin(step)
            corners[j, k, 0] = sides[k] * x - along * y
            corners[j, k, 1] = sides[k] * y + along * x
    return corners


@kernel
def shake(tracks, jump, found):
    """Mean square of the third differences of tracks (n, n_tracks) up to ``jump`` medians."""
    n = tracks.shape[0]
    fast = np.empty(max(n - 3, 0))
    for j in range(tracks.shape[1]):
        seen = 0
        for i in range(n - 3):
            step = tracks[i + 3, j] - tracks[i, j] - 3.0 * (tracks[i + 2, j] - tracks[i + 1, j])
            if np.isfinite(step):
                fast[seen] = abs(step)
                seen += 1
        most = jump * np.median(fast[:seen]) if seen else 0.0
        total, n_usual = 0.0, 0
        for i in range(seen):
            if fast[i] <= most:
                total, n_usual = total + fast[i] * fast[i], n_usual + 1
        found[j] = total / max(n_usual, 1)
