"""Poses that cannot be: a tracker that flips to its other hemisphere for some frames.

Such a pose breaks every joint of its body at once. It is taken as not seen, and the joints are
fitted again without it.
"""

import numpy as np

from ossature.values.arrays import Array

FACTOR = 8.0
"""How many times a joint's median residual an outlier exceeds."""
SMALLEST = 0.05
"""Metres: nothing smaller is called an outlier."""
MOST = 0.25
"""Share of frames: what happens more often is no exception."""


def impossible_poses(ends: np.ndarray, distances: Array, n_bodies: int) -> np.ndarray:
    """(n_frames, n_bodies) poses that break all joints of their body.

    Parameters
    ----------
    ends : (n_joints, 2)
        Indices of the two bodies of each joint.
    distances : (n_frames, n_joints)
        Residual of each joint, metres; NaN where not seen.
    """
    limit = np.maximum(FACTOR * np.nanmedian(distances, axis=0), SMALLEST)
    broken = np.nan_to_num(distances) > limit
    broken[:, broken.mean(axis=0) > MOST] = False
    hidden = np.zeros((len(distances), n_bodies), dtype=bool)
    touches = np.zeros((len(ends), n_bodies), dtype=bool)
    touches[np.arange(len(ends)), ends[:, 0]] = touches[np.arange(len(ends)), ends[:, 1]] = True
    seen = np.isfinite(distances)
    for frame in np.flatnonzero(broken.any(axis=1)):
        _blame(hidden[frame], broken[frame], touches & seen[frame][:, None])
    return hidden


def _blame(hidden: np.ndarray, broken: np.ndarray, touches: np.ndarray) -> None:
    """Hide bodies whose joints are all broken, those with most joints first; in place."""
    broken = broken.copy()
    degree = touches.sum(axis=0)
    while broken.any():
        count = touches[broken].sum(axis=0)
        count[(count < degree) | hidden] = 0
        worst = int(np.argmax(count))
        if count[worst] == 0:
            return
        hidden[worst] = True
        broken &= ~touches[:, worst]
