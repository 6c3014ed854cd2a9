"""Normal equations of the fit, frame by frame, eliminated along the tree (docs/methods.md §4).

A body's six pose unknowns (place, turn) meet only its own markers and, through its joint, its
parent. So each frame's matrix is a tree of 6 × 6 blocks: bodies are eliminated from the leaves to
the root, and what a body tells of the shared unknowns concerns only those of its own subtree.
"""

import numpy as np

from osteon.maths import (
    FAST_MATH,
    cross as cross_product,
    dot,
    invert_lower,
    kernel,
    times,
    turned,
)

PIVOT_FLOOR = 1e-12
"""Share of its largest entry below which a pivot counts as zero: rounding, derived from doubles."""


@kernel
def eliminate(
    rotations,
    residuals,
    weights,
    gaps,
    leans,
    marker_bodies,
    parents,
    offsets,
    places,
    gap_precisions,
    lean_precisions,
    axes,
    axis_precisions,
    marker_columns,
    joint_columns,
    blocks,
    damping,
    shared,
    gradient,
    factors,
    couplings,
    crosses,
    right,
):
    """Factor every frame's pose unknowns, and add what markers and joints tell of the shared ones.

    What poses take away of it is left to ``crosses``: one product of matrices over all frames.

    Parameters
    ----------
    rotations : (n_frames, n_bodies, 3, 3)
    residuals, weights : (n_frames, n_markers, 3), (n_frames, n_markers)
    gaps : (n_frames, n_bodies, 3)
        Each joint as its body has it, minus as its parent has it; world, metres.
    leans : (n_frames, n_bodies, 3)
        Rotation vectors from the parent, world.
    gap_precisions : (n_bodies, 3, 3)
        In the parent's frame.
    marker_columns, joint_columns : (n_markers,), (n_bodies,)
        Where each one's three shared unknowns begin, ordered so that a subtree's stand together.
    blocks : (n_bodies, 3)
        A body's block in ``crosses`` begins at the first number, has as many columns as the second,
        and stands for the shared unknowns from the third on.
    shared, gradient : (n_shared, n_shared), (n_shared,), changed
    factors, couplings : (n_frames, n_bodies, 6, 6), filled
    crosses : (n_frames, 6, n_columns of all blocks), filled
    right : (n_frames, n_bodies, 6), filled
        What ``back_substitute`` and ``pose_variances`` need.
    """
    for frame in range(rotations.shape[0]):
        pose, cross = factors[frame], crosses[frame]
        coupling, pull = couplings[frame], right[frame]
        pose[:] = 0.0
        cross[:] = 0.0
        coupling[:] = 0.0
        pull[:] = 0.0
        _add_markers(
            rotations[frame],
            residuals[frame],
            weights[frame],
            marker_bodies,
            places,
            marker_columns,
            blocks,
            pose,
            cross,
            pull,
            shared,
            gradient,
        )
        _add_joints(
            rotations[frame],
            gaps[frame],
            leans[frame],
            parents,
            offsets,
            gap_precisions,
            lean_precisions,
            axes,
            axis_precisions,
            joint_columns,
            blocks,
            pose,
            cross,
            pull,
            coupling,
            shared,
            gradient,
        )
        _eliminate_bodies(parents, blocks, damping, pose, cross, pull, coupling)


@kernel
def _eliminate_bodies(parents, blocks, damping, pose, cross, pull, coupling):
    """Factor one frame from the leaves to the root, each body's share passed up to its parent."""
    for body in range(parents.shape[0]):
        for i in range(6):
            pose[body, i, i] *= 1.0 + damping
    for body in range(parents.shape[0] - 1, -1, -1):
        start, n, first = blocks[body]
        _factor(pose[body])
        _forward(pose[body], cross, start, n)
        _forward(pose[body], pull[body].reshape(6, 1), 0, 1)
        if body > 0:
            parent = parents[body]
            _forward(pose[body], coupling[body], 0, 6)
            _pass_up(coupling[body], pull[body], pose[parent], pull[parent])
            above = blocks[parent, 0] + first - blocks[parent, 2]
            _pass_columns_up(coupling[body], cross, start, n, above)


