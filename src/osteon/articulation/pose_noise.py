"""How noisy each body's poses are, judged from what moves too fast to be motion.

Noise that is smooth in time (a loose strap, skin) is not seen here; it shows in the residuals of
the joints.
"""

from dataclasses import dataclass

import numpy as np

from osteon.maths import SMOOTH_ORDER, noise_of_differences, quat, white_noise
from osteon.typing import Array
from osteon.values import Bodies


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
    angle = noise_of_differences(np.diff(steps, n=SMOOTH_ORDER - 1, axis=0))
    return PoseNoise(position, angle[:, None, None] ** 2 * np.eye(3))
