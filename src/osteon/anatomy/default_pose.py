"""The default pose and the three planes of the body. [002] §3; docs/methods.md §9."""

from dataclasses import dataclass

import numpy as np

from osteon.errors import NotEnoughData
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Motion, Skeleton

FEWEST_JOINTS = 4
"""Count of joints that a plane through a body needs; derived: three always lie in one."""
LOOK_RATE = 10.0
"""Frames looked at per second; chosen: a default pose is held longer than a tenth of one."""
ENOUGH_POSES, MOST_POSES = 500, 1500
"""Count of poses that are always looked at, where there are as many, and that are looked at at all;
chosen: time."""
ALIKE_COST = 0.05
"""Ratio without unit, as all costs (docs/methods.md §9): difference at which a pose has e^−½ of the
weight of the best one. Chosen: a pose dearer by a twentieth is clearly another."""
LEAST_WEIGHT = 0.1
"""Share of the best pose's weight below which a pose has none; chosen: many poor poses must not
outweigh few good ones."""
STEADY_SHARE = 0.02
"""Share of the body's size by which a joint may move about and count in full; chosen: less says
nothing of what a body does."""
UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class PoseCosts:
    """How far each pose is from standing upright with the arms hanging; numbers without unit."""

    frames: np.ndarray
    """(n,) which frames of the motion were looked at."""
    flatness: Array
    """(n,) rms distance of the joints from their best plane, by body size."""
    width: Array
    """(n,) short edge of the joints' bounding box in that plane, by long edge."""
    spread: Array
    """(n,) mean distance of the joints from their centre, by body size."""
    normal: Array
    """(n, 3) unit normal of the plane in the world, of either sign."""
    lean: Array
    """(n,) angle between the long edge and the vertical, radians."""

    @property
    def total(self) -> Array:
        return self.flatness + self.width + self.spread

    @property
    def best(self) -> int:
        """Place in ``frames`` of the default pose: the cheapest of those that stand, if any do."""
        stands = self.lean < np.pi / 4
        total = np.where(stands, self.total, np.inf) if stands.any() else self.total
        return int(np.argmin(total))

    @property
    def say(self) -> Array:
        """(n,) weight of each pose in the body's layout: the best 1, dearer ones less."""
        stands = (self.lean < np.pi / 4) | (self.lean[self.best] >= np.pi / 4)
        dearer = np.maximum(self.total - self.total[self.best], 0.0) / ALIKE_COST
        say = np.where(stands, np.exp(-0.5 * dearer**2), 0.0)
        return np.where(say >= LEAST_WEIGHT, say, 0.0)


def looked_at(motion: Motion) -> np.ndarray:
    """Frames to look at: some per second, and only such as have a pose."""
    known = np.isfinite(motion.rotations[..., 0]).all(axis=1) & np.isfinite(motion.root[:, 0])
    posed = np.flatnonzero(known)
    if not len(posed):
        raise NotEnoughData("no frame has a whole pose, so there is no default pose to find")
    n = len(posed)
    stride = max(1, int(min(motion.rate / LOOK_RATE, n / ENOUGH_POSES)), -(-n // MOST_POSES))
    return posed[::stride]


def pose_costs(frames: np.ndarray, joints: Array, skeleton: Skeleton) -> PoseCosts:
    """Return the terms of the default pose's cost for joints (n, n_bodies, 3) in the world."""
    weights, size = joint_weights(skeleton), body_size(skeleton)
    if np.count_nonzero(weights) < FEWEST_JOINTS:
        raise NotEnoughData(
            f"the skeleton has {np.count_nonzero(weights)} joints that bones connect; "
            f"body planes need {FEWEST_JOINTS}"
        )
    joints, weights = joints[:, weights > 0.0], weights[weights > 0.0] / weights.sum()
    centred = joints - (weights @ joints)[:, None]
    covariance = np.matmul((centred * weights[:, None]).transpose(0, 2, 1), centred)
    values, vectors = np.linalg.eigh(covariance)
    flat = np.matmul(centred, vectors[..., 1:])
    edges = flat.max(axis=1) - flat.min(axis=1)
    return PoseCosts(
        frames=frames,
        flatness=np.sqrt(np.maximum(values[:, 0], 0.0)) / size,
        width=edges.min(axis=1) / edges.max(axis=1),
        spread=np.linalg.norm(centred, axis=-1) @ weights / size,
        normal=vectors[..., 0],
        lean=np.arccos(np.clip(np.abs(vectors[:, 2, 2]), 0.0, 1.0)),
    )


def joint_weights(skeleton: Skeleton) -> Array:
    """Return (n_bodies,) bone that meets at each joint, metres: fingers count less than thighs.

    The root's own origin lies where a sensor sat and counts nothing.
    """
    lengths = bone_lengths(skeleton)
    weights = lengths.copy()
    for index, parent in enumerate(skeleton.parents):
        if parent >= 0:
            weights[parent] += lengths[index]
    return np.where(np.array(skeleton.parents) < 0, 0.0, weights)


def bone_lengths(skeleton: Skeleton) -> Array:
    """Return (n_bodies,) from the parent's joint to each joint, metres.

    Joints on the root, whose origin may be anywhere, are measured from their own middle.
    """
    offsets = np.array(skeleton.offsets)
    on_root = [i for i, p in enumerate(skeleton.parents) if p >= 0 and skeleton.parents[p] < 0]
    if on_root:
        offsets[on_root] -= offsets[on_root].mean(axis=0)
    return np.linalg.norm(offsets, axis=-1)


def body_size(skeleton: Skeleton) -> float:
    """Return the longest way along the bones from one joint to another, metres."""
    lengths = bone_lengths(skeleton)
    below = np.zeros(len(lengths))
    longest = 0.0
    for index in range(len(lengths) - 1, 0, -1):
        parent = skeleton.parents[index]
        if parent < 0:
            continue
        arm = below[index] + lengths[index]
        longest = max(longest, below[parent] + arm)
        below[parent] = max(below[parent], arm)
    return float(longest)


def body_axes(front: Array, up: Array = UP) -> Array:
    """Return (..., 3, 3) right, front and up as columns, of the frontal plane's normal (..., 3).

    Up is the direction in the frontal plane nearest to ``up``: the transverse plane's normal.
    """
    up = quat.normalise(up - front * np.sum(front * up, axis=-1, keepdims=True))
    return np.stack([np.cross(front, up), front, up], axis=-1)


def frontal_normal(joints: Array, unrest: Array, skeleton: Skeleton) -> Array:
    """Return (3,) normal of the best plane through joints (n_bodies, 3), of either sign.

    Joints count less the more they move about, ``unrest`` (n_bodies,) metres rms: shoulders and
    hips tell the body's layout, hands tell what it does.
    """
    weights = joint_weights(skeleton) / (unrest**2 + (STEADY_SHARE * body_size(skeleton)) ** 2)
    centred = joints - weights @ joints / weights.sum()
    return np.linalg.eigh((weights[:, None] * centred).T @ centred)[1][:, 0]
