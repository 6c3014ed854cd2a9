"""Recording → the same recording with labels: whose marker each track is, and how surely."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.calibration import calibrate
from osteon.cleaning import prepare, upright
from osteon.errors import NotEnoughData, UnknownName
from osteon.human import Landmark, MarkerSet, known_sets, recognise
from osteon.labelling.courses import sure_chains
from osteon.labelling.pieces import Pieces, cut_pieces, relabelled
from osteon.labelling.rigid_joins import join_by_neighbours, join_loose_courses
from osteon.labelling.several_people import Crowd, FoundPerson, follow_known, follow_set
from osteon.labelling.wearer import wearer_of
from osteon.threads import one_thread
from osteon.typing import Progress, Step, unheard
from osteon.values import Recording, Skeleton, Take

DOUBTFUL = 0.9
"""Share: confidence below which an assignment is listed as doubtful. Chosen: one of ten wrong is
worth a look."""

RIVAL_ODDS = 0.01
"""Share: probability from which another label is told beside the one given. Chosen: one of a
hundred is worth no word."""
GHOST_SECONDS = 0.1
"""Seconds in all for which a point must be seen to have a name where nothing else is known.
Chosen: reflections mostly flicker for less."""


@dataclass(frozen=True)
class LabelledPiece:
    """A stretch of one of the input's tracks, and the label it was given."""

    label: str
    """Empty where it was left open."""
    track: str
    """The input's name of the track."""
    first: int
    last: int
    """Frames, inclusive."""
    confidence: float
    """Probability of the label among all labels and none, by the distance from their places."""
    rival: str = ""
    """The label that is next likely, where one is near; for an open piece the likeliest."""

    @property
    def n_frames(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, eq=False)
class Labelled:
    """A recording with labels, and what they rest on."""

    recording: Recording
    """By label; gaps and residuals as they were."""
    pieces: tuple[LabelledPiece, ...]
    """Of all input tracks, in order of time; open ones too."""
    by: str
    """What the labels come from: ``skeleton``, the name of a marker set, or ``motion``."""
    skeleton: Skeleton | None = None
    """Who wears them; None where only motion is known."""
    warnings: tuple[str, ...] = ()
    """What to know before the labels are believed, one sentence each."""
    people: tuple["Labelled", ...] = ()
    """Where several were found: what each holds, under the name ``recording.subject`` of theirs.
    Labels of the whole are then ``name:label``."""

    @property
    def labelled(self) -> float:
        """Share of the samples that have a label."""
        return share_of_samples(self.pieces, [piece for piece in self.pieces if piece.label])

    @property
    def doubtful(self) -> tuple[LabelledPiece, ...]:
        """Return labelled pieces that are not sure, in order of time."""
        return tuple(p for p in self.pieces if p.label and p.confidence < DOUBTFUL)

    @property
    def left_open(self) -> tuple[LabelledPiece, ...]:
        """Return pieces without a label, ghosts and props among them, in order of time."""
        return tuple(piece for piece in self.pieces if not piece.label)


def share_of_samples(pieces: Sequence[LabelledPiece], some: Sequence[LabelledPiece]) -> float:
    """Return the share of the samples of all pieces that some of them have."""
    total = sum(piece.n_frames for piece in pieces)
    return sum(piece.n_frames for piece in some) / total if total else 0.0


@one_thread()
def label(
    recording: Recording,
    *,
    skeleton: Skeleton | Sequence[Skeleton] | None = None,
    marker_set: MarkerSet | str = "auto",
    progress: Progress = unheard,
) -> Labelled:
    """Label a recording's markers, whatever their tracks are called and wherever these break.

    Parameters
    ----------
    skeleton
        Of the person, with markers on, from a solve or a passport: places on the body decide.
        Several where several people are in the recording.
    marker_set
        What is worn where nobody is known: a set or its name; everybody who wears it is found.
        ``auto`` takes the set that the labels are of, and goes by motion alone, as ``none`` does,
        where they are of none.
    """
    recording = recording.markers()
    if not recording.seen.any():
        raise NotEnoughData(f"none of the {recording.n_markers} tracks is ever seen")
    if skeleton is not None:
        known = [skeleton] if isinstance(skeleton, Skeleton) else list(skeleton)
        return label_by_skeletons(recording, known, progress)
    if marker_set == "auto" and (known := _recognised(recording)):
        return _mend(recording, known, progress)
    if marker_set in ("auto", "none"):
        return label_by_motion(recording, progress)
    chosen = set_named(marker_set) if isinstance(marker_set, str) else marker_set
    return label_by_set(recording, chosen.without_fingers(), progress)


