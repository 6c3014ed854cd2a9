"""[002]'s own measure: 24 000 frames of 12 limbs, normalised and parameterised.

    python benchmarks/run.py axes

The peer is the paper (2.8 GHz P4, 2006): 0.955 s and 37.2 s; and ourselves on half the frames, for
linearity. A ratio above 1: ours is better.
"""

import time

import numpy as np
from timing import best_of

from osteon.anatomy import axes, normalise
from osteon.maths import quat
from osteon.synth import act, exercise, human
from osteon.values import Motion, Skeleton

N_FRAMES, RATE = 24_000, 50.0
LIMBS = ("chest", "head", *(f"{s}_{b}" for s in ("left", "right") for b in (
    "clavicle", "upper_arm", "forearm", "thigh", "shin")))  # fmt: skip
PAPER = {"normalise": 0.955, "axes": 37.2}


def run() -> list[dict]:
    whole = performance(N_FRAMES)
    half = performance(N_FRAMES // 2)
    axes(half)  # compiles, or loads the compiled kernels
    rows = []
    for name, work in (("normalise", lambda m: normalise(m).rig()), ("axes", axes)):
        long, short = seconds(work, whole), seconds(work, half)
        rows.append(row(f"{name}, 24 000 frames × 12 limbs, against [002]", long, PAPER[name]))
        rows.append(row(f"{name}, twice the frames against twice the time", long, 2 * short))
    return rows


def row(name: str, ours: float, peer: float) -> dict:
    return {
        "name": name,
        "ours": 1e3 * ours,
        "peer": 1e3 * peer,
        "ratio": peer / ours,
        "unit": "ms",
    }


def performance(n_frames: int) -> Motion:
    """Twelve limbs on a pelvis, each in turn through its range, and a little noise."""
    motion = act(human(), exercise(n_frames / RATE, rate=RATE), seed=1).motion
    keep = [0, *(motion.skeleton.index(name) for name in LIMBS)]
    skeleton = Skeleton(tuple(motion.skeleton.bodies[i] for i in sorted(keep)))
    rotations = motion.rotations[:, sorted(keep)]
    noise = np.random.default_rng(1).normal(scale=0.005, size=(*rotations.shape[:2], 3))
    return Motion(skeleton, quat.multiply(rotations, quat.exp(noise)), motion.root, RATE)


def seconds(work, motion: Motion) -> float:
    """Processor time, best of three: the work runs on one core."""
    return best_of(3, lambda: work(motion), time.process_time)
