"""What Qualisys Track Manager exports, in millimetres; z up, which the files do not say.

TSV: markers (``DATA_INCLUDED 3D``) or rigid bodies (``6D``) between tabs; a point at exactly
0, 0, 0 is a missing one. MATLAB files up to version 7: the labelled trajectories with their
residuals; the residual of a gap-filled point is 0. SciPy's reader is not used: corrupt files crash
it or keep it busy for ever.
"""

import struct
import zlib
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from osteon.errors import FormatError, WrongContent
from osteon.formats.registry import Format
from osteon.formats.shared.text_table import (
    check_frames,
    frame_number,
    number_or_nan,
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

HEADER_BYTES = 128
"""Bytes before the first element, defined by MATLAB's format 5."""
COMPRESSED_CODE, MATRIX_CODE = 15, 14
"""Codes of elements, defined by MATLAB's format 5."""
NUMBERS = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
"""Kinds of stored numbers; MATLAB stores whole numbers as small as they fit."""
TEXTS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
CELL_CLASS, STRUCTURE_CLASS, TEXT_CLASS, SPARSE_CLASS, LAST_CLASS = 1, 2, 4, 5, 15
"""Codes of arrays' classes, defined by MATLAB's format 5."""
MOST_GROWTH = 20
"""Ratio of the file's content unpacked to the file; chosen: recordings halve at best."""
SPARE_BYTES = 1 << 20
"""Bytes that a file may unpack to besides; chosen: a mebibyte harms nobody."""
MOST_PARTS = 200_000
"""Count of cells and fields of structures; chosen: each costs far more memory than bytes."""
MOST_DEPTH = 16
"""Count of structures inside each other; chosen: far more than QTM nests, and harmless."""
MILLIMETRE = 1e-3
"""Metres in the unit of lengths, defined by QTM."""
BODY_COLUMNS = 16
"""Count of a body's columns, defined by QTM: place, three angles, residual, matrix by columns."""
MEASURED_CODE = 1
"""Code in ``Type`` of a point that cameras saw, defined by QTM; 0 is missing, others filled in."""


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
        first_frame=frame_number(table[0, 0], 1) if lead else 1,
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
        if key == "EVENT" and len(values) >= 3 and np.isfinite(number_or_nan(values[2])):
            marks.append(Mark(values[0], float(values[2])))
        elif key == "Frame":
            return header, tuple(marks), place + 1
        else:
            header[key] = values
    return header, tuple(marks), len(lines)


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


class Matlab:
    """The variables of a MATLAB file; raises ValueError, struct.error or zlib.error if broken."""

    def __init__(self, data: bytes) -> None:
        self.order = {b"IM": "<", b"MI": ">"}.get(data[126:128], "")
        if not self.order:
            raise ValueError("no mark of the byte order in its header")
        self.room = MOST_GROWTH * len(data) + SPARE_BYTES
        self.parts = 0
        self.variables: dict[str, Any] = {}
        at = HEADER_BYTES
        view = memoryview(data)  # of which parts are no copies
        while at < len(data):
            kind, content, at = self._element(view, at)
            if kind == COMPRESSED_CODE:
                kind, content, _ = self._element(self._unpack(content), 0)
            if kind == MATRIX_CODE:
                name, value = self._matrix(content, 0)
                self.variables[name] = value

    def _unpack(self, content: memoryview) -> memoryview:
        unpacked = zlib.decompressobj().decompress(content, self.room)
        self.spend(len(unpacked))
        return memoryview(unpacked)

    def spend(self, size: int) -> None:
        """Take bytes off what the file may grow to."""
        self.room -= size
        if self.room <= 0:
            raise ValueError(
                f"unpacks to more than {MOST_GROWTH} times its size; if that is right, save it in "
                "MATLAB with '-v6'"
            )

    def _element(self, data: memoryview, at: int) -> tuple[int, memoryview, int]:
        """Return the kind and content of the element at a place, and the place of the next."""
        kind, size = struct.unpack_from(self.order + "II", data, at)
        start, end = at + 8, at + 8 + size
        if kind >> 16:  # up to four bytes stand in the tag itself
            kind, size = kind & 0xFFFF, kind >> 16
            start, end = at + 4, at + 4 + size
        if end > len(data):
            raise ValueError(f"cut short: {end - len(data)} bytes are missing")
        after = at + 8 if start == at + 4 else end if kind == COMPRESSED_CODE else end + -end % 8
        return kind, data[start:end], after

    def _matrix(self, data: memoryview, depth: int) -> tuple[str, Any]:
        """Name and value: an array, a text, a list of cells, or a dict (a list of them)."""
        if not data:
            return "", None
        if depth > MOST_DEPTH:
            raise ValueError("structures in structures without end")
        _, flags, at = self._element(data, 0)
        _, sizes, at = self._element(data, at)
        _, name, at = self._element(data, at)
        shape = [int(size) for size in np.frombuffer(sizes, self.order + "i4")]
        sort = struct.unpack_from(self.order + "I", flags)[0] & 0xFF
        count = prod(shape)
        if any(size < 0 for size in shape) or count > max(len(data), 1):
            raise ValueError(f"an array of shape {shape} in {len(data)} bytes")
        return str(name, "latin-1"), self._content(data, at, sort, shape, count, depth)

    def _content(
        self, data: memoryview, at: int, sort: int, shape: list[int], count: int, depth: int
    ) -> Any:
        if sort == CELL_CLASS:
            return self._matrices(data, at, count, depth)
        if sort == STRUCTURE_CLASS:
            return self._structure(data, at, count, depth)
        if sort == SPARSE_CLASS or not TEXT_CLASS <= sort <= LAST_CLASS:
            return None
        kind, content, _ = self._element(data, at)
        if sort == TEXT_CLASS:
            encoding = TEXTS.get(kind, "latin-1")
            suffix = {"<": "-le", ">": "-be"}[self.order] if encoding[-2:] in ("16", "32") else ""
            return str(content, encoding + suffix, "replace")
        if kind not in NUMBERS:
            raise ValueError(f"numbers of the unknown kind {kind}")
        values = np.frombuffer(content, self.order + NUMBERS[kind])
        self.spend(8 * values.size - values.nbytes)  # small whole numbers become large ones
        return values.reshape(shape, order="F")

    def _matrices(self, data: memoryview, at: int, count: int, depth: int) -> list[Any]:
        found = []
        self.parts += count
        if self.parts > MOST_PARTS:
            raise ValueError(f"holds more than {MOST_PARTS} cells and fields")
        for _ in range(count):
            _, content, at = self._element(data, at)
            found.append(self._matrix(content, depth + 1)[1])
        return found

    def _structure(self, data: memoryview, at: int, count: int, depth: int) -> Any:
        _, content, at = self._element(data, at)
        width = struct.unpack_from(self.order + "i", content)[0]
        _, content, at = self._element(data, at)
        if width < 1:
            raise ValueError(f"field names of {width} letters")
        names = [
            bytes(content[i : i + width]).split(b"\0")[0].decode("latin-1")
            for i in range(0, len(content), width)
        ]
        if count * len(names) > len(data):
            raise ValueError(f"{count} structures in {len(data)} bytes")
        values = self._matrices(data, at, count * len(names), depth)
        n = len(names)
        rows = [dict(zip(names, values[i * n : (i + 1) * n], strict=True)) for i in range(count)]
        return rows[0] if count == 1 else rows


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
