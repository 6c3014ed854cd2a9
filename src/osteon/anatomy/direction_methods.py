"""The main directions along which a limb moves, by joining like steps. [002] §4.2;
docs/methods.md §10. The ways that it is compared with are in ``papers``.

Directions are lines: a swing back and forth is one movement, so lines are compared and averaged
up to sign, through their outer products.
"""

from typing import NamedTuple

import numpy as np

from osteon.anatomy.limb_path import measure_jitter
from osteon.maths import kernel, quat
from osteon.typing import Array

SAME_ANGLE = np.radians(15.0)
"""Radians (15°) by which two directions may differ and still be the same: δ of [002] §4.2, which
found its choice to matter little."""
CELL_ANGLE = np.radians(5.0)
"""Radians (5°): size of the cells on the joint sphere. Chosen: a third of δ."""
SMALLEST_CELL, LARGEST_CELL = np.radians(1.0), np.radians(20.0)
"""Radians (1° and 20°): where a limb moves little, and where samples are noisy. Chosen: about a
fifth and four times the usual one."""
LAG_SHARE = 0.5
"""Share of the past that a group of points keeps per step; chosen: so that it can follow a small
circle."""
CLEAR_RATIO = 0.2
"""Ratio of the variance that a small circle leaves to a great one's, below which it is taken;
chosen: short arcs fit either (docs/guide/axes.md)."""
NARROWEST_ANGLE = np.radians(20.0)
"""Radians (20°): least angle between a limb and the axis of its circle. Chosen: about a smaller one
a patch of noise is a circle, too."""
AGREEMENT_ANGLE = np.radians(6.0)
"""Radians (6°) within which the axis of a circle and that of the rotations are one; chosen, how
well it does: docs/numbers/accuracy.md."""
MOST_GROUPS = 1500
"""Count of groups that are clustered, the longest first; chosen: more would only say the same
again, and time grows with their square."""


class Direction(NamedTuple):
    """One main movement."""

    axis: Array
    """(3,) unit axis in the parent's frame, of either sign."""
    weight: float
    """Part of all sweeping that went along it, 0 to 1."""


class Sweeps(NamedTuple):
    """Windows of samples, and the steps from each to the next."""

    points: Array
    """(n_windows, 3) mean direction."""
    rotations: Array | None
    """(n_windows, 4) mean rotation, where there are rotations."""
    into: np.ndarray
    """(n_steps,) the window each step leads into; it comes from the one before."""
    follows: np.ndarray
    """(n_steps,) whether the step goes on from the step before."""


def sweeps_of(points: Array, rotations: Array | None, moving: np.ndarray) -> Sweeps:
    """Windowed stratification of samples (n, 3), with rotations (n, 4) where there are any.

    Rotations are unrolled: neighbours lie in one hemisphere.
    """
    window = np.full(len(points), -1)
    follows = np.zeros(len(points), dtype=np.bool_)
    count = number_windows(points, moving, cell_size(points), window, follows)
    inside = window >= 0
    middle = quat.normalise(_sums(points[inside], window[inside], count))
    turned = None
    if rotations is not None:
        turned = quat.normalise(_sums(rotations[inside], window[inside], count))
    into = np.flatnonzero(follows[:count])
    return Sweeps(middle, turned, into, np.append(False, np.diff(into) == 1))


def cell_size(points: Array) -> float:
    """Smaller than the limb's reach, but larger than the noise."""
    noise = float(np.sqrt(np.mean(measure_jitter(points) ** 2)))
    seen = points[np.isfinite(points[:, 0])]
    reach = float(np.sqrt(seen.var(axis=0).sum())) if len(seen) else CELL_ANGLE
    cell = np.clip(reach / 3.0, SMALLEST_CELL, CELL_ANGLE)
    return float(np.clip(6.0 * noise, cell, LARGEST_CELL))


