"""The joints of the tree, finished on the frames themselves, with all that limits their trust.

How well a joint is known: noise that averages out, and skin that does not.

Under white noise the covariance is that of least squares. Frames whose errors go together, as
those of loose straps do, count as fewer. Skin moves with the posture, frame after frame alike:
what it may have done to the joint is ``skin_motion``'s, and is added here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.articulation import skin_motion
from osteon.articulation.centre import PRIOR, PairFits
from osteon.articulation.pose_noise import PoseNoise
from osteon.articulation.refine import RefinedJoint, lags_alike, refine_hinge, refine_joint
from osteon.articulation.skin_motion import SkinView
from osteon.typing import Array
from osteon.values import Bodies

REST = 1.0
"""Radians: how far the take's mean posture may lie from the one in which the skin is at rest. By
so much skin a sensor may sit elsewhere than where it was put, all the time."""
LEVEL = 0.015
"""Share to which the level of orientation noise is known; it draws joints to the sensors."""
LEVER = 0.25
"""Metres: skin that moves a sensor by this much turns it by one radian."""
ARM = 0.1
"""Metres: usual distance of a joint from its sensors, one coordinate of it."""


def covariance_of(fit: RefinedJoint, view: SkinView, gain: float) -> Array:
    """(6, 6) of the joint's place; ``gain`` is its skin's, square metres per rad².

    Doubt is said, and moves nothing. Directions that were not fitted are known as the prior has it.
    """
    n_free = fit.free.shape[1]
    skin = gain * (view.moved @ view.moved.T + REST**2 * np.eye(n_free))
    silent = np.eye(6) - fit.free @ fit.free.T
    return fit.free @ (noise_covariance(fit) + skin) @ fit.free.T + PRIOR**2 * silent


def turned_by_skin(gain: float, view: SkinView) -> float:
    """Mean square by which skin turns two sensors against each other, rad²."""
    return 2.0 * gain * view.bent / LEVER**2


def drawn(fit: RefinedJoint, turned: float) -> Array:
    """(6, 6) how far sensors that turn by themselves draw the joint to them; covariance.

    ``turned`` is the mean square of what they turn, rad². Of the curvature along a direction, a
    share that is no motion of the joint shortens its arm by that share.
    """
    curvatures, ways = np.linalg.eigh(fit.hessian)
    feigned = turned * len(fit.frames) / fit.unit**2
    true = np.maximum(curvatures - fit.feigned, 0.05 * curvatures)
    share = np.minimum(feigned / true, 0.999)
    shift = fit.free @ ways * np.minimum(ARM * share / (1.0 - share), PRIOR)
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
    hessian = fit.hessian
    inverse = np.linalg.inv(hessian)
    return inverse @ scatter @ inverse + _misjudged_noise(fit, hessian)


def _misjudged_noise(fit: RefinedJoint, hessian: Array) -> Array:
    """(n_free, n_free) what an error of the noise level does: it moves the joint along its arms.

    Noise that was left in is such an error, of known size.
    """
    curvatures, ways = np.linalg.eigh(hessian)
    shares = LEVEL * np.minimum(fit.feigned / curvatures, 1.0), fit.left_in / curvatures
    arm = float(fit.centres @ fit.centres) / 2.0
    return arm * (ways * np.sum(np.square(shares), axis=0)) @ ways.T


UNKNOWN = 0.03
"""Metres: a joint whose deviation along its least turned axis exceeds this is a hinge."""
RESTLESS = 2.4
"""Turns whose mean square is less than this many times what unrest may give are no motion. 720
hinges in filtered noise gave 0.5–2.3, ball joints that SCoRE places to 5 mm 2.4 and more, half of
them over 50."""
HINGE_MISFIT = 1.4
"""Times a ball joint's mean square that the one of a hinge, axis and all, may have. Beyond, poses
turn by more than their noise, as skin and knees do, and the axis says nothing about the place. Of
160 mechanical hinges the worst had 1.31; those of a functional knee 1.4–2.8."""


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
    starts = [_start(fits, row, child, noise) for _, child, row in order]
    fitters = [
        _Fitter(bodies, pair, start, noise, robust)
        for pair, start in zip(ends, starts, strict=True)
    ]
    found = [fitter.first() for fitter in fitters]
    bent = skin_motion.postures(bodies, ends, [RESTLESS * start.unrest for start in starts])

    def viewed(fit: RefinedJoint, place: int) -> SkinView:
        return skin_motion.view_skin(fit, skin_motion.angles_beside(bent, ends, place, fit.frames))

    views = [None if fit is None else viewed(fit, place) for place, (_, fit) in enumerate(found)]
    gains = skin_motion.mean_square_gains(views)
    joints = []
    for place, (parent, child, row) in enumerate(order):
        start, (kind, fit), view, gain = starts[place], found[place], views[place], gains[place]
        centres, axes = start.centres, start.axes
        covariance = start.covariance + REST**2 * gain * np.eye(6)
        if fit is not None and view is not None:
            covariance = covariance_of(fit, view, gain)
            other = _second_thought(fitters[place], kind, fit, covariance)
            if other is not None:
                kind, fit = other
                covariance = covariance_of(fit, viewed(fit, place), gain)
            centres = fit.centres
            axes = axes if fit.axes is None else fit.axes
            covariance = covariance + drawn(fit, max(turned_by_skin(gain, view), start.unrest))
        one_axis = fit is not None and fit.axes is not None
        joints.append(FinishedJoint(parent, child, row, kind, centres, covariance, axes, one_axis))
    return joints


def _second_thought(
    fitter: _Fitter, kind: str, fit: RefinedJoint, covariance: Array
) -> tuple[str, RefinedJoint] | None:
    """Another kind and fit, where the deviations show directions that the motion leaves open."""
    if kind == "ball" and _slides(covariance):
        hinge = fitter.hinge(fit)
        if hinge is not None:
            return "hinge", hinge
    shut = _untold(fit, covariance)
    if shut.shape[1] <= 6 - fit.free.shape[1]:
        return None
    return kind, fitter.joint(shut) or fit


def _start(fits: PairFits, row: int, child: int, noise: PoseNoise) -> _Start:
    swap = int(fits.first[row]) != child
    turn = np.r_[3:6, 0:3] if swap else np.arange(6)
    turning = _unrest(fits, row, noise)
    kind = _kind(fits, row, turning)
    return _Start(
        kind,
        fits.centres[row][turn],
        fits.covariance[row][np.ix_(turn, turn)],
        fits.axes[row][::-1] if swap else fits.axes[row],
        np.inf if kind == "fixed" else float(np.trace(turning.sum(axis=0))) / 3.0,
    )


def _unrest(fits: PairFits, row: int, noise: PoseNoise) -> Array:
    """(2, 3, 3) covariance of the slow turns that two bodies may make without any motion, rad².

    White noise is known, and was taken out of the sums. Filtered noise, straps and skin shift and
    turn a body in much the same proportion: by as much as the residual exceeds what white noise
    gives it, a body turns more, too.
    """
    ends = [fits.first[row], fits.second[row]]
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
    restless = fits.motion[row, 0] < RESTLESS * 0.5 * shaken
    return "hinge" if fits.silent[row, 0] or restless else "ball"


def _slides(covariance: Array) -> bool:
    """Whether a joint is known but for one direction: all the rest of its motion is unrest."""
    deviations = np.sqrt(np.linalg.eigvalsh(covariance[3:, 3:]))
    return bool(deviations[2] > UNKNOWN and deviations[1] < 0.2 * deviations[2])


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
