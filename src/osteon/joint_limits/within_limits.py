"""Limits of joints as flat arrays, and poses held within them: what is outside comes to the nearest
that is allowed.

The pose kernels pull poses back into the same arrays while they fit (docs/methods.md §12).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from osteon.errors import BadValue
from osteon.joint_limits._kinds_kernel import mix, swing_of
from osteon.joint_limits._region_kernel import SeenPoses, nearest_pose, region_excess
from osteon.maths import (
    FAST_MATH,
    TURN,
    euler,
    exp,
    kernel,
    multiply,
    quat,
    rotations,
)
from osteon.typing import Array
from osteon.values import Cone, Interval, Joint, Region, Skeleton

SHAPES = ("auto", "cone", "polygon", "ellipse", "zyz")
HINGE, POLYGON, ELLIPSE, ZYZ, REGION = 0, 1, 2, 3, 4
"""Codes of the shapes of limits, defined here."""
N_CORNERS = 32
"""Count of corners that a polygon may have. Chosen: twice as many as are found in motion."""
OVERLAP_RATIO = 5.0
"""Ratio of a region's squared radius to what many poses at one place add to it. Chosen: two poses
make the radius 7 % larger; with more of it edges become too sharp to follow."""
HOLDING_STEPS = 8
"""Count of steps along the gradient back into a region, before the straight way to the nearest pose
is taken. Chosen: one is enough but for edges."""
HELD_ANGLE = 1e-6
"""Radians beyond a region that count as inside. Chosen: rounding."""


class Bounds(NamedTuple):
    """Limits of the n joints that have any."""

    body: np.ndarray
    """(n,)"""
    shape: np.ndarray
    """(n,) HINGE, POLYGON, ELLIPSE, ZYZ or REGION; a hinge may have a region too."""
    frame: np.ndarray
    """(n, 4) rest of a hinge, centre of a cone."""
    turn: np.ndarray
    """(n, 3, 3) the same as matrices."""
    axes: np.ndarray
    """(n, 3, 3) the hinge's axis in the parent, or the cone's axis and two directions across it."""
    ranges: np.ndarray
    """(n, 3, 2) of the hinge angle; of the twist; of φ, ψ, θ. Ends may be infinite."""
    corners: np.ndarray
    """(n, N_CORNERS + 1, 2) swings; after the last corner the first again."""
    n_corners: np.ndarray
    """(n,) 0 for an ellipse."""
    radii: np.ndarray
    """(n, 2)"""
    safe: np.ndarray
    """(n,) cosine of the half angle within which every turn from a cone's centre is allowed."""
    weight: np.ndarray
    """(1,) square metres per square radian."""
    seen: SeenPoses
    """The regions' poses; a joint of another shape has none."""


def clamp(q: Array, joint: Joint, shape: str = "auto") -> Array:
    """Return the nearest rotations (..., 4) within the limits; those that are inside are left
    alone.

    Parameters
    ----------
    shape : str
        ``auto``: by the region of poses that were seen, a hinge also by its interval; a joint
        without a region as by ``cone``: a hinge by its interval, others by the polygon of their
        cone; ``polygon`` or ``ellipse``: by the cone; ``zyz``: by the box of ZYZ angles.
        A joint without that description is not limited. Of a single joint, ``clamp`` does not know
        where its parent is: any place will do.
    """
    return clamp_each(q[..., None, :], [joint], shape)[..., 0, :]


def hold_within(skeleton: Skeleton, poses: Array, shape: str = "auto") -> Array:
    """``clamp`` of local rotations (..., n_bodies, 4); the root goes where it will."""
    return clamp_each(poses, _joints_of(skeleton), shape, skeleton.parents)


def clamp_each(
    q: Array,
    joints: Sequence[Joint | None],
    shape: str = "auto",
    parents: Sequence[int] | None = None,
) -> Array:
    """``clamp`` of rotations (..., n_joints, 4) of joints; None is free."""
    bounds = _bounds_of(joints, shape, parents)
    held = np.array(q, dtype=np.float64)
    for j, joint in enumerate(joints):
        if joint is not None and joint.kind == "fixed":
            held[..., j, :] = joint.rest
    if shape == "zyz":
        for j, ranges in zip(bounds.body.tolist(), bounds.ranges, strict=True):
            held[..., j, :] = _clamp_zyz(held[..., j, :], ranges)
    elif len(bounds.body):
        hold_inside(bounds, held.reshape(-1, *held.shape[-2:]))
    return held


def make_bounds(skeleton: Skeleton, shape: str = "auto") -> Bounds:
    """Return the limits of this shape of all joints that have them; see ``clamp``."""
    return _bounds_of(_joints_of(skeleton), shape, skeleton.parents)


