"""mink as a mapping program: markers pull our MJCF, a posture task draws it to rest.

The same energy as ours, weights alike; no contacts, no springs that let go. Reads rig.xml and
map.npz from the folder given; prints frames per processor second and the marker distance, metres.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import mink
import mujoco
import numpy as np

N_FRAMES, ITERATIONS, SETTLE, TIME_STEP = 120, 3, 40, 1.0

folder = Path(sys.argv[1])
model = mujoco.MjModel.from_xml_path(str(folder / "rig.xml"))
stored = np.load(folder / "map.npz")
names, targets = [str(name) for name in stored["names"]], stored["targets"]
configuration = mink.Configuration(model)
markers = [mink.FrameTask(name, "site", position_cost=1.0, orientation_cost=0.0) for name in names]
posture = mink.PostureTask(model, cost=float(np.sqrt(stored["posture"])))
sites = [model.site(name).id for name in names]


def pull(frame: int, iterations: int) -> None:
    for task, place in zip(markers, targets[frame], strict=True):
        task.set_target(mink.SE3.from_translation(place))
    for _ in range(iterations):
        velocity = mink.solve_ik(
            configuration, [*markers, posture], TIME_STEP, "daqp", damping=1e-8, limits=[]
        )
        configuration.integrate_inplace(velocity, TIME_STEP)


start = model.qpos0.copy()
start[:3], start[3:7] = stored["root"], stored["turn"]
configuration.update(start)
posture.set_target(model.qpos0)
pull(0, SETTLE)
spent, left = 0.0, []
for frame in range(min(N_FRAMES, len(targets))):
    before = time.thread_time()
    pull(frame, ITERATIONS)
    spent += time.thread_time() - before
    left.append(configuration.data.site_xpos[sites] - targets[frame])
rms = float(np.sqrt(np.mean(np.sum(np.square(left), axis=-1))))
print(json.dumps({"name": f"mink {version('mink')}", "rate": len(left) / spent, "rms": rms}))
