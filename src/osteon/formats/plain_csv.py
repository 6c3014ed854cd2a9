"""Plain CSV, one row per sample: the format any program can write by hand.

    # rate=120
    frame,marker,x,y,z              or  frame,body,x,y,z,qw,qx,qy,qz
    0,LASI,0.102,0.331,0.954

Frames from 0; a missing sample is a missing row, so a marker never seen is not there. More entries
may stand above the header: ``# unit=mm`` (else metres), ``# up=y`` (else z) and ``# frames=500``
where the take is longer than its last sample. ``# output=LHipAngles``, anywhere, says that a name
is no marker but a result of other software.

And limb lengths measured by hand, as ``--measured`` takes them: rows of ``limb,cm``, where cm may
be m, cm, mm or in.
"""

import csv
import re
from pathlib import Path

import numpy as np

from osteon.errors import BadValue, FormatError
from osteon.formats.registry import (
    Format,
    WriteOptions,
    side_by_side,
    without_restated,
)
from osteon.formats.shared.text_table import (
    by_subject,
    perhaps_cut,
    positive_number,
    read_lines,
    whole_number,
    without_zeros,
)
from osteon.formats.shared.units import (
    METRES,
    TO_Z_UP,
    metres_per,
    to_z_up,
    turn_points,
    turn_rotations,
)
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Bodies, Recording, Source, Take

COLUMNS = {"marker": "frame,marker,x,y,z", "body": "frame,body,x,y,z,qw,qx,qy,qz"}
ENTRY = re.compile(r"#\s*(\w+)\s*=\s*(\S+)")
OUTPUT = re.compile(r"#\s*output\s*=\s*(\S.*)")
DEFAULT_RATE = 100.0
"""Frames per second where the file does not say; chosen: a usual one, and the user is told."""
MOST_SPARSITY = 1000
"""Count of empty cells per row that a table may have before its frame numbers are taken as wrong;
chosen: a wrong one makes a table of any size."""


def sniff(head: bytes) -> bool:
    lines = [line.strip() for line in head.decode("utf-8", "replace").lstrip("\ufeff").splitlines()]
    header = next((line for line in lines if line and not line.startswith("#")), "")
    return header.replace(" ", "") in COLUMNS.values()


def read_plain_csv(path: Path) -> Take:
    # spreadsheets fill every row up with commas, remarks too
    lines = [line.rstrip(",") if line[:1] == "#" else line for line in read_lines(path)]
    start = next(
        (i for i, line in enumerate(lines) if line.replace(" ", "") in COLUMNS.values()), None
    )
    if start is None:
        raise FormatError(path, "the header is not among the first lines")
    matches = [match for match in map(ENTRY.match, lines[:start]) if match]
    entries: dict[str, str] = {match[1]: match[2] for match in matches}
    rate = positive_number(path, entries.get("rate", str(DEFAULT_RATE)), "rate")
    up = entries.get("up", "z")
    if up not in TO_Z_UP:
        raise FormatError(path, f"up must be x, y or z, got {up!r}")
    unit = entries.get("unit", "m")
    if unit not in METRES:
        raise FormatError(path, f"unit must be one of {', '.join(METRES)}, got {unit!r}")
    kind = lines[start].replace(" ", "").split(",")[1]
    frames, names, values = _rows(path, lines, start + 1, 3 if kind == "marker" else 7)
    least = whole_number(path, entries.get("frames", "0"), "frames")
    table = _table(path, frames, names, values, max(max(frames) + 1, least))
    # a body may well lie at the origin; a marker that does was not seen
    points, zeros = without_zeros(table[..., :3]) if kind == "marker" else (table[..., :3], ())
    assumed = f"no '# rate=' line; {DEFAULT_RATE:g} frames per second assumed"
    source = Source(
        file=path.name,
        format="CSV",
        detail={"marker": "markers", "body": "bodies"}[kind],
        unit=unit,
        up=up,
        up_known="up" in entries,
        problems=(*(() if "rate" in entries else (assumed,)), *zeros, *perhaps_cut(lines)),
    )
    order, turn = tuple(dict.fromkeys(names)), to_z_up(up)
    positions = turn_points(points * METRES[unit], turn)
    if kind == "marker":
        remarks = [line for line in lines if line.startswith("#")]
        said = {match[1].rstrip() for match in map(OUTPUT.match, remarks) if match}
        outputs = frozenset(said.intersection(order))
        recording = Recording(positions, order, rate, outputs=outputs, source=source)
        return Take(recordings=by_subject(recording))
    rotations = turn_rotations(table[..., 3:], turn)
    return Take(bodies=(Bodies(positions, rotations, order, rate, source=source),))


def _rows(
    path: Path, lines: list[str], start: int, n_values: int
) -> tuple[list[int], list[str], Array]:
    """Return frame, name and values of every row."""
    places = [i for i in range(start, len(lines)) if lines[i].strip() and lines[i][0] != "#"]
    if not places:
        raise FormatError(path, "holds a header but no samples")
    width = n_values + 2
    try:
        cells = _cells([lines[place] for place in places], width)
        frames = list(map(int, cells[::width]))
        columns = [list(map(float, cells[i::width])) for i in range(2, width)]
    except (ValueError, csv.Error):
        raise _bad_row(path, lines, places, width) from None
    if min(frames) < 0:
        raise FormatError(path, f"frames are numbered from 0, got {min(frames)}")
    return frames, list(map(str.strip, cells[1::width])), np.array(columns).T