def no_bounds() -> Bounds:
    return _bounds_of((), "auto")


def _joints_of(skeleton: Skeleton) -> list[Joint | None]:
    return [None if body.parent is None else body.joint for body in skeleton.bodies]


def _bounds_of(
    joints: Sequence[Joint | None], shape: str, parents: Sequence[int] | None = None
) -> Bounds:
    if shape not in SHAPES:
        raise BadValue(f"shape must be one of {', '.join(SHAPES)}, got {shape!r}")
    found = [
        (index, row)
        for index, joint in enumerate(joints)
        if joint is not None
        for row in _rows(joint, shape)
    ]
    rows = [row for _, row in found] or [(HINGE, *_UNTURNED, _ranges(), *_NO_SWING)]
    columns = [np.array(column)[: len(found)] for column in zip(*rows, strict=True)]
    kinds, frames, axes, ranges, corners, n_corners, radii, safe = columns
    body, turn = np.array([index for index, _ in found], dtype=np.uint64), quat.to_matrix(frames)
    regions = [(index, _region_of(joints[index], row[0])) for index, row in found]
    seen = _seen_poses(regions, joints, parents)
    return Bounds(
        body, kinds, frames, turn, axes, ranges, corners, n_corners, radii, safe, np.ones(1), seen
    )


def _region_of(joint: Joint | None, shape: int) -> Region | None:
    if shape != REGION or joint is None or joint.limits is None:
        return None
    return joint.limits.region


def on_hinge(q: Array, joint: Joint | None) -> Array:
    """Return rotations (..., 4) as a hinge has them, which turns about its axis only; of other
    joints as they are."""
    if joint is None or joint.kind != "hinge" or not len(joint.axes):
        return q
    turn = quat.multiply(q, quat.inverse(joint.rest))
    about = quat.from_axis_angle(joint.axes[0], rotations.twist_angle(turn, joint.axes[0]))
    return quat.multiply(about, joint.rest)


def _seen_poses(
    regions: Sequence[tuple[int, Region | None]],
    joints: Sequence[Joint | None],
    parents: Sequence[int] | None,
) -> SeenPoses:
    """Return regions of joints as flat arrays; those of whose parents nothing is told go alone."""
    none: Array = np.zeros((0, 4))
    poses: list[Array] = [none]
    beside: list[Array] = [none]
    counts = [0]
    parent, radius = np.full(len(regions), -1), np.ones(len(regions))
    for i, (index, region) in enumerate(regions):
        own = none if region is None else on_hinge(quat.normalise(region.poses), joints[index])
        others: Array = np.zeros_like(own)
        if region is not None:
            radius[i] = region.radius
            if len(region.beside) and parents is not None and parents[index] > 0:
                parent[i] = parents[index]
                others = on_hinge(quat.normalise(region.beside), joints[parents[index]])
        poses.append(own)
        beside.append(others)
        counts.append(len(own))
    doublings = np.maximum(0, np.rint(np.log2(OVERLAP_RATIO / radius**2))).astype(np.int64)
    return SeenPoses(
        np.concatenate(poses),
        np.concatenate(beside),
        np.cumsum(counts),
        parent,
        radius,
        doublings,
    )


def _rows(joint: Joint, shape: str) -> list[tuple]:
    """Return what holds a joint: nothing, one thing, or for a hinge with a region two."""
    limits = joint.limits
    if limits is None or joint.kind == "fixed":
        return []
    if shape == "zyz":
        box = limits.zyz
        return [] if box is None else [(ZYZ, *_UNTURNED, _ranges(*box), *_NO_SWING)]
    seen = (REGION, *_UNTURNED, _ranges(), *_NO_SWING)
    regions = [seen] if shape == "auto" and limits.region is not None else []
    hinged = joint.kind == "hinge" and len(joint.axes) > 0  # files may tell a range without axis
    if shape in ("auto", "cone") and hinged and limits.hinge is not None:
        axes = np.zeros((3, 3))
        axes[0] = joint.axes[0]
        # last, for a region reaches beyond the ends of an interval
        return [*regions, (HINGE, joint.rest, axes, _ranges(limits.hinge), *_NO_SWING)]
    if regions or limits.cone is None:
        return regions
    return [_cone_row(limits.cone, shape)]


def _cone_row(cone: Cone, shape: str) -> tuple:
    n_corners = len(cone.polygon)
    if not 0 < n_corners <= N_CORNERS:
        raise BadValue(f"a cone's polygon must have 1 to {N_CORNERS} corners, got {n_corners}")
    corners = cone.polygon[np.arange(N_CORNERS + 1) % n_corners]
    axes = np.concatenate([cone.axis[None], cone.across])
    kind = ELLIPSE if shape == "ellipse" else POLYGON
    narrowest = cone.radii.min() if kind == ELLIPSE else _inner_radius(cone.polygon)
    within = max(0.0, min(narrowest, -cone.twist[0], cone.twist[1], np.pi))
    safe = np.cos(0.5 * within)
    used = n_corners if kind == POLYGON else 0
    return kind, cone.centre, axes, _ranges(cone.twist), corners, used, cone.radii, safe


