"""Pieces of one marker joined over longer gaps, by the markers that move with it.

Neighbours that keep their distance to a marker carry it through a gap: how they moved from the last
frame before it to the first after it says where the marker must come out. Those count most that
keep it on both sides of the gap, and only who comes out there without a rival is joined.
"""

from collections.abc import Callable

import numpy as np

from osteon.labelling.courses import Chains, chains_of, choose_pairs, loose_courses
from osteon.maths import quat
from osteon.typing import Array, Indices, Mask

LONGEST_GAP = 10.0
"""Seconds over which pieces are joined. Chosen: longer ones are rare, and cost grows with it."""
MEMORY_SECONDS = 1.0
"""Seconds beside a gap that tell who moves with whom. Chosen: a step."""
MEMORY_FRAMES = 15
"""Count of frames of these that are looked at. Chosen: enough for a spread."""
MOST_PARTNERS = 25
"""Count of chains, nearest in time, that a chain is held against. Chosen: bounds the time; a marker
that is lost comes back before so many others have."""
COMPANIONS = 8
"""Count of neighbours that carry a marker, the steadiest counting most. Chosen: some of them are
hidden at the other end of the gap."""
LEAST_UNREST = 0.005
"""Metres: no neighbour counts as steadier. Chosen: skin and cameras do as much."""
LEVER_SHARE = 0.1
"""Share of a neighbour's distance that counts as unrest: a long lever makes small errors large.
Chosen: as in cleaning."""
CARRIED_DISTANCE = 0.08
"""Metres that a marker may be off where its neighbours carry it. Chosen: a joint between them bends
by as much meanwhile; a rival, which may not be near, is mostly farther."""
JOIN_ROUNDS = 4
"""Count of times that all gaps are asked; each join gives others more neighbours. Chosen: the
fourth finds next to nothing."""


def join_by_neighbours(chains: Chains) -> Chains:
    """Join chains over gaps as long as neighbours tell who goes on from whom."""
    for _ in range(JOIN_ROUNDS):
        following = choose_pairs(*_spans(chains), _candidates(chains))
        if (following < 0).all():
            break
        chains = _joined(chains, following)
    return chains


def join_loose_courses(chains: Chains) -> Chains:
    """Join chains that go on along one another's course, less exactly than pieces surely do, where
    nobody else comes in question for either."""
    return _joined(chains, choose_pairs(*_spans(chains), loose_courses(chains)))


def _joined(chains: Chains, following: Indices) -> Chains:
    """Return the chains with those that follow one another under one number."""
    return Chains(chains.pieces, chains_of(following)[chains.number])


def _candidates(chains: Chains) -> list[tuple[int, int, float]]:
    """Return pairs of chains, one ending before the other starts, and what joining them costs."""
    first, last = _spans(chains)
    longest = LONGEST_GAP * chains.pieces.recording.rate
    gap = first - last[:, None]
    possible = (gap > 0) & (gap <= longest)
    possible &= _nearest(gap, possible) | _nearest(gap.T, possible.T).T
    off = np.full(possible.shape, np.inf)
    ends, starts = _unrest(chains, last, back=False), _unrest(chains, first, back=True)
    for chain in np.flatnonzero(possible.any(axis=1)):
        others = np.flatnonzero(possible[chain])
        unrest = ends[chain] + starts[others]
        off[chain, others] = _carried_off(chains, int(chain), others, (last, first), unrest)
    cost = off / CARRIED_DISTANCE
    return [(int(i), int(j), float(cost[i, j])) for i, j in np.argwhere(cost < 2.0)]


def _nearest(gap: Indices, possible: Mask) -> Mask:
    """Return whether a partner is among the ``MOST_PARTNERS`` that come next."""
    waits = np.where(possible, gap, np.iinfo(np.int64).max)
    latest = np.sort(waits, axis=1)[:, min(MOST_PARTNERS, len(gap)) - 1]
    return waits <= latest[:, None]


def _spans(chains: Chains) -> tuple[Indices, Indices]:
    """Return first and last frame of every chain."""
    pieces, number = chains.pieces, chains.number
    first = np.full(len(chains), pieces.recording.n_frames)
    last = np.full(len(chains), -1)
    np.minimum.at(first, number, pieces.first)
    np.maximum.at(last, number, pieces.last)
    return first, last


def _unrest(chains: Chains, here: Indices, *, back: bool) -> Array:
    """Return (n_chains, n_chains) metres that others' distance to each varies by, beside the frame
    ``here`` in which it ends (or, going back, starts); infinite of who is not seen then."""
    recording = chains.pieces.recording
    reach = round(MEMORY_SECONDS * recording.rate)
    steps = np.unique(np.linspace(0, reach, MEMORY_FRAMES).astype(int))
    unrest = np.full((len(chains), len(chains)), np.inf)
    for chain, frame in enumerate(here):
        frames = frame + steps if back else frame - steps[::-1]
        frames = frames[(frames >= 0) & (frames < recording.n_frames)]
        seen = chains.of(chains.pieces.seen(int(frame)))
        places = chains.at(frames, seen)
        own = int(np.searchsorted(seen, chain))
        apart = np.linalg.norm(places - places[:, own : own + 1], axis=-1)
        known = np.isfinite(apart)
        mean = np.where(known, apart, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        varies = np.abs(np.where(known, apart - mean, 0.0)).max(axis=0)
        unrest[chain, seen] = varies + LEVER_SHARE * mean
        unrest[chain, chain] = np.inf
    return unrest


def _carried_off(
    chains: Chains, chain: int, others: Indices, spans: tuple[Indices, Indices], unrest: Array
) -> Array:
    """Return (n_others,) how far others start from where a chain comes out that ends, carried by
    those who are steady to both, ``unrest`` (n_others, n_chains); infinite where they are not
    three."""
    last, first = spans
    order = np.argsort(unrest, axis=1)[:, :COMPANIONS]
    weights = (np.take_along_axis(unrest, order, axis=1) + LEAST_UNREST) ** -3.0
    weights *= ((weights > 0.0).sum(axis=1) >= 3)[:, None]  # who is not seen has none
    known = np.union1d(order, np.append(others, chain))
    frames = np.union1d(first[others], last[chain])
    places = np.nan_to_num(chains.at(frames, known))
    there, column = np.searchsorted(frames, first[others]), np.searchsorted(known, order)
    before = places[np.searchsorted(frames, last[chain])]
    carried = _carried(before[column], places[there[:, None], column], weights)
    goal = places[there, np.searchsorted(known, others)]
    off = np.linalg.norm(goal - carried(before[np.searchsorted(known, chain)]), axis=-1)
    return np.where(weights.any(axis=1), off, np.inf)


def _carried(before: Array, after: Array, weights: Array) -> Callable[[Array], Array]:
    """Return where a point comes out, (n, 3), that moves as carriers do between ``before`` and
    ``after`` (n, n_carriers, 3), by weights (n, n_carriers)."""
    shares = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    centres = [np.einsum("nc,nci->ni", shares, each) for each in (before, after)]
    arms = [each - centre[:, None] for each, centre in zip((before, after), centres, strict=True)]
    turns = quat.nearest_matrix(np.einsum("nc,nci,ncj->nij", shares, arms[1], arms[0]))
    return lambda point: centres[1] + np.einsum("nij,nj->ni", turns, point - centres[0])
