"""Keypoints as tables: one row per frame (``nose_x,nose_y,nose_z,…``) or one per sample.

Both are what FreeMoCap writes: ``*_3d_xyz.csv`` and ``*_by_trajectory.csv`` are of the first kind,
``*_by_frame.csv`` (frame, timestamp, model, keypoint, x, y, z) of the second. Anipose and Pose2Sim
write the first kind too, and so does DeepLabCut, with headings in rows: scorer, individuals where
there are several, bodyparts, coords. Empty cells are gaps; columns of other things are passed over.
"""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from osteon.errors import FormatError
from osteon.formats.keypoint_files.points_of_people import PeoplePoints, take_of
from osteon.formats.plain_csv import COLUMNS, MOST_SPARSITY
from osteon.formats.registry import Format
from osteon.formats.shared.text_table import numbers, perhaps_cut, read_lines
from osteon.typing import Array
from osteon.values import Take

COORDINATE = re.compile(r"(.+)[_. ]([xyz])", re.IGNORECASE)
FEWEST_POINTS = 3
"""Count of points whose three columns make a table one of keypoints; chosen: fewer show nobody."""
HEADINGS = ("scorer", "individuals", "bodyparts", "coords")
"""First cells of DeepLabCut's rows of headings, defined by it."""
SAMPLE_COLUMNS = ("frame", "keypoint", "x", "y", "z")
FACE_MODELS = re.compile("face", re.IGNORECASE)
TIME_COLUMNS = ("time", "timestamp")


def sniff(head: bytes) -> bool:
    text = head.decode("utf-8", "replace").lstrip("\ufeff")
    first = next((line for line in text.splitlines() if line.strip()), "")
    cells = _cells(first)
    if ",".join(cells).lower() in COLUMNS.values():
        return False
    in_rows = cells[0].lower() == HEADINGS[0]
    return in_rows or _is_samples(cells) or len(_points(cells)) >= FEWEST_POINTS


def _cells(line: str) -> list[str]:
    return [cell.strip().strip('"') for cell in line.split(",")]


def _is_samples(cells: list[str]) -> bool:
    return set(SAMPLE_COLUMNS) <= {cell.lower() for cell in cells}


def _points(cells: list[str]) -> dict[str, list[int]]:
    """Point → its columns x, y, z, where all three are there."""
    found: dict[str, dict[str, int]] = {}
    for column, cell in enumerate(cells):
        if match := COORDINATE.fullmatch(cell):
            found.setdefault(match[1], {})[match[2].lower()] = column
    return {name: [own[i] for i in "xyz"] for name, own in found.items() if len(own) == 3}


def read_keypoint_csv(path: Path) -> Take:
    lines = read_lines(path)
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    headings, rows = _headings(path, [line for line in lines[first:] if line.strip()])
    if not rows:
        raise FormatError(path, "holds a header but no frames")
    people = []
    for subject, cells in headings.items():
        of_one = _from_samples if _is_samples(cells) else _wide
        person = of_one(path, cells, rows)
        problems = (*person.problems, *perhaps_cut(lines))
        people.append(replace(person, subject=subject, problems=problems))
    return take_of(path, people, "keypoint CSV")


