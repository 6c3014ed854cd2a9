"""Newton's and Euler's laws along the tree: what every joint must carry and turn.

All is told in the world, so no joint's kind matters: the moment at a joint is what the parent turns
the child with, whatever muscles, ligaments and bones do it by.
"""

from dataclasses import dataclass

import numpy as np

from osteon.kinetics.segment_inertia import Inertias
from osteon.maths import low_pass, quat
from osteon.typing import Array
from osteon.values import Motion

GRAVITY = np.array([0.0, 0.0, -9.80665])
"""Metres per square second, defined as the standard one."""


@dataclass(frozen=True, eq=False)
class JointLoads:
    """What passes through each body's joint, from its parent to it; the world's axes.

    At the root nothing is above: what is there no plate and no mass explains, the residual.
    """

    forces: Array
    """(n_frames, n_bodies, 3) newtons."""
    moments: Array
    """(n_frames, n_bodies, 3) about the joint, newton metres."""
    powers: Array
    """(n_frames, n_bodies) watts that the moment does between parent and child; the root's 0."""


def joint_loads(
    motion: Motion, inertias: Inertias, outside: Array, cutoff: float | None = None
) -> JointLoads:
    """Return the loads of all joints.

    Parameters
    ----------
    outside : (n_frames, n_bodies, 6)
        Forces on each body from outside, as of plates, and their moments about the world's origin.
    cutoff
        Low-pass of motion and outside forces, Hz; the same of both, for else strikes of a foot
        appear as moments of knee and hip [Kristianslund 2012]. None takes them as they are.
    """
    turns, joints = motion.world()
    needed = _rates(motion, inertias, turns, joints, cutoff)
    if cutoff is not None:
        outside = low_pass(outside, cutoff, motion.rate)
    loads = needed - outside
    parents = motion.skeleton.parents
    for body in reversed(range(len(parents))):
        if parents[body] >= 0:
            loads[:, parents[body]] += loads[:, body]
    moments = loads[..., 3:] - np.cross(joints, loads[..., :3])
    turning = _turning(turns, motion.rate, cutoff)
    between = turning - turning[:, np.maximum(parents, 0)]
    return JointLoads(loads[..., :3], moments, np.sum(moments * between, axis=-1))


def _rates(
    motion: Motion, inertias: Inertias, turns: Array, joints: Array, cutoff: float | None
) -> Array:
    """(n_frames, n_bodies, 6) force, and moment about the origin, that each body's motion needs."""
    masses = inertias.masses[:, None]
    centres = joints + quat.rotate(turns, inertias.centres)
    if cutoff is not None:
        centres = low_pass(centres, cutoff, motion.rate)
    pushes = masses * (_second(centres, motion.rate) - GRAVITY)
    spins = _spins(turns, inertias.tensors, motion.rate, cutoff)
    return np.concatenate([pushes, np.cross(centres, pushes) + spins], axis=-1)


def _spins(turns: Array, tensors: Array, rate: float, cutoff: float | None) -> Array:
    """(n_frames, n_bodies, 3) rate of the angular momentum about each centre of mass.

    Between frames the momentum is known best: its difference is the rate at the frame.
    """
    steps = quat.log(quat.between(turns[:-1], turns[1:])) * rate
    middle = quat.multiply(turns[:-1], quat.exp(0.5 * steps / rate))
    held = quat.to_matrix(middle)
    momenta = (held @ tensors @ steps[..., None])[..., 0]
    if cutoff is not None:
        momenta = low_pass(momenta, cutoff, rate)
    inner = np.diff(momenta, axis=0) * rate
    return np.concatenate([inner[:1], inner, inner[-1:]]) if len(inner) else 0.0 * turns[..., 1:]


def _turning(turns: Array, rate: float, cutoff: float | None) -> Array:
    """(n_frames, n_bodies, 3) angular velocity in the world, radians per second."""
    steps = quat.rotate(turns[:-1], quat.log(quat.between(turns[:-1], turns[1:]))) * rate
    steps = np.concatenate([steps[:1], steps, steps[-1:]])
    speeds = 0.5 * (steps[:-1] + steps[1:])
    return speeds if cutoff is None else low_pass(speeds, cutoff, rate)


def _second(paths: Array, rate: float) -> Array:
    """Second derivative in time, along the first axis; the ends repeat their neighbours'."""
    inner = (paths[2:] - 2.0 * paths[1:-1] + paths[:-2]) * rate**2
    return np.concatenate([inner[:1], inner, inner[-1:]]) if len(inner) else np.zeros(paths.shape)
