"""Poses drawn from limits: as often here and there as the motion was.

A region says where a joint may be; how long it was there is the share of each of its poses. Drawn
evenly, the one second of a jump would count as much as a minute of standing. docs/methods.md §8.
"""

import numpy as np

from osteon.joint_limits.seen_region import PARENT_SHARE, POSE_SPACING
from osteon.joint_limits.within_limits import hold_within, on_hinge
from osteon.maths import quat, rotations
from osteon.typing import Array, Indices
from osteon.values import Joint, Region, Skeleton

PARENT_SPREAD = POSE_SPACING / np.sqrt(PARENT_SHARE)
"""Radians, standard deviation of the parent about where it was in a pose. Derived: as far as the
parent of a sample may be from that of the pose that stands for it."""


def draw_poses(skeleton: Skeleton, n_poses: int, rng: np.random.Generator) -> Array:
    """Return local rotations (n_poses, n_bodies, 4) within the skeleton's limits; the root is not
    turned.

    Joints with a region are drawn by how often they were where, given where their parent is;
    hinges and cones without one evenly; joints without limits stay at rest.
    """
    poses = np.array(np.broadcast_to(quat.identity(), (n_poses, len(skeleton.bodies), 4)))
    for column, (body, parent) in enumerate(zip(skeleton.bodies, skeleton.parents, strict=True)):
        if body.parent is None:
            continue
        limits = body.joint.limits
        if limits is None or limits.region is None:
            poses[:, column] = _draw_evenly(body.joint, n_poses, rng)
            continue
        region, above = limits.region, skeleton.bodies[parent].joint
        weights = np.tile(_shares(region), (n_poses, 1))
        if len(region.beside) and parent > 0:
            beside = on_hinge(quat.normalise(region.beside), above)
            square = (_angles(poses[:, parent], beside) / PARENT_SPREAD) ** 2
            weights *= np.exp(0.5 * (square.min(axis=1, keepdims=True) - square))
        own = on_hinge(quat.normalise(region.poses), body.joint)
        poses[:, column] = _draw_between(own, weights, region.radius, rng)
    return hold_within(skeleton, poses)


def _draw_between(poses: Array, weights: Array, radius: float, rng: np.random.Generator) -> Array:
    """Return one rotation by each row of weights (n, n_poses): a pose, and up to half of the way
    to another that is no farther than the radius."""
    first = _choose(weights, rng)
    near = _angles(poses, poses) <= radius
    second = _choose(weights * near[first], rng)
    return quat.slerp(poses[first], poses[second], rng.uniform(0.0, 0.5, len(weights)))


def _choose(weights: Array, rng: np.random.Generator) -> Indices:
    sums = np.cumsum(weights, axis=1)
    return (rng.uniform(size=(len(weights), 1)) * sums[:, -1:] >= sums).sum(axis=1)


def _shares(region: Region) -> Array:
    return region.shares if len(region.shares) else np.ones(len(region.poses))


def _angles(q: Array, poses: Array) -> Array:
    """Return (n, n_poses) angles between rotations, radians."""
    return 2.0 * np.arccos(np.minimum(np.abs(q @ poses.T), 1.0))


def _draw_evenly(joint: Joint, n: int, rng: np.random.Generator) -> Array:
    """Return rotations (n, 4) from the interval of a hinge, or from the ellipse of a cone."""
    limits, still = joint.limits, np.broadcast_to(joint.rest, (n, 4))
    if limits is None or joint.kind == "fixed":
        return still
    if joint.kind == "hinge" and limits.hinge is not None and len(joint.axes):
        angles = rng.uniform(*limits.hinge, n)
        return quat.multiply(quat.from_axis_angle(joint.axes[0], angles), joint.rest)
    if limits.cone is None:
        return still
    cone, around = limits.cone, rng.uniform(0.0, 2.0 * np.pi, n)
    swing = cone.radii * np.stack([np.cos(around), np.sin(around)], axis=-1)
    swing *= np.sqrt(rng.uniform(size=(n, 1)))
    turns = rotations.join(swing, rng.uniform(*cone.twist, n), cone.axis, cone.across)
    return quat.multiply(cone.centre, turns)
