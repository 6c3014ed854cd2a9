"""Axes for bones in programs that draw a bone along one of its own: y from joint to joint, z to the
front, as Blender and Mixamo have them. Such programs know no other direction of a bone."""

from collections.abc import Sequence

import numpy as np

from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Skeleton

FRONT, UP = np.array([0.0, -1.0, 0.0]), np.array([0.0, 0.0, 1.0])
"""Of a figure in its standing pose."""
TO_FRONT = np.cos(np.radians(45.0))
"""Cosine of the angle to front or back below which a bone, as a foot's, has z up instead; derived:
half of the way between both."""
SHORTEST = 1e-4
"""Metres; chosen: ends nearer to their joint have hardly a direction."""
ON_AXIS = np.cos(np.radians(1.0))
"""Cosine of the angle within which a bone lies along an axis; chosen: drawn rigs are exact, people
are not."""
OWN_SHARE = 0.5
"""Share of bones along one and the same axis from which on a rig has axes of its own; chosen: a
drawn rig has nearly all, and parallel frames cannot serve trunk, arms and legs alike."""


def bone_axes(skeleton: Skeleton, rotations: Array) -> Array:
    """Return (n_bodies, 4) to each body's frame from that of its bone.

    ``rotations`` (n_bodies, 4) is the standing pose. A rig that was drawn with axes along its
    bones, whichever, keeps them: whoever made it counts on them.
    """
    ends = _bone_ends(skeleton)
    if _has_own_axes(skeleton, ends):
        return quat.identity((len(ends),))
    along = quat.rotate(rotations, ends)
    z = np.where((np.abs(along @ FRONT) > TO_FRONT)[:, None], UP, FRONT)
    x = _unit(np.cross(along, z))
    turns = np.stack([x, along, np.cross(x, along)], axis=-1)
    return quat.between(rotations, quat.from_matrix(turns))


def to_bones(axes: Array, parents: Sequence[int]) -> Array:
    """Return (n_bodies, 4) the turns into the frames that stand turned by ``axes`` in the bodies'
    parents."""
    above = np.array([quat.identity() if p < 0 else axes[p] for p in parents]).reshape(-1, 4)
    return quat.inverse(above)


def reframe(
    axes: Array, parents: Sequence[int], rotations: Array, places: Array
) -> tuple[Array, Array]:
    """Return local rotations (..., n_bodies, 4) and places (..., n_bodies, 3) of bodies as those of
    frames that stand turned by ``axes`` in them; back again with the inverse of ``axes``."""
    to_bone = to_bones(axes, parents)
    turned = quat.multiply(quat.multiply(to_bone, rotations), axes)
    return turned, quat.rotate(to_bone, places)


def _bone_ends(skeleton: Skeleton) -> Array:
    """Return (n_bodies, 3) the direction of each bone in its body's frame: to the child that goes
    straight on, to the tip, or on as its parent's. Of a root, to the child that carries most."""
    parents, offsets, frames = skeleton.parents, skeleton.offsets, skeleton.rest
    carried = _carried(parents)
    ends = np.tile(UP, (len(parents), 1))
    for index, (body, parent) in enumerate(zip(skeleton.bodies, parents, strict=True)):
        came = ends[index]
        if parent >= 0:
            arm = offsets[index]
            onward = arm if np.linalg.norm(arm) > SHORTEST else ends[parent]
            came = _unit(quat.rotate(quat.inverse(frames[index]), onward))
        arms = {c: offsets[c] for c, p in enumerate(parents) if p == index}
        arms = {c: arm for c, arm in arms.items() if np.linalg.norm(arm) > SHORTEST}
        tip = body.tip_from_joint
        if arms and parent < 0:
            ends[index] = _unit(arms[max(arms, key=lambda c: carried[c])])
        elif arms:
            ends[index] = max(map(_unit, arms.values()), key=lambda way: float(way @ came))
        elif tip is not None and np.linalg.norm(tip) > SHORTEST:
            ends[index] = _unit(tip)
        else:
            ends[index] = came
    return ends


def _carried(parents: Sequence[int]) -> list[int]:
    """Return how many bodies hang on each, itself counted; parents stand first."""
    counts = [1] * len(parents)
    for index in reversed(range(len(parents))):
        if parents[index] >= 0:
            counts[parents[index]] += counts[index]
    return counts


def _has_own_axes(skeleton: Skeleton, ends: Array) -> bool:
    """Return whether frames differ at rest, and most bones lie along the same of their axes."""
    turned = quat.angle(skeleton.rest[1:])
    on_axis = (np.abs(ends) > ON_AXIS).mean(axis=0)
    return bool(turned.max(initial=0.0) > np.arccos(ON_AXIS) and on_axis.max() >= OWN_SHARE)


def _unit(vectors: Array) -> Array:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
