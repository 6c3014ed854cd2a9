"""Improbable poses told while they happen, and joint angles sent out, frame by frame. [002]."""

from collections import deque

import numpy as np

from osteon.anatomy import learn, parameterise
from osteon.errors import BadValue
from osteon.live.osc import message
from osteon.live.performance import LivePose
from osteon.live.stream_frames import Say
from osteon.live.vmc import PacketSender
from osteon.maths import quat
from osteon.typing import Array, unheard
from osteon.values import Motion, Skeleton

WATCHED_FRAMES = 3
"""Count of frames that are looked at together, one time in as many. Chosen: steps between frames
count too, and a look takes as long as several poses."""
QUIET_SECONDS_AFTER = 0.5
"""Seconds after which a limb that is improbable again is told again. Chosen: one fault is told
once."""
ANGLES = "/osteon/angles"


class PoseWatch:
    """Tells when a limb stands as it never does in a clean motion of the same person."""

    def __init__(self, clean: Motion, rate: float, say: Say = unheard) -> None:
        self._watch, self._rate = learn([clean]), rate
        self._names = set(clean.skeleton.names)  # files may order bodies otherwise
        self._say, self._told_other = say, False
        self._recent: deque[LivePose] = deque(maxlen=WATCHED_FRAMES)
        self._seen = 0
        self.spans: list[tuple[str, int, int]] = []
        """Limb, first and last frame by their numbers in the stream."""

    def look(self, pose: LivePose) -> None:
        """Look at a pose together with those just before it."""
        if set(pose.skeleton.names) != self._names:
            if not self._told_other:
                self._say("poses are not watched: the clean motion is of another skeleton")
            self._told_other = True
            return
        self._recent.append(pose)
        self._seen += 1
        if len(self._recent) < WATCHED_FRAMES or self._seen % WATCHED_FRAMES:
            return
        poses = list(self._recent)
        rotations = np.stack([each.rotations for each in poses])
        roots = np.stack([each.joints[0] for each in poses])
        motion = Motion(pose.skeleton, rotations, roots, self._rate)
        for number, limb in zip(
            [each.number for each in poses], self._watch.check(motion).blamed, strict=True
        ):
            if limb is not None:
                self._tell(limb, number)

    def _tell(self, limb: str, number: int) -> None:
        for row, (name, first, last) in enumerate(self.spans):
            if name == limb and number - last <= QUIET_SECONDS_AFTER * self._rate:
                self.spans[row] = (name, first, number)
                return
        self.spans.append((limb, number, number))
        self._say(f"frame {number}: {limb} stands as it never does in the clean motion")


class AngleSender(PacketSender):
    """Sends every pose's joint angles as one datagram: number, then name and degrees in turn.

    About the person's movement axes where the skeleton has them (``left_thigh.bend``), else the
    rotation vector from rest in the parent's frame (``left_thigh.x``).
    """

    what = "angles"

    def packet(self, pose: LivePose) -> bytes:
        values: list[str | float] = []
        for name, angle in zip(*angles_of(pose.skeleton, pose.rotations), strict=True):
            values += [name, float(np.degrees(angle))]
        return message(ANGLES, pose.number, *values)


def angles_of(skeleton: Skeleton, rotations: Array) -> tuple[list[str], Array]:
    """Return names and radians of all joints' angles in a pose (n_bodies, 4)."""
    if len(rotations) != len(skeleton.bodies):
        raise BadValue(f"a pose of {len(skeleton.bodies)} bodies is needed, got {len(rotations)}")
    names: list[str] = []
    angles: list[float] = []
    vectors = quat.log(rotations)
    for index, body in enumerate(skeleton.bodies):
        if body.parent is None:
            continue
        if body.movement is None:
            names += [f"{body.name}.{axis}" for axis in "xyz"]
            angles += vectors[index].tolist()
        else:
            names += [f"{body.name}.{word}" for word in body.movement.parameters]
            angles += parameterise(rotations[None, index], body.movement).angles[0].tolist()
    return names, np.array(angles)
