"""A limb's path without the shaking that would pass for movement.

Every frame of a solved motion is found by itself, so what few markers leave open shakes from frame
to frame, and by more than the limb may move. About a fixed axis a mean over time keeps the axis:
it may be as long as the shaking asks for, as long as it is short against a movement.
"""

import numpy as np

from osteon.anatomy import _direction_kernel
from osteon.maths import NORMAL, noise_gain, quat
from osteon.typing import Array

QUIET = np.radians(0.1)
"""Shaking that is left alone."""
LONGEST = 0.125
"""Reach of the mean to either side, seconds."""
LOOKS = 3000
"""Samples that shaking is judged by."""


def jitter(tracks: Array) -> Array:
    """(k,) deviation of white noise on smooth tracks (n, k): second differences show it."""
    if len(tracks) < 3:
        return np.zeros(tracks.shape[1])
    at = np.arange(1, len(tracks) - 1, max(1, len(tracks) // LOOKS))
    size = np.abs(tracks[at + 1] - 2.0 * tracks[at] + tracks[at - 1])
    size = np.sort(size[np.isfinite(size[:, 0])], axis=0)
    if not len(size):
        return np.zeros(tracks.shape[1])
    return NORMAL * size[len(size) // 2] / np.sqrt(noise_gain(2))


def steadied(tracks: Array, rate: float) -> Array:
    """Unrolled rotations (n, 4) or directions (n, 3), averaged over as much time as they shake."""
    rotations = tracks.shape[1] == 4
    # a turn moves a quaternion by half its angle, and in three directions; a direction in two
    noise = np.linalg.norm(jitter(tracks)) * (2.0 / np.sqrt(3.0) if rotations else np.sqrt(0.5))
    half = int(min(LONGEST * rate, 0.75 * (noise / QUIET) ** 2))
    if half < 1:
        return tracks
    weights = np.cos(0.5 * np.pi * np.arange(half + 1) / (half + 1)) ** 2
    means = np.empty(tracks.shape)
    _direction_kernel.weighted_means(np.ascontiguousarray(tracks), weights, means)
    return quat.normalise(means)
