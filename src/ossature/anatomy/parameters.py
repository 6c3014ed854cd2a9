"""Angles about a limb's movement axes, and what they leave out. Paper 002, §4.3–4.5."""

from typing import NamedTuple

import numpy as np

from ossature.maths import quat, two_axes
from ossature.maths.branches import smoothest
from ossature.maths.circular import unwrap
from ossature.maths.quat import Array
from ossature.values import Movement


class Parameters(NamedTuple):
    """One limb over a take."""

    angles: Array
    """(n_frames, n_axes + 1) about each axis, then the twist; radians, NaN where no pose."""
    reached: np.ndarray
    """(n_frames,) whether the axes can reach the limb's direction; else the nearest was taken."""


def parameterise(rotations: Array, movement: Movement) -> Parameters:
    """Angles of rotations (n, 4) to the parent's frame. The limb's path decides the branch."""
    start = quat.rotate(movement.rest, movement.direction)
    end = quat.rotate(rotations, movement.direction)
    swings, reached = _swings(movement.axes, start, end)
    turned = two_axes.swing(movement.axes, swings)
    left = quat.multiply(quat.between(turned, rotations), quat.inverse(movement.rest))
    twist = unwrap(two_axes.twist(left, start))
    return Parameters(np.concatenate([swings, twist[:, None]], axis=-1), reached)


def _swings(axes: Array, start: Array, end: Array) -> tuple[Array, np.ndarray]:
    everywhere = np.ones(len(end), dtype=bool)
    if len(axes) == 0:
        return np.zeros((len(end), 0)), everywhere
    if len(axes) == 1:
        return unwrap(two_axes.one_axis(axes[0], start, end))[:, None], everywhere
    both = two_axes.two_axes(axes[0], axes[1], start, end)
    chosen = np.zeros(len(end), dtype=np.int64)
    smoothest(both.first, both.second, chosen)
    rows = np.arange(len(end))
    angles = np.stack([both.first[rows, chosen], both.second[rows, chosen]], axis=-1)
    return unwrap(angles), both.reached | ~np.isfinite(end[:, 0])


def rest_place(axes: Array, points: Array) -> Array:
    """(3,) where the circles of movement meet near the middle of the points (n, 3).

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
