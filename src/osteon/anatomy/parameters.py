"""Angles about a limb's movement axes, and what they leave out. [002] §4.3–4.5.

Poses changed by meaning: "lift the left arm sideways by 20°". [002] §5.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from osteon.anatomy import _parameters_kernel
from osteon.anatomy._parameters_kernel import smoothest
from osteon.errors import BadValue
from osteon.maths import quat, unwrap
from osteon.typing import Array
from osteon.values import CompactMotion, Movement


class Parameters(NamedTuple):
    """One limb over a take."""

    angles: Array
    """(n_frames, n_axes + 1) about each axis, then the twist; radians, NaN where no pose."""
    reached: np.ndarray
    """(n_frames,) whether the axes can reach the limb's direction; else the nearest was taken."""
    missed: Array
    """(n_frames,) how far the angles miss the limb's direction, by its length."""
    turned: Array
    """(n_frames,) angle between the limb and what the angles make of it, radians."""


def limb_points(rotations: Array, direction: Array) -> Array:
    """Return (n, 3) where a limb along ``direction`` (3,) points under rotations (n, 4)."""
    points = np.zeros((len(rotations), 3))
    _parameters_kernel.point_along(np.ascontiguousarray(rotations), np.array(direction), points)
    return points


def parameterise(rotations: Array, movement: Movement) -> Parameters:
    """Angles of rotations (n, 4) to the parent's frame. The limb's path decides the branch."""
    rotations, axes = np.ascontiguousarray(rotations), np.array(movement.axes)
    rest, direction = np.array(movement.rest), np.array(movement.direction)
    start = quat.rotate(rest, direction)
    swings, reached = _swings(axes, start, limb_points(rotations, direction))
    twist, missed, turned = np.zeros((3, len(rotations)))
    _parameters_kernel.twist_and_miss(
        rotations, axes, swings, rest, direction, start, twist, missed, turned
    )
    angles = np.concatenate([swings, unwrap(twist)[:, None]], axis=-1)
    return Parameters(angles, reached, missed, turned)


def _swings(axes: Array, start: Array, points: Array) -> tuple[Array, np.ndarray]:
    n = len(points)
    reached = np.ones(n, dtype=np.bool_)
    swings = np.zeros((n, len(axes)))
    if len(axes) == 1:
        _parameters_kernel.swing_one(axes[0], start, points, swings[:, 0])
    if len(axes) == 2:
        first, second = np.zeros((2, n, 2))
        _parameters_kernel.swing_two(axes[0], axes[1], start, points, first, second, reached)
        chosen = np.zeros(n, dtype=np.int64)
        smoothest(first, second, chosen)
        rows = np.arange(n)
        swings = np.stack([first[rows, chosen], second[rows, chosen]], axis=-1)
    return unwrap(swings), reached


def rest_place(axes: Array, points: Array) -> Array:
    """Return (3,) where the circles of movement meet near the middle of the points (n, 3).

    A circle for each axis: of the points whose height along it is the usual one. Two circles meet
    in two places, or come nearest in one; a single circle is met where it is nearest.
    """
    centre = quat.normalise(points.mean(axis=0))
    if len(axes) == 0:
        return centre
    heights = np.median(points @ axes.T, axis=0)
    gram = axes @ axes.T
    in_plane = np.linalg.solve(gram, heights) @ axes
    short = max(1.0 - float(in_plane @ in_plane), 0.0)
    across = np.cross(*axes) if len(axes) == 2 else centre - axes[0] * (centre @ axes[0])
    across = np.nan_to_num(quat.normalise(across)) * np.sqrt(short)
    places = np.stack([in_plane + across, in_plane - across])
    return places[np.argmax(places @ centre)]


def edited(
    compact: CompactMotion,
    changes: Mapping[str, float | Array],
    *,
    frames: slice | int = slice(None),
    relative: bool = False,
) -> CompactMotion:
    """Return the motion with some parameters changed; all limbs that hang below follow.

    ``edited(compact, {"left_upper_arm.sideways": 0.35}).motion()`` gives the poses.

    Parameters
    ----------
    changes
        Parameter name → new angle, radians; one number, or one for each of ``frames``.
    frames
        Which frames; all of them by default.
    relative
        Add to the angles that are there instead of replacing them.
    """
    where = slice(frames, frames + 1 or None) if isinstance(frames, int) else frames
    angles = compact.angles.copy()
    for name, value in changes.items():
        column = compact.index(name)
        value = np.asarray(value, dtype=float)
        if value.ndim > 1 or (value.ndim == 1 and len(value) != len(angles[where])):
            raise BadValue(
                f"{name} needs one angle, or one for each of {len(angles[where])} frames, "
                f"got shape {value.shape}"
            )
        angles[where, column] = angles[where, column] + value if relative else value
    return compact.with_angles(angles)
