"""A rotation as a twist about an axis followed by a swing of that axis: q = swing · twist.

Swings are rotation vectors across the axis, given by two numbers along two directions: the axis'
new direction drawn in a plane, distances from the middle true. Only a swing by π is ambiguous.

A limb's swing may also be told by angles about one or two fixed axes, R(first)·R(second).
[002] §4.4 and §4.5; docs/methods.md §10.
"""

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


def swing(axes: Array, angles: Array) -> Array:
    """R(first)·R(second)·… as quaternions (..., 4) for ``axes`` (n, 3), ``angles`` (..., n)."""
    turned = quat.identity(angles.shape[:-1])
    for axis, angle in zip(axes, np.moveaxis(angles, -1, 0), strict=True):
        turned = quat.multiply(turned, quat.from_axis_angle(axis, angle))
    return turned