def set_named(name: str) -> MarkerSet:
    """Return a set that osteon ships, by its name in any case."""
    by_name = {each.name.lower(): each for each in known_sets()}
    if name.lower() not in by_name:
        raise UnknownName("marker set", name, [each.name for each in known_sets()])
    return by_name[name.lower()]


def cloud_of(take: Take, subject: str | None = None) -> Recording:
    """Return the markers of one person named, or of everybody, as one cloud."""
    everybody = [recording.markers() for recording in take.recordings]
    if subject is not None or len(everybody) < 2:
        return take.recording(subject)
    return together(everybody)


_Worn = tuple[Recording, MarkerSet, dict[str, Landmark]]
"""What somebody's tracks are, the set that their labels are of, and the places it names."""


def _recognised(recording: Recording) -> list[_Worn]:
    """Return everybody, told apart by ``subject:``, whose labels are of a known set."""
    own: dict[str, dict[str, str]] = defaultdict(dict)
    for name in recording.names:
        who, _, label = name.rpartition(":")
        own[who][name] = label
    found = []
    for who, labels in own.items():
        if known := recognise(tuple(labels.values())):
            part = recording.select(list(labels))
            found.append((replace(part, names=tuple(labels.values()), subject=who), *known))
    return found


def _mend(recording: Recording, people: Sequence[_Worn], progress: Progress) -> Labelled:
    """Label anew what has labels of sets that are mostly right: they calibrate the people."""
    skeletons = []
    for part, marker_set, found in people:
        if marker_set.of_hands:
            raise NotEnoughData(
                f"the labels are of hands alone ({marker_set.name}), and markers on fingers are "
                "not labelled by a set: solve the file as it is, or give `marker_set=none` to join "
                "tracks by motion"
            )
        if marker_set.keypoints:
            raise NotEnoughData(
                f"these are keypoints ({marker_set.name}), joint centres whose names the program "
                "gave that found them: solve the file as it is, or give `marker_set=none` to join "
                "tracks by motion"
            )
        progress(Step("set", f"calibrating by the labels of {marker_set.name}"))
        person = calibrate([prepare(part, found)[0]], found).skeleton
        skeletons.append(replace(person, subject=part.subject))
    by = " and ".join(dict.fromkeys(marker_set.name for _, marker_set, _ in people))
    return replace(label_by_skeletons(recording, skeletons, progress), by=by)


@one_thread()
def label_by_skeletons(
    recording: Recording, skeletons: Sequence[Skeleton], progress: Progress = unheard
) -> Labelled:
    """Label the markers of people whose skeletons, with markers on, are known.

    Names that the tracks have are not looked at: places on the bodies decide.
    """
    wearers = [wearer_of(skeleton) for skeleton in skeletons]
    return assembled(follow_known(wearers, cut_pieces(recording), progress), "skeleton")


@one_thread()
def label_by_set(
    recording: Recording, marker_set: MarkerSet, progress: Progress = unheard
) -> Labelled:
    """Label the markers of everybody unknown who wears a known set."""
    standing = cut_pieces(upright(recording, {}))
    crowd = follow_set(marker_set, standing, progress)
    crowd = replace(crowd, pieces=replace(standing, recording=recording))
    known = {label for label, mark in marker_set.markers.items() if mark.at is not None}
    return _with_labels(assembled(crowd, marker_set.name), known)


def _with_labels(found: Labelled, known: set[str]) -> Labelled:
    """Return what is labelled with these labels alone: nothing tells others from each other."""

    def is_known(label: str) -> bool:
        return label.rpartition(":")[2] in known

    pieces = [
        piece if is_known(piece.label) else replace(piece, label="", rival="")
        for piece in found.pieces
    ]
    return replace(
        found,
        recording=found.recording.select(
            [name for name in found.recording.names if is_known(name)]
        ),
        pieces=tuple(pieces),
        people=tuple(_with_labels(each, known) for each in found.people),
    )


