"""How unsure poses are, frame by frame, from what their elimination left (docs/methods.md §4)."""

import numpy as np

from osteon.calibration._small_matrices import invert_lower, times, turned
from osteon.maths import dot, kernel


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
