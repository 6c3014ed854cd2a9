"""Marker inverse kinematics: 37 degrees of freedom, 40 markers, 2 mm noise, one thread.

With it the share of the arithmetic limit: operations of an iteration, counted off the kernels as
multiplications and additions (a division or a root counts as one), against a loop of nothing but
fused multiply-adds in registers, in the same run.
"""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from timing import best_of

from oracles.pose_oracle import solve_reference
from osteon.maths import FAST_MATH, kernel
from osteon.posing import PoseProblem, RigTree, smooth_frames, solve_frames
from pose_rigs import performance

N_FRAMES, N_DENSE_FRAMES, N_SMOOTH_FRAMES = 20_000, 200, 5_000
N_ROUNDS, N_SUMS = 2_000_000, 128
"""Of the bare loop: 16 vectors of eight sums each, so that none waits for another."""


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
    sweeps = ours * poses.iterations.mean()
    dense_sweeps = 5.0 * dense
    clip = PoseProblem(rig, observed[:N_SMOOTH_FRAMES])
    solved = solve_frames(clip)
    smooth, smooth_processor = rate(
        lambda: smooth_frames(clip, solved, rate=120.0), N_SMOOTH_FRAMES
    )
    limit = 2.0 * N_SUMS * N_ROUNDS / best_of(5, lambda: bare(N_ROUNDS), time.process_time)
    evaluation, whole = operations(rig.tree)
    spent = ours_processor * (poses.iterations.mean() * whole + evaluation)
    return [
        row("operations of pose iterations against bare multiply-adds", spent, limit, "flop/s")
        | {"ratio": spent / limit},
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


@kernel(fastmath=FAST_MATH)
def bare(n_rounds):
    sums = np.zeros(N_SUMS)
    for _ in range(n_rounds):
        for k in range(N_SUMS):
            sums[k] = 0.999 * sums[k] + 0.001
    return sums.sum()


def operations(tree: RigTree) -> tuple[float, float]:
    """Of one evaluation of one frame, and of one iteration with its evaluation, kernel by kernel of
    ``normal_equations`` and the factors."""
    bodies, markers, dofs = tree.n_bodies, tree.n_markers, tree.n_dofs
    above = tree.dof_depth.astype(float)
    forward, places, moments = 87 * bodies, 28 * markers, 54 * markers + 16 * (bodies - 1)
    pulls, costs, screws = 54 * bodies, markers + bodies, 24 * (dofs - 3)
    normal = 60 * dofs + 11 * (above + 1).sum() + 17 * dofs
    factors = 5 * dofs + (above * (above + 1)).sum() + 3 * above.sum()
    step = dofs + 2 * above.sum() + 50 * bodies + 7 * dofs
    evaluation = float(forward + places + pulls + costs)
    return evaluation, evaluation + float(moments + screws + normal + factors + step)
