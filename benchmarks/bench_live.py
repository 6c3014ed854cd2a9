"""Five minutes of 41 markers at 120 Hz, replayed in real time on one core, network included.

    python benchmarks/run.py live
    chrt -f 10 python benchmarks/bench_live.py 60    # a minute of it while the machine is at work

The replay comes through a real socket with one datagram in twenty lost and one in twenty late.
Poses go out as VMC. A latency counts from the moment the frame was sent, so time in queues is in
it; receiver, poses and calibration share one core, the sender has another, on which a process is
busy all the time.

A virtual machine's core is not always there. What that costs is measured twice: by a receiver of
the same datagrams that only waits out our median, and by a witness on the same core, a real-time
process that wakes every half millisecond; nothing here can keep the core from it, only the host.
A clock that stands still while the witness oversleeps tells what a core of our own would.
"""

import gc
import multiprocessing
import os
import resource
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
from timing import busy_machine

from osteon import pipeline, synth
from osteon.live import OntoCharacter, Replay, UdpStream, VmcSender, packet_of, run_live
from osteon.live.performance import LiveSession
from osteon.live.stream_frames import StreamFrame
from osteon.retargeting import average_figure
from osteon.values import Marker, Recording, Skeleton, Take

SECONDS, RATE = 300.0, 120.0
EXERCISE, WALK = 20.0, 40.0
LOST, LATE = 0.05, 0.05
BARE = 7200
"""Frames that the bare receiver hears."""
TICK, PUNCTUAL = 0.5e-3, 0.15e-3
"""Seconds between the witness's looks at the clock, and how late it may be by itself."""


def run(seconds: float = SECONDS) -> list[dict[str, Any]]:
    return [*_staged(seconds), *_kept(), *_onto()]


def _kept() -> list[dict[str, Any]]:
    """53 markers of a person who is known, every track broken every 0.5 to 3 s.

    The processor's time for a frame, labels kept and pose found, and the share of samples that
    have their label.
    """
    person = _with_more_markers(synth.human(), 53)
    script = synth.sequence(synth.walk(seconds=10.0, rate=RATE), synth.exercise(20.0, rate=RATE))
    recording = synth.perform(person, script, seed=5, noise=0.001, skin=1.0).recording
    frames, truth = _broken(recording)
    session, took, right, total = LiveSession(RATE, person), [], 0, 0
    gc.disable()
    for frame in frames:
        start = time.thread_time()
        session.feed(frame)
        took.append(time.thread_time() - start)
        session.between_frames()
        given = session.keeper.given
        right += sum(given.get(name, name) == truth[name] for name in frame.names)
        total += len(frame.names)
    gc.enable()
    session.close()
    median, nearly_all = (1e3 * np.quantile(took[int(RATE) :], [0.5, 0.999])).tolist()
    return [
        _row("live: tracks that break, median frame, ms of 8.3", median, 1e3 / RATE, "ms"),
        _row("live: tracks that break, 99.9 % of frames, ms of 8.3", nearly_all, 1e3 / RATE, "ms"),
        _row("live: tracks that break, samples under their label", right / total, 1.0, ""),
    ]


def _onto() -> list[dict[str, Any]]:
    """A person who is known onto a character of other size: a frame's pose and the character's.

    Every ten seconds the person comes as if calibrated anew.
    """
    person = synth.human()
    script = synth.sequence(synth.walk(seconds=30.0, rate=RATE), synth.exercise(30.0, rate=RATE))
    recording = synth.perform(person, script, seed=5, noise=0.001, skin=1.0).recording
    onto = OntoCharacter(average_figure(1.3), RATE, [])
    session, took = LiveSession(RATE, person), []
    gc.disable()
    for number, places in enumerate(recording.positions):
        frame = StreamFrame(number, recording.names, places)
        start = time.thread_time()
        pose = session.feed(frame)
        if number % round(10 * RATE) == 0:
            person = replace(person)
        if pose is not None:
            onto(frame, replace(pose, skeleton=person))
        took.append(time.thread_time() - start)
    gc.enable()
    session.close()
    median, nearly_all = (1e3 * np.quantile(took[int(RATE) :], [0.5, 0.999])).tolist()
    return [
        _row("live: onto a character, median frame, ms of 8.3", median, 1e3 / RATE, "ms"),
        _row("live: onto a character, 99.9 % of frames, ms of 8.3", nearly_all, 1e3 / RATE, "ms"),
    ]


def _with_more_markers(person: Skeleton, n: int) -> Skeleton:
    """The person with further markers, beside those that are there."""
    bodies, more = list(person.bodies), n - len(person.marker_names)
    for index, body in enumerate(bodies):
        if body.markers and more > 0:
            beside = body.markers[0].position + np.array([0.02, 0.03, 0.05])
            new = Marker(f"X{more}", beside)
            bodies[index] = replace(body, markers=(*body.markers, new))
            more -= 1
    return replace(person, bodies=tuple(bodies))


