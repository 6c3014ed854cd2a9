"""Kinematics of trees: looped over joints, broadcast over frames."""

from collections.abc import Sequence

from ossature.maths.quat import Array, multiply, rotate


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
    q_world, p_world = q_local.copy(), p_local.copy()
    for j, parent in enumerate(parents):
        if parent < 0:
            continue
        q_parent = q_world[..., parent, :]
        q_world[..., j, :] = multiply(q_parent, q_local[..., j, :])
        p_world[..., j, :] = p_world[..., parent, :] + rotate(q_parent, p_local[..., j, :])
    return q_world, p_world
