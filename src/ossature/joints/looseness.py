"""How loosely every sensor sits on its body, and how likely a tree is when it does.

A loose sensor shifts and turns a little on its body, and moves all of its joints at once: a shift
alike, a turn the more the farther the joint lies. Two numbers per body thus foretell the mean
products of all residuals of a tree. They are fitted by maximum likelihood; the likelihood that
remains compares trees, and each gives the same data, so nothing but the trees is compared.
METHODS §2.

Where a tree must join bodies that share no joint, as two people or a thing that lies about, what
they do is no looseness of anyone's: such an edge stands for itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from ossature.joints.centre import PairFits
from ossature.values.arrays import Array

FINEST = 1e-4
"""Metres: residuals below this do not compete."""
FREE = 0.05
"""Metres: two bodies that miss each other by more than this share no joint."""
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
    squares = np.diagonal(products)
    free = [edge for edge in edges if is_free(squares[edge])]
    alone = float(np.sum(np.log(squares[free]) + 1.0))
    edges = [edge for edge in edges if not is_free(squares[edge])]
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
