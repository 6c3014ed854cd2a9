"""Swapped labels and slipped markers, told as they happen."""

from dataclasses import dataclass, field

import numpy as np

from ossature.maths import quat
from ossature.values.arrays import Array

JUMP = 0.03
"""Metres off its course: no marker does this between two frames by itself."""
CLOSER = 0.3
"""Two markers were exchanged when each is this much nearer to the other's course."""
LONGEST = 0.05
"""Seconds without a marker after which its course says nothing any more."""

BLOCK = 0.5
"""Seconds over which a marker's place on its body is averaged: skin swings, slips stay."""
BEFORE, AFTER = 8, 3
"""Blocks that tell where a marker sat, and blocks it must sit elsewhere."""
FARTHEST_SKIN = 0.012
"""Metres: skin carries a marker this far for seconds, when a posture is held."""


@dataclass(slots=True)
class Courses:
    """Where each marker was and how it moved: exchanged labels break two courses at once."""

    rate: float
    _place: Array = field(default_factory=lambda: np.zeros((0, 3)))
    _velocity: Array = field(default_factory=lambda: np.zeros((0, 3)))
    _number: Array = field(default_factory=lambda: np.zeros(0))
    exchanged: set[tuple[int, int]] = field(default_factory=set)
    """Pairs of columns whose labels are exchanged at present."""

    def sorted_out(self, number: int, positions: Array) -> tuple[Array, list[tuple[int, int]]]:
        """The markers (n, 3) under their right labels, and the pairs that changed just now."""
        self._grow(len(positions))
        positions = positions.copy()
        for a, b in self.exchanged:
            positions[[a, b]] = positions[[b, a]]
        changed = self._crossed(number, positions)
        for a, b in changed:
            positions[[a, b]] = positions[[b, a]]
            self.exchanged ^= {(a, b)}
        self._follow(number, positions)
        return positions, changed

    def _crossed(self, number: int, positions: Array) -> list[tuple[int, int]]:
        steps = number - self._number
        fresh = np.isfinite(positions[:, 0]) & (steps > 0) & (steps <= LONGEST * self.rate)
        course = self._place + self._velocity * np.where(fresh, steps, 0.0)[:, None]
        off = np.where(fresh, np.linalg.norm(positions - course, axis=1), 0.0)
        jumped = np.flatnonzero(off > JUMP).tolist()
        pairs: list[tuple[int, int]] = []
        for i, a in enumerate(jumped):
            for b in jumped[i + 1 :]:
                across = np.linalg.norm(positions[[a, b]] - course[[b, a]], axis=1)
                taken = any(a in pair or b in pair for pair in pairs)
                if not taken and (across < CLOSER * off[[a, b]]).all():
                    pairs.append((a, b))
        return pairs

    def _follow(self, number: int, positions: Array) -> None:
        seen = np.isfinite(positions[:, 0])
        steps = number - self._number
        near = seen & (steps > 0) & (steps <= LONGEST * self.rate)
        moved = (positions - self._place) / np.maximum(steps, 1.0)[:, None]
        self._velocity = np.where(near[:, None], moved, 0.0)
        self._place = np.where(seen[:, None], positions, self._place)
        self._number = np.where(seen, float(number), self._number)

    def _grow(self, n: int) -> None:
        more = n - len(self._place)
        if more > 0:
            self._place = np.concatenate([self._place, np.zeros((more, 3))])
            self._velocity = np.concatenate([self._velocity, np.zeros((more, 3))])
            self._number = np.concatenate([self._number, np.full(more, -np.inf)])


class Seats:
    """Where each marker sits on its body, block after block of time."""

    def __init__(self, rate: float, bodies: np.ndarray) -> None:
        self._frames = max(2, round(BLOCK * rate))
        self._bodies = bodies
        self._sum, self._seen = np.zeros((len(bodies), 3)), np.zeros(len(bodies))
        self._n = 0
        self._blocks: list[Array] = []

    def slipped(self, off: Array, rotations: Array) -> list[tuple[int, float]]:
        """Columns of markers that sit elsewhere now, and how far, metres.

        Parameters
        ----------
        off : (n_markers, 3)
            From the model's marker to the seen one, in the world; NaN where not seen.
        rotations : (n_bodies, 4)
            To the world.
        """
        on_body = quat.rotate(quat.inverse(rotations)[self._bodies], off)
        seen = np.isfinite(on_body[:, 0])
        self._sum += np.where(seen[:, None], on_body, 0.0)
        self._seen += seen
        self._n += 1
        if self._n < self._frames:
            return []
        enough = self._seen > 0.5 * self._n
        with np.errstate(invalid="ignore", divide="ignore"):
            block = np.where(enough[:, None], self._sum / self._seen[:, None], np.nan)
        self._blocks = [*self._blocks[-(BEFORE + AFTER - 1) :], block]
        self._sum, self._seen, self._n = np.zeros_like(self._sum), np.zeros_like(self._seen), 0
        return self._judged() if len(self._blocks) == BEFORE + AFTER else []

    def _judged(self) -> list[tuple[int, float]]:
        blocks = np.array(self._blocks)
        known = np.isfinite(blocks[..., 0]).all(axis=0)
        before, after = blocks[:BEFORE], blocks[BEFORE:]
        seat = np.median(before, axis=0)
        usual = np.linalg.norm(before - seat, axis=-1).max(axis=0)
        nearest = np.linalg.norm(after - seat, axis=-1).min(axis=0)
        gone = known & (nearest > np.maximum(FARTHEST_SKIN, 2.0 * usual))
        size = np.linalg.norm(np.median(after, axis=0) - seat, axis=-1)
        return [(int(column), float(size[column])) for column in np.flatnonzero(gone)]
