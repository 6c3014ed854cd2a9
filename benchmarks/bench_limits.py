"""Joint types and limits, and inverse kinematics within them. Times are of the processor."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from ossature import synth
from ossature.anatomy.limits import LimitOptions, limits
from ossature.maths import quat
from ossature.pose.reach import reach
from ossature.values import Body, Joint, Motion, Skeleton

PAPER_MS = 20.0
"""Mean of paper 001 for 30 bones × 100 samples, on a laptop of 2006."""


def run() -> list[dict]:
    return [*analysis(), *kinematics()]


def analysis() -> list[dict]:
    """30 bones × 100 samples, and ten times as many samples."""
    short, long = (1e3 * fastest(partial(judge, motion(n)), 15) for n in (100, 1000))
    return [
        row("types and limits, 30 bones × 100 samples; peer: paper 001", short, PAPER_MS, "ms"),
        row(
            "the same with 1 000 samples; peer: ten times ours at 100",
            long,
            10 * short,
            "ms",
        ),
    ]


def judge(moving: Motion) -> Skeleton:
    return limits(moving, options=LimitOptions(samples=moving.n_frames))


def kinematics() -> list[dict]:
    """Wrists, ankles and head of a walking human as targets, limits from the walk itself."""
    walk = synth.perform(synth.human(), synth.walk(seconds=34), seed=1).truth.motion
    skeleton = limits(walk)
    places = walk.world()[1]
    ends = [n for n in skeleton.names if n.endswith(("_hand", "_foot")) or n == "head"]
    targets = {name: places[:, skeleton.index(name)] for name in ends}
    start = Motion(skeleton, walk.rotations[:1], walk.root[:1], walk.rate)
    spread = Motion(
        skeleton,
        np.concatenate(
            [walk.rotations[:, :1], np.repeat(start.rotations[:, 1:], len(places), 0)], 1
        ),
        walk.root,
        walk.rate,
    )
    rows = []
    for shape in ("auto", "none"):
        seconds = fastest(
            lambda s=shape: reach(skeleton, targets, start=spread, limits=s, root="held"), 2
        )
        label = "within limits" if shape == "auto" else "without limits"
        rows.append(
            row(
                f"reach {label}, batched; peer: 5 000/s asked for",
                len(places) / seconds,
                5000.0,
                "poses/s",
                more=True,
            )
        )
    return rows


def motion(n: int, n_bones: int = 30) -> Motion:
    rng = np.random.default_rng(n)
    time_ = np.linspace(0, 20, n)[:, None, None]
    turns = rng.uniform(0, 0.6, (n_bones, 3)) * np.sin(rng.uniform(0.5, 2, (n_bones, 3)) * time_)
    turns[:, ::3, 1:] = 0.0  # every third bone is a hinge
    q = np.concatenate([np.broadcast_to(quat.identity(), (n, 1, 4)), quat.exp(turns)], axis=1)
    bodies = [Body("root", None, Joint("free"))]
    bodies += [Body(f"b{i}", "root", Joint(), tip=np.array([0, 0, 0.2])) for i in range(n_bones)]
    return Motion(Skeleton(tuple(bodies)), q, np.zeros((n, 3)), 50.0)


def fastest(work: Callable[[], object], times: int) -> float:
    """Processor seconds of one thread, best of several."""
    work()
    spent = []
    for _ in range(times):
        start = time.thread_time()
        work()
        spent.append(time.thread_time() - start)
    return min(spent)


def row(name: str, ours: float, peer: float, unit: str, *, more: bool = False) -> dict:
    ratio = ours / peer if more else peer / ours
    return {"name": name, "ours": ours, "peer": peer, "ratio": ratio, "unit": unit}