def _headings(path: Path, lines: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Subject → the heading of each column, empty over others' columns; and the rows of numbers."""
    first = _cells(lines[0])
    if first[0].lower() != HEADINGS[0]:
        return {"": first}, lines[1:]
    head = {own[0].lower(): own[1:] for own in map(_cells, lines[:4]) if own[0].lower() in HEADINGS}
    parts, axes = head.get("bodyparts", []), head.get("coords", [])
    who = head.get("individuals", [""] * len(parts))
    if not len(parts) == len(axes) == len(who):
        raise FormatError(path, "its rows of headings, scorer, bodyparts and coords, do not match")
    if "z" not in axes:
        raise FormatError(
            path,
            "holds points as one camera sees them (x and y, no z): triangulate them first, "
            "with DeepLabCut's own 3D or Anipose",
        )
    columns = [f"{part}_{axis}" for part, axis in zip(parts, axes, strict=True)]
    return {
        one: ["", *(cell if own == one else "" for cell, own in zip(columns, who, strict=True))]
        for one in dict.fromkeys(who)
    }, lines[len(head) :]


def _wide(path: Path, cells: list[str], rows: list[str]) -> PeoplePoints:
    """One row per frame."""
    points = {name: own for name, own in _points(cells).items() if not FACE_MODELS.search(name)}
    times = [c for c, cell in enumerate(cells) if cell.lower() in TIME_COLUMNS]
    columns = [column for own in points.values() for column in own]
    values = _numbers(path, rows, len(cells), [*columns, *times[:1]])
    names = tuple(name.removeprefix("body_") for name in points)
    shaped = values[:, : len(columns)].reshape(len(rows), len(names), 3)
    left = len(_points(cells)) - len(points)
    told = (f"{left} points of the face were left out",) if left else ()
    rate = _rate(values[:, -1]) if times else None
    return PeoplePoints(shaped, names, rate, problems=told)


def _numbers(path: Path, rows: list[str], width: int, columns: list[int]) -> Array:
    """(n_rows, n_columns) of some columns; NaN where empty."""
    values = np.empty((len(rows), len(columns)))
    for place, row in enumerate(rows):
        cells = row.split(",")
        if len(cells) != width:
            raise FormatError(
                path, f"row {place + 1} has {len(cells)} cells, expected {width}: cut short?"
            )
        try:
            values[place] = numbers([cells[column] for column in columns])
        except ValueError:
            raise FormatError(path, f"row {place + 1} holds what is no number") from None
    return values


def _from_samples(path: Path, cells: list[str], rows: list[str]) -> PeoplePoints:
    """One row per sample."""
    order = [cell.lower() for cell in cells]
    # FreeMoCap's times by camera are a dictionary with commas of their own
    parts = [_split(row, len(order)) for row in rows]
    if any(len(part) != len(order) for part in parts):
        raise FormatError(path, f"rows must have {len(order)} cells as the header has: cut short?")
    columns = {name: [part[order.index(name)] for part in parts] for name in order}
    face = [bool(FACE_MODELS.search(model)) for model in columns.get("model", [""] * len(parts))]
    kept = [row for row, is_face in enumerate(face) if not is_face]
    if not kept:
        raise FormatError(path, "holds points of a face and no others")
    try:
        frames = np.array([int(columns["frame"][row]) for row in kept])
        values = np.array([numbers([columns[i][row] for row in kept]) for i in "xyz"]).T
    except (ValueError, OverflowError):
        raise FormatError(path, "frame, x, y and z must be numbers in every row") from None
    names = [_sample_name(columns, row) for row in kept]
    table, known = _table(path, frames, names, values)
    told = (f"{sum(face)} samples of the face were left out",) if any(face) else ()
    return PeoplePoints(table, known, _rate_of_samples(columns, kept, frames), problems=told)


def _split(row: str, width: int) -> list[str]:
    if row.count(",") >= width and "{" in row:
        row = re.sub(r"\{[^{}]*\}", "", row)
    return _cells(row)


def _sample_name(columns: dict[str, list[str]], row: int) -> str:
    """A hand's points have the names of no body's: they say whose hand it is."""
    name, model = columns["keypoint"][row], columns.get("model", [""] * (row + 1))[row]
    hand = re.search(r"(left|right)_hand", model)
    return f"{hand[0]}_{name}" if hand and not name.startswith(hand[0]) else name


def _table(
    path: Path, frames: np.ndarray, names: list[str], values: Array
) -> tuple[Array, tuple[str, ...]]:
    known = tuple(dict.fromkeys(names))
    first, n_frames = int(frames.min()), int(frames.max() - frames.min()) + 1
    if n_frames * len(known) > MOST_SPARSITY * len(names):
        raise FormatError(path, f"frames go up to {frames.max()}, but there are {len(names)} rows")
    place = {name: column for column, name in enumerate(known)}
    table = np.full((n_frames, len(known), 3), np.nan)
    table[frames - first, [place[name] for name in names]] = values
    return table, known


def _rate_of_samples(
    columns: dict[str, list[str]], kept: list[int], frames: np.ndarray
) -> float | None:
    if "timestamp" not in columns:
        return None
    try:
        times = np.array(numbers([columns["timestamp"][row] for row in kept]))
    except ValueError:
        return None
    order, where = np.unique(frames, return_index=True)
    return _rate(times[where]) if len(order) > 1 else None


def _rate(times: Array) -> float | None:
    """Hz, where times in seconds increase: by the whole span, for single steps are rounded; a whole
    number where the rounding leaves that open."""
    steps = np.diff(times)
    step = float(np.median(steps)) if len(steps) and np.isfinite(steps).all() else 0.0
    if not 1e-4 < step < 10.0:
        return None
    passed, span = np.rint(steps / step), float(times[-1] - times[0])
    if passed.sum() < 1.0 or span <= 0.0:
        return None
    rate = float(passed.sum()) / span
    rounding = float(np.abs(steps - passed / rate).max()) / span
    whole = max(1.0, float(round(rate)))
    return whole if abs(rate / whole - 1.0) <= rounding else round(rate, 6)


KEYPOINT_CSV = Format(
    name="keypoint CSV",
    suffixes=(".csv",),
    sniff=sniff,
    read=read_keypoint_csv,
    holds=frozenset({"markers"}),
)
