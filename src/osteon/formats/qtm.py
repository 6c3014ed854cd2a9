"""What Qualisys Track Manager exports, in millimetres; z up, which the files do not say.

TSV: markers (``DATA_INCLUDED 3D``) or rigid bodies (``6D``) between tabs; a point at exactly
0, 0, 0 is a missing one. MATLAB files up to version 7: the labelled trajectories with their
residuals; the residual of a gap-filled point is 0.
"""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from osteon.errors import FormatError, WrongContent
from osteon.formats.registry import Format
from osteon.formats.shared.matlab import Matlab
from osteon.formats.shared.text_table import (
    check_frames,
    number_rows,
    perhaps_cut,
    positive_number,
    read_lines,
    unique_labels,
    whole_number,
    without_zeros,
)
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Bodies, Mark, Recording, Source, Take

MILLIMETRE = 1e-3
"""Metres in the unit of lengths, defined by QTM."""
BODY_COLUMNS = 16
"""Count of a body's columns, defined by QTM: X, Y, Z, three angles, residual, and the rotation
matrix, column by column."""
MEASURED_CODE = 1
"""Code in ``Type`` of a point that cameras saw, defined by QTM; 0 is missing, all others are made
by software."""


def sniff_tsv(head: bytes) -> bool:
    head = head.removeprefix(b"\xef\xbb\xbf")
    return head.startswith((b"NO_OF_FRAMES\t", b"FILE_VERSION\t", b"NO_OF_CAMERAS\t"))


def read_qtm_tsv(path: Path) -> Take:
    lines = read_lines(path)
    header, marks, first = _header(lines)
    kind = (header.get("DATA_INCLUDED") or ["3D"])[0].upper()
    if kind not in ("3D", "6D"):
        raise WrongContent(path, f"holds {kind} data; export 3D markers or 6D bodies from QTM")
    key, per_name = ("MARKER_NAMES", 3) if kind == "3D" else ("BODY_NAMES", BODY_COLUMNS)
    names, renamed = _names(path, header, key)
    promised = whole_number(path, _entry(path, header, "NO_OF_FRAMES"), "NO_OF_FRAMES")
    table, lead = _table(path, lines, first, per_name * len(names), promised)
    counts = check_frames(path, promised, len(table))
    rate = positive_number(path, _entry(path, header, "FREQUENCY"), "FREQUENCY")
    cells = table[:, lead:].reshape(len(table), len(names), per_name)
    source = Source(
        file=path.name,
        format="QTM TSV",
        detail=kind,
        software="Qualisys Track Manager",
        unit="mm",
        first_frame=int(table[0, 0]) if lead and abs(table[0, 0]) < 2**53 else 1,
        problems=(*counts, *renamed, *perhaps_cut(lines)),
    )
    points, _ = without_zeros(cells[..., :3] * MILLIMETRE)  # as QTM writes what was not seen
    if kind == "3D":
        return Take(recordings=(Recording(points, names, rate, marks=marks, source=source),))
    rotations = _rotations(cells[..., 7:])
    return Take(bodies=(Bodies(points, rotations, names, rate, marks=marks, source=source),))


def _header(lines: list[str]) -> tuple[dict[str, list[str]], tuple[Mark, ...], int]:
    """Return entries by name, events, and the line where the numbers begin."""
    header, marks = {}, []
    for place, line in enumerate(lines):
        key, *values = [cell.strip() for cell in line.split("\t")]
        if key.replace(".", "").lstrip("-").isdigit():
            return header, tuple(marks), place
        if key == "EVENT" and len(values) >= 3 and _is_number(values[2]):
            marks.append(Mark(values[0], float(values[2])))
        elif key == "Frame":
            return header, tuple(marks), place + 1
        else:
            header[key] = values
    return header, tuple(marks), len(lines)


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _entry(path: Path, header: dict[str, list[str]], key: str) -> str:
    values = header.get(key)
    if not values:
        raise FormatError(path, f"the header lacks {key}")
    return values[0]


