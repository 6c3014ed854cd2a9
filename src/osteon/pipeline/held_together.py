"""Who holds whom among several subjects of a take, and the things that they use."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.articulation import Link, holds_between, segment, track
from osteon.errors import NotEnoughData
from osteon.pipeline.solved import Solved
from osteon.typing import Array
from osteon.values import Attachment, Bodies, Motion

SOLVED_SLACK = 0.01
"""Metres that the bodies of a solved subject are off, rms. Chosen: knees, elbows and wrists of
people with bones known are 5 to 10 mm off (docs/numbers/anatomy.md)."""
THING_MARKERS = 3
"""Count of markers of a thing. Derived: fewer show no orientation."""


def tell_holds(solved: Sequence[Solved]) -> list[Solved]:
    """Note in each subject of one take whom it holds in which frames, and who holds it."""
    things = _things(solved[0])
    if len(solved) < 2 and things is None:
        return list(solved)
    motions = [each.motion for each in solved]
    if len({(motion.n_frames, motion.rate) for motion in motions}) > 1:
        return list(solved)
    parts = [_bodies(motion) for motion in motions]
    groups = np.repeat(np.arange(len(parts)), [part.n_bodies for part in parts])
    if things is not None:
        groups = np.append(groups, groups.max() + 1 + np.arange(things.n_bodies))
        parts.append(things)
    names = [f"{row}/{name}" for row, part in enumerate(parts) for name in part.names]
    whole = replace(
        parts[0],
        positions=np.concatenate([part.positions for part in parts], axis=1),
        rotations=np.concatenate([part.rotations for part in parts], axis=1),
        names=tuple(names),
    )
    found = holds_between(whole, _links(motions), groups, SOLVED_SLACK)
    called = [each.motion.skeleton.subject for each in solved] + [""] * len(parts)
    return [
        replace(each, warnings=(*each.warnings, *_notes(found, row, called)))
        for row, each in enumerate(solved)
    ]


def _things(solved: Solved) -> Bodies | None:
    """Rigid groups of markers that are on no body of the subject."""
    worn = solved.motion.skeleton.marker_names
    left = [name for name in solved.recording.names if name not in worn]
    if len(left) < THING_MARKERS:
        return None
    rest = solved.recording.select(left)
    try:
        bodies = track(rest, segment(rest)).bodies
    except NotEnoughData:
        return None
    return bodies if bodies.n_bodies else None


def _bodies(motion: Motion) -> Bodies:
    rotations, joints = motion.world()
    return Bodies(joints, rotations, motion.skeleton.names, motion.rate)


def _links(motions: Sequence[Motion]) -> list[Link]:
    """The joints of all subjects, their bodies counted on."""
    links, before = [], 0
    for skeleton in (motion.skeleton for motion in motions):
        for body, parent in enumerate(skeleton.parents):
            if parent >= 0:
                places: Array = np.concatenate([skeleton.offsets[body], np.zeros(3)])
                links.append(Link(before + parent, before + body, places))
        before += len(skeleton.bodies)
    return links


def _notes(found: Sequence[Attachment], row: int, called: Sequence[str]) -> list[str]:
    """What is told of one subject."""
    notes = []
    for hold in found:
        ends = [end.split("/", 1) for end in hold.bodies]
        if str(row) not in (ends[0][0], ends[1][0]):
            continue
        own, other = sorted(ends, key=lambda end: end[0] != str(row))
        whose = f" of {called[int(other[0])]}" if called[int(other[0])] else ""
        first, last = hold.frames
        notes.append(f"{own[1]} and {other[1]}{whose} hold together in frames {first} to {last}")
    return notes
