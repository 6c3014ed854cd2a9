"""pink: five position targets on our URDF within its joint ranges, one pose after the other.

It knows no cones: a ball joint is three hinges. Reads rig.urdf and reach.npz from the folder given;
prints processor seconds per pose and the mean distance left, metres, as JSON.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pink
import pinocchio
from pink.tasks import FrameTask

N_POSES, ITERATIONS, TIME_STEP = 40, 10, 1.0

folder = Path(sys.argv[1])
model = pinocchio.buildModelFromUrdf(str(folder / "rig.urdf"), pinocchio.JointModelFreeFlyer())
stored = np.load(folder / "reach.npz")
data = model.createData()
ends = [str(name) for name in stored["names"]]
tasks = [FrameTask(name, position_cost=1.0, orientation_cost=0.0) for name in ends]
root = FrameTask(str(stored["root_name"]), position_cost=100.0, orientation_cost=100.0)
middle = np.clip(pinocchio.neutral(model), model.lowerPositionLimit, model.upperPositionLimit)
spent, left = 0.0, []
for frame in range(0, len(stored["targets"]), len(stored["targets"]) // N_POSES):
    start = middle.copy()
    start[:3], start[3:7] = stored["root"][frame], np.roll(stored["turn"][frame], -1)
    before = time.thread_time()
    configuration = pink.Configuration(model, data, start)
    root.set_target(configuration.get_transform_frame_to_world(str(stored["root_name"])))
    for task, place in zip(tasks, stored["targets"][frame], strict=True):
        task.set_target(pinocchio.SE3(np.eye(3), place))
    for _ in range(ITERATIONS):
        velocity = pink.solve_ik(
            configuration,
            [root, *tasks],
            TIME_STEP,
            solver="daqp",
            damping=1e-4,
            safety_break=False,
        )
        configuration.integrate_inplace(velocity, TIME_STEP)
    spent += time.thread_time() - before
    places = [configuration.get_transform_frame_to_world(name).translation for name in ends]
    left.append(np.linalg.norm(np.array(places) - stored["targets"][frame], axis=-1).mean())
print(
    json.dumps(
        {
            "name": f"pink {version('pin-pink')}",
            "seconds": spent / len(left),
            "left": float(np.mean(left)),
        }
    )
)
