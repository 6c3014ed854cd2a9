"""Joints that close a loop: clasped hands, an object held in both, for a take or a part of it.

Two bodies that are no parent and child and still share a point as well as parents and children do.
A point that merely repeats a joint on the way between them (because the others stood still)
is none. docs/methods.md §2, [000] §5.

Rings of joints: which of them is the loop, and which belong to the tree.

Clasped hands close a ring of arms, and its residuals do not say where it begins: any of its joints
may be the one that the tree leaves out. It is cut where that leaves the bodies fewest joints apart,
which is the side opposite to the trunk. Nor do they say which of two bodies that move as one, as
hand and forearm with a stiff wrist, a joint belongs to: it goes to the nearer.
"""

from dataclasses import dataclass

import numpy as np

from osteon.articulation.centre import Link, PairFits
from osteon.articulation.hierarchy import fit_looseness, side_of, steps_between
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Attachment, Bodies, Loop

LOOSER_RATIO = 2.0
"""Ratio of the mean square that a loop joint may leave to what its bodies' noise explains.
Chosen."""
SMALLEST_RESIDUAL = 0.001
"""Metres that are always allowed. Chosen."""
KNOWN_DEVIATION = 0.02
"""Metres: a loop joint must be known this well in its worst direction, one standard deviation.
Chosen."""
LEAST_DISTANCE = 0.03
"""Metres: a loop joint lies at least this far from every joint between its bodies. Chosen."""
AS_GOOD_RATIO = 2.2
"""Ratio to the loop's rms within which a joint between two bodies will do as well. Chosen."""
LEAST_TURN = np.radians(4.0)
"""Radians: a loop joint turns at least this much (rms) about every axis. Chosen."""
FARTHEST_REACH = 0.35
"""Metres: farthest that a loop joint lies from its bodies' origins. Chosen: a limb's length."""


