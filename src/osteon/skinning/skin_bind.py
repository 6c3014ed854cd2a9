"""A bare mesh of a whole body, bound to a rig: laid over its bones, weights by distance."""

import numpy as np
from scipy.spatial import KDTree

from osteon.anatomy import Normalised
from osteon.errors import NotEnoughData
from osteon.formats import Triangles
from osteon.maths import quat
from osteon.skinning.body_skin import body_extent, carried
from osteon.skinning.flesh import FleshPose, pose_of
from osteon.typing import Array
from osteon.values import SkinnedMesh

LIFTS = np.radians([5.0, 25.0, 45.0, 65.0, 90.0])
"""Heights of the arms that are tried: meshes stand in a T, an A, or at attention."""
IN_PLACE = 0.05
"""Meshes that are as large as the rig and where it is, to this part of its height, stay there."""
FACES = np.array([0.0, -1.0, 0.0])
"""Where a mesh looks: to the front of glTF and OBJ, z, with y turned up."""


def bound(mesh: Triangles, found: Normalised) -> SkinnedMesh:
    """The mesh on the given motion's skeleton.

    The mesh is z up, of any size; it stands as the rig's rest pose does, as somebody in the take's
    default pose, or with its arms at another height.
    """
    poses = _poses(found)
    laid = [_laid_over(mesh.vertices, pose) for pose in poses]
    misses = [_miss(vertices, pose) for vertices, pose in zip(laid, poses, strict=True)]
    best = int(np.argmin(misses))
    pose, vertices = poses[best], laid[best]
    bodies, weights = carried(pose, vertices, mesh.faces)
    return SkinnedMesh(vertices, mesh.faces, bodies, weights, pose.rotations, pose.joints)


def _poses(found: Normalised) -> list[FleshPose]:
    """The rest pose, the default pose, and the first with the arms at several heights."""
    skeleton = found.skeleton
    rest = skeleton.rest
    default = found.given.rotations[found.default_frame].copy()
    default[0] = rest[0]
    first = pose_of(skeleton, rest)
    lifted = [pose_of(skeleton, _arms_lifted(first, rest, angle)) for angle in LIFTS]
    return [first, pose_of(skeleton, default), *lifted]


def _arms_lifted(pose: FleshPose, rotations: Array, angle: float) -> Array:
    """Local rotations with both upper arms ``angle`` radians from hanging, sideways."""
    lifted = rotations.copy()
    to_left = np.cross([0.0, 0.0, 1.0], pose.front)
    for side, out in (("left", to_left), ("right", -to_left)):
        ends = [pose.parts.get(f"{side}_{part}") for part in ("upper_arm", "forearm")]
        if None in ends:
            continue
        arm, elbow = (int(end) for end in ends)  # type: ignore[arg-type]
        goal = np.sin(angle) * out - np.cos(angle) * np.array([0.0, 0.0, 1.0])
        turn = quat.shortest(pose.joints[elbow] - pose.joints[arm], goal)
        above = pose.rotations[pose.skeleton.parents[arm]]
        lifted[arm] = quat.between(above, quat.multiply(turn, pose.rotations[arm]))
    return lifted


def _laid_over(vertices: Array, pose: FleshPose) -> Array:
    """The mesh as tall as the rig, turned to its front and over its middle."""
    low, high = body_extent(pose)
    least, most = vertices.min(axis=0), vertices.max(axis=0)
    if most[2] - least[2] <= 0.0:
        raise NotEnoughData("the mesh is flat; a skin must stand upright")
    scale = (high - low)[2] / (most - least)[2]
    apart = np.abs(0.5 * (low + high - least - most)).max()
    if abs(scale - 1.0) < IN_PLACE and apart < IN_PLACE * (high - low)[2]:
        return vertices
    heading = np.arctan2(pose.front[1], pose.front[0]) - np.arctan2(FACES[1], FACES[0])
    turned = quat.rotate(quat.exp(np.array([0.0, 0.0, heading])), scale * vertices)
    middle = 0.5 * (turned.min(axis=0) + turned.max(axis=0))
    return turned - middle + 0.5 * (low + high)


def _miss(vertices: Array, pose: FleshPose) -> float:
    """Mean distance of bones from the mesh, and of the mesh from bones: large where a limb of the
    one is where the other has none."""
    points = []
    for body, parent in enumerate(pose.skeleton.parents):
        if parent >= 0:
            share = np.linspace(0.1, 1.0, 8)[:, None]
            points.append((1.0 - share) * pose.joints[parent] + share * pose.joints[body])
        tip = pose.tip(body)
        if tip is not None:
            points.append(tip[None])
    bones = np.concatenate(points)
    to_mesh, to_bones = KDTree(vertices).query(bones)[0], KDTree(bones).query(vertices)[0]
    return float(to_mesh.mean() + to_bones.mean())
