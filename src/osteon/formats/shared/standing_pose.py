"""The pose that bones and skin are bound in, put where other programs want to see it: on the
ground, its front where they have theirs."""

from typing import NamedTuple

import numpy as np

from osteon.errors import OsteonError
from osteon.human import figure_at_rest
from osteon.maths import forward_kinematics, quat
from osteon.typing import Array
from osteon.values import Skeleton, SkinnedMesh

FRONT_ANGLE = -0.5 * np.pi
"""Radians from our x axis to the front of characters (−y), defined by glTF (+z of y up), by FBX and
by Blender's views."""


class StandingPose(NamedTuple):
    """In our world, z up."""

    rotations: Array
    """(n_bodies, 4)"""
    joints: Array
    """(n_bodies, 3)"""
    vertices: Array
    """(n_vertices, 3) of the skin, or joints and tips where there is none."""


def standing_pose(skeleton: Skeleton, skin: SkinnedMesh | None) -> StandingPose:
    """Return the pose of a skin, or the rest pose, its lowest point at z = 0; a human's front is
    −y."""
    if skin is None:
        turns, joints = forward_kinematics(skeleton.rest, skeleton.offsets, skeleton.parents)
        tips = [
            joints[index] + quat.rotate(turns[index], body.tip_from_joint)
            for index, body in enumerate(skeleton.bodies)
            if body.tip_from_joint is not None
        ]
        vertices = np.array([*joints, *tips])
    else:
        turns, joints, vertices = skin.rotations, skin.joints, skin.vertices
    yaw = quat.from_axis_angle(np.array([0.0, 0.0, 1.0]), np.array(_yaw(skeleton)))
    vertices, joints = quat.rotate(yaw, vertices), quat.rotate(yaw, joints)
    lift = np.array([0.0, 0.0, -vertices[:, 2].min()])
    return StandingPose(quat.multiply(yaw, turns), joints + lift, vertices + lift)


def stood(skeleton: Skeleton, skin: SkinnedMesh) -> SkinnedMesh:
    """Return a skin put on in its standing pose."""
    pose = standing_pose(skeleton, skin)
    return SkinnedMesh(
        pose.vertices, skin.triangles, skin.bodies, skin.weights, pose.rotations, pose.joints
    )


def _yaw(skeleton: Skeleton) -> float:
    """Radians to turn the rest pose by about the vertical; 0 where nothing tells its front."""
    try:
        forward, _, up = figure_at_rest(skeleton).axes().T
    except OsteonError:
        return 0.0
    if abs(up[2]) < np.sqrt(0.5):  # it lies
        return 0.0
    return FRONT_ANGLE - float(np.arctan2(forward[1], forward[0]))
