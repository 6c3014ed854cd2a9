"""Motions: what a performer does. A script turns a performer into a motion whose truth is known."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.errors import BadValue
from osteon.maths import quat
from osteon.synth.curves import ease, stream, through, waves
from osteon.synth.joint_coordinates import X, blend, dofs, reach, to_rotations
from osteon.synth.performers import standing_height
from osteon.typing import Array
from osteon.values import Attachment, Motion, Skeleton

STILL_ANGLE = 0.02
"""Radians by which every joint wanders about its place; chosen: nobody stands still."""
SWING_ANGLES = {
    "chest": (0.0, 0.09, 0.0),
    "head": (0.0, 0.14, 0.0),
    "upper_arm": (0.0, 0.44, 0.0),
    "forearm": (0.5, 0.35, 0.0),
    "hand": (0.0, 0.10, 0.0),
    "thigh": (0.2, 0.52, 0.0),
    "shin": (-0.65, 0.60, 0.9),
    "foot": (0.0, 0.35, 1.5),
}
"""Part → middle, amplitude and phase of its swing, radians; chosen: about those of a walk."""
PALM_SHARE = 0.4
"""Share of the hand's length at which the palm is; chosen: about its middle."""
APPROACH_SECONDS = 0.6
"""Seconds in which the hands come together and part again; chosen: a quick, smooth motion."""


@dataclass(frozen=True)
class TrueContact:
    """A foot that stands still on the ground."""

    body: str
    frames: tuple[int, int]
    """First and last frame."""


@dataclass(frozen=True)
class Act:
    """A motion and what is true of it beyond its angles."""

    motion: Motion
    contacts: tuple[TrueContact, ...] = ()
    clasps: tuple[Attachment, ...] = ()


Script = Callable[[Skeleton, np.random.Generator], Act]
"""What a motion function returns: give it a performer and random numbers, and it acts."""


def exercise(seconds: float = 60.0, *, rate: float = 120.0, together: bool = False) -> Script:
    """Each joint in turn through the range of each of its axes; or all of them at once.

    Parameters
    ----------
    together : bool
        All joints move all the time, smoothly and at random, within their ranges.
    """

    def act(skeleton: Skeleton, rng: np.random.Generator) -> Act:
        times = clock(seconds, rate)
        angles = (_all_at_once if together else _one_by_one)(skeleton, times, rng)
        rotations = to_rotations(skeleton, angles)
        sway = waves(rng, times, 6, 0.05, 0.4)
        rotations[:, 0] = quat.exp(sway[:, :3] * [0.15, 0.15, 0.6])
        root = sway[:, 3:] * [0.15, 0.15, 0.03] + [0.0, 0.0, standing_height(skeleton)]
        return Act(Motion(skeleton, rotations, root, rate, history=("exercise",)))

    return act


def swing_walk(seconds: float = 10.0, *, off_axis: float, rate: float = 120.0) -> Script:
    """Walking without ground: all joints swing in one plane but for ``off_axis``.

    The motion that makes hierarchies ambiguous ([000] §4): what a hip shows of its place is
    what it turns about the other two axes.

    Parameters
    ----------
    off_axis : float
        Amplitude of every joint's turns about y and z, radians; of universal joints a third.
    """

    def act(skeleton: Skeleton, rng: np.random.Generator) -> Act:
        times = clock(seconds, rate)
        swing = np.stack(
            [_swing(dof.body, dof.label, times, off_axis, skeleton, rng) for dof in dofs(skeleton)],
            axis=-1,
        )
        rotations = to_rotations(skeleton, swing)
        turn = np.stack([np.sin(5.6 * times), np.sin(11.3 * times), np.sin(5.65 * times + 2)], -1)
        rotations[:, 0] = quat.exp(turn * [0.07, 0.05, 0.10])
        root = np.stack(
            [0.02 * np.sin(5.6 * times), 1.2 * times, 0.02 * np.sin(11.3 * times)], axis=-1
        )
        root[:, 2] += standing_height(skeleton)
        return Act(Motion(skeleton, rotations, root, rate, history=("walk without ground",)))

    return act


def sequence(*scripts: Script, seconds: float = 0.7) -> Script:
    """One script after another, each beginning where the last ended.

    For ``seconds`` at each seam one passes smoothly into the next; feet may slide there, and no
    contacts are claimed.
    """

    def act(skeleton: Skeleton, rng: np.random.Generator) -> Act:
        whole = scripts[0](skeleton, rng)
        for script in scripts[1:]:
            whole = _joined(whole, script(skeleton, rng), seconds)
        return whole

    return act


def clock(seconds: float, rate: float) -> Array:
    """Times (n_frames,) of the frames, seconds."""
    n_frames = round(seconds * rate)
    if n_frames < 2:
        raise BadValue(f"{seconds} s at {rate} frames per second are fewer than two frames")
    return np.arange(n_frames) / rate


def _one_by_one(skeleton: Skeleton, times: Array, rng: np.random.Generator) -> Array:
    ways = dofs(skeleton)
    wander = waves(rng, times, len(ways), 0.1, 0.6)
    # wide ranges take longer: no joint is flung about
    effort = np.cumsum([0.0, *(dof.high - dof.low + 0.5 for dof in ways)])
    done = times / times[-1] * effort[-1]
    for column, dof in enumerate(ways):
        still = min(STILL_ANGLE, (dof.high - dof.low) / 10.0)
        low, high = dof.low + still, dof.high - still
        start = np.clip(0.0, low, high)
        share = (done - effort[column]) / (effort[column + 1] - effort[column])
        path = through(share, np.array([start, high, low, start]))
        wander[:, column] = path + still * wander[:, column]
    return wander


