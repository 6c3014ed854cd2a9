"""Swapped labels and slipped markers, told as they happen."""

import numpy as np

from osteon.maths import kernel
from osteon.typing import Array

JUMP_DISTANCE = 0.03
"""Metres off its course, or its place. Chosen: no marker does this between two frames by itself."""
CLOSER_SHARE = 0.3
"""Ratio: how far the way from one marker to another may be off the opposite of what it should be,
to how far it is off that, to count as exchanged. Chosen: plainly nearer to the opposite."""
LONGEST_GAP = 0.05
"""Seconds without a marker after which its course says nothing any more. Chosen: six frames at 120
per second, over which a path is nearly straight."""

BLOCK_SECONDS = 0.5
"""Seconds over which a distance is averaged. Chosen: skin swings within them, slips stay."""
BLOCKS_BEFORE, BLOCKS_AFTER = 8, 3
"""Counts of blocks that tell where a marker sat, and of those it must sit elsewhere. Chosen: four
seconds to know a place, one and a half to be sure that it was left."""
FARTHEST_SKIN = 0.012
"""Metres that two markers of a body may part for seconds. Chosen: so far does skin part them, while
a posture is held."""


class Courses:
    """Where each marker was and how it moved: exchanged labels break two courses at once."""

    def __init__(self, rate: float) -> None:
        self._longest = LONGEST_GAP * rate
        self._courses = _nowhere(0)
        self._order = np.zeros(0, dtype=np.int64)
        """(n,) the column in which each marker comes at present."""

    def sort_out(
        self, number: int, positions: Array, places: Array | None = None
    ) -> tuple[Array, list[tuple[int, int]]]:
        """Return the markers (n, 3) under their right labels, and the pairs that changed just
        now; ``places`` (n, 3) are where the pose of a known person has them, NaN where it does
        not say."""
        if len(positions) > len(self._courses):
            joined = _nowhere(len(positions) - len(self._courses))
            self._order = np.append(self._order, np.arange(len(self._order), len(positions)))
            self._courses = np.concatenate([self._courses, joined])
        positions = positions[self._order]
        expected = _on_course(self._courses, number, self._longest)
        changed = self._put_right(positions, expected)
        if places is not None:
            changed += self._put_right(positions, places)
        _go_on(self._courses, number, self._longest, positions)
        return positions, changed

    def _put_right(self, positions: Array, expected: Array) -> list[tuple[int, int]]:
        """Exchange those of ``positions`` (n, 3) in place that are on each other's expected place;
        return which."""
        changed = [(a, b) for a, b in crossed(positions, expected).tolist()]
        for a, b in changed:
            positions[[a, b]] = positions[[b, a]]
            self._order[[a, b]] = self._order[[b, a]]
        return changed

    def is_under_its_own(self, column: int) -> bool:
        """Whether a marker comes under its own label at present."""
        return bool(self._order[column] == column)


def _nowhere(n: int) -> Array:
    """Courses (n, 7) of markers that nobody saw: place, metres a frame, number of the frame."""
    courses = np.zeros((n, 7))
    courses[:, 6] = -np.inf
    return courses


@kernel
def _on_course(courses, number, longest):
    """Return where markers should be (n, 3); NaN where nobody can tell."""
    expected = np.full((len(courses), 3), np.nan)
    for i in range(len(courses)):
        steps = number - courses[i, 6]
        if 0 < steps <= longest:
            for k in range(3):
                expected[i, k] = courses[i, k] + steps * courses[i, 3 + k]
    return expected


@kernel
def _go_on(courses, number, longest, positions):
    for i in range(len(positions)):
        steps = number - courses[i, 6]
        near = 0 < steps <= longest
        courses[i, 3:6] = 0.0
        if np.isfinite(positions[i, 0]):
            if near:
                courses[i, 3:6] = (positions[i] - courses[i, :3]) / steps
            courses[i, :3] = positions[i]
            courses[i, 6] = number


