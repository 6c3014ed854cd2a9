"""Samples that lie off the body they ride on: left out before its poses are found.

On a body all distances are known. A sample that most of its companions there find elsewhere is
displaced, and one such sample among three turns the body by as much as it is off, for its length.
Where two alone are seen nothing tells which of them it is: both are left out.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.maths import NORMAL_RATIO
from osteon.typing import Array
from osteon.values import Recording

LEAST_OFF = 0.02
"""Metres that a distance must be off at least. Chosen: as for spikes, beyond the skin of most."""
OFF_SIGMAS = 6.0
"""Standard deviations, judged by the median, of what that distance usually does. Chosen: skin that
swings with the gait stays below two."""
MOST_ROUNDS = 3
"""Count of rounds, each without what those before found. Chosen: two samples of a body are seldom
displaced at once, three hardly ever."""


def without_displaced(recording: Recording, groups: Sequence[Sequence[str]]) -> Recording:
    """Count samples as not seen that are displaced from the group of markers they belong to."""
    positions = recording.positions.copy()
    for group in groups:
        columns = [recording.index(name) for name in group]
        points = positions[:, columns]
        for _ in range(MOST_ROUNDS if len(group) > 1 else 0):
            out = displaced_samples(points)
            if not out.any():
                break
            points[out] = np.nan
        positions[:, columns] = points
    gone = np.isnan(positions[..., 0]) & recording.seen
    return replace(recording, positions=positions) if gone.any() else recording


def displaced_samples(points: Array) -> np.ndarray:
    """(n_frames, n) whether most of the distances of a point (n_frames, n, 3) are off."""
    out = np.zeros(points.shape[:2], dtype=bool)
    for marker in range(points.shape[1]):
        others = np.delete(points, marker, axis=1)
        far = _far_off(np.linalg.norm(others - points[:, marker, None], axis=-1))
        seen = np.isfinite(others[..., 0]).sum(axis=1)
        out[:, marker] = far.sum(axis=1) > 0.5 * seen
    return out & np.isfinite(points[..., 0])


def _far_off(distances: Array) -> np.ndarray:
    """(n_frames, n) which distances are out of the ordinary."""
    far = np.zeros(distances.shape, dtype=bool)
    known = np.isfinite(distances).any(axis=0)
    off = np.abs(distances[:, known] - np.nanmedian(distances[:, known], axis=0))
    limit = np.maximum(LEAST_OFF, OFF_SIGMAS * NORMAL_RATIO * np.nanmedian(off, axis=0))
    far[:, known] = off > limit
    return far