SHORTEST_RING = 3
"""Count of joints between two bodies that a loop closes, at least. Derived: a ring of three bodies
does not move; skin makes one where a joint's own body is in doubt."""
SHORTEST_CUT = 4
"""Count of such joints from which a ring is cut elsewhere than motion says. Chosen: collar bones
and chest nearly share points under skin, and an arm would change sides; whoever holds hands, a
stick or a knee has five bodies in the ring."""


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A candidate: two bodies, the frames, the shared point."""

    pair: tuple[int, int]
    frames: tuple[int, int]
    centres: Array
    rms: float


def find_loops(
    bodies: Bodies, fits: PairFits, tree: list[Link], noise: Array, skip: set[frozenset[int]]
) -> list[Closure]:
    """Loop joints of the whole take; ``noise`` (n_bodies,) mean square of each body."""
    found = []
    for row in np.flatnonzero(holds(fits, noise)).tolist():
        rms = float(np.sqrt(fits.mean_square[row]))
        closure = Closure(fits.pair(row), (0, bodies.n_frames - 1), fits.centres[row], rms)
        if frozenset(closure.pair) in skip or 0 < len(path(tree, *closure.pair)) < SHORTEST_RING:
            continue
        if not repeats(bodies, tree, closure):
            found.append(closure)
    return distinct(bodies, tree, found)


def distinct(bodies: Bodies, tree: list[Link], closures: list[Closure]) -> list[Closure]:
    """One closure per point and time: hands held with stiff wrists also join the forearms.

    The two bodies that are most joints apart keep it, for a chain is held by its ends; then the
    two nearest to the point.
    """

    def rank(closure: Closure) -> tuple[int, float]:
        arms = np.linalg.norm(closure.centres.reshape(2, 3), axis=-1)
        return -len(path(tree, *closure.pair)), float(arms.sum())

    kept: list[Closure] = []
    for closure in sorted(closures, key=rank):
        if not any(same_point(bodies, closure, other) for other in kept):
            kept.append(closure)
    return kept


def same_point(bodies: Bodies, one: Closure, other: Closure) -> bool:
    start = max(one.frames[0], other.frames[0])
    stop = min(one.frames[1], other.frames[1]) + 1
    if stop - start < 0.5 * (one.frames[1] - one.frames[0]):
        return False
    here = in_world(bodies, one.pair[0], one.centres[:3])[start:stop]
    there = in_world(bodies, other.pair[0], other.centres[:3])[start:stop]
    return bool(np.nanmedian(np.linalg.norm(here - there, axis=-1)) < LEAST_DISTANCE)


def shared(fits: PairFits, noise: Array) -> np.ndarray:
    """(n_pairs,) whether some point is shared, be it for want of motion."""
    allowed = LOOSER_RATIO * (noise[fits.first] + noise[fits.second]) + SMALLEST_RESIDUAL**2
    return fits.mean_square < allowed


def holds(fits: PairFits, noise: Array, least_turn: float = LEAST_TURN) -> np.ndarray:
    """(n_pairs,) whether a point is shared, and the motion is rich enough to say so."""
    known = np.sqrt(np.linalg.eigvalsh(fits.covariance[:, 3:, 3:])[:, -1])
    rich = (
        (known < KNOWN_DEVIATION)
        & (fits.motion[:, 0] > least_turn**2 / 2.0)
        & ~fits.silent.any(axis=1)
    )
    near = np.linalg.norm(fits.centres.reshape(-1, 2, 3), axis=-1).max(axis=1) < FARTHEST_REACH
    return shared(fits, noise) & rich & near


def repeats(bodies: Bodies, tree: list[Link], closure: Closure) -> bool:
    """Whether the shared point is, or might as well be, a joint on the way between the bodies."""
    part = slice(closure.frames[0], closure.frames[1] + 1)
    here = in_world(bodies, closure.pair[0], closure.centres[:3])[part]
    for link in path(tree, *closure.pair):
        there = in_world(bodies, link.first, link.centres[:3])[part]
        if np.nanmedian(np.linalg.norm(here - there, axis=-1)) < LEAST_DISTANCE:
            return True
        if (
            max(_wander(bodies, body, there, part) for body in closure.pair)
            < AS_GOOD_RATIO * closure.rms
        ):
            return True
    return False


def _wander(bodies: Bodies, body: int, places: Array, part: slice) -> float:
    """How much places (n_frames, 3) move about in a body's frame, rms, metres."""
    away = places - bodies.positions[part, body]
    seen = quat.rotate(quat.inverse(bodies.rotations[part, body]), away)
    return float(np.sqrt(np.sum(np.nanvar(seen, axis=0))))


def in_world(bodies: Bodies, body: int, point: Array) -> Array:
    """(n_frames, 3) where a body carries a point."""
    return quat.rotate(bodies.rotations[:, body], point) + bodies.positions[:, body]


def path(tree: list[Link], start: int, end: int) -> list[Link]:
    """The joints between two bodies along the tree."""
    queue: list[tuple[int, list[Link]]] = [(start, [])]
    while queue:
        body, way = queue.pop()
        if body == end:
            return way
        for link in tree:
            if body in (link.first, link.second) and link not in way:
                queue.append((link.second if body == link.first else link.first, [*way, link]))
    return []


def as_loop(bodies: Bodies, closure: Closure) -> Loop:
    i, j = closure.pair
    names = (bodies.names[i], bodies.names[j])
    frames = None if closure.frames == (0, bodies.n_frames - 1) else closure.frames
    return Loop(names, closure.centres[:3], closure.centres[3:], closure.rms, frames)


def as_attachment(bodies: Bodies, closure: Closure) -> Attachment:
    i, j = closure.pair
    first, second = closure.centres[:3].tolist(), closure.centres[3:].tolist()
    return Attachment(
        (bodies.names[i], bodies.names[j]), closure.frames, tuple(first), tuple(second), closure.rms
    )


TIE_MARGIN = 0.15
"""Ratio, its logarithm: margin below which the distance of joints from their sensors may decide.
Chosen."""


