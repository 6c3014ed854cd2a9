"""A recording changed by hand, one edit after the other, with the way back.

Every edit looks at its own stretch of the take and some seconds around it, and changes its own
block of samples: what it costs does not grow with the take. The block as it was is handed out, so
that going back is putting it there again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from osteon.cleaning import check_range, fill, smooth
from osteon.edits.model import Cut, Fill, Filter, RecordingEdit, SwapLabels, told
from osteon.errors import BadValue
from osteon.typing import Array
from osteon.values import Recording

FILL_AROUND = 10.0
"""Seconds before and after that filling learns from."""
BLEND = 0.05
"""Seconds over which a filter takes hold at the ends of its stretch, so that no step is left."""
FILTER_AROUND = 1.0
"""Seconds before and after in which a filter settles."""


@dataclass(frozen=True, slots=True, eq=False)
class Patch:
    """A block of samples as it was before an edit."""

    edit: RecordingEdit
    first: int
    last: int
    markers: tuple[int, ...]
    positions: Array
    """(n, n_markers, 3)"""
    residuals: Array
    """(n, n_markers)"""
    samples: int
    """How many the edit changed."""


class Draft:
    """The samples as edited so far; ``original`` stays untouched."""

    def __init__(self, original: Recording, edits: Iterable[RecordingEdit] = ()) -> None:
        self.original = original
        self.positions = np.array(original.positions)
        self.residuals = _residuals(original)
        self.patches: list[Patch] = []
        for edit in edits:
            self.apply(edit)

    def apply(self, edit: RecordingEdit) -> Patch:
        """Make an edit. Refuses one that changes nothing."""
        check_range(len(self.positions), edit.first, edit.last)
        match edit:
            case Cut(markers=names):
                changed = self._cut(self._columns(names), edit)
            case Fill(markers=names):
                changed = self._fill(self._columns(names), edit)
            case Filter(markers=names):
                changed = self._filter(self._columns(names), edit)
            case SwapLabels():
                changed = self._swap(self._columns((edit.a, edit.b)), edit)
        self.patches.append(changed)
        return changed

    def undo(self) -> Patch:
        """Take the last edit back."""
        patch = self.patches.pop()
        self._put(patch, patch.positions, patch.residuals)
        return patch

    def recording(self) -> Recording:
        """The recording as edited; the original itself where nothing was."""
        if not self.patches:
            return self.original
        history = [f"by hand: {told(patch.edit)}" for patch in self.patches]
        return replace(
            self.original,
            positions=self.positions,
            residuals=self.residuals,
            history=(*self.original.history, *history),
        )

    def _columns(self, names: tuple[str, ...]) -> tuple[int, ...]:
        if not names or len(set(names)) != len(names):
            raise BadValue(f"an edit needs different markers, got {', '.join(names) or 'none'}")
        return tuple(self.original.index(name) for name in names)

    def _cut(self, columns: tuple[int, ...], edit: Cut) -> Patch:
        positions, residuals = self._block(columns, edit)
        if not np.isfinite(positions[..., 0]).any():
            raise BadValue("there is nothing to cut: no sample is seen in these frames")
        return self._change(
            columns, edit, np.full_like(positions, np.nan), np.full_like(residuals, np.nan)
        )

    def _fill(self, columns: tuple[int, ...], edit: Fill) -> Patch:
        start, window = self._window(edit, FILL_AROUND)
        filled = fill(window, edit.method, markers=edit.markers)
        block = filled.positions[edit.first - start : edit.last + 1 - start, list(columns)]
        positions, residuals = self._block(columns, edit)
        fresh = np.isfinite(block[..., 0]) & ~np.isfinite(positions[..., 0])
        if not fresh.any():
            open_ = not np.isfinite(positions[..., 0]).all()
            why = "this method finds no way" if open_ else "no sample is missing in these frames"
            raise BadValue(f"nothing was filled: {why}")
        return self._change(columns, edit, block, np.where(fresh, 0.0, residuals))

    def _filter(self, columns: tuple[int, ...], edit: Filter) -> Patch:
        start, window = self._window(edit, FILTER_AROUND, columns)
        calm = smooth(window, edit.cutoff, edit.method).positions
        block = calm[edit.first - start : edit.last + 1 - start]
        if not np.isfinite(block).any():
            raise BadValue("there is nothing to filter: no sample is seen in these frames")
        positions, residuals = self._block(columns, edit)
        share = self._blend(edit.first, edit.last)[:, None, None]
        return self._change(columns, edit, positions + share * (block - positions), residuals)

    def _blend(self, first: int, last: int) -> Array:
        """(n,) share of a filter: rising and falling at its ends, except at those of the take."""
        ease = round(BLEND * self.original.rate) + 1
        frames = np.arange(first, last + 1)
        before = frames - first + 1 if first > 0 else np.full(len(frames), ease)
        at_end = last == len(self.positions) - 1
        after = np.full(len(frames), ease) if at_end else last - frames + 1
        return np.minimum(np.minimum(before, after) / ease, 1.0)

    def _swap(self, columns: tuple[int, ...], edit: SwapLabels) -> Patch:
        positions, residuals = self._block(columns, edit)
        return self._change(columns, edit, positions[:, ::-1], residuals[:, ::-1])

    def _window(
        self, edit: RecordingEdit, seconds: float, columns: tuple[int, ...] | None = None
    ) -> tuple[int, Recording]:
        """The frames of an edit and some seconds around them, and the first of these."""
        around = round(seconds * self.original.rate)
        start = max(edit.first - around, 0)
        chosen = range(len(self.original.names)) if columns is None else columns
        names = tuple(self.original.names[column] for column in chosen)
        positions = self.positions[start : edit.last + 1 + around]
        if columns is not None:
            positions = positions[:, list(columns)]
        outputs = self.original.outputs & set(names)
        return start, Recording(positions, names, self.original.rate, outputs=outputs)

    def _block(self, columns: tuple[int, ...], edit: RecordingEdit) -> tuple[Array, Array]:
        """Copies of the positions and residuals that an edit is about."""
        frames = slice(edit.first, edit.last + 1)
        return self.positions[frames, list(columns)], self.residuals[frames, list(columns)]

    def _change(
        self, columns: tuple[int, ...], edit: RecordingEdit, positions: Array, residuals: Array
    ) -> Patch:
        before = self._block(columns, edit)
        same = (positions == before[0]) | (np.isnan(positions) & np.isnan(before[0]))
        samples = int((~same.all(axis=-1)).sum())
        patch = Patch(edit, edit.first, edit.last, columns, *before, samples)
        self._put(patch, positions, residuals)
        return patch

    def _put(self, patch: Patch, positions: Array, residuals: Array) -> None:
        frames = slice(patch.first, patch.last + 1)
        for place, column in enumerate(patch.markers):
            self.positions[frames, column] = positions[:, place]
            self.residuals[frames, column] = residuals[:, place]


def apply_edits(recording: Recording, edits: Iterable[RecordingEdit]) -> Recording:
    """The recording after edits by hand, in their order."""
    return Draft(recording, edits).recording()


def _residuals(recording: Recording) -> Array:
    """(n_frames, n_markers) of which 0 says "no evidence" for certain; see ``with_filled``."""
    if recording.residuals is None:
        return np.full(recording.positions.shape[:2], np.nan)
    residuals = np.where(recording.seen, recording.residuals, np.nan)
    filled = recording.seen & ~recording.measured
    residuals[(residuals == 0.0) & ~filled] = np.nan
    return residuals