@kernel
def crossed(positions, expected):
    """Return (n_pairs, 2) markers of which both are off what is expected (n, 3), and whose way from
    one to the other is turned round.

    What carries both is no part of that way: limbs that begin to move faster than expected take
    their markers with them.
    """
    n = len(positions)
    found, n_found, taken = np.empty((n // 2, 2), np.int64), 0, np.zeros(n, np.bool_)
    off = np.full(n, -1.0)  # also where nothing is seen or expected
    for i in range(n):
        square = 0.0
        for k in range(3):
            square += (positions[i, k] - expected[i, k]) ** 2
        if square > JUMP_DISTANCE**2:
            off[i] = np.sqrt(square)
    for a in range(n):
        best, other = CLOSER_SHARE, -1
        for b in range(a + 1, n):
            if off[a] < 0.0 or off[b] < 0.0 or taken[a] or taken[b]:
                continue
            turned, kept, middle, wide = 0.0, 0.0, 0.0, 0.0
            for k in range(3):
                way, should = positions[a, k] - positions[b, k], expected[a, k] - expected[b, k]
                turned += (way + should) ** 2
                kept += (way - should) ** 2
                both = positions[a, k] + positions[b, k] - expected[a, k] - expected[b, k]
                middle += 0.25 * both**2
                wide += should**2
            if kept > (2.0 * JUMP_DISTANCE) ** 2 and middle < wide:
                ratio = np.sqrt(turned / kept)
                if ratio < best:
                    best, other = ratio, b
        if other >= 0:
            taken[a] = taken[other] = True
            found[n_found, 0], found[n_found, 1] = a, other
            n_found += 1
    return found[:n_found]


class Seats:
    """How far markers of a body sit from each other, block after block of time.

    Distances know nothing of calibrations, which take a slip in as they improve.
    """

    def __init__(self, rate: float, bodies: np.ndarray) -> None:
        n = len(bodies)
        self.pairs = np.array(
            [(a, b) for a in range(n) for b in range(a + 1, n) if bodies[a] == bodies[b]],
            dtype=np.int64,
        ).reshape(-1, 2)
        self._frames = max(2, round(BLOCK_SECONDS * rate))
        self._sum, self._seen = np.zeros(len(self.pairs)), np.zeros(len(self.pairs))
        self._n = 0
        self._blocks: list[Array] = []
        self._starts: list[int] = []

    def slipped(self, number: int, positions: Array) -> list[tuple[int, int, float]]:
        """Columns of markers (n_markers, 3) that sit elsewhere now, since which frame of the
        stream (to half a block), and how far at least, metres.

        A marker is named when its distances to others of its body changed and theirs did not; of
        a body with two markers nobody can tell which of them it was, so neither is.
        """
        _add_distances(positions, self.pairs, self._sum, self._seen)
        if self._n == 0:
            self._starts = [*self._starts[-(BLOCKS_BEFORE + BLOCKS_AFTER - 1) :], number]
        self._n += 1
        if self._n < self._frames:
            return []
        with np.errstate(invalid="ignore", divide="ignore"):
            block = np.where(self._seen > 0.5 * self._n, self._sum / self._seen, np.nan)
        self._blocks = [*self._blocks[-(BLOCKS_BEFORE + BLOCKS_AFTER - 1) :], block]
        self._sum, self._seen, self._n = np.zeros_like(self._sum), np.zeros_like(self._seen), 0
        return self._judged() if len(self._blocks) == BLOCKS_BEFORE + BLOCKS_AFTER else []

    def _judged(self) -> list[tuple[int, int, float]]:
        blocks = np.array(self._blocks)
        before, after = blocks[:BLOCKS_BEFORE], blocks[BLOCKS_BEFORE:]
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
                # in the course of the last block that still counts as before
                since = (self._starts[BLOCKS_BEFORE - 1] + self._starts[BLOCKS_BEFORE]) // 2
                found.append((marker, since, float(nearest[changed & own].max())))
        if found:  # they sit there now: from here on this is where they belong
            self._blocks, self._starts = [], []
        return found


@kernel
def _add_distances(positions, pairs, total, seen):
    for i in range(len(pairs)):
        apart = np.sqrt(np.sum((positions[pairs[i, 0]] - positions[pairs[i, 1]]) ** 2))
        if np.isfinite(apart):
            total[i] += apart
            seen[i] += 1.0


def warm_up() -> None:
    """Have the kernels ready: the first frame of a stream must not wait for a compiler."""
    Courses(1.0).sort_out(0, np.zeros((2, 3)))
    Seats(1.0, np.zeros(2, dtype=np.int64)).slipped(0, np.zeros((2, 3)))