def _names(
    path: Path, header: dict[str, list[str]], key: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    _entry(path, header, key)
    names = [name for name in header[key] if name]
    counter = {"MARKER_NAMES": "NO_OF_MARKERS", "BODY_NAMES": "NO_OF_BODIES"}[key]
    promised = whole_number(path, _entry(path, header, counter), counter)
    if promised != len(names):
        raise FormatError(path, f"{counter} is {promised}, but {key} lists {len(names)}")
    if not names:
        raise FormatError(path, f"{key} lists nothing")
    return unique_labels(names)


def _table(
    path: Path, lines: list[str], first: int, n_values: int, promised: int
) -> tuple[Array, int]:
    """Return all numbers, and how many columns (frame and time, or none) stand before the data."""
    if first >= len(lines):
        raise FormatError(path, "the header is there but no frames")
    lead = 2 if len(lines[first].rstrip("\t").split("\t")) > n_values else 0
    if lines[first - 1].startswith("Frame\tTime"):
        lead = 2
    return number_rows(path, lines, first, "\t", lead + n_values, promised), lead


def _rotations(cells: Array) -> Array:
    """Return (n_frames, n_bodies, 4) from matrices written column by column; all zero = missing."""
    matrices = np.swapaxes(cells.reshape(*cells.shape[:-1], 3, 3), -1, -2)
    known = np.isfinite(cells).all(-1) & (np.abs(cells).sum(-1) > 0.5)
    rotations = np.full((*cells.shape[:-1], 4), np.nan)
    rotations[known] = quat.from_matrix(matrices[known])
    return rotations


QTM_TSV = Format(
    name="QTM TSV",
    suffixes=(".tsv",),
    sniff=sniff_tsv,
    read=read_qtm_tsv,
    holds=frozenset({"markers", "bodies"}),
)


def sniff_mat(head: bytes) -> bool:
    return head.startswith(b"MATLAB 5.0 MAT-file")


def read_qtm_mat(path: Path) -> Take:
    measurement = _measurement(path, _variables(path))
    labelled = _field(path, _field(path, measurement, "Trajectories", dict), "Labeled", dict)
    data = np.atleast_3d(_field(path, labelled, "Data", np.ndarray)).astype(float)
    labels = labelled.get("Labels")
    labels = [str(label) for label in (labels if isinstance(labels, list) else [labels])]
    if data.shape[:2] != (len(labels), 4):
        raise FormatError(
            path, f"expected x, y, z, residual of {len(labels)} markers, found shape {data.shape}"
        )
    promised = _number(path, measurement, "Frames")
    if promised != data.shape[2]:
        raise FormatError(path, f"the file promises {promised:g} frames, found {data.shape[2]}")
    names, renamed = unique_labels(labels)
    data = np.moveaxis(data, -1, 0) * MILLIMETRE
    source = Source(
        file=path.name,
        format="QTM MAT",
        software="Qualisys Track Manager",
        unit="mm",
        first_frame=1,
        problems=renamed,
    )
    recording = Recording(
        data[..., :3],
        names,
        _number(path, measurement, "FrameRate"),
        residuals=_residuals(data[..., 3], labelled.get("Type")),
        source=source,
    )
    return Take(recordings=(recording,))


def _residuals(residuals: np.ndarray, kinds: Any) -> np.ndarray:
    """Return (n_frames, n_markers), 0 where software filled the point in."""
    if not isinstance(kinds, np.ndarray) or kinds.T.shape != residuals.shape:
        return residuals
    return np.where((kinds.T != MEASURED_CODE) & np.isfinite(residuals), 0.0, residuals)


def _variables(path: Path) -> dict[str, Any]:
    try:
        return Matlab(path.read_bytes()).variables
    except (ValueError, struct.error, zlib.error) as error:
        raise FormatError(path, f"is a broken MATLAB file: {error}") from None


def _measurement(path: Path, variables: dict[str, Any]) -> dict[str, Any]:
    """Return the structure that QTM writes, whatever it is called."""
    for value in variables.values():
        if isinstance(value, dict) and "Trajectories" in value:
            return value
    shown = ", ".join(variables)[:60] or "nothing"
    raise WrongContent(
        path,
        f"MATLAB file that QTM did not write (it holds {shown!r}): no marker names, rate or "
        "units that osteon could know; write the points as plain CSV (frame,marker,x,y,z)",
    )


def _field(path: Path, structure: dict[str, Any], name: str, kind: type) -> Any:
    value = structure.get(name)
    if not isinstance(value, kind):
        raise FormatError(path, f"the QTM structure lacks {name!r}; export it again from QTM")
    return value


def _number(path: Path, structure: dict[str, Any], name: str) -> float:
    value = _field(path, structure, name, np.ndarray)
    if value.size != 1:
        raise FormatError(path, f"{name} must be one number, found {value.size}")
    return float(value.ravel()[0])


QTM_MAT = Format(
    name="QTM MAT",
    suffixes=(".mat",),
    sniff=sniff_mat,
    read=read_qtm_mat,
    holds=frozenset({"markers"}),
)
