"""Poses to avatars by the Virtual Motion Capture protocol: OSC over UDP, as VSeeFace, Unity and
Unreal plug-ins and Warudo listen to.

Bones are told as turns from a T-pose in which every bone's frame lies like the world's, in a
left-handed world: x right, y up, z forward.
"""

import socket

import numpy as np

from osteon.errors import OsteonError
from osteon.human import is_finger
from osteon.live.osc import Form, bundle, message
from osteon.live.performance import LivePose
from osteon.live.stream_frames import Dropped
from osteon.maths import _quat_kernel as one, kernel, quat
from osteon.typing import Array
from osteon.values import Skeleton

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
_FINGER = ("Proximal", "Intermediate", "Distal")
_THUMB = ("Metacarpal", "Proximal", "Distal")
_ARM = ("clavicle", "upper_arm", "forearm", "hand")
_DOWN = ("thigh", "shin")
_UP = ("spine", "chest", "neck", "head")


def bone_name(body: str) -> str:
    """Return the humanoid bone of a body of ours; other bodies keep their name."""
    side, _, limb = body.partition("_")
    if side in ("left", "right") and limb in _LIMBS:
        return side.capitalize() + _LIMBS[limb]
    if is_finger(body):
        finger, _, bone = limb.partition("_")
        parts = _THUMB if finger == "thumb" else _FINGER
        return side.capitalize() + finger.capitalize() + parts[int(bone) - 1]
    return _TRUNK.get(body, body)


def t_pose(skeleton: Skeleton) -> Array:
    """Return (n_bodies, 4) to the world from each body's frame, arms to the sides and legs down.

    A body whose bone has no place in a T-pose stands to its parent as at rest.
    """
    parents = np.array(skeleton.parents)
    ways = np.array([_way(body.name) for body in skeleton.bodies])
    return _stood(parents, _bones(skeleton), ways)


@kernel
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
    """Return where the bone of a body points; NaN where a T-pose does not say."""
    side, _, limb = name.partition("_")
    if limb in _ARM:
        return (0.0, 1.0, 0.0) if side == "left" else (0.0, -1.0, 0.0)
    if limb in _DOWN:
        return (0.0, 0.0, -1.0)
    return (0.0, 0.0, 1.0) if name in _UP else (np.nan, np.nan, np.nan)


def _bones(skeleton: Skeleton) -> Array:
    """Return (n_bodies, 3) from each joint to the end of its bone, in the body's frame; 0 if
    unknown."""
    ends = np.zeros((len(skeleton.bodies), 3))
    for index, body in enumerate(skeleton.bodies):
        bones = skeleton.bone_ends(index)
        if len(bones) == 1 or body.tip_from_joint is not None:
            ends[index] = bones[-1]  # the tip comes last
    return ends


def _resolve(host: str, port: int) -> tuple[str, int]:
    """Resolve the address to numbers: once, not with every pose."""
    try:
        return socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)[0][4][:2]  # type: ignore[return-value]
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "not a name"
        raise OsteonError(
            f"cannot send poses to {host}:{port}: {why}; is the name of the host right?"
        ) from None


class PacketSender:
    """Sends something of every pose as one datagram; who inherits says what."""

    what = "a pose"

    def __init__(self, host: str, port: int) -> None:
        self._address = _resolve(host, port)
        self.dropped = Dropped()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def packet(self, pose: LivePose) -> bytes:
        raise NotImplementedError

    def send(self, pose: LivePose) -> None:
        try:
            self._socket.sendto(self.packet(pose), self._address)
        except OSError as error:  # a stage goes on, and the network may come back
            host, port = self._address
            told = f"{self.what} cannot be sent to {host}:{port}: {error.strerror}"
            self.dropped.add("poses that could not be sent", told)

    def close(self) -> None:
        self._socket.close()


class VmcSender(PacketSender):
    """Sends every pose as one datagram."""

    def __init__(self, host: str, port: int, *, rate: float) -> None:
        super().__init__(host, port)
        self._rate = rate
        self._of: Skeleton | None = None
        nobody, nowhere = np.zeros((0, 3)), np.zeros((0, 4))
        _stood(np.zeros(0, dtype=np.int64), nobody, nobody)  # no frame may wait for a compiler
        _tell(nowhere, nowhere, np.zeros(0, dtype=np.int64), nobody, np.zeros(3), nowhere)

    def packet(self, pose: LivePose) -> bytes:
        if self._of is not pose.skeleton:
            self._learn(pose.skeleton)
        numbers = np.empty(1 + 7 * len(pose.world))
        numbers[0] = pose.number / self._rate
        bones = numbers[1:].reshape(-1, 7)
        _tell(pose.world, self._standing, self._parents, self._places, pose.joints[0], bones)
        return self._form.packet(numbers)

    def _learn(self, skeleton: Skeleton) -> None:
        if self._of is None or self._of.names != skeleton.names:
            names = [bone_name(name) for name in skeleton.names]
            self._form = Form(lambda value: _fill(names, float(value)))
        self._of, self._standing = skeleton, t_pose(skeleton)
        self._parents = np.array(skeleton.parents, dtype=np.int64)
        self._places = quat.rotate(self._standing[np.maximum(self._parents, 0)], skeleton.offsets)


def _fill(names: list[str], value: float) -> bytes:
    """Return a pose of these bones with this for every number that changes."""
    root = message("/VMC/Ext/Root/Pos", "root", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    bones = [message(BONE, name, *[value] * 7) for name in names]
    return bundle([message("/VMC/Ext/OK", 1), message("/VMC/Ext/T", value), root, *bones])


@kernel
def _tell(world, standing, parents, places, root, bones):
    """Place and turn (n, 7) of every bone from its parent's, as from the T-pose; mirrored."""
    for i in range(len(parents)):
        turn, place = one.multiply(world[i], one.inverse(standing[i])), places[i]
        if parents[i] < 0:
            place = root
        else:
            above = one.multiply(world[parents[i]], one.inverse(standing[parents[i]]))
            turn = one.between(above, turn)
        # x forward, y left, z up becomes x right, y up, z forward: a mirror, which turns rotations
        # the other way round the mirrored axis
        bones[i, 0], bones[i, 1], bones[i, 2] = -place[1], place[2], place[0]
        bones[i, 3], bones[i, 4], bones[i, 5] = turn[2], -turn[3], -turn[1]
        bones[i, 6] = turn[0]
