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
from ossature.maths import quat
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
    shaky = quat.unroll(frames[:, joints])
    seen = np.isfinite(shaky[..., 0])
    smooth = np.where(seen[..., None], shaky, 0.0)
    # a turn is twice the vector part of its quaternion; of the four parts three can shake
    _calm(smooth, seen.astype(np.float64), 0.75 * noise[joints] ** 2)
    calmed = np.array(frames)
    calmed[:, joints] = np.where(seen[..., None], quat.normalise(smooth), np.nan)
    return calmed


@njit(cache=True, nogil=True)
def _calm(tracks, weights, square):
    """Smooth tracks (n, n_joints, 4) with noise of mean squares ``square`` (n_joints,) in place."""
    n = len(tracks)
    bands, found, best = np.empty((n, BAND + 1)), np.empty((n, 4)), np.empty((n, 4))
    for j in range(tracks.shape[1]):
        n_seen = weights[:, j].sum()
        if n_seen <= 2 * BAND:
            continue
        least, middle, step = np.inf, 0.0, 0.0
        for halving in range(3):
            tried = STIFFNESSES if halving == 0 else np.array([middle - step, middle + step])
            for power in tried:
                left = _draw(tracks, weights, j, 10.0**power, bands, found)
                free = min(1.0, FREEDOM * 10.0 ** (-power / 6.0) + OWN_FREEDOM / n_seen)
                wrong = left + 2.0 * free * square[j]
                if wrong < least:
                    least, middle = wrong, power
                    best[:] = found
            step = 0.5 * (STIFFNESSES[1] - STIFFNESSES[0]) if halving == 0 else 0.5 * step
        tracks[:, j] = best


@njit(cache=True, nogil=True)
def _draw(tracks, weights, j, stiffness, bands, found):
    """Solve (W + stiffness·DᵀD) x = W y for one joint; the mean square of x − y where seen."""
    n = len(tracks)
    steps = (-1.0, 3.0, -3.0, 1.0)
    bands[:] = 0.0
    for i in range(n):
        bands[i, 0] = weights[i, j]
        for k in range(4):
            found[i, k] = weights[i, j] * tracks[i, j, k]
    for i in range(n - BAND):
        for a in range(BAND + 1):
            for b in range(a + 1):
                bands[i + a, a - b] += stiffness * steps[a] * steps[b]
    _solve_banded(bands, found)
    total, seen = 0.0, 0.0
    for i in range(n):
        for k in range(4):
            total += weights[i, j] * (found[i, k] - tracks[i, j, k]) ** 2
        seen += weights[i, j]
    return total / seen


@njit(cache=True, nogil=True)
def _solve_banded(bands, x):
    """Cholesky of a symmetric matrix, entry (i, i − k) at ``bands[i, k]``; x (n, 4) in place."""
    n = len(bands)
    for i in range(n):
        for k in range(min(BAND, i), -1, -1):
            j = i - k
            value = bands[i, k]
            for m in range(max(0, i - BAND), j):
                if j - m <= BAND:
                    value -= bands[i, i - m] * bands[j, j - m]
            bands[i, k] = value / bands[j, 0] if k else np.sqrt(max(value, 1e-12))
    for i in range(n):
        for c in range(4):
            value = x[i, c]
            for k in range(1, min(BAND, i) + 1):
                value -= bands[i, k] * x[i - k, c]
            x[i, c] = value / bands[i, 0]
    for i in range(n - 1, -1, -1):
        for c in range(4):
            value = x[i, c]
            for k in range(1, min(BAND, n - 1 - i) + 1):
                value -= bands[i + k, k] * x[i + k, c]
            x[i, c] = value / bands[i, 0]
