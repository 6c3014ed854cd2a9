"""Pieces of one marker joined over longer gaps, by the markers that move with it.

Neighbours that keep their distance to a marker carry it through a gap: how they moved from the last
frame before it to the first after it says where the marker must come out. The same is asked
backwards in time, and only who suits both ways, without a rival, is joined.
"""

import numpy as np

from osteon.labelling.courses import Chains, chains_of, choose_pairs
from osteon.maths import fit_rigid, quat
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
    ahead = _off(chains, possible, last, first, back=False)
    behind = _off(chains, possible.T, first, last, back=True).T
    cost = np.maximum(ahead, behind) / CARRIED_DISTANCE
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


def _off(chains: Chains, possible: Mask, here: Indices, there: Indices, *, back: bool) -> Array:
    """Return (n_chains, n_chains) how far each is from where another's neighbours carry that one.

    ``here`` are the frames at which chains end (or, going back, start), ``there`` those at which
    others go on.
    """
    off = np.full(possible.shape, np.inf)
    for chain in np.flatnonzero(possible.any(axis=1)):
        others = np.flatnonzero(possible[chain])
        off[chain, others] = _carried_off(chains, int(chain), others, here[chain], there, back=back)
    return off


def _carried_off(
    chains: Chains, chain: int, others: Indices, here: int, there: Indices, *, back: bool
) -> Array:
    """Return (n_others,) how far others are from where a chain's neighbours carry it."""
    near, at_end, weights = _neighbours(chains, chain, here, back=back)
    if len(near) < 3:
        return np.full(len(others), np.inf)
    frames = np.unique(there[others])
    both = np.union1d(near, others)
    places = chains.at(frames, both)
    row, column = np.searchsorted(frames, there[others]), np.searchsorted(both, others)
    carriers = places[row][:, np.searchsorted(both, near)]
    fit = fit_rigid(at_end[1:], carriers, weights)
    carried = quat.rotate(fit.rotations, at_end[0]) + fit.positions
    off = np.linalg.norm(places[row, column] - carried, axis=-1)
    return np.where(np.isfinite(off), off, np.inf)


def _neighbours(
    chains: Chains, chain: int, here: int, *, back: bool
) -> tuple[Indices, Array, Array]:
    """Return who moves with a chain at its end, where it and they are there (1 + n, 3), and how
    much each counts (n,)."""
    recording = chains.pieces.recording
    reach = round(MEMORY_SECONDS * recording.rate)
    frames = np.unique(np.linspace(0, reach, MEMORY_FRAMES).astype(int))
    frames = here + frames if back else here - frames[::-1]
    frames = frames[(frames >= 0) & (frames < recording.n_frames)]
    seen = chains.of(chains.pieces.seen(here))
    places = chains.at(frames, seen)
    own = int(np.searchsorted(seen, chain))
    apart = np.linalg.norm(places - places[:, own : own + 1], axis=-1)
    known = np.isfinite(apart)
    mean = np.where(known, apart, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    unrest = np.abs(np.where(known, apart - mean, 0.0)).max(axis=0) + LEVER_SHARE * mean
    unrest[own] = np.inf
    order = np.sort(np.argsort(unrest)[: min(COMPANIONS, len(seen) - 1)])
    now = places[0 if back else -1]
    weights = (unrest[order] + LEAST_UNREST) ** -3
    return seen[order], np.concatenate([now[own : own + 1], now[order]]), weights
