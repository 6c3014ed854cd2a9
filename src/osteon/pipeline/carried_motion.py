"""A performer's motion on a character, who stands on the performer's ground."""

from dataclasses import replace

import numpy as np

from osteon.human import StandingFigure
from osteon.posing import FEET, Standing, find_soles, find_standing
from osteon.retargeting import carry_poses
from osteon.typing import Array
from osteon.values import Motion, Recording


def carry_motion(
    one: StandingFigure, other: StandingFigure, motion: Motion, scale: float
) -> tuple[Motion, Standing]:
    """The performer's motion on the character, who stands on the performer's ground, scaled; and
    when the performer's feet stand, called as the character's."""
    poses = carry_poses(one, other, motion, scale=scale)
    moved = replace(
        motion, skeleton=other.skeleton, rotations=poses[0], root=poses[1], offsets=None
    )
    feet = {one.parts[p]: other.parts[p] for p in FEET if p in one.parts and p in other.parts}
    own = find_standing(motion, find_soles(one))
    plants = [replace(p, body=feet[p.body]) for p in own.plants if p.body in feet]
    like = replace(own, plants=tuple(plants))
    now = find_standing(moved, find_soles(other), like)
    return replace(moved, root=moved.root + lift_between(like, now, scale)), like


def lift_between(like: Standing, now: Standing, scale: float = 1.0) -> Array:
    """(3,) metres by which soles are to be lifted, to stand as high as the performer's."""
    if not now.plants:
        return np.zeros(3)
    wanted, found = (np.median([p.place[2] for p in each.plants]) for each in (like, now))
    return np.array([0.0, 0.0, scale * wanted - found])


def lifted(recording: Recording, lift: Array) -> Recording:
    did = f"lifted by {1e3 * lift[2]:.0f} mm, for the character's soles to be on the ground"
    return recording.with_positions(recording.positions + lift, did=did)
