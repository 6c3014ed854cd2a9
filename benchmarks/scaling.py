"""How cost grows with frames, bodies and workers; what large archives will cost.

    python benchmarks/scaling.py            some minutes
    python benchmarks/scaling.py --long     an hour: poses of a million frames as well

Writes the measured sections of docs/numbers/scale.md. Costs are processor time, which a busy
machine hardly changes, each measured in a process of its own so that its peak of memory is its own.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from accuracy_page import put_section, table

import osteon as ost
from osteon import synth
from osteon.articulation import Sums, joints_of_sums
from osteon.batch import BatchOptions, sample_markers, solve_markers
from osteon.maths import quat
from osteon.pipeline import SolveOptions, calibrate_subject, set_of
from osteon.posing import PoseOptions, solve as solve_pose
from osteon.values import Bodies, Recording, Skeleton

PAGE = Path(__file__).parents[1] / "docs" / "numbers" / "scale.md"
FRAMES = (1_000, 10_000, 100_000, 1_000_000)
LONG = 100_000
"""Frames of poses and whole jobs that are only measured when asked."""
BODIES = (4, 10, 25, 50, 100)
ARCHIVES = {"CMU": (2_605, 1_920), "AMASS-size": (11_265, 1_610), "studio": (100_000, 2_400)}
"""Takes, and frames per take at 120 a second: 16 s, 13.4 s (42 h in all) and 20 s on average."""


N_TAKES, N_PEOPLE = 40, 4
"""Of the batch that workers share."""
OSTEON = str(Path(sys.executable).with_name("osteon"))


def recorded(frames: int) -> Recording:
    """A walk of 41 markers, repeated to any length."""
    take = synth.perform(
        synth.human(), synth.walk(seconds=1000 / 120), noise=0.001, skin=1.0, seed=1
    ).recording
    repeats = -(-frames // take.n_frames)
    return replace(take, positions=np.tile(take.positions, (repeats, 1, 1))[:frames])


def calibrated() -> Skeleton:
    take, options = recorded(1000), SolveOptions()
    return calibrate_subject([take], set_of([take], options), options, "S").skeleton


def chain(frames: int, n_bodies: int) -> Bodies:
    """Bodies in a row, each turning about a joint with the next."""
    rng = np.random.default_rng(1)
    turns = np.cumsum(0.05 * rng.normal(size=(frames, n_bodies, 3)), axis=0)
    rotations = quat.exp(turns)
    arm = np.array([0.0, 0.0, 0.15])
    ends = quat.rotate(rotations, arm)
    positions = 2.0 * np.cumsum(ends, axis=1) - ends
    positions += 0.002 * rng.normal(size=positions.shape)
    names = tuple(f"b{i}" for i in range(n_bodies))
    return Bodies(positions, rotations, names, 60.0)


def poses(frames: int) -> dict:
    """Poses alone, the skeleton known."""
    skeleton, take = calibrated(), recorded(frames)
    solve_pose(recorded(200), skeleton)
    start = time.process_time()
    solve_pose(take, skeleton, options=PoseOptions(loss="geman-mcclure"))
    return {"cpu": time.process_time() - start}


def job(frames: int) -> dict:
    """A whole take of a batch: looked at, held against its subject, solved, written."""
    skeleton, options, facts = calibrated(), BatchOptions(), {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sample_markers([recorded(200)], folder, options)
        solve_markers(recorded(200), skeleton, (), folder, options, facts)
        ost.write(recorded(frames), folder / "take.c3d")
        start = time.process_time()
        take = ost.read(folder / "take.c3d").recordings[0]
        sample_markers([take], folder, options)
        looked = time.process_time()
        solve_markers(take, skeleton, (), folder, options, facts)
        return {
            "cpu": time.process_time() - start,
            "look": looked - start,
            "read": (folder / "take.c3d").stat().st_size,
            "sample": (folder / "sample.osteon").stat().st_size,
            "written": {p.name: p.stat().st_size for p in folder.iterdir() if p.suffix != ".c3d"},
        }


def sums(frames: int) -> dict:
    """The statistics of six bodies."""
    bodies = chain(frames, 6)
    Sums.of(chain(200, 6))
    start = time.process_time()
    Sums.of(bodies)
    return {"cpu": time.process_time() - start}


def bodies(n_bodies: int) -> dict:
    """Statistics over 2 000 frames, and the hierarchy found from them."""
    moving = chain(2000, n_bodies)
    Sums.of(chain(200, 6))
    start = time.process_time()
    total = Sums.of(moving)
    counted = time.process_time()
    found = joints_of_sums(total, 60.0)
    right = sum(abs(int(c.child[1:]) - int(c.parent[1:])) == 1 for c in found.connections)
    return {
        "cpu": counted - start,
        "tree": time.process_time() - counted,
        "right": right,
        "of": n_bodies - 1,
    }


def workers(n: int) -> dict:
    """Takes per second of a batch from its start to its end, and while it solves."""
    average = ARCHIVES["CMU"][1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for take in range(N_TAKES):
            length = average * (N_TAKES // 2 + take) // N_TAKES  # from half of it to half more
            person = f"S{take % N_PEOPLE}"
            recording = replace(recorded(length), subject=person)
            ost.write(recording, folder / "in" / person / f"t{take:02d}.c3d")
        start = time.perf_counter()
        command = [OSTEON, "batch", folder / "in", "-o", folder / "out", "--workers", str(n)]
        subprocess.run(command, check=True, capture_output=True)
        wall = time.perf_counter() - start
        text = (folder / "out" / ".batch" / "journal.jsonl").read_text()
        lines = [json.loads(line) for line in text.splitlines()]
    solving = [line for line in lines if line["did"] == "solving"]
    span = max(line["ended"] for line in solving) - min(
        line["ended"] - line["seconds"] for line in solving
    )
    busy = sum(line["seconds"] for line in lines)
    return {"wall": wall, "solving": len(solving) / span, "busy": busy / (n * wall)}


MEASURES = {each.__name__: each for each in (poses, job, sums, bodies, workers)}


def measured(name: str, n: int) -> dict:
    """One measure in a process of its own, with its peak of memory."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, __file__, "--one", name, str(n)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(run.stdout.splitlines()[-1])
    print(name, n, found, flush=True)
    return found


