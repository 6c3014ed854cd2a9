"""How noisy each body's poses are, judged from what moves too fast to be motion.

White noise survives repeated differencing and motion does not: the fifth difference of a
trajectory is nearly pure noise, scaled by a known factor. Noise that is smooth in time (a loose
strap, skin) is not seen here; it shows in the residuals of the joints.
"""

from dataclasses import dataclass
from math import comb

import numpy as np

from osteon.maths import quat, robust
from osteon.typing import Array
from osteon.values import Bodies

ORDER = 5
"""Differences taken: at 60 Hz a swing of 1 Hz is damped to 1e-5 of its size."""


@dataclass(frozen=True, slots=True, eq=False)
class PoseNoise:
    """White noise of every body's pose."""

    position: Array
    """(n_bodies,) standard deviation per axis of the origin's place, metres."""
    rotation: Array
    """(n_bodies, 3, 3) covariance of small turns in the body's own frame, square radians."""

    @property
    def shrinkage(self) -> Array:
        """(n_bodies, 3, 3) ``K`` with mean(noisy R) = R K: noise shortens the mean rotation."""
        trace = np.trace(self.rotation, axis1=-2, axis2=-1)[:, None, None]
        return np.eye(3) + 0.5 * (self.rotation - trace * np.eye(3))


def estimate_noise(bodies: Bodies) -> PoseNoise:
    """White noise of each body from its own trajectory; equal in all directions."""
    position = white_noise(bodies.positions)
    steps = quat.log(quat.between(bodies.rotations[:-1], bodies.rotations[1:]))
    angle = _scale(np.diff(steps, n=ORDER - 1, axis=0))
    return PoseNoise(position, angle[:, None, None] ** 2 * np.eye(3))


def white_noise(paths: Array) -> Array:
    """(n_points,) standard deviation per axis of the noise on paths (n_frames, n_points, 3)."""
    return _scale(np.diff(paths, n=ORDER, axis=0))


def _scale(differences: Array) -> Array:
    """Standard deviation (n_bodies,) of the noise behind differences (n, n_bodies, 3).

    The median ignores impacts and jumps; a body with too few samples is taken as noiseless.
    """
    enough = np.isfinite(differences).sum(axis=(0, 2)) > 30
    scale = np.zeros(differences.shape[1])
    if enough.any():
        scale[enough] = np.nanmedian(np.abs(differences[:, enough]), axis=(0, 2))
    return robust.NORMAL * scale / np.sqrt(comb(2 * ORDER, ORDER))
