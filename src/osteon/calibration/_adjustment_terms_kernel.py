"""What markers and joints of one frame tell of its poses and of the shared unknowns.

Each adds its squares to the normal equations that ``_adjustment_kernel`` then eliminates.
"""

from typing import NamedTuple

import numpy as np

from osteon.maths import FAST_MATH, cross as cross_product, dot, kernel, turned


class Misfits(NamedTuple):
    """Where every frame's bodies are, and how far markers and joints are from it."""

    rotations: np.ndarray
    """(n_frames, n_bodies, 3, 3)"""
    residuals: np.ndarray
    """(n_frames, n_markers, 3)"""
    weights: np.ndarray
    """(n_frames, n_markers)"""
    gaps: np.ndarray
    """(n_frames, n_bodies, 3) each joint as its body has it, minus as its parent has it; world,
    metres."""
    leans: np.ndarray
    """(n_frames, n_bodies, 3) rotation vectors from the parent, world."""


class FitTree(NamedTuple):
    """The rig: who hangs on whom, and where."""

    marker_bodies: np.ndarray
    parents: np.ndarray
    offsets: np.ndarray
    places: np.ndarray


class JointScatter(NamedTuple):
    """How firmly joints hold."""

    gaps: np.ndarray
    """(n_bodies, 3, 3) in the parent's frame."""
    leans: np.ndarray
    """(n_bodies,)"""
    axes: np.ndarray
    """(n_bodies, 3)"""
    axis_precisions: np.ndarray
    """(n_bodies,)"""


@kernel
def add_markers(frames, frame, tree, columns, pose, cross, pull, shared, gradient):
    for marker in range(tree.marker_bodies.shape[0]):
        if frames.weights[frame, marker] > 0.0:
            body = tree.marker_bodies[marker]
            _add_marker(
                frames.rotations[frame, body],
                tree.places[marker],
                frames.residuals[frame, marker],
                frames.weights[frame, marker],
                columns.markers[marker],
                columns.blocks[body, 0] - columns.blocks[body, 2],
                pose[body],
                cross,
                pull[body],
                shared,
                gradient,
            )


@kernel
def add_joints(
    frames, frame, tree, scatter, columns, pose, cross, pull, coupling, shared, gradient, scratch
):
    """``scratch`` is room for six matrices (6, 3, 3)."""
    for body in range(1, tree.parents.shape[0]):
        parent = tree.parents[body]
        turn, above = frames.rotations[frame, body], frames.rotations[frame, parent]
        _add_joint(
            above,
            tree.offsets[body],
            frames.gaps[frame, body],
            scatter.gaps[body],
            columns.joints[body],
            columns.blocks[body, 0] - columns.blocks[body, 2],
            columns.blocks[parent, 0] - columns.blocks[parent, 2],
            pose,
            cross,
            pull,
            coupling[body],
            body,
            parent,
            shared,
            gradient,
            scratch,
        )
        _add_turns(
            turn,
            above,
            frames.leans[frame, body],
            scatter.leans[body],
            scatter.axes[body],
            scatter.axis_precisions[body],
            pose[body],
            pose[parent],
            coupling[body],
            pull[body],
            pull[parent],
        )


@kernel(inline="always")
def _add_marker(turn, place, residual, weight, column, shift, pose, cross, pull, shared, gradient):
    ax = turn[0, 0] * place[0] + turn[0, 1] * place[1] + turn[0, 2] * place[2]
    ay = turn[1, 0] * place[0] + turn[1, 1] * place[1] + turn[1, 2] * place[2]
    az = turn[2, 0] * place[0] + turn[2, 1] * place[1] + turn[2, 2] * place[2]
    for i in range(3):
        pose[i, i] += weight
        pull[i] += weight * residual[i]
    # the turn's columns are −[arm]ₓ
    pose[0, 4] += weight * az
    pose[0, 5] -= weight * ay
    pose[1, 3] -= weight * az
    pose[1, 5] += weight * ax
    pose[2, 3] += weight * ay
    pose[2, 4] -= weight * ax
    pose[4, 0] += weight * az
    pose[5, 0] -= weight * ay
    pose[3, 1] -= weight * az
    pose[5, 1] += weight * ax
    pose[3, 2] += weight * ay
    pose[4, 2] -= weight * ax
    squared = ax * ax + ay * ay + az * az
    arm = (ax, ay, az)
    for i in range(3):
        for j in range(3):
            pose[3 + i, 3 + j] -= weight * arm[i] * arm[j]
        pose[3 + i, 3 + i] += weight * squared
    pull[3] += weight * (ay * residual[2] - az * residual[1])
    pull[4] += weight * (az * residual[0] - ax * residual[2])
    pull[5] += weight * (ax * residual[1] - ay * residual[0])
    for j in range(3):
        here = shift + column + j
        for i in range(3):
            cross[i, here] += weight * turn[i, j]
        cross[3, here] += weight * (ay * turn[2, j] - az * turn[1, j])
        cross[4, here] += weight * (az * turn[0, j] - ax * turn[2, j])
        cross[5, here] += weight * (ax * turn[1, j] - ay * turn[0, j])
        shared[column + j, column + j] += weight
        gradient[column + j] += weight * (
            turn[0, j] * residual[0] + turn[1, j] * residual[1] + turn[2, j] * residual[2]
        )


