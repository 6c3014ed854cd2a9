"""A solved motion changed by hand, one edit after the other, with the way back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.edits.motion_edits import MotionEdit
from osteon.posing import Contact
from osteon.typing import Array
from osteon.values import Motion, Skeleton


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

    def __init__(
        self, solved: Motion, contacts: Sequence[Contact] = (), by_hand: Skeleton | None = None
    ) -> None:
        """Begin with a solved motion; ``by_hand`` as in :class:`Solved`."""
        self.solved, self._by_hand = solved, by_hand
        self.rotations, self.root = np.array(solved.rotations), np.array(solved.root)
        self.contacts = tuple(contacts)
        self.patches: list[MotionPatch] = []

    @property
    def n_frames(self) -> int:
        return len(self.root)

    def apply(self, edit: MotionEdit) -> MotionPatch:
        """Make an edit; refuse what cannot be done, and change nothing then."""
        first, last = edit.frames(self.solved.rate, self.n_frames)
        now = self.window(first, last)
        then = edit.change(now, first, self._by_hand)
        patch = MotionPatch(first, last, now.rotations, now.root, self.contacts)
        frames = slice(first, last + 1)
        self.rotations[frames], self.root[frames] = then.rotations, then.root
        self.contacts = edit.change_contacts(self.contacts, self.n_frames)
        self.patches.append(patch)
        return patch

    def undo(self) -> MotionPatch:
        """Take the last edit back."""
        patch = self.patches.pop()
        self.rotations[patch.first : patch.last + 1] = patch.rotations
        self.root[patch.first : patch.last + 1] = patch.root
        self.contacts = patch.contacts
        return patch

    def motion(self) -> Motion:
        """Return the whole motion as it is now."""
        return replace(self.solved, rotations=self.rotations, root=self.root)

    def window(self, first: int, last: int, stride: int = 1) -> Motion:
        """Return the motion of some frames as it is now, without marks and held frames."""
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
        """Return rotations and joints of some frames in the world."""
        return self.window(first, last, stride).world()
