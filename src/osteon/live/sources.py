"""Sources of a stream by the word that names them; a file played at its own rate."""

import time
from collections.abc import Iterator
from pathlib import Path

from osteon.cleaning import prepare
from osteon.errors import BadValue, NotEnoughData
from osteon.formats import read
from osteon.live.stream_frames import Stream, StreamFrame
from osteon.live.udp import UdpStream, split_address
from osteon.values import Bodies, Recording, Take


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
        from osteon.live.qtm import QTM_PORT, QtmStream

        host, port = split_address(address) if ":" in address else (address, QTM_PORT)
        return QtmStream(host, port, silence=silence)
    raise BadValue(f"{scheme}:// is unknown; a stream is a file, udp://HOST:PORT or qtm://HOST")


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