@kernel(inline="always")
def _add_joint(
    turn,
    offset,
    gap,
    precision,
    column,
    shift,
    parent_shift,
    pose,
    cross,
    pull,
    coupling,
    body,
    parent,
    shared,
    gradient,
    scratch,
):
    by_offset, world, arm = scratch[0], scratch[1], scratch[2]  # arm's diagonal stays 0
    lever, lever_offset, lifted = scratch[3], scratch[4], scratch[5]
    _times3(turn, precision, by_offset)
    _times3(by_offset, turn.T, world)
    x, y, z = turned(turn, offset)
    # [from the parent's joint to this one]ₓ
    arm[0, 1], arm[0, 2] = -z - gap[2], y + gap[1]
    arm[1, 0], arm[1, 2] = z + gap[2], -x - gap[0]
    arm[2, 0], arm[2, 1] = -y - gap[1], x + gap[0]
    _times3(world, arm, lever)
    _times3(arm, by_offset, lever_offset)
    _times3(arm.T, lever, lifted)
    force = turned(world, gap)
    moment, local = turned(arm, force), turned(turn.T, gap)
    for i in range(3):
        pull[body, i] += force[i]
        pull[parent, i] -= force[i]
        pull[parent, 3 + i] -= moment[i]
        for j in range(3):
            pose[body, i, j] += world[i, j]
            pose[parent, i, j] += world[i, j]
            pose[parent, i, 3 + j] -= lever[i, j]
            pose[parent, 3 + i, j] -= lever[j, i]
            pose[parent, 3 + i, 3 + j] += lifted[i, j]
            coupling[i, j] -= world[i, j]
            coupling[i, 3 + j] += lever[i, j]
            cross[i, shift + column + j] -= by_offset[i, j]
            cross[i, parent_shift + column + j] += by_offset[i, j]
            cross[3 + i, parent_shift + column + j] += lever_offset[i, j]
            shared[column + i, column + j] += precision[i, j]
            gradient[column + i] -= precision[i, j] * local[j]


@kernel(inline="always")
def _add_turns(
    turn,
    above,
    lean,
    lean_precision,
    axis,
    axis_precision,
    pose,
    parent_pose,
    coupling,
    pull,
    parent_pull,
):
    """Add the pull towards the parent's turn, and of an axis that both have in common."""
    for i in range(3):
        pose[3 + i, 3 + i] += lean_precision
        parent_pose[3 + i, 3 + i] += lean_precision
        coupling[3 + i, 3 + i] -= lean_precision
        pull[3 + i] += lean_precision * lean[i]
        parent_pull[3 + i] -= lean_precision * lean[i]
    if axis_precision == 0.0:
        return
    own, other = turned(turn, axis), turned(above, axis)
    cosine = dot(own, other)
    for i in range(3):
        for j in range(3):
            same = 1.0 if i == j else 0.0
            pose[3 + i, 3 + j] += axis_precision * (same - own[i] * own[j])
            parent_pose[3 + i, 3 + j] += axis_precision * (same - other[i] * other[j])
            # [own]ₓ [other]ₓ
            coupling[3 + i, 3 + j] += axis_precision * (other[i] * own[j] - same * cosine)
    off = cross_product(other, own)  # own × (own − other) = other × own, and so for the parent
    for i in range(3):
        pull[3 + i] += axis_precision * off[i]
        parent_pull[3 + i] -= axis_precision * off[i]


@kernel(fastmath=FAST_MATH)
def _times3(a, b, product):
    """Fill in the product of two (3, 3): of known size it is straight-line code, four times as fast
    as ``times``."""
    for i in range(3):
        x, y, z = a[i, 0], a[i, 1], a[i, 2]
        for j in range(3):
            product[i, j] = x * b[0, j] + y * b[1, j] + z * b[2, j]
