"""OptiTrack Motive CSV, format versions 1.1 to 1.25 (Motive 1 to 3).

The first line says rate, unit and rotation type; header rows (type, name, ID, in Motive 3 also
parent, then rotation or position, then axis) say what each column is. y up, quaternions x y z w,
blank = missing. Bones and rigid bodies become Bodies. Of the markers, those that cameras saw
(type ``Marker``) are preferred to those that Motive computed from a body's pose.
"""

import csv
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

from osteon.errors import FormatError, WrongContent
from osteon.formats.registry import Format
from osteon.formats.shared.text_table import (
    check_frames,
    frame_number,
    number_rows,
    perhaps_cut,
    positive_number,
    read_lines,
    unique_labels,
)
from osteon.formats.shared.units import metres_per, to_z_up, turn_points, turn_rotations
from osteon.typing import Array
from osteon.values import Bodies, Recording, Source, Take

UNITS = {"meters": "m", "centimeters": "cm", "millimeters": "mm", "inches": "in", "feet": "ft"}
BODY_TYPES = ("Bone", "Rigid Body")
SOLVED_TYPES = ("Bone Marker", "Rigid Body Marker", "Trained Markerset Marker")
HEADER_LINES = 20
"""Count of lines in which ``Frame, Time`` must stand; chosen: more than Motive 1 to 3 write."""


@dataclass(frozen=True)
class Column:
    """What the header rows say of one column."""

    kind: str
    name: str
    quantity: str
    axis: str


def sniff(head: bytes) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").startswith(b"Format Version,")


def read_motive_csv(path: Path) -> Take:
    lines = read_lines(path)
    cells = [cell.strip() for cell in _cells(lines[0])]
    header = dict(zip(cells[::2], cells[1::2], strict=False))
    rate = header.get("Export Frame Rate") or header.get("Capture Frame Rate") or "absent"
    rate = positive_number(path, rate, "the frame rate", "line 1")
    columns, first = _columns(path, lines)
    lines, promised = _without_timecode(lines, first, columns), _count_promised(header)
    table = number_rows(path, lines, first, ",", len(columns), promised)
    counts = check_frames(path, len(table) if promised is None else promised, len(table))
    measured = any(column.kind == "Marker" for column in columns)
    kinds = ("Marker",) if measured else SOLVED_TYPES
    source = Source(
        file=path.name,
        format="Motive CSV",
        detail=f"version {header.get('Format Version', '?')}",
        software="OptiTrack Motive",
        unit=_unit(path, header),
        up="y",
        up_known=True,
        first_frame=frame_number(table[0, 0], 0),
        problems=(*counts, *_solved_note(columns, kinds), *perhaps_cut(lines)),
    )
    bodies = _bodies(path, header, columns, table, rate, source)
    recordings = _recordings(columns, table, kinds, rate, source, {b.subject for b in bodies})
    if not bodies and not recordings:
        raise WrongContent(path, "has neither markers nor rigid bodies nor bones among its columns")
    return Take(recordings=recordings, bodies=bodies)


def _cells(line: str) -> list[str]:
    return next(csv.reader([line]), [])


def _unit(path: Path, header: dict[str, str]) -> str:
    text = header.get("Length Units", "Meters")
    if text.lower() not in UNITS:
        raise FormatError(path, f"unknown length unit {text[:40]!r}", "line 1")
    return UNITS[text.lower()]


def _columns(path: Path, lines: list[str]) -> tuple[list[Column], int]:
    """Return what each column holds, and the line where the numbers begin."""
    starts = [line.lower().startswith("frame,time") for line in lines[:HEADER_LINES]]
    if not any(starts):
        raise FormatError(path, f"no row 'Frame,Time …' in the first {HEADER_LINES} lines")
    place = starts.index(True)
    axes = _cells(lines[place])
    while axes and not axes[-1].strip():  # spreadsheets leave empty cells behind
        axes.pop()
    rows = [row for row in map(_cells, lines[1:place]) if any(cell.strip() for cell in row)]
    if len(rows) < 3 or any(len(row) < len(axes) for row in (rows[0], rows[1], rows[-1])):
        raise FormatError(path, "expected rows of type, name and quantity above 'Frame'", "line 3")
    kinds, names, quantities = rows[0], rows[1], rows[-1]
    columns = [
        Column(*(text.strip() for text in cells))
        for cells in zip(kinds, names, quantities, axes, strict=False)
    ]
    return columns, place + 1


