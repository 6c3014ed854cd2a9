"""Rotations told by angles about one or two fixed axes, and the twist that is left.

A limb that points along ``start`` at rest points along R(first)·R(second)·start. Directions are
unit vectors (..., 3); everything broadcasts. [002] §4.4 and §4.5; docs/methods.md §10.
"""

from typing import NamedTuple

import numpy as np

from osteon.maths import quat
from osteon.typing import Array


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


def twist(q: Array, axis: Array) -> Array:
    """Return the angle θ in (−π, π] about ``axis`` with R(axis, θ) nearest to ``q``.

    It maximises tr(Qᵀ·R(axis, θ)); the paper samples angles to find it.
    """
    return 2.0 * np.arctan2(*_halves(q, axis))


def _halves(q: Array, axis: Array) -> tuple[Array, Array]:
    sine, cosine = _dot(q[..., 1:], axis), q[..., 0]
    sign = np.where(cosine < 0.0, -1.0, 1.0)
    return sign * sine, sign * cosine


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("...i,...i->...", a, b)
