"""Normal equations of the fit, marker by marker: only a marker's own path through the tree counts.

Rows of the full Jacobian are nine tenths zeros; here they are never made.
"""

import numpy as np

from osteon.maths import kernel

DEEPEST = 64
"""Bodies on the longest path from the root."""


@kernel
def accumulate(
    rotations,
    residuals,
    weights,
    marker_bodies,
    parents,
    offsets,
    places,
    pose,
    cross,
    shared,
    pose_gradient,
    shared_gradient,
):
    """Add every marker's share to the blocks of the normal equations.

    Parameters
    ----------
    rotations : (n_frames, n_bodies, 3, 3)
    residuals, weights : (n_frames, n_markers, 3), (n_frames, n_markers)
    pose, cross, shared : (n_frames, d, d), (n_frames, d, s), (s, s), changed
    pose_gradient, shared_gradient : (n_frames, d), (s,), changed
    """
    by_pose, by_shared = np.zeros((DEEPEST + 1, 3, 3)), np.zeros((DEEPEST, 3, 3))
    pose_at, shared_at = np.zeros(DEEPEST + 1, np.int64), np.zeros(DEEPEST, np.int64)
    for axis in range(3):
        by_pose[0, axis, axis] = 1.0  # the root's place; its columns come first
    for frame in range(rotations.shape[0]):
        for marker in range(marker_bodies.shape[0]):
            weight = weights[frame, marker]
            if weight == 0.0:
                continue
            n = _path(
                marker,
                rotations[frame],
                marker_bodies,
                parents,
                offsets,
                places,
                by_pose,
                pose_at,
                by_shared,
                shared_at,
            )
            r = residuals[frame, marker]
            for i in range(n + 1):
                row = pose_at[i]
                _add_gradient(pose_gradient[frame], row, by_pose[i], r, weight)
                for j in range(n + 1):
                    _add_product(pose[frame], row, pose_at[j], by_pose[i], by_pose[j], weight)
                for j in range(n):
                    _add_product(cross[frame], row, shared_at[j], by_pose[i], by_shared[j], weight)
            for i in range(n):
                _add_gradient(shared_gradient, shared_at[i], by_shared[i], r, weight)
                for j in range(n):
                    _add_product(
                        shared, shared_at[i], shared_at[j], by_shared[i], by_shared[j], weight
                    )


@kernel
def _path(
    marker,
    rotations,
    marker_bodies,
    parents,
    offsets,
    places,
    by_pose,
    pose_at,
    by_shared,
    shared_at,
):
    """Derivatives of one marker by the bodies on its path and by what they carry; their number."""
    n_joints = parents.shape[0] - 1
    body, arm = marker_bodies[marker], places[marker]
    column = 3 * (n_joints + marker)
    n = 0
    while body >= 0:
        turn = rotations[body]
        x = turn[0, 0] * arm[0] + turn[0, 1] * arm[1] + turn[0, 2] * arm[2]
        y = turn[1, 0] * arm[0] + turn[1, 1] * arm[1] + turn[1, 2] * arm[2]
        z = turn[2, 0] * arm[0] + turn[2, 1] * arm[1] + turn[2, 2] * arm[2]
        block = by_pose[n + 1]
        block[0, 1], block[0, 2] = z, -y
        block[1, 0], block[1, 2] = -z, x
        block[2, 0], block[2, 1] = y, -x
        pose_at[n + 1] = 3 + 3 * body
        for i in range(3):
            for j in range(3):
                by_shared[n, i, j] = turn[i, j]
        shared_at[n] = column
        n += 1
        arm, column = offsets[body], 3 * (body - 1)
        body = parents[body]
    return n


@kernel(inline="always")
def _add_product(target, row, column, a, b, weight):
    for i in range(3):
        for j in range(3):
            target[row + i, column + j] += weight * (
                a[0, i] * b[0, j] + a[1, i] * b[1, j] + a[2, i] * b[2, j]
            )


@kernel(inline="always")
def _add_gradient(target, row, a, residual, weight):
    for i in range(3):
        target[row + i] += weight * (
            a[0, i] * residual[0] + a[1, i] * residual[1] + a[2, i] * residual[2]
        )
