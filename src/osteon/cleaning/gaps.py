"""Samples that are missing, filled from what is seen around them in space and time.

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
)
from osteon.errors import BadValue
from osteon.typing import Array
from osteon.values import Recording

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
