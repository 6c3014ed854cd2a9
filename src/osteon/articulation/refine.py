"""One joint, to the last millimetre: the fit that lets both noisy poses give way.

The plain fit takes the measured rotations as true. Here every pose may move within its noise so
that the joint closes; eliminating the poses leaves ``Σ rᵀ V(c, l)⁻¹ r``, where ``V`` is the
covariance that pose noise gives the residual at the present joint. Only the ratio of turning to
shifting noise enters, and for a cluster of markers that is its shape: then this is the fit to the
markers themselves. docs/methods.md §1 and E1.3.

Where motion hardly exceeds noise that fit is free of bias and scatters without bounds; so a little
of the noise's pull to the bodies is left in, as [Fuller 1977] does.

A hinge's axis is fitted with its place: where both axes part, a pose was turned, and by as much its
idea of the place is wrong.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from osteon.articulation.body_source import PoseNoise
from osteon.articulation.centre import PRIOR
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Bodies

MOST_FRAMES = 20_000
"""Frames to which a longer take is thinned for the last step. Chosen: bounds time."""
FEWEST_FRAMES = 10
"""Frames below which nothing is fitted. Chosen: six unknowns and some to spare."""
SLOPE_STEP = 1e-6
"""Metres over which slopes are differences. Chosen: far below joints, far above rounding."""
MOST_ITERATIONS = 12
"""Count of steps at most. Chosen: bounds time."""
HUBER_LIMIT = 2.5
"""Standard deviations beyond which residuals count less, where asked. Chosen."""
FULLER_COUNT = 4.0
"""Count: independent frames whose noise is left in the sums; gives the least mean square error
[Fuller 1977]."""
ALIKE_SHARE = 0.1
"""Share of their power below which the products of residuals some frames apart are no likeness;
chosen: a third of what 100 numbers feign at three deviations."""
MEDIAN_LENGTHS = {3: 1.538, 5: 2.086}
"""Median length of a normal vector of so many dimensions, standard deviations. Derived: roots of
the median of chi square."""


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
    """(n_frames, 3) in units of noise; of a hinge (n_frames, 5), its axis in the last two."""
    slopes: Array
    """(n_frames, 3 or 5, n_free) derivative of the residuals along ``free``, per metre."""
    ridge: float
    """Curvature that the prior adds in every direction, per square metre."""
    left_in: float
    """Curvature of the noise that was left in, per square metre."""
    unit: float
    """The unit of noise at this joint, metres."""
    feigned: float
    """Curvature that orientation noise alone would show, per square metre."""
    axes: Array | None = None
    """(2, 3) a hinge's axis in both frames, unit."""

    @property
    def misfit(self) -> float:
        """Mean square of the residuals; 1 when the noise is as stated."""
        return _variance(self.residuals, self.weights)

    @property
    def hessian(self) -> Array:
        """(n_free, n_free) curvature of half the sum of squares, per square metre."""
        own = np.einsum("kia,kib->ab", self.slopes, self.slopes)
        return own + (self.ridge + self.left_in) * np.eye(own.shape[0])


class _Equations(NamedTuple):
    """Of all frames, each frame's rows scaled by its weight."""

    residuals: Array
    slopes: Array
    weights: Array


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """The frames that show both bodies; a joint is told by its two places (6,)."""

    frames: np.ndarray
    turns: Array
    gaps: Array
    place: float
    first: Array
    second: Array
    counts: Array
    """(n_frames,) by how much each row is scaled, for its poses' noise is not the usual one."""

    def residuals(self, centres: Array) -> Array:
        """(n_frames, 3) in units of noise."""
        from osteon.articulation._refine_kernel import whitened_residuals

        out = np.zeros_like(self.gaps)
        whitened_residuals(self.turns, self.gaps, centres, self.place, self.first, self.second, out)
        return out

    def feigned(self, centres: Array, weights: Array) -> float:
        """Curvature that orientation noise alone would show, per square metre."""
        turning = float(np.trace(self.first + self.second)) * 2.0 / 3.0
        return float(np.sum(weights**2)) * turning / self.unit(centres) ** 2

    def unit(self, centres: Array) -> float:
        """Standard deviation per axis that pose noise gives the residual, metres."""
        swept = sum(
            float(np.trace(turning) * arm @ arm - arm @ turning @ arm)
            for arm, turning in ((centres[:3], self.first), (centres[3:], self.second))
        )
        return float(np.sqrt(self.place + swept / 3.0))


