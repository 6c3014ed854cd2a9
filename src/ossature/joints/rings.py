"""Rings of joints: which of them is the loop, and which belong to the tree.

Clasped hands close a ring of arms, and its residuals do not say where it begins: any of its joints
may be the one that the tree leaves out. It is cut where that leaves the bodies fewest joints apart,
which is the side opposite to the trunk.
"""

import numpy as np

from ossature.joints.centre import PairFits
from ossature.joints.hierarchy import side_of, steps_between
from ossature.joints.loops import Closure, holds, repeats, shared
from ossature.joints.slips import Link
from ossature.values import Bodies
from ossature.values.arrays import Array


def cut_rings(bodies: Bodies, fits: PairFits, edges: tuple[int, ...], noise: Array) -> list[int]:
    """The tree's edges with each ring cut opposite to the trunk.

    Parameters
    ----------
    noise : (n_bodies,)
        Mean square that each body adds to its joints, square metres.
    """
    chosen = list(edges)
    for edge in np.flatnonzero(holds(fits, noise)):
        if edge in chosen:
            instead = _way_round(bodies, fits, chosen, int(edge), noise)
            swapped = [instead if other == edge else other for other in chosen]
            if _width(fits, swapped) < _width(fits, chosen):
                chosen = swapped
    return chosen


def _way_round(bodies: Bodies, fits: PairFits, edges: list[int], edge: int, noise: Array) -> int:
    """The joint that would hold the tree together without ``edge``; ``edge`` if there is none.

    ``edge`` turns about all axes. Two bodies on either side of it can share another point only if
    something else holds them, be it a hinge or no motion at all.
    """
    others = [other for other in edges if other != edge]
    side = side_of(fits.first, fits.second, others, bodies.n_bodies, int(fits.first[edge]))
    across = shared(fits, noise) & (side[fits.first] != side[fits.second])
    across[edge] = False
    tree = [Link(int(fits.first[k]), int(fits.second[k]), fits.centres[k]) for k in edges]
    arms = np.linalg.norm(fits.centres.reshape(-1, 2, 3), axis=-1).sum(axis=1)
    for row in sorted(np.flatnonzero(across), key=lambda row: arms[row]):
        pair = (int(fits.first[row]), int(fits.second[row]))
        closure = Closure(pair, (0, bodies.n_frames - 1), fits.centres[row], 0.0)
        if not repeats(bodies, tree, closure):
            return int(row)
    return edge


def _width(fits: PairFits, edges: list[int]) -> float:
    """Number of joints between two bodies, over all pairs."""
    return float(steps_between(fits.first, fits.second, edges, len(edges) + 1).sum())
