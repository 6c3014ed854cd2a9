"""Whether rotations lie within a joint's limits, by how much not, and the nearest that do."""

import numpy as np

from ossature.anatomy.cones import nearest_in_polygon
from ossature.errors import BadValue
from ossature.maths import quat, swing_twist, zyz
from ossature.maths.circular import TURN
from ossature.values import Cone, Joint
from ossature.values.arrays import Array
from ossature.values.limits import Interval

SHAPES = ("auto", "polygon", "ellipse", "zyz")


def excess(q: Array, joint: Joint, shape: str = "auto") -> Array:
    """How far (...) rotations (..., 4) must turn to come within the limits, radians; 0 inside."""
    return quat.angle(quat.between(clamp(q, joint, shape), q))


def clamp(q: Array, joint: Joint, shape: str = "auto") -> Array:
    """The nearest rotations (..., 4) within the limits; those that are inside are left alone.

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
        angle = into(hinge_angle(q, joint), limits.hinge)
        return quat.multiply(quat.from_axis_angle(joint.axes[0], angle), joint.rest)
    return q if limits.cone is None else _clamp_cone(q, limits.cone, elliptic=shape == "ellipse")


def hinge_angle(q: Array, joint: Joint) -> Array:
    """Signed angle (...) of a hinge from its rest, radians."""
    turn = quat.multiply(q, quat.inverse(joint.rest))
    return swing_twist.twist_angle(turn, joint.axes[0])


def into(angles: Array, interval: Interval) -> Array:
    """The angles of ``interval`` nearest to ``angles`` on the circle."""
    low, high = interval
    if not np.isfinite(high - low):
        return np.clip(angles, low, high)
    if high - low >= TURN:
        return np.asarray(angles)
    middle = 0.5 * (low + high)
    near = middle + (np.asarray(angles) - middle + np.pi) % TURN - np.pi
    return np.clip(near, low, high)


def _clamp_cone(q: Array, cone: Cone, *, elliptic: bool) -> Array:
    swing, twist = swing_twist.split(quat.between(cone.centre, q), cone.axis, cone.across)
    held = _into_ellipse(swing, cone.radii) if elliptic else nearest_in_polygon(swing, cone.polygon)
    inner = swing_twist.join(held, into(twist, cone.twist), cone.axis, cone.across)
    return quat.multiply(cone.centre, inner)


def _into_ellipse(points: Array, radii: Array) -> Array:
    """The nearest points of the ellipse, by Newton on the multiplier of its equation."""
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
    angles = zyz.from_quat(q)
    held = [into(angles[..., i], interval) for i, interval in enumerate(box)]
    return zyz.to_quat(np.stack(held, axis=-1))
