"""Mapping 41 markers onto a figure: the energy's rest solved, and simulated.

The peer of both is the paper's own 2 to 3 frames per second, stated for scale, not measured here;
and mink, which brings the same energy to rest by steps of inverse kinematics, where
``sh benchmarks/make_peers.sh mink`` has installed it.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from timing import best_of

from osteon import synth
from osteon.formats import write
from osteon.human import body_masses, name_parts
from osteon.posing import PoseProblem
from osteon.retargeting import (
    Simulation,
    equilibrium,
    firm_bounds,
    own_attachments,
    posture_weights,
)

PAPER = 3.0
"""Frames per second."""
POSTURE = 1e-4
HERE = Path(__file__).parent


def run() -> list[dict]:
    take = synth.perform(synth.human(), synth.walk(60.0), noise=0.001, seed=1)
    pulls, skeleton = model(take)
    equilibrium(cut(pulls, 100))  # compiles, or loads the compiled kernel
    poses = equilibrium(pulls)
    solved = pulls.n_frames / seconds(lambda: equilibrium(pulls))
    few, masses = cut(pulls, 240), body_masses(skeleton, name_parts(skeleton))
    simulated = few.n_frames / seconds(lambda: Simulation(skeleton, masses)(few))
    rows = [
        row("mapping at equilibrium, 48 freedoms, 41 markers", solved),
        row("mapping by dynamics, 48 freedoms, 41 markers", simulated),
    ]
    peer = ask_mink(take)
    if peer is not None:
        ours = float(np.sqrt(np.mean(poses.marker_error**2)))
        against = f"{peer['name']} ({1e3 * peer['rms']:.2f} mm to our {1e3 * ours:.2f})"
        rows.append(row(f"mapping at equilibrium against {against}", solved, peer["rate"]))
    return rows


def ask_mink(take: synth.Performance) -> dict | None:
    """What mink reports on the same task, or None where it is not installed."""
    python = HERE.parent / ".peers" / "mink" / "bin" / "python"
    if not python.is_file():
        print("mink is not installed: sh benchmarks/make_peers.sh mink", file=sys.stderr)
        return None
    motion, recording = take.truth.motion, take.recording
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(motion.skeleton, folder / "rig.xml")
        np.savez(
            folder / "map.npz",
            names=recording.names,
            targets=recording.positions[:240],
            posture=POSTURE,
            root=motion.root[0],
            turn=motion.rotations[0, 0],
        )
        done = subprocess.run(
            [python, HERE / "peers" / "mink_map.py", folder],
            capture_output=True,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            check=False,
        )
    if done.returncode:
        print(f"mink failed: {done.stderr[-500:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def model(take: synth.Performance):
    skeleton = take.truth.skeleton
    points = own_attachments(skeleton, take.recording.names)
    rig = points.rig(skeleton)
    targets = take.recording.positions[:, [take.recording.index(n) for n in points.names]]
    pulls = PoseProblem(
        rig,
        targets,
        np.ones(targets.shape[:2]),
        posture_weights(rig, POSTURE),
        skeleton.rest,
        firm_bounds(skeleton),
    )
    return pulls, skeleton


def cut(pulls: PoseProblem, n_frames: int) -> PoseProblem:
    return replace(pulls, targets=pulls.targets[:n_frames], weights=pulls.weights[:n_frames])


def seconds(work) -> float:
    """Of the processor, so that other work on the machine does not count; best of three."""
    return best_of(3, work, time.process_time)


def row(name: str, ours: float, peer: float = PAPER) -> dict:
    return {"name": name, "ours": ours, "peer": peer, "ratio": ours / peer, "unit": "frames/s"}


if __name__ == "__main__":
    for each in run():
        print(each)
