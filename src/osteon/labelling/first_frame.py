"""Where to begin: a frame that shows much, and the person found in it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from osteon.errors import NotEnoughData
from osteon.labelling.courses import Chains
from osteon.labelling.figure_search import Cloud, Found, find_figures, seed_bodies
from osteon.labelling.following import Holders, unrest_of
from osteon.labelling.wearer import Wearer
from osteon.typing import Indices

AROUND_SECONDS = 0.5
"""Seconds before and after a frame in which distances show who moves with whom. Chosen: half a
step."""
AROUND_FRAMES = 12
"""Count of frames of these that are looked at. Chosen: enough for a spread."""
FRAME_TRIES = 3
"""Count of frames to begin with that are tried. Chosen: a person hardly hides in all of them."""
SEED_TRIES = 2
"""Count of bodies to begin with in each. Chosen: more than one person rarely hides all of."""
SURE_SHARE = 0.75
"""Share of the log odds that points exactly in place would have, at which the search ends. Chosen:
right answers of ten marker sets have 0.88 and more, wrong ones 0.6 and less."""
LEAST_SHARE = 0.35
"""Share of the same, below which nobody is found. Chosen: half of what an answer in order has, as
half of the markers are hidden at times."""


@dataclass(frozen=True, eq=False)
class Start:
    """A person found in one frame."""

    share: float
    """Of the log odds that markers exactly in place would have."""
    wearer: Wearer
    frame: int
    answer: Found
    chains: Indices
    """Those that the answer's points are."""

    def holders(self, chains: Chains) -> Holders:
        """Return who holds which label, given by this frame."""
        holders = Holders(chains, len(self.wearer.names))
        for label in np.flatnonzero(self.answer.points >= 0):
            holders.give(int(label), int(self.chains[self.answer.points[label]]))
        return holders


def find_first(wearer: Wearer, chains: Chains) -> Start:
    """Return the frame that shows the person best, and who holds which label there."""
    best = find_start(wearer, chains)
    if best is None or best.share < LEAST_SHARE:
        raise NotEnoughData(_nobody(wearer, 0.0 if best is None else best.share))
    return best


def find_start(wearer: Wearer, chains: Chains) -> Start | None:
    """Return the best of some full frames, the first that leaves no doubt; None: there is none."""
    best: Start | None = None
    for start in find_starts(wearer, chains):
        if best is None or start.share > best.share:
            best = start
        if best.share > SURE_SHARE:
            break
    return best


def find_starts(wearer: Wearer, chains: Chains) -> Iterator[Start]:
    """Yield what is found from several bodies in several full frames."""
    for frame in _full_frames(chains):
        seen, cloud = _cloud(chains, frame)
        for seed in seed_bodies(wearer)[:SEED_TRIES]:
            for answer in find_figures(wearer, cloud, seed)[:1]:
                yield Start(answer.score / _most(wearer, len(seen)), wearer, frame, answer, seen)


def _nobody(wearer: Wearer, share: float) -> str:
    who = wearer.skeleton.subject or "the person"
    return (
        f"{who} is not found in the frames that show most points: at best "
        f"{100.0 * max(share, 0.0):.0f} % of the {len(wearer.names)} markers' places suit; is it "
        "this person or set, and the right unit? `marker_set=none` without `skeleton` joins tracks "
        "by motion alone"
    )


def _full_frames(chains: Chains) -> list[int]:
    """Return frames that show most pieces, far from one another."""
    pieces = chains.pieces
    change = np.zeros(pieces.recording.n_frames + 1)
    np.add.at(change, pieces.first, 1.0)
    np.add.at(change, pieces.last + 1, -1.0)
    count = np.cumsum(change)[:-1]
    apart = max(1, len(count) // (2 * FRAME_TRIES))
    chosen: list[int] = []
    while len(chosen) < FRAME_TRIES and count.max(initial=0.0) >= 3.0:
        chosen.append(int(np.argmax(count)))
        count[max(0, chosen[-1] - apart) : chosen[-1] + apart + 1] = 0.0
    return chosen


def _cloud(chains: Chains, frame: int) -> tuple[Indices, Cloud]:
    """Return the chains seen in a frame, and their points."""
    rate = chains.pieces.recording.rate
    reach = AROUND_SECONDS * rate
    around = np.unique(np.linspace(frame - reach, frame + reach, AROUND_FRAMES + 1).astype(int))
    around = np.union1d(around, [frame])
    around = around[(around >= 0) & (around < chains.pieces.recording.n_frames)]
    seen = chains.of(chains.pieces.seen(frame))
    places = chains.at(around, seen)
    return seen, Cloud(places[np.searchsorted(around, frame)], unrest_of(places))


def _most(wearer: Wearer, n_points: int) -> float:
    """Return the log odds of as many labels as there are points, all exactly in place."""
    return float(np.sort(wearer.gain)[::-1][:n_points].sum())
