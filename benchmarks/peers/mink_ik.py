"""mink: a position task per marker on our MJCF."""

from importlib.metadata import version

import mink
import mujoco
import numpy as np
from task import SETTLE, folder, judge, names, observed, timed

N_FRAMES, TIME_STEP = 60, 1.0

model = mujoco.MjModel.from_xml_path(str(folder / "rig.xml"))
configuration = mink.Configuration(model)
tasks = [mink.FrameTask(name, "site", position_cost=1.0, orientation_cost=0.0) for name in names]
sites = [model.site(name).id for name in names]


def pose(target: np.ndarray, iterations: int) -> None:
    for task, place in zip(tasks, target, strict=True):
        task.set_target(mink.SE3.from_translation(place))
    for _ in range(iterations):
        velocity = mink.solve_ik(configuration, tasks, TIME_STEP, "daqp", damping=1e-8, limits=[])
        configuration.integrate_inplace(velocity, TIME_STEP)


def markers() -> np.ndarray:
    return configuration.data.site_xpos[sites]


def solve(iterations: int) -> tuple[float, np.ndarray]:
    start = model.qpos0.copy()
    start[:3] = observed[0].mean(axis=0)
    configuration.update(start)
    pose(observed[0], SETTLE)
    return timed(N_FRAMES, lambda frame: pose(observed[frame], iterations), markers)


judge(solve, (1, 2, 3, 5), f"mink {version('mink')}")
