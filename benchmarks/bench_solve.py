"""``osteon solve`` from shell to files, and its memory on a long take."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from osteon import synth
from osteon.formats import write

FRAMES = (25_000, 100_000)
"""Of 41 markers: memory must grow no faster than the take."""

WATCH = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""A small parent: a child's peak counts the memory of the process it was forked from."""


def run() -> list[dict]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        short = folder / "short.c3d"
        take = synth.perform(synth.human(), synth.walk(seconds=343 / 120), noise=0.001, seed=1)
        write(take.recording, short)
        _solve(short, folder / "warm")  # compiles what is not cached yet
        seconds, summary, _ = _solve(short, folder / "out")
        nothing = min(_start() for _ in range(5))
        rows = [
            _row("solve 343 frames × 41 markers, shell to files", seconds, nothing, "s"),
            _row("… of which calibration", summary["seconds"]["calibrate"], nothing, "s"),
        ]
        memory = [_memory(folder, n_frames) for n_frames in FRAMES]
        rows += [
            _row(f"memory to solve {n:,} frames × 41 markers", peak, None, "MB")
            for n, peak in zip(FRAMES, memory, strict=True)
        ]
    return rows


def _row(name: str, ours: float, peer: float | None, unit: str) -> dict:
    ratio = float("nan") if peer is None else peer / ours
    return {"name": name, "ours": ours, "peer": peer, "ratio": ratio, "unit": unit}


def _solve(file: Path, folder: Path) -> tuple[float, dict, float]:
    """Seconds, summary.json, and megabytes at the peak."""
    start = time.perf_counter()
    solve = [sys.executable, "-c", "from osteon.cli import main; main()", "solve", str(file)]
    watched = [sys.executable, "-c", WATCH, *solve, "-o", str(folder)]
    run = subprocess.run(watched, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return seconds, summary, float(run.stdout.splitlines()[-1]) / 1024.0


def _start() -> float:
    """What Python itself needs to begin and end: the peer of every command."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import numpy, numba"], check=True)
    return time.perf_counter() - start


def _memory(folder: Path, n_frames: int) -> float:
    file = folder / f"long_{n_frames}.c3d"
    seconds = n_frames / 120.0
    take = synth.perform(synth.human(), synth.exercise(seconds=seconds), noise=0.001, seed=1)
    write(take.recording, file)
    return _solve(file, folder / f"long_{n_frames}")[2]


if __name__ == "__main__":
    for row in run():
        print(row)
