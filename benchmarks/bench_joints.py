"""Speed of the joint stage: all pairs of 16 bodies, one live frame, an hour of 50 bodies."""

import resource
import time
from collections.abc import Callable

import numpy as np

from osteon.articulation import JointStatistics, fit_pairs
from osteon.maths import quat

N_BODIES, N_FRAMES = 16, 5400


def best(*works: Callable[[], object], repeats: int = 15) -> list[float]:
    """Shortest of several runs of each, seconds; taken in turns, so that all meet the same load."""
    times = [[] for _ in works]
    for _ in range(repeats):
        for work, taken in zip(works, times, strict=True):
            start = time.perf_counter()
            work()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def poses(n_frames: int, n_bodies: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rotations = quat.normalise(rng.standard_normal((n_frames, n_bodies, 4)))
    return rng.standard_normal((n_frames, n_bodies, 3)), rotations


def all_pairs() -> list[dict]:
    positions, rotations = poses(N_FRAMES, N_BODIES)
    names = tuple(f"b{i}" for i in range(N_BODIES))
    rows = np.random.default_rng(1).standard_normal((3 * N_FRAMES, 4 * N_BODIES))

    def ours() -> None:
        statistics = JointStatistics.empty(names)
        statistics.accumulate(positions, rotations)
        fit_pairs(statistics)

    ours()
    taken, bare = best(ours, lambda: rows.T @ rows)
    what = "120 joints of 16 bodies x 5400 frames"
    matrices = quat.to_matrix(rotations)
    (stacked,) = best(lambda: _pair_by_pair(matrices, positions), repeats=1)
    return [
        _row(f"{what} vs bare A.T @ A", taken, bare, 1e3, "ms"),
        _row(f"{what} vs stacked least squares pair by pair", taken, stacked, 1e3, "ms"),
    ]


def _pair_by_pair(matrices: np.ndarray, positions: np.ndarray) -> None:
    """The route of SCoRE as libraries write it: one stacked least-squares problem per pair."""
    for i in range(N_BODIES):
        for j in range(i + 1, N_BODIES):
            stacked = np.concatenate([matrices[:, i], -matrices[:, j]], axis=-1)
            apart = positions[:, j] - positions[:, i]
            np.linalg.lstsq(stacked.reshape(-1, 6), apart.reshape(-1), rcond=None)


def live_frame() -> dict:
    positions, rotations = poses(2000, N_BODIES)
    statistics = JointStatistics.empty(tuple(f"b{i}" for i in range(N_BODIES)))
    statistics.update(positions[0], rotations[0])

    def stream() -> None:
        for p, q in zip(positions, rotations, strict=True):
            statistics.update(p, q)

    return _row("one live frame of 16 bodies (limit 50)", best(stream)[0] / 2000, 50e-6, 1e6, "us")


def one_hour() -> list[dict]:
    """432 000 frames of 50 bodies in pieces of 10 s, as a file or a stream gives them."""
    positions, rotations = poses(1200, 50)
    statistics = JointStatistics.empty(tuple(f"b{i}" for i in range(50)))
    statistics.accumulate(positions, rotations)
    marks = []
    start = time.perf_counter()
    for piece in range(360):
        statistics.accumulate(positions, rotations)
        if piece in (179, 359):
            marks.append(time.perf_counter() - start)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return [
        _row(
            "1 h at 120 Hz x 50 bodies vs twice the first half hour",
            marks[1],
            2 * marks[0],
            1.0,
            "s",
        ),
        _row("peak memory (limit 4 GB)", memory, 4e9, 1e-9, "GB"),
    ]


def _row(name: str, ours: float, peer: float, scale: float, unit: str) -> dict:
    return {
        "name": name,
        "ours": ours * scale,
        "peer": peer * scale,
        "ratio": peer / ours,
        "unit": unit,
    }


def run() -> list[dict]:
    return [*all_pairs(), live_frame(), *one_hour()]


if __name__ == "__main__":
    for result in run():
        print(
            f"{result['name']}: ours {result['ours']:.3g} {result['unit']}, "
            f"peer {result['peer']:.3g}, ratio {result['ratio']:.3g}"
        )
