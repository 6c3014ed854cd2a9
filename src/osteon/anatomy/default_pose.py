"""The default pose, the three planes of the body, and which side is its front. [002] §3.

A plane's normal has no sign, so evidence decides on the front. docs/methods.md §9.
"""

import re
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
WITNESS_WEIGHTS = {"sides": 3.0, "feet": 2.0, "knees": 1.5, "walking": 1.0}
"""Ratios of what each kind of evidence counts (docs/methods.md §9); chosen: names say it outright,
people may walk backwards."""
WALKING_SPEED = 0.3
"""Metres per second from which a body goes somewhere; chosen: a quarter of a usual walk."""
GROUND_SHARE = 0.15
"""Share of the body's size above the lowest end below which ends are ends of legs; chosen: hands
that hang are higher."""
BEND_SHARE = 0.01
"""Share of the body's size by which a knee must leave the straight line to say anything; chosen:
joint centres are no better known."""

_SIDES = (
    (re.compile(r"left", re.I), "right"),
    (re.compile(r"^l(?=[a-z_A-Z])"), "r"),
    (re.compile(r"^L(?=[_A-Z])"), "R"),
    (re.compile(r"(?<=[_.])l$"), "r"),
    (re.compile(r"(?<=[_.])L$"), "R"),
)


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


@dataclass(frozen=True)
class FrontEvidence:
    """What speaks for the side taken as front, each from −1 (against) to 1 (for)."""

    votes: dict[str, float]
    """By ``sides`` (names), ``feet``, ``knees`` and ``walking``; only what the take shows."""
    confidence: float
    """0 nothing is known, 1 all evidence agrees and is strong."""


@dataclass(frozen=True, eq=False)
class RestPoses:
    """World poses of the frames that were looked at."""

    frames: np.ndarray
    rotations: Array
    """(n, n_bodies, 4)"""
    joints: Array
    """(n, n_bodies, 3)"""


def decide_front(
    motion: Motion, poses: RestPoses, best: int, guess: Array
) -> tuple[Array, FrontEvidence]:
    """Return the unit front (3,) in the root's frame, ``guess`` or its opposite, and what speaks
    for it.

    Parameters
    ----------
    best : int
        Place of the default pose among ``poses``.
    guess : (3,)
        The frontal plane's normal in the root's frame.
    """
    fronts = quat.rotate(poses.rotations[:, 0], guess)
    found = {
        "sides": _sides(motion.skeleton, poses, best, fronts),
        "feet": _feet(motion.skeleton, poses, best, fronts),
        "knees": _knees(motion.skeleton, poses, best, fronts),
        "walking": _walking(motion, poses, fronts),
    }
    votes = {kind: vote for kind, vote in found.items() if vote is not None}
    total = sum(WITNESS_WEIGHTS[kind] for kind in votes)
    balance = sum(WITNESS_WEIGHTS[kind] * vote for kind, vote in votes.items())
    sign = -1.0 if balance < 0.0 else 1.0
    signed = {kind: round(sign * vote, 4) for kind, vote in votes.items()}
    return sign * guess, FrontEvidence(signed, round(abs(balance) / total, 4) if total else 0.0)


def other_side(name: str, names: set[str]) -> str | None:
    """Return the right body that belongs to a left one, judged by their names."""
    for left, right in _SIDES:
        match = left.search(name)
        if match is None:
            continue
        word = right.capitalize() if match[0][0].isupper() else right
        mirrored = name[: match.start()] + word + name[match.end() :]
        if mirrored in names and mirrored != name:
            return mirrored
    return None


def _sides(skeleton: Skeleton, poses: RestPoses, best: int, fronts: Array) -> float | None:
    names = set(skeleton.names)
    pairs = [(name, other_side(name, names)) for name in skeleton.names]
    pairs = [(skeleton.index(a), skeleton.index(b)) for a, b in pairs if b is not None]
    joints = poses.joints[best]
    apart = np.sum([joints[right] - joints[left] for left, right in pairs], axis=0)
    if not pairs or np.linalg.norm(apart) < 1e-9:
        return None
    return float(quat.normalise(apart) @ body_axes(fronts[best])[:, 0])


