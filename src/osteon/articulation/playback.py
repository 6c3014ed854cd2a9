"""Residual removed: the motion played through the articulated model. [000] §3.4.

Rotations are the sensors' own, joints stay together by construction, and the whole figure is
placed where it agrees best with all sensors, so that no limb collects the drift of its chain.
"""

from dataclasses import replace

import numpy as np

from osteon.errors import NotEnoughData
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Bodies, Joints, Motion


def play_back(bodies: Bodies, joints: Joints) -> Motion:
    """The take as a motion of the found skeleton.

    A frame in which a body is not seen holds the body's last rotation against its parent; frames
    that show no body at all repeat their neighbour and are listed as held.
    """
    skeleton = joints.skeleton()
    bodies = bodies.select(skeleton.names)
    seen = bodies.seen
    if not seen.any():
        raise NotEnoughData("no frame shows any body: there is nothing to play back")
    local = bodies.rotations.copy()
    for index, parent in enumerate(skeleton.parents):
        if parent >= 0:
            local[:, index] = quat.between(bodies.rotations[:, parent], bodies.rotations[:, index])
    local = _held(local)
    still = Motion(skeleton, local, np.zeros((bodies.n_frames, 3)), bodies.rate)
    return replace(
        still,
        root=_held(_placed(bodies, still)),
        held=tuple(np.flatnonzero(~seen.any(axis=1)).tolist()),
        marks=bodies.marks,
        history=(*joints.history, "played back through the joints"),
    )


def _placed(bodies: Bodies, motion: Motion) -> Array:
    """(n_frames, 3) root place at which the figure's sensors are nearest to the measured ones."""
    rotations, places = motion.world()
    origins = places - quat.rotate(rotations, motion.skeleton.joints_in_bodies)
    difference = bodies.positions - origins
    seen = np.isfinite(difference[..., 0])
    total = np.where(seen[..., None], difference, 0.0).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return total / seen.sum(axis=1)[:, None]


def _held(values: Array) -> Array:
    """The last known value of each column where one is missing; the first known before it."""
    known = np.isfinite(values).all(axis=-1)
    index = np.where(known, np.arange(len(values)).reshape(-1, *([1] * (known.ndim - 1))), -1)
    index = np.maximum.accumulate(index, axis=0)
    first = np.argmax(known, axis=0)
    index = np.where(index < 0, first, index)
    return np.take_along_axis(values, index[..., None], axis=0)
