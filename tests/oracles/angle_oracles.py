"""What the kernels of joint limits are held against: short, slow, plain numpy."""

from typing import NamedTuple

import numpy as np

from osteon.joint_limits import clamp
from osteon.maths import TURN, Spread, quat, rotations
from osteon.typing import Array, Mask
from osteon.values import Joint


class Interval(NamedTuple):
    """An arc that holds every sample, going up from ``low``."""

    low: float
    """In [−π, π)."""
    high: float
    """``low`` ≤ ``high`` < ``low`` + 2π."""
    gap: float
    """Size of the largest arc without samples, 2π − (high − low)."""


def spread(q: Array) -> Spread:
    """Deviation of rotations (n_samples, ..., 4) along their principal directions, about the mean.

    NaN where nothing was seen.
    """
    mean = rotations.frechet_mean(q)
    logs = quat.log(quat.between(mean[None], q))
    seen = np.isfinite(logs[..., 0])
    logs = np.where(seen[..., None], logs, 0.0)
    squares = np.einsum("n...i,n...j->...ij", logs, logs)
    values, vectors = np.linalg.eigh(squares / np.maximum(seen.sum(axis=0), 1)[..., None, None])
    std = np.sqrt(np.maximum(values[..., ::-1], 0.0)) + 0.0 * mean[..., :1]
    return Spread(mean, std, np.swapaxes(vectors[..., ::-1], -1, -2))


def covering_interval(angles: Array) -> Interval:
    """The shortest arc that holds all samples: what lies outside the largest gap.

    The gap from the last sample round to the first counts too. [001] Eq. 16–19.
    """
    angles = np.asarray(angles, dtype=float)
    samples = np.sort(rotations.wrap(angles[np.isfinite(angles)]))
    if samples.size == 0:
        return Interval(np.nan, np.nan, np.nan)
    gaps = np.diff(samples, append=samples[0] + TURN)
    widest = int(np.argmax(gaps))
    low = float(samples[(widest + 1) % len(samples)])
    gap = float(gaps[widest])
    return Interval(low, low + TURN - gap, gap)


def inside_polygon(points: Array, polygon: Array) -> Mask:
    """Whether points (..., 2) lie in convex polygons (..., n_corners, 2), their edges included."""
    edges = np.roll(polygon, -1, axis=-2) - polygon
    away = points[..., None, :] - polygon
    cross = edges[..., 0] * away[..., 1] - edges[..., 1] * away[..., 0]
    return np.all(cross >= -1e-12, axis=-1)


def directions_across(axis: Array) -> Array:
    """Two unit vectors (..., 2, 3) that make a right-handed frame with unit ``axis`` as third."""
    least = np.eye(3)[np.argmin(np.abs(axis), axis=-1)]
    first = quat.normalise(np.cross(least, axis))
    return np.stack([first, np.cross(axis, first)], axis=-2)


def quaternion_rank(samples: Array, tolerance: float) -> Array:
    """(n_joints,) rank of the 4×N matrices of quaternions: 1 fixed, 2 hinge, more else.

    A check without a mean, blind to signs and rest offsets. ``tolerance`` is a half angle, radians.
    """
    filled = np.where(np.isfinite(samples), samples, 0.0)
    seen = np.maximum(np.isfinite(samples[..., 0]).sum(axis=0), 1)
    moments = np.einsum("nji,njk->jik", filled, filled) / seen[:, None, None]
    return np.sum(np.linalg.eigvalsh(moments) > tolerance**2, axis=-1)


def swing_and_twist(q: Array, axis: Array, across: Array) -> tuple[Array, Array]:
    """Swing (..., 2) along the two rows of ``across`` (..., 2, 3), and twist (...) about ``axis``.

    ``across`` and ``axis`` must be orthonormal.
    """
    twist = rotations.twist_angle(q, axis)
    swing = quat.multiply(q, quat.from_axis_angle(axis, -twist))
    return np.einsum("...ij,...j->...i", across, quat.log(swing)), twist


