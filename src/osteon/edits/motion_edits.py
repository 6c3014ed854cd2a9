"""Plants and poses set by hand on a finished motion. Only frames near an edit change."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.cleaning import check_range
from osteon.edits.model import SetPlant, SetPose
from osteon.edits.pose_by_hand import bend, frames_of, plant
from osteon.errors import BadValue, NotEnoughData
from osteon.human import figure_at_rest
from osteon.maths import runs
from osteon.posing import Contact, find_soles
from osteon.typing import Array
from osteon.values import Motion, Skeleton

AROUND = 0.25
"""Seconds around a plant that may follow it."""

MotionEdit = SetPlant | SetPose


def changed_frames(edit: MotionEdit, rate: float, n_frames: int) -> tuple[int, int]:
    """First and last frame that an edit may change."""
    if isinstance(edit, SetPose):
        return frames_of(edit, rate, n_frames)
    check_range(n_frames, edit.first, edit.last)
    around = round(AROUND * rate) if edit.on else 0
    return max(edit.first - around, 0), min(edit.last + around, n_frames - 1)


def changed_motion(
    motion: Motion,
    contacts: Sequence[Contact],
    edit: MotionEdit,
    by_hand: Skeleton | None = None,
) -> tuple[Motion, tuple[Contact, ...]]:
    """The motion and its contacts after one edit; ``by_hand`` as in :class:`Solved`."""
    first, last = changed_frames(edit, motion.rate, motion.n_frames)
    window = changed_window(motion.frames(first, last), first, edit, by_hand)
    rotations, root = np.array(motion.rotations), np.array(motion.root)
    rotations[first : last + 1], root[first : last + 1] = window.rotations, window.root
    contacts = with_plant(contacts, edit, motion) if isinstance(edit, SetPlant) else contacts
    return replace(motion, rotations=rotations, root=root), tuple(contacts)


def changed_window(
    window: Motion, first: int, edit: MotionEdit, by_hand: Skeleton | None = None
) -> Motion:
    """The frames that an edit may change, changed; the window begins at ``first``."""
    if by_hand is not None and not edit.found:
        window = _with_joints(window, by_hand)
    if isinstance(edit, SetPose):
        return bend(window, edit.frame - first, edit)
    window.skeleton.index(edit.body)  # refuses a body that is not there
    if not edit.on:
        return window
    body = window.skeleton.index(edit.body)
    frames = edit.first - first, edit.last - first
    return plant(window, body, _points(window.skeleton, body), frames)


def _with_joints(motion: Motion, other: Skeleton) -> Motion:
    """The motion on another skeleton's joints."""
    bodies = [replace(body, joint=other.body(body.name).joint) for body in motion.skeleton.bodies]
    return replace(motion, skeleton=replace(motion.skeleton, bodies=tuple(bodies)))


def with_plant(contacts: Sequence[Contact], edit: SetPlant, motion: Motion) -> tuple[Contact, ...]:
    """Contacts in which the body stands, or does not, in the edit's frames."""
    stands = np.zeros(motion.n_frames, dtype=bool)
    for contact in contacts:
        if contact.body == edit.body:
            stands[contact.frames[0] : contact.frames[1] + 1] = True
    stands[edit.first : edit.last + 1] = edit.on
    others = [contact for contact in contacts if contact.body != edit.body]
    own = [Contact(edit.body, run) for run in runs(stands)]
    return tuple(sorted([*others, *own], key=lambda contact: contact.frames))


def _points(skeleton: Skeleton, index: int) -> Array:
    """(n, 3) from the joint: a foot's sole, else the body's free end, else its joint."""
    try:
        for sole in find_soles(figure_at_rest(skeleton)):
            if sole.body == index:
                return sole.points
    except (NotEnoughData, BadValue):
        pass
    tip = skeleton.bodies[index].tip_from_joint
    return (np.zeros(3) if tip is None else tip)[None]