@one_thread()
def label_by_motion(recording: Recording, progress: Progress = unheard) -> Labelled:
    """Name the markers of what is not known at all: pieces of one marker under one name.

    The names are ``m01`` and so on, in the order in which the markers are first seen.
    """
    pieces = cut_pieces(recording)
    progress(Step("join", f"joining {len(pieces)} pieces of tracks"))
    number = join_loose_courses(join_by_neighbours(sure_chains(pieces))).number
    length = np.bincount(number, weights=pieces.last - pieces.first + 1)
    shortest = min(GHOST_SECONDS * pieces.recording.rate, recording.n_frames)
    kept = length >= shortest
    place = np.where(kept, np.cumsum(kept) - 1, -1)[number]
    digits = max(2, len(str(int(kept.sum()))))
    names = tuple(f"m{index:0{digits}d}" for index in range(1, int(kept.sum()) + 1))
    told = tuple(
        LabelledPiece(
            names[at] if at >= 0 else "",
            pieces.recording.names[pieces.column[piece]],
            int(pieces.first[piece]),
            int(pieces.last[piece]),
            1.0,
        )
        for piece, at in enumerate(place)
    )
    return Labelled(relabelled(pieces, place, names), told, "motion")


def assembled(crowd: Crowd, by: str) -> Labelled:
    """Return the recording by label, of each person and of all, and how sure each label is."""
    pieces = crowd.pieces
    alone = len(crowd.people) == 1
    names = [""] if alone else _distinct([who.wearer.skeleton.subject for who in crowd.people])
    own = [_of_person(pieces, who, by, name) for who, name in zip(crowd.people, names, strict=True)]
    if alone:
        return own[0]
    told = [_of_crowd(crowd, piece, own) for piece in range(len(pieces))]
    return Labelled(
        together([each.recording for each in own]),
        tuple(told),
        by,
        warnings=tuple(dict.fromkeys(text for each in own for text in each.warnings)),
        people=tuple(_with_own_pieces(each) for each in own),
    )


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names of people that differ; those without one are numbered."""
    return [
        name if name and names.count(name) == 1 else f"{name or 'person'}_{number}"
        for number, name in enumerate(names, 1)
    ]


def _of_person(pieces: Pieces, who: FoundPerson, by: str, name: str) -> Labelled:
    """Return what one person holds; of the other pieces, what they would be on this person."""
    told = tuple(_told(who, pieces, piece) for piece in range(len(pieces)))
    worn = np.unique(who.label[who.label >= 0])
    place = np.full(len(who.wearer.names) + 1, -1)
    place[worn] = np.arange(len(worn))
    names = tuple(who.wearer.names[index] for index in worn)
    recording = relabelled(pieces, np.where(who.label >= 0, place[who.label], -1), names)
    subject = name or recording.subject
    return Labelled(
        replace(recording, subject=subject), told, by, who.wearer.skeleton, who.warnings
    )


def _of_crowd(crowd: Crowd, piece: int, own: Sequence[Labelled]) -> LabelledPiece:
    """Return what a piece is among everybody: its holder's label, the likeliest other as rival."""
    held = [each for each in own if each.pieces[piece].label]
    who = held[0] if held else own[0]
    one, name = who.pieces[piece], who.recording.subject
    rivals = {
        f"{each.recording.subject}:{label}": float(person.odds[piece, at])
        for each, person in zip(own, crowd.people, strict=True)
        for at, label in enumerate(person.wearer.names)
        if person.odds[piece, at] > RIVAL_ODDS
    }
    label = f"{name}:{one.label}" if one.label else ""
    rivals.pop(label, None)
    return replace(one, label=label, rival=max(rivals, key=rivals.__getitem__, default=""))


def _with_own_pieces(one: Labelled) -> Labelled:
    return replace(one, pieces=tuple(piece for piece in one.pieces if piece.label))


def together(recordings: Sequence[Recording]) -> Recording:
    """Return everybody's markers as one recording, under ``subject:name``."""
    first, *_ = recordings
    residuals = [each.residuals for each in recordings if each.residuals is not None]
    return replace(
        first,
        positions=np.concatenate([each.positions for each in recordings], axis=1),
        names=tuple(f"{each.subject}:{name}" for each in recordings for name in each.names),
        subject="",
        residuals=np.concatenate(residuals, axis=1) if len(residuals) == len(recordings) else None,
    )


def _told(who: FoundPerson, pieces: Pieces, piece: int) -> LabelledPiece:
    own, odds, names = int(who.label[piece]), who.odds[piece], who.wearer.names
    order = [int(i) for i in np.argsort(-odds[:-1])[:2] if i != own]
    return LabelledPiece(
        names[own] if own >= 0 else "",
        pieces.recording.names[pieces.column[piece]],
        int(pieces.first[piece]),
        int(pieces.last[piece]),
        float(odds[own]),  # of none, where it has none
        names[order[0]] if order and odds[order[0]] > RIVAL_ODDS else "",
    )
