"""The joints of the tree, finished on the frames themselves, with all that limits their trust."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ossature.joints import skin
from ossature.joints.centre import PairFits
from ossature.joints.noise import PoseNoise
from ossature.joints.refine import RefinedJoint, refine_joint
from ossature.joints.trust import REST, drawn_by_skin, placed
from ossature.values import Bodies
from ossature.values.arrays import Array

UNKNOWN = 0.03
"""Metres: a joint whose deviation along its least turned axis exceeds this is a hinge."""


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

    @property
    def slide(self) -> Array:
        """(6,) the way along a hinge's axis on which nothing changes, unit."""
        return self.axes.reshape(6) / np.sqrt(2.0)


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
    bent = skin.postures(bodies, ends)
    starts = [_start(fits, row, child) for _, child, row in order]

    def refined(place: int, *, hinge: bool) -> RefinedJoint | None:
        centres, slide = starts[place].centres, starts[place].slide
        free = _all_but(slide) if hinge else np.eye(6)
        start = centres - slide * (slide @ centres) if hinge else centres
        return refine_joint(bodies, ends[place], start, noise, free=free, robust=robust)

    def viewed(fit: RefinedJoint, place: int) -> skin.SkinView:
        return skin.view_skin(fit, skin.angles_beside(bent, ends, place, fit.frames))

    found = [
        None if start.kind == "fixed" else refined(place, hinge=start.kind == "hinge")
        for place, start in enumerate(starts)
    ]
    views = [None if fit is None else viewed(fit, place) for place, fit in enumerate(found)]
    gains = skin.mean_square_gains(views)
    joints = []
    for place, (parent, child, row) in enumerate(order):
        start, fit, view, gain = starts[place], found[place], views[place], float(gains[place])
        kind, centres = start.kind, start.centres
        covariance = start.covariance + REST**2 * gain * np.eye(6)
        if fit is not None and view is not None:
            centres, covariance = placed(fit, view, gain)
            if kind == "ball" and _slides(covariance):
                kind = "hinge"
                fit = refined(place, hinge=True) or fit
                centres, covariance = placed(fit, viewed(fit, place), gain)
            covariance = covariance + drawn_by_skin(fit, gain * view.bent)
        joints.append(FinishedJoint(parent, child, row, kind, centres, covariance, start.axes))
    return joints


def _start(fits: PairFits, row: int, child: int) -> _Start:
    swap = int(fits.first[row]) != child
    turn = np.r_[3:6, 0:3] if swap else np.arange(6)
    return _Start(
        _kind(fits, row),
        fits.centres[row][turn],
        fits.covariance[row][np.ix_(turn, turn)],
        fits.axes[row][::-1] if swap else fits.axes[row],
    )


def _kind(fits: PairFits, row: int) -> str:
    if fits.silent[row, 1:].any():
        return "fixed"
    return "hinge" if fits.silent[row, 0] else "ball"


def _slides(covariance: Array) -> bool:
    """Whether a joint is known but for one direction: all the rest of its motion is unrest."""
    deviations = np.sqrt(np.linalg.eigvalsh(covariance[3:, 3:]))
    return bool(deviations[2] > UNKNOWN and deviations[1] < 0.2 * deviations[2])


def _all_but(way: Array) -> Array:
    """(6, 5) unit directions square to a unit direction (6,)."""
    complement, _ = np.linalg.qr(np.column_stack([way, np.eye(6)]))
    return complement[:, 1:6]
