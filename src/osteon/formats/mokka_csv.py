"""Mokka's CSV, the text that the Biomechanical ToolKit exports.

Four lines of counts and rates, then blocks between blank lines: events by label, points (a label
over three columns, a row of units, a row per frame) and analog channels. Times count from frame 1
of the trial, samples that were not seen are 0. Which axis is up is not said.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.errors import FormatError, WrongContent
from osteon.formats.registry import Format
from osteon.formats.shared.text_table import (
    by_subject,
    check_frames,
    number_or_nan,
    number_rows,
    perhaps_cut,
    positive_number,
    read_lines,
    unique_labels,
    whole_number,
    without_zeros,
)
from osteon.formats.shared.units import METRES, stance_of, to_z_up, turn_points
from osteon.typing import Array
from osteon.values import Analog, Mark, Recording, Source, Take

KEYS = ("Frame number", "First frame", "Point frequency", "Analog frequency")
CONTEXTS = ("Left", "Right", "General")


@dataclass(frozen=True)
class MokkaTable:
    """A table below a line of names and one of units."""

    names: list[str]
    units: list[str]
    rows: tuple[int, int]
    """First line of numbers, and the line behind the last."""
    is_points: bool


def sniff(head: bytes) -> bool:
    lines = head.removeprefix(b"\xef\xbb\xbf").splitlines()[:2]
    return len(lines) == 2 and all(
        line.startswith(key.encode()) for line, key in zip(lines, KEYS, strict=False)
    )


def read_mokka_csv(path: Path) -> Take:
    lines = read_lines(path)
    mark = lines[0][len(KEYS[0]) : len(KEYS[0]) + 1] or ","
    told = _header(path, lines, mark)
    rate = positive_number(path, told["Point frequency"], "Point frequency", "line 3")
    promised = whole_number(path, told["Frame number"], "Frame number", "line 1")
    first = whole_number(path, told["First frame"], "First frame", "line 2")
    blocks = _blocks(lines, mark)
    points = [block for block in blocks if block.is_points]
    if not points:
        raise WrongContent(path, "holds no points: a row 'Time' with a label over three columns")
    tables = [_table(path, lines, block, mark) for block in points]
    counts = check_frames(path, promised, min(map(len, tables)))
    length = min(map(len, tables))
    together = np.concatenate([table[:length, 1:] for table in tables], axis=1)
    labels = [name for block in points for name in block.names]
    units = [unit for block in points for unit in block.units]
    unit = next((each for each in units if each in METRES), "mm")
    names, renamed = unique_labels(labels)
    positions, zeros = without_zeros(METRES[unit] * together.reshape(length, -1, 3))
    outputs = frozenset(n for n, each in zip(names, units, strict=True) if each not in METRES)
    stance = stance_of(positions[:, [name not in outputs for name in names]])
    up = (stance.up() if stance else None) or "z"
    said = f"Mokka does not say which axis is up; {up} judged from how the markers stand"
    source = Source(
        file=path.name,
        format="Mokka CSV",
        software="Mokka",
        unit=unit,
        up=up,
        first_frame=first,
        problems=(said, *counts, *renamed, *zeros, *perhaps_cut(lines)),
    )
    recording = Recording(
        turn_points(positions, to_z_up(up)),
        names,
        rate,
        outputs=outputs,
        marks=_marks(lines, mark, (max(first, 1) - 1) / rate),
        analog=_analog(path, lines, blocks, mark, told.get("Analog frequency", "")),
        source=source,
    )
    return Take(recordings=by_subject(recording))


def _header(path: Path, lines: list[str], mark: str) -> dict[str, str]:
    found = dict(line.split(mark)[:2] for line in lines[:4] if mark in line)
    missing = [key for key in KEYS[:3] if key not in found]
    if missing:
        raise FormatError(path, f"the header lacks {', '.join(missing)}", "lines 1 to 4")
    return found


def _blocks(lines: list[str], mark: str) -> list[MokkaTable]:
    found, place = [], 0
    while place < len(lines):
        if not lines[place].startswith("Time" + mark) or place + 1 >= len(lines):
            place += 1
            continue
        names = [cell.strip() for cell in lines[place].split(mark)]
        units = [cell.strip() for cell in lines[place + 1].split(mark)]
        end = place + 2
        while end < len(lines) and lines[end].strip():
            end += 1
        is_points = len(names) > 2 and not names[2]
        step = 3 if is_points else 1
        own = (names[1::step], (units + [""] * len(names))[1 : len(names) : step])
        found.append(MokkaTable(*own, (place + 2, end), is_points))
        place = end
    return found


def _table(path: Path, lines: list[str], block: MokkaTable, mark: str) -> Array:
    first, end = block.rows
    width = 1 + len(block.names) * (3 if block.is_points else 1)
    return number_rows(path, lines[:end], first, mark, width)


def _marks(lines: list[str], mark: str, start: float) -> tuple[Mark, ...]:
    """Events stand behind the header: a label and its times, the side before an underscore."""
    found = []
    for line in lines[4:]:
        if line.startswith("Time" + mark):
            break
        label, *times = line.split(mark)
        side, _, rest = label.partition("_")
        context, name = (side, rest) if side in CONTEXTS and rest else ("", label)
        told = [number_or_nan(time) for time in times]
        found += [Mark(name.strip(), time - start, context) for time in told if np.isfinite(time)]
    return tuple(sorted(found, key=lambda each: each.time))


def _analog(
    path: Path, lines: list[str], blocks: list[MokkaTable], mark: str, said: str
) -> Analog | None:
    block = next((each for each in blocks if not each.is_points), None)
    if block is None:
        return None
    rate = positive_number(path, said, "Analog frequency", "line 4")
    table = _table(path, lines, block, mark)
    return Analog(table[:, 1:], tuple(block.names), tuple(block.units), rate)


MOKKA_CSV = Format(
    name="Mokka CSV",
    suffixes=(".csv",),
    sniff=sniff,
    read=read_mokka_csv,
    holds=frozenset({"markers"}),
)
