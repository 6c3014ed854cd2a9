"""Pieces of one marker joined over short gaps: where one ends, another goes on along its course.

Each end is followed forward and each start backward to the middle of the gap between them; a steady
acceleration cancels there. What has a rival stays open, for better evidence to settle.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from osteon.labelling.pieces import JUMP_ACCELERATION, Pieces
from osteon.typing import Array, Indices, Mask

LONGEST_COURSE = 0.15
"""Seconds of a gap over which a marker's own course tells where it comes out. Chosen: a limb in
fast motion turns round in twice that."""
COURSE_SAMPLES = 5
"""Count of samples that tell the speed at an end. Chosen: fewer are noise, more are a curve."""
COURSE_DISTANCE = 0.01
"""Metres that both ends may miss each other by in the middle of a gap. Chosen: as a jump."""
COURSE_SPEED = 0.3
"""Metres per second of gap that they may miss each other by besides. Chosen: on running and jumping
people the true continuation misses by less in 99 of 100 gaps."""
SAME_TRACK_RATIO = 3.0
"""Ratio: so much farther may pieces miss each other that were one track until a jump cut it.
Chosen: a limb may be swung harder than any bound, and then nobody else goes on from there."""
RIVAL_RATIO = 2.0
"""Ratio: a second continuation must miss by this many times more than the first. Chosen: even
odds of being right are not enough to join."""

LOOSE_RATIO = 1.5
"""Ratio: so much farther may they miss each other in the end, where still nobody else comes in
question for either. Chosen: a foot's swing is far from even."""


def join_courses(pieces: Pieces) -> Indices:
    """Return (n_pieces,) the piece that goes on from each; −1 where none surely does."""
    return choose_pairs(pieces.first, pieces.last, _course_pairs(pieces, RIVAL_RATIO))


def loose_courses(chains: "Chains") -> "Pairs":
    """Return chains that may go on along one another's course where nobody else does: they may miss
    each other by ``LOOSE_RATIO`` times as much as in ``join_courses``."""
    number = chains.number
    ends = {int(chains.members(chain)[-1]) for chain in range(len(chains))}
    starts = {int(chains.members(chain)[0]) for chain in range(len(chains))}
    return [
        (int(number[end]), int(number[start]), cost / LOOSE_RATIO)
        for end, start, cost in _course_pairs(chains.pieces, LOOSE_RATIO * RIVAL_RATIO)
        if end in ends and start in starts
    ]


def _course_pairs(pieces: Pieces, most: float) -> list[tuple[int, int, float]]:
    """Return who ends and who starts soon after, and by how much of what is allowed they miss each
    other's course, if less than ``most``."""
    rate = pieces.recording.rate
    longest = max(1, round(LONGEST_COURSE * rate)) + 1
    slopes = [_end_slopes(pieces.path(piece)) for piece in range(len(pieces))]
    pairs: list[tuple[int, int, float]] = []
    for piece in range(len(pieces)):
        near = _starting(pieces, piece, longest)
        gap = pieces.first[near] - pieces.last[piece]
        miss = _miss(pieces, slopes, piece, near, gap)
        allowed = COURSE_DISTANCE + COURSE_SPEED * gap / rate + JUMP_ACCELERATION / rate**2
        allowed *= np.where(_same_track(pieces, piece, near), SAME_TRACK_RATIO, 1.0)
        kept = miss < most * allowed
        prices = miss[kept] / allowed[kept]
        pairs += [(piece, int(n), float(c)) for n, c in zip(near[kept], prices, strict=True)]
    return pairs


def _starting(pieces: Pieces, piece: int, longest: int) -> Indices:
    """Return pieces that start within ``longest`` frames after one ends; they are in order."""
    low, high = np.searchsorted(pieces.first, pieces.last[piece] + np.array([1, longest + 1]))
    return np.arange(low, high)


def _same_track(pieces: Pieces, piece: int, near: Indices) -> Mask:
    """Return (n_near,) whether a piece and another were one track until a jump cut it."""
    adjoining = pieces.first[near] == pieces.last[piece] + 1
    return adjoining & (pieces.column[near] == pieces.column[piece])


def _end_slopes(path: Array) -> tuple[Array, Array]:
    """Return movement per frame at the start and at the end of a path, (3,) each; NaN where a
    single sample shows none."""
    n = min(len(path), COURSE_SAMPLES)
    if n < 2:
        return np.full(3, np.nan), np.full(3, np.nan)
    steps = np.arange(n) - 0.5 * (n - 1)
    share = steps / (steps @ steps)
    return share @ path[:n], share @ path[-n:]


