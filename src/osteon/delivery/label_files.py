"""What ``osteon label`` writes and prints."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from osteon.delivery.beside_markers import beside_markers
from osteon.errors import BadValue
from osteon.formats import FORMATS, write, write_readable
from osteon.labelling import Labelled, LabelledPiece, share_of_samples
from osteon.values import Recording, Take

TOLD_DOUBTS = 8
"""Count of doubtful assignments that are printed. Chosen: a screen; the table has all."""


def labelled_files(files: Sequence[Path], folder: Path) -> list[Path]:
    """Return the files of markers that are written: C3D, and the input's own format if it can be
    written."""
    names = [file.stem for file in files]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise BadValue(
            f"several files are called {twice[0]!r}, and one would be written over the other; "
            "label them one after the other, into different folders"
        )
    return [folder / name for file in files for name in _written_as(file)]


def _written_as(file: Path) -> list[str]:
    ending = file.suffix.lower()
    writers = [form for form in FORMATS if form.write is not None and ending in form.suffixes]
    own = bool(writers) and "markers" in writers[0].holds and ending != ".c3d"
    return [f"{file.stem}.c3d", *([file.name] if own else [])]


def write_labelled(found: Sequence[Labelled], files: Sequence[Path], folder: Path) -> None:
    """Write takes with labels, a table of all assignments beside each, and summary.json."""
    for one, file in zip(found, files, strict=True):
        for name in _written_as(file):
            write(_written(one, file, folder / name), folder / name)
        _write_table(one, folder / f"{file.stem}.labels.csv")
    write_readable(label_summary(found, files), folder / "summary.json")


def _written(one: Labelled, file: Path, target: Path) -> Recording | Take:
    """Return the markers as they are written: of several people each a subject, and with what else
    the file held, in a format that has subjects."""
    if target.suffix != ".c3d":
        return one.recording
    recordings = [person.recording for person in one.people] or [one.recording]
    return beside_markers(recordings, file, target)


def _write_table(one: Labelled, path: Path) -> None:
    lines = ["label,track,first,last,confidence,rival"]
    lines += [
        f"{p.label},{_quoted(p.track)},{p.first},{p.last},{p.confidence:.3f},{p.rival}"
        for p in one.pieces
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n') else text


def label_summary(found: Sequence[Labelled], files: Sequence[Path]) -> dict[str, Any]:
    """Return the facts of a run, as they stand in summary.json."""
    return {
        "takes": {file.name: _facts(one) for one, file in zip(found, files, strict=True)},
        "warnings": [
            text for one in found for text in (*one.recording.source.problems, *one.warnings)
        ],
    }


def _facts(one: Labelled) -> dict[str, Any]:
    return {
        "by": one.by,
        "people": [person.recording.subject for person in one.people],
        "frames": one.recording.n_frames,
        "rate": one.recording.rate,
        "pieces": len(one.pieces),
        "labelled": one.labelled,
        "doubtful": share_of_samples(one.pieces, one.doubtful),
        "left_open": 1.0 - one.labelled,
        "labels": _by_label(one),
        "doubts": [_piece(piece) for piece in one.doubtful],
        "open": [_piece(piece) for piece in one.left_open],
    }


def _by_label(one: Labelled) -> dict[str, dict[str, float]]:
    """Return of each label how much of the take it is seen, and the least sure of its pieces."""
    pieces: dict[str, list[LabelledPiece]] = defaultdict(list)
    for piece in one.pieces:
        pieces[piece.label].append(piece)
    return {
        name: {
            "seen": sum(p.n_frames for p in pieces[name]) / one.recording.n_frames,
            "pieces": len(pieces[name]),
            "least_confidence": min(p.confidence for p in pieces[name]),
        }
        for name in one.recording.names
    }


def _piece(piece: LabelledPiece) -> dict[str, Any]:
    return {
        "label": piece.label,
        "track": piece.track,
        "first": piece.first,
        "last": piece.last,
        "confidence": round(piece.confidence, 3),
        "rival": piece.rival,
    }


def label_text(found: Sequence[Labelled], files: Sequence[Path]) -> str:
    """Tell of each take how much has labels, and what to look at."""
    lines = []
    for one, file in zip(found, files, strict=True):
        names = len(one.recording.names)
        lines.append(
            f"{file.name}: {100.0 * one.labelled:.2f} % of the samples, {len(one.pieces)} pieces, "
            f"under {names} labels by {one.by}; {len(one.left_open)} pieces left open"
        )
        lines += [f"  {_person(each)}" for each in one.people]
        lines += [f"  {sentence}" for sentence in one.warnings]
        lines += [f"  {_doubt(piece)}" for piece in one.doubtful[:TOLD_DOUBTS]]
        if len(one.doubtful) > TOLD_DOUBTS:
            lines.append(
                f"  and {len(one.doubtful) - TOLD_DOUBTS} more: see {file.stem}.labels.csv"
            )
    return "\n".join(lines)


def _person(one: Labelled) -> str:
    names, frames = len(one.recording.names), one.recording.n_frames
    seen = sum(piece.n_frames for piece in one.pieces) / (names * frames) if names else 0.0
    return f"{one.recording.subject}: {names} labels, seen {100.0 * seen:.1f} % of the time"


def _doubt(piece: LabelledPiece) -> str:
    other = f", or {piece.rival}" if piece.rival else ""
    return (
        f"frames {piece.first}–{piece.last}: {piece.label}{other}? "
        f"({100.0 * piece.confidence:.0f} %, track {piece.track})"
    )