def _broken(recording: Recording) -> tuple[list[StreamFrame], dict[str, str]]:
    """Frames whose tracks come back as others after breaks of up to 0.1 s; each name's label."""
    rng, frames, truth = np.random.default_rng(0), [], {}
    names, hidden = list(recording.names), np.zeros(recording.n_markers, dtype=int)
    left = rng.uniform(0.5, 3.0, recording.n_markers) * RATE
    for number, places in enumerate(recording.positions):
        for column in np.flatnonzero(left < number):
            hidden[column] = number + rng.integers(1, int(0.1 * RATE))
            left[column] = hidden[column] + rng.uniform(0.5, 3.0) * RATE
            names[column] = f"*{number}.{column}"
        truth |= dict(zip(names, recording.names, strict=True))
        seen = np.flatnonzero(hidden <= number)
        frames.append(StreamFrame(number, tuple(names[c] for c in seen), places[seen]))
    return frames, truth


def _staged(seconds: float) -> list[dict[str, Any]]:
    script = synth.sequence(
        synth.exercise(EXERCISE, rate=RATE), synth.walk(seconds=WALK, rate=RATE)
    )
    take = synth.perform(synth.human(), script, seed=5, noise=0.001, skin=1.0, swaps=6)
    recording = _repeated(take.recording, int(seconds * RATE))
    (offline,) = pipeline.solve(Take(recordings=(take.recording,)))
    joints = offline.motion.world()[1]
    seen = _stage(recording)
    settled = [n for n in seen["poses"] if EXERCISE * RATE < n < len(joints)]
    apart = np.array([np.linalg.norm(seen["poses"][n] - joints[n], axis=-1) for n in settled])
    median, most, nearly_all = (1e3 * np.quantile(seen["latency"], [0.5, 0.99, 0.999])).tolist()
    bare = 1e3 * float(np.quantile(_bare(recording, 1e-3 * median), 0.999))
    own = 1e3 * float(np.quantile(seen["own"], 0.999))
    joint_mm, frame_ms = 1e3 * np.median(apart, axis=0), 1e3 / RATE
    return [
        _row("live: median latency, ms of a frame's 8.3 ms", median, frame_ms, "ms"),
        _row("live: 99 % of poses, ms of a frame's 8.3 ms", most, frame_ms, "ms"),
        _row("live: 99.9 % of poses, ms of a frame's 8.3 ms", nearly_all, frame_ms, "ms"),
        _row("live: the same; peer: who only waits out the median", nearly_all, bare, "ms"),
        _row(
            f"live: the same but for {seen['away']:.1f} % of the time, when the core was not there",
            own,
            frame_ms,
            "ms",
        ),
        _row(
            "live: frames without a pose, for a newer one was there already, % of 1",
            seen["overtaken"],
            1.0,
            "%",
        ),
        _row(
            "live: median joint's distance from offline after 20 s, of 10 mm",
            float(np.median(joint_mm)),
            10.0,
            "mm",
        ),
        _row(
            "live: worst joint's median distance from offline after 20 s, of 10 mm",
            float(joint_mm.max()),
            10.0,
            "mm",
        ),
        _row(
            "live: furthest joint of any pose after 20 s, of 100 mm (a wrong pose)",
            1e3 * float(apart.max()),
            100.0,
            "mm",
        ),
        _row("live: growth of memory after the first minute, of 10 MB", seen["grown"], 10.0, "MB"),
    ]


def _row(name: str, ours: float, peer: float, unit: str) -> dict[str, Any]:
    return {
        "name": name,
        "ours": ours,
        "peer": peer,
        "ratio": peer / ours if ours > 0.0 else None,
        "unit": unit,
    }


def _stage(recording: Recording) -> dict[str, Any]:
    stream = UdpStream("127.0.0.1", 0, rate=RATE, silence=3.0)
    vmc = VmcSender("127.0.0.1", 9, rate=RATE)
    poses: dict[int, np.ndarray] = {}
    out = np.full(recording.n_frames, np.nan)
    memory: dict[int, int] = {}

    def listen(frame, pose) -> None:
        vmc.send(pose)
        out[frame.number] = time.perf_counter()
        if frame.number < (EXERCISE + WALK) * RATE:
            poses[pose.number] = pose.joints
        if frame.number % int(5 * RATE) < 3:
            memory[frame.number] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    other = min(os.sched_getaffinity(0))
    with (
        busy_machine(1, [other]),
        _sending(recording, stream.port) as (sent, gone),
        _witness() as pauses,
    ):
        _, summary = run_live(stream, [listen])
    vmc.close()
    after = [value for number, value in memory.items() if number >= 55 * RATE]
    posed = np.isfinite(out)
    sent, gone, out = np.array(sent)[posed], np.array(gone)[posed], out[posed]
    own = out - sent - _stood_still(pauses, out) + _stood_still(pauses, sent)
    return {
        "poses": poses,
        "latency": out - sent,
        "own": own[gone - sent < PUNCTUAL],
        "away": 100.0 * float(_stood_still(pauses, out[-1:])[0]) / (out[-1] - sent[0]),
        "grown": (after[-1] - after[0]) / 1024,
        "overtaken": 100.0 * summary["overtaken"] / summary["frames"],
    }