def _inner_radius(polygon: Array) -> float:
    """Return how far from zero the nearest edge lies; negative if zero is outside."""
    edges = np.roll(polygon, -1, axis=0) - polygon
    length = np.linalg.norm(edges, axis=-1)
    away = polygon[:, 0] * edges[:, 1] - polygon[:, 1] * edges[:, 0]
    return float(np.min(away[length > 0.0] / length[length > 0.0], initial=np.inf))


def _ranges(*intervals: Interval) -> Array:
    """Return ranges (3, 2); whole turns and ranges that are not there are infinite."""
    ranges = np.tile([-np.inf, np.inf], (3, 1))
    for row, (low, high) in zip(ranges, intervals, strict=False):
        if high - low < TURN or not np.isfinite(high - low):
            row[:] = low, high
    return ranges


_UNTURNED = (quat.identity(), np.eye(3))
_NO_SWING = (np.zeros((N_CORNERS + 1, 2)), 0, np.ones(2), 1.0)


def _clamp_zyz(q: Array, ranges: Array) -> Array:
    """Return rotations (..., 4) whose ZYZ angles are brought into ranges (3, 2)."""
    angles = euler.zyz_from_quat(q)
    for i, (low, high) in enumerate(ranges):
        if np.isfinite(high - low):
            middle = 0.5 * (low + high)
            angles[..., i] = middle + rotations.wrap(angles[..., i] - middle)
    return euler.zyz_to_quat(np.clip(angles, *ranges.T))


@kernel
def hold_inside(bounds, poses):
    """Bring poses (n_frames, n_bodies, 4) inside, in place; what is inside stays as it is.

    Hinges, polygons, ellipses and regions only. Parents come before their children.
    """
    for i in range(len(bounds.body)):
        body = bounds.body[i]
        if bounds.shape[i] == REGION:
            _hold_region(bounds.seen, i, poses, body)
            continue
        f, x = bounds.frame[i], bounds.axes[i]
        frame, axis = (f[0], f[1], f[2], f[3]), (x[0, 0], x[0, 1], x[0, 2])
        back = (f[0], -f[1], -f[2], -f[3])
        for n in range(len(poses)):
            q = (poses[n, body, 0], poses[n, body, 1], poses[n, body, 2], poses[n, body, 3])
            if bounds.shape[i] == HINGE:
                q = _hold_hinge(bounds, i, multiply(q, back), axis, frame)
            else:
                d = multiply(back, q)
                if abs(d[0]) >= bounds.safe[i]:
                    continue
                d, moved = _hold_cone(bounds, i, d, axis)
                if not moved:
                    continue
                q = multiply(frame, d)
            for k in range(4):
                poses[n, body, k] = q[k]


@kernel
def _hold_region(seen, i, poses, body):
    """Along the gradient into region i; where that fails, straight to its nearest pose."""
    parent = max(seen.parent[i], 0)
    for n in range(len(poses)):
        p = (poses[n, parent, 0], poses[n, parent, 1], poses[n, parent, 2], poses[n, parent, 3])
        q = (poses[n, body, 0], poses[n, body, 1], poses[n, body, 2], poses[n, body, 3])
        if not np.isfinite(q[0]):
            continue
        excess, slope, _ = region_excess(seen, i, q, p)
        if excess <= HELD_ANGLE:
            continue
        for _ in range(HOLDING_STEPS):
            square = slope[0] ** 2 + slope[1] ** 2 + slope[2] ** 2
            back = -min(excess / max(square, 1e-12), 0.5)
            q = multiply(exp((back * slope[0], back * slope[1], back * slope[2])), q)
            excess, slope, _ = region_excess(seen, i, q, p)
            if excess <= HELD_ANGLE:
                break
        if excess > HELD_ANGLE:
            best, _, parent_best, _ = nearest_pose(seen, i, q, p, np.inf)
            # the nearest pose may belong to another place of the parent; the parent's own is inside
            inside = region_excess(seen, i, seen.poses[best], p)[0] <= HELD_ANGLE
            q = _towards(seen.poses[best if inside else parent_best], q, seen, i, p)
        for k in range(4):
            poses[n, body, k] = q[k]


