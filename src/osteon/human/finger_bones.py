"""Fingers of the average human: bones, and where markers sit on them.

Joints of a finger are called as anatomists call them: ``mcp``, ``pip`` and ``dip``; those of the
thumb ``cmc``, ``mcp`` and ``ip``. A landmark ``left_index_pip`` is on the skin over its joint, and
moves with the bone before it; ``left_index_pip_centre`` is the joint itself.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.maths import quat
from osteon.typing import Array

FINGERS = ("thumb", "index", "middle", "ring", "little")
BONE_COUNT = 3
"""Count of bones of a finger; of the thumb one is its metacarpal. Defined by anatomy."""
FINGER_JOINTS, THUMB_JOINTS = ("mcp", "pip", "dip", "tip"), ("cmc", "mcp", "ip", "tip")
ABOVE_JOINTS = (0.016, 0.012, 0.010, 0.009)
"""Metres from a joint, or from the bone below the nail, to a marker on the skin over it. Chosen:
half of a finger's thickness, 16 to 24 mm, and of a marker's, 6 mm."""
NAIL_SHARE = 0.8
"""Share of the last bone at which a marker on the nail sits. Chosen: nails end before the tip."""
FINGER_BODY = re.compile(rf"(left|right)_({'|'.join(FINGERS)})_[1-{BONE_COUNT}]")


@dataclass(frozen=True)
class Finger:
    """A finger of the template, straight in the rest pose."""

    name: str
    """With its side, as ``left_index``."""
    at: Array
    """(3,) its joint on the hand in the rest pose, metres."""
    along: Array
    """(3,) unit, from there to its tip."""
    curl: Array
    """(3,) unit, square to it: where the tip goes first when it bends."""
    lengths: Array
    """(3,) of its bones, metres."""

    @classmethod
    def of(
        cls, name: str, at: Sequence[float], along: Sequence[float], curl: Sequence[float], **rest
    ) -> "Finger":
        """Return a finger as a table tells it: directions need be neither units nor square."""
        ahead = quat.normalise(np.array(along, dtype=float))
        bend = np.array(curl, dtype=float)
        bend = quat.normalise(bend - ahead * (bend @ ahead))
        return cls(name, np.array(at, dtype=float), ahead, bend, np.array(rest["lengths"]))

    @property
    def hand(self) -> str:
        return f"{self.name.partition('_')[0]}_hand"

    @property
    def bodies(self) -> tuple[str, ...]:
        return tuple(f"{self.name}_{number}" for number in range(1, BONE_COUNT + 1))

    @property
    def joints(self) -> tuple[str, ...]:
        """What its joints, and last its tip, are called."""
        return THUMB_JOINTS if self.name.endswith("thumb") else FINGER_JOINTS

    def places(self) -> dict[str, tuple[str, Array]]:
        """Return landmark → the body it moves with, and its place in the rest pose."""
        ends = self.at + np.outer([0.0, *np.cumsum(self.lengths)], self.along)
        nail = ends[-2] + NAIL_SHARE * self.lengths[-1] * self.along
        found = {}
        before, own = (self.hand, *self.bodies), (*self.bodies, self.bodies[-1])
        for joint, body, centre, end, above in zip(
            self.joints, before, own, ends, ABOVE_JOINTS, strict=True
        ):
            under = nail if joint == "tip" else end
            found[f"{self.name}_{joint}"] = body, under - above * self.curl
            on_hand = joint == self.joints[0]
            found[f"{self.name}_{joint}_centre"] = self.hand if on_hand else centre, end
        return found


def is_finger(body: str) -> bool:
    """Return whether a body is called as a bone of a finger is."""
    return FINGER_BODY.fullmatch(body) is not None