def cut_rings(
    bodies: Bodies, fits: PairFits, products: Array, edges: tuple[int, ...], noise: Array
) -> list[int]:
    """The tree's edges with each ring cut opposite to the trunk.

    Parameters
    ----------
    products : (n_pairs, n_pairs)
        Mean products of all residuals, square metres.
    noise : (n_bodies,)
        Mean square that each body adds to its joints, square metres.
    """
    chosen, rich = list(edges), holds(fits, noise)
    while True:
        cuts = []
        for edge in [edge for edge in chosen if rich[edge]]:
            instead = _way_round(bodies, fits, products, chosen, edge, noise)
            swapped = [instead if other == edge else other for other in chosen]
            if instead != edge:
                cuts.append((_width(fits, swapped), instead, swapped))
        width, instead, swapped = min(cuts, default=(np.inf, -1, chosen))
        # bodies that move as one are never parted; of two equal cuts the richer joint is the
        # loop, for the other could not be told
        whole = _width(fits, chosen)
        must = instead >= 0 and bool(fits.silent[instead].all())
        if not (must or width < whole or (width == whole and not rich[instead])):
            return chosen
        chosen = swapped


def _way_round(
    bodies: Bodies, fits: PairFits, products: Array, edges: list[int], edge: int, noise: Array
) -> int:
    """The joint that would hold the tree together without ``edge``; ``edge`` if there is none.

    ``edge`` turns about all axes. Two bodies on either side of it can share another point only if
    something else holds them, be it a hinge or no motion at all.
    """
    others = [other for other in edges if other != edge]
    side = side_of(fits.first, fits.second, others, bodies.n_bodies, int(fits.first[edge]))
    across = shared(fits, noise) & (side[fits.first] != side[fits.second])
    across[edge] = False
    tree = [fits.link(row) for row in edges]
    found = [int(row) for row in np.flatnonzero(across) if _differs(bodies, fits, tree, int(row))]
    return min(
        found,
        key=lambda row: fit_looseness(products, fits, [*others, row], bodies.n_bodies).deviance,
        default=edge,
    )


def _differs(bodies: Bodies, fits: PairFits, tree: list[Link], row: int) -> bool:
    """Whether a pair's shared point is another than the joints between its bodies.

    Bodies that never move against each other share every point; none of them is a joint's.
    """
    if fits.silent[row].all():
        return True
    if len(path(tree, *fits.pair(row))) < SHORTEST_CUT:
        return False
    closure = Closure(fits.pair(row), (0, bodies.n_frames - 1), fits.centres[row], 0.0)
    return not repeats(bodies, tree, closure)


def tell_twins_apart(
    fits: PairFits, products: Array, edges: tuple[int, ...], closing: list[int]
) -> list[int]:
    """The tree's edges with bodies that move as one in the order that brings joints near them.

    ``closing`` are the joints beyond the tree: clasped hands tell a hand from its forearm.
    """
    n_bodies = len(edges) + 1
    arms = np.linalg.norm(fits.centres.reshape(-1, 2, 3), axis=-1).sum(axis=1)
    chosen, loops = list(edges), list(closing)
    own = fit_looseness(products, fits, chosen, n_bodies).deviance
    for edge in [edge for edge in edges if fits.silent[edge].all()]:
        swapped, closed = (_exchanged(fits, rows, edge) for rows in (chosen, loops))
        if arms[swapped + closed].sum() >= arms[chosen + loops].sum():
            continue
        deviance = fit_looseness(products, fits, swapped, n_bodies).deviance
        if deviance - own < TIE_MARGIN:
            chosen, loops, own = swapped, closed, deviance
    return chosen


def _exchanged(fits: PairFits, rows: list[int], edge: int) -> list[int]:
    """The same joints with the two bodies of ``edge`` in each other's place."""
    one, other = fits.pair(edge)
    role, row_of = {one: other, other: one}, fits.row_of()
    return [row_of[frozenset(role.get(body, body) for body in fits.pair(row))] for row in rows]


def _width(fits: PairFits, edges: list[int]) -> float:
    """Number of joints between two bodies, over all pairs."""
    return float(steps_between(fits.first, fits.second, edges, len(edges) + 1).sum())
