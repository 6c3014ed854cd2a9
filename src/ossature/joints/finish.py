"""The joints of the tree, finished on the frames themselves, with all that limits their trust."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ossature.joints import skin
from ossature.joints.centre import PRIOR, PairFits
from ossature.joints.noise import PoseNoise
from ossature.joints.refine import RefinedJoint, refine_joint
from ossature.joints.trust import REST, covariance_of, drawn, turned_by_skin
from ossature.values import Bodies
from ossature.values.arrays import Array

UNKNOWN = 0.03
"""Metres: a joint whose deviation along its least turned axis exceeds this is a hinge."""
RESTLESS = 2.0
"""Turns whose mean square is less than this many times what unrest may give are no motion. Hinges
in filtered noise gave 0.7–1.9, ball joints through 60° twelve and more."""


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


@dataclass(frozen=True, slots=True, eq=False)
class _Start:
    """A joint as the statistic gives it, the child's half first."""

    kind: str
    centres: Array
    covariance: Array
    axes: Array
    unrest: float
    """Mean square angle that it may turn about an axis without any motion, rad²."""

    @property
    def slide(self) -> Array:
        """(6, 1) the way along a hinge's axis on which nothing changes, unit."""
        return self.axes.reshape(6, 1) / np.sqrt(2.0)


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

    def refined(place: int, shut: Array) -> RefinedJoint | None:
        free = _all_but(shut)
        start = free @ (free.T @ starts[place].centres)
        return refine_joint(bodies, ends[place], start, noise, free=free, robust=robust)

    found = [
        None if start.kind == "fixed" else refined(place, start.slide[:, : start.kind == "hinge"])
        for place, start in enumerate(starts)
    ]
    bent = skin.postures(bodies, ends, [RESTLESS * start.unrest for start in starts])

    def viewed(fit: RefinedJoint, place: int) -> skin.SkinView:
        return skin.view_skin(fit, skin.angles_beside(bent, ends, place, fit.frames))

    views = [None if fit is None else viewed(fit, place) for place, fit in enumerate(found)]
    gains = skin.mean_square_gains(views)
    joints = []
    for place, (parent, child, row) in enumerate(order):
        start, fit, view, gain = starts[place], found[place], views[place], float(gains[place])
        kind, centres = start.kind, start.centres
        covariance = start.covariance + REST**2 * gain * np.eye(6)
        if fit is not None and view is not None:
            covariance = covariance_of(fit, view, gain)
            shut = _untold(fit, covariance)
            if kind == "ball" and _slides(covariance):
                kind, shut = "hinge", start.slide
            if shut.shape[1] > 6 - fit.free.shape[1]:
                fit = refined(place, shut) or fit
                covariance = covariance_of(fit, viewed(fit, place), gain)
            centres = fit.centres
            covariance = covariance + drawn(fit, max(turned_by_skin(gain, view), start.unrest))
        joints.append(FinishedJoint(parent, child, row, kind, centres, covariance, start.axes))
    return joints


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
