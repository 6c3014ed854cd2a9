"""When a direction counts as a joint's freedom: by a fixed eigenvalue as in [001], or by shares."""

import numpy as np

from osteon.typing import Array

HELD_SHARE = 0.95
"""Share of the variance that the free directions hold. Chosen: the usual one of principal
components."""


def absolute(n_joints: int, eigenvalue: float) -> Array:
    """Return (n_joints,) radians: the vector part of a quaternion is half the turn, to first order.

    ``eigenvalue`` is the mean square of that part along a direction.
    """
    return np.full(n_joints, 2.0 * np.sqrt(eigenvalue))


def variance95(std: Array, minimum: Array) -> Array:
    """Return (n_joints,) radians, below the last of the fewest directions that hold 95 %.

    Parameters
    ----------
    std : (n_joints, 3)
        Spread along each direction, radians, largest first.
    minimum : (n_joints,)
        Spread that never counts.
    """
    held = np.cumsum(std**2, axis=1) / np.maximum((std**2).sum(axis=1), 1e-300)[:, None]
    last = np.argmax(held >= HELD_SHARE, axis=1)
    return np.maximum(minimum, std[np.arange(len(last)), last] * (1.0 - 1e-9))
