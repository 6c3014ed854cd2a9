"""Qualisys Track Manager in real time, through its own client library (extra ``qtm``)."""

import asyncio
import queue
import threading
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from osteon.errors import MissingExtra, OsteonError
from osteon.formats import to_z_up, turn_points
from osteon.live.stream_frames import StreamFrame

QTM_PORT = 22223
"""Where QTM's real-time server listens, by its maker's protocol."""
METRES_PER_MILLIMETRE = 1e-3


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
        with suppress(TimeoutError):
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
        places = METRES_PER_MILLIMETRE * np.array([(m.x, m.y, m.z) for m in found[1]]).reshape(
            -1, 3
        )
        frame = StreamFrame(packet.framenumber, self._names, turn_points(places, self._turn))
        self._frames.put(frame)


def _client_library() -> Any:
    try:
        import qtm_rt
    except ImportError:
        raise MissingExtra("qtm_rt", "streaming from QTM", "qtm") from None
    return qtm_rt
