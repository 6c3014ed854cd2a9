"""Who is joined to whom: the tree that makes all residuals, taken together, likeliest.

A loose sensor spoils all its joints at once, and two thighs that swing in one plane fit each other
nearly as well as the hips do; the sum of residuals then prefers the wrong tree (paper 000, §5).
What counts is the residual that the others do not explain. The search goes by the log-determinant
of the Gram matrix of all residuals of the tree: a loose pelvis moves its three joints together,
and together they count once. Where edges are close, the looseness of every sensor is fitted, which
two numbers per body describe, and the likelihood decides. METHODS §2.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ossature.joints.centre import PairFits
from ossature.joints.looseness import FINEST, fit_looseness, is_free
from ossature.joints.statistics import JointStatistics
from ossature.values.arrays import Array

CONTESTED = 1.5
"""Margin in ln det below which the likelihood is asked."""
RIVALS = 3
"""How many rivals of an edge are put to it."""
CLEAR = 0.25
"""Margin from which an edge counts as certain; beside an edge in doubt it must be twice that."""


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A spanning tree over bodies."""

    edges: tuple[int, ...]
    """Rows of the ``PairFits`` that are joints."""
    margins: Array
    """(n_edges,) by how much the deviance grows when the best rival takes the edge's place:
    0 = a tie, 0.7 = the rival leaves twice the unexplained square."""
    bare: Array
    """(n_edges,) by how much ln det grows, which knows nothing of loose sensors."""
    rivals: tuple[int, ...]
    """The best rival's row for each edge, −1 where there is none."""


def residual_products(statistics: JointStatistics, fits: PairFits) -> Array:
    """(n_pairs, n_pairs) mean product of every two joints' residuals, from the statistic.

    A residual is linear in the poses, so its products are quadratic in the Gram matrix. This holds
    where every body is seen in every counted frame.
    """
    n_pairs, m = len(fits.first), len(statistics.names)
    rows = np.arange(n_pairs)
    selector = np.zeros((n_pairs, m, 4))
    selector[rows, fits.first, :3] = fits.centres[:, :3]
    selector[rows, fits.first, 3] = 1.0
    selector[rows, fits.second, :3] = -fits.centres[:, 3:]
    selector[rows, fits.second, 3] = -1.0
    selector = selector.reshape(n_pairs, 4 * m)
    return selector @ statistics.gram @ selector.T / statistics.count.max()


def best_tree(products: Array, fits: PairFits, n_bodies: int) -> Tree:
    """The likeliest spanning tree, found by exchanging single edges."""
    edges = minimum_spanning_tree(np.diagonal(products), fits.first, fits.second, n_bodies)
    _reach_smallest_determinant(products, fits, edges, n_bodies)
    while True:
        tree = judged(products, fits, edges, n_bodies)
        weakest = int(np.argmin(tree.margins))
        if tree.margins[weakest] >= -1e-9:
            return tree
        edges[weakest] = tree.rivals[weakest]


def _reach_smallest_determinant(
    products: Array, fits: PairFits, edges: list[int], n_bodies: int
) -> None:
    """Exchange edges, in place, as long as that lowers ln det."""
    while True:
        exchanges = [
            _exchanges(products, fits, edges, place, n_bodies) for place in range(len(edges))
        ]
        gains = [gain[0] if len(gain) else np.inf for _, gain in exchanges]
        weakest = int(np.argmin(gains))
        if gains[weakest] >= -1e-9:
            return
        edges[weakest] = int(exchanges[weakest][0][0])


def judged(
    products: Array,
    fits: PairFits,
    edges: list[int],
    n_bodies: int,
    without: Collection[int] = (),
) -> Tree:
    """The tree of these edges with each edge's best rival; rows in ``without`` are none."""
    own = fit_looseness(products, fits, edges, n_bodies).deviance
    margins, bare = np.full((2, len(edges)), np.inf)
    rivals = [-1] * len(edges)
    for place in range(len(edges)):
        rows, gains = _exchanges(products, fits, edges, place, n_bodies, without)
        bare[place] = min(gains, default=np.inf)
        for row, gain in zip(rows[:RIVALS], gains[:RIVALS], strict=True):
            if gain < CONTESTED:
                changed = [*edges[:place], int(row), *edges[place + 1 :]]
                gain = fit_looseness(products, fits, changed, n_bodies).deviance - own
            if gain < margins[place]:
                margins[place], rivals[place] = gain, int(row)
    return Tree(tuple(edges), margins, bare, tuple(rivals))