def _cells(rows: list[str], width: int) -> list[str]:
    """Return the cells of all rows in one list: a loop over rows would take most of the time."""
    if any('"' in row for row in rows):
        rows_of_cells = [next(csv.reader([row])) for row in rows]
        if any(len(cells) != width for cells in rows_of_cells):
            raise ValueError
        return [cell for cells in rows_of_cells for cell in cells]
    if any(row.count(",") != width - 1 for row in rows):
        raise ValueError
    return ",".join(rows).split(",")


def _bad_row(path: Path, lines: list[str], places: list[int], width: int) -> FormatError:
    """Return the complaint about the first row that is wrong."""
    place = next((place for place in places if not _is_good(lines[place], width)), places[-1])
    problem = f"expected frame, name and {width - 2} numbers, got {lines[place][:60]!r}"
    return FormatError(path, problem, f"line {place + 1}")


def _is_good(row: str, width: int) -> bool:
    try:
        frame, _, *values = _cells([row], width)
        return len([int(frame), *map(float, values)]) == width - 1
    except (ValueError, csv.Error):
        return False


def _table(
    path: Path, frames: list[int], names: list[str], values: Array, n_frames: int
) -> np.ndarray:
    """Return rows as (n_frames, n_names, n_values), NaN where there was no row."""
    order = {name: column for column, name in enumerate(dict.fromkeys(names))}
    if n_frames * len(order) > MOST_SPARSITY * len(frames):
        raise FormatError(
            path, f"frame {n_frames - 1} is far beyond what {len(frames)} rows can fill"
        )
    cells = np.array(frames) * len(order) + np.array([order[name] for name in names])
    _, once = np.unique(cells, return_index=True)
    if len(once) != len(cells):
        first = int(np.setdiff1d(np.arange(len(cells)), once)[0])
        raise FormatError(path, f"frame {frames[first]} has two rows for {names[first]!r}")
    table = np.full((n_frames * len(order), values.shape[1]), np.nan)
    table[cells] = values
    return table.reshape(n_frames, len(order), -1)


def write_plain_csv(path: Path, take: Take, options: WriteOptions) -> None:
    """Coordinates stay as the source file had them, and the file says which axis is up."""
    unit = options.unit or "m"
    take = without_restated(take)
    if take.recordings and take.bodies:
        raise BadValue("plain CSV stores markers or bodies, not both; keep one (`only`)")
    value = side_by_side(take.recordings) if take.recordings else side_by_side(take.bodies)
    up = options.up or value.source.up
    turn = quat.inverse(to_z_up(up))
    columns = [turn_points(value.positions, turn) / metres_per(unit)]
    if isinstance(value, Bodies):
        columns.append(turn_rotations(value.rotations, turn))
    seen = value.seen
    if not seen.any():
        raise BadValue("plain CSV cannot store a take in which nothing is ever seen")
    names = [_quote(name) for name in value.names]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"# rate={value.rate:.17g}\n")
        file.write(f"# unit={unit}\n" if unit != "m" else "")
        file.write(f"# up={up}\n" if up != "z" else "")
        file.write(f"# frames={value.n_frames}\n" if not seen[-1].any() else "")
        file.write(COLUMNS["body" if isinstance(value, Bodies) else "marker"] + "\n")
        if isinstance(value, Recording):
            file.writelines(f"# output={name}\n" for name in value.names if name in value.outputs)
        table = np.concatenate(columns, axis=-1).tolist()
        for frame, (row, there) in enumerate(zip(table, seen.tolist(), strict=True)):
            file.writelines(
                f"{frame},{name},{','.join(map(repr, numbers))}\n"
                for name, numbers, known in zip(names, row, there, strict=True)
                if known
            )


def _quote(name: str) -> str:
    if "\n" in name or "\r" in name:
        raise BadValue(f"name {name!r} cannot be written to CSV: it has more than one line")
    return '"' + name.replace('"', '""') + '"' if '"' in name or "," in name else name


PLAIN_CSV = Format(
    name="plain CSV",
    suffixes=(".csv",),
    sniff=sniff,
    read=read_plain_csv,
    write=write_plain_csv,
    holds=frozenset({"markers", "bodies"}),
    along=frozenset({"outputs"}),
)


def read_measured(path: Path) -> dict[str, float]:
    """Return limb name → length in metres."""
    try:
        rows = list(csv.reader(read_lines(path)))
    except (OSError, csv.Error) as error:
        raise FormatError(path, "cannot be read as text") from error
    rows = [[cell.strip() for cell in row] for row in rows if row and not row[0].startswith("#")]
    if not rows or len(rows[0]) != 2 or rows[0][0] != "limb" or rows[0][1] not in METRES:
        raise FormatError(path, "must begin with the line limb,cm (or m, mm, in)", "line 1")
    lengths = {}
    for number, row in enumerate(rows[1:], 2):
        try:
            name, value = row[0], float(row[1])
        except (ValueError, IndexError):
            value, name = np.nan, ""
        if not (np.isfinite(value) and value > 0.0):
            raise FormatError(
                path, f"expected a limb and its length, got {','.join(row)!r}", f"row {number}"
            )
        lengths[name] = value * METRES[rows[0][1]]
    return lengths
