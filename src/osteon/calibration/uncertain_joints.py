"""A word about joints whose place a calibration leaves open: which, how far, why, and what helps.

A joint is told where its stated 95 % region reaches farther than ``NOTED_RADIUS``. Along its axis
no motion shows where a hinge lies, so there a marker is asked for; else the motion that is lacking.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.calibration.covariances import REGION_RATIO
from osteon.calibration.joint_findings import JointMotion
from osteon.human import JointWords, direction_word, is_flanked, split_side, words_for_joint
from osteon.values import Body, Skeleton

NOTED_RADIUS = 0.04
"""Metres from which a 95 % region is told: derived, what turns a thigh or shin by 5°, beyond which
joint angles mislead [McGinley 2009]."""
LONG_RATIO = 1.5
"""Ratio of the longest to the next axis of a region that is said to point somewhere: chosen."""
ALONG = "along the axis"
FEW_POSTURES = 2
"""Count of postures that a walk shows of a hip; chosen: more, and it is not motion that lacks."""


@dataclass(frozen=True)
class UncertainJoint:
    """A joint, or a pair of them, whose place is left open."""

    body: str
    radius: float
    """Of the 95 % region in its longest direction, metres."""
    where: str
    """That direction in words, empty where it is all round."""
    lacks: str
    """``marker``: no motion shows it; ``motion``: it turned too little; ``bone``: it turned, but
    markers slide or are too few."""
    both: bool = False
    """Whether it is told for both sides."""

    @property
    def words(self) -> JointWords:
        words = words_for_joint(self.body, both=self.both)
        assert words is not None
        return words

    def __str__(self) -> str:
        told = f"{self.words.name} ± {1e3 * self.radius:.0f} mm"
        return f"{told} {self.where}" if self.where else told


def tell_uncertain(skeleton: Skeleton, motions: Mapping[str, JointMotion]) -> tuple[str, ...]:
    """Return a sentence for each thing that is lacking, with the joints that it would help.

    Parameters
    ----------
    motions
        What the calibrating frames show of each joint.
    """
    found = _paired(find_uncertain(skeleton, motions))
    told = []
    for lacks, why in (
        ("marker", "no motion shows that; {markers} would"),
        ("motion", "too little motion shows that; {motions}"),
        ("bone", "markers there slide or are few; more of them on bone would help"),
    ):
        joints = [joint for joint in found if joint.lacks == lacks]
        if joints:
            markers = _listed(joint.words.marker for joint in joints)
            moves = _listed(joint.words.motion for joint in joints)
            reason = why.format(markers=markers, motions=moves)
            told.append(
                f"where joints lie is uncertain: {_listed(map(str, joints))} (95 %): {reason}"
            )
    return tuple(told)


def find_uncertain(
    skeleton: Skeleton, motions: Mapping[str, JointMotion]
) -> tuple[UncertainJoint, ...]:
    """Return the joints that the template has words for and whose region is large, worst first."""
    found = [
        joint
        for body in skeleton.bodies
        if body.name in motions and words_for_joint(body.name) and body.joint.covariance is not None
        for joint in _regions(skeleton, body, motions[body.name])
        if joint.radius > NOTED_RADIUS
    ]
    # to the millimetre that is told: like radii keep the order of the skeleton
    return tuple(sorted(found, key=lambda joint: -round(joint.radius, 3)))


def _regions(skeleton: Skeleton, body: Body, motion: JointMotion) -> list[UncertainJoint]:
    """The joint along its axis, where it has one, and across it."""
    assert body.joint.covariance is not None and body.parent is not None
    axis, covariance = motion.axis, body.joint.covariance
    found, across = [], np.eye(3) - np.outer(axis, axis)
    if axis.any():
        along = REGION_RATIO * float(np.sqrt(axis @ covariance @ axis))
        lacks = "bone" if is_flanked(skeleton, body.name, axis) else "marker"
        found = [UncertainJoint(body.name, along, ALONG, lacks)]
    shown = replace(body.joint, covariance=across @ covariance @ across).ellipsoid
    if shown is None:
        return found
    deviations, directions = shown
    clear = deviations[0] > LONG_RATIO * deviations[1]
    where = direction_word(body.parent, directions[0]) if clear else ""
    radius = REGION_RATIO * float(deviations[0])
    lacks = "motion" if motion.postures <= FEW_POSTURES else "bone"
    return [*found, UncertainJoint(body.name, radius, where, lacks)]


def _paired(found: Sequence[UncertainJoint]) -> list[UncertainJoint]:
    """Joints of left and right that lack the same are one, as wide as the wider."""
    told: dict[tuple[str, str, bool], UncertainJoint] = {}
    for joint in found:
        key = split_side(joint.body)[1], joint.lacks, joint.where == ALONG
        first = told.get(key)
        told[key] = joint if first is None else replace(first, both=True)
    return list(told.values())


def _listed(words: Iterable[str]) -> str:
    """Each once; what a word itself says with ``and`` is not cut."""
    return ", ".join(dict.fromkeys(words))
