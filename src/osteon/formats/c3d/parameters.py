"""The parameter section: named groups of named values."""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from osteon.formats.c3d.encoding import Processor

TEXT_CODE, BYTE_CODE, INTEGER_CODE, FLOAT_CODE = -1, 1, 2, 4
"""Codes of the kinds of parameter, defined by C3D; without the sign, bytes of a value."""


@dataclass(frozen=True)
class Record:
    """A group, or a parameter in one, as the file spells it."""

    group: str
    """Upper case."""
    number: int
    """The group's."""
    name: str
    locked: bool
    place: int
    """Byte at which a parameter's kind stands; a group's description."""
    is_group: bool


@dataclass
class C3dParameters:
    """Values by group and name, both upper case."""

    processor: str = ""
    """Kind of machine whose numbers they were."""
    groups: dict[str, dict[str, np.ndarray | list[str]]] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    end: int = 0
    """The byte after the last record."""
    broken: str = ""
    """What stopped the reading before the section's end."""

    def group(self, group: str) -> Mapping[str, np.ndarray | list[str]]:
        return self.groups.get(group, {})

    def texts(self, group: str, name: str) -> list[str]:
        """Strings; names of one list spread over NAME, NAME2, NAME3 … are put together."""
        held, found, number = self.group(group), [], 1
        while (part := held.get(name if number == 1 else f"{name}{number}")) is not None:
            found += part if isinstance(part, list) else []
            number += 1
        return found

    def text(self, group: str, name: str) -> str:
        return next(iter(self.texts(group, name)), "")

    def numbers(self, group: str, name: str) -> np.ndarray:
        """Numbers in file order, spread over NAME, NAME2 … as ``texts``; empty if absent."""
        held, found, number = self.group(group), [], 1
        while (part := held.get(name if number == 1 else f"{name}{number}")) is not None:
            found.append(part if isinstance(part, np.ndarray) else np.zeros(0))
            number += 1
        return np.concatenate(found).astype(float) if found else np.zeros(0)

    def number(self, group: str, name: str) -> float | None:
        numbers = self.numbers(group, name)
        return float(numbers[0]) if len(numbers) and np.isfinite(numbers[0]) else None

    def count(self, group: str, name: str) -> int | None:
        """A number of things. Integers are 16 bits, and files use the sign bit for counting."""
        number = self.number(group, name)
        if number is None or abs(number) > 2**31:
            return None
        return int(number) & 0xFFFF if number < 0 else int(number)


def parse_parameters(data: memoryview, start: int, processor: Processor) -> C3dParameters:
    """All groups from the byte after the section's own four-byte head."""
    found, names, rows = C3dParameters(processor.name, end=start), {}, []
    at = start
    try:
        while at + 4 <= len(data):
            length, number = struct.unpack_from("bb", data, at)
            if length == 0 or number == 0:
                break
            name = printable(bytes(data[at + 2 : at + 2 + abs(length)]))
            hop_at = at + 2 + abs(length)
            hop = int(processor.integers(data, 1, hop_at)[0]) & 0xFFFF
            if number < 0:
                names[-number] = name.upper()
            rows.append((number, name, length < 0, hop_at + 2))
            if hop == 0:
                break
            at = hop_at + hop
    except (ValueError, struct.error):
        found.broken = f"the parameter section is damaged at byte {at}"
    for number, name, locked, place in rows:
        group = names.get(abs(number), f"#{number}")
        record = Record(group, abs(number), name, locked, place, number < 0)
        try:
            _keep(found, record, data, processor)
        except (ValueError, struct.error):
            found.broken = f"the parameter {name.upper()!r} is damaged at byte {place}"
    return found


def _keep(found: C3dParameters, record: Record, data: memoryview, processor: Processor) -> None:
    """Enter a record; ValueError where its value runs beyond the section."""
    group = found.groups.setdefault(record.group, {})
    if not record.is_group:
        group.setdefault(record.name.upper(), _value(data, record.place, processor))
        end = record.place + stored_size(data, record.place)
    else:
        end = record.place
    found.records.append(record)
    about = data[end] if end < len(data) else 0
    found.end = max(found.end, min(end + 1 + about, len(data)))


def stored_size(data: bytes | memoryview, place: int) -> int:
    """Bytes of a parameter's kind, dimensions and values."""
    kind, n_dims = struct.unpack_from("bB", data, place)
    return 2 + n_dims + abs(kind) * math.prod(data[place + 2 : place + 2 + n_dims])


def intel_value(data: bytes, place: int, processor: Processor) -> bytes:
    """Kind, dimensions and values of a parameter, with numbers as Intel stores them."""
    n_dims = data[place + 1]
    at, end = place + 2 + n_dims, place + stored_size(data, place)
    shape, stored = data[place:at], data[at:end]
    if data[place] == FLOAT_CODE and stored:
        stored = processor.floats(stored).astype("<f4").tobytes()
    elif data[place] == INTEGER_CODE and stored:
        stored = processor.integers(stored).astype("<i2").tobytes()
    return shape + stored


def _value(data: memoryview, at: int, processor: Processor) -> np.ndarray | list[str]:
    kind, n_dims = struct.unpack_from("bB", data, at)
    dims = tuple(data[at + 2 : at + 2 + n_dims])
    if len(dims) != n_dims:
        raise ValueError("no room for the dimensions")
    at, count = at + 2 + n_dims, math.prod(dims)
    if count * abs(kind) > len(data) - at:
        raise ValueError("no room for the values")
    if kind == TEXT_CODE:
        return _strings(bytes(data[at : at + count]), dims)
    if count == 0:
        return np.zeros(0)
    if kind == FLOAT_CODE:
        return processor.floats(data, count, at)
    if kind == INTEGER_CODE:
        return processor.integers(data, count, at)
    if kind == BYTE_CODE:
        return np.frombuffer(data, np.int8, count, at)
    raise ValueError(f"unknown kind of parameter {kind}")


def _strings(text: bytes, dims: tuple[int, ...]) -> list[str]:
    """The first dimension is the length of each string."""
    if not text:
        return []
    if not dims:
        return [printable(text)]
    return [printable(text[i : i + dims[0]]) for i in range(0, len(text), dims[0])]


def printable(raw: bytes) -> str:
    """Text up to the first NUL, UTF-8 or else Latin-1, control characters blanked."""
    raw = raw.partition(b"\0")[0]
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return "".join(letter if letter.isprintable() else " " for letter in text).strip()
