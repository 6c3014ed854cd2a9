"""The fit of poses in plain numpy with dense Jacobians: short, slow; the kernels must equal it."""

import numpy as np

from osteon.maths import quat
from osteon.posing.rig import IN_BODY, Rig
from osteon.typing import Array, Indices


def marker_jacobian(rig: Rig, rotations: Array, root: Array) -> Array:
    """(..., n_markers, 3, n_dofs): J_d(x) = a_d × (x − p_d) where joint d carries marker x."""
    tree = rig.tree
    turned, places = rig.world(rotations, root)
    points = rig.markers(rotations, root)
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


def solve_reference(
    rig: Rig, observed: Array, rotations: Array, root: Array, *, n_iterations: int = 20
) -> tuple[Array, Array]:
    """Undamped Gauss–Newton from a good start, all frames at once."""
    for _ in range(n_iterations):
        lack = observed - rig.markers(rotations, root)
        seen = np.isfinite(lack[..., :1])
        jacobian = np.where(seen[..., None], marker_jacobian(rig, rotations, root), 0.0)
        jacobian = jacobian.reshape(*jacobian.shape[:-3], -1, rig.tree.n_dofs)
        lack = np.where(seen, lack, 0.0).reshape(*lack.shape[:-2], -1)
        normal = np.swapaxes(jacobian, -1, -2) @ jacobian
        gradient = np.einsum("...id,...i->...d", jacobian, lack)
        step = np.linalg.solve(normal, gradient[..., None])[..., 0]
        rotations, root = rig.move(rotations, root, step)
    return rotations, root


def _carries(parents: Indices, body: int, carrier: int) -> bool:
    while carrier >= 0 and carrier != body:
        carrier = int(parents[carrier])
    return carrier == body