@dataclass(frozen=True, slots=True, eq=False)
class _HingeProblem:
    """A hinge, told by its two places and by how far its axis tips from ``axes`` (10,)."""

    joint: _Problem
    axes: Array
    """(2, 3) unit."""
    across: Array
    """(2, 2, 3) two directions square to each axis."""

    @property
    def counts(self) -> Array:
        """(n_frames,) by how much each row is scaled."""
        return self.joint.counts

    def residuals(self, hinge: Array) -> Array:
        """(n_frames, 5) in units of noise."""
        from osteon.articulation._refine_kernel import whitened_hinge_residuals

        joint, out = self.joint, np.zeros((len(self.joint.gaps), 5))
        shape = (joint.place, joint.first, joint.second)
        axes = self.tipped(hinge[6:])
        whitened_hinge_residuals(
            joint.turns, joint.gaps, hinge[:6], axes, self.across[0], *shape, out
        )
        return out

    def tipped(self, tips: Array) -> Array:
        """(2, 3) the axis tipped across itself by (4,) radians, small ones."""
        axes = self.axes + np.einsum("bi,bij->bj", tips.reshape(2, 2), self.across)
        return axes / np.linalg.norm(axes, axis=1, keepdims=True)


@dataclass(frozen=True, slots=True, eq=False)
class _Pull:
    """What draws a joint to its bodies' origins: the prior, and some of the noise's own pull."""

    problem: _Problem
    share: float
    """Of the noise, to leave in."""

    def curvatures(self, centres: Array, equations: _Equations) -> tuple[float, float]:
        """Of the prior and of the noise, per square metre."""
        residuals, _, weights = equations
        variance = _variance(residuals, weights)
        noise = self.share * self.problem.feigned(centres, weights)
        return variance / PRIOR**2, variance * noise


def _pull(problem: _Problem, centres: Array) -> _Pull:
    """The fewer independent frames, the more noise is left in; all of it if there are four."""
    residuals = problem.residuals(centres)
    share = FULLER_COUNT * frames_alike(residuals) / len(residuals)
    return _Pull(problem, min(share, 1.0))


def frames_alike(residuals: Array) -> float:
    """Count of frames that say as much as one independent frame does; 1 for white noise."""
    centred = residuals - residuals.mean(axis=0)
    power, n_lags = float(np.sum(centred**2)), lags_alike(residuals)
    products = [np.sum(centred[lag:] * centred[:-lag]) for lag in range(1, n_lags + 1)]
    taper = 1.0 - np.arange(1, n_lags + 1) / (n_lags + 1)
    return max(1.0 + 2.0 * float(taper @ products) / max(power, 1e-300), 1.0)


