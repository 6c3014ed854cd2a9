"""Several people in one cloud of points: each is found and followed, then all share out the pieces.

Who stands apart in some frame is looked for there alone; else among all points. What one person
holds is out of the others' sight until everybody is found. Then every piece is held against the
labels of all of them: people that pass within reach of each other may have taken what is nearer to
another's place.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.errors import NotEnoughData
from osteon.human import MarkerSet
from osteon.labelling.courses import Chains, sure_chains
from osteon.labelling.first_frame import LEAST_SHARE, Start, find_first, find_start
from osteon.labelling.following import FAR_GATE, Following, Holders
from osteon.labelling.marker_set_start import SetWearer, start_with_set
from osteon.labelling.pieces import Pieces, relabelled
from osteon.labelling.review import (
    NEAR_GATE,
    OTHER_ODDS,
    ROUNDS,
    PieceOdds,
    compare_pieces,
    give_carried,
    review,
)
from osteon.labelling.wearer import Wearer
from osteon.maths import distances_between
from osteon.typing import Array, Indices, Progress, Step, unheard

WHOLE_SHARE = 0.98
"""Share of the samples that have a label, from which nobody is followed again. Chosen: what is then
left open are ends and ghosts, which a look at every piece settles."""
APART_DISTANCE = 0.6
"""Metres from point to point beyond which people stand apart. Chosen: a knee is 0.45 from ankle and
hip on tall people, who may wear nothing between."""
GROUP_FRAMES = 200
"""Count of frames in which groups are looked for. Chosen: some tenths of a second apart in most
takes."""
POOR_SHARE = 0.1
"""Share of a known person's labels that lack a point while points lack a label, from which this is
told. Measured: samples left open are none by the right person on 28 takes, a fifth and a quarter by
two others in the same set."""
REFUSED_SHARE = 0.4
"""The same share, from which labels are refused. Simulated: there more than one of four that are
given are wrong, on a performer scaled by 1.12."""
LEAST_WORN = 0.5
"""Share of a set's labels that must be seen at once in what others have left, for one more person
to be looked for. Chosen: half are hidden at times; props and ghosts are fewer."""


@dataclass(frozen=True, eq=False)
class FoundPerson:
    """Somebody who was found among the points, and the pieces they hold."""

    wearer: Wearer
    label: Indices
    """(n_pieces,) the label that each piece has on this person; −1: none."""
    odds: Array
    """(n_pieces, n_labels + 1) probability of each label, and, last, of none."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Crowd:
    """Everybody found in a cloud; ``odds`` of a person are among everybody's labels and none."""

    pieces: Pieces
    people: tuple[FoundPerson, ...]


def follow_known(wearers: Sequence[Wearer], pieces: Pieces, progress: Progress = unheard) -> Crowd:
    """Find and follow people who are known, the most obvious first; some may not be there."""
    rest, people, missing = np.arange(len(pieces)), {}, list(range(len(wearers)))
    while missing:
        chains = sure_chains(subset(pieces, rest))
        progress(Step("start", f"looking for a start among {len(rest)} pieces of tracks"))
        found = _most_obvious([wearers[each] for each in missing], chains)
        if found is None:
            break
        at, start = found
        who = missing.pop(at)
        following, likeness = _followed(start, chains, progress)
        found = following, give_carried(following, likeness)
        people[who] = _as_person(found, rest, len(pieces))
        rest = np.flatnonzero(_taken(people.values()) < 0)
    if not people:  # says why
        find_first(wearers[0], sure_chains(pieces))
    told = _not_there([wearers[each] for each in missing])
    first, *others = (people[who] for who in sorted(people))
    crowd = share_out(pieces, [replace(first, warnings=told), *others], progress)
    open_ = pieces.counts(np.flatnonzero(_taken(crowd.people) < 0))
    if len(crowd.people) == 1 and _empty_share(crowd.people[0], pieces, open_) > REFUSED_SHARE:
        raise NotEnoughData(*_suits_poorly(crowd.people[0], pieces, open_))
    told_of = [person.warnings + _suits_poorly(person, pieces, open_) for person in crowd.people]
    people = zip(crowd.people, told_of, strict=True)
    return replace(crowd, people=tuple(replace(one, warnings=told) for one, told in people))


def follow_set(marker_set: MarkerSet, pieces: Pieces, progress: Progress = unheard) -> Crowd:
    """Find and follow everybody who wears a set, calibrated by what is found of them."""
    rest, people = np.arange(len(pieces)), []
    while not people or _may_hold_another(people[-1], pieces, rest):
        here = subset(pieces, rest)
        progress(Step("set", f"looking for somebody who wears {marker_set.name}"))
        try:
            person, own = _followed_set(_start_apart(marker_set, here), here, progress)
        except NotEnoughData:
            if not people:
                raise
            break
        people.append(_as_person(own, rest, len(pieces), person.doubts()))
        rest = np.flatnonzero(_taken(people) < 0)
    return share_out(pieces, people, progress)


