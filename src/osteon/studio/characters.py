"""Skins for the page, and characters that markers are glued onto by hand."""

from pathlib import Path

import numpy as np

from osteon.edits import placed_on
from osteon.errors import BadValue, NotEnoughData
from osteon.formats import read
from osteon.human import figure_at_rest
from osteon.report import SkinRow, skin_row
from osteon.retargeting import transfer
from osteon.studio.document import OpenTake, Shown
from osteon.studio.messages import Character, PlacedMarker
from osteon.studio.rig_messages import rig_row
from osteon.values import Motion, Skeleton

SAMPLES = 200
"""Poses from which the one to dress in is taken."""


def skin_of(shown: OpenTake | Shown) -> SkinRow | None:
    """A skin for the rig that moves; None where nothing is solved."""
    if shown.solved is None:
        return None
    draft = shown.motion_draft()
    return skin_row(draft.window(0, draft.n_frames - 1, max(1, draft.n_frames // SAMPLES)))


def character_skin(path: Path) -> SkinRow | None:
    return skin_row(_at_rest(read(path).skeleton()))


def character_at(path: Path, take: OpenTake) -> Character:
    """A character in its rest pose, and where the take's markers are on it so far."""
    skeleton = read(path).skeleton()
    motion = _at_rest(skeleton)
    turned, joints = motion.world()
    return Character(
        rig=rig_row(motion),
        joints=tuple(map(tuple, joints[0].tolist())),
        turned=tuple(map(tuple, turned[0].tolist())),
        placed=_placed(skeleton, path.name, take),
    )


def _at_rest(skeleton: Skeleton) -> Motion:
    rest = np.stack([body.joint.rest for body in skeleton.bodies])
    return Motion(skeleton, rest[None], np.zeros((1, 3)), rate=1.0)


def _placed(skeleton: Skeleton, file: str, take: OpenTake) -> tuple[PlacedMarker, ...]:
    """By hand where that was done, else the character's own, else carried over from the rig."""
    found = {marker.marker: marker for marker in _guessed(skeleton, take)}
    for body in skeleton.bodies:
        for marker in body.markers:
            found[marker.name] = PlacedMarker(
                marker.name, body.name, tuple(marker.position.tolist())
            )
    for name, edit in placed_on(take.edits, file).items():
        found[name] = PlacedMarker(name, edit.body, edit.position, by_hand=True)
    return tuple(found[name] for name in take.names if name in found)


def _guessed(skeleton: Skeleton, take: OpenTake) -> list[PlacedMarker]:
    """As ``map`` would begin; nothing where the performer or the character is not understood."""
    if take.solved is None:
        return []
    try:
        performer = figure_at_rest(take.solved.skeleton)
        carried = transfer(performer, figure_at_rest(skeleton)).on(skeleton)
    except (NotEnoughData, BadValue):
        return []
    return [
        PlacedMarker(marker.name, body.name, tuple(marker.position.tolist()))
        for body in carried.bodies
        for marker in body.markers
    ]
