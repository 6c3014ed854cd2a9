"""Swapped labels and slipped markers, told as they happen."""

from dataclasses import dataclass, field

import numpy as np

from ossature.values.arrays import Array

JUMP = 0.03
"""Metres off its course: no marker does this between two frames by itself."""
CLOSER = 0.3
"""Two markers were exchanged when each is this much nearer to the other's course."""
LONGEST = 0.05
"""Seconds without a marker after which its course says nothing any more."""

BLOCK = 0.5
"""Seconds over which a distance is averaged: skin swings, slips stay."""
BEFORE, AFTER = 8, 3
"""Blocks that tell where a marker sat, and blocks it must sit elsewhere."""
FARTHEST_SKIN = 0.012
"""Metres: skin parts two markers of a body this far for seconds, while a posture is held."""


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
    """How far markers of a body sit from each other, block after block of time.

    Distances know nothing of calibrations, which take a slip in as they improve.
    """

    def __init__(self, rate: float, bodies: np.ndarray) -> None:
        n = len(bodies)
        self.pairs = np.array(
            [(a, b) for a in range(n) for b in range(a + 1, n) if bodies[a] == bodies[b]]
        ).reshape(-1, 2)
        self._frames = max(2, round(BLOCK * rate))
        self._sum, self._seen = np.zeros(len(self.pairs)), np.zeros(len(self.pairs))
        self._n = 0
        self._blocks: list[Array] = []

    def slipped(self, positions: Array) -> list[tuple[int, float]]:
        """Columns of markers (n_markers, 3) that sit elsewhere now, and how far at least, metres.

        A marker is named when its distances to others of its body changed and theirs did not; of
        a body with two markers nobody can tell which of them it was, so neither is.
        """
        apart = np.linalg.norm(positions[self.pairs[:, 0]] - positions[self.pairs[:, 1]], axis=1)
        seen = np.isfinite(apart)
        self._sum += np.where(seen, apart, 0.0)
        self._seen += seen
        self._n += 1
        if self._n < self._frames:
            return []
        with np.errstate(invalid="ignore", divide="ignore"):
            block = np.where(self._seen > 0.5 * self._n, self._sum / self._seen, np.nan)
        self._blocks = [*self._blocks[-(BEFORE + AFTER - 1) :], block]
        self._sum, self._seen, self._n = np.zeros_like(self._sum), np.zeros_like(self._seen), 0
        return self._judged() if len(self._blocks) == BEFORE + AFTER else []

    def _judged(self) -> list[tuple[int, float]]:
        blocks = np.array(self._blocks)
        before, after = blocks[:BEFORE], blocks[BEFORE:]
        seat = np.median(before, axis=0)
        usual = np.abs(before - seat).max(axis=0)
        nearest = np.abs(after - seat).min(axis=0)
        with np.errstate(invalid="ignore"):
            changed = nearest > np.maximum(FARTHEST_SKIN, 2.0 * usual)
        found = []
        for marker in np.unique(self.pairs[changed]).tolist():
            own = (self.pairs == marker).any(axis=1)
            others = np.isin(self.pairs, self.pairs[own]).all(axis=1) & ~own
            if (changed & own).sum() > 1 and not (changed & others).any():
                found.append((marker, float(nearest[changed & own].max())))
        if found:  # they sit there now: from here on this is where they belong
            self._blocks = []
        return found
