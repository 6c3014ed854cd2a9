"""A bone on the ground above all others, which carries the path and the heading of a motion: what
engines take root motion from. All joints stay where they are."""

from dataclasses import replace

import numpy as np

from osteon.errors import BadValue, NotEnoughData
from osteon.human import StandingFigure, figure_at_rest
from osteon.maths import moving_mean, quat
from osteon.typing import Array
from osteon.values import Body, Joint, Motion

STEADY_SECONDS = 0.5
"""Seconds over which path and heading are levelled. Chosen: half a stride, so that a walker's sway
stays with the hips."""
ROOT_NAMES = ("root", "root_bone")
"""Of the bone, where the first is not taken."""


def with_root_bone(motion: Motion) -> Motion:
    """Return the motion below a bone ``root`` on the ground, z = 0; where the skeleton has such a
    bone above its hips, that one is laid there."""
    figure = _figure(motion)
    if figure is None:
        raise NotEnoughData(
            "no human with hips and legs is recognised by the names of the bones, so nothing tells "
            "a heading; `root_bone` needs both"
        )
    if figure.skeleton.parents[_pelvis(figure)] >= 0:
        return root_on_ground(motion)
    if motion.skeleton.parents.count(-1) > 1:
        raise BadValue("the skeleton has several roots; a root bone goes above one")
    skeleton, hips = motion.skeleton, motion.skeleton.bodies[0]
    name = next(each for each in ROOT_NAMES if each not in skeleton.names)
    height = np.array([0.0, 0.0, -figure.joints[:, 2].min()])
    below = replace(hips, parent=name, joint=replace(hips.joint, kind="free", in_parent=height))
    bodies = (Body(name, None, Joint("free")), below, *skeleton.bodies[1:])
    still = np.broadcast_to(quat.identity(), (motion.n_frames, 1, 4))
    places = np.concatenate([motion.root[:, None], motion.in_parents()], axis=1)
    places[:, 1] = 0.0
    added = replace(
        motion,
        skeleton=replace(skeleton, bodies=bodies),
        rotations=np.concatenate([still, motion.rotations], axis=1),
        offsets=places,
    )
    return root_on_ground(added)


def root_on_ground(motion: Motion) -> Motion:
    """Return the motion with the bone above the hips laid on the ground, z = 0, below them and
    turned as they head; unchanged where there is no such bone."""
    figure = _figure(motion)
    pelvis = 0 if figure is None else _pelvis(figure)
    if figure is None or pelvis == 0 or motion.skeleton.parents[pelvis] != 0:
        return motion
    turned, joints = motion.world()
    heading = _levelled(_heading(figure, turned[:, pelvis], pelvis), motion.rate)
    yaw = quat.from_axis_angle(np.array([0.0, 0.0, 1.0]), heading)
    turns = quat.multiply(yaw, figure.rotations[0])
    aside = figure.joints[0] - figure.joints[pelvis]
    root = _levelled(joints[:, pelvis], motion.rate) + quat.rotate(yaw, aside)
    root[:, 2] = 0.0
    rotations, places = np.array(motion.rotations), motion.in_parents()
    rotations[:, 0] = turns
    rotations[:, pelvis] = quat.between(turns, turned[:, pelvis])
    places[:, pelvis] = quat.rotate(quat.inverse(turns), joints[:, pelvis] - root)
    did = f"{motion.skeleton.names[0]} laid on the ground"
    return replace(
        motion, rotations=rotations, root=root, offsets=places, history=(*motion.history, did)
    )


def _figure(motion: Motion) -> StandingFigure | None:
    try:
        return figure_at_rest(motion.skeleton)
    except (NotEnoughData, BadValue):
        return None


def _pelvis(figure: StandingFigure) -> int:
    return figure.skeleton.index(figure.parts["pelvis"])


def _heading(figure: StandingFigure, turned: Array, pelvis: int) -> Array:
    """(n_frames,) radians about the vertical from the rest pose, going on over full turns."""
    forward = figure.axes()[:, 0]
    own = quat.rotate(quat.inverse(figure.rotations[pelvis]), forward)
    now = quat.rotate(turned, own)
    return np.unwrap(np.arctan2(now[:, 1], now[:, 0]) - np.arctan2(forward[1], forward[0]))


def _levelled(values: Array, rate: float) -> Array:
    size = max(1, round(STEADY_SECONDS * rate))
    return moving_mean(np.asarray(values), min(size, len(values)))
