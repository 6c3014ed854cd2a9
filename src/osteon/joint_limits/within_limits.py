"""The rotations within a joint's limits nearest to given ones."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from osteon.errors import BadValue
from osteon.joint_limits._clamp_kernel import clamp_cones, clamp_hinges
from osteon.joint_limits.ranges import nearest_in_polygon
from osteon.maths import TURN, euler, quat, rotations, swing_twist
from osteon.typing import Array
from osteon.values import Cone, Interval

SHAPES = ("auto", "polygon", "ellipse", "zyz")


class Ranges(Protocol):
    """How far a joint goes: ``Limits``, or those in the making."""

    @property
    def hinge(self) -> Interval | None: ...
    @property
    def cone(self) -> Cone | None: ...
    @property
    def zyz(self) -> tuple[Interval, Interval, Interval] | None: ...


class Limited(Protocol):
    """What limits need to know of a joint: a ``Joint``, or one in the making."""

    @property
    def kind(self) -> str: ...
    @property
    def axes(self) -> Array: ...
    @property
    def rest(self) -> Array: ...
    @property
    def limits(self) -> Ranges | None: ...


def clamp(q: Array, joint: Limited, shape: str = "auto") -> Array:
    """Return the nearest rotations (..., 4) within the limits; those that are inside are left
    alone.

    Parameters
    ----------
    shape : str
        ``auto``: a hinge by its interval, other joints by the polygon of their cone;
        ``polygon`` or ``ellipse``: by the cone; ``zyz``: by the box of ZYZ angles.
        A joint without that description is not limited.
    """
    if shape not in SHAPES:
        raise BadValue(f"shape must be one of {', '.join(SHAPES)}, got {shape!r}")
    limits = joint.limits
    if joint.kind == "fixed":
        return np.broadcast_to(joint.rest, q.shape)
    if limits is None:
        return q
    if shape == "zyz":
        return q if limits.zyz is None else _clamp_zyz(q, limits.zyz)
    if shape == "auto" and joint.kind == "hinge" and limits.hinge is not None:
        angle = into(hinge_angle(q, joint), *limits.hinge)
        return quat.multiply(quat.from_axis_angle(joint.axes[0], angle), joint.rest)
    return q if limits.cone is None else _clamp_cone(q, limits.cone, elliptic=shape == "ellipse")


def clamp_each(q: Array, joints: Sequence[Limited]) -> Array:
    """``clamp`` of one rotation for each joint, (n_joints, 4)."""
    held = np.array(q)
    hinges = [j for j, joint in enumerate(joints) if hinged(joint)]
    cones = [j for j, joint in enumerate(joints) if joint.kind != "fixed" and not hinged(joint)]
    cones = [j for j in cones if (limits := joints[j].limits) is not None and limits.cone]
    for j, joint in enumerate(joints):
        if joint.kind == "fixed":
            held[j] = joint.rest
    if hinges:
        held[hinges] = _clamp_hinges(held[hinges], [joints[j] for j in hinges])
    if cones:
        own = [joints[j].limits.cone for j in cones]  # type: ignore[union-attr]
        held[cones] = _clamp_cones(held[cones], own)  # type: ignore[arg-type]
    return held


def hinged(joint: Limited) -> bool:
    """Return whether its limit is an interval about its one axis."""
    return joint.kind == "hinge" and joint.limits is not None and joint.limits.hinge is not None


def hinge_angle(q: Array, joint: Limited) -> Array:
    """Signed angle (...) of a hinge from its rest, radians."""
    turn = quat.multiply(q, quat.inverse(joint.rest))
    return swing_twist.twist_angle(turn, joint.axes[0])


def into(angles: Array, low: Array | float, high: Array | float) -> Array:
    """Return the angles from ``low`` to ``high`` nearest to ``angles`` on the circle."""
    angles, low, high = np.asarray(angles), np.asarray(low), np.asarray(high)
    bounded = np.isfinite(low) & np.isfinite(high)
    middle = 0.5 * (np.where(bounded, low, 0.0) + np.where(bounded, high, 0.0))
    near = np.where(bounded, middle + rotations.wrap(angles - middle), angles)
    whole = bounded & (high - low >= TURN)
    return np.where(whole, angles, np.clip(near, low, high))


def _clamp_hinges(q: Array, joints: list[Limited]) -> Array:
    rests = np.array([joint.rest for joint in joints])
    axes = np.array([joint.axes[0] for joint in joints])
    ends = np.array([joint.limits.hinge for joint in joints])  # type: ignore[union-attr]
    return clamp_hinges(q, rests, axes, ends)


def _clamp_cones(q: Array, cones: Sequence[Cone]) -> Array:
    most = max(len(cone.polygon) for cone in cones)
    return clamp_cones(
        q,
        np.array([cone.centre for cone in cones]),
        np.array([cone.axis for cone in cones]),
        np.array([cone.across for cone in cones]),
        np.array([_with_corners(cone.polygon, most) for cone in cones]),
        np.array([cone.twist for cone in cones]),
    )


def _with_corners(polygon: Array, n: int) -> Array:
    """Return the same polygon with n corners, its last one several times."""
    if len(polygon) == n:
        return polygon
    return polygon[np.minimum(np.arange(n), len(polygon) - 1)]


def _clamp_cone(q: Array, cone: Cone, *, elliptic: bool) -> Array:
    swing, twist = swing_twist.split(quat.between(cone.centre, q), cone.axis, cone.across)
    held = _into_ellipse(swing, cone.radii) if elliptic else nearest_in_polygon(swing, cone.polygon)
    inner = swing_twist.join(held, into(twist, *cone.twist), cone.axis, cone.across)
    return quat.multiply(cone.centre, inner)


def _into_ellipse(points: Array, radii: Array) -> Array:
    """Return the nearest points of the ellipse, by Newton on the multiplier of its equation."""
    size = np.linalg.norm(points / radii, axis=-1)
    outside = size > 1.0
    multiplier = np.zeros(size.shape)
    for _ in range(60):
        base = radii**2 + multiplier[..., None]
        share = (radii * points / base) ** 2
        value, slope = share.sum(axis=-1) - 1.0, -2.0 * (share / base).sum(axis=-1)
        multiplier = np.where(outside, multiplier - value / np.where(slope < 0.0, slope, -1.0), 0.0)
    foot = points * radii**2 / (radii**2 + multiplier[..., None])
    return np.where(outside[..., None], foot, points)


def _clamp_zyz(q: Array, box: tuple[Interval, Interval, Interval]) -> Array:
    angles = euler.zyz_from_quat(q)
    held = [into(angles[..., i], *interval) for i, interval in enumerate(box)]
    return euler.zyz_to_quat(np.stack(held, axis=-1))
