"""Frames over UDP: one datagram, one frame, nothing to remember between them.

``/osteon/markers`` carries the frame's number, then name, x, y, z of every marker seen;
``/osteon/bodies`` name, x, y, z, qw, qx, qy, qz of every body. Metres, z up.
"""

import contextlib
import math
import select
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from osteon.errors import BadValue, OsteonError
from osteon.live.osc import BadPacket, Form, Value, message, messages_of
from osteon.live.stream_frames import Dropped, StreamFrame
from osteon.typing import Array

MARKERS, BODIES = "/osteon/markers", "/osteon/bodies"
LARGEST_DATAGRAM = 65_535
"""Bytes: the length field of UDP holds no more."""
MOST_DATAGRAMS = 100
"""Datagrams that are read before a pose goes out, however many wait. Chosen: nearly a second at 120
per second."""
_COLUMNS = {MARKERS: 3, BODIES: 7}


def packet_of(frame: StreamFrame) -> bytes:
    """Encode a frame as a datagram."""
    numbers, address = frame.positions, MARKERS
    if frame.rotations is not None:
        numbers, address = np.concatenate([frame.positions, frame.rotations], axis=1), BODIES
    values: list[Value] = [frame.number]
    for name, row in zip(frame.names, numbers.tolist(), strict=True):
        if all(map(math.isfinite, row)):
            values += [name, *row]
    return message(address, *values)


def frame_of(packet: bytes) -> StreamFrame | None:
    """Decode the frame of a datagram; None where it carries something else. Raise BadPacket."""
    for address, values in messages_of(packet):
        if address in _COLUMNS:
            return _frame(address, values)
    return None


def _frame(address: str, values: Sequence[Value]) -> StreamFrame:
    width = 1 + _COLUMNS[address]
    if not values or not isinstance(values[0], int) or (len(values) - 1) % width:
        raise BadPacket(f"{address} carries a whole number, then {width} values for each name")
    names = tuple(values[1::width])
    rows = [values[at + 1 : at + width] for at in range(1, len(values), width)]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise BadPacket(f"{address}: names must be words that differ")
    if not all(isinstance(value, float) for row in rows for value in row):
        raise BadPacket(f"{address}: places must be numbers with a fraction")
    numbers = np.array(rows, dtype=float).reshape(len(names), width - 1)
    return _checked(values[0], tuple(map(str, names)), numbers)


def _checked(number: int, names: tuple[str, ...], numbers: Array) -> StreamFrame:
    """Rows that are no numbers, or no rotation, were not seen."""
    with np.errstate(invalid="ignore"):  # some that are no numbers signal it
        numbers = numbers.astype(np.float64)
    bad = np.asarray(~np.isfinite(numbers).all(axis=1))
    if numbers.shape[1] == _COLUMNS[MARKERS]:
        numbers[bad] = np.nan
        return StreamFrame(number, names, numbers)
    length = np.linalg.norm(np.where(bad[:, None], 0.0, numbers[:, 3:]), axis=1)
    numbers[~(length > 0.5)] = np.nan
    turns = numbers[:, 3:] / np.maximum(length, 0.5)[:, None]
    return StreamFrame(number, names, numbers[:, :3], turns)


class Reader:
    """``frame_of`` for a stream: a frame with the names of the one before it takes less time."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._columns, self._form = 0, None

    def frame_of(self, packet: bytes) -> StreamFrame | None:
        """Decode the frame of a datagram; None where it carries something else. Raise BadPacket."""
        found = None if self._form is None else self._form.numbers(packet)
        if found is not None:
            numbers = found[1:].view(">f4").reshape(len(self._names), self._columns)
            return _checked(int(found[:1].view(">i4")[0]), self._names, numbers)
        frame = frame_of(packet)
        if frame is not None and frame.names != self._names:
            self._names, self._form = frame.names, None  # markers that flicker: not worth a form
        elif frame is not None and self._form is None:
            self._columns = _COLUMNS[MARKERS if frame.rotations is None else BODIES]
            self._form = Form(lambda value: _fill(frame, value))
        return frame


def _fill(frame: StreamFrame, value: int) -> bytes:
    """Return the datagram of a frame with this for every number."""
    turns = None if frame.rotations is None else np.full_like(frame.rotations, value)
    return packet_of(StreamFrame(value, frame.names, np.full_like(frame.positions, value), turns))


class UdpStream:
    """Frames as they come in on a port; ends after a silence."""

    def __init__(self, host: str, port: int, *, rate: float, silence: float = 10.0) -> None:
        self.rate, self.silence = rate, silence
        self.dropped = Dropped()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            raise OsteonError(
                f"cannot listen on {host}:{port}: {error.strerror}; choose another port"
            ) from error
        self._socket.setblocking(False)
        self.port = self._socket.getsockname()[1]
        self._reader = Reader()

    def frames(self) -> Iterator[StreamFrame]:
        with self._socket:
            while packets := self._receive():
                arrived = time.perf_counter()
                frames = sorted(self._readable(packets), key=lambda frame: frame.number)
                for frame in frames:
                    yield replace(frame, arrived=arrived, overtaken=frame is not frames[-1])

    def _receive(self) -> list[bytes]:
        """Receive the next datagram and all that wait behind it; none after a silence."""
        packets: list[bytes] = []
        while not packets and select.select([self._socket], [], [], self.silence)[0]:
            with contextlib.suppress(BlockingIOError):  # all read, or what came was damaged
                while len(packets) < MOST_DATAGRAMS:
                    packets.append(self._socket.recv(LARGEST_DATAGRAM))
        return packets

    def _readable(self, packets: list[bytes]) -> Iterator[StreamFrame]:
        for packet in packets:
            try:
                frame = self._reader.frame_of(packet)
            except BadPacket as error:
                self.dropped.add("unreadable datagrams", f"a datagram is left out: {error}")
                continue
            if frame is None:
                addresses = f"neither {MARKERS} nor {BODIES}"
                self.dropped.add("other datagrams", f"a datagram carries {addresses}: left out")
                continue
            if unseen := int(np.isnan(frame.positions[:, 0]).sum()):
                name = frame.names[int(np.argmax(np.isnan(frame.positions[:, 0])))]
                told = f"frame {frame.number}: {name} has no place that is a number: not seen"
                self.dropped.add("places that are no numbers", told, unseen)
            yield frame


def split_address(text: str) -> tuple[str, int]:
    """``host:port`` in its two parts."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or not 0 <= int(port) < 65_536:
        raise BadValue(f"an address is written host:port, such as 127.0.0.1:39539, got {text!r}")
    return host or "127.0.0.1", int(port)
