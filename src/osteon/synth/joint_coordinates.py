"""Joint angles: one number per degree of freedom, the rotations they stand for, and those that
bring the end of a limb exactly where it should be.

A performer's joints turn about successive axes: a hinge about its one axis, a universal joint about
its two, a ball joint about x, y and z of the parent's frame at rest. ``Limits`` holds the ranges.
"""

from dataclasses import dataclass

import numpy as np

from osteon.errors import BadValue, ShapeError
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Body, Motion, Skeleton

X = np.array([1.0, 0.0, 0.0])


@dataclass(frozen=True)
class Dof:
    """One way in which one joint turns. Radians."""

    body: str
    label: str
    """``x``, ``y`` or ``z``; ``hinge`` for the axis of a hinge."""
    axis: tuple[float, float, float]
    low: float
    high: float


def dofs(skeleton: Skeleton) -> tuple[Dof, ...]:
    """Every joint's degrees of freedom, bodies in tree order; the root's six are not among them."""
    return tuple(dof for body in skeleton.bodies for dof in _of_body(body))


def to_rotations(skeleton: Skeleton, angles: Array) -> Array:
    """Local rotations (..., n_bodies, 4) of joint angles (..., n_dofs); the root does not turn."""
    ways = dofs(skeleton)
    if angles.shape[-1] != len(ways):
        raise ShapeError(f"angles must have shape (..., {len(ways)}), got {angles.shape}")
    rotations = quat.identity((*angles.shape[:-1], len(skeleton.bodies)))
    for column, dof in enumerate(ways):
        body = skeleton.index(dof.body)
        turn = quat.from_axis_angle(np.array(dof.axis), angles[..., column])
        rotations[..., body, :] = quat.multiply(rotations[..., body, :], turn)
    return rotations


def joint_angles(motion: Motion) -> Array:
    """Joint angles (n_frames, n_dofs) of a motion, the inverse of ``to_rotations``. Radians."""
    columns = [
        _angles_of(body, motion.rotations[:, index])
        for index, body in enumerate(motion.skeleton.bodies)
        if body.parent is not None
    ]
    return np.concatenate(columns, axis=-1)


def blend(skeleton: Skeleton, start: Array, end: Array, share: Array) -> Array:
    """Local rotations a ``share`` (n_frames,) of the way from ``start`` to ``end``.

    Hinges and universal joints keep to their axes. Ball joints take the way round that is shorter
    most of the time, and keep to it: a change of way would be a jump.
    """
    way = quat.unroll(quat.between(start, end))
    way = way * np.where(np.mean(way[..., :1], axis=0) < 0.0, -1.0, 1.0)
    result = quat.multiply(start, _power(way, share[:, None]))
    for index, body in enumerate(skeleton.bodies):
        if body.joint.kind not in ("hinge", "universal"):
            continue
        first, last = _angles_of(body, start[:, index]), _angles_of(body, end[:, index])
        result[:, index] = _turn(body, first + share[:, None] * (last - first))
    return result


def _power(q: Array, share: Array) -> Array:
    """A share of a rotation of up to a whole turn, its sign as given."""
    sine = np.linalg.norm(q[..., 1:], axis=-1)
    axis = q[..., 1:] / np.where(sine > 0.0, sine, 1.0)[..., None]
    return quat.from_axis_angle(axis, share * 2.0 * np.arctan2(sine, q[..., 0]))


def _of_body(body: Body) -> tuple[Dof, ...]:
    joint, limits = body.joint, body.joint.limits
    if body.parent is None or joint.kind == "fixed":
        return ()
    if limits is None:
        raise BadValue(f"joint of {body.name!r} has no range to move in; give it limits")
    if limits.hinge is not None:
        x, y, z = map(float, joint.axes[0])
        return (Dof(body.name, "hinge", (x, y, z), *limits.hinge),)
    unit = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
    return tuple(Dof(body.name, axis, unit[axis], low, high) for axis, low, high in limits.euler)


def _turn(body: Body, angles: Array) -> Array:
    turned = quat.identity(angles.shape[:-1])
    for column, dof in enumerate(_of_body(body)):
        turn = quat.from_axis_angle(np.array(dof.axis), angles[..., column])
        turned = quat.multiply(turned, turn)
    return turned


def _angles_of(body: Body, q: Array) -> Array:
    """Angles (n_frames, n) about the joint's axes; a ball's middle axis stays within ±90°."""
    ways = _of_body(body)
    axes = [np.array(dof.axis) for dof in ways]
    if len(ways) < 3:
        # of w + u = (cos a + sin a · A)(cos b + sin b · B), A ⟂ B, each half angle stands alone
        return np.stack([2.0 * np.arctan2(q[..., 1:] @ axis, q[..., 0]) for axis in axes], -1)
    m = quat.to_matrix(q)
    x = np.arctan2(-m[..., 1, 2], m[..., 2, 2])
    y = np.arcsin(np.clip(m[..., 0, 2], -1.0, 1.0))
    z = np.arctan2(-m[..., 0, 1], m[..., 0, 0])
    return np.stack([x, y, z], axis=-1)


def reach(
    to_target: Array, upper: float, lower: float, towards: Array, bend: float
) -> tuple[Array, Array]:
    """Return how two bones that hang down at rest get from their upper joint to a target.

    ``to_target`` (n_frames, 3) is the way there in the world, ``towards`` (n_frames, 3) the side of
    the limb's front; ``bend`` is +1 where the lower bone bends forward (elbow), −1 where it bends
    back (knee). What comes back is the upper bone's rotation (n_frames, 4) to the world, and the
    middle joint's angle (n_frames,) about x, radians, with the sign of ``bend``.
    """
    distance = np.linalg.norm(to_target, axis=-1)
    furthest = float(np.max(distance))
    if furthest > upper + lower or float(np.min(distance)) < abs(upper - lower):
        raise BadValue(
            f"a limb of {upper + lower:.3f} m cannot reach {furthest:.3f} m; use smaller steps"
        )
    cosine = (distance**2 - upper**2 - lower**2) / (2.0 * upper * lower)
    angle = bend * np.arccos(np.clip(cosine, -1.0, 1.0))
    # the limb's own line from joint to end leans in the plane of bending
    lean = np.arctan2(lower * np.sin(angle), upper + lower * np.cos(angle))
    up = -to_target / distance[:, None]
    right = np.cross(towards, up)
    right /= np.linalg.norm(right, axis=-1, keepdims=True)
    frame = quat.from_matrix(np.stack([right, np.cross(up, right), up], axis=-1))
    return quat.multiply(frame, quat.from_axis_angle(X, -lean)), angle
