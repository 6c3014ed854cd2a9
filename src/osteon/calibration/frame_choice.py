"""Which frames a calibration looks at, and how much they say."""

from collections.abc import Sequence

import numpy as np

from osteon.maths import quat
from osteon.typing import Array

DIFFERENT_POSE = 0.5
"""Squared distance of rotation matrices over all joints: one joint turned by 29° (chosen: a limb
clearly elsewhere)."""

POSTURE_TURN = 1.2
"""Radians that a joint must turn for its skin to do something new. Skin that is linear in a joint's
angle looks like another place of the joint however far the joint turns, so a swing there and back
is worth two postures, and only what goes far beyond is worth three. Chosen on seven takes of four
people with bones known (docs/numbers/anatomy.md); from 1.0 to 1.8 their hips change by 0.5 mm."""

STANDING_TURN = np.radians(10.0)
"""Radians. A joint that goes less far to either side of its middle tells its place no better than a
guess does. Measured: who stands stays within 5°, on seven standing trials; a hip's exercise begins
at 15°."""
MOST_FRAMES_SHARE = 0.9
"""Share of the frames by which a joint's motion is judged; chosen: the rest is noise's."""


def spread_frames(seen: np.ndarray, n: int) -> np.ndarray:
    """Up to ``n`` frames, one from each stretch of the takes: the one that shows most markers."""
    count = seen.sum(axis=1)
    stretches = np.array_split(np.arange(len(seen)), min(n, len(seen)))
    return np.array([stretch[np.argmax(count[stretch])] for stretch in stretches])


def varied_frames(rotations: Array, parents: Sequence[int], n: int) -> np.ndarray:
    """Up to ``n`` frames that show what every joint can do.

    Half of them lie evenly over the take, so that no trouble of single frames can fill the choice.
    Each of the others is the frame whose joint angles are farthest from all frames taken before:
    a hip that was lifted for one second in a minute's walk is not missed.

    Parameters
    ----------
    rotations : (n_frames, n_bodies, 3, 3)
        World from body.
    """
    return farthest_frames(_bends(rotations, parents), n)


def farthest_frames(poses: Array, n: int) -> np.ndarray:
    """Up to ``n`` rows of ``poses`` (n_frames, …): half of them spread evenly, each of the others
    the one farthest from all taken before."""
    n_frames = len(poses)
    if n_frames <= n:
        return np.arange(n_frames)
    away = poses - poses.mean(axis=0)
    squares = np.einsum("fi,fi->f", away, away)

    def distances(frames: np.ndarray) -> Array:
        """(n_frames, n) squared, by one product of matrices."""
        return squares[:, None] + squares[frames] - 2.0 * away @ away[frames].T

    taken = np.linspace(0, n_frames - 1, n - n // 2).astype(int)
    distance = distances(taken).min(axis=1)
    distance[taken] = -np.inf  # never twice, even where all poses are one
    farther = []
    for _ in range(n // 2):
        farther.append(newest := int(np.argmax(distance)))
        distance = np.minimum(distance, distances(np.array([newest]))[:, 0])
        distance[newest] = -np.inf
    return np.sort(np.concatenate([taken, np.array(farther, dtype=int)]))


def _distances(poses: Array, other: Array) -> Array:
    """(n_frames,) squared distance of rows from another; what both show stands for the rest,
    infinite where they have nothing in common."""
    squares = (poses - other) ** 2
    common = np.isfinite(squares).mean(axis=1)
    total = np.nansum(squares, axis=1)
    return np.where(common > 0.0, total / np.where(common > 0.0, common, 1.0), np.inf)


def count_different(
    rotations: Array, parents: Sequence[int], shown: np.ndarray | None = None
) -> int:
    """How many of the poses differ from one another.

    Skin moves alike in alike poses: frames of one pose say no more about the skeleton than one.
    A walk comes to about ten, an exercise of every joint to some sixty. Of two poses only the
    joints that were ``shown`` in both are compared, and stand for the others.
    """
    if len(parents) == 1:
        return 1
    poses = _bends(rotations, parents, shown)
    poses = poses[np.argsort(-np.isfinite(poses).sum(axis=1), kind="stable")]
    left, count = np.ones(len(poses), dtype=bool), 0
    while left.any():
        distance = _distances(poses, poses[np.argmax(left)])
        left &= (distance > DIFFERENT_POSE) & np.isfinite(distance)
        count += 1
    return count


def count_postures(turns: Array) -> int:
    """How many of a joint's turns (n_frames, 3, 3) differ by more than ``POSTURE_TURN``."""
    left, count = np.ones(len(turns), dtype=bool), 0
    nearest = 1.0 + 2.0 * np.cos(POSTURE_TURN)
    while left.any():
        left &= np.einsum("ij,fij->f", turns[np.argmax(left)], turns) < nearest
        count += 1
    return count


def angles_from_middle(turns: Array) -> Array:
    """(n_frames,) radians between a joint's turns (n_frames, 3, 3) and the one in their middle."""
    middle = quat.nearest_matrix(turns.mean(axis=0))
    cosines = 0.5 * (np.einsum("ij,fij->f", middle, turns) - 1.0)
    return np.arccos(np.clip(cosines, -1.0, 1.0))


def furthest_turn(rotations: Array, parents: Sequence[int], shown: np.ndarray) -> float:
    """How far the joint that moves most goes to either side of its middle, radians.

    The farthest tenth of the frames is left to noise; 0 where no frame shows a joint, and π where
    there is none that could turn.
    """
    if len(parents) == 1:
        return np.pi
    furthest = 0.0
    for body, parent in enumerate(parents):
        told = shown[:, body] & shown[:, parent]
        if parent < 0 or not told.any():
            continue
        bent = np.swapaxes(rotations[told, parent], -1, -2) @ rotations[told, body]
        furthest = max(furthest, float(np.quantile(angles_from_middle(bent), MOST_FRAMES_SHARE)))
    return furthest


def _bends(rotations: Array, parents: Sequence[int], shown: np.ndarray | None = None) -> Array:
    """(n_frames, …) each body's rotation from its parent, as one row of numbers per frame; NaN
    where one of the two was not shown."""
    above = np.array(parents[1:], dtype=int)
    bent = np.swapaxes(rotations[:, above], -1, -2) @ rotations[:, 1:]
    if shown is not None:
        bent[~(shown[:, 1:] & shown[:, above])] = np.nan
    return bent.reshape(len(rotations), -1)
