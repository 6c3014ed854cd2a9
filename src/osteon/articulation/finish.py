"""The joints of the tree, finished on the frames themselves, with all that limits their trust.

How well a joint is known: noise that averages out, and skin that does not.

Under white noise the covariance is that of least squares. Frames whose errors go together, as
those of loose straps do, count as fewer. Skin moves with the posture, frame after frame alike:
what it may have done to the joint is found first, and added.

Skin: what moves with the posture, and what it may do to a joint.

The flesh that carries a sensor slides as the joints beside it bend. Take it as a random smooth
function of their angles with an unknown *gain*, metres of skin per radian. As far as another place
of the joint would explain it, the fit takes that place, and no residual shows it; the rest of the
same function stays in the residuals and shows how large the gain is. So the likelihood of the
residuals gives the gain, and the gain how far the joint may be off. Joints of one person have
similar skin: they tell one another its usual gain, which helps those that show little themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.articulation.body_source import PoseNoise
from osteon.articulation.centre import PRIOR, PairFits
from osteon.articulation.refine import RefinedJoint, lags_alike, refine_hinge, refine_joint
from osteon.articulation.shared_skin import (
    SharedSkin,
    about_mean,
    frames_aside,
    solve_shared_skin,
)
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Bodies

GAINS = np.geomspace(1e-8, 0.1, 161)
"""Gains that are tried, metres per radian. Bones show thighs whose skin moves by 4–26 mm rms as
they swing [Cereatti 2017]: some 70 mm per radian at worst."""
GAIN_SPREAD = 0.5
"""Standard deviation of ln gain between the joints of one take. Chosen: one person's skin
differs by half from joint to joint."""
FRAMES_PER_TERM = 3
"""Frames per term below which residuals are not asked. Chosen: fewer say nothing of its size."""


@dataclass(frozen=True, slots=True, eq=False)
class SkinView:
    """What one joint's residuals say about its skin."""

    likelihood: Array
    """(n_gains,) ln likelihood of every gain, up to a constant."""
    moved: Array
    """(n_free, n_terms) metres by which a unit gain of each term moves the joint, times rad."""
    bent: float
    """Mean square of all angles beside the joint together, about their means, rad²."""


def postures(bodies: Bodies, ends: Sequence[tuple[int, int]], still: Sequence[float]) -> Array:
    """(n_frames, n_joints, 3) rotation vectors of joints about their means; NaN if not seen.

    ``still`` (n_joints,) is the mean square angle, rad², below which a turn is no posture: a sensor
    that turns on its body turns the joint and moves it alike, and no skin slides so far.
    """
    turns = [quat.between(bodies.rotations[:, i], bodies.rotations[:, j]) for i, j in ends]
    return np.stack(
        [_above(about_mean(turn), least) for turn, least in zip(turns, still, strict=True)], axis=1
    )


def _above(angles: Array, least: float) -> Array:
    """Rotation vectors without the axes about which they turn less than that, mean square."""
    known = angles[np.isfinite(angles).all(axis=-1)]
    squares, axes = np.linalg.eigh(known.T @ known / len(known))
    kept = axes[:, squares > least]
    return angles @ kept @ kept.T


def angles_beside(
    bent: Array, ends: Sequence[tuple[int, int]], joint: int, frames: np.ndarray
) -> Array:
    """(n_frames, 3 n_near) postures of a joint, first, and of all others of its two bodies."""
    near = [joint] + [
        other for other, pair in enumerate(ends) if other != joint and set(pair) & set(ends[joint])
    ]
    return np.nan_to_num(frames_aside(bent[:, near], frames)).reshape(len(frames), -1)


def view_skin(fit: RefinedJoint, angles: Array) -> SkinView:
    """What a joint's residuals say of its skin; ``angles`` (n_frames, n) as ``angles_beside``.

    The part of each term that the joint's place explains is taken out of it (restricted maximum
    likelihood); along the eigenvectors of what is left, residuals are independent.
    """
    terms = fit.weights[:, None] * _terms(angles)
    pull = np.einsum("kia,kf->aif", fit.slopes, terms).reshape(fit.free.shape[1], -1)
    moved = np.linalg.solve(fit.hessian, pull)
    bent = float(np.sum(np.var(angles, axis=0)))
    if len(terms) < FRAMES_PER_TERM * terms.shape[1]:
        return SkinView(np.zeros(len(GAINS)), moved / fit.unit, bent)
    left = np.kron(np.eye(fit.residuals.shape[1]), terms.T @ terms) - pull.T @ moved
    sizes, ways = np.linalg.eigh(left)
    shown = sizes > 1e-6 * np.sum(terms**2)
    power = (ways.T @ (fit.residuals.T @ terms).reshape(-1))[shown] ** 2 / sizes[shown]
    gains = (GAINS / fit.unit) ** 2
    variance = _slow_variance(fit.residuals, terms) + np.multiply.outer(gains, sizes[shown])
    likelihood = -0.5 * np.sum(np.log(variance) + power / variance, axis=1)
    return SkinView(likelihood, moved / fit.unit, bent)