def minimum_spanning_tree(
    weights: Array, first: np.ndarray, second: np.ndarray, n_bodies: int
) -> list[int]:
    """Rows of the pairs that join all bodies at the smallest sum of weights (Kruskal)."""
    group = np.arange(n_bodies)
    edges = []
    for row in np.argsort(weights, kind="stable"):
        a, b = group[first[row]], group[second[row]]
        if a != b:
            group[group == b] = a
            edges.append(int(row))
    return edges


def in_doubt(tree: Tree, fits: PairFits) -> np.ndarray:
    """(n_edges,) whether the motion leaves an edge open; one that is no joint is not in question.

    An edge is certain when it wins with and without the model of loose sensors. A margin
    presupposes all other edges: next to one that is open, or to its rival, it is worth less.
    """
    edges = np.array(tree.edges)
    margins = np.minimum(tree.margins, tree.bare)
    joint = np.array([not is_free(float(fits.mean_square[edge])) for edge in edges])
    open_edges = (margins < CLEAR) & (np.array(tree.rivals) >= 0) & joint
    rows = np.concatenate([edges[open_edges], np.array(tree.rivals)[open_edges]])
    touched = np.concatenate([fits.first[rows], fits.second[rows]])
    beside = np.isin(fits.first[edges], touched) | np.isin(fits.second[edges], touched)
    return open_edges | (beside & joint & (margins < 2.0 * CLEAR))


def _exchanges(
    products: Array,
    fits: PairFits,
    edges: list[int],
    place: int,
    n_bodies: int,
    without: Collection[int] = (),
) -> tuple[np.ndarray, Array]:
    """Rows that could take an edge's place, and how much ln det then grows; best first."""
    edge, others = edges[place], edges[:place] + edges[place + 1 :]
    side = side_of(fits.first, fits.second, others, n_bodies, int(fits.first[edge]))
    crossing = np.flatnonzero(side[fits.first] != side[fits.second])
    score = np.log(unexplained(products, crossing, others))
    gains = score - score[crossing == edge]
    rivals = ~np.isin(crossing, [edge, *without])
    order = np.argsort(gains[rivals], kind="stable")
    return crossing[rivals][order], gains[rivals][order]


def unexplained(products: Array, rows: np.ndarray, given: list[int]) -> Array:
    """Mean square of each row's residual that no combination of the ``given`` ones explains.

    What goes its own ways explains nothing: whoever hung on it would be excused.
    """
    square = np.diagonal(products)[rows].copy()
    given = [edge for edge in given if not is_free(products[edge, edge])]
    if not given:
        return square
    shared = products[given][:, rows]
    block = products[given][:, given]
    explained = np.sum(shared * np.linalg.solve(block, shared), axis=0)
    return np.maximum(square - explained, 1e-3 * FINEST**2)


def side_of(
    first: np.ndarray, second: np.ndarray, edges: list[int], n_bodies: int, start: int
) -> np.ndarray:
    """(n_bodies,) whether a body hangs together with ``start`` through ``edges``."""
    side = np.zeros(n_bodies, dtype=bool)
    side[start] = True
    for _ in edges:
        for edge in edges:
            if side[first[edge]] or side[second[edge]]:
                side[first[edge]] = side[second[edge]] = True
    return side


def parents_from(
    first: np.ndarray, second: np.ndarray, edges: tuple[int, ...], root: int
) -> list[tuple[int, int, int]]:
    """The tree from its root outwards: (parent, child, edge), parents before children."""
    found, queue = [], [root]
    left = set(edges)
    while queue:
        body = queue.pop(0)
        for edge in sorted(left):
            ends = (int(first[edge]), int(second[edge]))
            if body in ends:
                child = ends[1] if ends[0] == body else ends[0]
                found.append((body, child, edge))
                queue.append(child)
                left.discard(edge)
    return found


def steps_between(
    first: np.ndarray, second: np.ndarray, edges: Sequence[int], n_bodies: int
) -> Array:
    """(n_bodies, n_bodies) number of joints between every two bodies."""
    steps = np.full((n_bodies, n_bodies), np.inf)
    np.fill_diagonal(steps, 0.0)
    for edge in edges:
        i, j = first[edge], second[edge]
        steps[i, j] = steps[j, i] = 1.0
    for via in range(n_bodies):
        steps = np.minimum(steps, steps[:, via : via + 1] + steps[via : via + 1])
    return steps


def central_body(
    first: np.ndarray, second: np.ndarray, edges: tuple[int, ...], n_bodies: int, travel: Array
) -> int:
    """The root: fewest steps to the farthest body, then most joints, then least turning.

    ``travel`` (n_bodies,) is how much each body turns; trunks turn less than limbs.
    """
    steps = steps_between(first, second, edges, n_bodies)
    degree = (steps == 1.0).sum(axis=1)
    order = np.lexsort((travel, -degree, steps.max(axis=1)))
    return int(order[0])
