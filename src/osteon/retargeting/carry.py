"""A performer's poses on a character of other proportions and other bones.

Every part turns as the performer's does, from one rest pose to the other, and so does every other
body that both have under one name; the bodies of a trunk that the performer has as one, or not at
all, share the turn between their neighbours. The hips go where the performer's hips go, scaled by
the length of the legs.
"""

from collections.abc import Sequence

import numpy as np

from osteon.human import StandingFigure
from osteon.maths import quat
from osteon.posing import Rig, on_joints
from osteon.retargeting.attach import Attachments
from osteon.retargeting.pairing import pair_bodies, trunk_gaps
from osteon.typing import Array
from osteon.values import Motion, Skeleton

ALIKE_RATIO = 1.25
"""Bones whose lengths differ by more than this, or figures by half as much, are led by poses:
markers would bend the limbs of a character that has none of the performer's proportions."""
ACROSS = {
    "the hips' width": ("left_thigh", "right_thigh"),
    "the shoulders' width": ("left_upper_arm", "right_upper_arm"),
    "the trunk's length": ("left_thigh", "left_upper_arm"),
}
"""Distances between joints that are no bones."""
ARM_LENGTH = 0.1
"""Metres from a body's joint to the points that say how it is turned."""


def alike(performer: StandingFigure, character: StandingFigure) -> bool:
    """Whether the performer's markers can pull the character as they are."""
    size = character.size() / performer.size()
    bones = [size, *bone_ratios(performer, character).values()]
    return abs(np.log(size)) < 0.5 * np.log(ALIKE_RATIO) and max(
        abs(np.log(np.maximum(bones, 1e-9)))
    ) < np.log(ALIKE_RATIO)


def bone_ratios(performer: StandingFigure, character: StandingFigure) -> dict[str, float]:
    """Return how many times as long as the performer's the character's limb bones are."""
    own, other = _bones(performer), _bones(character)
    return {name: other[name] / max(own[name], 1e-9) for name in own if name in other}


def proportions(performer: StandingFigure, character: StandingFigure) -> dict[str, float]:
    """Return the same, and how wide hips and shoulders are and how long the trunk is."""
    ratios = bone_ratios(performer, character)
    for name, ends in ACROSS.items():
        if all(end in figure.parts for end in ends for figure in (performer, character)):
            own, other = (
                float(np.linalg.norm(figure.joint(ends[1]) - figure.joint(ends[0])))
                for figure in (performer, character)
            )
            ratios[name] = other / max(own, 1e-9)
    return ratios


def _bones(figure: StandingFigure) -> dict[str, float]:
    """Length of each limb bone that is known, metres."""
    lengths = {}
    for part in ("upper_arm", "forearm", "thigh", "shin"):
        for side in ("left", "right"):
            name = f"{side}_{part}"
            end = figure.end(name) if name in figure.parts else None
            if end is not None:
                lengths[name] = float(np.linalg.norm(end - figure.joint(name)))
    return lengths


def pose_points(skeleton: Skeleton) -> Attachments:
    """Put three points on every body: pulled together they pull it to a pose."""
    n_bodies = len(skeleton.bodies)
    places = ARM_LENGTH * np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    return Attachments(
        ("",) * (3 * n_bodies),
        np.repeat(np.arange(n_bodies), 3),
        np.tile(places, (n_bodies, 1)),
        np.tile([1.0, 0.3, 0.3], n_bodies),
    )


def points_of(motion: Motion, points: Attachments) -> Array:
    """Return (n_frames, n_points, 3) where a motion has these points in the world."""
    return motion.points(points.bodies, points.places)


def carry_poses(
    performer: StandingFigure,
    character: StandingFigure,
    motion: Motion,
    rig: Rig | None = None,
    scale: float = 1.0,
) -> tuple[Array, Array]:
    """Return the character's local rotations (n_frames, n_bodies, 4) and root (n_frames, 3).

    Parameters
    ----------
    motion
        The performer's.
    rig
        The character's, for what its joints allow; None: as if all were ball joints.
    scale
        Of the root's path, about the world's origin.
    """
    turned, joints = motion.world()
    world = _turns(performer, character, turned)
    _share_between(character, world)
    local = _allowed(character, world, rig)
    hips = [
        performer.skeleton.index(performer.parts[f"{side}_thigh"]) for side in ("left", "right")
    ]
    target = scale * joints[:, hips].mean(axis=1)
    reach = character.middle("thigh")
    assert reach is not None
    pelvis = character.skeleton.index(character.parts["pelvis"])
    below = reach - character.joints[pelvis]
    own = quat.rotate(quat.inverse(character.rotations[pelvis]), below)
    return local, _root_for(character, local, pelvis, own, target)


def _turns(performer: StandingFigure, character: StandingFigure, turned: Array) -> dict[int, Array]:
    """World rotations (n_frames, 4) of the character's bodies that correspond to one of the
    performer's."""
    world: dict[int, Array] = {}
    for body, (index, turn) in pair_bodies(performer, character).items():
        moved = quat.multiply(turned[:, index], quat.inverse(performer.rotations[index]))
        at_rest = quat.multiply(quat.inverse(turn), character.rotations[body])
        world[body] = quat.multiply(moved, at_rest)
    return world


def _share_between(character: StandingFigure, world: dict[int, Array]) -> None:
    """Bodies of the trunk between two that are known share what lies between them."""
    rest = character.rotations
    for above, inner, body in trunk_gaps(character, world):
        still = quat.multiply(world[above], quat.between(rest[above], rest[body]))
        for step, between in enumerate(inner, 1):
            share = np.full(len(still), step / (len(inner) + 1))
            turned = quat.slerp(still, world[body], share)
            world[between] = quat.multiply(turned, quat.between(rest[body], rest[between]))


def _allowed(character: StandingFigure, world: dict[int, Array], rig: Rig | None) -> Array:
    """Local rotations that the joints allow, each body as near its world rotation as it can be
    below a parent that may have fallen short."""
    parents, rest = character.skeleton.parents, character.rotations
    n_frames = len(next(iter(world.values())))
    local, actual = quat.identity((n_frames, len(parents))), quat.identity((n_frames, len(parents)))
    for bodies in _levels(parents):
        for body in bodies:
            parent = parents[body]
            above = quat.identity((n_frames,)) if parent < 0 else actual[:, parent]
            still = rest[body] if parent < 0 else quat.between(rest[parent], rest[body])
            wanted = world.get(body)
            local[:, body] = still if wanted is None else quat.between(above, wanted)
        local = local if rig is None else on_joints(rig.tree, local)
        for body in bodies:
            parent = parents[body]
            above = quat.identity((n_frames,)) if parent < 0 else actual[:, parent]
            actual[:, body] = quat.multiply(above, local[:, body])
    return local


def _levels(parents: Sequence[int]) -> list[list[int]]:
    """Bodies by how many stand above them."""
    depth: list[int] = []
    for parent in parents:
        depth.append(0 if parent < 0 else depth[parent] + 1)
    return [[b for b, d in enumerate(depth) if d == level] for level in range(max(depth) + 1)]


def _root_for(
    character: StandingFigure, local: Array, body: int, point: Array, target: Array
) -> Array:
    """(n_frames, 3) the root's place that brings a point of a body to its target."""
    skeleton = character.skeleton
    motion = Motion(skeleton, local, np.zeros((len(local), 3)), 1.0)
    turned, joints = motion.world()
    return target - joints[:, body] - quat.rotate(turned[:, body], point)
