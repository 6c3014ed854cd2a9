"""The coach for a rig that a calibration has found: its own covariances tell what is lacking."""

import numpy as np

from ossature.joints.coach import advise
from ossature.values import Advice, Bodies, Connection, Motion


def advise_motion(motion: Motion) -> tuple[Advice, ...]:
    """A sentence for each joint whose place is not yet known well, worst first."""
    links = tuple(
        Connection(
            body.parent,
            body.name,
            body.joint.in_parent,
            _towards_end(motion, index),
            np.kron(np.eye(2), body.joint.covariance),
            body.joint.rms or 0.0,
            body.joint.kind,
        )
        for index, body in enumerate(motion.skeleton.bodies)
        if body.parent is not None and body.joint.covariance is not None
    )
    rotations, places = motion.world()
    return advise(Bodies(places, rotations, motion.skeleton.names, motion.rate), links)


def _towards_end(motion: Motion, index: int) -> np.ndarray:
    """(3,) from the far end of a bone to its joint, in the body's frame: how the limb lies."""
    skeleton = motion.skeleton
    ends = [skeleton.offsets[i] for i, parent in enumerate(skeleton.parents) if parent == index]
    tip = skeleton.bodies[index].tip
    if tip is not None:
        ends.append(tip - skeleton.bodies[index].joint.in_body)
    return -np.mean(ends, axis=0) if ends else np.zeros(3)
