"""A stream from its beginning to its end: poses to everybody who listens, and what came of it."""

import gc
import struct
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from osteon.live.performance import LivePose, LiveSession
from osteon.live.sources import Replay, UdpStream
from osteon.live.stream_frames import Say, Stream, StreamFrame
from osteon.threads import one_thread
from osteon.typing import unheard
from osteon.values import Skeleton

Listener = Callable[[StreamFrame, LivePose], None]

SWEEP_FRAMES = 120
"""Frames between two sweeps for garbage. Chosen: a second at 120 per second."""
YOUNG_GENERATION = 1
"""Code of what is swept, defined by Python's ``gc``: all that came since the last sweeps. Older
objects would take milliseconds."""
WAKING = Path("/dev/cpu_dma_latency")
"""Where Linux is told how many microseconds a core may take to wake; as long as it is held open."""
KEPT_LATENCIES = 100_000
"""Latencies that are kept for the summary; older ones are thinned to every second. Chosen by
memory: 0.8 MB."""


@dataclass(slots=True)
class Latencies:
    """Seconds from a frame's arrival to its pose, in bounded memory."""

    _kept: array = field(default_factory=lambda: array("d"))
    _stride: int = 1
    _count: int = 0

    def add(self, seconds: float) -> None:
        if self._count % self._stride == 0:
            self._kept.append(seconds)
        self._count += 1
        if len(self._kept) > KEPT_LATENCIES:
            self._kept, self._stride = self._kept[::2], 2 * self._stride

    def milliseconds(self) -> dict[str, float]:
        if not self._kept:
            return {}
        median, most, nearly_all = (1e3 * np.quantile(self._kept, [0.5, 0.99, 0.999])).tolist()
        return {"median": median, "99 %": most, "99.9 %": nearly_all}


@one_thread()
def run_live(
    stream: Stream,
    listeners: Sequence[Listener] = (),
    *,
    skeleton: Skeleton | None = None,
    say: Say = unheard,
) -> tuple[Skeleton | None, dict[str, Any]]:
    """Pose a stream until it ends.

    Returns the subject as known at the end and a summary for ``summary.json``.
    """
    session, latencies = LiveSession(stream.rate, skeleton, say), Latencies()
    if isinstance(stream, UdpStream):  # what cannot be made frames of is told with the rest
        stream.dropped = session.dropped
    for problem in stream.problems if isinstance(stream, Replay) else ():
        say(problem)
    poses = unsettled = 0
    known = skeleton
    try:
        with _sweeping_by_hand(), _awake():
            for frame in stream.frames():
                pose = session.feed(frame)
                if pose is not None:
                    for listener in listeners:
                        listener(frame, pose)
                    latencies.add(time.perf_counter() - frame.arrived)
                    poses, known = poses + 1, pose.skeleton
                    unsettled += not pose.settled
                session.between_frames()
                if session.arrivals.received % SWEEP_FRAMES == 0:
                    gc.collect(YOUNG_GENERATION)
    except KeyboardInterrupt:  # the usual end of a live session
        say("stopped")
    finally:
        session.close()
    arrivals = session.arrivals
    summary = {
        "frames": arrivals.received,
        "rate": stream.rate,
        "poses": poses,
        "unsettled": unsettled,
        "late": arrivals.late,
        "overtaken": arrivals.overtaken,
        "missing": arrivals.missing,
        "labels_kept": session.keeper.n_given,
        "dropped": dict(session.dropped.counts),
        "calibrations": session.calibrations,
        "latency_ms": latencies.milliseconds(),
        "advice": list(session.advice),
    }
    return known, summary


@contextmanager
def _sweeping_by_hand() -> Iterator[None]:
    """No garbage is looked for in the middle of a frame, and never among what is there already."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


@contextmanager
def _awake() -> Iterator[None]:
    """No core falls asleep between two frames, where we may ask for that.

    To wake takes a tenth of a millisecond, and on a virtual machine as long as its host likes.
    """
    with ExitStack() as held:
        with suppress(OSError):  # not Linux, or not allowed to
            held.enter_context(WAKING.open("r+b", buffering=0)).write(struct.pack("i", 0))
        yield