def one(name: str, n: int) -> None:
    found = MEASURES[name](n)
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))


def by_frames(jobs: dict[int, dict], *, long: bool) -> str:
    rows = []
    for n in FRAMES:
        added = measured("sums", n)
        posed = measured("poses", n) if n <= LONG or long else None
        whole = jobs.get(n)
        rows.append(
            [
                f"{n:,}",
                "–" if posed is None else f"{1e6 * posed['cpu'] / n:.0f}",
                "–" if posed is None else f"{posed['peak_mb']:.0f}",
                "–" if whole is None else f"{1e3 * whole['cpu'] / n:.2f}",
                "–" if whole is None else f"{whole['peak_mb']:.0f}",
                f"{1e6 * added['cpu'] / n:.2f}",
                f"{added['peak_mb']:.0f}",
            ]
        )
    head = ["frames", "poses, µs a frame", "MB", "whole job, ms a frame", "MB"]
    return table([*head, "sums of 6 bodies, µs a frame", "MB"], rows)


def by_bodies() -> str:
    rows = []
    for n in BODIES:
        found = measured("bodies", n)
        rows.append(
            [
                n,
                f"{1e6 * found['cpu'] / 2000:.1f}",
                f"{found['tree']:.2f}",
                f"{found['right']} of {found['of']}",
                f"{found['peak_mb']:.0f}",
            ]
        )
    head = ["bodies", "sums, µs a frame", "hierarchy, s", "joints found", "MB"]
    return table(head, rows)


def by_workers() -> str:
    counts = sorted({1, 2, *(2**k for k in range(2, 7) if 2**k <= (os.cpu_count() or 1))})
    rows, single = [], None
    for n in counts:
        found = measured("workers", n)
        single = single or found
        whole = single["wall"] / (n * found["wall"])
        solving = found["solving"] / (n * single["solving"])
        rows.append(
            [n, f"{found['wall']:.1f}", f"{whole:.2f}", f"{solving:.2f}", f"{found['busy']:.2f}"]
        )
    head = ["workers", "whole batch, s", "of workers × single", "… while it solves"]
    return f"""\
{N_TAKES} takes of {N_PEOPLE} people, from half as long as CMU's are on average (16 s at 120 Hz) to
half as long again; `osteon batch` from its start to its end, by the clock.

{table([*head, "share of time at work"], rows)}"""


def archives(jobs: dict[int, dict]) -> str:
    """Plans from the cost of a take: a fixed part and one per frame, by the two shorter jobs."""
    short, long = jobs[1_000], jobs[10_000]

    def line(key) -> tuple[float, float]:
        slope = (key(long) - key(short)) / 9_000
        return key(short) - 1_000 * slope, slope

    cpu, read = line(lambda job: job["cpu"]), line(lambda job: job["read"])
    written = line(lambda job: sum(job["written"].values()) - job["sample"])
    rows = []
    for name, (takes, frames) in ARCHIVES.items():
        hours, inward, outward = (
            takes * (part[0] + part[1] * frames) for part in (cpu, read, written)
        )
        samples = takes * short["sample"]
        rows.append(
            [
                f"{name}, {takes:,} takes of {frames:,} frames",
                f"{hours / 3600:.1f}",
                f"{hours / 3600 / 64:.2f}",
                f"{2 * inward / 1e9:.1f}",
                f"{outward / 1e9:.1f}",
                f"{samples / 1e9:.1f}",
            ]
        )
    head = ["archive", "core hours", "hours on 64 cores", "GB read", "GB written"]
    cost = (
        f"A take costs {cpu[0]:.2f} s and {1e3 * cpu[1]:.2f} ms a frame of one core, "
        f"{read[1] / 1e3:.2f} kB a frame read (twice), {written[0] / 1e6:.2f} MB and "
        f"{written[1] / 1e3:.2f} kB a frame written, {short['sample'] / 1e3:.0f} kB of samples."
    )
    return cost + "\n\n" + table([*head, "GB of samples"], rows)


def main(*, long: bool) -> None:
    jobs = {n: measured("job", n) for n in (1_000, 10_000, *([100_000] if long else []))}
    where = f"`python benchmarks/scaling.py` on {os.cpu_count()} cores, Python "
    where += (
        f"{platform.python_version()}, numpy {np.__version__}; processor time, memory at the peak."
    )
    put_section("By frames", f"{where}\n\n{by_frames(jobs, long=long)}", PAGE)
    put_section("By bodies", by_bodies(), PAGE)
    put_section("By workers", by_workers(), PAGE)
    put_section("Archives", archives(jobs), PAGE)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], int(sys.argv[3]))
    else:
        main(long="--long" in sys.argv)
