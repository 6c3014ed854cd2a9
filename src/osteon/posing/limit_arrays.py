"""Limits of a skeleton's joints as flat arrays: what the pose kernels hold poses within."""

from typing import NamedTuple

import numpy as np

from osteon.errors import BadValue
from osteon.joint_limits import SHAPES, clamp
from osteon.maths import TURN, quat
from osteon.typing import Array
from osteon.values import Joint, Limits, Skeleton

HINGE, POLYGON, ELLIPSE, ZYZ = 0, 1, 2, 3
"""Shapes of limits."""

N_CORNERS = 32
"""Most corners a polygon may have."""


class Bounds(NamedTuple):
    """Limits of the n joints that have any."""

    body: np.ndarray
    """(n,)"""
    shape: np.ndarray
    """(n,) HINGE, POLYGON, ELLIPSE or ZYZ."""
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


def make_bounds(skeleton: Skeleton, shape: str = "auto") -> Bounds:
    """Bounds of all joints that have limits of this shape; see ``joint_limits.clamp``."""
    if shape not in SHAPES:
        raise BadValue(f"shape must be one of {', '.join(SHAPES)}, got {shape!r}")
    rows = [
        (index, row)
        for index, body in enumerate(skeleton.bodies)
        if body.parent is not None and (row := _row(body.joint, shape)) is not None
    ]
    if not rows:
        return no_bounds()
    columns = [np.array(column) for column in zip(*(row for _, row in rows), strict=True)]
    kinds, frames, axes, ranges, corners, n_corners, radii, safe = columns
    body = np.array([index for index, _ in rows], dtype=np.uint64)
    turn = quat.to_matrix(frames)
    return Bounds(
        body, kinds, frames, turn, axes, ranges, corners, n_corners, radii, safe, np.ones(1)
    )


def no_bounds() -> Bounds:
    matrices, none = np.zeros((0, 3, 3)), np.zeros(0, dtype=np.int64)
    return Bounds(
        body=np.zeros(0, dtype=np.uint64),
        shape=none,
        frame=np.zeros((0, 4)),
        turn=matrices,
        axes=matrices,
        ranges=np.zeros((0, 3, 2)),
        corners=np.zeros((0, N_CORNERS + 1, 2)),
        n_corners=none,
        radii=np.zeros((0, 2)),
        safe=np.zeros(0),
        weight=np.ones(1),
    )


def hold_within(skeleton: Skeleton, rotations: Array, shape: str = "auto") -> Array:
    """Local rotations (..., n_bodies, 4) brought within the limits of their joints."""
    rotations = np.array(rotations)
    if shape in ("auto", "polygon"):
        from osteon.posing._kernels.limit_terms import hold_inside

        for index, body in enumerate(skeleton.bodies):
            if body.parent is not None and body.joint.kind == "fixed":
                rotations[..., index, :] = body.joint.rest
        hold_inside(make_bounds(skeleton, shape), rotations.reshape(-1, *rotations.shape[-2:]))
        return rotations
    for index, body in enumerate(skeleton.bodies):
        if body.parent is not None:
            rotations[..., index, :] = clamp(rotations[..., index, :], body.joint, shape)
    return rotations


def _row(joint: Joint, shape: str) -> tuple | None:
    limits = joint.limits
    if limits is None or joint.kind == "fixed":
        return None
    if shape == "zyz":
        return None if limits.zyz is None else _zyz_row(limits)
    hinged = joint.kind == "hinge" and len(joint.axes) > 0  # files may tell a range without axis
    if shape == "auto" and hinged and limits.hinge is not None:
        axes = np.zeros((3, 3))
        axes[0] = joint.axes[0]
        return HINGE, joint.rest, axes, _ranges(limits.hinge), *_NO_SWING
    return None if limits.cone is None else _cone_row(limits, shape)


def _cone_row(limits: Limits, shape: str) -> tuple:
    cone = limits.cone
    assert cone is not None
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


def _zyz_row(limits: Limits) -> tuple:
    assert limits.zyz is not None
    return ZYZ, quat.identity(), np.eye(3), _ranges(*limits.zyz), *_NO_SWING


def _ranges(*intervals: tuple[float, float]) -> Array:
    """Return ranges (3, 2); whole turns and ranges that are not there are infinite."""
    ranges = np.tile([-np.inf, np.inf], (3, 1))
    for row, (low, high) in zip(ranges, intervals, strict=False):
        if high - low < TURN or not np.isfinite(high - low):
            row[:] = low, high
    return ranges


_NO_SWING = (np.zeros((N_CORNERS + 1, 2)), 0, np.ones(2), 1.0)
