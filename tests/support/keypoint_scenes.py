"""Performers whose joints are known, seen as markerless systems see them."""

from typing import NamedTuple

import numpy as np

from osteon import synth
from osteon.human import human, known_sets
from osteon.maths import quat
from osteon.values import Motion, Recording

SETS = {each.name: each for each in known_sets() if each.keypoints and not each.of_hands}


class Scene(NamedTuple):
    """A performer, and where a set's keypoints truly are."""

    motion: Motion
    names: tuple[str, ...]
    points: np.ndarray

    def seen(self, noise: float = 0.0, jumped: float = 0.0, seed: int = 0) -> Recording:
        """With white noise, metres per axis, and a share of samples that jump by 0.1 to 0.4 m."""
        rng = np.random.default_rng(seed)
        points = self.points + noise * rng.normal(size=self.points.shape)
        left = jumped * points.shape[0] * points.shape[1]
        while left > 0:
            frame, point = rng.integers(points.shape[0]), rng.integers(points.shape[1])
            there = slice(frame, frame + rng.integers(1, 7))
            points[there, point] += quat.normalise(rng.normal(size=3)) * rng.uniform(0.1, 0.4)
            left -= len(points[there])
        return Recording(points, self.names, self.motion.rate)


def scene(set_name: str, script=None, seed: int = 1, height: float = 1.8) -> Scene:
    """Keypoints of a set on a performer: on its joints, or as far beside them as the average
    human has them."""
    performer = synth.human(height)
    motion = synth.act(performer, script or synth.walk(4.0, rate=100.0), seed=seed).motion
    turns, joints = motion.world()
    figure, names = human(), motion.skeleton.names
    size = height / figure.height
    points = []
    for mark in SETS[set_name].markers.values():
        body = names.index(mark.body)
        if mark.at is figure.landmarks["hip_middle"].at:
            pair = [names.index(f"{side}_thigh") for side in ("left", "right")]
            points.append(joints[:, pair].mean(axis=1))
            continue
        if mark.at is figure.landmarks["shoulder_middle"].at:
            pair = [names.index(f"{side}_upper_arm") for side in ("left", "right")]
            points.append(joints[:, pair].mean(axis=1))
            continue
        at = figure.bodies[mark.body].at if mark.at is None else mark.at
        away = size * (at - figure.bodies[mark.body].at)
        points.append(joints[:, body] + quat.rotate(turns[:, body], away))
    return Scene(motion, tuple(SETS[set_name].markers), np.stack(points, axis=1))
