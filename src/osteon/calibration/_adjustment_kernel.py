"""Normal equations of the fit, frame by frame, eliminated along the tree (docs/methods.md §4).

A body's six pose unknowns (place, turn) meet only its own markers and, through its joint, its
parent. So each frame's matrix is a tree of 6 × 6 blocks: bodies are eliminated from the leaves to
the root, and what a body tells of the shared unknowns concerns only those of its own subtree.
"""

from typing import NamedTuple

import numpy as np

from osteon.calibration._adjustment_terms_kernel import add_joints, add_markers
from osteon.maths import FAST_MATH, dot, invert_lower, kernel, times, turned

PIVOT_FLOOR = 1e-12
"""Share of its largest entry below which a pivot counts as zero: rounding, derived from doubles."""


class Eliminated(NamedTuple):
    """What is kept of every frame's elimination: all that its poses' steps and variances need."""

    factors: np.ndarray
    """(n_frames, n_bodies, 6, 6)"""
    couplings: np.ndarray
    """(n_frames, n_bodies, 6, 6)"""
    crosses: np.ndarray
    """(n_frames, 6, n_columns of all blocks)"""
    right: np.ndarray
    """(n_frames, n_bodies, 6)"""


@kernel
def eliminate(frames, tree, scatter, columns, damping, shared, gradient, out):
    """Factor every frame's pose unknowns, and add what markers and joints tell of the shared ones.

    What poses take away of it is left to ``out.crosses``: one product of matrices over all frames.

    Parameters
    ----------
    frames : Misfits
    tree : FitTree
    scatter : JointScatter
    columns : SubtreeColumns
    shared, gradient : (n_shared, n_shared), (n_shared,), changed
    out : Eliminated, filled
    """
    scratch = np.zeros((6, 3, 3))
    for frame in range(frames.rotations.shape[0]):
        pose, cross = out.factors[frame], out.crosses[frame]
        coupling, pull = out.couplings[frame], out.right[frame]
        pose[:] = 0.0
        cross[:] = 0.0
        coupling[:] = 0.0
        pull[:] = 0.0
        add_markers(frames, frame, tree, columns, pose, cross, pull, shared, gradient)
        add_joints(
            *(frames, frame, tree, scatter, columns),
            *(pose, cross, pull, coupling, shared, gradient, scratch),
        )
        _eliminate_bodies(tree.parents, columns.blocks, damping, pose, cross, pull, coupling)


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
    """Solve by the lower factor ``n`` columns of a block (6, …).

    Each column is read and written once; its six numbers stay in registers.
    """
    (p0, p1, p2), (p3, p4, p5) = _pivots(factor, 0), _pivots(factor, 3)
    a1 = factor[1, 0]
    a2, b2 = factor[2, 0], factor[2, 1]
    a3, b3, c3 = factor[3, 0], factor[3, 1], factor[3, 2]
    a4, b4, c4, d4 = factor[4, 0], factor[4, 1], factor[4, 2], factor[4, 3]
    a5, b5, c5, d5, e5 = factor[5, 0], factor[5, 1], factor[5, 2], factor[5, 3], factor[5, 4]
    end = start + n
    rows = block[0, start:end], block[1, start:end], block[2, start:end]
    more = block[3, start:end], block[4, start:end], block[5, start:end]
    for i in range(n):
        a = rows[0][i] * p0
        b = (rows[1][i] - a1 * a) * p1
        c = (rows[2][i] - a2 * a - b2 * b) * p2
        d = (more[0][i] - a3 * a - b3 * b - c3 * c) * p3
        e = (more[1][i] - a4 * a - b4 * b - c4 * c - d4 * d) * p4
        f = (more[2][i] - a5 * a - b5 * b - c5 * c - d5 * d - e5 * e) * p5
        rows[0][i], rows[1][i], rows[2][i] = a, b, c
        more[0][i], more[1][i], more[2][i] = d, e, f


@kernel(inline="always")
def _pivots(factor, i):
    return 1.0 / factor[i, i], 1.0 / factor[i + 1, i + 1], 1.0 / factor[i + 2, i + 2]


@kernel(inline="always")
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
def back_substitute(parents, blocks, eliminated, shared_step, steps):
    """Fill ``steps`` (n_frames, n_bodies, 6) with the pose steps that belong to a shared step."""
    factors, couplings, crosses, right = eliminated
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
def pose_variances(rotations, tree, eliminated, markers, gaps, leans):
    """Fill in how unsure each frame's pose leaves what it explains, the shared unknowns known.

    Parameters
    ----------
    tree : FitTree
    eliminated : Eliminated
        As ``eliminate`` left it, without damping.
    markers : (n_frames, n_markers), filled
        Variance of a modelled marker, sum of three coordinates.
    gaps : (n_frames, n_bodies, 3), filled
        Of a joint's gap along the axes of the parent's frame.
    leans : (n_frames, n_bodies), filled
        Of the turn from the parent, sum of three.
    """
    factors, couplings, _, _ = eliminated
    marker_bodies, parents, offsets, places = tree
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
