"""Momentum: its Gauss–Newton solver in C++, frame by frame, on the skeleton of our MJCF.

Momentum's URDF reader ends the program on any file, and its marker tracker on any frame
(pymomentum-cpu 0.1.114.post0), so the tree is built from our MJCF by hand. A joint turns by
Rz·Ry·Rx after a fixed rotation, which is chosen so that the axes of a universal joint are its z
and y. Centimetres, single precision.
"""

from importlib.metadata import version
from xml.etree import ElementTree

import numpy as np
import pymomentum.geometry as geometry
import pymomentum.solver2 as solver2
from task import SETTLE, folder, judge, names, observed, timed

N_FRAMES, CENTIMETRES = 2000, 100.0


def numbers(element: ElementTree.Element, key: str) -> np.ndarray:
    return np.array(element.get(key, "0 0 0").split(), dtype=float)


def frame_of(hinges: list[ElementTree.Element]) -> tuple[np.ndarray, list[int]]:
    """Rotation (3, 3) of a joint's own axes at rest, and which of rx, ry, rz (0–2) it uses."""
    axes = [numbers(hinge, "axis") for hinge in hinges if hinge.get("type") == "hinge"]
    if not axes:
        return np.eye(3), [2, 1, 0]
    if len(axes) == 1:
        axes.append(np.roll(axes[0], 1))  # along an axis of the body: any other is perpendicular
        return np.stack([np.cross(axes[1], axes[0]), axes[1], axes[0]], axis=-1), [2]
    return np.stack([np.cross(axes[1], axes[0]), axes[1], axes[0]], axis=-1), [2, 1]


def quaternion(matrix: np.ndarray) -> np.ndarray:
    """x, y, z, w of one of the few rotations that exchange axes."""
    w = 0.5 * np.sqrt(max(0.0, 1.0 + np.trace(matrix)))
    if w > 1e-6:
        skew = matrix - matrix.T
        return np.array([skew[2, 1], skew[0, 2], skew[1, 0], 4.0 * w * w]) / (4.0 * w)
    return np.append(np.linalg.eigh(matrix + matrix.T).eigenvectors[:, -1], 0.0)


def build() -> geometry.Character:
    joints, locators, used = [], [], []
    world = ElementTree.parse(folder / "rig.xml").getroot().find("worldbody")
    todo = [(body, -1, np.eye(3)) for body in world.findall("body")]
    while todo:
        body, parent, outer = todo.pop()
        own, turning = frame_of(body.findall("joint"))
        place = outer.T @ numbers(body, "pos") * CENTIMETRES
        joints.append(geometry.Joint(body.get("name"), parent, quaternion(outer.T @ own), place))
        index = len(joints) - 1
        sliding = [0, 1, 2] if parent < 0 else []
        used += [7 * index + slot for slot in (*sliding, *(3 + axis for axis in turning))]
        for site in body.findall("site"):
            offset = own.T @ numbers(site, "pos") * CENTIMETRES
            locators.append(geometry.Locator(site.get("name"), index, offset))
        todo += [(child, index, own) for child in body.findall("body")]
    skeleton = geometry.Skeleton(joints)
    matrix = np.zeros((7 * len(joints), len(used)), dtype=np.float32)
    matrix[used, np.arange(len(used))] = 1.0
    transform = geometry.ParameterTransform([f"p{i}" for i in range(len(used))], skeleton, matrix)
    return geometry.Character("figure", skeleton, transform, locators=locators)


character = build()
by_name = {locator.name: locator for locator in character.locators}
homes = np.array([by_name[name].parent for name in names], dtype=np.int32)
offsets = np.array([by_name[name].offset for name in names], dtype=np.float32)
targets = (observed[:N_FRAMES] * CENTIMETRES).astype(np.float32)
error = solver2.PositionErrorFunction(character)
problem = solver2.SkeletonSolverFunction(character, [error])


def markers(parameters: np.ndarray) -> np.ndarray:
    """(n_markers, 3) metres."""
    points = geometry.model_parameters_to_positions(character, parameters, homes, offsets)
    return np.asarray(points) / CENTIMETRES


def solver_of(iterations: int) -> solver2.GaussNewtonSolver:
    options = solver2.GaussNewtonSolverOptions()
    options.max_iterations = options.min_iterations = iterations
    options.use_block_jtj = True
    return solver2.GaussNewtonSolver(problem, options)


def solve(iterations: int) -> tuple[float, np.ndarray]:
    parameters = np.zeros(character.parameter_transform.size, dtype=np.float32)
    parameters[:3] = targets[0].mean(axis=0)
    error.clear_constraints()
    error.add_constraints(parent=homes, offset=offsets, target=targets[0])
    parameters = solver_of(SETTLE).solve(parameters)
    solver = solver_of(iterations)

    def work(frame: int) -> None:
        nonlocal parameters
        error.clear_constraints()
        error.add_constraints(parent=homes, offset=offsets, target=targets[frame])
        parameters = solver.solve(parameters)

    return timed(len(targets), work, lambda: markers(parameters))


judge(solve, (1, 2, 3, 5, 10), f"Momentum {version('pymomentum-cpu')}")
