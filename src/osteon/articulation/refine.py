"""One joint, to the last millimetre: the fit that lets both noisy poses give way.

The plain fit takes the measured rotations as true. Here every pose may move within its noise so
that the joint closes; eliminating the poses leaves ``Σ rᵀ V(c, l)⁻¹ r``, where ``V`` is the
covariance that pose noise gives the residual at the present joint. Only the ratio of turning to
shifting noise enters, and for a cluster of markers that is its shape: then this is the fit to the
markers themselves. docs/methods.md §1 and E1.3.
"""

from dataclasses import dataclass

import numpy as np

from osteon.articulation.centre import PRIOR
from osteon.articulation.pose_noise import PoseNoise
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Bodies

MAX_FRAMES = 20_000
"""A longer take is thinned to this for the last step."""
STEP = 1e-6
MAX_ITERATIONS = 12
HUBER = 2.5
"""Residuals beyond this many standard deviations count less, where asked."""


@dataclass(frozen=True, slots=True, eq=False)
class RefinedJoint:
    """A joint between two bodies, and the equations that say how well it is known.

    Rows of frames that count less are scaled down, so that all sums over rows are weighted ones.
    """

    centres: Array
    """(6,) the joint in the first body's frame and in the second's."""
    free: Array
    """(6, n_free) directions of the six coordinates that were fitted."""
    frames: np.ndarray
    """(n_frames,) the frames of the take that were used."""
    weights: Array
    """(n_frames,) by how much each row was scaled."""
    residuals: Array
    """(n_frames, 3) in units of noise."""
    slopes: Array
    """(n_frames, 3, n_free) derivative of the residuals along ``free``, per metre."""
    ridge: float
    """Curvature that the prior adds in every direction, per square metre."""
    unit: float
    """The unit of noise at this joint, metres."""
    feigned: float
    """Curvature that orientation noise alone would show, per square metre."""

    @property
    def hessian(self) -> Array:
        """(n_free, n_free) curvature of half the sum of squares, per square metre."""
        own = np.einsum("kia,kib->ab", self.slopes, self.slopes)
        return own + self.ridge * np.eye(own.shape[0])


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    frames: np.ndarray
    turns: Array
    gaps: Array
    place: float
    first: Array
    second: Array

    def residuals(self, centres: Array) -> Array:
        """(n_frames, 3) in units of noise."""
        from osteon.articulation._refine_kernel import whitened_residuals

        out = np.zeros_like(self.gaps)
        whitened_residuals(self.turns, self.gaps, centres, self.place, self.first, self.second, out)
        return out

    def slopes(self, centres: Array, basis: Array) -> Array:
        """(n_frames, 3, n_free) derivative along the columns of ``basis``."""
        columns = [
            (self.residuals(centres + STEP * way) - self.residuals(centres - STEP * way))
            / (2 * STEP)
            for way in basis.T
        ]
        return np.stack(columns, axis=-1)

    def unit(self, centres: Array) -> float:
        """Standard deviation per axis that pose noise gives the residual, metres."""
        swept = sum(
            float(np.trace(turning) * arm @ arm - arm @ turning @ arm)
            for arm, turning in ((centres[:3], self.first), (centres[3:], self.second))
        )
        return float(np.sqrt(self.place + swept / 3.0))


def refine_joint(
    bodies: Bodies,
    pair: tuple[int, int],
    centres: Array,
    noise: PoseNoise,
    *,
    free: Array | None = None,
    prior: float = PRIOR,
    robust: bool = False,
) -> RefinedJoint | None:
    """Improve ``centres`` (6,) of a pair of bodies; None where too few frames show both.

    Parameters
    ----------
    free : (6, n_free)
        Directions of the six coordinates that the motion determines; the others stay as they are.
        All six by default.
    robust
        Weigh residuals by Huber's rule, so that outliers count less.
    """
    problem = _problem(bodies, pair, noise)
    if len(problem.frames) < 10:
        return None
    basis = np.eye(6) if free is None else free
    centres = np.array(centres, dtype=float)
    ridge = 0.0
    for _ in range(MAX_ITERATIONS):
        residuals, slopes, weights = _equations(problem, centres, basis, robust=robust)
        ridge = _variance(residuals, weights) / prior**2
        hessian = np.einsum("kia,kib->ab", slopes, slopes) + ridge * np.eye(basis.shape[1])
        gradient = np.einsum("kia,ki->a", slopes, residuals) + ridge * basis.T @ centres
        step = basis @ np.linalg.solve(hessian, gradient)
        centres = centres - step
        if np.abs(step).max() < 1e-7 * prior:
            break
    residuals, slopes, weights = _equations(problem, centres, basis, robust=robust)
    unit = problem.unit(centres)
    turning = float(np.trace(problem.first + problem.second)) * 2.0 / 3.0
    feigned = float(np.sum(weights**2)) * turning / unit**2
    return RefinedJoint(
        centres, basis, problem.frames, weights, residuals, slopes, ridge, unit, feigned
    )


def _equations(
    problem: _Problem, centres: Array, basis: Array, *, robust: bool
) -> tuple[Array, Array, Array]:
    """Residuals and slopes with each frame's row scaled by its weight, and the weights."""
    residuals, slopes = problem.residuals(centres), problem.slopes(centres, basis)
    if not robust:
        return residuals, slopes, np.ones(len(residuals))
    weights = np.sqrt(_huber(residuals))
    return weights[:, None] * residuals, weights[:, None, None] * slopes, weights


def _problem(bodies: Bodies, pair: tuple[int, int], noise: PoseNoise) -> _Problem:
    i, j = pair
    both = np.flatnonzero(bodies.seen[:, i] & bodies.seen[:, j])
    both = both[:: -(-len(both) // MAX_FRAMES) or 1]
    q_first, q_second = bodies.rotations[both, i], bodies.rotations[both, j]
    apart = bodies.positions[both, i] - bodies.positions[both, j]
    place = noise.position[i] ** 2 + noise.position[j] ** 2
    swept = np.trace(noise.rotation[i] + noise.rotation[j]) * 0.01
    return _Problem(
        frames=both,
        turns=quat.to_matrix(quat.between(q_first, q_second)),
        gaps=quat.rotate(quat.inverse(q_first), apart),
        # data without noise still needs a scale, whatever it is
        place=float(max(place, 1e-4 * swept, 1e-18)),
        first=np.ascontiguousarray(noise.rotation[i]),
        second=np.ascontiguousarray(noise.rotation[j]),
    )


def _huber(residuals: Array) -> Array:
    """Weight of each frame; the scale is the median's, so that outliers do not set it."""
    size = np.linalg.norm(residuals, axis=-1)
    # the median length of a 3-D normal vector is 1.538 standard deviations
    limit = HUBER * np.median(size) / 1.538 + 1e-300
    return np.minimum(1.0, limit / np.maximum(size, limit))


def _variance(residuals: Array, weights: Array) -> float:
    """Mean square per coordinate: 1 when the noise is as stated."""
    freedom = max(3.0 * float(np.sum(weights**2)) - 6.0, 1.0)
    return float(np.sum(residuals**2) / freedom)
