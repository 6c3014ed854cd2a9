"""Kinematics of trees, for any number of frames at once."""

from collections.abc import Sequence

import numpy as np

from osteon.maths._quat_kernel import forward_frames
from osteon.maths.compiled import read_only
from osteon.maths.quat import rotate, to_matrix
from osteon.typing import Array, Indices


def forward_kinematics(
    q_local: Array, p_local: Array, parents: Sequence[int]
) -> tuple[Array, Array]:
    """World rotation (..., n_joints, 4) and place (..., n_joints, 3) of every joint.

    Parameters
    ----------
    q_local : (..., n_joints, 4)
        Rotation to the parent's frame from the joint's; of a root, to the world.
    p_local : (..., n_joints, 3)
        Joint in the parent's frame, seen from the parent's joint, metres; of a root, in the world.
    parents : (n_joints,)
        Index of each parent, −1 for a root; ``parents[j] < j``.
    """
    n, shape = len(parents), q_local.shape[:-2]
    q = read_only(q_local.reshape(-1, n, 4))
    p = read_only(np.broadcast_to(p_local, (*shape, n, 3)).reshape(-1, n, 3))
    q_world, p_world = np.empty(q.shape, q.dtype), np.empty(p.shape, p.dtype)
    forward_frames(q, p, np.array(parents, dtype=np.int64), q_world, p_world)
    return q_world.reshape(*shape, n, 4), p_world.reshape(*shape, n, 3)


def untwisted_joints(offsets: Array, parents: Sequence[int]) -> Array:
    """Places (n_joints, 3) of joints from the root where no joint is turned.

    Parameters
    ----------
    offsets : (n_joints, 3)
        Each joint from its parent's, metres; of a root, from the origin.
    """
    places = np.array(offsets)
    for joint, parent in enumerate(parents):
        if parent >= 0:
            places[joint] += places[parent]
    return places


def place_points(
    q_world: Array, p_world: Array, carriers: Sequence[int] | Indices, points: Array
) -> Array:
    """World places (..., n_points, 3) of points fixed to joints.

    Parameters
    ----------
    q_world, p_world : (..., n_joints, 4), (..., n_joints, 3)
        As :func:`forward_kinematics` gives them.
    carriers : (n_points,)
        Joint that carries each point.
    points : (n_points, 3)
        In the carrier's frame, seen from its joint, metres.
    """
    on = list(carriers)
    return p_world[..., on, :] + rotate(q_world[..., on, :], points)


def point_jacobian(
    q_world: Array,
    p_world: Array,
    parents: Sequence[int],
    carriers: Sequence[int],
    placed: Array,
) -> Array:
    """Return how points move when joints turn: (..., n_points, 3, 3 + 3 n_joints).

    Columns 0–2 belong to the root's place, 3 + 3j … 5 + 3j to the turn ``d`` of joint ``j`` in its
    own frame, ``q_local[j] → q_local[j] · exp(d)``: a turn about the world axes ``R_j`` moves a
    point by ``R_j d × (x − p_j)``. A joint that does not carry the point has zeros.

    Parameters
    ----------
    q_world, p_world, parents, carriers
        As in :func:`forward_kinematics` and :func:`place_points`.
    placed : (..., n_points, 3)
        World places of the points.
    """
    jacobian = np.zeros((*placed.shape, 3 + 3 * len(parents)), dtype=placed.dtype)
    jacobian[..., :3] = np.eye(3)
    carried = _carried_points(parents, carriers)
    axes = to_matrix(q_world)
    for j, points in enumerate(carried):
        arm = placed[..., points, :] - p_world[..., None, j, :]
        for k in range(3):
            column = jacobian[..., 3 + 3 * j + k]
            column[..., points, :] = np.cross(axes[..., None, j, :, k], arm)
    return jacobian


def _carried_points(parents: Sequence[int], carriers: Sequence[int]) -> list[list[int]]:
    """For each joint, the points on it or on any joint below it."""
    carried: list[list[int]] = [[] for _ in parents]
    for point, joint in enumerate(carriers):
        while joint >= 0:
            carried[joint].append(point)
            joint = parents[joint]
    return carried