def _terms(angles: Array) -> Array:
    """(n_frames, n_terms) functions of the posture: all angles, and squares of the joint's own."""
    first, second = np.triu_indices(3)
    terms = np.concatenate([angles, angles[:, first] * angles[:, second]], axis=1)
    return terms - terms.mean(axis=0)


def _slow_variance(residuals: Array, terms: Array) -> float:
    """Variance that slow functions see in what the posture leaves unexplained of the residuals.

    Slow noise is as few independent frames as it has memory: of them, one per term was explained.
    """
    rest = residuals - terms @ np.linalg.lstsq(terms, residuals, rcond=1e-6)[0]
    power = float(np.sum(rest**2))
    limit = max(0.1, 3.0 / np.sqrt(rest.size))
    total = 1.0
    for lag in range(1, len(rest) // 10):
        alike = float(np.sum(rest[lag:] * rest[:-lag])) / max(power, 1e-300)
        if alike < limit:
            break
        total += 2.0 * alike
    # numpy's rank by a share of the largest is of version 2 on
    sizes = np.linalg.svd(terms, compute_uv=False)
    rank = int(np.count_nonzero(sizes > 1e-3 * sizes.max(initial=0.0)))
    left = max(1.0 - total * rank / len(rest), 0.1)
    return max(total * power / (left * rest.size), 1e-300)


def mean_square_gains(views: Sequence[SkinView | None]) -> Array:
    """(n_joints,) expected square of each joint's gain, metres² per rad²; None: no view of it."""
    seen = [view.likelihood for view in views if view is not None]
    if not seen:
        return np.zeros(len(views))
    scale = np.log(GAINS)
    usual = -0.5 * ((scale - scale[:, None]) / GAIN_SPREAD) ** 2
    usual -= np.logaddexp.reduce(usual, axis=1, keepdims=True)
    # rows: the usual gain of the take; it is chosen by what all joints say together
    together = [np.logaddexp.reduce(usual + likelihood, axis=1) for likelihood in seen]
    prior = usual[int(np.argmax(np.sum(together, axis=0)))]
    return np.array([_expected(prior if v is None else prior + v.likelihood) for v in views])


def _expected(log_weights: Array) -> float:
    weights = np.exp(log_weights - log_weights.max())
    return float(weights @ GAINS**2 / weights.sum())


REST_ANGLE = 1.0
"""Radians: how far the take's mean posture may lie from the one in which the skin is at rest. By
so much skin a sensor may sit elsewhere than where it was put, all the time. Chosen."""
LEAST_MOTION = 0.05
"""Share of a curvature that is motion, at the least. Chosen: below, nothing is known of it."""
LEVEL_SHARE = 0.015
"""Share to which the level of orientation noise is known; draws joints to sensors. Chosen."""
SKIN_LEVER = 0.25
"""Metres: skin that moves a sensor by this much turns it by one radian. Chosen."""
USUAL_ARM = 0.1
"""Metres: usual distance of a joint from its sensors, one coordinate of it. Chosen."""


def covariance_of(fit: RefinedJoint, view: SkinView, gain: float, resting: float) -> Array:
    """(6, 6) of the joint's place; ``gain`` is its skin's, square metres per rad², as far as the
    fit did not take it off, ``resting`` that of all skin.

    Doubt is said, and moves nothing. Directions that were not fitted are known as the prior has it.
    """
    n_free = fit.free.shape[1]
    skin = gain * view.moved @ view.moved.T + resting * REST_ANGLE**2 * np.eye(n_free)
    silent = np.eye(6) - fit.free @ fit.free.T
    return fit.free @ (noise_covariance(fit) + skin) @ fit.free.T + PRIOR**2 * silent


def turned_by_skin(gain: float, view: SkinView) -> float:
    """Mean square by which skin turns two sensors against each other, rad²."""
    return 2.0 * gain * view.bent / SKIN_LEVER**2


def drawn(fit: RefinedJoint, turned: float) -> Array:
    """(6, 6) how far sensors that turn by themselves draw the joint to them; covariance.

    ``turned`` is the mean square of what they turn, rad². Of the curvature along a direction, a
    share that is no motion of the joint shortens its arm by that share.
    """
    curvatures, ways = np.linalg.eigh(fit.hessian)
    feigned = turned * len(fit.frames) / fit.unit**2
    true = np.maximum(curvatures - fit.feigned, 0.05 * curvatures)
    share = np.minimum(feigned / true, 0.999)
    shift = fit.free @ ways * np.minimum(USUAL_ARM * share / (1.0 - share), PRIOR)
    return shift @ shift.T


def noise_covariance(fit: RefinedJoint) -> Array:
    """(n_free, n_free) covariance of the estimate from the scatter of its own equations.

    The scatter is summed over lags up to where the residuals forget each other.
    """
    scores = np.einsum("kia,ki->ka", fit.slopes, fit.residuals)
    n_lags = lags_alike(fit.residuals)
    scatter = scores.T @ scores
    for lag in range(1, n_lags + 1):
        share = scores[lag:].T @ scores[:-lag]
        scatter += (1.0 - lag / (n_lags + 1)) * (share + share.T)
    # where the prior decides, the data's scatter is zero and the prior's own spread remains
    scatter += fit.misfit * fit.ridge * np.eye(len(scatter))
    hessian = fit.hessian if fit.axes is None else _motion_curvature(fit, n_lags)
    inverse = np.linalg.inv(hessian)
    return inverse @ scatter @ inverse + _misjudged_noise(fit, hessian)


def _motion_curvature(fit: RefinedJoint, n_lags: int) -> Array:
    """(n_free, n_free) the curvature that motion gives, without that of noisy slopes.

    Motion goes on from frame to frame and noise does not: the products of slopes so far apart that
    noise has forgotten itself show motion alone. A hinge's axis is fitted too, so little noise is
    left in its place, and by that noise its slopes are measured: at 20° and 2 mm four fifths of
    the smallest curvature were noise, and deviations were half of the errors (simulated).
    """
    values, ways = np.linalg.eigh(fit.hessian)
    apart = n_lags + 1
    slopes = fit.slopes @ (ways / np.sqrt(values))
    steady = np.einsum("kia,kib->ab", slopes[apart:], slopes[:-apart])
    steady *= 0.5 * len(slopes) / (len(slopes) - apart)
    shares, turned = np.linalg.eigh(steady + steady.T)
    half = (ways * np.sqrt(values)) @ turned
    return (half * np.clip(shares, LEAST_MOTION, 1.0)) @ half.T


def _misjudged_noise(fit: RefinedJoint, hessian: Array) -> Array:
    """(n_free, n_free) what an error of the noise level does: it moves the joint along its arms.

    Noise that was left in is such an error, of known size.
    """
    curvatures, ways = np.linalg.eigh(hessian)
    shares = LEVEL_SHARE * np.minimum(fit.feigned / curvatures, 1.0), fit.left_in / curvatures
    arm = float(fit.centres @ fit.centres) / 2.0
    return arm * (ways * np.sum(np.square(shares), axis=0)) @ ways.T


UNKNOWN_DEVIATION = 0.03
"""Metres: a joint whose deviation along its least turned axis exceeds this is a hinge. Chosen."""
RESTLESS_RATIO = 2.4
"""Ratio: turns whose mean square is less than this many times what unrest may give are no motion.
Simulated: 720 hinges in filtered noise gave 0.5–2.3, ball joints that SCoRE places to 5 mm 2.4 and
more, half of them over 50."""
HINGE_MISFIT = 1.4
"""Ratio to a ball joint's mean square that the one of a hinge, axis and all, may have. Beyond,
poses turn by more than their noise, as skin and knees do; the axis says nothing of the place then.
Simulated: of 160 mechanical hinges the worst had 1.31; those of a functional knee 1.4–2.8."""


@dataclass(frozen=True, slots=True, eq=False)
class FinishedJoint:
    """One joint of the tree; places and axes in the child first, then in the parent."""

    parent: int
    child: int
    row: int
    """Its row of the ``PairFits``."""
    kind: str
    centres: Array
    """(6,) metres."""
    covariance: Array
    """(6, 6) square metres."""
    axes: Array
    """(2, 3) the least turned direction, unit."""
    one_axis: bool
    """Whether it is a hinge about which neither body turns by more than its noise."""


@dataclass(frozen=True, slots=True, eq=False)
class _Start:
    """A joint as the statistic gives it, the child's half first."""

    kind: str
    centres: Array
    covariance: Array
    axes: Array
    unrest: float
    """Mean square angle that it may turn about an axis without any motion, rad²."""


@dataclass(frozen=True, slots=True, eq=False)
class _Fitter:
    """Fits the joint of two bodies (child, parent) to the frames."""

    bodies: Bodies
    ends: tuple[int, int]
    start: _Start
    noise: PoseNoise
    robust: bool

    def joint(self, shut: Array) -> RefinedJoint | None:
        """The joint with some directions (6, n) left to the prior."""
        free = _all_but(shut)
        return self._along(free, free @ (free.T @ self.start.centres))

    def hinge(self, ball: RefinedJoint) -> RefinedJoint | None:
        """The joint as a hinge; with its axis, if that holds: ``ball`` is what it may do at best.

        Along the axis it stays where the statistic has it: little as motion may say there, it is
        all there is.
        """
        start = self.start
        hinge = refine_hinge(
            self.bodies, self.ends, start.centres, start.axes, self.noise, robust=self.robust
        )
        if hinge is not None and hinge.misfit < HINGE_MISFIT * ball.misfit:
            return hinge
        return self._along(_all_but(start.axes.reshape(6, 1) / np.sqrt(2.0)), start.centres)

    def _along(self, free: Array, start: Array) -> RefinedJoint | None:
        return refine_joint(
            self.bodies, self.ends, start, self.noise, free=free, robust=self.robust
        )

    def first(self) -> tuple[str, RefinedJoint | None]:
        """What the joint is by the statistic, and its fit; None where nothing can be fitted."""
        ball = None if self.start.kind == "fixed" else self.joint(np.zeros((6, 0)))
        if ball is None or self.start.kind != "hinge":
            return self.start.kind, ball
        return "hinge", self.hinge(ball)


def fit_with_skin(
    bodies: Bodies,
    noise: PoseNoise,
    fits: PairFits,
    order: Sequence[tuple[int, int, int]],
) -> SharedSkin | None:
    """The joints of a tree fitted with the skin that all of them share, if it shows."""
    fitters = _fitters(bodies, noise, fits, order, robust=False)
    ends = [fitter.ends for fitter in fitters]
    return solve_shared_skin(bodies, noise, ends, [fitter.first()[1] for fitter in fitters])


def _fitters(
    bodies: Bodies,
    noise: PoseNoise,
    fits: PairFits,
    order: Sequence[tuple[int, int, int]],
    *,
    robust: bool,
) -> list[_Fitter]:
    return [
        _Fitter(bodies, (child, parent), _start(fits, row, child, noise), noise, robust)
        for parent, child, row in order
    ]


def finish_joints(
    bodies: Bodies,
    noise: PoseNoise,
    fits: PairFits,
    order: Sequence[tuple[int, int, int]],
    *,
    robust: bool = False,
) -> list[FinishedJoint]:
    """Refine the joints of a tree, given as (parent, child, row of ``fits``)."""
    ends = [(child, parent) for parent, child, _ in order]
    fitters = _fitters(bodies, noise, fits, order, robust=robust)
    starts = [fitter.start for fitter in fitters]
    found = [fitter.first() for fitter in fitters]
    bent = postures(bodies, ends, [RESTLESS_RATIO * start.unrest for start in starts])

    def viewed(fit: RefinedJoint, place: int) -> SkinView:
        return view_skin(fit, angles_beside(bent, ends, place, fit.frames))

    views = [None if fit is None else viewed(fit, place) for place, (_, fit) in enumerate(found)]
    gains = mean_square_gains(views)
    for place, (kind, fit) in enumerate(found):
        view = views[place]
        if fit is not None and view is not None:
            covariance = covariance_of(fit, view, gains[place], gains[place])
            kind, other = found[place] = _second_thought(fitters[place], kind, fit, covariance)
            views[place] = view if other is fit else viewed(other, place)
    shared = solve_shared_skin(bodies, noise, ends, [fit for _, fit in found])
    left = gains
    if shared is not None:
        found = [
            (kind, fit if fit is None or fit.axes is not None else together)
            for (kind, fit), together in zip(found, shared.fits, strict=True)
        ]
        bent = postures(shared.bodies, ends, [RESTLESS_RATIO * start.unrest for start in starts])
        views = [None if fit is None else viewed(fit, k) for k, (_, fit) in enumerate(found)]
        left = mean_square_gains(views)
    joints = []
    for place, (parent, child, row) in enumerate(order):
        start, (kind, fit), view = starts[place], found[place], views[place]
        centres, axes = start.centres, start.axes
        covariance = start.covariance + REST_ANGLE**2 * gains[place] * np.eye(6)
        if fit is not None and view is not None:
            covariance = covariance_of(fit, view, left[place], gains[place])
            given = None if shared is None else shared.covariances[place]
            covariance = covariance if given is None else covariance + given
            centres = fit.centres
            axes = axes if fit.axes is None else fit.axes
            covariance = covariance + drawn(
                fit, max(turned_by_skin(left[place], view), start.unrest)
            )
        one_axis = fit is not None and fit.axes is not None
        joints.append(FinishedJoint(parent, child, row, kind, centres, covariance, axes, one_axis))
    return joints


def _second_thought(
    fitter: _Fitter, kind: str, fit: RefinedJoint, covariance: Array
) -> tuple[str, RefinedJoint]:
    """The kind and the fit; others where the deviations show directions that the motion leaves
    open."""
    if kind == "ball" and _slides(covariance):
        hinge = fitter.hinge(fit)
        if hinge is not None:
            return "hinge", hinge
    shut = _untold(fit, covariance)
    if shut.shape[1] <= 6 - fit.free.shape[1]:
        return kind, fit
    return kind, fitter.joint(shut) or fit


def _start(fits: PairFits, row: int, child: int, noise: PoseNoise) -> _Start:
    turning = _unrest(fits, row, noise)
    kind = _kind(fits, row, turning)
    unrest = np.inf if kind == "fixed" else float(np.trace(turning.sum(axis=0))) / 3.0
    return _Start(kind, *fits.from_child(row, child), unrest)


def _unrest(fits: PairFits, row: int, noise: PoseNoise) -> Array:
    """(2, 3, 3) covariance of the slow turns that two bodies may make without any motion, rad².

    White noise is known, and was taken out of the sums. Filtered noise, straps and skin shift and
    turn a body in much the same proportion: by as much as the residual exceeds what white noise
    gives it, a body turns more, too.
    """
    ends = list(fits.pair(row))
    turning, arms = noise.rotation[ends], fits.centres[row].reshape(2, 3)
    spans = np.sum(arms**2, axis=1)[:, None, None] * np.eye(3) - arms[:, :, None] * arms[:, None]
    white = 3.0 * np.sum(noise.position[ends] ** 2) + np.sum(turning * spans)
    return turning * max(float(fits.mean_square[row] / max(white, 1e-18)) - 1.0, 0.0)


def _kind(fits: PairFits, row: int, turning: Array) -> str:
    """What the motion shows; ``turning`` as of ``_unrest``."""
    if fits.silent[row, 1:].any():
        return "fixed"
    axes = fits.axes[row]
    shaken = np.trace(turning.sum(axis=0)) - np.einsum("ba,bac,bc->", axes, turning, axes)
    restless = fits.motion[row, 0] < RESTLESS_RATIO * 0.5 * shaken
    return "hinge" if fits.silent[row, 0] or restless else "ball"


def _slides(covariance: Array) -> bool:
    """Whether a joint is known but for one direction: all the rest of its motion is unrest."""
    deviations = np.sqrt(np.linalg.eigvalsh(covariance[3:, 3:]))
    return bool(deviations[2] > UNKNOWN_DEVIATION and deviations[1] < 0.2 * deviations[2])


def _untold(fit: RefinedJoint, covariance: Array) -> Array:
    """(6, n) directions of which the prior knows more than the motion; those never fitted too."""
    known = fit.free.T @ covariance @ fit.free
    variances, ways = np.linalg.eigh(known)
    never = _all_but(fit.free)
    return np.column_stack([never, fit.free @ ways[:, variances > PRIOR**2]])


def _all_but(ways: Array) -> Array:
    """(6, 6 − n) unit directions square to n unit directions (6, n) that are square themselves."""
    complement, _ = np.linalg.qr(np.column_stack([ways, np.eye(6)]))
    return complement[:, ways.shape[1] : 6]