@kernel
def _add_markers(
    rotations,
    residuals,
    weights,
    marker_bodies,
    places,
    marker_columns,
    blocks,
    pose,
    cross,
    pull,
    shared,
    gradient,
):
    for marker in range(marker_bodies.shape[0]):
        if weights[marker] > 0.0:
            body = marker_bodies[marker]
            _add_marker(
                rotations[body],
                places[marker],
                residuals[marker],
                weights[marker],
                marker_columns[marker],
                blocks[body, 0] - blocks[body, 2],
                pose[body],
                cross,
                pull[body],
                shared,
                gradient,
            )


@kernel
def _add_joints(
    rotations,
    gaps,
    leans,
    parents,
    offsets,
    gap_precisions,
    lean_precisions,
    axes,
    axis_precisions,
    joint_columns,
    blocks,
    pose,
    cross,
    pull,
    coupling,
    shared,
    gradient,
):
    for body in range(1, parents.shape[0]):
        parent = parents[body]
        _add_joint(
            rotations[parent],
            offsets[body],
            gaps[body],
            gap_precisions[body],
            joint_columns[body],
            blocks[body, 0] - blocks[body, 2],
            blocks[parent, 0] - blocks[parent, 2],
            pose,
            cross,
            pull,
            coupling[body],
            body,
            parent,
            shared,
            gradient,
        )
        _add_turns(
            rotations[body],
            rotations[parent],
            leans[body],
            lean_precisions[body],
            axes[body],
            axis_precisions[body],
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


@kernel
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
):
    by_offset, world = np.empty((3, 3)), np.empty((3, 3))
    times(turn, precision, by_offset)
    times(by_offset, turn.T, world)
    x, y, z = turned(turn, offset)
    arm = np.zeros((3, 3))  # [from the parent's joint to this one]ₓ
    arm[0, 1], arm[0, 2] = -z - gap[2], y + gap[1]
    arm[1, 0], arm[1, 2] = z + gap[2], -x - gap[0]
    arm[2, 0], arm[2, 1] = -y - gap[1], x + gap[0]
    lever, lever_offset, lifted = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    times(world, arm, lever)
    times(arm, by_offset, lever_offset)
    times(arm.T, lever, lifted)
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


@kernel
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


@kernel
def _factor(block):
    """Replace the lower triangle by its Cholesky factor; what is not determined stays."""
    largest = 0.0
    for i in range(6):
        largest = max(largest, block[i, i])
    floor = PIVOT_FLOOR * largest + 1e-30
    for j in range(6):
        for k in range(j):
            for i in range(j, 6):
                block[i, j] -= block[i, k] * block[j, k]
        pivot = np.sqrt(max(block[j, j], floor))
        for i in range(j, 6):
            block[i, j] /= pivot
        block[j, j] = pivot


@kernel(fastmath=FAST_MATH)
def _forward(factor, block, start, n):
    """Solve by the lower factor ``n`` columns of a block (6, …)."""
    for i in range(6):
        for k in range(i):
            share = factor[i, k]
            for c in range(start, start + n):
                block[i, c] -= share * block[k, c]
        scale = 1.0 / factor[i, i]
        for c in range(start, start + n):
            block[i, c] *= scale


@kernel
def _pass_up(coupling, pull, parent_pose, parent_pull):
    for i in range(6):
        for j in range(6):
            value = 0.0
            for k in range(6):
                value += coupling[k, i] * coupling[k, j]
            parent_pose[i, j] -= value
        value = 0.0
        for k in range(6):
            value += coupling[k, i] * pull[k]
        parent_pull[i] -= value


@kernel(fastmath=FAST_MATH)
def _pass_columns_up(coupling, cross, start, n, above):
    """Take from the parent's columns, which begin at ``above``, what a body's own ones tell."""
    for i in range(6):
        a, b, c = coupling[0, i], coupling[1, i], coupling[2, i]
        d, e, f = coupling[3, i], coupling[4, i], coupling[5, i]
        for j in range(n):
            own = start + j
            cross[i, above + j] -= (
                a * cross[0, own]
                + b * cross[1, own]
                + c * cross[2, own]
                + d * cross[3, own]
                + e * cross[4, own]
                + f * cross[5, own]
            )


