"""Which side of the body is its front: a plane's normal has no sign, so evidence decides."""

import re
from dataclasses import dataclass

import numpy as np

from osteon.anatomy.default_pose import body_axes, body_size
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Motion, Skeleton

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