def _feet(skeleton: Skeleton, poses: RestPoses, best: int, fronts: Array) -> float | None:
    votes = []
    for chain in _legs(skeleton, poses, best):
        toe = _chain_points(skeleton, chain, poses, slice(best, best + 1))[0]
        foot = toe[-1] - toe[-2] if len(toe) > 1 else np.zeros(3)
        level = np.hypot(foot[0], foot[1])
        if level > 0.5 * np.linalg.norm(foot) and level > 1e-6:
            votes.append(float(foot[:2] @ fronts[best, :2]) / level)
    return float(np.mean(votes)) if votes else None


def _knees(skeleton: Skeleton, poses: RestPoses, best: int, fronts: Array) -> float | None:
    """Legs bend so that the knee goes forward of the line from hip to ankle."""
    ahead = size = 0.0
    for chain in _legs(skeleton, poses, best):
        points = _chain_points(skeleton, chain, poses, slice(None))
        lengths = np.linalg.norm(np.diff(points[best], axis=0), axis=-1)
        way = np.cumsum(lengths)
        if len(way) < 2:
            continue
        knee = 1 + int(np.argmin(np.abs(way[:-1] - way[-1] / 2)))
        hip, ankle = points[:, 0], points[:, knee + 1]
        line = quat.normalise(ankle - hip)
        bent = points[:, knee] - hip
        bent = bent - line * np.sum(bent * line, axis=-1, keepdims=True)
        clear = np.linalg.norm(bent, axis=-1) > BEND_SHARE * body_size(skeleton)
        ahead += float(np.sum(bent[clear] * fronts[clear]))
        size += float(np.linalg.norm(bent[clear], axis=-1).sum())
    return ahead / size if size > 0.0 else None


def _walking(motion: Motion, poses: RestPoses, fronts: Array) -> float | None:
    if len(poses.frames) < 2:
        return None
    seconds = np.diff(poses.frames) / motion.rate
    velocity = np.diff(motion.root[poses.frames, :2], axis=0) / seconds[:, None]
    speed = np.linalg.norm(velocity, axis=-1)
    goes = speed > WALKING_SPEED
    if seconds[goes].sum() < 0.5:
        return None
    level = quat.normalise(fronts[:-1, :2])
    along = np.sum(velocity * np.nan_to_num(level), axis=-1)
    return float(along[goes].sum() / speed[goes].sum())


def _legs(skeleton: Skeleton, poses: RestPoses, best: int) -> list[list[int]]:
    """Chains of bodies, hip to foot, whose ends are near the ground in the default pose."""
    parents = skeleton.parents
    leaves = [index for index in range(len(parents)) if index not in parents]
    one = slice(best, best + 1)
    ends = {leaf: _chain_points(skeleton, [leaf], poses, one)[0, -1, 2] for leaf in leaves}
    ground = min(ends.values()) + GROUND_SHARE * body_size(skeleton)
    chains = []
    for leaf in leaves:
        chain = [leaf]
        while parents[chain[0]] >= 0 and parents.count(parents[chain[0]]) == 1:
            chain.insert(0, parents[chain[0]])
        if ends[leaf] <= ground:
            chains.append(chain)
    return chains


def _chain_points(skeleton: Skeleton, chain: list[int], poses: RestPoses, frames: slice) -> Array:
    """Return (n, n_points, 3) joints along a chain and the tip of its last body, none twice."""
    points = [poses.joints[frames, index] for index in chain]
    if (tip := skeleton.bodies[chain[-1]].tip_from_joint) is not None:
        reach = quat.rotate(poses.rotations[frames, chain[-1]], tip)
        points.append(points[-1] + reach)
    kept = points[:1]
    for point in points[1:]:
        if np.linalg.norm(point[0] - kept[-1][0]) > 0.01 * body_size(skeleton):
            kept.append(point)
    return np.stack(kept, axis=1)
