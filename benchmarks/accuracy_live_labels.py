"""How often labels of a live stream are right whose tracks break, and what a frame takes.

    python benchmarks/accuracy_live_labels.py [TAKE …]

Real takes are streamed as cameras deliver them at their worst, each kind of dirt alone and all at
once (``KINDS``). The person is known by the skeleton of the take's first half. Frames are fed one
after the other; what the second process would do is done at once, and heard as many frames later as
it took. Samples that lie 5 cm and more from their place by the file's own labels do not count.
"""

import argparse
import gc
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from accuracy_label import DATA, MISLABELLED, Truth, truth_of

from osteon.errors import OsteonError
from osteon.live.calibrator import Answer, CalibrationRefused, Job, calibrate_frames
from osteon.live.performance import LiveSession
from osteon.live.stream_frames import StreamFrame

TAKES = (
    "cmu-01/01_01.c3d",
    "nimble-c3d/squat.c3d",
    "kineticstoolkit/kinematics_tennis_serve.c3d",
    "anatomical-truth/opencap-4-squats1/real.trc",
    "gaitalytics/treadmill_events.c3d",
)
"""CMU 01_01 and the serve were looked at while rules were made, the others were not."""
KINDS = ("breaks", "exchanges", "ghosts", "gaps", "limbs", "all")
LEAST, MOST, BREAK = 0.5, 3.0, 0.1
"""Seconds that a track lasts, and that it is lost for at most."""
PAIRS_APART = 1.0
"""Seconds between exchanges of two labels, mean; each lasts ``LEAST`` to ``MOST``."""
EXCHANGE_REACH = 0.15
"""Metres between two markers that may be exchanged."""
GHOSTS, GHOST_SECONDS, GHOST_REACH = 3, 1.0, (0.05, 0.3)
"""Count of points at a time that are no marker, for how long at most, and how far from one."""
GAP_SHARE, LONGEST_GAP = 0.1, 5.0
"""Share of the markers that are hidden at a time, for seconds at most."""
LIMBS = ("hand", "forearm", "foot", "shin", "head")
LIMBS_APART = 3.0
"""Seconds between times at which all markers of a limb are hidden, for ``LEAST`` to ``MOST``."""


class Dirty(NamedTuple):
    """A stream, and what each of its points is: a marker's column; −1: none."""

    frames: list[StreamFrame]
    truth: list[np.ndarray]


class InTurn:
    """The calibrating process's work, done in place and heard when it would be."""

    idle = True

    def __init__(self, rate: float) -> None:
        self._rate, self._left = rate, 0.0
        self._found: Answer | None = None

    def submit(self, job: Job) -> None:
        start = time.thread_time()
        try:
            self._found = calibrate_frames(job)
        except OsteonError as error:
            self._found = CalibrationRefused(str(error))
        self.idle, self._left = False, (time.thread_time() - start) * self._rate

    def poll(self) -> Answer | None:
        self._left -= 1.0
        if self._left > 0.0 or self._found is None:
            return None
        found, self._found, self.idle = self._found, None, True
        return found

    def close(self) -> None:
        pass


class Listened(LiveSession):
    """A session that tells under which label each point of the last frame went."""

    def _with_right_labels(self, number: int, values: np.ndarray) -> np.ndarray:
        self.labelled = super()._with_right_labels(number, values)
        return self.labelled


def soiled(truth: Truth, kind: str, seed: int = 0) -> Dirty:
    """Return a take as a stream; names of points say nothing but where they are a label still."""
    take, rng = truth.take, np.random.default_rng(seed)
    kinds = KINDS[:-1] if kind == "all" else (kind,)
    seen = take.seen.copy()
    if "gaps" in kinds:
        _hide_markers(seen, rng, take.rate)
    if "limbs" in kinds:
        _hide_limbs(seen, truth, rng)
    names = np.array([take.names] * take.n_frames, dtype=object)
    if {"breaks", "gaps", "limbs"} & set(kinds):
        _break_tracks(seen, names, rng, take.rate if "breaks" in kinds else None)
    if "exchanges" in kinds:
        _exchange(names, truth, rng)
    ghosts = _ghosts(truth, rng) if "ghosts" in kinds else {}
    frames, told = [], []
    for number, places in enumerate(take.positions):
        here, extra = np.flatnonzero(seen[number]), ghosts.get(number, [])
        points = np.concatenate([places[here], *(place[None] for _, place in extra)])
        frames.append(
            StreamFrame(number, (*names[number, here], *(name for name, _ in extra)), points)
        )
        told.append(np.concatenate([here, np.full(len(extra), -1)]))
    return Dirty(frames, told)


def _hide_markers(seen: np.ndarray, rng: np.random.Generator, rate: float) -> None:
    n_frames, n_markers = seen.shape
    mean = 0.5 * (LEAST + LONGEST_GAP) * rate
    for _ in range(round(GAP_SHARE * n_frames * n_markers / mean)):
        first = int(rng.integers(int(rate), n_frames))
        last = first + int(rng.uniform(LEAST, LONGEST_GAP) * rate)
        seen[first:last, rng.integers(n_markers)] = False


