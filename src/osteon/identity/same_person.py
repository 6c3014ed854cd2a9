"""Whether two calibrations are of one person: by bones, which no suit changes.

Two answers are weighed. One person: lengths differ by what both fits are unsure of. Two people:
they differ besides by size, and by proportions. The logarithm of the odds says which explains the
lengths better, and how clearly; a take that shows little leaves it near zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.typing import Array
from osteon.values import Skeleton, without_gaps

LIMB_FLOOR = 0.005
"""Metres by which lengths of one limb differ between takes beside what fits own up to.
Chosen."""
TRUNK_FLOOR = 0.020
"""Metres, the same between neck, shoulders and hips. Chosen: a trunk is no chain of bones."""
TRUNK = ("spine", "chest", "neck", "head", "clavicle", "upper_arm")
"""Bodies whose joint ends a bone of the trunk."""
SIZE_SPREAD = 0.045
"""Standard deviation of people's size, as a share of it. Chosen: about adults' heights."""
PROPORTION_SPREAD = 0.035
"""Standard deviation of each bone's share of the size. Chosen."""
REPEATED_SIGMA = 0.004
"""Metres that a joint or a marker of one person differs by between calibrations, at the most, on
account of what they are unsure of: what motion does not show the template says, in every take
alike. Chosen: at 4 mm halves of a real walk are one person, and two people two."""
CLEAR_ODDS = 2.0
"""Logarithm of the ratio of odds that settle it: e² is 7 to 1. Chosen."""


@dataclass(frozen=True, slots=True)
class ComparedBone:
    """One length in both calibrations; left and right taken together."""

    start: str
    """The body whose joint begins the bone, without its side."""
    end: str
    """The body whose joint ends it."""
    known: float
    new: float
    sigma: float
    """Of their difference, metres."""

    @property
    def name(self) -> str:
        return f"{self.start} to {self.end}"

    @property
    def change(self) -> float:
        return self.new - self.known


@dataclass(frozen=True, slots=True)
class Likeness:
    """How two calibrations compare."""

    bones: tuple[ComparedBone, ...]
    log_odds: float
    """Above 0 one person, below 0 two; natural logarithm."""

    @property
    def verdict(self) -> str:
        """``same``, ``other`` or ``open``."""
        if abs(self.log_odds) < CLEAR_ODDS:
            return "open"
        return "same" if self.log_odds > 0.0 else "other"

    @property
    def changed(self) -> tuple[ComparedBone, ...]:
        """Bones that differ by more than three standard deviations, most first."""
        far = [bone for bone in self.bones if abs(bone.change) > 3.0 * bone.sigma]
        return tuple(sorted(far, key=lambda bone: -abs(bone.change) / bone.sigma))


def compare(known: Skeleton, new: Skeleton) -> Likeness:
    """Lengths of bones between the bodies that both have and that carry the same markers."""
    first, second = _lengths(known, _alike(known, new)), _lengths(new, _alike(new, known))
    bones = []
    for ends in [ends for ends in first if ends in second]:
        (before, variance), (now, other) = first[ends], second[ends]
        floor = TRUNK_FLOOR if is_trunk(ends[1]) else LIMB_FLOOR
        sigma = float(np.sqrt(variance + other + floor**2))
        bones.append(ComparedBone(*ends, before, now, sigma))
    return Likeness(tuple(bones), _log_odds(bones))


def tell_apart(alone: Sequence[Skeleton | None], called: Sequence[str]) -> list[str]:
    """Tell which takes show another person than the first, by their calibrations alone (None where
    there is none) and the names of their files."""
    told, first = [], alone[0]
    for number, own in enumerate(alone[1:], 2):
        found = None if first is None or own is None else compare(first, own)
        if found is None or found.verdict != "other" or not found.changed:
            continue
        bone = max(found.changed, key=lambda bone: bone.known)
        told.append(
            f"two people? {bone.name} is {1e3 * bone.known:.0f} mm in take 1 ({called[0]}) and "
            f"{1e3 * bone.new:.0f} mm in take {number} ({called[number - 1]}); a rig for both is "
            "right for neither: solve each person on their own"
        )
    return told


def is_trunk(body: str) -> bool:
    """Return whether the joint of a body ends a bone of the trunk."""
    return _sideless(body) in TRUNK


def bone_sigma(skeleton: Skeleton, index: int) -> float:
    """Return how well the distance of a body's joint from its parent's is known, metres."""
    body, parent = skeleton.bodies[index], skeleton.parents[index]
    offset = skeleton.offsets[index]
    along = offset / max(float(np.linalg.norm(offset)), 1e-9)
    near = skeleton.bodies[parent].joint.covariance
    far = body.joint.covariance
    # the near joint is told in another frame: its mean over all directions stands in
    variance = 0.0 if near is None else float(np.trace(repeated(near))) / 3.0
    variance += 0.0 if far is None else float(along @ repeated(far) @ along)
    return float(np.sqrt(variance))


def repeated(covariance: Array) -> Array:
    """Return how far a point differs between calibrations of one person, (3, 3)."""
    values, vectors = np.linalg.eigh(without_gaps(covariance))
    return (vectors * np.clip(values, 0.0, REPEATED_SIGMA**2)) @ vectors.T


def _alike(skeleton: Skeleton, other: Skeleton) -> set[str]:
    """Bodies that carry mostly the same markers in both: a name found by motion may differ."""
    theirs = {body.name: {marker.name for marker in body.markers} for body in other.bodies}
    alike = set()
    for body in skeleton.bodies:
        own = {marker.name for marker in body.markers}
        if body.name in theirs and 2 * len(own & theirs[body.name]) >= len(own):
            alike.add(body.name)
    return alike


def _lengths(skeleton: Skeleton, bodies: set[str]) -> dict[tuple[str, str], tuple[float, float]]:
    """Length and variance of each bone, the mean of both sides; those of the root are left out,
    for its joint is a convention."""
    sides: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for index, (body, parent) in enumerate(zip(skeleton.bodies, skeleton.parents, strict=True)):
        if parent > 0 and body.name in bodies and skeleton.names[parent] in bodies:
            ends = _sideless(skeleton.names[parent]), _sideless(body.name)
            length = float(np.linalg.norm(skeleton.offsets[index]))
            sides.setdefault(ends, []).append((length, bone_sigma(skeleton, index) ** 2))
    return {
        ends: (
            sum(length for length, _ in both) / len(both),
            sum(variance for _, variance in both) / len(both) ** 2,
        )
        for ends, both in sides.items()
    }


def _sideless(name: str) -> str:
    return name.removeprefix("left_").removeprefix("right_")


def _log_odds(bones: Sequence[ComparedBone]) -> float:
    if not bones:
        return 0.0
    change = np.array([bone.change for bone in bones])
    length = np.array([bone.known for bone in bones])
    one = np.diag([bone.sigma**2 for bone in bones])
    two = (
        one + SIZE_SPREAD**2 * np.outer(length, length) + np.diag((PROPORTION_SPREAD * length) ** 2)
    )
    return _log_likelihood(change, one) - _log_likelihood(change, two)


def _log_likelihood(values: Array, covariance: Array) -> float:
    _, log_size = np.linalg.slogdet(covariance)
    return -0.5 * float(log_size + values @ np.linalg.solve(covariance, values))
