"""Motions whose feet slide, and how far they do."""

from dataclasses import replace

import numpy as np

from osteon.maths import quat
from osteon.posing import Standing, sole_paths
from osteon.values import Motion


def on_longer_path(motion: Motion, factor: float) -> Motion:
    """The same poses on a path along the floor that is so many times as long."""
    root = np.array(motion.root)
    root[:, :2] = root[0, :2] + factor * (root[:, :2] - root[0, :2])
    return replace(motion, root=root)


def slid(motion: Motion, standing: Standing) -> np.ndarray:
    """Millimetres that each point goes along the floor while it stands in the true motion, in the
    order of its plants."""
    spans, names = [], motion.skeleton.names
    paths = {names[sole.body]: sole_paths(motion, sole) for sole in standing.soles}
    for plant in standing.plants:
        way = paths[plant.body][plant.frames[0] : plant.frames[1] + 1, plant.point, :2]
        spans.append(1e3 * float(np.linalg.norm(np.ptp(way, axis=0))))
    return np.array(spans)


def quickest_turn(motion: Motion) -> float:
    """Degrees in 1/120 s; the first frame of CMU's BVH files is a T-pose."""
    turns = quat.angle(quat.between(motion.rotations[1:-1], motion.rotations[2:]))
    return float(np.degrees(turns).max()) * motion.rate / 120.0
