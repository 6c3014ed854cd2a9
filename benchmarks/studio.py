"""How long the studio takes for a 20-minute take: to open it, to edit it, to hand out curves.

    python benchmarks/studio.py

Processor seconds of this process, the least of several repeats: wall time on an idle machine.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from osteon import synth
from osteon.edits import Cut, Edit, Fill, Filter, SwapLabels
from osteon.formats import write
from osteon.studio import Asked, OpenTake, Revisions, answer, say_changed, say_opened, warm
from osteon.values import Recording

FRAMES = 144_000
REPEATS = 4


def long_take(folder: Path) -> Path:
    """A walk repeated for 20 minutes, with gaps and noise of its own."""
    short = synth.perform(synth.human(), synth.walk(seconds=20), gaps=0.01, seed=1).recording
    rng = np.random.default_rng(1)
    times = -(-FRAMES // short.n_frames)
    positions = np.concatenate([short.positions] * times)[:FRAMES]
    noisy = positions + rng.normal(scale=5e-4, size=positions.shape)
    path = folder / "long.c3d"
    write(Recording(noisy, short.names, short.rate), path)
    return path


def least(work: Callable[[], object]) -> float:
    """Milliseconds."""
    best = np.inf
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return 1e3 * best


def edited(take: OpenTake, *edits: Edit) -> float:
    """Milliseconds for the last of some edits and its message; all are taken back."""
    best = np.inf
    for _ in range(REPEATS):
        for edit in edits:
            start = time.process_time()
            say_changed(take, take.make(edit, take.revisions.current), undone=False)
            spent = time.process_time() - start
        for _ in edits:
            take.undo(take.revisions.current)
        best = min(best, spent)
    return 1e3 * best


def main() -> None:
    warm()
    with tempfile.TemporaryDirectory() as folder:
        path = long_take(Path(folder))
        print(f"open: {least(lambda: OpenTake(path, path.name, '', Revisions())):.0f} ms")
        take = OpenTake(path, path.name, "", Revisions())
        print(f"tell: {least(lambda: say_opened(take)):.0f} ms")
        overview = Asked("markers", stride=72)
        print(f"thinned picture: {least(lambda: answer(overview, take)):.0f} ms")
        curve = Asked("channel", marker="LTHI", width=1200)
        print(f"curve of the whole take: {least(lambda: answer(curve, take)):.0f} ms")
        cut = Cut(("LTHI",), 70_000, 70_120)
        for method in ("auto", "spline", "rigid", "lowrank"):
            fill = Fill(("LTHI",), 69_900, 70_200, method)
            print(f"fill, {method}: {edited(take, cut, fill):.0f} ms")
        print(f"cut: {edited(take, cut):.0f} ms")
        print(f"filter: {edited(take, Filter(('LTHI',), 69_900, 70_200)):.0f} ms")
        print(f"swap: {edited(take, SwapLabels('LTHI', 'RTHI', 69_900, 70_200)):.0f} ms")


if __name__ == "__main__":
    main()
