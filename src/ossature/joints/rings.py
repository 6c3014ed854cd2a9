"""Rings of joints: which of them is the loop, and which belong to the tree.

Clasped hands close a ring of arms, and its residuals do not say where it begins: any of its joints
may be the one that the tree leaves out. It is cut where that leaves the bodies fewest joints apart,
which is the side opposite to the trunk. Nor do they say which of two bodies that move as one, as
hand and forearm with a stiff wrist, a joint belongs to: it goes to the nearer.
"""

import numpy as np

from ossature.joints.centre import PairFits
from ossature.joints.hierarchy import side_of, steps_between
from ossature.joints.loops import Closure, holds, repeats, shared
from ossature.joints.looseness import fit_looseness
from ossature.joints.slips import Link
from ossature.values import Bodies
from ossature.values.arrays import Array

TIE = 0.15
"""Margin below which the distance of joints from their sensors may decide."""


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
    tree = [Link(int(fits.first[k]), int(fits.second[k]), fits.centres[k]) for k in edges]
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
    pair = (int(fits.first[row]), int(fits.second[row]))
    closure = Closure(pair, (0, bodies.n_frames - 1), fits.centres[row], 0.0)
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
        if deviance - own < TIE:
            chosen, loops, own = swapped, closed, deviance
    return chosen


def _exchanged(fits: PairFits, rows: list[int], edge: int) -> list[int]:
    """The same joints with the two bodies of ``edge`` in each other's place."""
    one, other = int(fits.first[edge]), int(fits.second[edge])
    role = {one: other, other: one}
    row_of = {
        frozenset((int(i), int(j))): row
        for row, (i, j) in enumerate(zip(fits.first, fits.second, strict=True))
    }
    ends = [(int(fits.first[row]), int(fits.second[row])) for row in rows]
    return [row_of[frozenset((role.get(i, i), role.get(j, j)))] for i, j in ends]


def _width(fits: PairFits, edges: list[int]) -> float:
    """Number of joints between two bodies, over all pairs."""
    return float(steps_between(fits.first, fits.second, edges, len(edges) + 1).sum())
