"""Toes that no markers show, bent by the ground: they never go through it.

Where the heel rises over a standing ball the toes stay level, as they come off the ground they
straighten. Their angle is told by the foot's pose and the ground under it alone: the least that
keeps their tip above it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.errors import BadValue, NotEnoughData
from osteon.human import StandingFigure, figure_at_rest
from osteon.maths import quat
from osteon.posing.contacts import TIP, Standing, find_soles, find_standing
from osteon.typing import Array
from osteon.values import Motion

MOST_BEND = np.radians(100.0)
"""Radians (100°) beyond which toes stay straight; chosen: a foot that asks for more lies on its
instep."""
FASTEST_BEND = np.radians(720.0)
"""Radians per second (720° per second); chosen: 6° in 1/120 s, which with a foot that turns as fast
as feet do is no jump. Where ground asks for more, as under who lands on tiptoe, toes lift before,
as people's do."""
Stands = Sequence[tuple[tuple[int, int], float]]
"""First and last frame of each, and its height, metres."""
Floor = tuple[float | Array, Array]
"""What is under a foot, height = offset + slope · (x, y): offset () or (n_frames,), slope (2,)."""


def bend_toes(motion: Motion) -> Motion:
    """Return the motion with toes on the ground that carry no markers; others stay as they are."""
    try:
        figure = figure_at_rest(motion.skeleton)
    except (NotEnoughData, BadValue):
        return motion
    silent = _silent_toes(figure)
    if not silent or motion.n_frames < 3:
        return motion
    # the points of a sole that tell the ground before the toes are bent
    soles = [
        replace(sole, points=sole.points[:TIP], carriers=sole.carriers[:TIP])
        for sole in find_soles(figure)
        if sole.carriers[TIP] in silent
    ]
    standing = find_standing(motion, soles)
    rotations = np.array(motion.rotations)
    for toes in silent:
        foot = motion.skeleton.parents[toes]
        floor = _floor_under(standing, motion.skeleton.names[foot], motion.n_frames)
        if floor is not None:
            rotations[:, toes] = _turns(motion, toes, _least_angles(motion, toes, floor))
    return replace(motion, rotations=rotations)


def _silent_toes(figure: StandingFigure) -> list[int]:
    """Toes on a hinge at a foot, without markers."""
    skeleton, parts = figure.skeleton, figure.parts
    found = []
    for side in ("left", "right"):
        if f"{side}_toes" in parts and f"{side}_foot" in parts:
            toes = skeleton.body(parts[f"{side}_toes"])
            on_foot = toes.parent == parts[f"{side}_foot"] and toes.tip is not None
            if on_foot and toes.joint.kind == "hinge" and not toes.markers:
                found.append(skeleton.index(toes.name))
    return found


def _floor_under(standing: Standing, foot: str, n_frames: int) -> Floor | None:
    """The ground; where there is none, as over steps, what the foot stands on, and between two
    stands the lower of both. None for a foot that never stands."""
    ground = standing.ground
    stands = sorted((p.frames, p.place[2]) for p in standing.plants if p.body == foot)
    if ground.solid:
        return (ground.offset, ground.slope) if standing.plants else None
    if not stands:
        return None
    before = _last_stood(stands, n_frames)
    after = _last_stood(_backwards(stands, n_frames), n_frames)[::-1]
    return np.minimum(before, after), np.zeros(2)


def _backwards(stands: Stands, n_frames: int) -> Stands:
    """The same in a motion that runs backwards."""
    end = n_frames - 1
    return sorted(((end - last, end - first), height) for (first, last), height in stands)


def _last_stood(stands: Stands, n_frames: int) -> Array:
    """(n_frames,) the height that was stood on last; before the first stand that of it."""
    heights = np.full(n_frames, stands[0][1])
    for (first, _), height in stands:
        heights[first:] = height
    return heights


def _least_angles(motion: Motion, toes: int, floor: Floor) -> Array:
    """(n_frames,) the least angles about the hinge that bring the tip up to the floor, radians.

    The tip's height above it is h + b cos φ + c sin φ, with b and c its arm's rise and the rise of
    the arm a quarter turn on.
    """
    body = motion.skeleton.bodies[toes]
    turned, joints = motion.world_of([toes, motion.skeleton.parents[toes]])
    tip, axis = body.tip_from_joint, body.joint.axes[0]
    assert tip is not None
    arm = quat.rotate(body.joint.rest, tip)
    beside = (arm @ axis) * axis
    offset, slope = floor
    upward = np.array([*-slope, 1.0])
    above = joints[:, 0] @ upward - offset
    foot = turned[:, 1]
    h = above + quat.rotate(foot, beside) @ upward
    b = quat.rotate(foot, arm - beside) @ upward
    c = quat.rotate(foot, np.cross(axis, arm)) @ upward
    highest = np.arctan2(c, b) % (2.0 * np.pi)
    needed = highest - np.arccos(np.clip(-h / np.hypot(b, c), -1.0, 1.0))
    return np.where((h + b < 0.0) & (needed < MOST_BEND), needed, 0.0)


def _turns(motion: Motion, toes: int, angles: Array) -> Array:
    """(n_frames, 4) local rotations for angles that change no faster than toes do: never less than
    asked for, but before and after it."""
    joint = motion.skeleton.bodies[toes].joint
    slope = FASTEST_BEND / motion.rate * np.arange(len(angles))
    after = np.maximum.accumulate(angles + slope) - slope
    before = np.maximum.accumulate((angles - slope)[::-1])[::-1] + slope
    turn = quat.exp(np.maximum(before, after)[:, None] * joint.axes[0])
    return quat.multiply(turn, joint.rest)