def _miss(
    pieces: Pieces, slopes: list[tuple[Array, Array]], piece: int, near: Indices, gap: Indices
) -> Array:
    """Return (n_near,) how far one end and each start are apart in the middle of the gap."""
    if not len(near):
        return np.zeros(0)
    positions = pieces.recording.positions
    end = positions[pieces.last[piece], pieces.column[piece]]
    start = positions[pieces.first[near], pieces.column[near]]
    back = np.stack([slopes[other][0] for other in near])
    ahead = np.broadcast_to(slopes[piece][1], back.shape)
    # a single sample goes on as its partner does
    ahead, back = _known_or(_known_or(ahead, back), 0.0), _known_or(_known_or(back, ahead), 0.0)
    half = 0.5 * gap[:, None]
    return np.linalg.norm(end + half * ahead - start + half * back, axis=-1)


def _known_or(slopes: Array, others: Array | float) -> Array:
    return np.where(np.isfinite(slopes), slopes, others)


Pairs = Sequence[tuple[int, int, float]]
"""Who ends, who starts later, and what it costs to take them for one marker."""


def choose_pairs(first: Indices, last: Indices, pairs: Pairs) -> Indices:
    """Return (n,) who follows each; −1: nobody.

    A pair is joined that costs less than 1 and has no rival within ``RIVAL_RATIO``. A rival is
    another partner of one of them, seen in frames in which the first partner is: both cannot be
    the same marker. Partners in turn may be, and then the nearest in time is joined.

    Parameters
    ----------
    first, last : (n,)
        Frames in which each begins and ends.
    """
    ends: dict[int, list[tuple[int, float]]] = defaultdict(list)
    starts: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for end, start, cost in pairs:
        ends[end].append((start, cost))
        starts[start].append((end, cost))

    def has_rival(partner: int, cost: float, others: list[tuple[int, float]]) -> bool:
        return any(
            price <= RIVAL_RATIO * cost
            for other, price in others
            if other != partner and first[other] <= last[partner] and last[other] >= first[partner]
        )

    following, followed = np.full(len(first), -1), np.zeros(len(first), dtype=bool)
    for end, start, cost in sorted(pairs, key=lambda pair: first[pair[1]] - last[pair[0]]):
        if cost >= 1.0 or following[end] >= 0 or followed[start]:
            continue
        if not (has_rival(start, cost, ends[end]) or has_rival(end, cost, starts[start])):
            following[end], followed[start] = start, True
    return following


def chains_of(following: Indices) -> Indices:
    """Return (n_pieces,) a number for each chain of pieces that follow one another."""
    chain = np.full(len(following), -1)
    heads = np.setdiff1d(np.arange(len(following)), following)
    for number, head in enumerate(heads):
        piece = head
        while piece >= 0:
            chain[piece] = number
            piece = following[piece]
    return chain


@dataclass(frozen=True, eq=False)
class Chains:
    """Pieces that were joined: each chain is one marker, as far as that is sure."""

    pieces: Pieces
    number: Indices
    """(n_pieces,) the chain of each."""

    def __len__(self) -> int:
        return int(self.number.max(initial=-1)) + 1

    def of(self, pieces: Indices) -> Indices:
        """Return the chains that some pieces belong to, each once, in order."""
        return np.unique(self.number[pieces])

    def at(self, frames: Indices, chains: Indices) -> Array:
        """Return (n_frames, n_chains, 3) where chains, in order, are in ascending frames; NaN
        where they are not seen."""
        pieces = self.pieces.within(int(frames[0]), int(frames[-1]))
        pieces = pieces[np.isin(self.number[pieces], chains)]
        places = np.full((len(frames), len(chains), 3), np.nan)
        where = self.pieces.at(frames, pieces)
        rows, columns = np.nonzero(np.isfinite(where[..., 0]))
        places[rows, np.searchsorted(chains, self.number[pieces])[columns]] = where[rows, columns]
        return places

    @cached_property
    def _grouped(self) -> tuple[Indices, Indices]:
        """(n_pieces,) pieces chain by chain, in order of time; (n_chains + 1,) where in them each
        chain begins."""
        order = np.argsort(self.number, kind="stable")
        return order, np.searchsorted(self.number[order], np.arange(len(self) + 1))

    def members(self, chain: int) -> Indices:
        """Return the pieces of a chain, in order of time."""
        order, begins = self._grouped
        return order[begins[chain] : begins[chain + 1]]

    def heads(self, chains: Indices) -> Indices:
        """Return the first piece of each of some chains."""
        order, begins = self._grouped
        return order[begins[chains]]

    def without(self, pieces: Indices) -> "Chains":
        """Return the chains with some pieces taken out, as a chain of their own."""
        number = self.number.copy()
        number[pieces] = len(self)
        return Chains(self.pieces, number)

    def apart(self, pieces: Indices) -> "Chains":
        """Return the chains with some pieces taken out, each as a chain of its own."""
        number = self.number.copy()
        number[pieces] = len(self) + np.arange(len(pieces))
        return Chains(self.pieces, number)


def sure_chains(pieces: Pieces) -> Chains:
    """Join the pieces that go on along one another's course."""
    return Chains(pieces, chains_of(join_courses(pieces)))
