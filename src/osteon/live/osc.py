"""Open Sound Control 1.0: messages and bundles, only the types that poses need."""

import struct
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from osteon.errors import OsteonError
from osteon.typing import Array

Value = int | float | str

BUNDLE = b"#bundle\0"
NOW = struct.pack(">Q", 1)
DEEPEST_BUNDLE = 8
"""Count of bundles within each other. Chosen: more than programs send, and no stack runs out."""
_NUMBERS = {
    "i": struct.Struct(">i"),
    "f": struct.Struct(">f"),
    "d": struct.Struct(">d"),
    "h": struct.Struct(">q"),
}


class BadPacket(OsteonError):
    """A datagram that is no Open Sound Control."""


def message(address: str, *values: Value) -> bytes:
    """Encode one message; whole numbers go as int32, others as float32."""
    told = [_encoded(value) for value in values]
    tags = "," + "".join(tag for tag, _ in told)
    return _text(address) + _text(tags) + b"".join(data for _, data in told)


def bundle(messages: Sequence[bytes]) -> bytes:
    """Encode messages that belong together in one datagram."""
    parts = (struct.pack(">i", len(each)) + each for each in messages)
    return BUNDLE + NOW + b"".join(parts)


def messages_of(packet: bytes, depth: int = 0) -> Iterator[tuple[str, list[Value]]]:
    """Yield every message of a datagram, bundles opened. Raise BadPacket for any other."""
    if not packet.startswith(BUNDLE):
        yield _message(packet)
        return
    if depth >= DEEPEST_BUNDLE:
        raise BadPacket(f"bundles are nested more than {DEEPEST_BUNDLE} deep")
    at = 16
    while at < len(packet):
        size = _number(packet, at, _NUMBERS["i"])
        if not 0 < size <= len(packet) - at - 4:
            raise BadPacket(f"a part claims {size} bytes where {len(packet) - at - 4} are left")
        yield from messages_of(packet[at + 4 : at + 4 + size], depth + 1)
        at += 4 + size


class Form:
    """Packets that are alike but for their numbers.

    A stream says the same words in every frame, and every number has four bytes at a multiple of
    four: with the words known, the numbers are read or written all at once.
    """

    def __init__(self, filled: Callable[[int], bytes]) -> None:
        """From packets with 0, or with 1, for every number."""
        self._said = filled(0)
        self._blank = np.frombuffer(self._said, dtype=">u4")
        self._changing = np.flatnonzero(self._blank != np.frombuffer(filled(1), dtype=">u4"))

    def numbers(self, packet: bytes) -> Array | None:
        """Return the four bytes of every number as ``>u4``; None where other words are said."""
        if len(packet) != len(self._said):
            return None
        words = np.frombuffer(packet, dtype=">u4")
        blank = words.copy()
        blank[self._changing] = 0
        return words[self._changing] if blank.tobytes() == self._said else None

    def packet(self, numbers: Array) -> bytes:
        """Return the datagram with these numbers, all as float32."""
        words = self._blank.copy()
        words.view(">f4")[self._changing] = numbers
        return words.tobytes()


def _encoded(value: Value) -> tuple[str, bytes]:
    """Return the type of a value, and its bytes."""
    if isinstance(value, str):
        return "s", _text(value)
    kind = "i" if isinstance(value, int) else "f"
    return kind, _NUMBERS[kind].pack(value)


def _text(text: str) -> bytes:
    """Ends with at least one zero and on a multiple of four."""
    data = text.encode()
    return data + b"\0" * (4 - len(data) % 4)


def _message(packet: bytes) -> tuple[str, list[Value]]:
    address, at = _read_text(packet, 0)
    tags, at = _read_text(packet, at)
    if not address.startswith("/") or not tags.startswith(","):
        raise BadPacket(f"a message starts with an address and its types, got {packet[:16]!r}")
    values: list[Value] = []
    for tag in tags[1:]:
        if tag == "s":
            value, at = _read_text(packet, at)
        elif tag in _NUMBERS:
            value = _number(packet, at, _NUMBERS[tag])
            at += _NUMBERS[tag].size
        else:
            raise BadPacket(f"type {tag!r} is not one of i, f, d, h, s")
        values.append(value)
    return address, values


def _number(packet: bytes, at: int, code: struct.Struct):
    if at + code.size > len(packet):
        raise BadPacket(f"the datagram ends after {len(packet)} bytes, within a number")
    return code.unpack_from(packet, at)[0]


def _read_text(packet: bytes, at: int) -> tuple[str, int]:
    end = packet.find(b"\0", at)
    if end < 0:
        raise BadPacket(f"the datagram ends after {len(packet)} bytes, within a word")
    try:
        text = packet[at:end].decode()
    except UnicodeDecodeError:
        raise BadPacket(f"a word is no UTF-8: {packet[at:end]!r}") from None
    return text, end + 4 - (end - at) % 4
