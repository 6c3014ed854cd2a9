"""Kernels of ``tracks``: a filter that passes over jumps."""

import numpy as np

from osteon.maths import kernel

UNKNOWN_VARIANCE = 1.0
"""Square metres, of a place of which nothing is known yet. Chosen: larger than any room needs."""
SETTLING_COUNT = 6
"""Count of samples until a filter that starts knowing nothing says something. Chosen: twice its
states."""


@kernel
def filter_points(points, variance, process, gate, patience, likelihood, passed):
    """Log-likelihood (n_frames,) of each sample given those before it, and whether it was passed
    over; x₊ = 3x − 3x₋ + x₋₋ + noise, alike in all directions.

    ``points`` (n_frames, 3), NaN where not seen; ``process`` (n_frames,) variance of the third
    difference. Farther off than ``gate`` deviations squared a sample counts as a jump; after
    ``patience`` of them in a row, the jump is where the point is.
    """
    now, before, earlier = np.zeros(3), np.zeros(3), np.zeros(3)
    pxx = pyy = pzz = UNKNOWN_VARIANCE
    pxy = pxz = pyz = 0.0
    known, waiting = 0, 0
    for frame in range(len(points)):
        for i in range(3):
            ahead = 3.0 * now[i] - 3.0 * before[i] + earlier[i]
            earlier[i], before[i], now[i] = before[i], now[i], ahead
        to_x = 3.0 * pxx - 3.0 * pxy + pxz
        to_y = 3.0 * pxy - 3.0 * pyy + pyz
        to_z = 3.0 * pxz - 3.0 * pyz + pzz
        first = 3.0 * to_x - 3.0 * to_y + to_z + process[frame]
        pzz, pyz, pyy = pyy, pxy, pxx
        pxx, pxy, pxz = first, to_x, to_y
        if np.isnan(points[frame, 0]):
            continue
        if known == 0 or waiting > patience:
            now[:], before[:], earlier[:] = points[frame], points[frame], points[frame]
            pxx, pyy, pzz = variance, UNKNOWN_VARIANCE, UNKNOWN_VARIANCE
            pxy = pxz = pyz = 0.0
            known, waiting = 1, 0
            continue
        total = pxx + variance
        miss = 0.0
        for i in range(3):
            miss += (points[frame, i] - now[i]) ** 2 / total
        far = known > SETTLING_COUNT and miss > gate
        likelihood[frame] = -0.5 * (min(miss, gate) + 3.0 * np.log(total))
        passed[frame] = far
        if far:
            waiting += 1
            continue
        known, waiting = known + 1, 0
        gx, gy, gz = pxx / total, pxy / total, pxz / total
        for i in range(3):
            off = points[frame, i] - now[i]
            now[i] += gx * off
            before[i] += gy * off
            earlier[i] += gz * off
        pzz, pyz, pyy = pzz - gz * pxz, pyz - gy * pxz, pyy - gy * pxy
        pxz, pxy, pxx = pxz - gx * pxz, pxy - gx * pxy, pxx - gx * pxx