def _hide_limbs(seen: np.ndarray, truth: Truth, rng: np.random.Generator) -> None:
    take = truth.take
    limbs = [
        [take.index(marker.name) for marker in body.markers if marker.name in take.names]
        for body in truth.whole.bodies
        if body.name.endswith(LIMBS)
    ]
    limbs = [limb for limb in limbs if limb]
    for _ in range(int(take.n_frames / take.rate / LIMBS_APART)):
        first = int(rng.integers(int(take.rate), take.n_frames))
        last = first + int(rng.uniform(LEAST, MOST) * take.rate)
        for column in limbs[rng.integers(len(limbs))]:
            seen[first:last, column] = False


def _break_tracks(
    seen: np.ndarray, names: np.ndarray, rng: np.random.Generator, rate: float | None
) -> None:
    """Give tracks another name whenever they come back; at a ``rate`` they break off besides."""
    n_frames, n_markers = seen.shape
    for column in range(n_markers):
        if rate is not None:
            at = int(rng.uniform(LEAST, MOST) * rate)
            while at < n_frames:
                back = at + int(rng.integers(1, int(BREAK * rate) + 1))
                seen[at:back, column] = False
                at = back + int(rng.uniform(LEAST, MOST) * rate)
        starts = np.flatnonzero(seen[1:, column] & ~seen[:-1, column]) + 1
        for start in starts:
            names[start:, column] = f"*{start}.{column}"


def _exchange(names: np.ndarray, truth: Truth, rng: np.random.Generator) -> None:
    """Exchange names of two markers near each other for a while."""
    take = truth.take
    for _ in range(int(take.n_frames / take.rate / PAIRS_APART)):
        first = int(rng.integers(int(take.rate), take.n_frames))
        apart = np.linalg.norm(take.positions[first, :, None] - take.positions[first], axis=-1)
        near = np.argwhere(np.triu(apart < EXCHANGE_REACH, 1))
        if len(near):
            pair = near[rng.integers(len(near))]
            while_ = slice(first, first + int(rng.uniform(LEAST, MOST) * take.rate))
            names[while_, pair] = names[while_, pair[::-1]]


def _ghosts(truth: Truth, rng: np.random.Generator) -> dict[int, list[tuple[str, np.ndarray]]]:
    """Return points beside markers, that go with them for a while: by frame, name and place."""
    take, found = truth.take, dict[int, list[tuple[str, np.ndarray]]]()
    for slot in range(GHOSTS):
        at = int(take.rate)
        while at < take.n_frames:
            end = at + 1 + int(rng.uniform(0.0, GHOST_SECONDS) * take.rate)
            way = rng.normal(size=3)
            away = rng.uniform(*GHOST_REACH) * way / np.linalg.norm(way)
            beside = take.positions[:, rng.integers(take.n_markers)]
            for frame in range(at, min(end, take.n_frames)):
                if np.isfinite(beside[frame, 0]):
                    found.setdefault(frame, []).append((f"g{slot}.{at}", beside[frame] + away))
            at = end
    return found


class Share(NamedTuple):
    """Of the markers' samples; of the ghosts', and milliseconds a frame."""

    right: float
    wrong: float
    left_open: float
    ghosts: float
    median: float
    nearly_all: float


def streamed(truth: Truth, dirty: Dirty) -> Share:
    take = truth.take
    session = Listened(take.rate, truth.half, calibrator=InTurn(take.rate))  # type: ignore[arg-type]
    took, count, ghosts = [], np.zeros(3), np.zeros(2)
    gc.disable()
    for frame, own in zip(dirty.frames, dirty.truth, strict=True):
        start = time.thread_time()
        session.feed(frame)
        took.append(time.thread_time() - start)
        session.between_frames()
        said = _said(session, frame.positions)
        for marker, label in zip(own, said, strict=True):
            if marker < 0:
                ghosts += [bool(label), 1]
            elif truth.error[frame.number, marker] < MISLABELLED:
                count[1 if not label else 0 if label == take.names[marker] else 2] += 1
    gc.enable()
    session.close()
    right, left, wrong = (count / count.sum()).tolist()
    median, nearly_all = (1e3 * np.quantile(took[int(take.rate) :], [0.5, 0.999])).tolist()
    return Share(right, wrong, left, float(ghosts[0] / max(ghosts[1], 1)), median, nearly_all)


def _said(session: Listened, points: np.ndarray) -> list[str]:
    """Return the label under which each point goes on; empty where that is no label."""
    worn, names = session.skeleton.marker_names, session.memory.names  # type: ignore[union-attr]
    label = {
        place.tobytes(): name
        for name, place in zip(names, session.labelled, strict=True)
        if name in worn and np.isfinite(place[0])
    }
    return [label.get(place.tobytes(), "") for place in points]


def rows(path: str) -> Iterator[str]:
    truth = truth_of(DATA / path)
    for kind in KINDS:
        share = streamed(truth, soiled(truth, kind))
        told = " ".join(
            f"{name} {100.0 * value:.2f}"
            for name, value in zip(Share._fields[:4], share[:4], strict=True)
        )
        yield (
            f"{path} {kind}: {told} %, {share.median:.2f} and {share.nearly_all:.2f} "
            f"of {1e3 / truth.take.rate:.1f} ms"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("takes", nargs="*")
    for path in parser.parse_args().takes or TAKES:
        for row in rows(path):
            print(row, flush=True)


if __name__ == "__main__":
    main()
