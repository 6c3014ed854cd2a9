"""Joint centres against biobuddy's SCoRE, pair by pair, on the same poses with known truth.

A human with 17 sensors exercises every joint; 1 mm and 0.5° of noise, 5 400 frames. biobuddy runs
in an environment of its own (``sh benchmarks/make_peers.sh biobuddy``) and is left out where it is
not installed. Times are of the processor.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
from bench_pose_peers import ask

from osteon import synth
from osteon.articulation import JointStatistics, fit_pairs
from osteon.maths import quat
from osteon.values import Bodies

N_FRAMES, RATE = 5_400, 90.0


def run() -> list[dict]:
    worn = synth.sense(
        synth.human(),
        synth.exercise(N_FRAMES / RATE, rate=RATE, together=True),
        seed=1,
        noise=0.001,
        orientation_noise=np.radians(0.5),
    )
    bodies, skeleton = worn.bodies, worn.truth.skeleton
    pairs = [
        (bodies.index(body.parent), bodies.index(body.name))
        for body in skeleton.bodies
        if body.parent is not None
    ]
    truth = _true_centres(worn, pairs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        matrices = _matrices(bodies)
        parent, child = (matrices[[pair[side] for pair in pairs]] for side in (0, 1))
        np.savez(folder / "pairs.npz", parent=parent, child=child)
        theirs = ask("biobuddy", "biobuddy_score.py", folder)
    if theirs is None:
        return []
    centres, seconds = _ours(bodies, pairs)
    per_pair = theirs["seconds"] / len(pairs)
    n_all = bodies.n_bodies * (bodies.n_bodies - 1) // 2
    what = f"{n_all} joints of {bodies.n_bodies} bodies x {bodies.n_frames} frames"
    return [
        _row(f"{what} against {theirs['version']} SCoRE", seconds, per_pair * n_all, 1e3, "ms"),
        _row(
            f"… centres' rms error, {len(pairs)} true joints",
            _rms(centres - truth),
            _rms(np.array(theirs["centres"]) - truth),
            1e3,
            "mm",
        ),
    ]


def _ours(bodies: Bodies, pairs: list[tuple[int, int]]) -> tuple[np.ndarray, float]:
    """Centres in the parents' frames, and seconds for all pairs that there are, best of seven."""
    fits, taken = fit_pairs(JointStatistics.of(bodies)), []
    for _ in range(7):
        start = time.process_time()
        fits = fit_pairs(JointStatistics.of(bodies))
        taken.append(time.process_time() - start)
    row = {
        frozenset((int(a), int(b))): i
        for i, (a, b) in enumerate(zip(fits.first, fits.second, strict=True))
    }
    centres = []
    for parent, child in pairs:
        at = row[frozenset((parent, child))]
        centres.append(fits.centres[at, :3] if fits.first[at] == parent else fits.centres[at, 3:])
    return np.array(centres), min(taken)


def _true_centres(worn: synth.SensorPerformance, pairs: list[tuple[int, int]]) -> np.ndarray:
    """(n_pairs, 3) each true joint in its parent's sensor frame, over the noiseless poses."""
    rotations, joints = worn.truth.motion.world()
    placement = worn.truth.placement
    assert placement is not None
    centres = []
    for parent, child in pairs:
        names = worn.bodies.names
        above, below = (worn.truth.skeleton.index(names[i]) for i in (parent, child))
        in_limb = quat.rotate(
            quat.inverse(rotations[0, above]), joints[0, below] - joints[0, above]
        )
        in_body = worn.truth.skeleton.bodies[above].joint.in_body
        from_sensor = in_limb + in_body - placement.positions[above]
        centres.append(quat.rotate(quat.inverse(placement.rotations[above]), from_sensor))
    return np.array(centres)


def _matrices(bodies: Bodies) -> np.ndarray:
    """(n_bodies, 4, 4, n_frames)"""
    poses = np.zeros((bodies.n_bodies, 4, 4, bodies.n_frames))
    poses[:, :3, :3] = quat.to_matrix(bodies.rotations).transpose(1, 2, 3, 0)
    poses[:, :3, 3] = bodies.positions.transpose(1, 2, 0)
    poses[:, 3, 3] = 1.0
    return poses


def _rms(apart: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.sum(apart**2, axis=-1))))


def _row(name: str, ours: float, peer: float, scale: float, unit: str) -> dict:
    return {
        "name": name,
        "ours": scale * ours,
        "peer": scale * peer,
        "ratio": peer / ours,
        "unit": unit,
    }


if __name__ == "__main__":
    for result in run():
        print(result)
