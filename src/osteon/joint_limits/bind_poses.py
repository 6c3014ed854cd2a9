"""The pose a rig starts in: is it within the limits, and what to take if not.

docs/methods.md §8.
"""

from collections.abc import Sequence

import numpy as np

from osteon.joint_limits.within_limits import clamp, clamp_each
from osteon.maths import quat, rotations
from osteon.typing import Array
from osteon.values import Bind, Joint, read_only

CHOICES = ("mid-range", "circular mean", "nearest sample")
BIND_TOLERANCE = np.radians(0.1)
"""Radians outside its limits that a bind pose may be. Chosen."""
VANISHING_LENGTH = 0.05
"""Share of full length of the mean vector, below which its direction is chance. Chosen."""
GIVEN_UP = "unlimited or not enough motion"


def check_binds(
    joints: Sequence[Joint], samples: Array, means: Array, choice: str = "mid-range"
) -> list[Bind]:
    """Hold bind poses, rotation zero, against the limits, and choose others for those outside.

    Parameters
    ----------
    samples : (n_samples, n_joints, 4)
    means : (n_joints, 4)
        Their Fréchet means.
    """
    zero = quat.identity((len(joints),))
    outside = quat.angle(quat.between(clamp_each(zero, joints), zero))
    stays = Bind(True, 0.0, "bind pose", quat.identity())
    binds = [stays] * len(joints)
    infeasible = np.flatnonzero(outside > BIND_TOLERANCE).tolist()
    if choice == "mid-range":
        middles = mid_ranges([joints[j] for j in infeasible], means[infeasible])
        chosen = [(choice, middle) for middle in read_only(middles)]
    else:
        chosen = [_chosen(joints[j], samples[:, j], means[j], choice) for j in infeasible]
    for j, (named, taken) in zip(infeasible, chosen, strict=True):
        binds[j] = Bind(False, float(outside[j]), named, taken)
    return binds


def _chosen(joint: Joint, samples: Array, mean: Array, choice: str) -> tuple[str, Array]:
    if choice == "nearest sample":
        seen = samples[np.isfinite(samples[:, 0])]
        return choice, seen[np.argmin(quat.angle(seen))]
    if not _has_mean(joint, samples):
        return GIVEN_UP, quat.identity()
    return choice, clamp(mean, joint)


def mid_ranges(joints: Sequence[Joint], means: Array) -> Array:
    """Return (n_joints, 4) the middle of each hinge interval, or of each cone and its twist.

    Of joints without limits their ``means`` (n_joints, 4).
    """
    starts, axes, angles = np.array(means), np.zeros((len(joints), 3)), np.zeros(len(joints))
    after = np.ones(len(joints), dtype=bool)
    for j, joint in enumerate(joints):
        limits = joint.limits
        if limits is not None and limits.hinge is not None and joint.kind == "hinge":
            starts[j], axes[j], angles[j] = joint.rest, joint.axes[0], sum(limits.hinge) / 2
            after[j] = False
        elif limits is not None and limits.cone is not None:
            cone = limits.cone
            starts[j], axes[j], angles[j] = cone.centre, cone.axis, sum(cone.twist) / 2
    turns = quat.from_axis_angle(axes, angles)
    ordered = (np.where(after[:, None], a, b) for a, b in ((starts, turns), (turns, starts)))
    return clamp_each(quat.multiply(*ordered), joints)


def _has_mean(joint: Joint, samples: Array) -> bool:
    """Return whether the samples point anywhere: else the motion is unlimited or not sampled
    enough."""
    limits = joint.limits
    if joint.kind == "hinge":
        turns = quat.multiply(samples, quat.inverse(joint.rest))
        angles = rotations.twist_angle(turns, joint.axes[0])
        return bool(rotations.resultant_length(angles) > VANISHING_LENGTH)
    if limits is None or limits.cone is None:
        return True
    cone = limits.cone
    turns = quat.between(cone.centre, samples)
    twist = rotations.twist_angle(turns, cone.axis)
    bones = quat.rotate(turns, cone.axis)
    lengths = (rotations.resultant_length(twist), np.linalg.norm(np.nanmean(bones, axis=0)))
    return bool(min(lengths) > VANISHING_LENGTH)
