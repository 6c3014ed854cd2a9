"""The pose a rig starts in: is it within the limits, and what to take if not. METHODS §8."""

import numpy as np

from ossature.anatomy.within import clamp, excess, hinge_angle
from ossature.maths import circular, quat, swing_twist
from ossature.values import Bind, Joint
from ossature.values.arrays import Array

CHOICES = ("mid-range", "circular mean", "nearest sample")
TOLERANCE = np.radians(0.1)
VANISHING = 0.05
"""Length of the mean vector below which its direction is chance."""
GIVEN_UP = "unlimited or not enough motion"


def check_bind(joint: Joint, samples: Array, mean: Array, choice: str = "mid-range") -> Bind:
    """Hold the bind pose, rotation zero, against the limits, and choose another if it is outside.

    Parameters
    ----------
    samples : (n_samples, 4)
    mean : (4,)
        Their Fréchet mean.
    """
    zero = quat.identity()
    outside = float(excess(zero, joint))
    if outside <= TOLERANCE:
        return Bind(True, 0.0, "bind pose", zero)
    if choice == "nearest sample":
        seen = samples[np.isfinite(samples[:, 0])]
        return Bind(False, outside, choice, seen[np.argmin(quat.angle(seen))])
    if choice == "circular mean":
        if not has_mean(joint, samples):
            return Bind(False, outside, GIVEN_UP, zero)
        return Bind(False, outside, choice, clamp(mean, joint))
    return Bind(False, outside, choice, mid_range(joint, mean))


def mid_range(joint: Joint, mean: Array) -> Array:
    """(4,) the middle of the hinge interval, or of the cone and its twist."""
    limits = joint.limits
    if limits is not None and limits.hinge is not None and joint.kind == "hinge":
        turn = quat.from_axis_angle(joint.axes[0], np.asarray(np.mean(limits.hinge)))
        return quat.multiply(turn, joint.rest)
    if limits is not None and limits.cone is not None:
        cone = limits.cone
        turn = quat.from_axis_angle(cone.axis, np.asarray(np.mean(cone.twist)))
        return clamp(quat.multiply(cone.centre, turn), joint)
    return joint.rest if joint.kind == "fixed" else mean


def has_mean(joint: Joint, samples: Array) -> bool:
    """Whether the samples point anywhere: else the motion is unlimited or not sampled enough."""
    limits = joint.limits
    if joint.kind == "hinge":
        return bool(circular.resultant_length(hinge_angle(samples, joint)) > VANISHING)
    if limits is None or limits.cone is None:
        return True
    cone = limits.cone
    turns = quat.between(cone.centre, samples)
    twist = swing_twist.twist_angle(turns, cone.axis)
    bones = quat.rotate(turns, cone.axis)
    lengths = (circular.resultant_length(twist), np.linalg.norm(np.nanmean(bones, axis=0)))
    return bool(min(lengths) > VANISHING)
