"""Records of a binary FBX file: a name, typed values and further records, each with the offset of
its end. Numbers in rows are zlib-compressed. Up to version 7.4 offsets have 32 bits, then 64."""

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from osteon.errors import FormatError

MAGIC = b"Kaydara FBX Binary  \0\x1a\0"
WRITTEN_VERSION = 7400
"""Code of the version written, defined by FBX: 7.4 (2014), which all programs in use read."""
FIRST_VERSION, WIDE_VERSION, NEXT_VERSION = 7000, 7500, 8000
"""Codes of the first version that is read, the first with offsets of 64 bits, the first that is not
known; defined by FBX."""
FILE_ID = bytes.fromhex("28b32aebb624ccc2bfc8b02aa92bfcf1")
CREATION_TIME = "1970-01-01 10:00:00:000"
FOOT_ID = bytes.fromhex("fabcab09d0c8d466b176fb831cf7267e")
"""A file's identity, the time it is made from, and what both give at its end: programs refuse a
file in which these three do not belong together."""
FOOT_MAGIC = bytes.fromhex("f85a8c6adef5d97eece90ce3758f290b")
FOOT_ZEROS, FOOT_BLOCK = 120, 16
"""Bytes of zeros before the last mark, and bytes to which the footer is filled; defined by FBX."""
SHORT_BYTES = 128
"""Bytes up to which rows are left uncompressed; chosen: zlib's own head would eat the gain."""
DEEPEST_LEVEL = 32
"""Count of records within records; chosen: real files have six."""
SPARE_BYTES, MOST_RATIO = 1 << 26, 64
"""Bytes that any file may unpack to, and the ratio by which a larger one may grow; chosen: curves
of bones that keep still pack well, and 64 MB are little memory."""

ROWS = {"f": "<f4", "d": "<f8", "i": "<i4", "l": "<i8", "b": "<i1", "c": "<u1"}
SCALARS = {"Y": "<h", "C": "<B", "I": "<i", "F": "<f", "D": "<d", "L": "<q"}
LETTERS = {dtype: letter for letter, dtype in ROWS.items()}


class PackedValue(bytes):
    """A value as it stands in the file, to be written several times."""


@dataclass(frozen=True)
class Rows:
    """Numbers of a file that are unpacked when somebody asks for them."""

    letter: str
    count: int
    compressed: bool
    data: memoryview


@dataclass(frozen=True)
class FbxRecord:
    """``int`` is written with 32 bits, numpy's integers with 64, arrays as rows."""

    name: str
    values: tuple[Any, ...] = ()
    children: "Sequence[FbxRecord]" = ()
    packed: bytes | memoryview | None = None
    """The values as a file had them, where they were read; they are written as they were."""
    nests: bool = False
    """Whether it has a list of records, which may be empty."""

    def find(self, name: str) -> "FbxRecord | None":
        return next((child for child in self.children if child.name == name), None)

    def all(self, name: str) -> "Iterator[FbxRecord]":
        return (child for child in self.children if child.name == name)


def pack_value(value: Any) -> PackedValue:
    """Return a value with the letter of its type before it."""
    if isinstance(value, PackedValue):
        return value
    if isinstance(value, np.ndarray):
        return _pack_rows(value)
    if isinstance(value, bool):
        return PackedValue(struct.pack("<cB", b"C", value))
    if isinstance(value, np.integer):
        return PackedValue(struct.pack("<cq", b"L", int(value)))
    if isinstance(value, int):
        return PackedValue(struct.pack("<ci", b"I", value))
    if isinstance(value, float):
        return PackedValue(struct.pack("<cd", b"D", value))
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
    letter = b"R" if isinstance(value, bytes) else b"S"
    return PackedValue(struct.pack("<cI", letter, len(data)) + data)


def _pack_rows(values: np.ndarray) -> PackedValue:
    plain = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    data, count = plain.tobytes(), values.size
    compressed = len(data) > SHORT_BYTES
    if compressed:
        data = zlib.compress(data)
    letter = LETTERS["<" + values.dtype.str[1:]].encode()
    return PackedValue(struct.pack("<cIII", letter, count, compressed, len(data)) + data)


def pack_file(
    records: Sequence[FbxRecord], version: int = WRITTEN_VERSION, foot: bytes = FOOT_ID
) -> bytes:
    """Return a whole file."""
    data, head = bytearray(MAGIC + struct.pack("<I", version)), head_of(version)
    for record in records:
        _append(data, record, head)
    data += bytes(head.size) + foot + bytes(4)
    data += bytes(FOOT_BLOCK - len(data) % FOOT_BLOCK)
    data += struct.pack("<I", version) + bytes(FOOT_ZEROS) + FOOT_MAGIC
    return bytes(data)


def head_of(version: int) -> struct.Struct:
    """Return what stands before a record's name: its end, count and length of values, and the
    length of the name."""
    return struct.Struct("<QQQB" if version >= WIDE_VERSION else "<IIIB")


