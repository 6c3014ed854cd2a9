"""Writing the parameter section, Intel order."""

import struct
from collections.abc import Sequence

import numpy as np

from ossature.errors import BadValue
from ossature.formats.c3d.encoding import BLOCK
from ossature.formats.c3d.parameters import CHARACTERS, FLOATS, INTEGERS

LONGEST = 255
"""Dimensions, names and lists are counted in one byte."""
ROOM = 30_000
"""Most bytes in one parameter: records are linked by signed 16-bit hops."""


class Section:
    """Groups and parameters in the order they are added."""

    def __init__(self) -> None:
        self._groups: dict[str, int] = {}
        self._records: list[bytes] = []

    def texts(self, group: str, name: str, values: Sequence[str]) -> None:
        """A list of strings; a long one continues in NAME2, NAME3 …"""
        raw = [value.encode() for value in values]
        width = max(map(len, raw), default=1) or 1
        if width > LONGEST:
            longest = max(values, key=len)
            raise BadValue(f"C3D names have at most {LONGEST} bytes, got {longest[:40]!r}…")
        step = min(LONGEST, ROOM // width)
        for start in range(0, max(len(raw), 1), step):
            part = raw[start : start + step]
            text = b"".join(value.ljust(width) for value in part)
            number = start // step + 1
            self._add(group, _numbered(name, number), CHARACTERS, (width, len(part)), text)

    def text(self, group: str, name: str, value: str) -> None:
        raw = value.encode()[:LONGEST]
        self._add(group, name, CHARACTERS, (len(raw),), raw)

    def numbers(self, group: str, name: str, values: np.ndarray) -> None:
        """Integers or floats: a single one, or rows of which a long list continues in NAME2 …"""
        values = np.asarray(values)
        kind, dtype = (INTEGERS, "<u2") if values.dtype.kind in "iu" else (FLOATS, "<f4")
        if values.ndim == 0:
            self._add(group, name, kind, (), values.astype(dtype).tobytes())
            return
        for start in range(0, max(len(values), 1), LONGEST):
            part = values[start : start + LONGEST]
            number = start // LONGEST + 1
            data = (part.astype(np.int64) & 0xFFFF if kind == INTEGERS else part).astype(dtype)
            self._add(group, _numbered(name, number), kind, part.shape[::-1], data.tobytes())

    def integer(self, group: str, name: str, value: int) -> None:
        self.numbers(group, name, np.array(value))

    def real(self, group: str, name: str, value: float) -> None:
        self.numbers(group, name, np.array(float(value)))

    def _add(self, group: str, name: str, kind: int, dims: Sequence[int], data: bytes) -> None:
        if group not in self._groups:
            self._groups[group] = len(self._groups) + 1
            self._record(group, -self._groups[group], b"")
        body = struct.pack("bB", kind, len(dims)) + bytes(dims) + data
        self._record(name, self._groups[group], body)

    def _record(self, name: str, number: int, body: bytes) -> None:
        # the hop counts from itself: two bytes, the body, and an empty description's length
        hop = struct.pack("<H", 2 + len(body) + 1)
        self._records.append(struct.pack("bb", len(name), number) + name.encode() + hop)
        self._records[-1] += body + b"\0"

    def blocks(self) -> int:
        """512-byte blocks that the section fills."""
        return -(-(4 + sum(map(len, self._records)) + 2) // BLOCK)

    def packed(self) -> bytes:
        """The whole section, padded to whole blocks."""
        n_blocks = self.blocks()
        if n_blocks > LONGEST:
            raise BadValue(
                f"C3D has room for {LONGEST * BLOCK} bytes of names and parameters, "
                f"these need {n_blocks * BLOCK}; shorten the names or write fewer markers"
            )
        head = bytes((1, 0x50, n_blocks, 84))
        return (head + b"".join(self._records)).ljust(n_blocks * BLOCK, b"\0")


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}{number}"
