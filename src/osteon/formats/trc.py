"""TRC: marker trajectories as text between tabs.

Written in the strict form that OpenSim demands: eight header entries, tabs only, exact counts,
columns X1 Y1 Z1 X2 … in order, NaN for a missing sample, frames from 1. Read more freely.

A TRC file does not say which axis is up. OpenSim takes y, so y is written, and read unless the
markers clearly stand along another axis; ``source.problems`` says which it was and why.
"""

import re
from pathlib import Path

import numpy as np

from osteon.errors import BadValue, FormatError
from osteon.formats.registry import Format, WriteOptions, side_by_side
from osteon.formats.shared.text_table import (
    by_subject,
    check_frames,
    frame_number,
    number_rows,
    perhaps_cut,
    positive_number,
    read_lines,
    split_cells,
    unique_labels,
    whole_number,
    without_zeros,
)
from osteon.formats.shared.units import METRES, metres_per, stance_of, to_z_up, turn_points
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Recording, Source, Take

KEYS = (
    *("DataRate", "CameraRate", "NumFrames", "NumMarkers", "Units"),
    *("OrigDataRate", "OrigDataStartFrame", "OrigNumFrames"),
)
UNITS = ("mm", "cm", "m")
"""Units that OpenSim knows."""
SPELLINGS = {"meters": "m", "metres": "m", "millimeters": "mm", "millimetres": "mm", "inches": "in"}
COORDINATE = re.compile(r"[XYZxyz]\d*$")


def sniff(head: bytes) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"PathFileType")


def read_trc(path: Path) -> Take:
    lines = read_lines(path)
    header = _header(path, lines)
    n_markers = whole_number(path, header["NumMarkers"], "NumMarkers", "line 3")
    names, renamed = _names(path, lines, n_markers)
    promised = whole_number(path, header["NumFrames"], "NumFrames", "line 3")
    first = _first_row(path, lines)
    table = number_rows(path, lines, first, "\t", 2 + 3 * n_markers, promised)
    counts = check_frames(path, promised, len(table))
    said = positive_number(path, header["DataRate"], "DataRate", "line 3")
    rate, odd_times = _rate(said, table[:, 1])
    unit = _unit(path, header["Units"])
    points = table[:, 2:].reshape(len(table), n_markers, 3)
    points, zeros = without_zeros(points * metres_per(unit))
    up, why = _up(points)
    source = Source(
        file=path.name,
        format="TRC",
        unit=unit,
        up=up,
        first_frame=frame_number(table[0, 0], 1),
        problems=(
            why,
            *counts,
            *renamed,
            *zeros,
            *_odd_frames(table[:, 0]),
            *odd_times,
            *perhaps_cut(lines),
        ),
    )
    positions = turn_points(points, to_z_up(up))
    return Take(recordings=by_subject(Recording(positions, names, rate, source=source)))


def _header(path: Path, lines: list[str]) -> dict[str, str]:
    if len(lines) < 4:
        raise FormatError(path, f"the header has five lines, found {len(lines)}: cut short?")
    keys, values = lines[1].split(), lines[2].split()
    header = dict(zip(keys, values, strict=False))
    missing = [key for key in ("DataRate", "NumFrames", "NumMarkers", "Units") if key not in header]
    if missing:
        raise FormatError(path, f"the header lacks {', '.join(missing)}", "lines 2 and 3")
    return header


