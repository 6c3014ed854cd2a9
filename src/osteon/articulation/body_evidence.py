"""Groups of markers that are one body after all: a second look, by shapes (docs/methods.md §3).

Distances join markers by one measure of unrest for the whole take. Skin is not alike everywhere: on
a thigh distances vary more than across a joint that hardly bends. A joint moves all markers of a
body together, about one point; skin moves each its own way. So two groups are compared with the one
body they would be: what its shape leaves unexplained beyond theirs, against the freedom it saves,
each with the noise that its own markers show.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from math import inf, log

import numpy as np

from osteon.cleaning import displaced_samples
from osteon.errors import NotEnoughData
from osteon.maths import generalised_procrustes, quat
from osteon.typing import Array

COMPARED_FRAMES = 300
"""Frames compared at most, spread evenly over those that move. Chosen: bounds time."""
FREE_RATIO = 5.0
"""Ratio of what a free direction of motion does to the take's unrest. Chosen: with 8 a wrong
pair is joined on generated people without skin (56 bodies of 58 right); smaller ones were tried on
a prototype only."""
USUAL_FREEDOM = 3.0
"""Count of degrees of freedom for which the take's unrest stands in a body's own. Chosen: one
marker's, so that a shape of five speaks for itself."""
LONE_FREEDOM, PAIR_FREEDOM, BODY_FREEDOM = 4.0, 5.0, 6.0
"""Counts of directions in which one, two, and more markers move. Derived; a lone marker has one
more than it shows, as nothing supports that it is a body. Chosen."""
SHAPE_ROUNDS = 4
"""Count of rounds in which shape and poses improve each other. Chosen: more change no choice."""
RARE_QUANTILE, RARE_NORMAL = 0.98, 3.28
"""Share of the frames below a rare deviation, and the ratio of its square to the mean square in
normal noise of three axes. Derived: a joint that bends for a moment is a joint all the same."""

Group = tuple[int, ...]


def join_by_evidence(
    observed: Array,
    groups: Sequence[Sequence[int]],
    unrest: float,
    noise: float,
    near: np.ndarray,
) -> list[list[int]]:
    """Join groups of columns of ``observed`` (n_frames, n_markers, 3) that are better one body.

    ``unrest`` is how much distances usually vary beyond ``noise``, the cameras' per axis; metres.
    ``near`` (n_markers, n_markers) tells which markers may be of one body at all.
    """
    points = _without_displaced(observed, groups) / unrest

    @cache
    def cost(group: Group) -> float:
        return _cost(points[:, group], noise / unrest)

    @cache
    def gain(one: Group, other: Group) -> float:
        saved = _freedom(len(one)) + _freedom(len(other)) - _freedom(len(one) + len(other))
        together = cost(_joined(one, other))
        return -inf if together == inf else (cost(one) + cost(other) - together) / saved

    found = [tuple(sorted(group)) for group in groups]
    while best := _best_two(found, gain, near):
        found = [group for group in found if group not in best] + [_joined(*best)]
    return [list(group) for group in found]


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


def _cost(points: Array, white: float) -> float:
    """Twice the negative log likelihood of one body a frame, its noise found from its shape.

    In units of the take's unrest, which counts as so many observations of the noise.
    """
    seen = np.isfinite(points[..., 0]).sum(axis=1)
    freedom = np.array([0.0, LONE_FREEDOM, PAIR_FREEDOM, BODY_FREEDOM])[np.minimum(seen, 3)]
    shown = np.maximum(3.0 * seen - freedom, 0.0).mean()
    misfit = max(_misfit(points) / len(points) - shown * white**2, 0.0)
    noise = (USUAL_FREEDOM + misfit) / (USUAL_FREEDOM + shown)
    return (USUAL_FREEDOM + shown) * log(noise) + freedom.mean() * 2.0 * log(FREE_RATIO)


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
