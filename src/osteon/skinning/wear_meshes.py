"""Meshes that fit any body: given once in limb frames, or as one skin, put on every rig.

[002] §5.

A limb's mesh is told in its frame, x right, y front and z up the limb, from the limb's middle, and
in lengths of the limb: z runs from −½ to ½. So the same mesh fits other takes and other people.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from osteon.anatomy import Normalised, bone_lengths, limb_reaches
from osteon.errors import NotEnoughData, UnknownName
from osteon.formats import (
    Skinned,
    Triangles,
    read_glb_mesh,
    read_obj,
    to_z_up,
    turn_points,
    write_skinned,
)
from osteon.maths import forward_kinematics, quat
from osteon.skinning.skin_fit import bind_mesh, fit_skin
from osteon.values import CARRIERS, Skeleton, SkinnedMesh


def read_mesh(path: Path, up: str = "y") -> Triangles | Skinned:
    """Return a mesh as GLB or OBJ, with its skin where it has one.

    Parameters
    ----------
    up
        Axis that points up in an OBJ file; glTF says so itself.
    """
    if path.suffix.lower() in (".glb", ".gltf"):
        return read_glb_mesh(path)
    mesh = read_obj(path)
    return Triangles(turn_points(mesh.vertices, to_z_up(up)), mesh.faces)


def read_meshes(folder: Path) -> dict[str, Triangles]:
    """Return body name → mesh of every ``<body>.obj`` and ``<body>.glb`` in a folder."""
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in (".obj", ".glb"))
    meshes = {}
    for path in paths:
        mesh = read_mesh(path, up="z")
        meshes[path.stem] = mesh if isinstance(mesh, Triangles) else _bare(mesh)
    if not meshes:
        raise NotEnoughData(
            f"{folder.name} holds no mesh; name them after bodies, as left_thigh.obj"
        )
    return meshes


def _bare(mesh: Skinned) -> Triangles:
    return Triangles(mesh.mesh.vertices, mesh.mesh.triangles)


def dress_limbs(found: Normalised, meshes: Mapping[str, Triangles]) -> SkinnedMesh:
    """Return the meshes on the rig told in limb frames, in its rest pose; every face is flat."""
    rig = found.rig().skeleton
    sizes = limb_sizes(found.skeleton)
    rest = quat.identity((len(rig.bodies),))
    _, joints = forward_kinematics(rest, rig.offsets, rig.parents)
    corners, carriers = [], []
    for name, mesh in meshes.items():
        if name not in rig.names:
            raise UnknownName("body for the mesh", name, rig.names)
        index = rig.index(name)
        # a node sits at the joint, a limb frame in the middle
        middle = joints[index] - rig.joints_in_bodies[index]
        corners.append((middle + sizes[index] * mesh.vertices)[mesh.faces].reshape(-1, 3))
        carriers.append(np.full(len(corners[-1]), index))
    vertices = np.concatenate(corners)
    bodies = np.zeros((len(vertices), CARRIERS), dtype=int)
    bodies[:, 0] = np.concatenate(carriers)
    weights = np.eye(CARRIERS)[np.zeros(len(vertices), dtype=int)]
    triangles = np.arange(len(vertices)).reshape(-1, 3)
    return SkinnedMesh(vertices, triangles, bodies, weights, rest, joints)


def limb_sizes(skeleton: Skeleton) -> np.ndarray:
    """Return (n_bodies,) length of every limb, metres.

    Of one without a far end, the bone that leads to it; of the root, the way between its joints.
    """
    lengths = bone_lengths(skeleton)
    sizes = np.linalg.norm(limb_reaches(skeleton), axis=-1)
    on_root = list(skeleton.children_of(0))
    sizes[0] = 2.0 * lengths[on_root].mean() if on_root else 1.0
    return np.where(sizes > 1e-6, sizes, np.maximum(lengths, 1e-3))


def write_dressed(found: Normalised, path: Path, meshes: Path, up: str = "y") -> None:
    """Write a skinned GLB that wears a folder's meshes, limb by limb, or one skin over the whole
    body.

    Parameters
    ----------
    meshes
        Folder of meshes told in limb frames, or one file.
    up
        Axis that points up in one skin given as OBJ.
    """
    if meshes.is_dir():
        write_skinned(path, found.rig(), dress_limbs(found, read_meshes(meshes)))
        return
    mesh = read_mesh(meshes, up)
    skin = bind_mesh(mesh, found) if isinstance(mesh, Triangles) else fit_skin(mesh, found)
    write_skinned(path, found.given, skin)
