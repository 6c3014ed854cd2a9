"""Samples that are missing, or fly off and come back: taken out, and filled from what is seen
around them in space and time.

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
from scipy.ndimage import median_filter

from osteon.cleaning.astray import astray_samples
from osteon.cleaning.neighbours import SeenRun, View, bridge, companions, runs
from osteon.errors import BadValue
from osteon.typing import Array
from osteon.values import Recording

_WINDOW_FRAMES = 7
"""Frames of the running median. Derived: excursions of up to three frames stand out."""
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
    left = np.where(spikes[:, kept, None], np.nan, positions[:, kept])
    spikes[:, kept] |= astray_samples(left, threshold)
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
            positions[gap.first : gap.last + 1, gap.marker] = path
    filled = np.isfinite(positions[..., 0]) & ~recording.seen
    return recording.with_filled(positions, filled, _report(method, max_gap, used, filled))


def _report(method: str, max_gap: float | None, used: Counter[str], filled: np.ndarray) -> str:
    limit = "" if max_gap is None else f", max_gap={max_gap:g} s"
    kinds = ", ".join(f"{used[how]} {how}" for how in sorted(used))
    return f"fill(method={method}{limit}): {filled.sum()} samples; gaps: {kinds}"


def _fillable(recording: Recording) -> list[SeenRun]:
    seen = recording.seen
    sometimes = np.flatnonzero(seen.any(axis=0)).tolist()
    return [
        run
        for run in runs(~seen)
        if run.marker in sometimes and recording.names[run.marker] not in recording.outputs
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

    def fill(self, gap: SeenRun) -> tuple[str, Array | None]:
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

    def _view(self, gap: SeenRun) -> View | None:
        """The marker as its companions see it, from those that are there all through the gap."""
        frames = slice(gap.first, gap.last + 1)
        there = [m for m in self.near[gap.marker] if np.isfinite(self.positions[frames, m]).all()]
        key = (gap.marker, tuple(there[:5]))
        if len(there) < 3:
            return None
        if key not in self.views:
            self.views[key] = View(self.positions, gap.marker, key[1])
        view = self.views[key]
        return view if view.sees(gap.first, gap.last) else None

    def _spline(self, gap: SeenRun) -> tuple[str, Array]:
        return "spline", bridge(self.positions[:, gap.marker], gap.first, gap.last)
