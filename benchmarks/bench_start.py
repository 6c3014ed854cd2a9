"""Short commands: ``osteon --help``, ``inspect`` of a small file, a warm ``solve`` of a short take.

Each in processor time too, and the solve once more beside six busy processes: there the clock says
little, and the processor should say the same.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from timing import best_of, busy_machine, children_time

from osteon import synth
from osteon.formats import write

N_BUSY = 6
"""Processes beside the loaded run; chosen: three for each of two cores."""
OSTEON = str(Path(sys.executable).with_name("osteon"))


def run() -> list[dict]:
    empty = [sys.executable, "-c", "pass"]
    with tempfile.TemporaryDirectory() as name:
        take, folder = Path(name) / "walk.c3d", Path(name) / "walk"
        walk = synth.perform(synth.human(), synth.walk(seconds=343 / 120), noise=0.001, seed=1)
        write(walk.recording, take)
        solve = [OSTEON, "solve", str(take), "-o", str(folder)]
        seconds(solve, times=1)  # compiles what is not cached yet
        rows = [
            row("`osteon --help` against an empty Python", [OSTEON, "--help"], empty),
            row("`osteon inspect` of 343 frames", [OSTEON, "inspect", str(take)], empty),
            row("warm `osteon solve` of 343 frames × 41 markers", solve, empty),
        ]
        quiet = rows[-1]["processor"]
        with busy_machine(N_BUSY):
            wall, loaded = seconds(solve)
    name = f"… beside {N_BUSY} busy processes; peer: its processor time without them"
    return [*rows, entry(name, wall, loaded, quiet, quiet / loaded)]


def row(name: str, ours: list[str], peer: list[str]) -> dict:
    wall, processor = seconds(ours)
    other, _ = seconds(peer)
    return entry(name, wall, processor, other, other / wall)


def entry(name: str, wall: float, processor: float, peer: float, ratio: float) -> dict:
    numbers = {"ours": wall, "processor": processor, "peer": peer, "ratio": ratio}
    return {"name": name, **numbers, "unit": "s"}


def seconds(command: list[str], times: int = 5) -> tuple[float, float]:
    """Wall and processor time of a program, each the best of several runs."""
    spent: list[float] = []

    def once() -> None:
        start = children_time()
        subprocess.run(command, check=True, capture_output=True)
        spent.append(children_time() - start)

    return best_of(times, once), min(spent)
