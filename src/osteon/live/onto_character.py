"""The performer's poses on a character, for everybody who listens."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.errors import OsteonError
from osteon.human import OWN, naming_of, rename_bodies
from osteon.live.performance import LivePose
from osteon.live.run_stream import Listener
from osteon.live.stream_frames import Say, StreamFrame
from osteon.maths import forward_pose
from osteon.retargeting import StreamCharacter
from osteon.typing import unheard
from osteon.values import Skeleton


class OntoCharacter:
    """A listener that hands a character's pose on to others.

    The character's bodies are called by our names where they are known: receivers ask for them.
    """

    def __init__(
        self, character: Skeleton, rate: float, listeners: Sequence[Listener], say: Say = unheard
    ) -> None:
        naming = naming_of(character, OWN)
        called = rename_bodies(character, naming.names, f"called by {OWN} names")
        self.skeleton = replace(called, events=())
        self._character = StreamCharacter(self.skeleton, rate)
        self._parents = np.array(called.parents, dtype=np.int64)
        self._offsets = np.array(called.offsets)
        self._listeners, self._say = listeners, say
        self._learnt: Skeleton | None = None

    def __call__(self, frame: StreamFrame, pose: LivePose) -> None:
        if not self._character.knows(pose.skeleton):
            self._learn(pose.skeleton)
        if self._character.knows(pose.skeleton):
            moved = self.carry(pose)
            for listener in self._listeners:
                listener(frame, moved)
        if pose.skeleton is not self._learnt:  # a better calibration: when the pose is out
            self._learn(pose.skeleton)

    def carry(self, pose: LivePose) -> LivePose:
        """Return the character's pose."""
        rotations, root = self._character.follow(pose.number, pose.world, pose.joints)
        world, joints = forward_pose(rotations, root, self._offsets, self._parents)
        return replace(
            pose, skeleton=self.skeleton, rotations=rotations, world=world, joints=joints
        )

    def _learn(self, performer: Skeleton) -> None:
        """Be led by a performer; tell once where that cannot be."""
        if performer is self._learnt:
            return
        self._learnt = performer
        try:
            self._character.learn(performer)
        except OsteonError as error:
            self._say(f"the character stays as it is: {error}")
