"""What every peer is given, and how it is judged. Needs numpy alone.

The folder holds ``rig.xml``, ``rig.urdf``, ``rig.osim``, ``markers.trc`` (our writers' work) and
``task.npz``: what cameras saw, the truth, marker names. A peer solves frame after frame, each from
the one before; the first, from rest, is not timed. It tries more iterations until its markers are
as near to the truth as any per-frame fit can be, and reports all that it tried.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

CLOSE = 1.005
"""Up to this share of the best possible RMS further iterations are of no use."""
REPEATS = 3
"""Runs of each setting; the fastest counts, as with ours."""
SETTLE = 50
"""Iterations on the first frame, not timed."""

folder = Path(sys.argv[1])
_data = np.load(folder / "task.npz")
observed, truth = _data["observed"], _data["truth"]
names = [str(name) for name in _data["names"]]
best = _data["best"]
"""(n_frames, n_markers, 3) where the least-squares pose of every frame puts the markers."""


def rms(markers: np.ndarray) -> float:
    """Distance of markers (n_frames, n_markers, 3) to the truth, metres."""
    return float(np.sqrt(np.mean(np.sum((markers - truth[: len(markers)]) ** 2, axis=-1))))


def judge(
    solve: Callable[[int], tuple[float, np.ndarray]], iterations: Sequence[int], version: str
) -> None:
    """Print rate and accuracy of every setting, up to the first that reaches the floor.

    ``solve(iterations)`` returns seconds and the markers of all frames that it solved.
    """
    tried = []
    for count in iterations:
        runs = [solve(count) for _ in range(REPEATS)]
        seconds, markers = min(runs, key=lambda run: run[0])
        share = rms(markers) / rms(best[: len(markers)])
        tried.append({"iterations": count, "rate": len(markers) / seconds, "share": share})
        if share < CLOSE:
            break
    print("RESULT " + json.dumps({"version": version, "tried": tried}))


def timed(
    frames: int, work: Callable[[int], None], look: Callable[[], np.ndarray]
) -> tuple[float, np.ndarray]:
    """Seconds that ``work(frame)`` takes for all frames, and the markers that ``look`` then sees.

    Only the judge looks, so looking is not timed.
    """
    seconds, markers = 0.0, []
    for frame in range(frames):
        start = time.process_time()
        work(frame)
        seconds += time.process_time() - start
        markers.append(np.array(look()))
    return seconds, np.array(markers)
