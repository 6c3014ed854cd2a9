"""Writing the parameter section, Intel order."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.errors import BadValue
from osteon.formats.c3d.encoding import BLOCK_BYTES, Processor
from osteon.formats.c3d.parameters import (
    FLOAT_CODE,
    INTEGER_CODE,
    TEXT_CODE,
    C3dParameters,
    intel_value,
)

AGAIN = "\0"
"""Ends a name that its group has already, and cannot stand in one."""
NAME_BYTES = 127
"""Bytes of a parameter's name, defined by C3D: a signed byte, below zero where it is locked."""
MOST_COUNT = 255
"""Count of entries of a list, bytes of a text, blocks of all, defined by C3D: one byte each."""
HOP_BYTES = 0xFFFF - 2
"""Bytes of one record, defined by C3D: 16 bits tell the way to the next, themselves included."""
LIST_BYTES = 30_000
"""Bytes of a list before it goes on under another name; chosen: programs that read the way to the
next record as a signed number, up to 32 767, find it, too."""


@dataclass(frozen=True)
class Manner:
    """How a file spells a name, and what it says beside the value."""

    name: str
    locked: bool = False
    about: bytes = b""


class Section:
    """Groups and parameters in the order they are added; one added again takes its old place."""

    def __init__(self) -> None:
        self._groups: dict[str, int] = {}
        self._records: dict[tuple[str, str], bytes] = {}
        self._manners: dict[tuple[str, str], Manner] = {}

    def carry(self, head: bytes, parameters: C3dParameters, processor: Processor) -> None:
        """All that another file's ``head`` holds, as it is there."""
        room = MOST_COUNT * BLOCK_BYTES
        for record in parameters.records:
            name = "" if record.is_group else record.name.upper()
            if (record.group, name) in self._records:  # some files say a thing twice
                name += f"{AGAIN}{len(self._records)}"
            body = b"" if record.is_group else intel_value(head, record.place, processor)
            room -= len(body)
            if room < 0:  # records that share their bytes could ask for any amount of memory
                raise _too_long(MOST_COUNT + 1)
            end = record.place + len(body)
            about = head[end + 1 : end + 1 + head[end]] if end < len(head) else b""
            self._manners[record.group, name] = Manner(record.name, record.locked, about)
            number = self._groups.setdefault(record.group, record.number)
            self._record(record.group, name, -record.number if record.is_group else number, body)

    def drop(self, group: str, *names: str) -> None:
        """Leave out parameters that were added, or their whole group."""
        for key in list(self._records):
            if key[0] == group and (not names or key[1].partition(AGAIN)[0] in names):
                del self._records[key]
        if not names:
            self._groups.pop(group, None)

    def texts(self, group: str, name: str, values: Sequence[str]) -> None:
        """A list of strings; a long one continues in NAME2, NAME3 …"""
        raw = [value.encode() for value in values]
        width = max(map(len, raw), default=1) or 1
        if width > MOST_COUNT:
            longest = max(values, key=len)
            raise BadValue(f"C3D names have at most {MOST_COUNT} bytes, got {longest[:40]!r}…")
        step = min(MOST_COUNT, LIST_BYTES // width)
        self._drop_numbered(group, name)
        for start in range(0, max(len(raw), 1), step):
            part = raw[start : start + step]
            text = b"".join(value.ljust(width) for value in part)
            number = start // step + 1
            self._add(group, _numbered(name, number), TEXT_CODE, (width, len(part)), text)

    def text(self, group: str, name: str, value: str) -> None:
        raw = value.encode()[:MOST_COUNT]
        self._add(group, name, TEXT_CODE, (len(raw),), raw)

    def numbers(self, group: str, name: str, values: np.ndarray) -> None:
        """Integers or floats: a single one, or rows of which a long list continues in NAME2 …"""
        values = np.asarray(values)
        kind, dtype = (INTEGER_CODE, "<u2") if values.dtype.kind in "iu" else (FLOAT_CODE, "<f4")
        if values.ndim == 0:
            self._add(group, name, kind, (), values.astype(dtype).tobytes())
            return
        self._drop_numbered(group, name)
        for start in range(0, max(len(values), 1), MOST_COUNT):
            part = values[start : start + MOST_COUNT]
            number = start // MOST_COUNT + 1
            data = (part.astype(np.int64) & 0xFFFF if kind == INTEGER_CODE else part).astype(dtype)
            self._add(group, _numbered(name, number), kind, part.shape[::-1], data.tobytes())

    def integer(self, group: str, name: str, value: int) -> None:
        self.numbers(group, name, np.array(value))

    def real(self, group: str, name: str, value: float) -> None:
        self.numbers(group, name, np.array(float(value)))

    def _drop_numbered(self, group: str, name: str) -> None:
        """A list may have gone on in NAME2, NAME3 … before."""
        number = 2
        while (group, _numbered(name, number)) in self._records:
            del self._records[group, _numbered(name, number)]
            number += 1

    def _add(self, group: str, name: str, kind: int, dims: Sequence[int], data: bytes) -> None:
        for key in [key for key in self._records if key[1].startswith(name + AGAIN)]:
            self.drop(*key)
        body = struct.pack("bB", kind, len(dims)) + bytes(dims) + data
        self._record(group, name, self._number(group), body)

    def _number(self, group: str) -> int:
        """A group's number; what names the group is added where it was not yet."""
        if group not in self._groups:
            self._groups[group] = max(self._groups.values(), default=0) + 1
            self._record(group, "", -self._groups[group], b"")
        return self._groups[group]

    def _record(self, group: str, name: str, number: int, body: bytes) -> None:
        manner = self._manners.get((group, name), Manner(name or group))
        spelled = manner.name.encode()[:NAME_BYTES]
        # the hop counts from itself: two bytes, the body, a description and its length
        rest = body + bytes((len(manner.about),)) + manner.about
        head = struct.pack("bb", -len(spelled) if manner.locked else len(spelled), number)
        if len(rest) > HOP_BYTES:
            size = f"{group}:{name} has {len(rest)} bytes"
            raise BadValue(f"a C3D parameter has at most {HOP_BYTES} bytes, {size}")
        hop = struct.pack("<H", 2 + len(rest))
        self._records[group, name] = head + spelled + hop + rest

    def blocks(self) -> int:
        """512-byte blocks that the section fills."""
        return -(-(4 + sum(map(len, self._records.values())) + 2) // BLOCK_BYTES)

    def packed(self) -> bytes:
        """The whole section, padded to whole blocks."""
        n_blocks = self.blocks()
        if n_blocks > MOST_COUNT:
            raise _too_long(n_blocks)
        head = bytes((1, 0x50, n_blocks, 84))
        return (head + b"".join(self._records.values())).ljust(n_blocks * BLOCK_BYTES, b"\0")


def _too_long(n_blocks: int) -> BadValue:
    return BadValue(
        f"C3D has room for {MOST_COUNT * BLOCK_BYTES} bytes of names and parameters, "
        f"these need {n_blocks * BLOCK_BYTES}; shorten the names or write fewer markers"
    )


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}{number}"
