"""MuJoCo's kinematics and Jacobians with a Gauss–Newton step in numpy, on our MJCF."""

import mujoco
import numpy as np
from task import SETTLE, folder, judge, names, observed, timed

N_FRAMES = 1000

model = mujoco.MjModel.from_xml_path(str(folder / "rig.xml"))
data = mujoco.MjData(model)
sites = [model.site(name).id for name in names]
jacobian = np.zeros((3 * len(sites), model.nv))


def step(target: np.ndarray) -> None:
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    for row, site in enumerate(sites):
        mujoco.mj_jacSite(model, data, jacobian[3 * row : 3 * row + 3], None, site)
    lack = (target - data.site_xpos[sites]).ravel()
    normal = jacobian.T @ jacobian
    normal[np.diag_indices_from(normal)] += 1e-8
    mujoco.mj_integratePos(model, data.qpos, np.linalg.solve(normal, jacobian.T @ lack), 1.0)


def pose(target: np.ndarray, iterations: int) -> None:
    for _ in range(iterations):
        step(target)


def markers() -> np.ndarray:
    mujoco.mj_kinematics(model, data)
    return data.site_xpos[sites]


def solve(iterations: int) -> tuple[float, np.ndarray]:
    mujoco.mj_resetData(model, data)
    data.qpos[:3] = observed[0].mean(axis=0)
    pose(observed[0], SETTLE)
    return timed(N_FRAMES, lambda frame: pose(observed[frame], iterations), markers)


judge(solve, (1, 2, 3, 5), f"MuJoCo {mujoco.__version__}")
