"""A mesh to see a skeleton by: a long octahedron per bone, a small one at each joint.

Many viewers show nothing, and Blender makes no bones, without a skinned mesh.
"""

from collections.abc import Iterator

import numpy as np

from osteon.maths import quat
from osteon.typing import Array
from osteon.values import CARRIERS, Skeleton, SkinnedMesh

WAIST = 0.15
"""Where a bone is thickest, as a share of its length."""
BONE_RADIUS = 0.07
"""Half its thickness there, as a share of its length."""
JOINT_RADIUS = 0.05
"""Of the octahedron at a joint, as a share of the longest bone there."""
LONE_RADIUS = 0.05
"""Of a joint that no bone touches, metres."""
SHORTEST = 1e-6
"""Bones shorter than this have no direction, metres."""

_RING = np.array([[1.0, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]])
_FACES = np.array([[4, (i + 1) % 4, i] for i in range(4)] + [[5, i, (i + 1) % 4] for i in range(4)])


def bone_mesh(skeleton: Skeleton, places: Array) -> SkinnedMesh:
    """Bones of a skeleton whose joints stand at ``places`` (n_bodies, 3), all frames parallel.

    Triangles have corners of their own, so that every face is flat.
    """
    corners, carriers = [], []
    for body, triangles in _octahedra(skeleton):
        corners.append(places[body] + triangles)
        carriers.append(np.full(24, body))
    vertices = np.concatenate(corners)
    bodies = np.zeros((len(vertices), CARRIERS), dtype=int)
    bodies[:, 0] = np.concatenate(carriers)
    return SkinnedMesh(
        vertices,
        np.arange(len(vertices)).reshape(-1, 3),
        bodies,
        np.eye(CARRIERS)[np.zeros(len(vertices), dtype=int)],
        quat.identity((len(places),)),
        places,
    )


def _octahedra(skeleton: Skeleton) -> Iterator[tuple[int, Array]]:
    """Body and corners (24, 3), seen from its joint, of every octahedron."""
    reach = np.zeros(len(skeleton.bodies))
    for body, end in _bones(skeleton):
        length = float(np.linalg.norm(end))
        if length > SHORTEST:
            reach[body] = max(reach[body], length)
            turn = quat.shortest(np.array([0.0, 0.0, 1.0]), end)
            bone = _octahedron(0.0, WAIST * length, length, BONE_RADIUS * length)
            yield body, quat.rotate(turn, bone)
    arrive = np.linalg.norm(skeleton.offsets, axis=-1)
    for body, longest in enumerate(np.where(reach > 0.0, reach, arrive)):
        radius = JOINT_RADIUS * longest if longest > SHORTEST else LONE_RADIUS
        yield body, _octahedron(-radius, 0.0, radius, radius)


def _bones(skeleton: Skeleton) -> Iterator[tuple[int, Array]]:
    """Body and end, seen from its joint, of every bone: to each child, or to the tip."""
    for parent, offset in zip(skeleton.parents, skeleton.offsets, strict=True):
        if parent >= 0:
            yield parent, offset
    for index, body in enumerate(skeleton.bodies):
        if (tip := body.tip_from_joint) is not None:
            yield index, tip


def _octahedron(low: float, waist: float, high: float, radius: float) -> Array:
    """Corners (24, 3) of the eight triangles of an octahedron along z."""
    ring = radius * _RING + [0.0, 0.0, waist]
    points = np.concatenate([ring, [[0.0, 0.0, low], [0.0, 0.0, high]]])
    return points[_FACES].reshape(-1, 3)