def subset(pieces: Pieces, chosen: Indices) -> Pieces:
    """Return some of the pieces, in a recording that shows nothing else."""
    if len(chosen) == len(pieces):
        return pieces
    recording = pieces.recording
    shown = np.zeros(recording.positions.shape[:2], dtype=bool)
    for piece in chosen:
        shown[pieces.first[piece] : pieces.last[piece] + 1, pieces.column[piece]] = True
    positions = np.where(shown[..., None], recording.positions, np.nan)
    return Pieces(
        replace(recording, positions=positions),
        pieces.column[chosen],
        pieces.first[chosen],
        pieces.last[chosen],
    )


def _taken(people: Iterable[FoundPerson]) -> Indices:
    """Return (n_pieces,) −1 where nobody holds a piece."""
    return np.stack([person.label for person in people]).max(axis=0)


def _most_obvious(wearers: Sequence[Wearer], chains: Chains) -> tuple[int, Start] | None:
    """Return who is found best, and where; None where nobody is."""
    starts = [(at, find_start(wearer, chains)) for at, wearer in enumerate(wearers)]
    found = [(at, start) for at, start in starts if start and start.share >= LEAST_SHARE]
    return max(found, key=lambda pair: pair[1].share, default=None)


def _followed(start: Start, chains: Chains, progress: Progress) -> tuple[Following, PieceOdds]:
    """Return the labels over the take, from one frame on, and how sure they are."""
    following = Following(start.wearer, start.holders(chains))
    progress(Step("follow", "labelling"))
    following.both_ways(start.frame, lambda share: progress(Step("follow", "labelling", share)))
    progress(Step("review", "looking at every piece again"))
    return following, review(following)


def _followed_set(
    person: SetWearer, pieces: Pieces, progress: Progress
) -> tuple[SetWearer, tuple[Following, PieceOdds]]:
    """Return a set's wearer as calibrated by all that was followed, and who holds what.

    The first labels calibrate the person. Where following them adds some, these calibrate the
    person anew, who is then followed again; where hardly anything was left open, a second look at
    what was given is enough.
    """
    chains, wearer = sure_chains(pieces), person.completed
    found = _followed(person.begin(wearer, chains), chains, progress)
    label = found[0].holders.label
    labelled = relabelled(pieces, label, wearer.names)
    if not person.is_calibrated_by(labelled):
        person = person.again(labelled)
    elif person.wearer.names == wearer.names:
        return person, found
    if _held_share(pieces, label) < WHOLE_SHARE:
        return person, _followed(person.begin(person.wearer, chains), chains, progress)
    place = {name: at for at, name in enumerate(person.wearer.names)}
    label = np.array([place.get(name, -1) for name in (*wearer.names, "")])[label]
    following = _resumed(pieces, person.wearer, label)
    return person, (following, review(following))


def _held_share(pieces: Pieces, label: Indices) -> float:
    """Return the share of the samples that have a label."""
    length = pieces.last - pieces.first + 1
    return float(length[label >= 0].sum() / length.sum())


def _as_person(
    found: tuple[Following, PieceOdds],
    rest: Indices,
    n_pieces: int,
    warnings: tuple[str, ...] = (),
) -> FoundPerson:
    """Return a person who was followed through the pieces ``rest`` of all."""
    following, likeness = found
    label, odds = np.full(n_pieces, -1), np.zeros((n_pieces, likeness.odds.shape[1]))
    label[rest], odds[:, -1] = following.holders.label, 1.0
    odds[rest] = likeness.odds
    return FoundPerson(following.wearer, label, odds, warnings)


def _suits_poorly(person: FoundPerson, pieces: Pieces, open_: Indices) -> tuple[str, ...]:
    """Tell it where many labels lack a point while points, ``open_`` (n_frames,), lack a label: the
    markers are somebody else's, or sit elsewhere than when the person was calibrated."""
    share = _empty_share(person, pieces, open_)
    if share < POOR_SHARE:
        return ()
    who = person.wearer.skeleton.subject or "the person"
    return (
        f"{100.0 * share:.0f} % of the places of {who}'s markers stay empty while as many points "
        "without a label are seen: is it this person, with the markers where they were then? "
        "look over whatever labels were given, or go without the skeleton",
    )


def _empty_share(person: FoundPerson, pieces: Pieces, open_: Indices) -> float:
    held = pieces.counts(np.flatnonzero(person.label >= 0))
    empty = np.minimum(len(person.wearer.names) - held, open_).clip(0)
    return float(empty.sum() / max(1, (held + empty).sum()))


def _not_there(missing: Sequence[Wearer]) -> tuple[str, ...]:
    if not missing:
        return ()
    names = ", ".join(wearer.skeleton.subject or "somebody without a name" for wearer in missing)
    return (f"not found among the points: {names}; is it this person, and the right unit?",)


def _may_hold_another(person: FoundPerson, pieces: Pieces, rest: Indices) -> bool:
    """Whether what is left shows enough points at once to be one more person."""
    return bool(pieces.counts(rest).max() >= LEAST_WORN * len(person.wearer.names))


