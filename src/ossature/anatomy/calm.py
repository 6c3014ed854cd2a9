"""Rotations freed of the shaking that was found in them, so that limits tell of the motion.

The largest of many noisy angles lies several times the noise beyond where the joint went. Tracks
are drawn as smooth as the noise allows: third differences are made small until what is taken away
is as large as the noise.
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
FREEDOM, SLACK = 0.45, 1.02
"""Share of freedom a stiffness of 1 leaves to a track, and the noise to take away per noise found:
by simulation of joints of known range, so that these come out neither too wide nor too narrow."""
STIFFEST, ROUNDS = 12.0, 8
"""Decimal powers of the stiffness looked through, and how often their range is halved."""


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
    _calm(smooth, seen.astype(np.float64), 0.75 * (SLACK * noise[joints]) ** 2)
    calmed = np.array(frames)
    calmed[:, joints] = np.where(seen[..., None], quat.normalise(smooth), np.nan)
    return calmed


@njit(cache=True, nogil=True)
def _calm(tracks, weights, square):
    """Smooth tracks (n, n_joints, 4) in place, until the mean square taken away is ``square``."""
    n = len(tracks)
    bands, found = np.empty((n, BAND + 1)), np.empty((n, 4))
    for j in range(tracks.shape[1]):
        if weights[:, j].sum() <= 2 * BAND:
            continue
        low, high = -2.0, STIFFEST
        for _ in range(ROUNDS):
            power = 0.5 * (low + high)
            left = _draw(tracks, weights, j, 10.0**power, bands, found)
            # a track drawn with some freedom keeps that share of the noise
            free = min(0.9, FREEDOM * 10.0 ** (-power / 6.0))
            if left > square[j] * (1.0 - free):
                high = power
            else:
                low = power
        _draw(tracks, weights, j, 10.0**low, bands, found)
        tracks[:, j] = found


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
