"""Where to begin: a frame that shows much, and the person found in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.errors import NotEnoughData
from osteon.labelling.courses import Chains
from osteon.labelling.figure_search import Cloud, Found, find_figures, score_labellings
from osteon.labelling.following import Holders, unrest_of
from osteon.labelling.wearer import Wearer, seed_bodies
from osteon.typing import Array, Indices, Mask

AROUND_SECONDS = 0.5
"""Seconds before and after a frame in which distances show who moves with whom. Chosen: half a
step."""
AROUND_FRAMES = 12
"""Count of frames of these that are looked at. Chosen: enough for a spread."""
TAKE_FRAMES = 60
"""Count of frames of the whole take that are looked at besides, where lengths are not known and
motion must tell who belongs together. Chosen: as many poses as a take of a minute shows."""
FRAME_TRIES = 3
"""Count of frames to begin with that are tried. Chosen: a person hardly hides in all of them."""
SEED_TRIES = 2
"""Count of bodies to begin with in each. Chosen: more than one person rarely hides all of."""
SURE_SHARE = 0.75
"""Share of the log odds that points exactly in place would have, at which the search ends. Chosen:
right answers of ten marker sets have 0.88 and more, wrong ones 0.6 and less."""
DOUBT_SCALE = 2.0
"""Log odds, as a ratio to one, that are reckoned as one. Chosen: markers of one body err together,
and an average human errs twice as often as its slack tells."""
MOST_RIVALS, MOST_POOLED = 16, 24
"""Counts of answers that are kept of one search, and in all. Chosen: bounds time; with two hands
and two feet open there are sixteen."""
SETTLING_FRAMES = 5
"""Count of frames that answers are held against. Chosen: as many postures as differ much."""
RULED_OUT = 5.0
"""Log odds, reckoned as below, as a ratio to one: an answer so far behind the best is not held
against further frames. Chosen: it is one of a hundred and fifty then."""
SETTLING_WIDTH = 4
"""Count of ways carried along while that is done. Chosen: all points are given, little is open."""
TWIN_SLACK = 0.015
"""Metres rms that two markers of one body are farther apart than their like on the other side.
Measured: 0.010 on 186 pairs of fifteen people."""
MOST_UNLIKE = 4.5
"""Log odds, as a ratio to one, that one such distance says at most. Chosen: three standard
deviations; a lone marker may sit elsewhere on one side."""
SURE_LABEL = 0.8
"""Share: probability among all answers from which an average human's label counts. Chosen: a label
that is left open costs less than a wrong one."""
LEAST_SHARE = 0.35
"""Share of the same, below which nobody is found. Chosen: half of what an answer in order has, as
half of the markers are hidden at times."""


@dataclass(frozen=True, eq=False)
class Start:
    """A person found in one frame."""

    share: float
    """Of the log odds that markers exactly in place would have, in the frame that shows it best."""
    wearer: Wearer
    frame: int
    answer: Found
    chains: Indices
    """Those that the answer's points are."""
    rivals: tuple[Found, ...] = ()
    """Answers that are next best."""
    undecided: frozenset[int] = frozenset()
    """Labels that answers which are nearly as good give to other points."""
    unplaced: frozenset[int] = frozenset()
    """Those among them that may be a label of which the body alone is known: nothing else tells."""
    by_shape: bool = False
    """Whether the shape of the whole take told the labels, so that others are hardly worn."""

    def holders(self, chains: Chains) -> Holders:
        """Return who holds which label, given by this frame."""
        holders = Holders(chains, len(self.wearer.names))
        for label in set(np.flatnonzero(self.answer.points >= 0).tolist()) - self.undecided:
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


