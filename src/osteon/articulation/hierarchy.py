"""Who is joined to whom: the tree that makes all residuals, taken together, likeliest.

A loose sensor spoils all its joints at once, and two thighs that swing in one plane fit each other
nearly as well as the hips do; the sum of residuals then prefers the wrong tree ([000] §5).
What counts is the residual that the others do not explain. The search goes by the log-determinant
of the Gram matrix of all residuals of the tree: a loose pelvis moves its three joints together,
and together they count once. Where edges are close, the looseness of every sensor is fitted, which
two numbers per body describe, and the likelihood decides. docs/methods.md §2.

How loosely every sensor sits on its body, and how likely a tree is when it does.

A loose sensor shifts and turns a little on its body, and moves all of its joints at once: a shift
alike, a turn the more the farther the joint lies. Two numbers per body thus foretell the mean
products of all residuals of a tree. They are fitted by maximum likelihood; the likelihood that
remains compares trees, and each gives the same data, so nothing but the trees is compared.
docs/methods.md §2.

Where a tree must join bodies that share no joint, as two people or a thing that lies about, what
they do is no looseness of anyone's: such an edge stands for itself.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from osteon.articulation.centre import PairFits
from osteon.articulation.statistics import JointStatistics
from osteon.typing import Array

FINEST = 1e-4
"""Metres: residuals below this do not compete."""
FREE = 0.08
"""Metres: two bodies that miss each other by more than this share no joint. Simulated: under a
median person's skin 99 % of true joints stay below 66 mm, of 16 takes the most 71; who shares no
joint, partners hand in hand among them, misses by 101 mm at least."""
LOOSEST = 0.05
"""Metres: what misses by more is nobody's looseness and excuses nobody. Chosen: knees under much
skin, which would else excuse hips that hang on the other thigh."""
ROUNDS = 5
"""Rounds of weighted least squares; three change the last digits only."""


@dataclass(frozen=True, slots=True, eq=False)
class Looseness:
    """The sensors of one tree."""

    shift: Array
    """(n_bodies,) mean square of a sensor's shifts per axis, square metres."""
    turn: Array
    """(n_bodies,) mean square of its turns per axis, square radians."""
    edges: tuple[int, ...]
    """The tree's edges that are joints."""
    products: Array
    """(n_edges, n_edges) mean products of their residuals that these foretell, square metres."""
    deviance: float
    """−2 ln likelihood per frame and coordinate; smaller is better, and 0.7 is a factor of two in
    the mean square of one joint."""


def fit_looseness(
    products: Array, fits: PairFits, edges: Sequence[int], n_bodies: int
) -> Looseness:
    """Looseness of each sensor from the mean products (n_pairs, n_pairs) of all residuals."""
    from scipy.optimize import nnls  # slow to load, rarely asked for

    squares = np.diagonal(products)
    wild = [edge for edge in edges if squares[edge] > LOOSEST**2]
    alone = float(np.sum(np.log(squares[wild]) + 1.0))
    edges = [edge for edge in edges if edge not in wild]
    if not edges:
        return Looseness(np.zeros(n_bodies), np.zeros(n_bodies), (), np.zeros((0, 0)), alone)
    seen = products[np.ix_(edges, edges)]
    floor = FINEST**2 * np.eye(len(edges))
    shapes = _shapes(fits, edges, n_bodies)
    foretold = np.diag(np.diagonal(seen)) + floor
    size = np.zeros(len(shapes))
    for _ in range(ROUNDS):
        whiten = np.linalg.inv(np.linalg.cholesky(foretold))
        columns = (whiten @ shapes @ whiten.T).reshape(len(shapes), -1).T
        scale = np.linalg.norm(columns, axis=0) + 1e-300
        target = (whiten @ (seen - floor) @ whiten.T).reshape(-1)
        size = nnls(columns / scale, target)[0] / scale
        foretold = np.einsum("b,bij->ij", size, shapes) + floor
    misfit = float(np.trace(np.linalg.solve(foretold, seen)))
    deviance = float(np.linalg.slogdet(foretold)[1]) + misfit + alone
    return Looseness(size[:n_bodies], size[n_bodies:], tuple(edges), foretold, deviance)


def is_free(mean_square: float) -> bool:
    """Whether two bodies that miss each other by so much, square metres, share no joint."""
    return mean_square > FREE**2


def _shapes(fits: PairFits, edges: Sequence[int], n_bodies: int) -> Array:
    """(2 n_bodies, n_edges, n_edges) products that a unit of each shift, then turn, gives."""
    edges = list(edges)
    ends = np.zeros((n_bodies, len(edges), 1))
    places = np.zeros((n_bodies, len(edges), 3))
    column = np.arange(len(edges))
    for body, side, point in (
        (fits.first[edges], 1.0, fits.centres[edges, :3]),
        (fits.second[edges], -1.0, fits.centres[edges, 3:]),
    ):
        ends[body, column] = side
        places[body, column] = side * point
    shifts = 3.0 * ends @ ends.transpose(0, 2, 1)
    return np.concatenate([shifts, 2.0 * places @ places.transpose(0, 2, 1)])


def spread_of_bodies(looseness: Looseness, fits: PairFits, n_bodies: int) -> Array:
    """(n_bodies,) mean square that each sensor adds to its joints, on average; square metres.

    Which of two sensors is to blame, one joint alone does not say; nobody is granted less than
    half of its tightest joint. A body without a joint is taken for as loose as the others.
    """
    own = np.diagonal(_shapes(fits, looseness.edges, n_bodies), axis1=1, axis2=2)
    shifted, turned = own[:n_bodies], own[n_bodies:]
    added = looseness.shift[:, None] * shifted + looseness.turn[:, None] * turned
    joined = (shifted > 0).any(axis=1)
    if not joined.any():
        return np.zeros(n_bodies)
    tightest = np.where(shifted > 0, np.diagonal(looseness.products), np.inf).min(axis=1)
    mean = added.sum(axis=1) / np.maximum((shifted > 0).sum(axis=1), 1)
    spread = np.maximum(mean, 0.5 * tightest)
    return np.where(joined, spread, np.median(spread[joined]))


CONTESTED = 1.5
"""Margin in ln det below which the likelihood is asked."""
RIVALS = 3
"""How many rivals of an edge are put to it."""
CLEAR = 0.25
"""Margin from which an edge counts as certain; beside an edge in doubt it must be twice that."""


@dataclass(frozen=True, slots=True, eq=False)
class BodyTree:
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


def best_tree(products: Array, fits: PairFits, n_bodies: int) -> BodyTree:
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
) -> BodyTree:
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
    return BodyTree(tuple(edges), margins, bare, tuple(rivals))


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


def in_doubt(tree: BodyTree, fits: PairFits) -> np.ndarray:
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
    given = [edge for edge in given if products[edge, edge] <= LOOSEST**2]
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
    first: np.ndarray, second: np.ndarray, edges: Sequence[int], root: int
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
    first: np.ndarray,
    second: np.ndarray,
    edges: Sequence[int],
    group: Sequence[int],
    travel: Array,
) -> int:
    """The root of a group of bodies that hang together: fewest steps to the farthest body, then
    most joints, then least turning.

    ``travel`` (n_bodies,) is how much each body turns; trunks turn less than limbs.
    """
    steps = steps_between(first, second, edges, len(travel))[np.ix_(group, group)]
    degree = (steps == 1.0).sum(axis=1)
    order = np.lexsort((travel[group], -degree, steps.max(axis=1)))
    return int(group[order[0]])
