"""A rotation as a twist about an axis followed by a swing of that axis: q = swing · twist.

Swings are rotation vectors across the axis, given by two numbers along two directions: the axis'
new direction drawn in a plane, distances from the middle true. Only a swing by π is ambiguous.

A limb's swing may also be told by angles about one or two fixed axes: one that points along
``start`` at rest points along R(first)·R(second)·start. Directions are unit vectors (..., 3);
everything broadcasts. [002] §4.4 and §4.5; docs/methods.md §10.
"""

from typing import NamedTuple

import numpy as np

from osteon.maths import quat
from osteon.typing import Array


def twist_angle(q: Array, axis: Array) -> Array:
    """Signed angle (...) about unit ``axis`` (..., 3), in [−π, π]. [001] Eq. 9–12, mended."""
    along = np.sum(q[..., 1:] * axis, axis=-1)
    sign = np.where(q[..., 0] < 0.0, -1.0, 1.0)
    return 2.0 * np.arctan2(sign * along, np.abs(q[..., 0]))


def join(swing: Array, twist: Array, axis: Array, across: Array) -> Array:
    """Return the rotation (..., 4) of a swing (..., 2) and a twist (...)."""
    turn = np.einsum("...i,...ij->...j", swing, across)
    return quat.multiply(quat.exp(turn), quat.from_axis_angle(axis, twist))


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


def swing(axes: Array, angles: Array) -> Array:
    """R(first)·R(second)·… as quaternions (..., 4) for ``axes`` (n, 3), ``angles`` (..., n)."""
    turned = quat.identity(angles.shape[:-1])
    for axis, angle in zip(axes, np.moveaxis(angles, -1, 0), strict=True):
        turned = quat.multiply(turned, quat.from_axis_angle(axis, angle))
    return turned


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("...i,...i->...", a, b)