@kernel
def _towards(s, q, seen, i, p):
    """From q to pose s, until that is inside region i; s itself if nothing before."""
    cosine = q[0] * s[0] + q[1] * s[1] + q[2] * s[2] + q[3] * s[3]
    sign, angle = -1.0 if cosine < 0.0 else 1.0, np.arccos(min(abs(cosine), 1.0))
    least, most, found = 0.0, 1.0, (sign * s[0], sign * s[1], sign * s[2], sign * s[3])
    for _ in range(20):
        share = 0.5 * (least + most)
        a, b = np.sin((1.0 - share) * angle), sign * np.sin(share * angle)
        size = max(np.sin(angle), 1e-12)
        now = (
            (a * q[0] + b * s[0]) / size,
            (a * q[1] + b * s[1]) / size,
            (a * q[2] + b * s[2]) / size,
            (a * q[3] + b * s[3]) / size,
        )
        if region_excess(seen, i, now, p)[0] <= HELD_ANGLE:
            most, found = share, now
        else:
            least = share
    return found


@kernel
def _hold_hinge(bounds, i, turn, axis, rest):
    """The nearest rotation about the axis within its interval."""
    angle = _signed_twist(turn, axis)
    angle -= beyond(angle, bounds.ranges[i, 0, 0], bounds.ranges[i, 0, 1])
    return multiply(_about(axis, angle), rest)


@kernel
def _hold_cone(bounds, i, d, axis):
    """A turn from the cone's centre with its swing and twist brought inside, and whether moved."""
    twist = _signed_twist(d, axis)
    excess = beyond(twist, bounds.ranges[i, 0, 0], bounds.ranges[i, 0, 1])
    one, two = bounds.axes[i, 1], bounds.axes[i, 2]
    x, y = swing_of(d, axis, one, two)
    if bounds.shape[i] == ELLIPSE:
        u, v = nearest_in_ellipse(x, y, bounds.radii[i, 0], bounds.radii[i, 1])
    else:
        u, v = nearest_in_polygon(x, y, bounds.corners, i, bounds.n_corners[i])
    if excess == 0.0 and u == x and v == y:
        return d, False
    return multiply(exp(mix(u, one, v, two)), _about(axis, twist - excess)), True


@kernel
def _signed_twist(d, axis):
    """Angle about ``axis`` in [−2π, 2π]: what is made of it has the sign of ``d``, as its
    neighbours in time."""
    return 2.0 * np.arctan2(d[1] * axis[0] + d[2] * axis[1] + d[3] * axis[2], d[0])


@kernel
def _about(axis, angle):
    return exp(mix(angle, axis, 0.0, axis))


@kernel(fastmath=FAST_MATH)
def beyond(angle, low, high):
    """How far an angle lies beyond a range, with sign; 0 inside."""
    if np.isfinite(low) and np.isfinite(high):
        middle = 0.5 * (low + high)
        angle -= TURN * np.rint((angle - middle) / TURN)
    if angle < low:
        return angle - low
    return angle - high if angle > high else 0.0


@kernel(fastmath=FAST_MATH)
def nearest_in_polygon(x, y, corners, i, n):
    """The point of a convex polygon, corners anticlockwise, nearest to (x, y)."""
    outside = False
    for j in range(n):
        ax, ay = corners[i, j, 0], corners[i, j, 1]
        ex, ey = corners[i, j + 1, 0] - ax, corners[i, j + 1, 1] - ay
        # an edge between two corners that coincide points anywhere
        outside = outside or ex * (y - ay) - ey * (x - ax) < -1e-12
    if not outside:
        return x, y
    best_x, best_y, best = x, y, np.inf
    for j in range(n):
        ax, ay = corners[i, j, 0], corners[i, j, 1]
        ex, ey = corners[i, j + 1, 0] - ax, corners[i, j + 1, 1] - ay
        length = ex * ex + ey * ey
        share = ((x - ax) * ex + (y - ay) * ey) / length if length > 0.0 else 0.0
        share = min(max(share, 0.0), 1.0)
        fx, fy = ax + share * ex, ay + share * ey
        distance = (x - fx) ** 2 + (y - fy) ** 2
        if distance < best:
            best_x, best_y, best = fx, fy, distance
    return best_x, best_y


@kernel(fastmath=FAST_MATH)
def nearest_in_ellipse(x, y, a, b):
    """The same for an ellipse about zero, by Newton on the multiplier of its equation."""
    if (x / a) ** 2 + (y / b) ** 2 <= 1.0:
        return x, y
    m = 0.0
    for _ in range(60):
        p, q = a * x / (a * a + m), b * y / (b * b + m)
        value = p * p + q * q - 1.0
        if value < 1e-14:
            break
        m += 0.5 * value / (p * p / (a * a + m) + q * q / (b * b + m))
    return x * a * a / (a * a + m), y * b * b / (b * b + m)
