"""mink: five position targets on our MJCF within its joint ranges, one pose after the other.

It knows no cones: ball joints move freely. Reads rig.xml and reach.npz from the folder given;
prints processor seconds per pose and the mean distance left, metres, as JSON.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import mink
import mujoco
import numpy as np

N_POSES, ITERATIONS, TIME_STEP = 40, 10, 1.0

folder = Path(sys.argv[1])
model = mujoco.MjModel.from_xml_path(str(folder / "rig.xml"))
stored = np.load(folder / "reach.npz")
configuration = mink.Configuration(model)
ends = [str(name) for name in stored["names"]]
tasks = [mink.FrameTask(name, "site", position_cost=1.0, orientation_cost=0.0) for name in ends]
root = mink.FrameTask(str(stored["root_name"]), "body", position_cost=100.0, orientation_cost=100.0)
limits = [mink.ConfigurationLimit(model)]
sites = [model.site(name).id for name in ends]
spent, left = 0.0, []
for frame in range(0, len(stored["targets"]), len(stored["targets"]) // N_POSES):
    start = model.qpos0.copy()
    start[:3], start[3:7] = stored["root"][frame], stored["turn"][frame]
    before = time.thread_time()
    configuration.update(start)
    root.set_target(mink.SE3(np.concatenate([stored["turn"][frame], stored["root"][frame]])))
    for task, place in zip(tasks, stored["targets"][frame], strict=True):
        task.set_target(mink.SE3.from_translation(place))
    for _ in range(ITERATIONS):
        velocity = mink.solve_ik(
            configuration, [root, *tasks], TIME_STEP, "daqp", damping=1e-4, limits=limits
        )
        configuration.integrate_inplace(velocity, TIME_STEP)
    spent += time.thread_time() - before
    places = configuration.data.site_xpos[sites]
    left.append(np.linalg.norm(places - stored["targets"][frame], axis=-1).mean())
print(
    json.dumps(
        {
            "name": f"mink {version('mink')}",
            "seconds": spent / len(left),
            "left": float(np.mean(left)),
        }
    )
)
