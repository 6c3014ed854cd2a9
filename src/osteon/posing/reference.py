"""The same fit in plain numpy with dense Jacobians: short, slow; the kernels must equal it."""

import numpy as np

from osteon.maths import chain, quat
from osteon.posing.rig import IN_BODY, IN_PARENT, Rig
from osteon.typing import Array, Indices


def pose_markers(rig: Rig, rotations: Array, root: Array) -> Array:
    """Markers (..., n_markers, 3) in the world of local rotations (..., n_bodies, 4)."""
    turned, places = world_frames(rig, rotations, root)
    carriers = rig.tree.marker_bodies
    return places[..., carriers, :] + quat.rotate(turned[..., carriers, :], rig.places)


def world_frames(rig: Rig, rotations: Array, root: Array) -> tuple[Array, Array]:
    """World rotations (..., n_bodies, 4) and joint places (..., n_bodies, 3)."""
    offsets = np.array(np.broadcast_to(rig.offsets, (*rotations.shape[:-1], 3)))
    offsets[..., 0, :] = root
    return chain.forward_kinematics(rotations, offsets, rig.tree.parents.tolist())


def marker_jacobian(rig: Rig, rotations: Array, root: Array) -> Array:
    """(..., n_markers, 3, n_dofs): J_d(x) = a_d × (x − p_d) where joint d carries marker x."""
    tree = rig.tree
    turned, places = world_frames(rig, rotations, root)
    points = pose_markers(rig, rotations, root)
    jacobian = np.zeros((*points.shape, tree.n_dofs))
    jacobian[..., :3] = np.eye(3)
    for dof in range(3, tree.n_dofs):
        body = tree.dof_body[dof]
        carrier = body if tree.dof_kind[dof] == IN_BODY else tree.parents[body]
        axis = tree.dof_axis[dof]
        if carrier >= 0:
            axis = quat.rotate(turned[..., carrier, :], axis)[..., None, :]
        turn = np.cross(axis, points - places[..., body, None, :])
        carried = [_carries(tree.parents, body, marker) for marker in tree.marker_bodies]
        jacobian[..., dof] = np.where(np.array(carried)[:, None], turn, 0.0)
    return jacobian


def move(rig: Rig, rotations: Array, root: Array, step: Array) -> tuple[Array, Array]:
    """The pose a step (..., n_dofs) further, on every joint's manifold."""
    tree, rotations = rig.tree, np.array(rotations)
    for body in range(tree.n_bodies):
        for kind in (IN_PARENT, IN_BODY):
            dofs = np.flatnonzero((tree.dof_body == body) & (tree.dof_kind == kind))
            turn = quat.exp(step[..., dofs] @ tree.dof_axis[dofs])
            q = rotations[..., body, :]
            new = quat.multiply(turn, q) if kind == IN_PARENT else quat.multiply(q, turn)
            rotations[..., body, :] = new
    return rotations, root + step[..., :3]


def solve_reference(
    rig: Rig, observed: Array, rotations: Array, root: Array, *, n_iterations: int = 20
) -> tuple[Array, Array]:
    """Undamped Gauss–Newton from a good start, all frames at once."""
    for _ in range(n_iterations):
        lack = observed - pose_markers(rig, rotations, root)
        seen = np.isfinite(lack[..., :1])
        jacobian = np.where(seen[..., None], marker_jacobian(rig, rotations, root), 0.0)
        jacobian = jacobian.reshape(*jacobian.shape[:-3], -1, rig.tree.n_dofs)
        lack = np.where(seen, lack, 0.0).reshape(*lack.shape[:-2], -1)
        normal = np.swapaxes(jacobian, -1, -2) @ jacobian
        gradient = np.einsum("...id,...i->...d", jacobian, lack)
        step = np.linalg.solve(normal, gradient[..., None])[..., 0]
        rotations, root = move(rig, rotations, root, step)
    return rotations, root


def _carries(parents: Indices, body: int, carrier: int) -> bool:
    while carrier >= 0 and carrier != body:
        carrier = int(parents[carrier])
    return carrier == body
