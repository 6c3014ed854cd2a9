"""The meshes of a glTF file, with the skin that carries them where there is one."""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from osteon.errors import FormatError, WrongContent
from osteon.formats.glb.nodes import (
    NodeTree,
    bind_pose,
    choose_bodies,
    node_worlds,
    unique_node_names,
)
from osteon.formats.glb.schema import File, our_extras
from osteon.formats.obj import Triangles
from osteon.formats.own.skeleton_json import BodyRecord, to_body
from osteon.formats.shared.units import to_z_up, turn_points
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Body, Joint, Skeleton, SkinnedMesh

TRIANGLE_LIST = 4
"""Code of a primitive made of triangles, defined by glTF."""
MOST_VERTICES = 5_000_000
"""Count of vertices of all primitives; those that share some have them each. Chosen: far more than
characters have, and still little memory."""
CORNER_COUNT = 6
"""Count of triangles' corners per vertex, derived: a closed mesh has twice as many triangles as
vertices."""
MAIN_SHARE = 0.5
"""Share of a vertex's weight above which it is a body's own, derived: two bodies cannot both have
more than half."""
END_SHARE = 0.9
"""Share of the way to the farthest vertex from which on flesh is a bone's end; chosen: the mean of
the last tenth does not hang on one vertex."""


class Skinned(NamedTuple):
    """A skin and the skeleton it was made for, whose rest pose is the pose it was put on in."""

    skeleton: Skeleton
    mesh: SkinnedMesh


def read_glb_mesh(path: Path) -> Triangles | Skinned:
    """Return all triangles of a file as one mesh: z up, and on its skeleton where it has a skin."""
    file = File(path)
    tree = NodeTree(path, file.gltf.nodes)
    if file.gltf.skins:
        return _read_skin(file, tree)
    worlds = node_worlds(file, tree, tree.order)
    meshes = []
    for index, node in enumerate(file.gltf.nodes):
        if node.mesh is not None:
            for vertices, faces, _ in _primitives(file, node.mesh):
                placed = vertices @ worlds[index][:3, :3].T + worlds[index][:3, 3]
                meshes.append((placed, faces))
    if not meshes:
        raise WrongContent(path, "holds no mesh")
    vertices, faces = _join(meshes)
    return Triangles(turn_points(vertices, to_z_up("y")), faces)


def _read_skin(file: File, tree: NodeTree) -> Skinned:
    """Return what the first skin carries, in the pose of its inverse bind matrices."""
    chosen, _ = choose_bodies(file.path, file.gltf, tree)
    vertices, faces, carriers, weights = _gather_worn(file, chosen)
    rests, to_world = bind_pose(file, tree, chosen)
    skeleton = _skeleton(file, tree, chosen, rests)
    mesh = SkinnedMesh(
        vertices @ to_world[:3, :3].T + to_world[:3, 3],
        faces,
        carriers,
        weights,
        quat.from_matrix(rests[:, :3, :3]),
        rests[:, :3, 3],
    )
    return Skinned(skeleton, mesh)


def _gather_worn(file: File, chosen: list[int]) -> tuple[Array, np.ndarray, np.ndarray, Array]:
    """Return vertices and faces of all that wears the first skin, and the bodies (n_vertices, 4)
    that carry them with their weights."""
    place = {node: index for index, node in enumerate(chosen)}
    columns = np.array([place[joint] for joint in file.gltf.skins[0].joints])
    meshes, carriers, weights = [], [], []
    for node in file.gltf.nodes:
        for vertices, faces, attributes in (
            _primitives(file, node.mesh) if node.mesh is not None and node.skin == 0 else ()
        ):
            meshes.append((vertices, faces))
            joints, shares = _carriers(file, attributes, len(vertices))
            if joints.max(initial=0) >= len(columns):
                raise FormatError(file.path, f"a vertex hangs on joint {joints.max()}, which the "
                                  f"skin's {len(columns)} joints do not have")  # fmt: skip
            carriers.append(columns[joints])
            weights.append(shares)
    if not meshes:
        raise WrongContent(file.path, "holds a skin, but no mesh that wears it")
    return *_join(meshes), np.concatenate(carriers), np.concatenate(weights)


