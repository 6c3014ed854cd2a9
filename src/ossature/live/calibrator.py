"""Calibration beside the stream, in a second process that gives way.

Poses have a few milliseconds each; a calibration takes a second. A process of its own holds no
lock of the interpreter, and the system prefers the one that has slept until its frame came.
"""

import os
import pickle
import queue
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import BinaryIO

from ossature.errors import OssatureError
from ossature.values import Bodies, Event, Recording, Skeleton

GIVES_WAY = 10
"""Steps of priority below the poses: a tenth of their share. At the lowest priority a busy machine
would never calibrate at all."""


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """A subject as known so far."""

    skeleton: Skeleton
    advice: tuple[str, ...] = ()
    """Which motion would help most, worst joint first."""
    doubts: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Why there is no calibration yet."""

    sentence: str


class Calibrator:
    """Runs ``calibrated`` in another process, one job at a time."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Recording | Bodies | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Calibrated | Refused] = queue.SimpleQueue()
        self.idle = True
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ossature.live.calibrator"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        # pipes block while the other side is busy; a thread waits instead of the stream
        threading.Thread(target=self._exchange, daemon=True).start()

    def submit(self, frames: Recording | Bodies) -> None:
        self.idle = False
        self._jobs.put(frames)

    def poll(self) -> Calibrated | Refused | None:
        """What the last job brought, once; None while there is nothing new."""
        try:
            result = self._results.get_nowait()
        except queue.Empty:
            return None
        self.idle = True
        return result

    def close(self) -> None:
        self._jobs.put(None)
        self._process.terminate()
        self._process.wait()

    def _exchange(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        with self._process.stdin as jobs, self._process.stdout as results:
            while (job := self._jobs.get()) is not None:
                try:
                    pickle.dump(job, jobs, protocol=5)
                    jobs.flush()
                    self._results.put(pickle.load(results))
                except (OSError, EOFError):  # closed, or killed from outside
                    self._results.put(Refused("the calibrating process has gone"))
                    return


def calibrated(frames: Recording | Bodies) -> Calibrated:
    """The subject behind some frames of a stream."""
    if isinstance(frames, Bodies):
        return _from_bodies(frames)
    from ossature.calibrate.calibration import calibrate, calibrate_blind
    from ossature.calibrate.marker_sets import recognise

    known = recognise(frames.names)
    found = calibrate_blind([frames]) if known is None else calibrate([frames], known[1])
    return Calibrated(found.skeleton, _advice(frames, found.skeleton), found.doubts)


def _from_bodies(bodies: Bodies) -> Calibrated:
    from ossature.joints import joints

    found = joints(bodies)
    sentences = tuple(each.text for each in found.advice)
    return Calibrated(found.skeleton(), sentences, found.warnings, found.events)


def _advice(recording: Recording, skeleton: Skeleton) -> tuple[str, ...]:
    from ossature.joints.coach_motion import advise_motion
    from ossature.pose.solve import solve

    return tuple(each.text for each in advise_motion(solve(recording, skeleton).motion))


def serve(jobs: BinaryIO, results: BinaryIO) -> None:
    """Answer jobs until the pipe ends."""
    while True:
        try:
            job = pickle.load(jobs)
        except EOFError:
            return
        try:
            answer = calibrated(job)
        except OssatureError as error:
            answer = Refused(str(error))
        pickle.dump(answer, results, protocol=5)
        results.flush()


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(GIVES_WAY)
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing that is printed may mix with the answers
    # run as a script this module is "__main__"; pickles must name the one that others import
    from ossature.live.calibrator import serve as serve_by_name

    serve_by_name(sys.stdin.buffer, answers)
