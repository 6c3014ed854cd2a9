"""How much a coordinate jerks, told from its noisy track: the most likely, moment by moment."""

import numpy as np
from scipy import ndimage

from osteon.maths import kernel
from osteon.typing import Array

GRID = 10.0 ** np.arange(-5.0, 0.3, 0.25)
"""Standard deviations of a third difference that are tried, radians or metres per frame³."""
N_SETTLING = 6
"""Frames until a filter that starts knowing nothing says something."""


def process_noise(tracks: Array, variances: Array, window: float) -> Array:
    """Standard deviation (n_frames, n_tracks) of each track's third difference.

    For every candidate a Kalman filter runs along the track; how likely it finds each next sample
    (its innovation) is averaged over a window, and the likeliest candidate wins.

    Parameters
    ----------
    tracks : (n_frames, n_tracks)
        Coordinates with independent errors.
    variances : (n_frames, n_tracks)
        Of these errors; inf where there is no evidence.
    window
        Standard deviation of the Gaussian window, frames.
    """
    likelihood = np.zeros((len(GRID), *tracks.shape))
    _filter_all(np.ascontiguousarray(tracks), np.ascontiguousarray(variances), GRID, likelihood)
    likelihood = ndimage.gaussian_filter1d(likelihood, window, axis=1, mode="nearest")
    best = GRID[np.argmax(likelihood, axis=0)]
    # a start or a stop stays sharp: around it the larger noise counts, not the mean
    return ndimage.maximum_filter1d(best, 1 + 2 * round(window), axis=0, mode="nearest")


@kernel
def _filter_all(tracks, variances, grid, likelihood):
    for k in range(len(grid)):
        for track in range(tracks.shape[1]):
            _filter(tracks[:, track], variances[:, track], grid[k] ** 2, likelihood[k, :, track])


@kernel
def _filter(track, variance, process, likelihood):
    """Log-likelihood of each sample given those before it: x₊ = 3x − 3x₋ + x₋₋ + noise."""
    x = y = z = track[0]
    pxx, pyy, pzz, pxy, pxz, pyz = 1.0, 1.0, 1.0, 0.0, 0.0, 0.0
    for frame in range(len(track)):
        if frame > 0:
            x, y, z = 3.0 * x - 3.0 * y + z, x, y
            to_x = 3.0 * pxx - 3.0 * pxy + pxz
            to_y = 3.0 * pxy - 3.0 * pyy + pyz
            to_z = 3.0 * pxz - 3.0 * pyz + pzz
            first = 3.0 * to_x - 3.0 * to_y + to_z + process
            pzz, pyz, pyy = pyy, pxy, pxx
            pxx, pxy, pxz = first, to_x, to_y
        if not np.isfinite(variance[frame]):
            continue
        total = pxx + variance[frame]
        miss = track[frame] - x
        if frame >= N_SETTLING:
            likelihood[frame] = -0.5 * (miss * miss / total + np.log(total))
        gx, gy, gz = pxx / total, pxy / total, pxz / total
        x, y, z = x + gx * miss, y + gy * miss, z + gz * miss
        pzz, pyz, pyy = pzz - gz * pxz, pyz - gy * pxz, pyy - gy * pxy
        pxz, pxy, pxx = pxz - gx * pxz, pxy - gx * pxy, pxx - gx * pxx
