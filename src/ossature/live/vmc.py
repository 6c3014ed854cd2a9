"""Poses to avatars by the Virtual Motion Capture protocol: OSC over UDP, as VSeeFace, Unity and
Unreal plug-ins and Warudo listen to.

Bones are told as turns from a T-pose in which every bone's frame lies like the world's, in a
left-handed world: x right, y up, z forward.
"""

import contextlib
import socket

import numpy as np
from numba import njit

from ossature.live.osc import bundle, message
from ossature.live.session import LivePose
from ossature.maths import quat
from ossature.maths import quat_kernel as one
from ossature.values import Skeleton
from ossature.values.arrays import Array

PORT = 39539
"""Where receivers listen unless told otherwise."""
BONE = "/VMC/Ext/Bone/Pos"

_TRUNK = {"pelvis": "Hips", "spine": "Spine", "chest": "Chest", "neck": "Neck", "head": "Head"}
_LIMBS = {
    "clavicle": "Shoulder",
    "upper_arm": "UpperArm",
    "forearm": "LowerArm",
    "hand": "Hand",
    "thigh": "UpperLeg",
    "shin": "LowerLeg",
    "foot": "Foot",
    "toes": "Toes",
}
_ARM = ("clavicle", "upper_arm", "forearm", "hand")
_DOWN = ("thigh", "shin")
_UP = ("spine", "chest", "neck", "head")

_TO_UNITY = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
"""From x forward, y left, z up; a mirror, for the other world is left-handed."""


def bone_name(body: str) -> str:
    """The humanoid bone of a body of ours; other bodies keep their name."""
    side, _, limb = body.partition("_")
    if side in ("left", "right") and limb in _LIMBS:
        return side.capitalize() + _LIMBS[limb]
    return _TRUNK.get(body, body)


def t_pose(skeleton: Skeleton) -> Array:
    """(n_bodies, 4) to the world from each body's frame, arms to the sides and legs down.

    A body whose bone has no place in a T-pose stands to its parent as at rest.
    """
    parents = np.array(skeleton.parents)
    ways = np.array([_way(body.name) for body in skeleton.bodies])
    return _stood(parents, _bones(skeleton), ways)


@njit(cache=True)
def _stood(parents, arms, ways):
    """Bones (n, 3) turned their ways, from the root outwards. Compiled: a frame is waiting."""
    turned = np.zeros((len(parents), 4))
    turned[:, 0] = 1.0
    for i in range(len(parents)):
        if parents[i] < 0:
            continue
        q, arm = turned[parents[i]], arms[i]
        turned[i] = q
        if np.isfinite(ways[i, 0]) and one.dot(arm, arm) > 0.0:
            turn = one.multiply(one.shortest(one.rotate(q, arm), ways[i]), q)
            turned[i, 0], turned[i, 1], turned[i, 2], turned[i, 3] = turn
    return turned


def _way(name: str) -> tuple[float, float, float]:
    """Where the bone of a body points; NaN where a T-pose does not say."""
    side, _, limb = name.partition("_")
    if limb in _ARM:
        return (0.0, 1.0, 0.0) if side == "left" else (0.0, -1.0, 0.0)
    if limb in _DOWN:
        return (0.0, 0.0, -1.0)
    return (0.0, 0.0, 1.0) if name in _UP else (np.nan, np.nan, np.nan)


def _bones(skeleton: Skeleton) -> Array:
    """(n_bodies, 3) from each joint to the end of its bone, in the body's frame; 0 if unknown."""
    parents, offsets = skeleton.parents, skeleton.offsets
    ends = np.zeros((len(parents), 3))
    for index, (body, parent) in enumerate(zip(skeleton.bodies, parents, strict=True)):
        if parent >= 0 and parents.count(parent) == 1:
            ends[parent] = offsets[index]
        if body.tip is not None:
            ends[index] = body.tip - body.joint.in_body
    return ends


class VmcSender:
    """Sends every pose as one datagram."""

    def __init__(self, host: str, port: int, *, rate: float) -> None:
        self._address, self._rate = (host, port), rate
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._of: Skeleton | None = None
        nobody = np.zeros((0, 3))
        _stood(np.zeros(0, dtype=np.int64), nobody, nobody)  # no frame may wait for a compiler

    def send(self, pose: LivePose) -> None:
        with contextlib.suppress(OSError):  # nobody listens there yet; a stage goes on
            self._socket.sendto(self.packet(pose), self._address)

    def close(self) -> None:
        self._socket.close()

    def packet(self, pose: LivePose) -> bytes:
        if self._of is not pose.skeleton:
            self._learn(pose.skeleton)
        turned = quat.multiply(pose.world, self._back)
        above = np.where(self._has_parent[:, None], turned[self._parents], quat.identity())
        local = quat.between(above, turned)
        places = self._places.copy()
        places[0] = pose.joints[0]
        moved = places @ _TO_UNITY.T
        # a mirror turns rotations the other way round the mirrored axis
        axis = -local[:, 1:] @ _TO_UNITY.T
        rows = np.concatenate([moved, axis, local[:, :1]], axis=1).astype(">f4")
        bones = [head + row.tobytes() for head, row in zip(self._heads, rows, strict=True)]
        root = message("/VMC/Ext/Root/Pos", "root", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
        ok, when = message("/VMC/Ext/OK", 1), message("/VMC/Ext/T", pose.number / self._rate)
        return bundle([ok, when, root, *bones])

    def _learn(self, skeleton: Skeleton) -> None:
        if self._of is None or self._of.names != skeleton.names:
            blank = [message(BONE, bone_name(name), *[0.0] * 7) for name in skeleton.names]
            self._heads = [each[: -7 * 4] for each in blank]  # only the seven numbers change
        standing = t_pose(skeleton)
        parents = np.array(skeleton.parents)
        self._of, self._back = skeleton, quat.inverse(standing)
        self._has_parent, self._parents = parents >= 0, np.maximum(parents, 0)
        self._places = quat.rotate(standing[self._parents], skeleton.offsets)
