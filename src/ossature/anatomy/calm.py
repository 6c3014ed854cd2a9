"""Rotations freed of the shaking that was found in them, so that limits tell of the motion.

The largest of many noisy angles lies several times the noise beyond where the joint went. Tracks
are smoothed by making their third differences small, as stiffly as brings them nearest to the
motion without noise: but for a constant, that error is what is taken away plus twice the noise that
so free a track keeps (Mallows). To ask that as much be taken away as there is noise would hang on
the noise's last per cent.
"""

import numpy as np
from numba import njit

from ossature.anatomy.kinds import NOISIEST
from ossature.values.arrays import Array

LEAST = np.radians(0.05)
"""Noise that is left alone."""
BAND = 3
"""Order of the differences made small, and so the bandwidth of the equations."""
FREEDOM, OWN_FREEDOM = 1.0 / 3.0, 1.5
"""Share of freedom that a stiffness of 1 leaves to a track, from the eigenvalues of third
differences of long tracks; and what its ends add: half of the three numbers of a parabola."""
STIFFNESSES = np.arange(-2.0, 11.0, 3.0)
"""Decimal powers of the stiffness tried first; their distance is then halved twice about the
best."""


def calm(frames: Array, noise: Array) -> Array:
    """Rotations (n_frames, n_joints, 4) without noise (n_joints,), radians; NaN stays.

    Joints that shake as much as ``NOISIEST`` are left alone: their frames are in no order.
    """
    joints = np.flatnonzero((noise > LEAST) & (noise < NOISIEST))
    if len(frames) <= 2 * BAND or not len(joints):
        return frames
    calmed = np.array(frames)
    # a turn is twice the vector part of its quaternion; of the four parts three can shake
    _calm(calmed, joints, 0.75 * noise[joints] ** 2)
    return calmed


@njit(cache=True, nogil=True)
def _calm(frames, joints, square):
    """Smooth joints of frames (n, n_joints, 4) with noise of mean squares ``square`` in place."""
    n = len(frames)
    track, weights = np.zeros((n, 4)), np.zeros(n)
    factors, found = np.zeros((n + 2 * BAND, BAND + 1)), np.zeros((n + 2 * BAND, 4))
    squares, best = _squared_differences(n), np.zeros((n, 4))
    for at in range(len(joints)):
        n_seen = _unroll(frames, joints[at], track, weights)
        if n_seen <= 2 * BAND:
            continue
        least, middle, step = np.inf, 0.0, 0.0
        for halving in range(3):
            tried = STIFFNESSES if halving == 0 else np.array([middle - step, middle + step])
            for power in tried:
                left = _draw(track, weights, squares, 10.0**power, factors, found)
                free = min(1.0, FREEDOM * 10.0 ** (-power / 6.0) + OWN_FREEDOM / n_seen)
                wrong = left + 2.0 * free * square[at]
                if wrong < least:
                    least, middle = wrong, power
                    best[:] = found[BAND : n + BAND]
            step = 0.5 * (STIFFNESSES[1] - STIFFNESSES[0]) if halving == 0 else 0.5 * step
        for i in range(n):
            if weights[i] > 0.0:
                frames[i, joints[at]] = best[i] / np.sqrt(np.sum(best[i] ** 2))


@njit(cache=True, nogil=True)
def _unroll(frames, joint, track, weights):
    """One joint's rotations, neighbours in one hemisphere, and 1 where seen; how many are."""
    n_seen, last = 0, 0
    for i in range(len(frames)):
        weights[i] = 1.0 if np.isfinite(frames[i, joint, 0]) else 0.0
        track[i] = frames[i, joint] if weights[i] > 0.0 else np.zeros(4)
        if weights[i] > 0.0:
            if np.sum(track[i] * track[last]) < 0.0:
                track[i] = -track[i]
            last = i
            n_seen += 1
    return n_seen


@njit(cache=True, nogil=True)
def _squared_differences(n):
    """Entries (i, i − k) of DᵀD, D the third differences, at [i, k]."""
    steps = (-1.0, 3.0, -3.0, 1.0)
    bands = np.zeros((n, BAND + 1))
    for i in range(n - BAND):
        for a in range(BAND + 1):
            for b in range(a + 1):
                bands[i + a, a - b] += steps[a] * steps[b]
    return bands


@njit(cache=True, nogil=True)
def _draw(track, weights, squares, stiffness, factors, found):
    """Solve (W + stiffness·DᵀD) x = W y; the mean square of x − y where seen.

    By L·diag(d)·Lᵀ: ``factors`` holds 1/d and the three entries of L beside its diagonal. It and x
    have ``BAND`` rows of nothing before and after.
    """
    n = len(track)
    for i in range(n):
        at = i + BAND
        third = stiffness * squares[i, 3]
        second = stiffness * squares[i, 2] - third * factors[at - 2, 1]
        first = stiffness * squares[i, 1] - third * factors[at - 1, 2] - second * factors[at - 1, 1]
        l1, l2, l3 = first * factors[at - 1, 0], second * factors[at - 2, 0], third * factors[i, 0]
        own = weights[i] + stiffness * squares[i, 0] - third * l3 - second * l2 - first * l1
        factors[at, 0] = 1.0 / max(own, 1e-12)
        factors[at, 1], factors[at, 2], factors[at, 3] = l1, l2, l3
        for c in range(4):
            before = l1 * found[at - 1, c] + l2 * found[at - 2, c] + l3 * found[i, c]
            found[at, c] = weights[i] * track[i, c] - before
    total, seen = 0.0, 0.0
    for i in range(n - 1, -1, -1):
        at = i + BAND
        for c in range(4):
            after = factors[at + 1, 1] * found[at + 1, c] + factors[at + 2, 2] * found[at + 2, c]
            after += factors[at + 3, 3] * found[at + 3, c]
            found[at, c] = found[at, c] * factors[at, 0] - after
            total += weights[i] * (found[at, c] - track[i, c]) ** 2
        seen += weights[i]
    return total / seen
