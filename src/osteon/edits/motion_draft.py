"""A solved motion changed by hand, one edit after the other, with the way back."""

from dataclasses import dataclass, replace

import numpy as np

from osteon.edits.model import SetPlant
from osteon.edits.motion_edits import MotionEdit, changed_frames, changed_window, with_plant
from osteon.pipeline import Solved
from osteon.posing import Contact
from osteon.typing import Array
from osteon.values import Motion


@dataclass(frozen=True, slots=True, eq=False)
class MotionPatch:
    """Frames and contacts as they were before an edit."""

    first: int
    last: int
    rotations: Array
    root: Array
    contacts: tuple[Contact, ...]


class MotionDraft:
    """Poses as edited so far. Every edit touches its own frames only."""

    def __init__(self, done: Solved) -> None:
        self.solved, self._by_hand = done.motion, done.by_hand
        motion = done.motion
        self.rotations, self.root = np.array(motion.rotations), np.array(motion.root)
        self.contacts = done.contacts
        self.patches: list[MotionPatch] = []

    @property
    def n_frames(self) -> int:
        return len(self.root)

    def apply(self, edit: MotionEdit) -> MotionPatch:
        """Make an edit; what it cannot do is refused and nothing changes."""
        first, last = changed_frames(edit, self.solved.rate, self.n_frames)
        now = self.window(first, last)
        then = changed_window(now, first, edit, self._by_hand)
        patch = MotionPatch(first, last, now.rotations, now.root, self.contacts)
        self._put(first, last, then)
        if isinstance(edit, SetPlant):
            self.contacts = with_plant(self.contacts, edit, self.solved)
        self.patches.append(patch)
        return patch

    def undo(self) -> MotionPatch:
        """Take the last edit back."""
        patch = self.patches.pop()
        self.rotations[patch.first : patch.last + 1] = patch.rotations
        self.root[patch.first : patch.last + 1] = patch.root
        self.contacts = patch.contacts
        return patch

    def window(self, first: int, last: int, stride: int = 1) -> Motion:
        """The motion of some frames, as it is now."""
        frames, motion = slice(first, last + 1, stride), self.solved
        return replace(
            motion,
            rotations=self.rotations[frames],
            root=self.root[frames],
            offsets=None if motion.offsets is None else motion.offsets[frames],
            marks=(),
            held=(),
        )

    def world(self, first: int, last: int, stride: int = 1) -> tuple[Array, Array]:
        """Rotations and joints of some frames in the world."""
        return self.window(first, last, stride).world()

    def _put(self, first: int, last: int, then: Motion) -> None:
        self.rotations[first : last + 1], self.root[first : last + 1] = then.rotations, then.root
