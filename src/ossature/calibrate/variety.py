"""Which frames a calibration looks at."""

from collections.abc import Sequence

import numpy as np

from ossature.maths.quat import Array


def spread_frames(seen: np.ndarray, n: int) -> np.ndarray:
    """Up to ``n`` frames, one from each stretch of the takes: the one that shows most markers."""
    count = seen.sum(axis=1)
    stretches = np.array_split(np.arange(len(seen)), min(n, len(seen)))
    return np.array([stretch[np.argmax(count[stretch])] for stretch in stretches])


def varied_frames(rotations: Array, parents: Sequence[int], n: int) -> np.ndarray:
    """Up to ``n`` frames that show what every joint can do.

    Half of them lie evenly over the take, so that no trouble of single frames can fill the choice.
    Each of the others is the frame whose joint angles are farthest from all frames taken before:
    a hip that was lifted for one second in a minute's walk is not missed.

    Parameters
    ----------
    rotations : (n_frames, n_bodies, 3, 3)
        World from body.
    """
    n_frames = len(rotations)
    if n_frames <= n:
        return np.arange(n_frames)
    above = np.array(parents[1:], dtype=int)
    bent = np.swapaxes(rotations[:, above], -1, -2) @ rotations[:, 1:]
    poses = bent.reshape(n_frames, -1)
    taken = np.linspace(0, n_frames - 1, n - n // 2).astype(int).tolist()
    distance = np.full(n_frames, np.inf)
    for newest in taken:
        distance = np.minimum(distance, np.sum((poses - poses[newest]) ** 2, axis=1))
    while len(taken) < n:
        newest = int(np.argmax(distance))
        taken.append(newest)
        distance = np.minimum(distance, np.sum((poses - poses[newest]) ** 2, axis=1))
    return np.sort(np.array(taken))