def lags_alike(residuals: Array) -> int:
    """Frames after which residuals are no longer alike; 0 for white noise."""
    centred = residuals - residuals.mean(axis=0)
    power = np.sum(centred**2)
    limit = max(ALIKE_SHARE, 3.0 / np.sqrt(centred.size))
    for lag in range(1, len(centred) // 10):
        if np.sum(centred[lag:] * centred[:-lag]) < limit * power:
            return 2 * (lag - 1)
    return len(centred) // 10


def refine_joint(
    bodies: Bodies,
    pair: tuple[int, int],
    centres: Array,
    noise: PoseNoise,
    *,
    free: Array | None = None,
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
    if len(problem.frames) < FEWEST_FRAMES:
        return None
    basis = np.eye(6) if free is None else free
    centres = np.array(centres, dtype=float)
    pull = _pull(problem, centres)
    for _ in range(MOST_ITERATIONS):
        equations = _equations(problem, centres, basis, robust=robust)
        step = _newton_step(equations, basis, centres, pull)
        centres = centres - step
        if np.abs(step).max() < 1e-7 * PRIOR:
            break
    equations = _equations(problem, centres, basis, robust=robust)
    return _refined(problem, centres, basis, equations, pull)


def equations_at(
    bodies: Bodies, pair: tuple[int, int], centres: Array, noise: PoseNoise, fit: RefinedJoint
) -> RefinedJoint:
    """The three equations of a fitted joint, put elsewhere or seen by other poses."""
    problem = _problem(bodies, pair, noise)
    residuals, slopes = _unweighed(problem, centres, fit.free)
    return replace(
        fit,
        centres=centres,
        residuals=fit.weights[:, None] * residuals,
        slopes=fit.weights[:, None, None] * slopes,
    )


def refine_hinge(
    bodies: Bodies,
    pair: tuple[int, int],
    centres: Array,
    axes: Array,
    noise: PoseNoise,
    *,
    robust: bool = False,
) -> RefinedJoint | None:
    """Improve places ``centres`` (6,) and ``axes`` (2, 3) of a hinge together.

    Along the axis the hinge stays as far from both bodies' origins as it is. None where too few
    frames show both.
    """
    problem = _problem(bodies, pair, noise)
    if len(problem.frames) < FEWEST_FRAMES:
        return None
    centres, axes = np.array(centres, dtype=float), np.array(axes, dtype=float)
    along = float(axes.reshape(6) @ centres)
    pull = _pull(problem, centres)
    for _ in range(MOST_ITERATIONS):
        hinge, basis = _hinge_problem(problem, axes)
        start = np.concatenate([centres, np.zeros(4)])
        step = _newton_step(_equations(hinge, start, basis, robust=robust), basis, start, pull)
        axes = hinge.tipped(-step[6:])
        centres = _slide(centres - step[:6], axes, along)
        if np.abs(step).max() < 1e-7 * PRIOR:
            break
    hinge, basis = _hinge_problem(problem, axes)
    start = np.concatenate([centres, np.zeros(4)])
    equations = _equations(hinge, start, basis, robust=robust)
    return _refined(problem, centres, basis[:6, :5], _without_axes(equations), pull, axes)


def _hinge_problem(problem: _Problem, axes: Array) -> tuple[_HingeProblem, Array]:
    """A hinge about these axes, and the directions (10, 9) in which it may change."""
    across = np.stack([np.linalg.svd(axis[None])[2][1:] for axis in axes])
    basis = np.zeros((10, 9))
    basis[:6, :5] = np.linalg.svd(axes.reshape(1, 6))[2][1:].T
    basis[6:, 5:] = np.eye(4)
    return _HingeProblem(problem, axes, across), basis


def _slide(centres: Array, axes: Array, along: float) -> Array:
    """Slide a hinge's places (6,) along its axis until they are ``along`` from the origins."""
    axis = axes.reshape(6)
    return centres + axis * (along - axis @ centres) / 2.0


def _without_axes(equations: _Equations) -> _Equations:
    """The equations of a hinge's places alone, its axis having followed them."""
    places, tips = equations.slopes[..., :5], equations.slopes[..., 5:]
    own, shared = np.einsum("kia,kib->ab", tips, tips), np.einsum("kia,kib->ab", tips, places)
    return equations._replace(slopes=places - tips @ np.linalg.solve(own, shared))


def _newton_step(equations: _Equations, basis: Array, place: Array, pull: _Pull) -> Array:
    """The step of Gauss and Newton away from the least sum of squares; the pull is of places."""
    residuals, slopes, _ = equations
    ridge = sum(pull.curvatures(place[:6], equations))
    own = basis[:6]
    hessian = np.einsum("kia,kib->ab", slopes, slopes) + ridge * own.T @ own
    gradient = np.einsum("kia,ki->a", slopes, residuals) + ridge * own.T @ place[:6]
    return basis @ np.linalg.solve(hessian, gradient)


def _refined(
    problem: _Problem,
    centres: Array,
    free: Array,
    equations: _Equations,
    pull: _Pull,
    axes: Array | None = None,
) -> RefinedJoint:
    residuals, slopes, weights = equations
    ridge, left_in = pull.curvatures(centres, equations)
    return RefinedJoint(
        centres=centres,
        free=free,
        frames=problem.frames,
        weights=weights,
        residuals=residuals,
        slopes=slopes,
        ridge=ridge,
        left_in=left_in,
        unit=problem.unit(centres),
        feigned=problem.feigned(centres, weights),
        axes=axes,
    )


def _equations(
    problem: _Problem | _HingeProblem, place: Array, basis: Array, *, robust: bool
) -> _Equations:
    """The equations at ``place``; slopes along the columns of ``basis``."""
    residuals, slopes = _unweighed(problem, place, basis)
    weights = problem.counts
    if robust:
        weights = weights * np.sqrt(_huber(weights[:, None] * residuals))
    return _Equations(weights[:, None] * residuals, weights[:, None, None] * slopes, weights)


def _unweighed(
    problem: _Problem | _HingeProblem, place: Array, basis: Array
) -> tuple[Array, Array]:
    """Residuals at ``place`` in units of noise, and their slopes along the columns of ``basis``."""
    columns = [
        (problem.residuals(place + SLOPE_STEP * way) - problem.residuals(place - SLOPE_STEP * way))
        / (2 * SLOPE_STEP)
        for way in basis.T
    ]
    return problem.residuals(place), np.stack(columns, axis=-1)


def _problem(bodies: Bodies, pair: tuple[int, int], noise: PoseNoise) -> _Problem:
    i, j = pair
    both = np.flatnonzero(bodies.seen[:, i] & bodies.seen[:, j])
    both = both[:: -(-len(both) // MOST_FRAMES) or 1]
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
        counts=noise.frame_weights(pair, both),
    )


def _huber(residuals: Array) -> Array:
    """Weight of each frame; the scale is the median's, so that outliers do not set it."""
    size = np.linalg.norm(residuals, axis=-1)
    limit = HUBER_LIMIT * np.median(size) / MEDIAN_LENGTHS[residuals.shape[1]] + 1e-300
    return np.minimum(1.0, limit / np.maximum(size, limit))


def _variance(residuals: Array, weights: Array) -> float:
    """Mean square per coordinate: 1 when the noise is as stated."""
    freedom = max(residuals.shape[1] * float(np.sum(weights**2)) - 6.0, 1.0)
    return float(np.sum(residuals**2) / freedom)