def find_starts(
    wearer: Wearer, chains: Chains, seeds: Sequence[int] = (), *, coarse: bool = False
) -> Iterator[Start]:
    """Yield what is found in several full frames, from the bodies ``seeds`` or else the best.

    ``coarse``: few answers are carried along.
    """
    for frame in _full_frames(chains):
        seen, cloud = _cloud(wearer, chains, frame)
        for seed in seeds or seed_bodies(wearer)[:SEED_TRIES]:
            answers = find_figures(wearer, cloud, seed, coarse=coarse)
            if answers:
                share = answers[0].score / _most(wearer, len(seen))
                rivals = tuple(answers[1:MOST_RIVALS])
                yield Start(share, wearer, frame, answers[0], seen, rivals)


def settle_by_frames(starts: Sequence[Start], chains: Chains) -> Start:
    """Return the start whose labels suit several frames best, and what these leave undecided.

    All starts are of one wearer. Their answers and rivals are held against frames far from each
    other: what is hidden or exchanged in one posture mostly shows in another.
    """
    wearer, pool = starts[0].wearer, {}
    for start in starts:
        for answer in (start.answer, *start.rivals):
            held = np.where(answer.points >= 0, start.chains[answer.points], -1)
            pool.setdefault(held.tobytes(), (answer.score, held, replace(start, answer=answer)))
    best = sorted(pool.values(), key=lambda each: -each[0])[:MOST_POOLED]
    clouds = [_cloud(wearer, chains, frame) for frame in _full_frames(chains, SETTLING_FRAMES)]
    held = np.stack([each for _, each, _ in best])
    suits, total = _settled(wearer, clouds, held)
    first, scale = int(np.argmax(total)), DOUBT_SCALE * np.sqrt(len(clouds))
    odds = np.exp((total - total[first]) / scale)
    rivalled = np.array([_rivalled(held[first], each, wearer.loose) for each in held])
    unsure = odds @ rivalled / odds.sum() > 1.0 - SURE_LABEL
    most = [_most(wearer, len(seen)) for seen, _ in clouds]
    pairs = _beside_loose(wearer, held[first])
    unplaced = set[int]()
    if pairs:
        others = np.stack([_exchanged(held[first], *pair) for pair in pairs])
        odds = np.exp((_settled(wearer, clouds, others)[1] - total[first]) / scale)
        unplaced = {pairs[index][0] for index in np.flatnonzero(odds > 1.0 / SURE_LABEL - 1.0)}
    return replace(
        best[first][2],
        share=max(best[first][2].share, float((suits[:, first] / most).max())),
        undecided=frozenset(np.flatnonzero(unsure).tolist()) | unplaced,
        unplaced=frozenset(unplaced),
    )


def _settled(
    wearer: Wearer, clouds: Sequence[tuple[Indices, Cloud]], held: Indices
) -> tuple[Array, Array]:
    """Return (n_frames, n) the log odds of chains being what they are taken for, and (n,) of all
    frames, less what speaks for sides that differ; −∞ of those that are far behind others after
    some frames."""
    suits, total, open_ = (
        np.zeros((len(clouds), len(held))),
        np.zeros(len(held)),
        np.arange(len(held)),
    )
    for done, (seen, cloud) in enumerate(clouds, 1):
        points = _points_of(seen, held[open_])
        scores = score_labellings(wearer, cloud, seed_bodies(wearer)[0], points, SETTLING_WIDTH)
        suits[done - 1, open_] = scores
        total[open_] += scores - _unlike_sides(wearer, cloud, points)
        behind = total[open_] < total[open_].max() - RULED_OUT * DOUBT_SCALE * np.sqrt(done)
        total[open_[behind]] = -np.inf
        open_ = open_[~behind]
    return suits, total


def _points_of(seen: Indices, held: Indices) -> Indices:
    """Return (n, n_labels) the points of the labels' chains in a frame; −1: none."""
    row = np.searchsorted(seen, held).clip(max=len(seen) - 1)
    return np.where((held >= 0) & (seen[row] == held), row, -1)


def _beside_loose(wearer: Wearer, held: Indices) -> list[tuple[int, int]]:
    """Return labels with a place, each with one on the same body that has none and is held."""
    bodies = wearer.rig.tree.marker_bodies
    return [
        (label, loose)
        for loose in np.flatnonzero(wearer.loose & (held >= 0)).tolist()
        for label in wearer.placed_labels_of(int(bodies[loose])).tolist()
        if held[label] >= 0
    ]


