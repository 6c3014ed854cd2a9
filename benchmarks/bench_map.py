"""Mapping 41 markers onto a figure: the energy's rest solved, and simulated.

The peer of both is the paper's own 2 to 3 frames per second, stated for scale, not measured here.
"""

import time
from dataclasses import replace

import numpy as np

from ossature import synth
from ossature.pose.attach import own_attachments
from ossature.pose.dynamics import simulate
from ossature.pose.equilibrium import Pulls, equilibrium, firm_bounds, posture_weights
from ossature.pose.masses import body_masses
from ossature.pose.naming import name_parts

PAPER = 3.0
"""Frames per second."""


def run() -> list[dict]:
    take = synth.perform(synth.human(), synth.walk(60.0), noise=0.001, seed=1)
    pulls, skeleton = model(take)
    equilibrium(cut(pulls, 100))  # compiles, or loads the compiled kernel
    begin = time.perf_counter()
    poses = equilibrium(pulls)
    solved = pulls.n_frames / (time.perf_counter() - begin)
    few, masses = cut(pulls, 240), body_masses(skeleton, name_parts(skeleton))
    begin = time.perf_counter()
    simulate(few, skeleton, masses, (poses.rotations[0], poses.root[0]))
    simulated = few.n_frames / (time.perf_counter() - begin)
    return [
        row("mapping at equilibrium, 48 freedoms, 41 markers", solved),
        row("mapping by dynamics, 48 freedoms, 41 markers", simulated),
    ]


def model(take: synth.Performance):
    skeleton = take.truth.skeleton
    points = own_attachments(skeleton, take.recording.names)
    rig = points.rig(skeleton)
    targets = take.recording.positions[:, [take.recording.index(n) for n in points.names]]
    rest = np.stack([body.joint.rest for body in skeleton.bodies])
    pulls = Pulls(
        rig,
        targets,
        np.ones(targets.shape[:2]),
        posture_weights(rig, 1e-4),
        rest,
        firm_bounds(skeleton),
    )
    return pulls, skeleton


def cut(pulls: Pulls, n_frames: int) -> Pulls:
    return replace(pulls, targets=pulls.targets[:n_frames], weights=pulls.weights[:n_frames])


def row(name: str, ours: float) -> dict:
    return {"name": name, "ours": ours, "peer": PAPER, "ratio": ours / PAPER, "unit": "frames/s"}


if __name__ == "__main__":
    for each in run():
        print(each)
