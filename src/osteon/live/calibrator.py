"""Calibration beside the stream, in a second process that gives way.

Poses have a few milliseconds each; a calibration takes seconds. A process of its own holds no lock
of the interpreter, and one that runs only when nothing else wants the core is put aside at once
when a frame comes.
"""

import contextlib
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from typing import BinaryIO

from osteon.errors import OsteonError
from osteon.values import Bodies, Event, Recording, Skeleton

PATIENCE_SECONDS = 15.0
"""Seconds that a process which runs only on an idle core may take for a job; on a machine that is
never idle, another one takes its place. Chosen: several times what a calibration takes."""
WHEN_IDLE = "when-idle"
SIZE = struct.Struct("<Q")
"""Goes before every answer."""
PRIORITY_STEPS = 10
"""Count of steps of priority below the poses, where a process cannot run on an idle core only.
Chosen: half of what systems offer."""


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """A subject as known so far."""

    skeleton: Skeleton
    advice: tuple[str, ...] = ()
    """Which motion would help most, worst joint first."""
    doubts: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class CalibrationRefused:
    """Why there is no calibration yet."""

    sentence: str


@dataclass(frozen=True, slots=True, eq=False)
class Unlabelled:
    """Frames whose names say nothing, of somebody who is known."""

    skeleton: Skeleton
    frames: Recording


@dataclass(frozen=True, slots=True)
class FoundLabels:
    """Whose marker each point is, by the point's name in the stream."""

    given: dict[str, str]


Job = Recording | Bodies | Unlabelled
Answer = Calibrated | CalibrationRefused | FoundLabels


class Calibrator:
    """Runs ``calibrate_frames`` in another process, one job at a time."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.idle = True
        self._closed = False
        self._process = _started(when_idle=True)
        # pipes block while the other side is busy; a thread waits instead of the stream
        threading.Thread(target=self._exchange, daemon=True).start()

    def submit(self, frames: Job) -> None:
        self.idle = False
        self._jobs.put(frames)

    def poll(self) -> Answer | None:
        """What the last job brought, once; None while there is nothing new.

        Takes milliseconds where there is something: it is unpacked here, when the stream has time,
        and not by the thread, which would take the interpreter away in the middle of a frame.
        """
        try:
            result = self._results.get_nowait()
        except queue.Empty:
            return None
        self.idle = True
        return (
            CalibrationRefused("the calibrating process has gone")
            if result is None
            else pickle.loads(result)
        )

    def close(self) -> None:
        self._closed = True
        self._jobs.put(None)
        self._process.terminate()
        self._process.wait()

    def _exchange(self) -> None:
        when_idle = True
        while (job := self._jobs.get()) is not None:
            starved = threading.Timer(PATIENCE_SECONDS, self._process.kill)
            if when_idle:
                starved.start()
            answer = _answer(self._process, job)
            starved.cancel()
            if answer is None and when_idle and not self._closed:
                when_idle = False
                _end(self._process)
                self._process = _started(when_idle=False)
                answer = _answer(self._process, job)
            self._results.put(answer)
        _end(self._process)


def _started(*, when_idle: bool) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "osteon.live.calibrator", *([WHEN_IDLE] if when_idle else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # threads of the algebra would be born before the process can give way
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
    )


def _answer(process: subprocess.Popen, job: Job) -> bytes | None:
    """What a process makes of a job, packed; None where it was killed meanwhile."""
    assert process.stdin is not None and process.stdout is not None
    try:
        pickle.dump(job, process.stdin, protocol=5)
        process.stdin.flush()
        (size,) = SIZE.unpack(process.stdout.read(SIZE.size))
        answer = process.stdout.read(size)
    except (OSError, struct.error):
        return None
    return answer if len(answer) == size else None


def _end(process: subprocess.Popen) -> None:
    with contextlib.suppress(OSError), process:  # what it did not read is lost
        process.terminate()


def calibrate_frames(frames: Job) -> Calibrated | FoundLabels:
    """Calibrate the subject behind some frames of a stream; or find one who is known in them."""
    if isinstance(frames, Bodies):
        return _from_bodies(frames)
    if isinstance(frames, Unlabelled):
        return _find_labels(frames)
    from osteon.calibration import calibrate, calibrate_blind
    from osteon.cleaning import prepare
    from osteon.human import recognise
    from osteon.keypoints import calibrate_keypoints

    known = recognise(frames.names)
    said = replace(frames, source=replace(frames.source, up_known=True))  # streams are z up
    # labels were put right as frames came; what they skip between them would look like spikes
    whole, _ = prepare(said, {} if known is None else known[1], repair=False)
    if known is None:
        found = calibrate_blind([whole])
    elif known[0].keypoints:
        found = calibrate_keypoints([whole], known[1], set_name=known[0].name, in_order=False)
    else:
        found = calibrate([whole], known[1])
    told = (*whole.source.problems, *found.doubts)
    return Calibrated(found.skeleton, _advice(whole, found.skeleton), told)


def _find_labels(job: Unlabelled) -> FoundLabels:
    from osteon.labelling import cut_pieces, find_first, sure_chains, wearer_of

    chains = sure_chains(cut_pieces(job.frames))
    start = find_first(wearer_of(job.skeleton), chains)
    given = {}
    for label, point in zip(start.wearer.names, start.answer.points, strict=True):
        if point >= 0:
            latest = chains.members(int(start.chains[point]))[-1]
            given[job.frames.names[chains.pieces.column[latest]]] = label
    return FoundLabels(given)


def _from_bodies(bodies: Bodies) -> Calibrated:
    from osteon.articulation import joints

    found = joints(bodies)
    sentences = tuple(each.text for each in found.advice)
    return Calibrated(found.skeleton(), sentences, found.warnings, found.events)


def _advice(recording: Recording, skeleton: Skeleton) -> tuple[str, ...]:
    from osteon.articulation import advise_motion
    from osteon.posing import solve

    return tuple(each.text for each in advise_motion(solve(recording, skeleton).motion))


def give_way(*, when_idle: bool) -> None:
    """Let the poses go first; or everybody."""
    if hasattr(os, "sched_setscheduler"):  # where poses run in real time, children would as well
        policy = os.SCHED_IDLE if when_idle else os.SCHED_BATCH
        os.sched_setscheduler(0, policy, os.sched_param(0))
    if hasattr(os, "nice"):
        os.nice(PRIORITY_STEPS)


def serve(jobs: BinaryIO, results: BinaryIO) -> None:
    """Answer jobs until the pipe ends."""
    while True:
        try:
            job = pickle.load(jobs)
        except EOFError:
            return
        try:
            answer = calibrate_frames(job)
        except OsteonError as error:
            answer = CalibrationRefused(str(error))
        except Exception as error:  # whatever a stream brought: the next frames may be better
            answer = CalibrationRefused(
                f"these frames cannot be calibrated: {type(error).__name__}: {error}"
            )
        packed = pickle.dumps(answer, protocol=5)
        results.write(SIZE.pack(len(packed)) + packed)
        results.flush()


if __name__ == "__main__":
    give_way(when_idle=WHEN_IDLE in sys.argv)
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing that is printed may mix with the answers
    # run as a script this module is "__main__"; pickles must name the one that others import
    from osteon.live.calibrator import serve as serve_by_name

    serve_by_name(sys.stdin.buffer, answers)
