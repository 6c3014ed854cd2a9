"""Recording → the same recording with labels: whose marker each track is, and how surely."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.calibration import calibrate
from osteon.cleaning import prepare
from osteon.errors import NotEnoughData, UnknownName
from osteon.human import Landmark, MarkerSet, known_sets, recognise
from osteon.labelling.courses import sure_chains
from osteon.labelling.first_frame import find_first
from osteon.labelling.following import Following, Holders
from osteon.labelling.marker_set_start import start_with_set
from osteon.labelling.pieces import Pieces, cut_pieces, relabelled
from osteon.labelling.review import PieceOdds, review
from osteon.labelling.rigid_joins import join_by_neighbours
from osteon.labelling.wearer import Wearer, wearer_of
from osteon.threads import one_thread
from osteon.typing import Indices, Progress, Step, unheard
from osteon.values import Recording, Skeleton

DOUBTFUL = 0.9
"""Share: confidence below which an assignment is listed as doubtful. Chosen: one of ten wrong is
worth a look."""

SET_ROUNDS = 2
"""Count of times that a set's wearer is followed. Chosen: the first labels calibrate the second."""
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
    skeleton: Skeleton | None = None,
    marker_set: MarkerSet | str = "auto",
    progress: Progress = unheard,
) -> Labelled:
    """Label a recording's markers, whatever their tracks are called and wherever these break.

    Parameters
    ----------
    skeleton
        Of the person, with markers on, from a solve or a passport: places on the body decide.
    marker_set
        What is worn where the person is not known: a set or its name. ``auto`` takes the set that
        the labels are of, and goes by motion alone, as ``none`` does, where they are of none.
    """
    recording = recording.markers()
    if not recording.seen.any():
        raise NotEnoughData(f"none of the {recording.n_markers} tracks is ever seen")
    if skeleton is not None:
        return label_by_skeleton(recording, skeleton, progress)
    if marker_set == "auto":
        known = recognise(recording.names)
        return (
            label_by_motion(recording, progress)
            if known is None
            else _mend(recording, known[0].without_fingers(), known[1], progress)
        )
    if marker_set == "none":
        return label_by_motion(recording, progress)
    chosen = set_named(marker_set) if isinstance(marker_set, str) else marker_set
    return label_by_set(recording, chosen.without_fingers(), progress)


def set_named(name: str) -> MarkerSet:
    """Return a set that osteon ships, by its name in any case."""
    by_name = {each.name.lower(): each for each in known_sets()}
    if name.lower() not in by_name:
        raise UnknownName("marker set", name, [each.name for each in known_sets()])
    return by_name[name.lower()]


def _mend(
    recording: Recording,
    marker_set: MarkerSet,
    found: dict[str, Landmark],
    progress: Progress,
) -> Labelled:
    """Label anew what has labels of a set that are mostly right: they calibrate the person."""
    progress(Step("set", f"calibrating by the labels of {marker_set.name}"))
    person = calibrate([prepare(recording, found)[0]], found).skeleton
    return replace(label_by_skeleton(recording, person, progress), by=marker_set.name)


@one_thread()
def label_by_skeleton(
    recording: Recording, skeleton: Skeleton, progress: Progress = unheard
) -> Labelled:
    """Label the markers of a person whose skeleton, with markers on, is known.

    Names that the tracks have are not looked at: places on the body decide.
    """
    return _followed(wearer_of(skeleton), cut_pieces(recording), "skeleton", progress)


@one_thread()
def label_by_set(
    recording: Recording, marker_set: MarkerSet, progress: Progress = unheard
) -> Labelled:
    """Label the markers of somebody unknown who wears a known set."""
    pieces = cut_pieces(recording)
    progress(Step("set", f"looking for somebody who wears {marker_set.name}"))
    person = start_with_set(marker_set, pieces)
    wearer = person.completed
    for _ in range(SET_ROUNDS - 1):
        person = person.again(_followed(wearer, pieces, marker_set.name, progress).recording)
        wearer = person.wearer
    found = _followed(wearer, pieces, marker_set.name, progress)
    known = {label for label, mark in marker_set.markers.items() if mark.at is not None}
    return replace(_with_labels(found, known), warnings=person.doubts())


def _with_labels(found: Labelled, known: set[str]) -> Labelled:
    """Return what is labelled with these labels alone: nothing tells others from each other."""
    names = [name for name in found.recording.names if name in known]
    pieces = [
        piece if piece.label in known else replace(piece, label="", rival="")
        for piece in found.pieces
    ]
    return replace(found, recording=found.recording.select(names), pieces=tuple(pieces))


def _followed(wearer: Wearer, pieces: Pieces, by: str, progress: Progress) -> Labelled:
    following, likeness = follow_wearer(wearer, pieces, progress)
    return assembled(wearer, following.holders, likeness, by)


@one_thread()
def label_by_motion(recording: Recording, progress: Progress = unheard) -> Labelled:
    """Name the markers of what is not known at all: pieces of one marker under one name.

    The names are ``m01`` and so on, in the order in which the markers are first seen.
    """
    pieces = cut_pieces(recording)
    progress(Step("join", f"joining {len(pieces)} pieces of tracks"))
    number = join_by_neighbours(sure_chains(pieces)).number
    length = np.bincount(number, weights=pieces.last - pieces.first + 1)
    kept = length >= GHOST_SECONDS * pieces.recording.rate
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


def follow_wearer(
    wearer: Wearer, pieces: Pieces, progress: Progress = unheard
) -> tuple[Following, PieceOdds]:
    """Return the labels of pieces by what is known of who wears them."""
    progress(Step("start", f"looking for a start among {len(pieces)} pieces of tracks"))
    chains = sure_chains(pieces)
    start = find_first(wearer, chains)
    following = Following(wearer, start.holders(chains))
    progress(Step("follow", "labelling"))
    following.both_ways(start.frame, lambda share: progress(Step("follow", "labelling", share)))
    progress(Step("review", "looking at every piece again"))
    return following, review(following)


def assembled(wearer: Wearer, holders: Holders, likeness: PieceOdds, by: str) -> Labelled:
    """Return the recording by label, and how sure each piece's label is."""
    pieces, label = holders.chains.pieces, holders.label
    told = tuple(_told(wearer, pieces, piece, label, likeness) for piece in range(len(pieces)))
    worn = np.unique(label[label >= 0])
    place = np.full(len(wearer.names) + 1, -1)
    place[worn] = np.arange(len(worn))
    names = tuple(wearer.names[index] for index in worn)
    return Labelled(
        relabelled(pieces, np.where(label >= 0, place[label], -1), names),
        told,
        by,
        wearer.skeleton,
    )


def _told(
    wearer: Wearer, pieces: Pieces, piece: int, label: Indices, likeness: PieceOdds
) -> LabelledPiece:
    own, odds = int(label[piece]), likeness.odds[piece]
    order = [int(i) for i in np.argsort(-odds[:-1])[:2] if i != own]
    rival = wearer.names[order[0]] if order and odds[order[0]] > 0.01 else ""
    return LabelledPiece(
        wearer.names[own] if own >= 0 else "",
        pieces.recording.names[pieces.column[piece]],
        int(pieces.first[piece]),
        int(pieces.last[piece]),
        float(odds[own]),  # of none, where it has none
        rival,
    )
