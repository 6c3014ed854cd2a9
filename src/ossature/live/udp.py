"""Frames over UDP: one datagram, one frame, nothing to remember between them.

``/ossature/markers`` carries the frame's number, then name, x, y, z of every marker seen;
``/ossature/bodies`` name, x, y, z, qw, qx, qy, qz of every body. Metres, z up.
"""

import contextlib
import math
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ossature.errors import BadValue, OssatureError
from ossature.live.osc import BadPacket, Value, message, messages_of
from ossature.live.stream import StreamFrame

MARKERS, BODIES = "/ossature/markers", "/ossature/bodies"
LARGEST = 65_535
MOST_AT_ONCE = 100
"""Datagrams that are read before a pose goes out, however many wait."""
_COLUMNS = {MARKERS: 3, BODIES: 7}


def packet_of(frame: StreamFrame) -> bytes:
    """The datagram that carries a frame."""
    numbers, address = frame.positions, MARKERS
    if frame.rotations is not None:
        numbers, address = np.concatenate([frame.positions, frame.rotations], axis=1), BODIES
    values: list[Value] = [frame.number]
    for name, row in zip(frame.names, numbers.tolist(), strict=True):
        if all(map(math.isfinite, row)):
            values += [name, *row]
    return message(address, *values)


def frame_of(packet: bytes) -> StreamFrame | None:
    """The frame of a datagram; None where it carries something else. Raises BadPacket."""
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
    if not all(isinstance(value, float) and math.isfinite(value) for row in rows for value in row):
        raise BadPacket(f"{address}: places must be finite numbers")
    numbers = np.array(rows, dtype=float).reshape(len(names), width - 1)
    rotations = _unit(numbers[:, 3:]) if address == BODIES else None
    return StreamFrame(values[0], tuple(map(str, names)), numbers[:, :3], rotations)


def _unit(rotations: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(rotations, axis=1, keepdims=True)
    if not (length > 0.5).all():
        raise BadPacket("rotations must be unit quaternions, w first")
    return rotations / length


class UdpStream:
    """Frames as they come in on a port; ends after a silence."""

    def __init__(self, host: str, port: int, *, rate: float, silence: float = 10.0) -> None:
        self.rate, self.silence = rate, silence
        self.refused = 0
        """Datagrams that could not be read."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            raise OssatureError(
                f"cannot listen on {host}:{port}: {error.strerror}; choose another port"
            ) from error
        self.port = self._socket.getsockname()[1]

    def frames(self) -> Iterator[StreamFrame]:
        with self._socket:
            while packets := self._received():
                arrived = time.perf_counter()
                frames = sorted(self._readable(packets), key=lambda frame: frame.number)
                for frame in frames:
                    yield replace(frame, arrived=arrived, overtaken=frame is not frames[-1])

    def _received(self) -> list[bytes]:
        """The next datagram and all that wait behind it; none after a silence."""
        packets: list[bytes] = []
        self._socket.settimeout(self.silence)
        with contextlib.suppress(TimeoutError, BlockingIOError):
            while len(packets) < MOST_AT_ONCE:
                packets.append(self._socket.recv(LARGEST))
                self._socket.settimeout(0.0)
        return packets

    def _readable(self, packets: list[bytes]) -> Iterator[StreamFrame]:
        for packet in packets:
            try:
                frame = frame_of(packet)
            except BadPacket:
                self.refused += 1
                continue
            if frame is not None:
                yield frame


def split_address(text: str) -> tuple[str, int]:
    """``host:port`` in its two parts."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or not 0 <= int(port) < 65_536:
        raise BadValue(f"an address is written host:port, such as 127.0.0.1:39539, got {text!r}")
    return host or "127.0.0.1", int(port)
