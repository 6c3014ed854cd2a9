"""Groups of markers that are one body after all: a second look, by shapes (docs/methods.md §3).

Distances join markers by one measure of unrest for the whole take. Skin is not alike everywhere: on
a thigh distances vary more than across a joint that hardly bends. So groups are looked at again as
the rigid bodies they would be. All groups together cost what their shapes leave unexplained, and
for every direction in which a body may move as much as skin moves a marker at most: a joint moves a
body by more, or it does not show. Groups are joined, and single markers change places, while that
lowers the cost.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations, permutations
from math import inf

import numpy as np

from osteon.cleaning import displaced_samples
from osteon.errors import NotEnoughData
from osteon.maths import generalised_procrustes, quat
from osteon.typing import Array

COMPARED_FRAMES = 300
"""Frames compared at most, spread evenly over those that move. Chosen: bounds time."""
SKIN_SHARE = 0.0175
"""Share of the body's size by which skin moves a marker at most, rms per direction; 7 mm on a
human. Chosen on four people with bones known and two generated: under real skin halves of a
body differ by up to 6.4 mm, bodies that share a joint by 7.8 and more."""
LONE_FREEDOM, PAIR_FREEDOM, BODY_FREEDOM = 4.0, 5.0, 6.0
"""Counts of directions in which one, two, and more markers move. Derived; a lone marker has one
more than it shows, as nothing supports that it is a body. Chosen."""
SHAPE_ROUNDS = 4
"""Count of rounds in which shape and poses improve each other. Chosen: more change no choice."""
LEAST_GAIN = 1e-12
"""Square metres that a move must save. Chosen: above rounding, so that none is undone for ever."""
RARE_QUANTILE, RARE_NORMAL = 0.98, 3.28
"""Share of the frames below a rare deviation, and the ratio of its square to the mean square in
normal noise of three axes. Derived: a joint that bends for a moment is a joint all the same."""

Group = tuple[int, ...]


def join_by_evidence(
    observed: Array,
    groups: Sequence[Sequence[int]],
    skin: float,
    noise: float,
    near: np.ndarray,
) -> list[list[int]]:
    """Join groups of columns of ``observed`` (n_frames, n_markers, 3) that are better one body, and
    move markers to the body that they are steadier on.

    ``skin`` is the most that it moves a marker, ``noise`` the cameras'; metres per direction.
    ``near`` (n_markers, n_markers) tells which markers may be of one body at all.
    """
    points = _without_displaced(observed, groups)

    @cache
    def cost(group: Group) -> float:
        return _cost(points[:, group], noise) + skin**2 * _freedom(len(group)) if group else 0.0

    @cache
    def gain(one: Group, other: Group) -> float:
        together = cost(_joined(one, other))
        return -inf if together == inf else cost(one) + cost(other) - together

    found = [tuple(sorted(group)) for group in groups]
    for _ in range(points.shape[1]):
        while best := _best_two(found, gain, near):
            found = [group for group in found if group not in best] + [_joined(*best)]
        step = _best_move(found, cost, near)
        if step is None:
            break
        found = [group for group in found if group not in step[:2]] + [*filter(None, step[2:])]
    return [list(group) for group in found]


def _best_move(
    groups: list[Group], cost: Callable[[Group], float], near: np.ndarray
) -> tuple[Group, Group, Group, Group] | None:
    """Two groups, and the same with one marker of the first in the second, where that lowers the
    cost most. A body of three stays whole: fewer have no frame."""
    best, most = None, LEAST_GAIN
    for one, other in permutations(groups, 2):
        for marker in one if len(one) != 3 else ():
            if not near[marker, other].any():
                continue
            rest = tuple(each for each in one if each != marker)
            more = _joined(other, (marker,))
            gained = cost(one) + cost(other) - cost(rest) - cost(more)
            if gained > most:
                best, most = (one, other, rest, more), gained
    return best


def _joined(one: Group, other: Group) -> Group:
    return tuple(sorted(one + other))


def _best_two(
    groups: list[Group], gain: Callable[[Group, Group], float], near: np.ndarray
) -> tuple[Group, Group] | None:
    """The two groups that gain most by being one; None where none do."""
    close = [pair for pair in combinations(groups, 2) if near[np.ix_(*pair)].any()]
    gains = [gain(*pair) for pair in close]
    return close[int(np.argmax(gains))] if gains and max(gains) > 0.0 else None


def _freedom(n_markers: int) -> float:
    return {1: LONE_FREEDOM, 2: PAIR_FREEDOM}.get(n_markers, BODY_FREEDOM)


def _cost(points: Array, noise: float) -> float:
    """Mean sum of squares of a frame that a shape leaves unexplained beyond noise, metres²."""
    seen = np.isfinite(points[..., 0]).sum(axis=1)
    told = np.array([0.0, 3.0, 5.0, 6.0])[np.minimum(seen, 3)]
    shown = np.maximum(3.0 * seen - told, 0.0).mean()
    return max(_misfit(points) / len(points) - shown * noise**2, 0.0)


def _misfit(points: Array) -> float:
    """Sum of squares that a rigid shape leaves unexplained; infinite where there is none."""
    if points.shape[1] == 1:
        return 0.0
    if points.shape[1] == 2:
        lengths = np.linalg.norm(points[:, 0] - points[:, 1], axis=-1)
        lengths = lengths[np.isfinite(lengths)]
        # each end has half of what the length is off
        return 0.5 * float(np.sum((lengths - lengths.mean()) ** 2)) if len(lengths) else inf
    try:
        shape = generalised_procrustes(points, max_iterations=SHAPE_ROUNDS)
    except NotEnoughData:
        return inf
    turns, places = shape.fit.rotations, shape.fit.positions
    local = quat.rotate(quat.inverse(turns)[:, None], points - places[:, None])
    squares = np.sum((local - shape.template) ** 2, axis=-1)
    known = np.isfinite(squares)
    if not known.any(axis=0).all():
        return inf
    usual = np.nanmean(squares, axis=0)
    rare = np.nanquantile(squares, RARE_QUANTILE, axis=0) / RARE_NORMAL
    return float(np.sum(known.sum(axis=0) * np.maximum(usual, rare)))


def _without_displaced(observed: Array, groups: Sequence[Sequence[int]]) -> Array:
    points = np.array(observed)
    for group in groups:
        own = points[:, group]
        if len(group) > 1:
            own[displaced_samples(own)] = np.nan
        points[:, group] = own
    return points
