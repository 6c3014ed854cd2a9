"""Samples that leave their companions at once and come back: displaced, whatever the marker does.

A marker keeps its distances to those that move with it, or changes them as slowly as limbs and skin
move. A sample whose distances to most of them jump within a frame, and jump back, was seen wrong: a
reflection, another marker, a ray of one camera. Distances ask nothing of the motion itself, so
excursions may last longer, and lie closer to gaps, than those that a path alone can tell.
"""

import numpy as np
from scipy.ndimage import median_filter

from osteon.cleaning.neighbours import SeenRun, companions, runs
from osteon.typing import Array

COMPANION_COUNT = 6
"""Count of companions asked. Chosen: their median stands while two of them are astray too."""
FEWEST_COMPANIONS = 3
"""Count of companions seen, below which nothing is said. Derived: one that is astray itself is then
outvoted."""
WINDOW_FRAMES = 15
"""Frames of the running median. Derived: excursions of up to seven frames stand out. Measured: over
more frames a runner's own distances change too much."""
UNREST_RATIO = 8.0
"""Ratio to a distance's usual unrest up to which it is in order. Chosen: as for spikes."""
ABRUPT_SHARE = 0.5
"""Share of the limit that an excursion must pass within one frame at both ends. Chosen: limbs and
skin at 60 Hz take several frames."""
AGREEING_SHARES = (0.5, 0.34, 0.34)
"""Share of the companions seen whose distances must jump, round by round, each without what those
before found. Chosen: half of them first, for companions may be astray themselves; then two of six,
for a sample may be off across the way to most of them. A fourth round finds hardly any."""


def astray_samples(positions: Array, threshold: float) -> np.ndarray:
    """(n_frames, n_markers) samples that are astray by more than ``threshold`` metres."""
    found = np.zeros(positions.shape[:2], dtype=bool)
    if len(positions) < WINDOW_FRAMES or positions.shape[1] <= FEWEST_COMPANIONS:
        return found
    for share in AGREEING_SHARES:
        left = np.where(found[..., None], np.nan, positions)
        fresh = _found_in_round(left, threshold, share)
        found |= fresh
        if not fresh.any():
            break
    return found


def _found_in_round(positions: Array, threshold: float, share: float) -> np.ndarray:
    found = np.zeros(positions.shape[:2], dtype=bool)
    for marker, near in enumerate(companions(positions, COMPANION_COUNT)):
        if len(near) < FEWEST_COMPANIONS:
            continue
        gaps = np.linalg.norm(positions[:, near] - positions[:, marker, None], axis=-1)
        off = _off_most(np.stack([_off_median(each) for each in gaps.T], axis=1), share)
        for run in runs(np.nan_to_num(off)[:, None] > ABRUPT_SHARE * threshold):
            frames = slice(run.first, run.last + 1)
            if run.length <= WINDOW_FRAMES // 2 and off[frames].max() > threshold:
                found[frames, marker] = _abrupt(off, run, ABRUPT_SHARE * threshold)
    return found


def _off_most(off: Array, share: float) -> Array:
    """(n_frames,) what a share of the columns seen reaches; NaN where too few are seen."""
    count = np.isfinite(off).sum(axis=1)
    ordered = np.sort(np.where(np.isfinite(off), -off, np.inf), axis=1)
    place = np.maximum(np.ceil(share * count).astype(int) - 1, 0)
    reached = -np.take_along_axis(ordered, place[:, None], axis=1)[:, 0]
    return np.where(count >= FEWEST_COMPANIONS, reached, np.nan)


def _off_median(distance: Array) -> Array:
    """(n_frames,) how far a distance is from its running median, less what is usual; metres."""
    off = np.full(len(distance), np.nan)
    seen = np.isfinite(distance)
    if seen.sum() < WINDOW_FRAMES:
        return off
    away = np.abs(distance[seen] - median_filter(distance[seen], WINDOW_FRAMES, mode="nearest"))
    off[seen] = np.maximum(away - UNREST_RATIO * float(np.median(away)), 0.0)
    return off


def _abrupt(off: Array, run: SeenRun, least: float) -> bool:
    """Whether an excursion begins and ends within a frame, as far as is seen."""
    for inside, outside in ((run.first, run.first - 1), (run.last, run.last + 1)):
        if 0 <= outside < len(off) and off[inside] - off[outside] < least:
            return False  # what is not seen says nothing against it
    return True
