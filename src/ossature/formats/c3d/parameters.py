"""The parameter section: named groups of named values."""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ossature.formats.c3d.encoding import Processor

CHARACTERS, BYTES, INTEGERS, FLOATS = -1, 1, 2, 4
"""Kinds of parameter, by the code that stands before the value."""


@dataclass
class Parameters:
    """Values by group and name, both upper case."""

    groups: dict[str, dict[str, np.ndarray | list[str]]] = field(default_factory=dict)
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


def parse_parameters(data: memoryview, start: int, processor: Processor) -> Parameters:
    """All groups from the byte after the section's own four-byte head."""
    found, names, values = Parameters(), {}, []
    at = start
    try:
        while at + 4 <= len(data):
            length, number = struct.unpack_from("bb", data, at)
            if length == 0 or number == 0:
                break
            name = printable(bytes(data[at + 2 : at + 2 + abs(length)])).upper()
            hop_at = at + 2 + abs(length)
            hop = int(processor.integers(data, 1, hop_at)[0]) & 0xFFFF
            if number < 0:
                names[-number] = name
            else:
                values.append((number, name, hop_at + 2))
            if hop == 0:
                break
            at = hop_at + hop
    except (ValueError, struct.error):
        found.broken = f"the parameter section is damaged at byte {at}"
    for number, name, place in values:
        group = found.groups.setdefault(names.get(number, f"#{number}"), {})
        try:
            group.setdefault(name, _value(data, place, processor))
        except (ValueError, struct.error):
            found.broken = f"the parameter {name!r} is damaged at byte {place}"
    return found


def _value(data: memoryview, at: int, processor: Processor) -> np.ndarray | list[str]:
    kind, n_dims = struct.unpack_from("bB", data, at)
    dims = tuple(data[at + 2 : at + 2 + n_dims])
    if len(dims) != n_dims:
        raise ValueError("no room for the dimensions")
    at, count = at + 2 + n_dims, math.prod(dims)
    if count * abs(kind) > len(data) - at:
        raise ValueError("no room for the values")
    if kind == CHARACTERS:
        return _strings(bytes(data[at : at + count]), dims)
    if count == 0:
        return np.zeros(0)
    if kind == FLOATS:
        return processor.floats(data, count, at)
    if kind == INTEGERS:
        return processor.integers(data, count, at)
    if kind == BYTES:
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
