"""Plain CSV, one row per sample: the format any program can write by hand.

    # rate=120
    frame,marker,x,y,z              or  frame,body,x,y,z,qw,qx,qy,qz
    0,LASI,0.102,0.331,0.954

Metres, frames from 0; a missing sample is a missing row.
"""

import re
from pathlib import Path

import numpy as np

from ossature.errors import FormatError
from ossature.formats.axes import to_z_up, turn_points, turn_rotations
from ossature.formats.registry import Format, WriteOptions
from ossature.maths import quat
from ossature.values import Bodies, Recording, Source, Take

COLUMNS = {"marker": "frame,marker,x,y,z", "body": "frame,body,x,y,z,qw,qx,qy,qz"}
RATE = re.compile(r"#\s*rate\s*=\s*([0-9.eE+-]+)")
DEFAULT_RATE = 100.0
MAX_SPARSITY = 1000
"""Most empty cells per row that a table may have before its frame numbers are taken as wrong."""


def sniff(head: bytes) -> bool:
    lines = [line.strip() for line in head.decode("utf-8", "replace").lstrip("\ufeff").splitlines()]
    header = next((line for line in lines if line and not line.startswith("#")), "")
    return header.replace(" ", "") in COLUMNS.values()


def read_plain_csv(path: Path) -> Take:
    lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip() and not line.startswith("#"))
    rate, problems = _rate(path, lines[:start])
    kind = lines[start].replace(" ", "").split(",")[1]
    n_values = 3 if kind == "marker" else 7
    frames, names, values = _rows(path, lines, start + 1, n_values)
    table = _table(path, frames, names, values)
    source = Source(file=path.name, format="CSV", detail=f"{kind}s", problems=problems)
    order = tuple(dict.fromkeys(names))
    if kind == "marker":
        return Take(recordings=(Recording(table, order, rate, source=source),))
    bodies = Bodies(table[..., :3], table[..., 3:], order, rate, source=source)
    return Take(bodies=(bodies,))


def write_plain_csv(path: Path, take: Take, options: WriteOptions) -> None:
    """Markers where there are any, else bodies; coordinates as the source file had them."""
    value = (take.recordings or take.bodies)[0]
    turn = quat.inverse(to_z_up(options.up or value.source.up))
    columns = [turn_points(value.positions, turn)]
    if isinstance(value, Bodies):
        columns.append(turn_rotations(value.rotations, turn))
    kind = "body" if isinstance(value, Bodies) else "marker"
    table = np.concatenate(columns, axis=-1)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"# rate={value.rate:.12g}\n{COLUMNS[kind]}\n")
        for frame, (row, seen) in enumerate(zip(table.tolist(), value.seen.tolist(), strict=True)):
            file.writelines(
                f"{frame},{name},{','.join(map(repr, numbers))}\n"
                for name, numbers, there in zip(value.names, row, seen, strict=True)
                if there
            )


def _rate(path: Path, comments: list[str]) -> tuple[float, tuple[str, ...]]:
    match = next((m for m in map(RATE.match, comments) if m), None)
    if match is None:
        return DEFAULT_RATE, (f"no '# rate=' line; {DEFAULT_RATE:g} frames per second assumed",)
    try:
        rate = float(match[1])
    except ValueError:
        rate = float("nan")
    if not (np.isfinite(rate) and rate > 0):
        raise FormatError(path, f"rate must be a positive number, got {match[1]!r}", "line 1")
    return rate, ()


def _rows(
    path: Path, lines: list[str], start: int, n_values: int
) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Frame, name and values of every row."""
    frames, names, values = [], [], []
    for number, line in enumerate(lines[start:], start + 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split(",")
        try:
            if len(cells) != n_values + 2:
                raise ValueError
            frames.append(int(cells[0]))
            names.append(cells[1].strip())
            values.append([float(cell) for cell in cells[2:]])
        except ValueError:
            raise FormatError(
                path,
                f"expected frame, name and {n_values} numbers, got {line[:60]!r}",
                f"line {number}",
            ) from None
    if not frames:
        raise FormatError(path, "holds a header but no samples")
    return np.array(frames), names, np.array(values)


def _table(path: Path, frames: np.ndarray, names: list[str], values: np.ndarray) -> np.ndarray:
    """Rows as (n_frames, n_names, n_values), NaN where there was no row."""
    order = {name: column for column, name in enumerate(dict.fromkeys(names))}
    columns = np.array([order[name] for name in names])
    if frames.min() < 0:
        raise FormatError(path, f"frames are numbered from 0, got {frames.min()}")
    n_frames = int(frames.max()) + 1
    if n_frames * len(order) > MAX_SPARSITY * len(frames):
        raise FormatError(
            path, f"frame {n_frames - 1} is far beyond what {len(frames)} rows can fill"
        )
    cells = frames * len(order) + columns
    if len(np.unique(cells)) != len(cells):
        first = _first_repeat(cells)
        raise FormatError(path, f"frame {frames[first]} has two rows for {names[first]!r}")
    table = np.full((n_frames * len(order), values.shape[1]), np.nan)
    table[cells] = values
    return table.reshape(n_frames, len(order), -1)


def _first_repeat(cells: np.ndarray) -> int:
    _, first = np.unique(cells, return_index=True)
    return int(np.setdiff1d(np.arange(len(cells)), first)[0])


PLAIN_CSV = Format(
    name="plain CSV",
    suffixes=(".csv",),
    sniff=sniff,
    read=read_plain_csv,
    write=write_plain_csv,
    holds=frozenset({"markers", "bodies"}),
)