def find_flesh_tips(
    file: File, chosen: list[int], rests: Array, to_world: Array
) -> dict[int, Array]:
    """Return body → (3,) the far end of the flesh on it, from its joint in its frame; ``rests`` and
    ``to_world`` are of ``bind_pose``. None where the mesh cannot be read: bones do without."""
    try:
        vertices, _, carriers, weights = _gather_worn(file, chosen)
    except FormatError:
        return {}
    vertices = vertices @ to_world[:3, :3].T + to_world[:3, 3]
    tips = {}
    for body, rest in enumerate(rests):
        own = vertices[np.sum(weights * (carriers == body), axis=1) > MAIN_SHARE]
        arms = (own - rest[:3, 3]) @ rest[:3, :3]
        reach = np.linalg.norm(arms, axis=-1)
        if len(arms):
            tips[body] = arms[reach >= END_SHARE * reach.max()].mean(axis=0)
    return tips


def _primitives(file: File, index: int) -> list[tuple[Array, np.ndarray, dict[str, Any]]]:
    """Return vertices, faces and attributes of the triangle lists of a mesh."""
    place = f"$.meshes[{index}]"
    found = []
    if index >= len(file.gltf.meshes):
        raise FormatError(file.path, "is not there", place)
    mesh = file.gltf.meshes[index]
    primitives = mesh.get("primitives") if isinstance(mesh, dict) else None
    for primitive in primitives if isinstance(primitives, list) else ():
        attributes = primitive.get("attributes") if isinstance(primitive, dict) else None
        if not isinstance(attributes, dict) or not isinstance(attributes.get("POSITION"), int):
            raise FormatError(file.path, "has a primitive without places", place)
        if primitive.get("mode", TRIANGLE_LIST) != TRIANGLE_LIST:
            continue
        vertices = file.array(attributes["POSITION"], "VEC3")
        corners = np.arange(len(vertices))
        if isinstance(primitive.get("indices"), int):
            corners = file.integers(primitive["indices"], "SCALAR")[:, 0]
        if corners.max(initial=-1) >= len(vertices):
            raise FormatError(file.path, f"has corners beyond its {len(vertices)} vertices", place)
        file.drawn += max(len(vertices), len(corners) // CORNER_COUNT)
        if file.drawn > MOST_VERTICES:
            raise FormatError(file.path, f"has more than {MOST_VERTICES} vertices", place)
        found.append((vertices, corners[: len(corners) // 3 * 3].reshape(-1, 3), attributes))
    return found


def _carriers(file: File, attributes: dict[str, Any], count: int) -> tuple[np.ndarray, Array]:
    """Return joints and weights (count, 4); the weights sum to 1."""
    both = attributes.get("JOINTS_0"), attributes.get("WEIGHTS_0")
    if not (isinstance(both[0], int) and isinstance(both[1], int)):
        raise FormatError(file.path, "a mesh wears a skin but says not how (JOINTS_0, WEIGHTS_0)")
    joints, weights = file.integers(both[0], "VEC4"), file.array(both[1], "VEC4")
    if len(joints) != count or len(weights) != count:
        raise FormatError(file.path, f"{count} vertices need as many joints and weights")
    weights = np.maximum(weights, 0.0)
    total = weights.sum(axis=1, keepdims=True)
    weights = np.where(total > 0.0, weights / np.where(total > 0.0, total, 1.0), [1.0, 0, 0, 0])
    return np.where(weights > 0.0, joints, 0), weights


def _join(meshes: list[tuple[Array, np.ndarray]]) -> tuple[Array, np.ndarray]:
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in meshes)])
    faces = [corners + start for (_, corners), start in zip(meshes, starts[:-1], strict=True)]
    return np.concatenate([vertices for vertices, _ in meshes]), np.concatenate(faces)


def _skeleton(file: File, tree: NodeTree, chosen: list[int], rests: Array) -> Skeleton:
    """Return bodies at their joints, whose rest is the pose of the skin."""
    names, _ = unique_node_names(file.gltf.nodes, chosen)
    place = {node: index for index, node in enumerate(chosen)}
    turns = quat.from_matrix(rests[:, :3, :3])
    bodies = []
    for index, node in enumerate(chosen):
        parent = place.get(tree.parents[node], -1)
        joint = Joint("free", rest=turns[index])
        if parent >= 0:
            to_parent = quat.inverse(turns[parent])
            reach = quat.rotate(to_parent, rests[index, :3, 3] - rests[parent, :3, 3])
            joint = Joint("ball", reach, rest=quat.multiply(to_parent, turns[index]))
        body = Body(names[index], None if parent < 0 else names[parent], joint)
        told = our_extras(file.gltf.nodes[node].extras, BodyRecord)
        if told is not None and (known := to_body(told)).tip is not None:
            body = replace(body, tip=known.tip_from_joint)
        bodies.append(body)
    return Skeleton(tuple(bodies))
