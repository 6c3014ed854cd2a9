"""Who is joined to whom: the tree whose residuals, taken together, are smallest.

A loose sensor spoils all its joints at once, and two thighs that swing in one plane fit each other
nearly as well as the hips do; the sum of residuals then prefers the wrong tree (paper 000, §5).
What counts is the residual that the others do not explain: the log-determinant of the Gram matrix
of all residuals of the tree. A loose pelvis moves its three joints together, and together they
count once. Noise per body is thereby part of the model and need not be guessed. METHODS §2.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from ossature.joints.centre import PairFits
from ossature.joints.statistics import JointStatistics
from ossature.values.arrays import Array

FINEST = 1e-4
"""Metres: residuals below this do not compete."""
CLEAR = 0.4
"""Margin (see ``Tree``) from which an edge counts as certain."""


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A spanning tree over bodies."""

    edges: tuple[int, ...]
    """Rows of the ``PairFits`` that are joints."""
    margins: Array
    """(n_edges,) by how much ln det grows when the best rival takes the edge's place: 0 = a tie,
    0.7 = the rival leaves twice the unexplained square."""
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


def best_tree(products: Array, first: np.ndarray, second: np.ndarray, n_bodies: int) -> Tree:
    """The spanning tree with the smallest ln det of its residuals' products."""
    products = products + FINEST**2 * np.eye(len(first))
    edges = minimum_spanning_tree(np.diagonal(products), first, second, n_bodies)
    while True:
        gains, rivals = _exchanges(products, first, second, edges, n_bodies)
        weakest = int(np.argmin(gains))
        if gains[weakest] >= -1e-9:
            return Tree(tuple(edges), gains, tuple(rivals))
        edges[weakest] = rivals[weakest]


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


def _exchanges(
    products: Array, first: np.ndarray, second: np.ndarray, edges: list[int], n_bodies: int
) -> tuple[Array, list[int]]:
    """For each edge the change of ln det when its best rival replaces it, and that rival."""
    gains, rivals = np.full(len(edges), np.inf), [-1] * len(edges)
    for place, edge in enumerate(edges):
        others = [other for other in edges if other != edge]
        side = _side(first, second, others, n_bodies, int(first[edge]))
        crossing = np.flatnonzero(side[first] != side[second])
        score = np.log(unexplained(products, crossing, others))
        own = score[crossing == edge][0]
        score[crossing == edge] = np.inf
        best = int(np.argmin(score))
        if np.isfinite(score[best]):
            gains[place], rivals[place] = score[best] - own, int(crossing[best])
    return gains, rivals


def unexplained(products: Array, rows: np.ndarray, given: list[int]) -> Array:
    """Mean square of each row's residual that no combination of the ``given`` ones explains."""
    square = np.diagonal(products)[rows].copy()
    if not given:
        return square
    shared = products[given][:, rows]
    block = products[given][:, given]
    explained = np.sum(shared * np.linalg.solve(block, shared), axis=0)
    return np.maximum(square - explained, FINEST**2 * 1e-3)


def _side(
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


def body_noise(
    products: Array, first: np.ndarray, second: np.ndarray, edges: tuple[int, ...], n_bodies: int
) -> Array:
    """(n_bodies,) mean square that each body adds to its joints, square metres.

    r²_ij = s_i + s_j, and two joints of one body share s_i: least squares with s ≥ 0.
    """
    rows, values = [], []
    for place, edge in enumerate(edges):
        for other in edges[place:]:
            shared = np.zeros(n_bodies)
            for body in (first[edge], second[edge]):
                if body in (first[other], second[other]):
                    same_end = (body == first[edge]) == (body == first[other])
                    shared[body] = 1.0 if same_end else -1.0
            if shared.any():
                sign = 1.0 if shared.sum() > 0 else -1.0
                rows.append(np.abs(shared))
                values.append(sign * products[edge, other])
    return nnls(np.array(rows), np.array(values))[0]


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


def central_body(
    first: np.ndarray, second: np.ndarray, edges: tuple[int, ...], n_bodies: int, travel: Array
) -> int:
    """The root: fewest steps to the farthest body, then most joints, then least turning.

    ``travel`` (n_bodies,) is how much each body turns; trunks turn less than limbs.
    """
    steps = np.full((n_bodies, n_bodies), np.inf)
    np.fill_diagonal(steps, 0.0)
    degree = np.zeros(n_bodies)
    for edge in edges:
        i, j = first[edge], second[edge]
        steps[i, j] = steps[j, i] = 1.0
        degree[[i, j]] += 1
    for via in range(n_bodies):
        steps = np.minimum(steps, steps[:, via : via + 1] + steps[via : via + 1])
    order = np.lexsort((travel, -degree, steps.max(axis=1)))
    return int(order[0])
