"""Labels said by hand, on top of those that were found."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from osteon.errors import BadValue, NotEnoughData
from osteon.labelling.label_take import Labelled, LabelledPiece
from osteon.labelling.pieces import Pieces, relabelled
from osteon.values import Recording


class SaidLabel(NamedTuple):
    """What somebody says of a stretch of a track."""

    track: str
    first: int
    last: int
    """Frames, inclusive."""
    label: str
    """Empty: none."""


def relabel(found: Labelled, source: Recording, said: Sequence[SaidLabel]) -> Labelled:
    """Return labels found of a recording ``source``, with what is said by hand of some pieces.

    What is said last counts. A label that is said of one piece is taken from others in the same
    frames: no label is held twice.
    """
    if found.people:
        raise BadValue(
            f"{len(found.people)} people are in these markers; write their labels with "
            "`osteon label`, and open what it writes"
        )
    pieces = list(found.pieces)
    for each in said:
        pieces = _with(pieces, each)
    names = tuple(dict.fromkeys(sorted(p.label for p in pieces if p.label)))
    order = (*(n for n in found.recording.names if n in names), *names)
    names = tuple(dict.fromkeys(order))
    return replace(found, recording=_recording(source, pieces, names), pieces=tuple(pieces))


def _with(pieces: list[LabelledPiece], said: SaidLabel) -> list[LabelledPiece]:
    own = [_is_about(piece, said) for piece in pieces]
    if not any(own):
        raise NotEnoughData(
            f"no piece of the track {said.track!r} lies in frames {said.first} to {said.last}; "
            "label the tracks anew"
        )
    return [
        replace(piece, label=said.label, confidence=1.0, rival="")
        if mine
        else replace(piece, label="", rival=piece.label)
        if said.label and piece.label == said.label and _meets(piece, pieces, own)
        else piece
        for piece, mine in zip(pieces, own, strict=True)
    ]


def _is_about(piece: LabelledPiece, said: SaidLabel) -> bool:
    """Whether a piece lies in the stretch, but for frames at its ends."""
    inside = min(piece.last, said.last) - max(piece.first, said.first) + 1
    return piece.track == said.track and 2 * inside > piece.n_frames


def _meets(piece: LabelledPiece, pieces: list[LabelledPiece], chosen: list[bool]) -> bool:
    """Whether a piece is seen in frames in which one of those chosen is."""
    return any(
        mine and piece.first <= other.last and other.first <= piece.last
        for other, mine in zip(pieces, chosen, strict=True)
    )


def _recording(
    source: Recording, pieces: Sequence[LabelledPiece], names: tuple[str, ...]
) -> Recording:
    source = source.markers()
    column = np.array([source.index(piece.track) for piece in pieces])
    first = np.array([piece.first for piece in pieces])
    last = np.array([piece.last for piece in pieces])
    place = [names.index(piece.label) if piece.label else -1 for piece in pieces]
    return relabelled(Pieces(source, column, first, last), np.array(place), names)
