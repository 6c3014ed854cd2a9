"""Joints that the motion leaves open, laid where limbs are straight.

A knee that only bends may lie anywhere along its axis as far as the bodies' motion tells, and skin
moves the answer by centimetres; the joint's covariance says so. From the front, hip, knee and ankle
are nearly in line: that decides what the motion does not.
"""

from dataclasses import replace

import numpy as np

from osteon.anatomy.front import RestPoses
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Body, Skeleton

CROOKED_SHARE = 0.03
"""Share of the line from the joint above to the one below by which joints lie beside it; chosen:
legs are nearly straight from the front (docs/guide/axes.md)."""
STRAIGHT_SHARE = 0.85
"""Share of its bones that a limb measures from end to end, below which it has a corner; chosen:
shoulders have, bent knees have not."""
OPEN_RATIO = 1.3
"""Ratio of standard deviations from which a joint is open in its worst direction; chosen: a ball
joint's are nearly alike."""


def is_open(body: Body) -> bool:
    """Whether the place of a body's joint is known much worse along one line."""
    covariance = body.joint.covariance
    if covariance is None or body.parent is None or not np.isfinite(covariance).all():
        return False
    spread = np.linalg.eigvalsh(covariance)
    return bool(spread[2] > OPEN_RATIO**2 * max(spread[1], 0.0))


def straightened(skeleton: Skeleton, poses: RestPoses, reaches: Array) -> Skeleton:
    """The skeleton with its open joints moved along their line, as far as they are uncertain.

    Parameters
    ----------
    reaches : (n_bodies, 3)
        From each body's joint to its far end, in the body's frame.
    """
    bodies = list(skeleton.bodies)
    for index, body in enumerate(skeleton.bodies):
        parent = skeleton.parents[index]
        has_ends = np.linalg.norm(reaches[index]) > 1e-6 and skeleton.parents[max(parent, 0)] >= 0
        if not is_open(body) or not has_ends:
            continue
        shift = _shift(body, parent, index, poses, reaches[index])
        turn = quat.between(poses.rotations[:, index], poses.rotations[:, parent])
        moved = np.median(quat.rotate(turn, shift), axis=0)
        joint = replace(
            body.joint, in_parent=body.joint.in_parent + shift, in_body=body.joint.in_body + moved
        )
        bodies[index] = replace(body, joint=joint)
    return replace(skeleton, bodies=tuple(bodies))


def _shift(body: Body, parent: int, index: int, poses: RestPoses, reach: Array) -> Array:
    """(3,) by which the joint moves in its parent's frame; 0 where the limb has a corner there."""
    values, vectors = np.linalg.eigh(body.joint.covariance)  # type: ignore[arg-type]
    line, spread = vectors[:, 2], values[2]
    above, joint = poses.joints[:, parent], poses.joints[:, index]
    below = joint + quat.rotate(poses.rotations[:, index], reach)
    way, first = below - above, joint - above
    length2 = np.sum(way**2, axis=-1)
    beside = first - (np.sum(first * way, axis=-1) / length2)[:, None] * way
    beside = np.sum(beside * quat.rotate(poses.rotations[:, parent], line), axis=-1)
    lengths = np.linalg.norm(first, axis=-1) + np.linalg.norm(below - joint, axis=-1)
    if np.median(np.sqrt(length2) / lengths) < STRAIGHT_SHARE:
        return np.zeros(3)
    trust = spread / (spread + CROOKED_SHARE**2 * float(np.median(length2)))
    return -trust * float(np.median(beside)) * line