def joining(sweeps: Sweeps, most: int = 2) -> list[Direction]:
    """Direction Joining: consecutive steps alike make groups, groups alike make directions."""
    if not len(sweeps.into):
        return []
    lines, lengths = step_lines(sweeps)
    group = np.zeros(len(lines), dtype=np.int64)
    keep = 1.0 if sweeps.rotations is not None else LAG_SHARE
    n_groups = join_steps(lines, lengths, sweeps.follows, SAME_ANGLE, keep, group)
    scatter = np.zeros((n_groups, 3, 3))
    np.add.at(scatter, group, lengths[:, None, None] * lines[:, :, None] * lines[:, None, :])
    sizes = _sums(lengths[:, None], group, n_groups)[:, 0]
    of_group = np.linalg.eigh(scatter)[1][..., -1]
    found = []
    for members, weight in _clusters(of_group, sizes, most):
        axis = _axis_of(sweeps, group, members)
        found.append(Direction(axis, weight / float(sizes.sum())))
    return found


def step_lines(sweeps: Sweeps) -> tuple[Array, Array]:
    """Axis line (n_steps, 3) and angle (n_steps,) of every step.

    From rotations where there are any; else the normal of the plane through the joint, the step
    and its middle, p − ½ d (the paper's running centre, p + ½ d, lies beyond the step).
    """
    after, before = sweeps.points[sweeps.into], sweeps.points[sweeps.into - 1]
    step = after - before
    swept = 2.0 * np.arcsin(np.clip(0.5 * np.linalg.norm(step, axis=-1), 0.0, 1.0))
    if sweeps.rotations is None:
        normal = np.cross(after - 0.5 * step, step)
    else:
        turned = sweeps.rotations
        change = quat.multiply(turned[sweeps.into], quat.inverse(turned[sweeps.into - 1]))
        normal = quat.log(change)
    return np.nan_to_num(quat.normalise(normal)), swept


def _clusters(lines: Array, sizes: Array, most: int) -> list[tuple[np.ndarray, float]]:
    """Return the heaviest sets of lines within δ of their common axis: members and weight of
    each."""
    order = np.argsort(-sizes)[:MOST_GROUPS]
    alike = np.abs(lines[order] @ lines[order].T) >= np.cos(SAME_ANGLE)
    free = np.ones(len(order), dtype=bool)
    found = []
    while free.any() and len(found) < most:
        reach = (alike & free) @ (sizes[order] * free)
        seed = int(np.argmax(np.where(free, reach, -1.0)))
        axis = lines[order[seed]]
        members = alike[seed] & free
        for _ in range(10):
            chosen = order[members]
            axis = principal(sizes[chosen, None] * lines[chosen], lines[chosen])
            again = (np.abs(lines[order] @ axis) >= np.cos(SAME_ANGLE)) & free
            if (again == members).all() or not again.any():
                break
            members = again
        found.append((order[members], float(sizes[order[members]].sum())))
        # what lies just outside δ is the fringe of this movement, not another one
        free &= np.abs(lines[order] @ axis) < np.cos(2.0 * SAME_ANGLE)
    return sorted(found, key=lambda pair: -pair[1])


def _axis_of(sweeps: Sweeps, group: np.ndarray, members: np.ndarray) -> Array:
    """Return the axis of all windows in the ``members`` groups: one axis, each group its own
    start."""
    chosen = np.isin(group, members)
    into, label = sweeps.into[chosen], group[chosen]
    windows, label = np.concatenate([into, into - 1]), np.concatenate([label, label])
    circle, great = circle_axis(sweeps.points[windows], label)
    if sweeps.rotations is None:
        return circle
    turned = rotation_axis(sweeps.rotations[windows], label)
    # a limb across its axis: its path is the steadier witness, for twist does not move it
    return circle if great and abs(circle @ turned) >= np.cos(AGREEMENT_ANGLE) else turned


