"""Samples that are missing, or fly off and come back: taken out, and filled from what is seen
around them in space and time.

A spike leaves its own path. A sample is astray that leaves its companions at once and comes back,
whatever the marker does: a marker keeps its distances to those that move with it, or changes them
as slowly as limbs and skin move. A sample whose distances to most of them jump within a frame, and
jump back, was seen wrong: a reflection, another marker, a ray of one camera. Distances ask nothing
of the motion itself, so excursions may last longer, and lie closer to gaps, than those that a path
alone can tell.

Gaps are filled by one of these:

``spline``   a cubic through the samples on both sides; good for an instant
``rigid``    the marker's place among companions that move as one with it; good for any length
``lowrank``  as ``rigid``, plus how the companions bend among themselves (principal components)
``auto``     per gap: an instant by spline; else by companions, rigid where they are and low-rank
             where they bend; else by spline up to a quarter of a second; else it stays open

Both ways over companions are bent to meet the samples at the ends of the gap.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from osteon.cleaning.neighbours import (
    MarkerRun,
    View,
    bridge,
    companions,
    marker_runs,
    off_median,
)
from osteon.errors import BadValue
from osteon.maths import runs
from osteon.typing import Array
from osteon.values import Recording

SPIKE_FRAMES = 7
"""Frames of the running median. Derived: excursions of up to three frames stand out."""
COMPANION_COUNT = 6
"""Count of companions asked. Chosen: their median stands while two of them are astray too."""
FEWEST_COMPANIONS = 3
"""Count of companions seen, below which nothing is said. Derived: one that is astray itself is then
outvoted."""
ASTRAY_FRAMES = 15
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
METHODS = ("auto", "spline", "rigid", "lowrank")

SPLINE_SECONDS = 0.05
"""Seconds for which a spline is taken before all else. Chosen: motion hardly changes its course so
soon."""
SPLINE_LIMIT = 0.25
"""Seconds. Chosen: a longer spline is fiction."""
RIGID_RMS = 0.01
"""Metres of unsteadiness up to which companions count as one body with a marker. Chosen: skin on a
bone slides so far."""
GUESS_RMS = 0.04
"""Metres of unsteadiness. Chosen: beyond it companions say nothing."""


def find_spikes(recording: Recording, threshold: float = 0.02) -> np.ndarray:
    """Find samples (n_frames, n_markers) that lie off their own path, and off that of companions.

    Seen against the running median in the world a fast turn looks like a spike; seen from the
    markers that move along, and against a smooth path over the moment, it does not. A sample must
    stand out in all three; or its distances to companions jump and come back, whatever its path.

    Parameters
    ----------
    threshold
        Metres by which a sample must stand out; at least, and never less than eight times the
        marker's usual unsteadiness.
    """
    positions = recording.positions
    kept = [i for i, name in enumerate(recording.names) if name not in recording.outputs]
    spikes = np.zeros(positions.shape[:2], dtype=bool)
    if recording.n_frames < SPIKE_FRAMES:
        return spikes
    for marker, near in zip(kept, companions(positions[:, kept], 2), strict=True):
        path = positions[:, marker]
        off = off_median(path, SPIKE_FRAMES)
        if not (off > threshold).any():
            continue
        for other in near:
            seen_from = off_median(path - positions[:, kept[other]], SPIKE_FRAMES)
            off = np.where(np.isfinite(seen_from), np.fmin(off, seen_from), off)
        usual = np.median(off[np.isfinite(off)])
        limit = max(threshold, 8.0 * float(usual))
        for first, last in runs(off > limit):
            spikes[first : last + 1, marker] = _flies_off(path, first, last, limit)
    left = np.where(spikes[:, kept, None], np.nan, positions[:, kept])
    spikes[:, kept] |= _astray_samples(left, threshold)
    return spikes


def remove_spikes(
    recording: Recording, threshold: float = 0.02, kept: np.ndarray | None = None
) -> Recording:
    """Make spikes missing samples, but for those ``kept`` (n_frames, n_markers).

    See :func:`find_spikes`.
    """
    spikes = find_spikes(recording, threshold)
    spikes = spikes if kept is None else spikes & ~kept
    if not spikes.any():
        return recording
    positions = np.where(spikes[..., None], np.nan, recording.positions)
    names = [recording.names[m] for m in np.flatnonzero(spikes.any(axis=0))]
    return recording.with_filled(
        positions,
        np.zeros_like(spikes),
        did=f"remove_spikes(threshold={threshold} m): {spikes.sum()} samples of {', '.join(names)}",
    )


def _flies_off(path: Array, first: int, last: int, limit: float) -> bool:
    """Whether a short run also lies off the smooth path that its neighbours in time suggest."""
    around = [first - 1, last + 1]
    if last - first >= SPIKE_FRAMES // 2 or around[0] < 0 or around[1] >= len(path):
        return False
    if not np.isfinite(path[around]).all():
        return False
    off = path[first : last + 1] - bridge(path, first, last)
    nearby = path[max(first - SPIKE_FRAMES, 0) : last + 1 + SPIKE_FRAMES]
    step = np.median(np.linalg.norm(np.diff(nearby[np.isfinite(nearby[:, 0])], axis=0), axis=-1))
    # a fast marker seen at a low rate turns sharply between frames: half a step is no spike
    return bool((np.linalg.norm(off, axis=-1) > 0.5 * max(limit, step)).all())


def _astray_samples(positions: Array, threshold: float) -> np.ndarray:
    """(n_frames, n_markers) samples that are astray by more than ``threshold`` metres."""
    found = np.zeros(positions.shape[:2], dtype=bool)
    if len(positions) < ASTRAY_FRAMES or positions.shape[1] <= FEWEST_COMPANIONS:
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
        off = _off_most(np.stack([_off_usual(each) for each in gaps.T], axis=1), share)
        for first, last in runs(np.nan_to_num(off) > ABRUPT_SHARE * threshold):
            frames = slice(first, last + 1)
            if last - first < ASTRAY_FRAMES // 2 and off[frames].max() > threshold:
                found[frames, marker] = _abrupt(off, first, last, ABRUPT_SHARE * threshold)
    return found


def _off_most(off: Array, share: float) -> Array:
    """(n_frames,) what a share of the columns seen reaches; NaN where too few are seen."""
    count = np.isfinite(off).sum(axis=1)
    ordered = np.sort(np.where(np.isfinite(off), -off, np.inf), axis=1)
    place = np.maximum(np.ceil(share * count).astype(int) - 1, 0)
    reached = -np.take_along_axis(ordered, place[:, None], axis=1)[:, 0]
    return np.where(count >= FEWEST_COMPANIONS, reached, np.nan)


def _off_usual(distance: Array) -> Array:
    """(n_frames,) how far a distance is from its running median, less what is usual; metres."""
    away = off_median(distance[:, None], ASTRAY_FRAMES)
    seen = away[np.isfinite(away)]
    return np.maximum(away - UNREST_RATIO * float(np.median(seen)), 0.0) if len(seen) else away


def _abrupt(off: Array, first: int, last: int, least: float) -> bool:
    """Whether an excursion begins and ends within a frame, as far as is seen."""
    for inside, outside in ((first, first - 1), (last, last + 1)):
        if 0 <= outside < len(off) and off[inside] - off[outside] < least:
            return False  # what is not seen says nothing against it
    return True


def fill(
    recording: Recording,
    method: str = "auto",
    max_gap: float | None = None,
    *,
    markers: Sequence[str] | None = None,
) -> Recording:
    """Fill missing samples; they get the residual 0 and count as no evidence.

    Parameters
    ----------
    method
        ``auto``, ``spline``, ``rigid`` or ``lowrank``, as above.
    max_gap
        Longer gaps stay open, seconds.
    markers
        Only these; all by default.
    """
    if method not in METHODS:
        raise BadValue(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if max_gap is not None and not max_gap >= 0.0:
        raise BadValue(f"max_gap must be a number of seconds ≥ 0, got {max_gap}")
    longest = np.inf if max_gap is None else max_gap * recording.rate
    chosen = range(recording.n_markers) if markers is None else map(recording.index, markers)
    chosen = set(chosen)
    gaps = [run for run in _fillable(recording) if run.length <= longest and run.marker in chosen]
    if not gaps:
        return recording
    filler = _Filler(recording, method, sorted({gap.marker for gap in gaps}))
    positions = recording.positions.copy()
    used: Counter[str] = Counter()
    for gap in gaps:
        how, path = filler.fill(gap)
        used[how] += 1
        if path is not None:
            positions[gap.frames, gap.marker] = path
    filled = np.isfinite(positions[..., 0]) & ~recording.seen
    return recording.with_filled(positions, filled, _report(method, max_gap, used, filled))


def _report(method: str, max_gap: float | None, used: Counter[str], filled: np.ndarray) -> str:
    limit = "" if max_gap is None else f", max_gap={max_gap:g} s"
    kinds = ", ".join(f"{used[how]} {how}" for how in sorted(used))
    return f"fill(method={method}{limit}): {filled.sum()} samples; gaps: {kinds}"


def _fillable(recording: Recording) -> list[MarkerRun]:
    sometimes = np.asarray(recording.seen.any(axis=0))
    return [
        run
        for run in marker_runs(~recording.seen)
        if sometimes[run.marker] and recording.names[run.marker] not in recording.outputs
    ]


class _Filler:
    """Fills one gap at a time, always from the recording as it was."""

    def __init__(self, recording: Recording, method: str, markers: Sequence[int]) -> None:
        self.positions, self.rate, self.method = recording.positions, recording.rate, method
        kept = [i for i, name in enumerate(recording.names) if name not in recording.outputs]
        near = companions(recording.positions[:, kept], 12, [kept.index(m) for m in markers])
        rows = zip(markers, near, strict=True)
        self.near = {marker: [kept[b] for b in row] for marker, row in rows}
        self.views: dict[tuple[int, tuple[int, ...]], View] = {}

    def fill(self, gap: MarkerRun) -> tuple[str, Array | None]:
        """Name of the method used, and the path (n, 3) or None where the gap stays open."""
        inside = gap.first > 0 and gap.last < len(self.positions) - 1
        seconds = gap.length / self.rate
        if self.method == "spline" or (
            self.method == "auto" and inside and seconds <= SPLINE_SECONDS
        ):
            return self._spline(gap) if inside else ("left open", None)
        view = self._view(gap)
        if view is not None:
            how = self._choose(view)
            if how is not None:
                return how, view.predict(gap.first, gap.last, bending=how == "lowrank")
        if self.method == "auto" and inside and seconds <= SPLINE_LIMIT:
            return self._spline(gap)
        return "left open", None

    def _choose(self, view: View) -> str | None:
        if self.method != "auto":
            return self.method
        if view.rigid_rms <= RIGID_RMS and view.rigid_rms <= 1.25 * view.lowrank_rms:
            return "rigid"
        return "lowrank" if view.lowrank_rms <= GUESS_RMS else None

    def _view(self, gap: MarkerRun) -> View | None:
        """The marker as its companions see it, from those that are there all through the gap."""
        near = self.near[gap.marker]
        there = [m for m in near if np.isfinite(self.positions[gap.frames, m]).all()]
        key = (gap.marker, tuple(there[:5]))
        if len(there) < 3:
            return None
        if key not in self.views:
            self.views[key] = View(self.positions, gap.marker, key[1])
        view = self.views[key]
        return view if view.sees(gap.first, gap.last) else None

    def _spline(self, gap: MarkerRun) -> tuple[str, Array]:
        return "spline", bridge(self.positions[:, gap.marker], gap.first, gap.last)
