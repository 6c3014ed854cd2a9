"""placo: a position task per marker on our URDF, its quadratic programme without limits."""

from importlib.metadata import version

import numpy as np
import placo
from task import SETTLE, folder, judge, names, observed, timed

N_FRAMES = 500

robot = placo.RobotWrapper(str(folder / "rig.urdf"), placo.Flags.ignore_collisions)
solver = placo.KinematicsSolver(robot)
tasks = []
for name in names:
    task = solver.add_position_task(name, np.zeros(3))
    task.configure(name, "soft", 1.0)
    tasks.append(task)
solver.add_regularization_task(1e-8)


def pose(target: np.ndarray, iterations: int) -> None:
    for task, place in zip(tasks, target, strict=True):
        task.target_world = place
    for _ in range(iterations):
        robot.update_kinematics()
        solver.solve(True)


def markers() -> np.ndarray:
    robot.update_kinematics()
    return np.array([robot.get_T_world_frame(name)[:3, 3] for name in names])


def solve(iterations: int) -> tuple[float, np.ndarray]:
    robot.reset()
    base = np.eye(4)
    base[:3, 3] = observed[0].mean(axis=0)
    robot.set_T_world_fbase(base)
    pose(observed[0], SETTLE)
    return timed(N_FRAMES, lambda frame: pose(observed[frame], iterations), markers)


judge(solve, (1, 2, 3, 5), f"placo {version('placo')}")