def rotation_axis(rotations: Array, label: np.ndarray) -> Array:
    """Return (3,) axis about which rotations (n, 4) turn, each set (n,) of them about its own mean.

    Measured from the mean and not from sample to sample: over long ways noise and sliding skin
    weigh less.
    """
    _, label = np.unique(label, return_inverse=True)
    first = np.zeros(label.max() + 1, dtype=int)
    first[label[::-1]] = np.arange(len(label))[::-1]
    near = rotations[first[label]]
    aligned = rotations * np.where(np.sum(rotations * near, axis=-1) < 0.0, -1.0, 1.0)[:, None]
    mean = quat.normalise(_sums(aligned, label, len(first)))
    turns = quat.log(quat.multiply(rotations, quat.inverse(mean[label])))
    return principal(turns, turns)


def circle_axis(points: Array, label: np.ndarray) -> tuple[Array, bool]:
    """Return (3,) common axis of the circles on which points (n, 3) lie, and whether they are great
    ones.

    A circle for each set (n,) of points. A limb across its axis sweeps a great circle, any other a
    small one. The small circle is taken when it explains the points clearly better: short arcs
    cannot tell.
    """
    _, label = np.unique(label, return_inverse=True)
    count = np.bincount(label)
    mean = _sums(points, label, len(count)) / count[:, None]
    centred = points - mean[label]
    small_values, small = np.linalg.eigh(centred.T @ centred)
    great_values, great = np.linalg.eigh(points.T @ points)
    n = len(points)
    freedom = max(n - 2 - len(count), 1)
    # a mere patch on the sphere lies flattest about its own middle: that is no movement
    patch = abs(small[:, 0] @ quat.normalise(points.mean(axis=0))) > np.cos(NARROWEST_ANGLE)
    tells = small_values[1] > 10.0 * max(small_values[0], 1e-12) and not patch
    better = small_values[0] / freedom < CLEAR_RATIO * great_values[0] / max(n - 2, 1)
    return (small[:, 0], False) if tells and better else (great[:, 0], True)


def principal(weighted: Array, vectors: Array) -> Array:
    """Return (3,) the line that lies closest to all vectors, whatever their signs."""
    return np.linalg.eigh(weighted.T @ vectors)[1][:, -1]


def _sums(values: Array, label: np.ndarray, count: int) -> Array:
    """Return (count, k) sums of the rows with the same label."""
    columns = [np.bincount(label, column, count) for column in values.T]
    return np.stack(columns, axis=-1).astype(float)


@kernel
def number_windows(directions, moving, step, window, follows):
    """Number the windows of consecutive samples that lie within ``step`` of their first one.

    Fills ``window`` (n,) with −1 for samples that belong to none, and ``follows`` (n,) with
    whether window k goes on where window k − 1 ended. Returns how many there are. This is the
    windowed stratification of [002]: a limb that dwells counts once, and one that comes back
    counts again.
    """
    count, first, open_window = 0, 0, False
    cosine = np.cos(step)
    for i in range(len(directions)):
        if not moving[i]:
            window[i] = -1
            open_window = False
            continue
        if open_window:
            near = 0.0
            for k in range(3):
                near += directions[i, k] * directions[first, k]
            if near >= cosine:
                window[i] = count - 1
                continue
        follows[count] = open_window
        window[i] = count
        first, open_window = i, True
        count += 1
    return count


@kernel
def join_steps(lines, weights, follows, delta, keep, group):
    """Group consecutive steps whose lines lie within ``delta`` of the group's running mean.

    ``keep`` is the share of the old mean that lasts at each step: 1 weighs the whole group alike,
    less follows a line that turns slowly. Lines have no sign. Fills ``group`` (n,), returns the
    number of groups.
    """
    mean = np.zeros(3)
    cosine = np.cos(delta)
    count = 0
    for i in range(len(lines)):
        along = 0.0
        for k in range(3):
            along += mean[k] * lines[i, k]
        length = np.sqrt(mean[0] ** 2 + mean[1] ** 2 + mean[2] ** 2)
        if count == 0 or not follows[i] or abs(along) < cosine * length:
            count += 1
            for k in range(3):
                mean[k] = weights[i] * lines[i, k]
        else:
            sign = -1.0 if along < 0.0 else 1.0
            for k in range(3):
                mean[k] = keep * mean[k] + sign * weights[i] * lines[i, k]
        group[i] = count - 1
    return count
