"""Angles about a limb's movement axes, and what they leave out. [002] §4.3–4.5.

Poses changed by meaning: "lift the left arm sideways by 20°". [002] §5. The compiled part makes the
sums that the tests hold against plain formulas.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from osteon.errors import BadValue
from osteon.maths import cross, dot, inverse, kernel, multiply, quat, rotate, unwrap
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
    point_along(np.ascontiguousarray(rotations), np.array(direction), points)
    return points


def parameterise(rotations: Array, movement: Movement) -> Parameters:
    """Angles of rotations (n, 4) to the parent's frame. The limb's path decides the branch."""
    rotations, axes = np.ascontiguousarray(rotations), np.array(movement.axes)
    rest, direction = np.array(movement.rest), np.array(movement.direction)
    start = quat.rotate(rest, direction)
    swings, reached = swing_angles(axes, start, limb_points(rotations, direction))
    twist, missed, turned = np.zeros((3, len(rotations)))
    twist_and_miss(rotations, axes, swings, rest, direction, start, twist, missed, turned)
    angles = np.concatenate([swings, unwrap(twist)[:, None]], axis=-1)
    return Parameters(angles, reached, missed, turned)


def swing_angles(axes: Array, start: Array, points: Array) -> tuple[Array, np.ndarray]:
    """Return angles (n, n_axes) that lead from ``start`` (3,) to points (n, 3), and who is reached.

    Of two pairs that lead to the same point the one on the smoothest path is taken. A point that
    the axes cannot reach has the angles that lead nearest.
    """
    axes, start, points = (np.ascontiguousarray(each) for each in (axes, start, points))
    n = len(points)
    reached = np.ones(n, dtype=np.bool_)
    swings = np.zeros((n, len(axes)))
    if len(axes) == 1:
        swing_one(axes[0], start, points, swings[:, 0])
    if len(axes) == 2:
        first, second = np.zeros((2, n, 2))
        swing_two(axes[0], axes[1], start, points, first, second, reached)
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
) -> CompactMotion:
    """Return the motion with some parameters changed; all limbs that hang below follow.

    ``edited(compact, {"left_upper_arm.sideways": 0.35}).motion()`` gives the poses.

    Parameters
    ----------
    changes
        Parameter name → new angle, radians; one number, or one for each of ``frames``.
    frames
        Which frames; all of them by default.
    """
    where = slice(frames, frames + 1 or None) if isinstance(frames, int) else frames
    angles = compact.angles.copy()
    for name, value in changes.items():
        value = np.asarray(value, dtype=float)
        if value.ndim > 1 or (value.ndim == 1 and len(value) != len(angles[where])):
            raise BadValue(
                f"{name} needs one angle, or one for each of {len(angles[where])} frames, "
                f"got shape {value.shape}"
            )
        angles[where, compact.index(name)] = value
    return compact.with_angles(angles)


@kernel
def smoothest(first, second, chosen):
    """Fill ``chosen`` (n,) with branch 0 or 1 of ``first`` and ``second`` (n, 2), radians.

    Viterbi: the path with the least sum of squared angle steps. NaN frames are passed over, and
    get the branch of the frame before.
    """
    n = len(first)
    came = np.zeros((n, 2), dtype=np.uint8)
    cost = np.zeros(2)
    last = -1
    for i in range(n):
        if np.isnan(first[i, 0] + second[i, 0]):
            came[i, 1] = 1
            continue
        if last >= 0:
            fresh = np.zeros(2)
            for b in range(2):
                stay = cost[0] + _step(first[last, 0], first[i, b], second[last, 0], second[i, b])
                move = cost[1] + _step(first[last, 1], first[i, b], second[last, 1], second[i, b])
                came[i, b] = 0 if stay <= move else 1
                fresh[b] = min(stay, move)
            cost[0], cost[1] = fresh[0], fresh[1]
        else:
            # turns are angles from rest: of two answers the smaller one is the natural start
            came[i, 1] = 1
            for b in range(2):
                cost[b] = 1e-3 * (abs(first[i, b]) + abs(second[i, b]))
        last = i
    branch = 0 if cost[0] <= cost[1] else 1
    for i in range(n - 1, -1, -1):
        chosen[i] = branch
        branch = came[i, branch]


@kernel
def _step(a, b, c, d):
    return _wrapped(b - a) ** 2 + _wrapped(d - c) ** 2


@kernel
def _wrapped(angle):
    return (angle + np.pi) % (2.0 * np.pi) - np.pi


@kernel
def point_along(rotations, direction, points):
    """Fill ``points`` (n, 3) with the direction (3,) turned by rotations (n, 4)."""
    for i in range(len(rotations)):
        points[i, 0], points[i, 1], points[i, 2] = rotate(_four(rotations[i]), direction)


@kernel
def swing_one(axis, start, points, angles):
    """Fill ``angles`` (n,) about one axis from ``start`` to the nearest to each point."""
    for i in range(len(points)):
        angles[i] = _angle(axis, start, points[i])


@kernel
def swing_two(first, second, start, points, first_angles, second_angles, reached):
    """Fill both branches (n, 2) of the angles about two axes, and who was ``reached`` (n,)."""
    across = cross(first, second)
    cosine, sine2 = dot(first, second), dot(across, across)
    on_second = dot(start, second)
    # where the circles do not meet: the end of the second one's diameter along the first axis
    spread = math.sqrt(max(1.0 - on_second * on_second, 0.0) / sine2)
    for i in range(len(points)):
        on_first = dot(points[i], first)
        a = (on_first - cosine * on_second) / sine2
        b = (on_second - cosine * on_first) / sine2
        height2 = (1.0 - a * a - b * b - 2.0 * a * b * cosine) / sine2
        reached[i] = height2 >= 0.0 or math.isnan(height2)
        height = 0.0
        if reached[i]:
            height = math.sqrt(height2)
        else:
            a = -spread if on_first < on_second * cosine else spread
            b = on_second - cosine * a
        for branch in range(2):
            between = _sum(a, first, b, second, height if branch == 0 else -height, across)
            first_angles[i, branch] = _angle(first, between, points[i])
            second_angles[i, branch] = _angle(second, start, between)


@kernel
def twist_and_miss(rotations, axes, swings, rest, direction, start, twists, missed, turned):
    """Fill the twist (n,), how far the direction is missed (n,) and how far the limb is (n,)."""
    still, undo_rest = _four(rest), inverse(_four(rest))
    for i in range(len(rotations)):
        swung = (1.0, 0.0, 0.0, 0.0)
        for k in range(len(axes)):
            swung = multiply(swung, _turn(axes[k], swings[i, k]))
        goal = _four(rotations[i])
        left = multiply(multiply(inverse(swung), goal), undo_rest)
        sign = -1.0 if left[0] < 0.0 else 1.0
        along = left[1] * start[0] + left[2] * start[1] + left[3] * start[2]
        twists[i] = 2.0 * math.atan2(sign * along, sign * left[0])
        told = multiply(multiply(swung, _turn(start, twists[i])), still)
        made, was = rotate(told, direction), rotate(goal, direction)
        gap = _sum(1.0, made, -1.0, was, 0.0, was)
        missed[i] = math.sqrt(dot(gap, gap))
        change = multiply(inverse(told), goal)
        sine = math.sqrt(change[1] ** 2 + change[2] ** 2 + change[3] ** 2)
        turned[i] = 2.0 * math.atan2(sine, abs(change[0]))


@kernel
def _angle(axis, start, end):
    side = dot(cross(axis, start), end)
    ahead = dot(start, end) - dot(axis, start) * dot(axis, end)
    return math.atan2(side, ahead)


@kernel
def _sum(a, u, b, v, c, w):
    x = a * u[0] + b * v[0] + c * w[0]
    y = a * u[1] + b * v[1] + c * w[1]
    z = a * u[2] + b * v[2] + c * w[2]
    return x, y, z


@kernel
def _turn(axis, angle):
    s = math.sin(0.5 * angle)
    return math.cos(0.5 * angle), s * axis[0], s * axis[1], s * axis[2]


@kernel
def _four(q):
    return q[0], q[1], q[2], q[3]
