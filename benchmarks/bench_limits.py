"""Joint types and limits, and inverse kinematics within them. Times are of the processor."""

import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from accuracy_coupled import ENDS, cut
from accuracy_limits import DATA, MOTIONS
from timing import best_of

from osteon import synth
from osteon.formats import read, write
from osteon.joint_limits import LimitOptions, limits
from osteon.maths import quat
from osteon.posing import reach
from osteon.values import Body, Joint, Marker, Motion, Skeleton

HERE = Path(__file__).parent

PAPER_MS = 20.0
"""Mean of [001] for 30 bones × 100 samples, on a laptop of 2006."""


def run() -> list[dict]:
    return [*analysis(), *kinematics(), *real_motions()]


def analysis() -> list[dict]:
    """30 bones × 100 samples, and ten times as many samples."""
    short, long = (1e3 * fastest(partial(judge, motion(n)), 200) for n in (100, 1000))
    return [
        row("types and limits, 30 bones × 100 samples; peer: [001]", short, PAPER_MS, "ms"),
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
    poses = np.repeat(walk.rotations[:1], len(places), axis=0)
    poses[:, 0] = walk.rotations[:, 0]
    start = Motion(skeleton, poses, walk.root, walk.rate)
    work = {
        shape: partial(reach, skeleton, targets, start=start, limits=shape, root="held")
        for shape in ("auto", "cone", "none")
    }
    within, cones, without = (len(places) / fastest(each, 5) for each in work.values())
    ours = f"reach within limits, {1e3 * work['auto']().error.mean():.1f} mm left"
    rows = [
        row(f"{ours}; peer: 5 000/s asked for", within, 5000.0, "poses/s", more=True),
        row("reach within cones; peer: the same", cones, 5000.0, "poses/s", more=True),
        row("reach without limits; peer: the same", without, 5000.0, "poses/s", more=True),
    ]
    for peer, rig in (("mink", "rig.xml"), ("pink", "rig.urdf")):
        found = peer_poses(peer, rig, skeleton, ends, start, targets)
        if found is not None:
            name = f"{ours}; peer, no cones: {found['name']}, {1e3 * found['left']:.1f} mm left"
            rows.append(row(name, within, 1.0 / found["seconds"], "poses/s", more=True))
    return rows


def real_motions() -> list[dict]:
    """Hands, feet and head of CMU motions as targets, within limits of the motion itself, from its
    first pose; and of one half within limits of the other, from the bind pose. The slowest of all.
    """
    own, others = [], []
    for name in (each for each in MOTIONS if (DATA / each).exists()):
        motion = read(DATA / name).motion()
        half = motion.n_frames // 2
        first, second = cut(motion, 0, half), cut(motion, half, None)
        own.append(poses_a_second(limits(motion), motion, motion.rotations[0]))
        for known, asked in ((first, second), (second, first)):
            others.append(poses_a_second(limits(known), asked, quat.identity()))
    told = (
        ("reach within a CMU motion's own limits", own),
        ("reach within limits of the motion's other half, from the bind pose", others),
    )
    return [
        row(
            f"{name}, slowest of {len(speeds)}; peer: 5 000/s asked for",
            min(speeds),
            5000.0,
            "poses/s",
            more=True,
        )
        for name, speeds in told
        if speeds
    ]


def poses_a_second(skeleton: Skeleton, motion: Motion, pose: np.ndarray) -> float:
    places = motion.world()[1]
    targets = {n: places[:, skeleton.index(n)] for n in ENDS if n in skeleton.names}
    poses = np.array(np.broadcast_to(pose, motion.rotations.shape))
    poses[:, 0] = motion.rotations[:, 0]
    start = replace(motion, skeleton=skeleton, rotations=poses)
    work = partial(reach, skeleton, targets, start=start, root="held")
    return motion.n_frames / fastest(work, 3)


def peer_poses(
    peer: str,
    rig: str,
    skeleton: Skeleton,
    ends: list[str],
    start: Motion,
    targets: dict[str, np.ndarray],
) -> dict | None:
    """What a peer needs for the same targets; None where ``make_peers.sh`` did not make it."""
    python = HERE.parent / ".peers" / peer / "bin" / "python"
    if not python.exists():
        return None
    bodies = [
        replace(b, markers=(Marker(f"{b.name}_end", b.joint.in_body),)) if b.name in ends else b
        for b in skeleton.bodies
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(replace(skeleton, bodies=tuple(bodies)), folder / rig)
        np.savez(
            folder / "reach.npz",
            names=[f"{end}_end" for end in ends],
            targets=np.stack([targets[end] for end in ends], axis=1),
            root=start.root,
            turn=start.rotations[:, 0],
            root_name=skeleton.names[0],
        )
        script = str(HERE / "peers" / f"{peer}_reach.py")
        done = subprocess.run([str(python), script, name], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


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
    """Processor seconds of all threads together, best of several."""
    work()
    return best_of(times, work, time.process_time)


def row(name: str, ours: float, peer: float, unit: str, *, more: bool = False) -> dict:
    ratio = ours / peer if more else peer / ours
    return {"name": name, "ours": ours, "peer": peer, "ratio": ratio, "unit": unit}