def _exchanged(held: Indices, one: int, other: int) -> Indices:
    exchanged = held.copy()
    exchanged[[one, other]] = held[[other, one]]
    return exchanged


def _rivalled(held: Indices, other: Indices, loose: Mask) -> Mask:
    """Return (n_labels,) whether two answers give a label to different chains, or its chain to
    different labels; an answer that merely leaves it out says nothing."""
    labels = np.where(loose, -1, np.arange(len(held)))
    mine = {int(chain): label for label, chain in zip(labels, held, strict=True) if chain >= 0}
    theirs = {int(chain): label for label, chain in zip(labels, other, strict=True) if chain >= 0}
    rivalled = (held >= 0) & (other >= 0) & (held != other)
    for chain in mine.keys() & theirs.keys():
        if mine[chain] != theirs[chain]:
            rivalled[[label for label in (mine[chain], theirs[chain]) if label >= 0]] = True
    return rivalled & ~loose


def _unlike_sides(wearer: Wearer, cloud: Cloud, points: Indices) -> Array:
    """Return (n,) log odds against labels being farther from each other on a body, or less far,
    than their like on the other side; ``points`` (n, n_labels) are theirs, −1: none."""
    cost, apart = np.zeros(len(points)), cloud.apart
    for body in range(len(wearer.parents)):
        own = wearer.firm_labels_of(body)
        own = own[wearer.twin[own] > own]  # each pair of bodies once, and no middle ones
        for row, one in enumerate(own):
            for other in own[:row]:
                here = points[:, [one, other]]
                there = points[:, wearer.twin[[one, other]]]
                off = apart[here[:, 0], here[:, 1]] - apart[there[:, 0], there[:, 1]]
                told = np.minimum(0.5 * (off / TWIN_SLACK) ** 2, MOST_UNLIKE)
                known = (here >= 0).all(axis=1) & (there >= 0).all(axis=1)
                cost += np.where(known, told / (len(own) - 1), 0.0)
    return cost


def _nobody(wearer: Wearer, share: float) -> str:
    who = wearer.skeleton.subject or "the person"
    return (
        f"{who} is not found in the frames that show most points: at best "
        f"{100.0 * max(share, 0.0):.0f} % of the {len(wearer.names)} markers' places suit; is it "
        "this person or set, and the right unit? `marker_set=none` without `skeleton` joins tracks "
        "by motion alone"
    )


def _full_frames(chains: Chains, tries: int = FRAME_TRIES) -> list[int]:
    """Return frames that show most pieces, far from one another."""
    count = chains.pieces.counts(np.arange(len(chains.pieces)))
    apart = max(1, len(count) // (2 * tries))
    chosen: list[int] = []
    while len(chosen) < tries and count.max(initial=0) >= 3:
        chosen.append(int(np.argmax(count)))
        count[max(0, chosen[-1] - apart) : chosen[-1] + apart + 1] = 0
    return chosen


def _cloud(wearer: Wearer, chains: Chains, frame: int) -> tuple[Indices, Cloud]:
    """Return the chains seen in a frame, and their points."""
    last = chains.pieces.recording.n_frames - 1
    reach = AROUND_SECONDS * chains.pieces.recording.rate
    around = np.linspace(frame - reach, frame + reach, AROUND_FRAMES + 1).clip(0, last)
    if not wearer.known:
        around = np.append(around, np.linspace(0, last, TAKE_FRAMES))
    around = np.union1d(around.astype(int), [frame])
    seen = chains.of(chains.pieces.seen(frame))
    places = chains.at(around, seen)
    return seen, Cloud(places[np.searchsorted(around, frame)], unrest_of(places))


def _most(wearer: Wearer, n_points: int) -> float:
    """Return the log odds of as many labels as there are points, all exactly in place."""
    return float(np.sort(wearer.gain + wearer.worth)[::-1][:n_points].sum())
