"""Single samples that fly off and come back: taken out, so that filling can replace them."""

import numpy as np
from scipy.ndimage import median_filter

from osteon.cleaning.neighbours import SeenRun, bridge, companions, runs
from osteon.typing import Array
from osteon.values import Recording

_WINDOW_FRAMES = 7
"""Frames of the running median. Derived: excursions of up to three frames stand out."""


def find_spikes(recording: Recording, threshold: float = 0.02) -> np.ndarray:
    """Find samples (n_frames, n_markers) that lie off their own path, and off that of companions.

    Seen against the running median in the world a fast turn looks like a spike; seen from the
    markers that move along, and against a smooth path over the moment, it does not. A sample must
    stand out in all three.

    Parameters
    ----------
    threshold
        Metres by which a sample must stand out; at least, and never less than eight times the
        marker's usual unsteadiness.
    """
    positions = recording.positions
    kept = [i for i, name in enumerate(recording.names) if name not in recording.outputs]
    spikes = np.zeros(positions.shape[:2], dtype=bool)
    if recording.n_frames < _WINDOW_FRAMES:
        return spikes
    for marker, near in zip(kept, companions(positions[:, kept], 2), strict=True):
        path = positions[:, marker]
        off = _off_median(path)
        if not (off > threshold).any():
            continue
        for other in near:
            seen_from = _off_median(path - positions[:, kept[other]])
            off = np.where(np.isfinite(seen_from), np.fmin(off, seen_from), off)
        usual = np.median(off[np.isfinite(off)])
        limit = max(threshold, 8.0 * float(usual))
        for run in runs((off > limit)[:, None]):
            frames = slice(run.first, run.last + 1)
            spikes[frames, marker] = _flies_off(path, run, limit)
    return spikes


def remove_spikes(recording: Recording, threshold: float = 0.02) -> Recording:
    """Make spikes missing samples. See :func:`find_spikes`."""
    spikes = find_spikes(recording, threshold)
    if not spikes.any():
        return recording
    positions = np.where(spikes[..., None], np.nan, recording.positions)
    names = [recording.names[m] for m in np.flatnonzero(spikes.any(axis=0))]
    return recording.with_filled(
        positions,
        np.zeros_like(spikes),
        did=f"remove_spikes(threshold={threshold} m): {spikes.sum()} samples of {', '.join(names)}",
    )


def _flies_off(path: Array, run: SeenRun, limit: float) -> bool:
    """Whether a short run also lies off the smooth path that its neighbours in time suggest."""
    around = [run.first - 1, run.last + 1]
    if run.length > _WINDOW_FRAMES // 2 or around[0] < 0 or around[1] >= len(path):
        return False
    if not np.isfinite(path[around]).all():
        return False
    off = path[run.first : run.last + 1] - bridge(path, run.first, run.last)
    nearby = path[max(run.first - _WINDOW_FRAMES, 0) : run.last + 1 + _WINDOW_FRAMES]
    step = np.median(np.linalg.norm(np.diff(nearby[np.isfinite(nearby[:, 0])], axis=0), axis=-1))
    # a fast marker seen at a low rate turns sharply between frames: half a step is no spike
    return bool((np.linalg.norm(off, axis=-1) > 0.5 * max(limit, step)).all())


def _off_median(path: Array) -> Array:
    """(n_frames,) distance from the running median of the samples seen; NaN where not seen."""
    off = np.full(len(path), np.nan)
    seen = np.isfinite(path[:, 0])
    if seen.sum() >= _WINDOW_FRAMES:
        middle = median_filter(path[seen], size=(_WINDOW_FRAMES, 1), mode="nearest")
        off[seen] = np.linalg.norm(path[seen] - middle, axis=-1)
    return off