def _append(data: bytearray, record: FbxRecord, head: struct.Struct) -> None:
    values = b"".join(map(pack_value, record.values)) if record.packed is None else record.packed
    start, name = len(data), record.name.encode("utf-8", "surrogateescape")
    data += bytes(head.size) + name + values
    for child in record.children:
        _append(data, child, head)
    if record.children or record.nests or not record.values:
        data += bytes(head.size)
    head.pack_into(data, start, len(data), len(record.values), len(values), len(name))


class FbxFile:
    """Records of a file that was read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = memoryview(path.read_bytes())
        self.left = SPARE_BYTES + MOST_RATIO * len(self.data)
        if len(self.data) < len(MAGIC) + 4:
            raise self.cut_short(len(self.data))
        (self.version,) = struct.unpack_from("<I", self.data, len(MAGIC))
        if not FIRST_VERSION <= self.version < NEXT_VERSION:
            raise FormatError(
                path,
                f"is FBX of version {self.version}; 7000 to 7700 are read: "
                "save it as FBX 2011 or later",
            )
        self.head, self.foot = head_of(self.version), FOOT_ID
        self.root = FbxRecord("", (), self._records(len(MAGIC) + 4, len(self.data), 0))

    def cut_short(self, offset: int) -> FormatError:
        return FormatError(self.path, "is cut short or damaged; export it anew", f"byte {offset}")

    def _records(self, at: int, end: int, level: int) -> list[FbxRecord]:
        """Return the records from an offset on, up to an empty one."""
        found = []
        if level > DEEPEST_LEVEL:
            raise FormatError(self.path, f"has records more than {DEEPEST_LEVEL} deep")
        while at < end:
            if at + self.head.size > end:
                raise self.cut_short(at)
            stop, count, length, n_name = self.head.unpack_from(self.data, at)
            if stop == 0:
                if level == 0:
                    self.foot = bytes(self.data[at + self.head.size :][: len(FOOT_ID)])
                return found
            first = at + self.head.size + n_name
            inner = first + length
            if not (inner <= stop <= end):
                raise self.cut_short(at)
            name = bytes(self.data[first - n_name : first]).decode("utf-8", "surrogateescape")
            values = tuple(self._values(first, inner, count))
            children = self._records(inner, stop, level + 1)
            packed = self.data[first:inner]
            found.append(FbxRecord(name, values, children, packed, nests=inner < stop))
            at = stop
        if level == 0:  # the list of all records ends with an empty one
            raise self.cut_short(end)
        return found

    def _values(self, at: int, end: int, count: int) -> Iterator[Any]:
        for _ in range(count):
            if at >= end:
                raise self.cut_short(at)
            letter = chr(self.data[at])
            value, at = self._value(letter, at + 1, end)
            if at > end:
                raise self.cut_short(at)
            yield value

    def _value(self, letter: str, at: int, end: int) -> tuple[Any, int]:
        try:
            if letter in SCALARS:
                form = SCALARS[letter]
                return struct.unpack_from(form, self.data, at)[0], at + struct.calcsize(form)
            if letter in "SR":
                (length,) = struct.unpack_from("<I", self.data, at)
                data = bytes(self.data[at + 4 : min(at + 4 + length, end)])
                text = data.decode("utf-8", "replace") if letter == "S" else data
                return text, at + 4 + length
            if letter in ROWS:
                count, encoding, length = struct.unpack_from("<III", self.data, at)
                size = length if encoding else count * np.dtype(ROWS[letter]).itemsize
                data = self.data[at + 12 : min(at + 12 + size, end)]
                return Rows(letter, count, bool(encoding), data), at + 12 + size
        except struct.error:
            raise self.cut_short(at) from None
        raise FormatError(self.path, f"a value of the unknown type {letter!r}", f"byte {at - 1}")

    def numbers(self, record: FbxRecord | None, dtype: type) -> np.ndarray:
        """Return the numbers of a record's rows; none where there are no rows."""
        rows = record.values[0] if record and record.values else None
        if not isinstance(rows, Rows):
            return np.zeros(0, dtype)
        size = rows.count * np.dtype(ROWS[rows.letter]).itemsize
        data = rows.data if not rows.compressed else self._unpacked(rows.data, size)
        if len(data) != size:
            raise FormatError(self.path, f"{rows.count} numbers are said to be where fewer are")
        with np.errstate(invalid="ignore"):
            return np.frombuffer(data, ROWS[rows.letter]).astype(dtype)

    def _unpacked(self, data: memoryview, size: int) -> bytes:
        if size > self.left:
            raise FormatError(self.path, f"unpacks to more than {MOST_RATIO} times its size")
        self.left -= size
        try:
            return zlib.decompressobj().decompress(data, size) if size else b""
        except zlib.error as error:
            raise FormatError(self.path, f"compressed numbers are damaged ({error})") from None
