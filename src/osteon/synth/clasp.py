"""Clasped hands: a loop that is closed for a part of the take."""

from dataclasses import replace

import numpy as np

from osteon.errors import BadValue
from osteon.maths import quat
from osteon.synth.curves import ease, stream, waves
from osteon.synth.joint_coordinates import blend
from osteon.synth.limb_ik import X, reach
from osteon.synth.motions import Act
from osteon.typing import Array
from osteon.values import Attachment, Motion, Skeleton

PALM_SHARE = 0.4
"""Share of the hand's length at which the palm is; chosen: about its middle."""
APPROACH_SECONDS = 0.6
"""Seconds in which the hands come together and part again; chosen: a quick, smooth motion."""


def clasp_hands(act: Act, frames: tuple[int, int], seed: int = 0) -> Act:
    """The same act with both palms at one point from the first to the last of ``frames``.

    The point moves about in front of the chest, so the arms keep turning.
    """
    motion = act.motion
    first, last = frames
    if not 0 <= first <= last < motion.n_frames:
        raise BadValue(f"clasp frames must lie in 0–{motion.n_frames - 1}, got {first}–{last}")
    closed = motion.rotations.copy()
    world = motion.world()
    meeting = _meeting_point(motion, world, seed)
    for side in ("left", "right"):
        _bend_arm(motion.skeleton, world, closed, side, meeting)
    index = np.arange(motion.n_frames)
    away = np.maximum(np.maximum(first - index, index - last), 0) / (APPROACH_SECONDS * motion.rate)
    rotations = blend(motion.skeleton, motion.rotations, closed, 1.0 - ease(away))
    # where nothing is blended, not a bit changes
    rotations = np.where((away >= 1.0)[:, None, None], motion.rotations, rotations)
    rotations = np.where((away == 0.0)[:, None, None], closed, rotations)
    left, right = (tuple(_palm(motion.skeleton, side).tolist()) for side in ("left", "right"))
    held = Attachment(("left_hand", "right_hand"), frames, left, right, 0.0)
    return replace(act, motion=replace(motion, rotations=rotations), clasps=(*act.clasps, held))


def _meeting_point(motion: Motion, world: tuple[Array, Array], seed: int) -> Array:
    """(n_frames, 3) in the world, moving about a place in front of the shoulders."""
    skeleton = motion.skeleton
    q_world, p_world = world
    arms = [skeleton.index(f"{side}_upper_arm") for side in ("left", "right")]
    chest = skeleton.index("chest")
    size = float(np.linalg.norm(skeleton.offsets[skeleton.index("left_forearm")]))
    times = np.arange(motion.n_frames) / motion.rate
    wave = waves(stream(seed, "clasp"), times, 3, 0.15, 0.7)
    ahead = size * (np.array([0.0, 1.0, -0.3]) + wave * [0.35, 0.25, 0.5])
    return p_world[:, arms].mean(axis=1) + quat.rotate(q_world[:, chest], ahead)


def _bend_arm(
    skeleton: Skeleton,
    world: tuple[Array, Array],
    rotations: Array,
    side: str,
    meeting: Array,
) -> None:
    """Straight wrist, elbow bent so that the palm is at the meeting point; written in place."""
    clavicle, upper, lower, hand = (
        skeleton.index(f"{side}_{part}") for part in ("clavicle", "upper_arm", "forearm", "hand")
    )
    q_world, p_world = world
    lengths = np.linalg.norm(skeleton.offsets[[lower, hand]], axis=-1)
    to_palm = float(lengths[1] + np.linalg.norm(_palm(skeleton, side)))
    outward = 0.6 if side == "left" else -0.6
    towards = quat.rotate(q_world[:, skeleton.index("chest")], np.array([outward, 0.3, 1.0]))
    q_upper, angle = reach(
        meeting - p_world[:, upper], float(lengths[0]), to_palm, towards, bend=1.0
    )
    rotations[:, upper] = quat.between(q_world[:, clavicle], q_upper)
    rotations[:, lower] = quat.from_axis_angle(X, angle)
    rotations[:, hand] = quat.identity()


def _palm(skeleton: Skeleton, side: str) -> Array:
    tip = skeleton.body(f"{side}_hand").tip
    if tip is None:
        raise BadValue(f"performer {skeleton.subject!r} has no palms to clasp")
    return PALM_SHARE * tip