def _start_apart(marker_set: MarkerSet, pieces: Pieces) -> SetWearer:
    """Return a wearer of the set: of those who stand apart in some frame, else among all."""
    for group in groups_apart(pieces, LEAST_WORN * len(marker_set.markers)):
        try:
            return start_with_set(marker_set, subset(pieces, group))
        except NotEnoughData:
            continue
    return start_with_set(marker_set, pieces)


def groups_apart(pieces: Pieces, least: float) -> list[Indices]:
    """Return pieces of groups of ``least`` points and more that stand apart in the frame that shows
    most of these, largest first; none where there are no two: halves of one person are smaller."""
    step = max(1, pieces.recording.n_frames // GROUP_FRAMES)
    best: list[Indices] = []
    for frame in range(0, pieces.recording.n_frames, step):
        groups = [group for group in _groups(pieces, frame) if len(group) >= least]
        if len(groups) > 1 and _is_better(groups, best):
            best = sorted(groups, key=len, reverse=True)
    chains = sure_chains(pieces)
    return [np.flatnonzero(np.isin(chains.number, chains.of(group))) for group in best]


def _groups(pieces: Pieces, frame: int) -> Iterator[Indices]:
    """Yield pieces seen in a frame, as groups that are apart from the others."""
    seen = pieces.seen(frame)
    places = pieces.at(np.array([frame]), seen)[0]
    near, left = distances_between(places, places) < APART_DISTANCE, np.ones(len(seen), dtype=bool)
    while left.any():
        group = near[np.argmax(left)]
        while (wider := near[group].any(axis=0)).sum() > group.sum():
            group = wider
        yield seen[group]
        left &= ~group


def _is_better(groups: list[Indices], best: list[Indices]) -> bool:
    """Whether groups are more than those before, or of more points."""
    return (len(groups), sum(map(len, groups))) > (len(best), sum(map(len, best)))


def share_out(pieces: Pieces, people: Sequence[FoundPerson], progress: Progress) -> Crowd:
    """Give each piece to whose label it is nearest to, over the whole take."""
    if len(people) == 1:
        return Crowd(pieces, tuple(people))
    progress(Step("review", f"sharing the pieces out among {len(people)} people"))
    followings = [_resumed(pieces, person.wearer, person.label) for person in people]
    view = _View(followings)
    for _ in range(ROUNDS):
        if not (view.open_others() | view.give_open()):
            break
        view = _View(followings)
    kept = tuple(
        replace(person, label=each.holders.label, odds=odds)
        for person, each, odds in zip(people, followings, view.odds, strict=True)
    )
    return Crowd(pieces, kept)


def _resumed(pieces: Pieces, wearer: Wearer, label: Indices) -> Following:
    """Return labels as they are, (n_pieces,), each piece as a chain of its own."""
    holders = Holders(Chains(pieces, np.arange(len(pieces))), len(wearer.names))
    for piece in np.flatnonzero(label >= 0):
        holders.give(int(label[piece]), int(piece))
    return Following(wearer, holders)


class _View:
    """Every piece held against every label of everybody."""

    def __init__(self, followings: Sequence[Following]) -> None:
        self.followings = followings
        likeness = [compare_pieces(each) for each in followings]
        self.off = [each.off for each in likeness]
        against_none = [each.odds[:, :-1] / each.odds[:, -1:] for each in likeness]
        total = 1.0 + sum(each.sum(axis=1, keepdims=True) for each in against_none)
        self.odds = [
            np.concatenate([each, np.ones_like(total)], axis=1) / total for each in against_none
        ]
        self._likeliest = np.stack([each[:, :-1].max(axis=1, initial=0.0) for each in self.odds])

    def open_others(self) -> bool:
        """Take labels back from pieces that are more likely somebody else's, or far off."""
        changed = False
        for who, following in enumerate(self.followings):
            far = following.wearer.widened(FAR_GATE)
            others = np.delete(self._likeliest, who, axis=0).max(axis=0, initial=0.0)
            for piece in np.flatnonzero(following.holders.label >= 0):
                label = int(following.holders.label[piece])
                if others[piece] > OTHER_ODDS or self.off[who][piece, label] > far[label]:
                    following.refuse(np.array([piece]), label)
                    changed = True
        return changed

    def give_open(self) -> bool:
        """Give pieces that nobody holds to free labels that they are near to, the nearest first."""
        held = np.stack([each.holders.label for each in self.followings]).max(axis=0) >= 0
        changed = False
        for _, who, piece, label in sorted(self._near(np.flatnonzero(~held))):
            following = self.followings[who]
            chain = int(following.holders.chains.number[piece])
            if not held[piece] and following.may_hold(label, chain):
                following.holders.give(label, chain)
                held[piece] = changed = True
        return changed

    def _near(self, pieces: Indices) -> Iterator[tuple[float, int, int, int]]:
        """Yield metres, person, piece and label of what lies within reach of each other."""
        for who, following in enumerate(self.followings):
            off = self.off[who][pieces]
            for row, label in np.argwhere(off < following.wearer.widened(NEAR_GATE)).tolist():
                yield float(off[row, label]), who, int(pieces[row]), label
