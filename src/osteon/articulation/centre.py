"""The joint of two bodies: the pair of points that stay together, for all pairs at once.

``R_i c + t_i = R_j l + t_j`` in every frame, in the least-squares sense: a 6×6 problem for every
pair, taken from the statistic. Eq. (8)–(13) of [000], docs/methods.md §1.

How far a joint's two ideas of itself lie apart, frame by frame.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.articulation.body_source import PoseNoise
from osteon.articulation.statistics import JointStatistics
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Bodies

PRIOR = 0.3
"""Metres: how far a joint lies from the bodies' origins where the motion does not say."""
ROUNDING = 1e-11
"""Share of the largest eigenvalue that arithmetic alone can leave in a silent direction."""


@dataclass(frozen=True, slots=True, eq=False)
class PairFits:
    """Joint fits of many pairs; ``first`` is c's body, ``second`` is l's."""

    first: np.ndarray
    """(n_pairs,) index of the body that carries ``c``."""
    second: np.ndarray
    """(n_pairs,) index of the body that carries ``l``."""
    centres: Array
    """(n_pairs, 6) the joint in both frames, [c, l]; metres."""
    mean_square: Array
    """(n_pairs,) mean of the squared residual, square metres; NaN where never seen together."""
    covariance: Array
    """(n_pairs, 6, 6) of ``centres``, square metres; the prior's where the motion is silent."""
    motion: Array
    """(n_pairs, 3) share of relative motion seen by the three joint directions, least first:
    0 for a direction that never turned, about θ²/2 for turns of size θ."""
    silent: np.ndarray
    """(n_pairs, 3) whether that share is no more than noise explains."""
    axes: Array
    """(n_pairs, 2, 3) the least turned direction in the first and second frame, unit."""

    def pair(self, row: int) -> tuple[int, int]:
        """The two bodies of a fit."""
        return int(self.first[row]), int(self.second[row])

    def row_of(self) -> dict[frozenset[int], int]:
        """The fit of two bodies, in whichever order."""
        return {frozenset(self.pair(row)): row for row in range(len(self.first))}

    def link(self, row: int) -> "Link":
        return Link(*self.pair(row), self.centres[row])

    def from_child(self, row: int, child: int) -> tuple[Array, Array, Array]:
        """Centres (6,), their covariance (6, 6) and axes (2, 3), the child's half first."""
        turn = np.arange(6) if self.first[row] == child else np.r_[3:6, 0:3]
        axes = self.axes[row] if self.first[row] == child else self.axes[row][::-1]
        return self.centres[row][turn], self.covariance[row][np.ix_(turn, turn)], axes


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A joint of a tree: two bodies and the point they share."""

    first: int
    second: int
    centres: Array
    """(6,) in both frames, metres."""


def fit_pairs(
    statistics: JointStatistics,
    noise: PoseNoise | None = None,
    pairs: Sequence[tuple[int, int]] | None = None,
    prior: float = PRIOR,
) -> PairFits:
    """Fit the joints of these pairs, by default of all.

    Parameters
    ----------
    noise
        White noise of the poses. Orientation noise draws a joint towards the common side of both
        sensors; where it is known its effect on the sums is known too, and taken out.
    prior
        Metres. Directions that the motion does not determine take the point closest to both
        bodies' origins, with this standard deviation.
    """
    m = len(statistics.names)
    if pairs is None:
        first, second = np.triu_indices(m, 1)
    else:
        first, second = np.array(pairs, dtype=int).reshape(-1, 2).T
    normal, side, square, count = normal_equations(statistics, first, second)
    if noise is not None:
        normal, side = _without_bias(normal, side, noise.shrinkage[first], noise.shrinkage[second])
    values, vectors = np.linalg.eigh(normal)
    floor = _noise_floor(noise, first, second, count) + ROUNDING * values[:, -1:]
    return _solve(first, second, normal, side, square, count, values, vectors, floor, prior)


def normal_equations(
    statistics: JointStatistics, first: np.ndarray, second: np.ndarray
) -> tuple[Array, Array, Array, Array]:
    """Matrix (n, 6, 6), right side (n, 6), Σ‖t_i − t_j‖² and number of frames of every pair."""
    m = len(statistics.names)
    cross = statistics.gram.reshape(m, 4, m, 4)[first, :, second]
    own_first, own_second = statistics.own[first, second], statistics.own[second, first]
    normal = np.zeros((len(first), 6, 6))
    normal[:, :3, :3] = own_first[:, :3, :3]
    normal[:, 3:, 3:] = own_second[:, :3, :3]
    normal[:, :3, 3:] = -cross[:, :3, :3]
    normal[:, 3:, :3] = -cross[:, :3, :3].transpose(0, 2, 1)
    side = np.zeros((len(first), 6))
    side[:, :3] = cross[:, :3, 3] - own_first[:, :3, 3]
    side[:, 3:] = cross[:, 3, :3] - own_second[:, :3, 3]
    square = own_first[:, 3, 3] + own_second[:, 3, 3] - 2.0 * cross[:, 3, 3]
    return normal, side, square, statistics.count[first, second]


def _without_bias(
    normal: Array, side: Array, shrink_first: Array, shrink_second: Array
) -> tuple[Array, Array]:
    """Sums over noisy rotations as sums over the true ones: R̃ has the mean R K, so undo K."""
    undo = np.zeros_like(normal)
    undo[:, :3, :3] = np.linalg.inv(shrink_first)
    undo[:, 3:, 3:] = np.linalg.inv(shrink_second)
    corrected = undo @ normal @ undo
    # a noisy rotation is still a rotation: its product with itself carries no bias
    corrected[:, :3, :3] = normal[:, :3, :3]
    corrected[:, 3:, 3:] = normal[:, 3:, 3:]
    return corrected, np.einsum("nij,nj->ni", undo, side)


def _noise_floor(
    noise: PoseNoise | None, first: np.ndarray, second: np.ndarray, count: Array
) -> Array:
    """(n, 1) eigenvalue that noise alone may leave after its mean has been taken out.

    Noise of relative angle σ turns a silent direction by σ² per frame; that mean is known to about
    a half of itself, and scatters by √n.
    """
    if noise is None:
        return np.zeros((len(first), 1))
    variance = np.trace(noise.rotation, axis1=-2, axis2=-1) / 3.0
    relative = variance[first] + variance[second]
    return (relative * (0.5 * count + 4.0 * np.sqrt(count)))[:, None]


def _solve(
    first: np.ndarray,
    second: np.ndarray,
    normal: Array,
    side: Array,
    square: Array,
    count: Array,
    values: Array,
    vectors: Array,
    floor: Array,
    prior: float,
) -> PairFits:
    silent = values < floor
    loads = np.einsum("nij,ni->nj", vectors, side)

    def solve(ridge: Array) -> Array:
        weights = np.where(silent, 0.0, 1.0 / np.where(silent, 1.0, values + ridge))
        return np.einsum("nij,nj->ni", vectors, weights * loads)

    def left_over(centres: Array) -> Array:
        bent = np.einsum("nij,nj->ni", normal, centres)
        return np.maximum(square + np.sum(centres * (bent - 2.0 * side), axis=-1), 0.0)

    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = np.maximum(3.0 * count - 6.0, 1.0)
        variance = left_over(solve(np.zeros((len(first), 1)))) / freedom
        ridge = variance[:, None] / prior**2
        centres = solve(ridge)
        mean_square = np.where(count > 0, left_over(centres) / count, np.nan)
        spread = np.where(
            silent, prior**2, variance[:, None] / np.where(silent, 1.0, values + ridge)
        )
        motion = np.clip(values[:, :3] / count[:, None], 0.0, None)
    covariance = np.einsum("nik,nk,njk->nij", vectors, spread, vectors)
    halves = vectors[:, :, 0].reshape(-1, 2, 3)
    axes = halves / np.maximum(np.linalg.norm(halves, axis=-1, keepdims=True), 1e-300)
    return PairFits(first, second, centres, mean_square, covariance, motion, silent[:, :3], axes)


MAX_FRAMES = 3000
"""Frames that are enough for products of residuals where bodies are missing here and there."""


def residual_vectors(bodies: Bodies, pair: tuple[int, int], centres: Array) -> Array:
    """(n_frames, 3) the first body's idea of the joint minus the second's; world, metres."""
    i, j = pair
    return (
        quat.rotate(bodies.rotations[:, i], centres[:3])
        + bodies.positions[:, i]
        - quat.rotate(bodies.rotations[:, j], centres[3:])
        - bodies.positions[:, j]
    )


def joint_distances(
    bodies: Bodies, child: str, parent: str, in_child: Array, in_parent: Array
) -> Array:
    """(n_frames,) how far the two bodies' ideas of their joint lie apart, metres."""
    pair, centres = (
        (bodies.index(child), bodies.index(parent)),
        np.concatenate([in_child, in_parent]),
    )
    return np.linalg.norm(residual_vectors(bodies, pair, centres), axis=-1)


def products_of_frames(bodies: Bodies, fits: PairFits) -> Array:
    """(n_pairs, n_pairs) mean products of residuals over the frames where both exist.

    For takes with missing bodies; ``hierarchy.residual_products`` needs no frames but all bodies.
    """
    step = -(-bodies.n_frames // MAX_FRAMES)
    q, p = bodies.rotations[::step], bodies.positions[::step]
    first, second = fits.first, fits.second
    vectors = (
        quat.rotate(q[:, first], fits.centres[:, :3])
        + p[:, first]
        - quat.rotate(q[:, second], fits.centres[:, 3:])
        - p[:, second]
    )
    seen = np.isfinite(vectors[..., 0]).astype(float)
    flat = np.where(np.isfinite(vectors), vectors, 0.0).transpose(0, 2, 1).reshape(-1, len(first))
    products = flat.T @ flat / np.maximum(seen.T @ seen, 1.0)
    return _made_consistent(products)


def _made_consistent(products: Array) -> Array:
    """The nearest matrix that products over one set of frames could have, same diagonal."""
    values, vectors = np.linalg.eigh(products)
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    scale = np.sqrt(np.diagonal(products) / np.maximum(np.diagonal(clipped), 1e-300))
    return clipped * scale[:, None] * scale
