"""Marker inverse kinematics against other programs: 37 degrees of freedom, 40 markers, 2 mm noise.

Each peer runs in an environment of its own, made by ``sh benchmarks/make_peers.sh``, with one
thread, on the rig and markers that our own writers hand it. A peer that is not installed is left
out. All solve frame by frame. Accuracy is the RMS distance of markers to the truth, above that of
the least-squares pose: both sides get their fastest setting that stays within a bound, once strict
(0.5 %: converged) and once loose (2 %: one Gauss–Newton step a frame is enough for most). Times are
of the processor, not of the clock, so that other work on the machine does not count.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from timing import best_of

from osteon.formats import write
from osteon.posing import PoseOptions, compile_rig, solve
from osteon.values import Body, Joint, Marker, Recording, Skeleton

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from pose_rigs import FIGURE, performance

HERE = Path(__file__).parent
N_FRAMES, N_WRITTEN, RATE = 8_000, 100, 120.0
BOUNDS = (0.005, 0.02)
"""How far above the least possible RMS still counts as accurate."""
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-5)
"""Radians and metres at which our solver stops; the last is its default."""
PEERS = {
    "momentum": "momentum_ik.py",
    "placo": "placo_ik.py",
    "opensim": "opensim_ik.py",
    "mink": "mink_ik.py",
    "mujoco": "mujoco_gn.py",
}
ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "VECLIB", "NUMEXPR")
}


def run() -> list[dict]:
    rig, _, _, truth, observed = performance(N_FRAMES, np.random.default_rng(1), noise=0.002)
    skeleton = as_skeleton(rig)
    names = [marker.name for body in skeleton.bodies for marker in body.markers]
    recording = Recording(observed, tuple(names), RATE)
    motion = solve(recording, skeleton).motion  # compiles, or loads the compiled kernel
    best = rig.markers(motion.rotations, motion.root)
    ours = [our_setting(tolerance, recording, skeleton, truth, best) for tolerance in TOLERANCES]
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for suffix in (".xml", ".urdf", ".osim"):
            write(skeleton, folder / f"rig{suffix}")
        few = Recording(observed[:N_WRITTEN], tuple(names), RATE)
        write(few, folder / "markers.trc", up="y")
        np.savez(folder / "task.npz", observed=observed, truth=truth, names=names, best=best)
        for peer, script in PEERS.items():
            result = ask(peer, script, folder)
            if result is not None:
                rows += [row(result, ours, bound) for bound in BOUNDS]
    return [row for row in rows if row is not None]


def our_setting(
    tolerance: float, recording: Recording, skeleton: Skeleton, truth, best
) -> dict[str, float]:
    """Rate of our solver and its RMS as a share of the best."""
    options = PoseOptions(tolerance=tolerance)
    motion = solve(recording, skeleton, options=options).motion
    rig = compile_rig(skeleton, recording.names)
    found = rig.markers(motion.rotations, motion.root)
    speed = rate(lambda: solve(recording, skeleton, options=options))
    return {"rate": speed, "share": rms(found - truth) / rms(best - truth)}


def rms(apart: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.sum(apart**2, axis=-1))))


def as_skeleton(rig) -> Skeleton:
    """The figure of the pose tests as a value that our writers take."""
    markers: dict[int, list[Marker]] = {}
    for index, (body, place) in enumerate(zip(rig.tree.marker_bodies, rig.places, strict=True)):
        markers.setdefault(int(body), []).append(Marker(f"m{index:02d}", place))
    bodies = []
    for index, (name, parent, kind, axes, offset, _) in enumerate(FIGURE):
        above = None if parent < 0 else FIGURE[parent][0]
        joint = Joint(kind, np.array(offset, float), axes=np.array(axes, float))
        bodies.append(Body(name, above, joint, markers=tuple(markers.get(index, ()))))
    return Skeleton(tuple(bodies), "figure")


def ask(peer: str, script: str, folder: Path) -> dict | None:
    """What a peer reports, or None where it is not installed."""
    home = HERE.parent / ".peers" / peer
    python = home / "bin" / "python"
    if not python.is_file():
        print(f"{peer} is not installed: sh benchmarks/make_peers.sh {peer}", file=sys.stderr)
        return None
    done = subprocess.run(
        [python, HERE / "peers" / script, folder],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, **ONE_THREAD},
        check=False,
    )
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return json.loads(line.removeprefix("RESULT "))
    print(f"{peer} failed: {done.stderr[-500:]}", file=sys.stderr)
    return None


def row(result: dict, ours: list[dict], bound: float) -> dict | None:
    """Both sides' fastest settings within the bound; None where the peer has none."""
    theirs = fastest(result["tried"], bound)
    mine = fastest(ours, bound)
    if theirs is None or mine is None:
        print(f"{result['version']} stays beyond {bound:.1%}: {result['tried']}", file=sys.stderr)
        return None
    settings = (
        f"{theirs['iterations']} it., {theirs['share'] - 1:+.1%} to our {mine['share'] - 1:+.1%}"
    )
    return {
        "name": f"poses within {bound:.1%} against {result['version']} ({settings})",
        "ours": mine["rate"],
        "peer": theirs["rate"],
        "ratio": mine["rate"] / theirs["rate"],
        "unit": "frames/s",
    }


def fastest(tried: list[dict], bound: float) -> dict | None:
    within = [setting for setting in tried if setting["share"] < 1.0 + bound]
    return max(within, key=lambda setting: setting["rate"], default=None)


def rate(work) -> float:
    """Frames per second of processor time, best of three."""
    return N_FRAMES / best_of(3, work, time.process_time)