def plain_clamp(q: Array, joint: Joint, shape: str = "cone") -> Array:
    """``joint_limits.clamp`` of one rotation (4,), by its definition; not for boxes of ZYZ."""
    if joint.kind == "fixed":
        return joint.rest
    assert joint.limits is not None
    if shape == "cone" and joint.kind == "hinge" and joint.limits.hinge is not None:
        angle = rotations.twist_angle(quat.multiply(q, quat.inverse(joint.rest)), joint.axes[0])
        turn = quat.from_axis_angle(joint.axes[0], _into(angle, *joint.limits.hinge))
        return quat.multiply(turn, joint.rest)
    cone = joint.limits.cone
    assert cone is not None
    swing, twist = swing_and_twist(quat.between(cone.centre, q), cone.axis, cone.across)
    polygon = cone.polygon
    if shape == "ellipse":  # the nearest point is known to an edge, 3e-4 of the half axes
        around = np.linspace(0.0, TURN, 20_000)[:-1]
        polygon = cone.radii * np.stack([np.cos(around), np.sin(around)], axis=-1)
    if not inside_polygon(swing, polygon):
        swing = _nearest_on_edge(swing, polygon)
    held = rotations.join(swing, _into(twist, *cone.twist), cone.axis, cone.across)
    return quat.multiply(cone.centre, held)


def _nearest_on_edge(point: Array, polygon: Array) -> Array:
    edges, away = np.roll(polygon, -1, axis=0) - polygon, point - polygon
    share = np.sum(away * edges, axis=-1) / np.maximum(np.sum(edges**2, axis=-1), 1e-300)
    feet = polygon + np.clip(share, 0.0, 1.0)[:, None] * edges
    return feet[np.argmin(np.linalg.norm(feet - point, axis=-1))]


def _into(angle: Array, low: float, high: float) -> Array:
    middle = 0.5 * (low + high)
    return np.clip(middle + rotations.wrap(angle - middle), low, high)


def excess(q: Array, joint: Joint, shape: str = "auto") -> Array:
    """How far (...) rotations (..., 4) must turn to come within the limits, radians; 0 inside."""
    return quat.angle(quat.between(clamp(q, joint, shape), q))


class Branches(NamedTuple):
    """Both pairs of angles that lead to the same direction."""

    first: Array
    """(..., 2) radians about the first axis, one for each branch."""
    second: Array
    """(..., 2) radians about the second axis."""
    reached: np.ndarray
    """(...) whether the direction can be reached; else the angles lead to the nearest point."""


def one_axis(axis: Array, start: Array, end: Array) -> Array:
    """Return the angle about ``axis`` that brings ``start`` nearest to ``end``, radians."""
    side = _dot(np.cross(axis, start), end)
    ahead = _dot(start, end) - _dot(axis, start) * _dot(axis, end)
    return np.arctan2(side, ahead)


def two_axes(first: Array, second: Array, start: Array, end: Array) -> Branches:
    """Angles about two axes that lead from ``start`` to ``end``: Paden–Kahan's second problem.

    The place between the two turns lies on the circle about the second axis through ``start`` and
    on that about the first axis through ``end``. Where the circles do not meet, the point of the
    former that comes nearest to the latter is taken.

    Parameters
    ----------
    first, second, start : (3,)
        Axes, and the limb at rest.
    end : (..., 3)
    """
    cosine = float(first @ second)
    across = np.cross(first, second)
    sine2 = float(across @ across)
    on_first, on_second = end @ first, float(start @ second)
    along_first = (on_first - cosine * on_second) / sine2
    along_second = (on_second - cosine * on_first) / sine2
    in_plane = along_first[..., None] * first + along_second[..., None] * second
    height2 = (1.0 - np.sum(in_plane * in_plane, axis=-1)) / sine2
    reached = height2 >= 0.0
    towards = quat.normalise(first - cosine * second)
    middle, radius = on_second * cosine, np.sqrt(max(1.0 - on_second**2, 0.0))
    side = np.where(on_first < middle, -radius, radius)[..., None]
    in_plane = np.where(reached[..., None], in_plane, on_second * second + side * towards)
    height = np.sqrt(np.maximum(height2, 0.0))[..., None] * across
    between = np.stack([in_plane + height, in_plane - height], axis=-2)
    return Branches(
        one_axis(first, between, end[..., None, :]), one_axis(second, start, between), reached
    )


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("...i,...i->...", a, b)
