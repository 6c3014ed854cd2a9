"""Which rotations, of those that a joint's limits allow, were really seen: by a few poses that
stand for all. So twist depends on swing, and joints on their neighbours. docs/methods.md §8.

After Herda, Urtasun and Fua, who keep a joint inside an implicit surface about its samples.
"""

from collections.abc import Sequence

import numpy as np

from osteon.joint_limits._region_kernel import spread_out
from osteon.joint_limits.within_limits import clamp_each, on_hinge
from osteon.maths import blocks, quat
from osteon.typing import Array
from osteon.values import Joint, Region

POSE_SPACING = np.radians(2.0)
"""Radians that a sample may be from the nearest pose that stands for it. Chosen: below what joint
angles of two takes of one person differ by."""
REGION_RADIUS = np.radians(3.0)
"""Radians about a pose that stand open. Chosen: with the spacing, what is drawn lies within 5° of
what was seen."""
LEAST_RADIUS = np.radians(0.3).item()
"""Radians that are left of a region by a negative margin. Chosen: more than rounding."""
RADIUS_RATIO = 1.5
"""Ratio of radius to spacing, where poses are so many that they stand farther apart. Derived: of
the two above."""
POSE_COUNT = 256
"""Count of poses of a joint at the most. Chosen: bounds file and time."""
SHARED_COUNT = 64
"""Count of whole poses of the body at the most. Chosen: enough to begin near any pose; the others
are each joint's own."""
SHARED_AMONG = 20_000
"""Count of samples among which these are looked for, every so many of more. Chosen: those between
are much like them, and all joints of a long take at once need memory."""
PARENT_SHARE = 0.25
"""Share of the parent's squared angle in a squared distance. Chosen: a pose holds for parents up to
twice as far off as the joint itself may be."""


def find_regions(
    samples: Array, joints: Sequence[Joint], parents: Sequence[int], margin: float
) -> list[Region | None]:
    """Regions of n joints; none of a fixed one, nor of a hinge that depends on nothing and never
    left its axis.

    The poses are those that were seen, with what skin made of them: who poses markers within the
    limits needs it, others take it off.

    Parameters
    ----------
    samples : (n_samples, n_joints, 4)
        NaN where not seen.
    parents : (n_joints,)
        Which joint is the parent; −1: the root.
    margin
        Added to the radius, radians.
    """
    q = clamp_each(samples, joints, "polygon")  # of hinges as well: in their region they may turn
    shared = _shared_poses(q, joints)
    regions: list[Region | None] = []
    for j, joint in enumerate(joints):
        parent = parents[j]
        coupled = parent >= 0 and joints[parent].kind != "fixed"
        if joint.kind == "fixed" or (not coupled and _keeps_to_axis(q[:, j], joint)):
            regions.append(None)
        else:
            regions.append(_region(q, j, parent if coupled else -1, shared, margin))
    return regions


def _keeps_to_axis(q: Array, joint: Joint) -> bool:
    """Return whether a hinge was never farther off its axis than poses stand apart."""
    if joint.kind != "hinge":
        return False
    off = quat.angle(quat.between(on_hinge(q, joint), q))
    return bool(np.fmax.reduce(off, initial=0.0) <= POSE_SPACING)


def _shared_poses(q: Array, joints: Sequence[Joint]) -> np.ndarray:
    """Return (n,) samples of the whole body, as far from each other as can be."""
    moving = [j for j, joint in enumerate(joints) if joint.kind != "fixed"]
    whole = np.isfinite(q[..., 0]).all(axis=1)
    if not moving or not whole.any():
        return np.zeros(0, dtype=np.int64)
    among = np.flatnonzero(whole)
    among = among[:: 1 + len(among) // SHARED_AMONG]
    return among[_spread_out(q[among][:, moving], np.ones(len(moving)), SHARED_COUNT, [0])[0]]


def _region(q: Array, j: int, parent: int, shared: np.ndarray, margin: float) -> Region | None:
    columns, weights = ([j], [1.0]) if parent < 0 else ([j, parent], [1.0, PARENT_SHARE])
    tracks = q[:, columns]
    seen = np.isfinite(tracks[..., 0]).all(axis=1)
    if not seen.any():
        return None
    first = shared if len(shared) else np.array([seen.argmax()])
    chosen, gap = _spread_out(tracks, np.array(weights), POSE_COUNT, first)
    radius = float(max(REGION_RADIUS, RADIUS_RATIO * gap) + margin)
    # five decimals turn a pose by 0.001°
    poses = np.round(tracks[chosen], 5)
    beside = poses[:, 1] if parent >= 0 else np.zeros((0, 4))
    shares = np.round(_shares_of(tracks[seen], tracks[chosen], np.array(weights)), 5)
    return Region(poses[:, 0], beside, max(radius, LEAST_RADIUS), len(shared), shares)


def _shares_of(tracks: Array, chosen: Array, weights: Array) -> Array:
    """Return (n_chosen,) the share of the samples (n_samples, n_joints, 4) nearest to each."""
    counts = np.zeros(len(chosen))
    for some in blocks(len(tracks), len(chosen)):
        cosines = np.einsum("njc,kjc->jnk", tracks[some], chosen, optimize=True)
        nearest = np.einsum("j,jnk->nk", weights, cosines**2).argmax(axis=1)
        counts += np.bincount(nearest, minlength=len(chosen))
    return counts / len(tracks)


def _spread_out(
    tracks: Array, weights: Array, most: int, first: Sequence[int] | np.ndarray
) -> tuple[np.ndarray, float]:
    """Return indices of samples, and how far the others are from the nearest of them, radians."""
    chosen = np.zeros(most, dtype=np.int64)
    chosen[: len(first)] = first
    near = np.sin(0.5 * POSE_SPACING) ** 2
    n_chosen, gap = spread_out(
        np.ascontiguousarray(tracks), weights, chosen, len(first), float(near)
    )
    return chosen[:n_chosen], 2.0 * float(np.arcsin(min(np.sqrt(gap), 1.0)))
