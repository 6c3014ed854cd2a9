"""Trees of joints: places against matrices, Jacobians against steps on the manifold."""

import numpy as np
import pytest

from conftest import assert_close
from osteon.maths import chain, quat

PARENTS = (-1, 0, 1, 1, 3, 0, 5)
CARRIERS = (0, 2, 2, 4, 6, 3)


def tree(rng, batch=()):
    n = len(PARENTS)
    return quat.normalise(rng.normal(size=(*batch, n, 4))), rng.normal(size=(*batch, n, 3))


@pytest.mark.parametrize("batch", [(), (1,), (5,), (3, 1, 2)])
def test_places_follow_the_product_of_matrices(rng, batch):
    q_local, p_local = tree(rng, batch)
    q_world, p_world = chain.forward_kinematics(q_local, p_local, PARENTS)
    matrices = np.zeros((*batch, len(PARENTS), 4, 4))
    matrices[..., :3, :3], matrices[..., :3, 3] = quat.to_matrix(q_local), p_local
    matrices[..., 3, 3] = 1.0
    for j, parent in enumerate(PARENTS):
        if parent >= 0:
            matrices[..., j, :, :] = matrices[..., parent, :, :] @ matrices[..., j, :, :]
    assert_close(p_world, matrices[..., :3, 3], 1e-13)
    assert_close(quat.to_matrix(q_world), matrices[..., :3, :3], 1e-13)


def placed_points(q_local, p_local, points):
    return chain.place_points(
        *chain.forward_kinematics(q_local, p_local, PARENTS), CARRIERS, points
    )


@pytest.mark.parametrize("batch", [(), (4,), (2, 3)])
def test_jacobian_is_the_finite_difference(rng, batch):
    """Central steps of 1e-6 along each tangent: truncation 1e-12, rounding 1e-10."""
    q_local, p_local = tree(rng, batch)
    points = rng.normal(size=(len(CARRIERS), 3))
    q_world, p_world = chain.forward_kinematics(q_local, p_local, PARENTS)
    placed = chain.place_points(q_world, p_world, CARRIERS, points)
    jacobian = chain.point_jacobian(q_world, p_world, PARENTS, CARRIERS, placed)
    assert jacobian.shape == (*batch, len(CARRIERS), 3, 3 + 3 * len(PARENTS))
    step = 1e-6
    for column in range(jacobian.shape[-1]):
        ends = []
        for sign in (1.0, -1.0):
            q, p = q_local.copy(), p_local.copy()
            move = np.zeros(3)
            move[column % 3] = sign * step
            if column < 3:
                p[..., 0, :] += move
            else:
                joint = column // 3 - 1
                q[..., joint, :] = quat.multiply(q[..., joint, :], quat.exp(move))
            ends.append(placed_points(q, p, points))
        difference = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(jacobian[..., column], difference, atol=5e-9)


def test_a_joint_moves_only_what_hangs_on_it(rng):
    q_local, p_local = tree(rng)
    q_world, p_world = chain.forward_kinematics(q_local, p_local, PARENTS)
    placed = chain.place_points(q_world, p_world, CARRIERS, rng.normal(size=(len(CARRIERS), 3)))
    jacobian = chain.point_jacobian(q_world, p_world, PARENTS, CARRIERS, placed)
    moved = np.abs(jacobian[..., 3:]).reshape(len(CARRIERS), 3, -1, 3).max(axis=(1, 3)) > 0
    ancestors = {0: {0}, 2: {0, 1, 2}, 4: {0, 1, 3, 4}, 6: {0, 5, 6}, 3: {0, 1, 3}}
    assert [set(np.flatnonzero(row)) for row in moved] == [ancestors[c] for c in CARRIERS]
