"""Sources of a stream by the word that names them: a file played at its own rate, UDP, and Qualisys
Track Manager (extra ``qtm``).

Over UDP one datagram is one frame, and nothing is to be remembered between them.
``/osteon/markers`` carries the frame's number, then name, x, y, z of every marker seen;
``/osteon/bodies`` name, x, y, z, qw, qx, qy, qz of every body. Metres, z up.
"""

import asyncio
import contextlib
import math
import queue
import select
import socket
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from osteon.cleaning import prepare
from osteon.errors import BadValue, MissingExtra, NotEnoughData, OsteonError
from osteon.formats import read, to_z_up, turn_points
from osteon.live.osc import BadPacket, Form, Value, message, messages_of
from osteon.live.stream_frames import Dropped, Stream, StreamFrame
from osteon.typing import Array
from osteon.values import Bodies, Recording, Take

MARKERS, BODIES = "/osteon/markers", "/osteon/bodies"
ROW_NUMBERS = {MARKERS: 3, BODIES: 7}
"""Count of numbers behind each name, defined by our messages."""
LARGEST_DATAGRAM = 65_535
"""Bytes. Defined by UDP: its length field holds no more."""
MOST_DATAGRAMS = 100
"""Datagrams that are read before a pose goes out, however many wait. Chosen: nearly a second at 120
per second."""
QTM_PORT = 22223
"""Port of QTM's real-time server, defined by its maker's protocol."""


def open_stream(
    source: str, *, rate: float = 120.0, silence: float = 10.0, subject: str | None = None
) -> Stream:
    """Open a stream from ``udp://HOST:PORT``, ``qtm://HOST[:PORT]`` or a file."""
    scheme, found, address = source.partition("://")
    if not found:
        if not Path(source).exists():
            raise BadValue(
                f"{source!r} is no file; a stream is a file, udp://HOST:PORT or qtm://HOST"
            )
        return Replay(source, subject=subject)
    if scheme == "udp":
        return UdpStream(*split_address(address), rate=rate, silence=silence)
    if scheme == "qtm":
        host, port = split_address(address) if ":" in address else (address, QTM_PORT)
        return QtmStream(host, port, silence=silence)
    raise BadValue(f"{scheme}:// is unknown; a stream is a file, udp://HOST:PORT or qtm://HOST")


def split_address(text: str) -> tuple[str, int]:
    """``host:port`` in its two parts."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or not 0 <= int(port) < 65_536:
        raise BadValue(f"an address is written host:port, such as 127.0.0.1:39539, got {text!r}")
    return host or "127.0.0.1", int(port)


class Replay:
    """Frames of a recording, each when its time has come.

    Parameters
    ----------
    subject
        Whom to play, where the file holds several.
    speed
        How many times faster than recorded; ``inf`` does not wait at all.
    """

    def __init__(
        self, source: str | Path | Take, *, subject: str | None = None, speed: float = 1.0
    ) -> None:
        take = source if isinstance(source, Take) else read(source)
        self._played = _choose_played(take, subject)
        self.problems = self._played.source.problems
        """What was odd about the file and how it was read."""
        self._speed = speed
        self.rate = self._played.rate

    def frames(self) -> Iterator[StreamFrame]:
        played, start = self._played, time.perf_counter()
        rotations = played.rotations if isinstance(played, Bodies) else None
        step = 1.0 / (self.rate * self._speed)
        for number, positions in enumerate(played.positions):
            due = start + number * step
            wait = due - time.perf_counter()
            if wait > 0.0:
                time.sleep(wait)
            turned = None if rotations is None else rotations[number]
            overtaken = 0.0 < step < -wait and number + 1 < len(played.positions)
            yield StreamFrame(number, played.names, positions, turned, due, overtaken)


def _choose_played(take: Take, subject: str | None) -> Recording | Bodies:
    if take.recordings:
        return prepare(take.recording(subject).markers(), repair=False)[0]
    if take.bodies:
        return take.body_poses(subject)
    held = " and ".join(take.kinds) or "nothing"
    raise NotEnoughData(f"a stream needs markers or bodies; the file holds {held}")


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
        if address in ROW_NUMBERS:
            return _frame(address, values)
    return None


def _frame(address: str, values: Sequence[Value]) -> StreamFrame:
    width = 1 + ROW_NUMBERS[address]
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
    if numbers.shape[1] == ROW_NUMBERS[MARKERS]:
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
            self._columns = ROW_NUMBERS[MARKERS if frame.rotations is None else BODIES]
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


class QtmStream:
    """Labelled markers as QTM sends them; ends when QTM hangs up or falls silent."""

    def __init__(self, host: str, port: int = QTM_PORT, *, silence: float = 10.0) -> None:
        self._library = _client_library()
        self._frames: queue.SimpleQueue[StreamFrame | None] = queue.SimpleQueue()
        self._silence = silence
        self._ready: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.rate, self._names, self._turn = 0.0, (), to_z_up("z")
        # its library lives in an event loop; the loop lives in a thread
        threading.Thread(target=self._run, args=(host, port), daemon=True).start()
        problem = self._ready.get()
        if problem is not None:
            raise OsteonError(problem)

    def frames(self) -> Iterator[StreamFrame]:
        while True:
            try:
                frame = self._frames.get(timeout=self._silence)
            except queue.Empty:
                return
            if frame is None:
                return
            yield replace(frame, overtaken=not self._frames.empty())

    def _run(self, host: str, port: int) -> None:
        try:
            asyncio.run(self._listen(host, port))
        except Exception as error:  # the library's own errors share no base class
            self._ready.put(f"QTM at {host}:{port}: {error}")
        self._frames.put(None)

    async def _listen(self, host: str, port: int) -> None:
        gone = asyncio.Event()
        asked = self._library.connect(host, port=port, on_disconnect=lambda reason: gone.set())
        connection = None
        with contextlib.suppress(TimeoutError):
            connection = await asyncio.wait_for(asked, self._silence)
        if connection is None:
            self._ready.put(
                f"QTM at {host}:{port} does not answer; is it running, with real-time output on?"
            )
            return
        self._learn(await connection.get_parameters(parameters=["general", "3d"]))
        self._ready.put(None)
        await connection.stream_frames(components=["3d"], on_packet=self._received)
        await gone.wait()

    def _learn(self, parameters: bytes) -> None:
        """Rate, labels and the upward axis from QTM's settings."""
        settings = ElementTree.fromstring(parameters)
        self.rate = float(settings.findtext(".//General/Frequency") or 100.0)
        self._names = tuple(
            label.findtext("Name") or "" for label in settings.iterfind(".//The_3D/Label")
        )
        up = (settings.findtext(".//The_3D/AxisUpwards") or "+Z").lower()
        if not up.startswith("+"):
            raise OsteonError(f"axis {up.upper()} points up; only +X, +Y and +Z are understood")
        self._turn = to_z_up(up[1:])

    def _received(self, packet: Any) -> None:
        found = packet.get_3d_markers()
        if found is None or len(found[1]) != len(self._names):
            return
        millimetres = np.array([(m.x, m.y, m.z) for m in found[1]]).reshape(-1, 3)
        places = turn_points(1e-3 * millimetres, self._turn)
        self._frames.put(StreamFrame(packet.framenumber, self._names, places))


def _client_library() -> Any:
    try:
        import qtm_rt
    except ImportError:
        raise MissingExtra("qtm_rt", "streaming from QTM", "qtm") from None
    return qtm_rt
