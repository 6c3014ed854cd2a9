"""MATLAB files up to version 7, as plain values: only what QTM writes, and safe on broken files.

SciPy's reader is not used: corrupt files crash it or keep it busy for ever.
"""

import struct
import zlib
from math import prod
from typing import Any

import numpy as np

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
"""Count of cells and fields of structures in a file; chosen: each costs far more memory than
bytes."""
MOST_DEPTH = 16
"""Count of structures inside each other; chosen: far more than QTM nests, and harmless."""


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
