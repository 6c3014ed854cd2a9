"""A recording as pieces: stretches of one track that are surely one marker.

Cameras lose a marker and find it again under another name, or exchange two of them. What stays
whole is the piece: frames without a gap in which nothing jumps.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from osteon.maths import runs
from osteon.typing import Array, Indices
from osteon.values import Recording

JUMP_DISTANCE = 0.01
"""Metres that a step may differ from those around it. Chosen: more than any camera's noise; a piece
that is cut in vain is joined again."""
JUMP_ACCELERATION = 100.0
"""Metres per second squared: what it may differ besides, for limbs are swung and feet land. Chosen:
twice what markers on runners' feet show between impacts."""
SWING_SHARE = 0.15
"""Share of the steps around one that it may differ by besides: a racket hand turns by some 10° from
one frame to the next. Chosen on a tennis serve: less cuts it in vain, more misses its file's
exchanges."""
AROUND_STEPS = 3
"""Count of steps before and after one that it is compared with. Chosen: a jump of one frame is the
minority among them."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Stretches of a recording's tracks, in order of their first frame."""

    recording: Recording
    column: Indices
    """(n_pieces,) the track each is cut from."""
    first: Indices
    """(n_pieces,)"""
    last: Indices
    """(n_pieces,) inclusive."""

    def __len__(self) -> int:
        return len(self.column)

    def path(self, piece: int) -> Array:
        """Return (n_frames of the piece, 3)."""
        return self.recording.positions[
            self.first[piece] : self.last[piece] + 1, self.column[piece]
        ]

    def within(self, first: int, last: int) -> Indices:
        """Return the pieces that are seen in some frame of ``first`` to ``last``."""
        return np.flatnonzero((self.first <= last) & (self.last >= first))

    def at(self, frames: Indices, pieces: Indices) -> Array:
        """Return (n_frames, n_pieces, 3) where pieces are in these frames; NaN where they are
        not."""
        where = self.recording.positions[np.ix_(frames, self.column[pieces])]
        there = (frames[:, None] >= self.first[pieces]) & (frames[:, None] <= self.last[pieces])
        return np.where(there[..., None], where, np.nan)

    def seen(self, frame: int) -> Indices:
        """Return the pieces that are seen in a frame."""
        return self.within(frame, frame)

    def counts(self, pieces: Indices) -> Indices:
        """Return (n_frames,) how many of some pieces are seen in each frame."""
        change = np.zeros(self.recording.n_frames + 1, dtype=np.int64)
        np.add.at(change, self.first[pieces], 1)
        np.add.at(change, self.last[pieces] + 1, -1)
        return np.cumsum(change)[:-1]


def cut_pieces(recording: Recording) -> Pieces:
    """Cut all tracks where they are not seen and where they jump."""
    found = []
    for column in range(recording.n_markers):
        path = recording.positions[:, column]
        for first, last in runs(np.isfinite(path[:, 0])):
            edges = [first, *(first + jumps(path[first : last + 1], recording.rate)), last + 1]
            found += [(a, b - 1, column) for a, b in pairwise(edges)]
    found.sort()
    first, last, column = np.array(found, dtype=np.int64).reshape(-1, 3).T
    return Pieces(recording, column, first, last)


def jumps(path: Array, rate: float) -> Indices:
    """Return frames of a path (n_frames, 3) that is seen throughout, at which it begins anew."""
    steps = np.diff(path, axis=0)
    if len(steps) < 2:
        return np.zeros(0, dtype=np.int64)
    padded = np.pad(steps, ((AROUND_STEPS, AROUND_STEPS), (0, 0)), constant_values=np.nan)
    around = np.stack(
        [
            padded[AROUND_STEPS + lag : AROUND_STEPS + lag + len(steps)]
            for lag in range(-AROUND_STEPS, AROUND_STEPS + 1)
            if lag
        ]
    )
    ordered = np.sort(around, axis=0)  # NaN last
    count = np.isfinite(around).sum(axis=0, keepdims=True)
    middle = [np.take_along_axis(ordered, at, axis=0)[0] for at in ((count - 1) // 2, count // 2)]
    usual = 0.5 * (middle[0] + middle[1])
    surprise = np.linalg.norm(steps - usual, axis=-1)
    swung = SWING_SHARE * np.linalg.norm(usual, axis=-1)
    return np.flatnonzero(surprise > JUMP_DISTANCE + JUMP_ACCELERATION / rate**2 + swung) + 1


def by_label(pieces: Pieces, label: Indices, n_labels: int) -> Array:
    """Return (n_frames, n_labels, 3) of what pieces hold; NaN where a label is not held."""
    places = np.full((pieces.recording.n_frames, n_labels, 3), np.nan)
    for piece in np.flatnonzero(label >= 0):
        places[pieces.first[piece] : pieces.last[piece] + 1, label[piece]] = pieces.path(int(piece))
    return places


def relabelled(pieces: Pieces, place: Indices, names: tuple[str, ...]) -> Recording:
    """Return the recording with ``names`` for tracks; ``place`` (n_pieces,) says which, −1: none.

    Gaps stay, and residuals go with their samples.
    """
    recording = pieces.recording
    residuals: Array | None = None
    if recording.residuals is not None:
        residuals = np.full((recording.n_frames, len(names)), np.nan)
        for piece in np.flatnonzero(place >= 0):
            frames = slice(pieces.first[piece], pieces.last[piece] + 1)
            residuals[frames, place[piece]] = recording.residuals[frames, pieces.column[piece]]
    return replace(
        recording,
        positions=by_label(pieces, place, len(names)),
        names=names,
        residuals=residuals,
        history=(*recording.history, f"labelled {len(names)} markers"),
    )
