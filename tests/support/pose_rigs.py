"""Rigs and motions for the tests and benchmarks of poses: every kind of joint, 37 freedoms."""

from collections.abc import Sequence

import numpy as np

from osteon.maths import quat
from osteon.posing.rig import Rig, build_tree

# name, parent, kind, axes, joint seen from the parent's, markers
FIGURE = (
    ("pelvis", -1, "free", (), (0, 0, 0), 4),
    ("chest", 0, "ball", (), (0, 0, 0.25), 4),
    ("head", 1, "ball", (), (0, 0, 0.3), 4),
    ("left_upper_arm", 1, "ball", (), (0, 0.2, 0.2), 3),
    ("left_forearm", 3, "universal", ((0, 1, 0), (0, 0, 1)), (0, 0, -0.3), 2),
    ("left_hand", 4, "universal", ((1, 0, 0), (0, 1, 0)), (0, 0, -0.26), 2),
    ("right_upper_arm", 1, "ball", (), (0, -0.2, 0.2), 3),
    ("right_forearm", 6, "universal", ((0, 1, 0), (0, 0, 1)), (0, 0, -0.3), 2),
    ("right_hand", 7, "universal", ((1, 0, 0), (0, 1, 0)), (0, 0, -0.26), 2),
    ("left_thigh", 0, "ball", (), (0, 0.1, -0.05), 3),
    ("left_shin", 9, "hinge", ((0, 1, 0),), (0, 0, -0.43), 2),
    ("left_foot", 10, "universal", ((0, 1, 0), (1, 0, 0)), (0, 0, -0.41), 2),
    ("right_thigh", 0, "ball", (), (0, -0.1, -0.05), 3),
    ("right_shin", 12, "hinge", ((0, 1, 0),), (0, 0, -0.43), 2),
    ("right_foot", 13, "hinge", ((0, 1, 0),), (0, 0, -0.41), 2),
)


def ball_joints(parents: Sequence[int]) -> tuple[list[str], list[np.ndarray]]:
    """Kinds and axes of a tree in which every joint is a ball: for ``build_tree``."""
    return ["ball"] * len(parents), [np.zeros((0, 3))] * len(parents)


def figure() -> Rig:
    """37 degrees of freedom, 40 markers on the skin, no body with fewer than two."""
    _, parents, kinds, axes, offsets, counts = zip(*FIGURE, strict=True)
    bodies = [body for body, count in enumerate(counts) for _ in range(count)]
    turn = 2.4 * np.arange(len(bodies))  # round each limb, a little further down each time
    height = np.concatenate([0.03 - 0.08 * np.arange(1, count + 1) for count in counts])
    places = np.stack([0.07 * np.cos(turn), 0.07 * np.sin(turn), height], axis=-1)
    return Rig(build_tree(parents, kinds, axes, bodies), np.array(offsets, float), places)


def row_of_balls(rng, *counts: int) -> Rig:
    """Balls one after the other, 30 cm apart, with so many markers on each."""
    parents = list(range(-1, len(counts) - 1))
    bodies = [body for body, count in enumerate(counts) for _ in range(count)]
    places = rng.normal(scale=0.06, size=(len(bodies), 3)) + [0, 0, 0.1]
    offsets = np.array([[0, 0, 0.3]] * len(counts))
    return Rig(build_tree(parents, *ball_joints(parents), bodies), offsets, places)


def wave(rng, n_frames: int, n: int, size: float, rate: float = 120.0) -> np.ndarray:
    """(n_frames, n) smooth curves, three sines of up to 1.5 Hz."""
    t = np.arange(n_frames)[:, None] / rate
    return sum(
        rng.normal(size=n) * size / k * np.sin(k * np.pi * t + rng.uniform(0, 6, n))
        for k in (1, 2, 3)
    )


def motion_of(rig: Rig, n_frames: int, rng, size: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    """Local rotations and root places that use every degree of freedom."""
    tree = rig.tree
    rotations = quat.identity((n_frames, tree.n_bodies))
    for dof in range(3, tree.n_dofs):
        body = tree.dof_body[dof]
        turn = quat.from_axis_angle(tree.dof_axis[dof], wave(rng, n_frames, 1, size)[:, 0])
        rotations[:, body] = quat.multiply(rotations[:, body], turn)
    return rotations, wave(rng, n_frames, 3, 0.5)


def performance(n_frames: int, rng, noise: float = 0.0, size: float = 0.4):
    """The figure, its true rotations and root, its true markers and what cameras see."""
    rig = figure()
    rotations, root = motion_of(rig, n_frames, rng, size)
    markers = rig.markers(rotations, root)
    return rig, rotations, root, markers, markers + rng.normal(scale=noise, size=markers.shape)