def _all_at_once(skeleton: Skeleton, times: Array, rng: np.random.Generator) -> Array:
    ways = dofs(skeleton)
    low, high = np.array([dof.low for dof in ways]), np.array([dof.high for dof in ways])
    return (low + high) / 2 + (high - low) / 2 * waves(rng, times, len(ways), 0.15, 0.9)


def _swing(
    name: str,
    axis: str,
    times: Array,
    off_axis: float,
    skeleton: Skeleton,
    rng: np.random.Generator,
) -> Array:
    frequency, phase = rng.uniform(0.3, 1.3), rng.uniform(0.0, 2.0 * np.pi)
    if axis in ("x", "hinge"):
        part = name.removeprefix("left_").removeprefix("right_")
        middle, amplitude, lag = SWING_ANGLES.get(part, (0.0, 0.1, 0.0))
        side = np.pi if name.startswith("right_") else 0.0
        return middle + amplitude * np.sin(2.0 * np.pi * 0.9 * times + side + lag)
    share = 1.0 if skeleton.body(name).joint.kind == "ball" else 1.0 / 3.0
    return off_axis * share * np.sin(2.0 * np.pi * frequency * times + phase)


def _joined(first: Act, second: Act, seconds: float) -> Act:
    one, two = first.motion, second.motion
    if one.rate != two.rate:
        raise BadValue(f"scripts in sequence need one rate, got {one.rate} and {two.rate}")
    n_shared = min(max(round(seconds * one.rate), 1), one.n_frames, two.n_frames)
    start = one.n_frames - n_shared
    share = ease(np.arange(1, n_shared + 1) / (n_shared + 1))
    there = two.root + (one.root[-1] - two.root[0]) * [1.0, 1.0, 0.0]
    path = one.root[start:] + share[:, None] * (there[:n_shared] - one.root[start:])
    turns = blend(one.skeleton, one.rotations[start:], two.rotations[:n_shared], share)
    motion = replace(
        one,
        rotations=np.concatenate([one.rotations[:start], turns, two.rotations[n_shared:]]),
        root=np.concatenate([one.root[:start], path, there[n_shared:]]),
        history=(*one.history, *two.history),
    )
    before = _between(first.contacts, 0, start - 1)
    after = _between(second.contacts, n_shared, two.n_frames - 1)
    later = [replace(c, frames=(c.frames[0] + start, c.frames[1] + start)) for c in after]
    return Act(motion, (*before, *later))


def _between(contacts: Sequence[TrueContact], first: int, last: int) -> list[TrueContact]:
    """What is left of contacts from frame ``first`` to frame ``last``."""
    cut = [
        replace(contact, frames=(max(contact.frames[0], first), min(contact.frames[1], last)))
        for contact in contacts
    ]
    return [contact for contact in cut if contact.frames[0] <= contact.frames[1]]


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
        bend_arm(motion.skeleton, world, closed, side, meeting)
    index = np.arange(motion.n_frames)
    away = np.maximum(np.maximum(first - index, index - last), 0) / (APPROACH_SECONDS * motion.rate)
    rotations = blend(motion.skeleton, motion.rotations, closed, 1.0 - ease(away))
    # where nothing is blended, not a bit changes
    rotations = np.where((away >= 1.0)[:, None, None], motion.rotations, rotations)
    rotations = np.where((away == 0.0)[:, None, None], closed, rotations)
    left, right = (tuple(palm(motion.skeleton, side).tolist()) for side in ("left", "right"))
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


def bend_arm(
    skeleton: Skeleton,
    world: tuple[Array, Array],
    rotations: Array,
    side: str,
    meeting: Array,
    prefix: str = "",
) -> None:
    """Straight wrist, elbow bent so that the palm is at the meeting point; written in place.

    ``prefix`` begins the names of all bodies of one performer among several.
    """
    clavicle, upper, lower, hand = (
        skeleton.index(f"{prefix}{side}_{part}")
        for part in ("clavicle", "upper_arm", "forearm", "hand")
    )
    q_world, p_world = world
    lengths = np.linalg.norm(skeleton.offsets[[lower, hand]], axis=-1)
    to_palm = float(lengths[1] + np.linalg.norm(palm(skeleton, side, prefix)))
    outward = 0.6 if side == "left" else -0.6
    chest = skeleton.index(f"{prefix}chest")
    towards = quat.rotate(q_world[:, chest], np.array([outward, 0.3, 1.0]))
    q_upper, angle = reach(
        meeting - p_world[:, upper], float(lengths[0]), to_palm, towards, bend=1.0
    )
    rotations[:, upper] = quat.between(q_world[:, clavicle], q_upper)
    rotations[:, lower] = quat.from_axis_angle(X, angle)
    rotations[:, hand] = quat.identity()


def palm(skeleton: Skeleton, side: str, prefix: str = "") -> Array:
    """(3,) the middle of a hand, in its frame."""
    tip = skeleton.body(f"{prefix}{side}_hand").tip
    if tip is None:
        raise BadValue(f"performer {skeleton.subject!r} has no palms to clasp")
    return PALM_SHARE * tip