@kernel
def back_substitute(parents, blocks, factors, couplings, crosses, right, shared_step, steps):
    """Fill ``steps`` (n_frames, n_bodies, 6) with the pose steps that belong to a shared step."""
    values = np.zeros(6)
    for frame in range(factors.shape[0]):
        for body in range(factors.shape[1]):
            start, n, first = blocks[body]
            for i in range(6):
                values[i] = right[frame, body, i] + _product(
                    crosses[frame], i, start, shared_step, first, n
                )
            if body > 0:
                above = steps[frame, parents[body]]
                for i in range(6):
                    for j in range(6):
                        values[i] += couplings[frame, body, i, j] * above[j]
            factor = factors[frame, body]
            for i in range(5, -1, -1):
                value = -values[i]
                for k in range(i + 1, 6):
                    value -= factor[k, i] * steps[frame, body, k]
                steps[frame, body, i] = value / factor[i, i]


@kernel(fastmath=FAST_MATH)
def _product(rows, row, start, vector, first, n):
    """Return the sum of products of ``n`` entries of a row and of a vector."""
    total = 0.0
    for c in range(n):
        total += rows[row, start + c] * vector[first + c]
    return total


@kernel
def pose_variances(
    rotations,
    marker_bodies,
    parents,
    offsets,
    places,
    factors,
    couplings,
    markers,
    gaps,
    leans,
):
    """Fill in how unsure each frame's pose leaves what it explains, the shared unknowns known.

    Parameters
    ----------
    factors, couplings
        As ``eliminate`` left them, without damping.
    markers : (n_frames, n_markers), filled
        Variance of a modelled marker, sum of three coordinates.
    gaps : (n_frames, n_bodies, 3), filled
        Of a joint's gap along the axes of the parent's frame.
    leans : (n_frames, n_bodies), filled
        Of the turn from the parent, sum of three.
    """
    n_bodies = rotations.shape[1]
    own, both = np.zeros((n_bodies, 6, 6)), np.zeros((12, 12))
    inverse, carried, joint = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 6))
    for frame in range(rotations.shape[0]):
        for body in range(n_bodies):
            invert_lower(factors[frame, body], inverse)
            times(inverse.T, inverse, own[body])
            if body == 0:
                continue
            parent = parents[body]
            times(inverse.T, couplings[frame, body], carried)
            times(carried, own[parent], joint)
            joint *= -1.0
            times(joint, carried.T, inverse)
            own[body] -= inverse
            both[:6, :6], both[:6, 6:] = own[body], joint
            both[6:, :6], both[6:, 6:] = joint.T, own[parent]
            _gap_variances(rotations[frame, parent], offsets[body], both, gaps[frame, body])
            total = 0.0
            for i in range(3, 6):
                total += both[i, i] + both[6 + i, 6 + i] - 2.0 * both[i, 6 + i]
            leans[frame, body] = total
        for marker in range(marker_bodies.shape[0]):
            body = marker_bodies[marker]
            arm = turned(rotations[frame, body], places[marker])
            markers[frame, marker] = _marker_variance(own[body], arm)


@kernel
def _gap_variances(turn, offset, both, variances):
    """Fill in the variances (3,) of a joint's gap along the axes of the parent's frame, by those of
    both bodies' poses (12, 12)."""
    a = turned(turn, offset)
    derivative = np.zeros((3, 12))
    for i in range(3):
        derivative[i, i] = 1.0
        derivative[i, 6 + i] = -1.0
    derivative[0, 10], derivative[0, 11] = -a[2], a[1]
    derivative[1, 9], derivative[1, 11] = a[2], -a[0]
    derivative[2, 9], derivative[2, 10] = -a[1], a[0]
    local, spread = np.empty((3, 12)), np.empty((3, 12))
    times(turn.T, derivative, local)
    times(local, both, spread)
    for i in range(3):
        variances[i] = np.sum(spread[i] * local[i])


@kernel
def _marker_variance(block, arm):
    """Return the trace of J C Jᵀ of a pose's covariance (6, 6), J = [1, −[arm]ₓ]."""
    total = block[0, 0] + block[1, 1] + block[2, 2]
    total += 2.0 * (
        arm[2] * (block[0, 4] - block[1, 3])
        + arm[1] * (block[2, 3] - block[0, 5])
        + arm[0] * (block[1, 5] - block[2, 4])
    )
    squared = dot(arm, arm)
    for i in range(3):
        total += squared * block[3 + i, 3 + i]
        for j in range(3):
            total -= arm[i] * arm[j] * block[3 + i, 3 + j]
    return total
