"""One joint, to the last millimetre: the fit that lets both noisy poses give way.

The plain fit takes the measured rotations as true. Here every pose may move within its noise so
that the joint closes; eliminating the poses leaves ``Σ rᵀ V(c, l)⁻¹ r``, where ``V`` is the
covariance that pose noise gives the residual at the present joint. Only the ratio of turning to
shifting noise enters, and for a cluster of markers that is its shape: then this is the fit to the
markers themselves. METHODS §1, ERRATA 1.3.
"""

from dataclasses import dataclass

import numpy as np

from ossature.joints.centre import PRIOR
from ossature.joints.noise import PoseNoise
from ossature.maths import quat
from ossature.values import Bodies
from ossature.values.arrays import Array

MAX_FRAMES = 20_000
"""A longer take is thinned to this for the last step."""
STEP = 1e-6
MAX_ITERATIONS = 12
ARTEFACT = 2.2
"""What smooth residuals are worth: skin and straps slide as joints bend, so more frames do not
average them out, and the fit hides a part of them. With this factor the stated deviations of
performers with 5–20 mm of soft tissue are honest (docs/accuracy.md)."""
ASIDE = 2
"""Frames between a residual and the postures that may explain it."""
HUBER = 2.5
"""Residuals beyond this many standard deviations count less, where asked."""


@dataclass(frozen=True, slots=True, eq=False)
class RefinedJoint:
    """A joint between two bodies and how well it is known."""

    centres: Array
    """(6,) the joint in the first body's frame and in the second's."""
    covariance: Array
    """(6, 6) square metres."""


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    turns: Array
    gaps: Array
    place: float
    first: Array
    second: Array

    def residuals(self, centres: Array) -> Array:
        """(n_frames, 3) in units of noise."""
        from ossature.maths.whitening import whitened_residuals

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
        Directions of the six coordinates that the motion determines; the others stay as they are
        and keep the prior's uncertainty. All six by default.
    robust
        Weigh residuals by Huber's rule, so that outliers count less.
    """
    problem = _problem(bodies, pair, noise)
    if len(problem.gaps) < 10:
        return None
    basis = np.eye(6) if free is None else free
    centres = np.array(centres, dtype=float)
    ridge = np.zeros((basis.shape[1], basis.shape[1]))
    for _ in range(MAX_ITERATIONS):
        residuals = problem.residuals(centres)
        slopes = problem.slopes(centres, basis)
        weights = _huber(residuals) if robust else np.ones(len(residuals))
        ridge = _variance(residuals, weights) / prior**2 * np.eye(basis.shape[1])
        hessian = np.einsum("kia,k,kib->ab", slopes, weights, slopes) + ridge
        gradient = np.einsum("kia,k,ki->a", slopes, weights, residuals)
        gradient += ridge @ (basis.T @ centres)
        step = basis @ np.linalg.solve(hessian, gradient)
        centres = centres - step
        if np.abs(step).max() < 1e-7 * prior:
            break
    residuals, slopes = problem.residuals(centres), problem.slopes(centres, basis)
    weights = _huber(residuals) if robust else np.ones(len(residuals))
    artefact = ARTEFACT * _smooth_variance(residuals, problem.turns)
    covariance = _covariance(residuals, slopes, weights, ridge, artefact)
    silent = np.eye(6) - basis @ basis.T
    return RefinedJoint(centres, basis @ covariance @ basis.T + prior**2 * silent)


def _problem(bodies: Bodies, pair: tuple[int, int], noise: PoseNoise) -> _Problem:
    i, j = pair
    both = np.flatnonzero(bodies.seen[:, i] & bodies.seen[:, j])
    both = both[:: -(-len(both) // MAX_FRAMES) or 1]
    q_first, q_second = bodies.rotations[both, i], bodies.rotations[both, j]
    apart = bodies.positions[both, i] - bodies.positions[both, j]
    place = noise.position[i] ** 2 + noise.position[j] ** 2
    swept = np.trace(noise.rotation[i] + noise.rotation[j]) * 0.01
    return _Problem(
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
    freedom = max(3.0 * weights.sum() - 6.0, 1.0)
    return float(np.sum(weights[:, None] * residuals**2) / freedom)


def _covariance(
    residuals: Array, slopes: Array, weights: Array, ridge: Array, artefact: float
) -> Array:
    """Covariance of the estimate from the scatter of its own equations.

    Frames whose errors go together, as those of skin and loose straps do, count as fewer: the
    scatter is summed over lags up to where the residuals forget each other.
    """
    hessian = np.einsum("kia,k,kib->ab", slopes, weights, slopes) + ridge
    scores = np.einsum("kia,k,ki->ka", slopes, weights, residuals)
    n_lags = _memory(residuals)
    scatter = scores.T @ scores
    for lag in range(1, n_lags + 1):
        share = scores[lag:].T @ scores[:-lag]
        scatter += (1.0 - lag / (n_lags + 1)) * (share + share.T)
    # where the prior decides, the data's scatter is zero and the prior's own spread remains
    scatter += ridge
    inverse = np.linalg.inv(hessian)
    return inverse @ scatter @ inverse + artefact * weights.sum() * inverse


def _smooth_variance(residuals: Array, turns: Array) -> float:
    """Variance per coordinate of what is no white noise; 0 for white noise.

    Skin and straps move with the posture: what the turns (n_frames, 3, 3) between the two bodies
    explain of the residuals shows far smaller artefacts than likeness from frame to frame does.
    """
    power = float(np.mean(residuals**2))
    alike = float(np.mean(residuals[1:] * residuals[:-1]))
    # a frame's own turn shares its noise with the residual: take those before and after it
    posture = _posture(0.5 * (turns[: -2 * ASIDE] + turns[2 * ASIDE :]))
    n_frames, n_terms = posture.shape
    within = residuals[ASIDE:-ASIDE]
    explained = float(np.sum((posture.T @ within) ** 2)) / within.size
    by_chance = power * n_terms / n_frames
    shown = explained > by_chance * (1.0 + 4.0 * np.sqrt(2.0 / (3.0 * n_terms)))
    if not shown and alike < 4.0 * power / np.sqrt(residuals.size):
        return 0.0
    return max(alike, explained - by_chance, 0.0)


def _posture(turns: Array) -> Array:
    """(n_frames, n_terms) orthonormal functions of the posture: turns and their products."""
    linear = turns.reshape(len(turns), 9)
    linear = linear - linear.mean(axis=0)
    first, second = np.triu_indices(9)
    terms = np.column_stack([np.ones(len(turns)), linear, linear[:, first] * linear[:, second]])
    vectors, sizes, _ = np.linalg.svd(terms, full_matrices=False)
    return vectors[:, sizes > 1e-3 * sizes[0]]


def _memory(residuals: Array) -> int:
    """Frames after which residuals are no longer alike; 0 for white noise."""
    centred = residuals - residuals.mean(axis=0)
    power = np.sum(centred**2)
    limit = max(0.1, 3.0 / np.sqrt(centred.size))
    for lag in range(1, len(centred) // 10):
        if np.sum(centred[lag:] * centred[:-lag]) < limit * power:
            return 2 * (lag - 1)
    return len(centred) // 10
