"""A skeleton standing in its rest pose, its human parts known."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from osteon.errors import BadValue, NotEnoughData
from osteon.human.parts import name_parts
from osteon.maths import chain, quat
from osteon.typing import Array
from osteon.values import Skeleton

NEXT = {
    "thigh": "shin",
    "shin": "foot",
    "foot": "toes",
    "clavicle": "upper_arm",
    "upper_arm": "forearm",
    "forearm": "hand",
}
"""The part that continues a bone."""
SHORTEST_SHARE = 0.01
"""Share of both legs' length that a bone has at least; chosen: less has no direction that could be
trusted."""
LEVEL_SHARE = 0.5
"""Share of a foot's length that lies along the ground where the figure stands on its soles; chosen:
a foot within 60° of level."""

LYING_COSINE = 0.7
"""Cosine of the angle between trunk and legs, below which the trunk lies across them; chosen: 45°,
and people rest with trunk and legs in one line."""
FRONT_LEGS_SHARE = 0.25
"""Share of the legs' length that hands hang above the feet at most where they are feet; chosen: a
person's arms end at mid-thigh."""


@dataclass(frozen=True, eq=False)
class StandingFigure:
    """A skeleton in its rest pose, its parts known."""

    skeleton: Skeleton
    parts: Mapping[str, str]
    rotations: Array
    """(n_bodies, 4) to the world at rest."""
    joints: Array
    """(n_bodies, 3)"""

    def joint(self, part: str) -> Array:
        return self.joints[self.skeleton.index(self.parts[part])]

    def middle(self, limb: str) -> Array | None:
        """Return the place midway between the two joints of a limb."""
        pair = [f"{side}_{limb}" for side in ("left", "right")]
        if not all(part in self.parts for part in pair):
            return None
        return 0.5 * (self.joint(pair[0]) + self.joint(pair[1]))

    def end(self, part: str) -> Array | None:
        """Return where the part's bone ends: at the next joint, or at the tip of the last bone,
        whose joint is as far as is known where it has none. None where the bone has no length."""
        side, _, limb = part.partition("_")
        following = f"{side}_{NEXT.get(limb, '')}"
        if following in self.parts and limb != "foot":
            return self.joint(following)
        body = self.skeleton.body(self.parts.get(following, self.parts[part]))
        while body.tip is None and (below := self.skeleton.children(body.name)):
            body = self.skeleton.body(below[0])
        index, end = self.skeleton.index(body.name), self.joints[self.skeleton.index(body.name)]
        if (tip := body.tip_from_joint) is not None:
            end = end + quat.rotate(self.rotations[index], tip)
        return (
            end if np.linalg.norm(end - self.joint(part)) > SHORTEST_SHARE * self.size() else None
        )

    def axes(self) -> Array:
        """Return (3, 3) columns: forward, left and up."""
        left = self.joint("left_thigh") - self.joint("right_thigh")
        hips, shoulders = self.middle("thigh"), self.middle("upper_arm")
        knees = self.middle("shin")
        assert hips is not None and knees is not None
        up = hips - knees if shoulders is None else shoulders - hips
        forward = quat.normalise(np.cross(left, up))
        up = quat.normalise(np.cross(forward, left))
        return np.stack([forward, np.cross(up, forward), up], axis=-1)

    def upright(self) -> Array:
        """Return (3,) the world's axis that is up: trunks lean, not worlds."""
        up = self.axes()[:, 2]
        return np.where(np.abs(up) == np.abs(up).max(), np.sign(up), 0.0)

    def sole(self, side: str) -> Array | None:
        """Return (3, 3) columns: along the sole, to its left and up from it; None where it does not
        stand.

        At rest a sole is level along its length. Across it leans as the leg does: legs may be
        spread.
        """
        end = self.end(f"{side}_foot") if f"{side}_foot" in self.parts else None
        if end is None:
            return None
        ankle, knee = self.joint(f"{side}_foot"), self.joint(f"{side}_shin")
        up = self.upright()
        foot = quat.normalise(end - ankle)
        along = foot - (foot @ up) * up
        left = np.cross(quat.normalise(knee - ankle), quat.normalise(along))
        if min(np.linalg.norm(along), np.linalg.norm(left)) < LEVEL_SHARE:
            return None
        along, left = quat.normalise(along), quat.normalise(left)
        return np.stack([along, left, np.cross(along, left)], axis=-1)

    def on_four_legs(self) -> bool:
        """Return whether it rests on its hands too, its trunk lying between: a creature whose bones
        are called as a person's."""
        hips, feet, shoulders, hands = map(self.middle, ("thigh", "foot", "upper_arm", "hand"))
        if hips is None or feet is None or shoulders is None or hands is None:
            return False
        leg, trunk = feet - hips, hips - shoulders
        down = quat.normalise(leg)
        lying = abs(down @ quat.normalise(trunk)) < LYING_COSINE
        above = float((feet - hands) @ down)
        return bool(lying and above < FRONT_LEGS_SHARE * float(np.linalg.norm(leg)))

    def size(self) -> float:
        """Return the length of both legs' bones, metres."""
        bones = [("thigh", "shin"), ("shin", "foot")]
        return sum(
            float(np.linalg.norm(self.joint(f"{side}_{lower}") - self.joint(f"{side}_{upper}")))
            for side in ("left", "right")
            for upper, lower in bones
            if f"{side}_{lower}" in self.parts
        )


def figure_at_rest(
    skeleton: Skeleton,
    parts: Mapping[str, str] | None = None,
    rest: Array | None = None,
    table: str = "bodies",
) -> StandingFigure:
    """Return the skeleton standing in its rest pose; ``rest`` (n_bodies, 4) where it is not the
    joints' own. For ``parts`` and ``table`` see ``name_parts``."""
    if not skeleton.bodies:
        raise NotEnoughData("the skeleton has no bodies, so nothing can stand or move")
    own = skeleton.rest if rest is None else rest
    rotations, joints = chain.forward_kinematics(own, skeleton.offsets, skeleton.parents)
    found = StandingFigure(skeleton, name_parts(skeleton, parts, table), rotations, joints)
    if not np.isfinite(found.axes()).all() or found.size() < 1e-6:
        raise BadValue(
            f"skeleton {skeleton.subject!r} has legs of length {found.size():.3g} m at rest; "
            "check its scale"
        )
    if not parts and found.on_four_legs():
        raise NotEnoughData(
            "the skeleton rests on four legs, its hands as low as its feet, and is taken for no "
            f'human; where it is one, name its parts in a mapping file: [{table}] left_thigh = "…"'
        )
    return found
