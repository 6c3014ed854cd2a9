"""Marker inverse kinematics: 37 degrees of freedom, 40 markers, 2 mm noise, one thread."""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from timing import best_of

from oracles.pose_oracle import solve_reference
from osteon.posing import PoseProblem, smooth_frames, solve_frames
from pose_rigs import performance

N_FRAMES, N_DENSE_FRAMES, N_SMOOTH_FRAMES = 20_000, 200, 5_000


def run() -> list[dict]:
    rig, rotations, root, _, observed = performance(N_FRAMES, np.random.default_rng(1), noise=0.002)
    problem = PoseProblem(rig, observed)
    poses = solve_frames(problem)  # compiles, or loads the compiled kernel
    ours, ours_processor = rate(lambda: solve_frames(problem), N_FRAMES)
    few = slice(N_DENSE_FRAMES)
    start = rotations[few], root[few]
    dense, _ = rate(
        lambda: solve_reference(rig, observed[few], *start, n_iterations=5), N_DENSE_FRAMES
    )
    sweeps = ours * (poses.iterations.mean() + 1.0)
    dense_sweeps = 5.0 * dense
    clip = PoseProblem(rig, observed[:N_SMOOTH_FRAMES])
    solved = solve_frames(clip)
    smooth, smooth_processor = rate(
        lambda: smooth_frames(clip, solved, rate=120.0), N_SMOOTH_FRAMES
    )
    return [
        row("poses against dense Gauss–Newton in numpy (5 iterations)", ours, dense, "frames/s")
        | {"processor": ours_processor},
        row("pose iterations against dense numpy", sweeps, dense_sweeps, "iterations/s"),
        row("whole-clip smoother against dense numpy per frame", smooth, dense, "frames/s")
        | {"processor": smooth_processor},
    ]


def row(name: str, ours: float, peer: float, unit: str) -> dict:
    return {"name": name, "ours": ours, "peer": peer, "ratio": ours / peer, "unit": unit}


def rate(work, n_frames: int) -> tuple[float, float]:
    """Frames per second, best of five, by the clock and by the processor."""
    wall, processor = best_of(5, work), best_of(5, work, time.process_time)
    return n_frames / wall, n_frames / processor
