"""Samples changed by hand: cut, filled, filtered, exchanged; and a recording edited so far.

Every edit looks at its own stretch of the take and some seconds around it, and changes its own
block of samples: what it costs does not grow with the take. The block as it was is handed out, so
that going back is putting it there again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from osteon.cleaning import check_range, fill, smooth
from osteon.edits.model import BaseEdit, EditStage, Touched, list_names, name_frames
from osteon.errors import BadValue
from osteon.typing import Array
from osteon.values import Recording

FILL_SECONDS = 10.0
"""Seconds before and after that filling learns from. Chosen: what a fill costs does not grow with
the take."""
BLEND_SECONDS = 0.05
"""Seconds over which a filter takes hold at the ends of its stretch. Chosen: no step is
left there."""
FILTER_SECONDS = 1.0
"""Seconds before and after in which a filter settles. Chosen: six periods of the usual cutoff,
6 Hz."""


class RecordingEdit(BaseEdit, frozen=True):
    """A change of the recording, made before any stage."""

    @property
    def stage(self) -> EditStage:
        return "recording"

    def change(self, block: "Block") -> tuple[Array, Array]:
        """Return the block's positions and residuals as they become; refuse to change nothing."""
        raise NotImplementedError


class _OfMarkers(RecordingEdit, frozen=True):
    markers: tuple[str, ...]
    first: int
    last: int

    @property
    def touches(self) -> Touched:
        return Touched("samples", self.markers, self.first, self.last)

    @property
    def _stretch(self) -> str:
        return f"{list_names(self.markers)} {name_frames(self.first, self.last)}"


class Cut(_OfMarkers, frozen=True, tag="cut"):
    """Markers count as not seen for a while."""

    @property
    def sentence(self) -> str:
        return f"cut {self._stretch}"

    def change(self, block: "Block") -> tuple[Array, Array]:
        if not np.isfinite(block.positions[..., 0]).any():
            raise BadValue("there is nothing to cut: no sample is seen in these frames")
        return np.full_like(block.positions, np.nan), np.full_like(block.residuals, np.nan)


class Fill(_OfMarkers, frozen=True, tag="fill"):
    """Missing samples of markers are filled in."""

    method: Literal["auto", "spline", "rigid", "lowrank"] = "auto"

    @property
    def sentence(self) -> str:
        return f"fill {self._stretch} ({self.method})"

    def change(self, block: "Block") -> tuple[Array, Array]:
        window, frames = block.window(FILL_SECONDS)
        filled = fill(window, self.method, markers=self.markers)
        positions = filled.positions[frames, list(block.columns)]
        missing = ~np.isfinite(block.positions[..., 0])
        fresh = np.isfinite(positions[..., 0]) & missing
        if not fresh.any():
            open_ = missing.any()
            why = "this method finds no way" if open_ else "no sample is missing in these frames"
            raise BadValue(f"nothing was filled: {why}")
        return positions, np.where(fresh, 0.0, block.residuals)


class Filter(_OfMarkers, frozen=True, tag="filter"):
    """Markers are smoothed for a while."""

    cutoff: float = 6.0
    """Hz."""
    method: Literal["butterworth", "spline"] = "butterworth"

    @property
    def sentence(self) -> str:
        return f"filter {self._stretch} ({self.cutoff:g} Hz {self.method})"

    def change(self, block: "Block") -> tuple[Array, Array]:
        window, frames = block.window(FILTER_SECONDS, alone=True)
        filtered = smooth(window, self.cutoff, self.method).positions[frames]
        if not np.isfinite(filtered).any():
            raise BadValue("there is nothing to filter: no sample is seen in these frames")
        share = self._blend(block.take)[:, None, None]
        return block.positions + share * (filtered - block.positions), block.residuals

    def _blend(self, take: Recording) -> Array:
        """Return the filter's share (n,): it rises and falls, except at the ends of the take."""
        ease = round(BLEND_SECONDS * take.rate) + 1
        frames = np.arange(self.first, self.last + 1)
        before = frames - self.first + 1 if self.first > 0 else np.full(len(frames), ease)
        at_end = self.last == take.n_frames - 1
        after = np.full(len(frames), ease) if at_end else self.last - frames + 1
        return np.minimum(np.minimum(before, after) / ease, 1.0)


class SwapLabels(RecordingEdit, frozen=True, tag="swap"):
    """Two markers exchange their labels for a while."""

    a: str
    b: str
    first: int
    last: int

    @property
    def touches(self) -> Touched:
        return Touched("samples", (self.a, self.b), self.first, self.last)

    @property
    def sentence(self) -> str:
        return f"swap {self.a} and {self.b} {name_frames(self.first, self.last)}"

    def change(self, block: "Block") -> tuple[Array, Array]:
        return block.positions[:, ::-1], block.residuals[:, ::-1]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The samples that an edit is about, and the take that they are of."""

    take: Recording
    """As recorded: names, rate and length."""
    edited: Array
    """(n_frames, n_markers, 3) the whole take as edited so far."""
    columns: tuple[int, ...]
    first: int
    last: int
    positions: Array
    """(n, n_columns, 3)"""
    residuals: Array
    """(n, n_columns)"""

    def window(self, seconds: float, *, alone: bool = False) -> tuple[Recording, slice]:
        """Return the block's frames with some seconds around them, and where it lies in these.

        All markers, or with ``alone`` the block's own.
        """
        around = round(seconds * self.take.rate)
        start = max(self.first - around, 0)
        positions, names = self.edited[start : self.last + 1 + around], self.take.names
        if alone:
            positions = positions[:, list(self.columns)]
            names = tuple(names[column] for column in self.columns)
        outputs = self.take.outputs & set(names)
        window = Recording(positions, names, self.take.rate, outputs=outputs)
        return window, slice(self.first - start, self.last + 1 - start)


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
        """Make an edit. Refuse one that changes nothing."""
        touched = edit.touches
        first, last = touched.first, int(touched.last)
        check_range(len(self.positions), first, last)
        columns = self._columns(touched.names or ())
        frames = slice(first, last + 1)
        before = self.positions[frames, list(columns)], self.residuals[frames, list(columns)]
        after = edit.change(Block(self.original, self.positions, columns, first, last, *before))
        patch = Patch(edit, first, last, columns, *before)
        self._put(patch, *after)
        self.patches.append(patch)
        return patch

    def undo(self) -> Patch:
        """Take the last edit back."""
        patch = self.patches.pop()
        self._put(patch, patch.positions, patch.residuals)
        return patch

    def recording(self) -> Recording:
        """Return the recording as edited; the original itself where nothing was."""
        if not self.patches:
            return self.original
        history = [f"by hand: {patch.edit.sentence}" for patch in self.patches]
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

    def _put(self, patch: Patch, positions: Array, residuals: Array) -> None:
        frames = slice(patch.first, patch.last + 1)
        for place, column in enumerate(patch.markers):
            self.positions[frames, column] = positions[:, place]
            self.residuals[frames, column] = residuals[:, place]


def apply_edits(recording: Recording, edits: Iterable[RecordingEdit]) -> Recording:
    """Return the recording after edits by hand, in their order."""
    return Draft(recording, edits).recording()


def _residuals(recording: Recording) -> Array:
    """Return (n_frames, n_markers) of which 0 says "no evidence" for certain; see
    ``with_filled``."""
    if recording.residuals is None:
        return np.full(recording.positions.shape[:2], np.nan)
    residuals = np.where(recording.seen, recording.residuals, np.nan)
    filled = recording.seen & ~recording.measured
    residuals[(residuals == 0.0) & ~filled] = np.nan
    return residuals