def _without_timecode(lines: list[str], first: int, columns: list[Column]) -> list[str]:
    """Return lines whose time code, which is no number, is left blank."""
    codes = [i for i, column in enumerate(columns) if column.axis.lower() == "timecode"]
    if not codes:
        return lines
    rows = [line.split(",") for line in lines[first:]]
    for row in rows:
        for code in codes[: bisect_left(codes, len(row))]:
            row[code] = ""
    return [*lines[:first], *(",".join(row) for row in rows)]


def _count_promised(header: dict[str, str]) -> int | None:
    """Return how many frames the header speaks of; older versions do not say."""
    text = header.get("Total Exported Frames", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _solved_note(columns: list[Column], kinds: tuple[str, ...]) -> tuple[str, ...]:
    left_out = {column.name for column in columns if column.kind in SOLVED_TYPES}
    if left_out and kinds == SOLVED_TYPES:
        return ("markers were computed by Motive from the bodies' poses, not measured",)
    if left_out:
        return (f"left out {len(left_out)} markers that Motive computed from the bodies' poses",)
    return ()


def _split(name: str) -> tuple[str, str]:
    """Return subject and own name of ``763:Head``."""
    subject, mark, own = name.partition(":")
    return (subject, own) if mark and own else ("", name)


def _places(
    columns: list[Column], kinds: tuple[str, ...], quantity: str, axes: str
) -> dict[str, list[int]]:
    """Return column numbers of each named thing, one per axis."""
    groups: list[tuple[str, dict[str, int]]] = []
    for place, column in enumerate(columns):
        if column.kind not in kinds or column.quantity != quantity or column.axis not in axes:
            continue
        if not groups or groups[-1][0] != column.name or column.axis in groups[-1][1]:
            groups.append((column.name, {}))
        groups[-1][1][column.axis] = place
    whole = [(name, found) for name, found in groups if len(found) == len(axes)]
    names, _ = unique_labels([name for name, _ in whole])
    return {
        name: [found[axis] for axis in axes] for name, (_, found) in zip(names, whole, strict=True)
    }


def _bodies(
    path: Path,
    header: dict[str, str],
    columns: list[Column],
    table: Array,
    rate: float,
    source: Source,
) -> tuple[Bodies, ...]:
    positions = _places(columns, BODY_TYPES, "Position", "XYZ")
    rotations = _places(columns, BODY_TYPES, "Rotation", "WXYZ")
    if not positions:
        return ()
    names = [name for name in positions if name in rotations]
    rotation_type = header.get("Rotation Type", "Quaternion")
    if rotation_type != "Quaternion" or not names:
        raise WrongContent(
            path, f"rotations are {rotation_type!r}; export again with Rotation Type Quaternion"
        )
    if header.get("Coordinate Space", "Global") != "Global":
        raise WrongContent(path, "bones are relative to their parents; export in Global space")
    subjects: dict[str, list[str]] = {}
    for name in names:
        subjects.setdefault(_split(name)[0], []).append(name)
    turn = to_z_up("y")
    made = []
    for subject, members in subjects.items():
        points = table[:, [positions[name] for name in members]] * metres_per(source.unit)
        turns = table[:, [rotations[name] for name in members]]
        made.append(
            Bodies(
                turn_points(points, turn),
                turn_rotations(turns, turn),
                tuple(_split(name)[1] for name in members),
                rate,
                subject=subject,
                source=source,
            )
        )
    return tuple(made)


def _recordings(
    columns: list[Column],
    table: Array,
    kinds: tuple[str, ...],
    rate: float,
    source: Source,
    known_subjects: set[str],
) -> tuple[Recording, ...]:
    places = _places(columns, kinds, "Position", "XYZ")
    prefixes = {_split(name)[0] for name in places if not name.startswith("Unlabeled")}
    # a prefix is a subject where bones bear it or all markers do; else it is a rigid body's name
    subjects = (prefixes & known_subjects) - {""} or (prefixes if len(prefixes) == 1 else set())
    groups: dict[str, list[str]] = {}
    for name in places:
        subject = _split(name)[0]
        lone = next(iter(subjects)) if len(subjects) == 1 else ""
        groups.setdefault(subject if subject in subjects else lone, []).append(name)
    made = []
    for subject, members in groups.items():
        points = table[:, [places[name] for name in members]] * metres_per(source.unit)
        own = [name.removeprefix(f"{subject}:") if subject else name for name in members]
        names, _ = unique_labels(own)
        positions = turn_points(points, to_z_up("y"))
        made.append(Recording(positions, names, rate, subject=subject, source=source))
    return tuple(made)


MOTIVE_CSV = Format(
    name="Motive CSV",
    suffixes=(".csv",),
    sniff=sniff,
    read=read_motive_csv,
    holds=frozenset({"markers", "bodies"}),
)