def _names(path: Path, lines: list[str], n_markers: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    cells = [cell.strip() for cell in split_cells(lines[3], "\t")]
    names = [cell for cell in cells[2:] if cell]
    if len(names) != n_markers:
        raise FormatError(
            path, f"the header promises {n_markers} markers, found {len(names)} names", "line 4"
        )
    return unique_labels(names)


def _first_row(path: Path, lines: list[str]) -> int:
    """Return where the numbers begin: behind the names, the row X1 Y1 Z1 … and blank lines."""
    for place in range(4, len(lines)):
        cells = lines[place].split()
        if cells and not COORDINATE.match(cells[0]):
            return place
    raise FormatError(path, "the header is there but no frames")


def _unit(path: Path, text: str) -> str:
    unit = SPELLINGS.get(text.lower(), text.lower())
    if unit not in METRES:
        raise FormatError(path, f"unknown unit {text[:40]!r}; known: {', '.join(METRES)}", "line 3")
    return unit


def _up(points: Array) -> tuple[str, str]:
    """Return the upward axis and a sentence about it, from points in the file's own world."""
    stance = stance_of(points)
    judged = None if stance is None else stance.up()
    if judged in (None, "y"):
        return "y", "TRC does not say which axis is up; y assumed, as OpenSim does"
    return judged, f"TRC does not say which axis is up; {judged} judged from how the markers stand"


def _rate(said: float, times: Array) -> tuple[float, tuple[str, ...]]:
    """Return frames per second: as the header says, unless the times tell of quite another rate."""
    if len(times) < 3:
        return said, ()
    step = float(np.median(np.diff(times)))
    if not 0.0 < step < np.inf:
        return said, (f"the times do not increase; {said:g} Hz of DataRate used",)
    # times rounded to milliseconds may be this far off, not further
    if abs(step * said - 1.0) < 0.2:
        return said, ()
    rate = round(1.0 / step, 6)
    if not 0.0 < rate < np.inf:
        return said, (f"the times step by {step:.3g} s; {said:g} Hz of DataRate used",)
    return rate, (f"times step by {step:.6g} s, DataRate says {said:g} Hz: {rate:g} Hz used",)


def _odd_frames(frames: Array) -> tuple[str, ...]:
    if np.all(np.diff(frames) == 1.0):
        return ()
    return ("frame numbers do not count up by one; rows were read as successive frames",)


def write_trc(path: Path, take: Take, options: WriteOptions) -> None:
    recording = side_by_side(take.recordings)
    unit = _unit_to_write(recording.source, options)
    scale = metres_per(unit)
    # from another format the file becomes what OpenSim expects; a TRC file keeps its axes
    up = options.up or (recording.source.up if recording.source.format == "TRC" else "y")
    points = turn_points(recording.positions, quat.inverse(to_z_up(up)))
    # a billionth of a millimetre: below what any reader keeps, and 12.3 stays 12.3
    points = np.round(points / scale, 12 + round(np.log10(scale)))
    n_frames, rate = recording.n_frames, f"{recording.rate:.12g}"
    values = (rate, rate, n_frames, recording.n_markers, unit, rate, 1, n_frames)
    names = "\t\t\t".join(_writable(name) for name in recording.names)
    labels = "\t".join(f"X{i}\tY{i}\tZ{i}" for i in range(1, recording.n_markers + 1))
    times = np.round(np.arange(n_frames) / recording.rate, 9).tolist()
    title = f"{Path(recording.source.file or 'recording').stem}.trc"
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"PathFileType\t4\t(X/Y/Z)\t{title}\n")
        file.write("\t".join(KEYS) + "\n" + "\t".join(map(str, values)) + "\n")
        file.write(f"Frame#\tTime\t{names}\t\t\n\t\t{labels}\n\n")
        rows = points.reshape(n_frames, -1).tolist()
        for frame, (time, row) in enumerate(zip(times, rows, strict=True), 1):
            text = "\t".join(map(repr, row)).replace("nan", "NaN")
            file.write(f"{frame}\t{time!r}\t{text}\n")


def _unit_to_write(source: Source, options: WriteOptions) -> str:
    if options.unit is None:
        return source.unit if source.file and source.unit in UNITS else "mm"
    if options.unit not in UNITS:
        raise BadValue(f"a TRC file is in {', '.join(UNITS)}, not {options.unit!r}")
    return options.unit


def _writable(name: str) -> str:
    if not name.strip() or any(mark in name for mark in "\t\n\r"):
        raise BadValue(f"marker name {name!r} cannot be written to TRC: tabs part its columns")
    return name


TRC = Format(
    name="TRC",
    suffixes=(".trc",),
    sniff=sniff,
    read=read_trc,
    write=write_trc,
    holds=frozenset({"markers"}),
)