def _bare(recording: Recording, busy: float) -> np.ndarray:
    """Latencies of a receiver that is busy for so many seconds with each datagram."""
    shorter = Recording(recording.positions[:BARE], recording.names, recording.rate)
    stream = UdpStream("127.0.0.1", 0, rate=RATE, silence=3.0)
    found = []
    with _sending(shorter, stream.port) as (sent, _):
        for frame in stream.frames():
            until = frame.arrived + busy
            while time.perf_counter() < until:
                pass
            if not frame.overtaken:
                found.append(time.perf_counter() - sent[frame.number])
    return np.array(found)


@contextmanager
def _sending(recording: Recording, port: int) -> Iterator[tuple[Any, Any]]:
    """A capture system at work on the first core, and us on the last one alone.

    Gives when the sending of each frame began and when it was done: the host may take the sender's
    core as well. The capture system is another machine: it may not share our core nor our
    interpreter.
    """
    cores = os.sched_getaffinity(0)
    context = multiprocessing.get_context("fork")
    times = tuple(context.RawArray("d", recording.n_frames) for _ in range(2))
    sender = context.Process(target=_send, args=(recording, port, min(cores), *times), daemon=True)
    sender.start()
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield times
    finally:
        os.sched_setaffinity(0, cores)
        sender.terminate()


def _send(recording: Recording, port: int, core: int, sent, gone) -> None:
    os.sched_setaffinity(0, {core})
    rng = np.random.default_rng(0)
    waiting: list[tuple[int, int, bytes]] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for frame in Replay(Take(recordings=(recording,))).frames():
            late = rng.integers(1, 4) if rng.random() < LATE else 0
            if rng.random() >= LOST:
                waiting.append((frame.number + int(late), frame.number, packet_of(frame)))
            for each in [each for each in waiting if each[0] <= frame.number]:
                sent[each[1]] = time.perf_counter()
                out.sendto(each[2], ("127.0.0.1", port))
                gone[each[1]] = time.perf_counter()
                waiting.remove(each)
    time.sleep(0.1)


@contextmanager
def _witness() -> Iterator[list[tuple[float, float]]]:
    """When our core was not there: from, until. Empty where no real-time process is allowed."""
    pauses: list[tuple[float, float]] = []
    near, far = multiprocessing.get_context("fork").Pipe()
    watching = multiprocessing.get_context("fork").Process(target=_watch, args=(far,), daemon=True)
    watching.start()
    try:
        yield pauses
    finally:
        near.send(None)
        pauses += near.recv()
        watching.join()


def _watch(told) -> None:
    """On the core of whoever started it."""
    found: list[tuple[float, float]] = []
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    in_time = os.sched_getscheduler(0) == os.SCHED_FIFO
    gc.disable()
    due = time.perf_counter()
    while not told.poll(0.0 if in_time else None):
        due = max(due, time.perf_counter()) + TICK
        time.sleep(max(0.0, due - time.perf_counter()))
        woken = time.perf_counter()
        if woken - due > PUNCTUAL:
            found.append((due, woken))
    told.send(found)


def _stood_still(pauses: list[tuple[float, float]], times: np.ndarray) -> np.ndarray:
    """Seconds for which the core had been away until each time."""
    if not pauses:
        return np.zeros(len(times))
    edges = np.array(pauses)
    away = np.cumsum(edges[:, 1] - edges[:, 0])
    before = np.concatenate([[0.0], away[:-1]])
    return np.interp(times, edges.ravel(), np.stack([before, away], axis=1).ravel())


def _repeated(recording: Recording, n_frames: int) -> Recording:
    """Forwards and back again, as often as it takes: no jump anywhere."""
    once = np.concatenate([recording.positions, recording.positions[-2:0:-1]])
    times = -(-n_frames // len(once))
    return Recording(np.tile(once, (times, 1, 1))[:n_frames], recording.names, recording.rate)


if __name__ == "__main__":
    for row in run(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS):
        print(row)
