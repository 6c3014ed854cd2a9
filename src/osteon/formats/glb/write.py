"""A motion as a skinned, animated glTF scene.

Without a skin of its own it gets a mesh to be seen by, a long octahedron per bone and a small one
at each joint: many viewers show nothing, and Blender makes no bones, without a skinned mesh.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from osteon.errors import BadValue
from osteon.formats.glb.schema import (
    Accessor,
    Animation,
    Asset,
    Buffer,
    BufferView,
    Channel,
    Gltf,
    MotionExtras,
    Node,
    Sampler,
    Skin,
    TakeExtras,
    Target,
    pack,
)
from osteon.formats.own.skeleton_json import check_finite, from_body, from_skeleton
from osteon.formats.registry import WriteOptions, check_whole
from osteon.formats.shared.bone_axes import bone_axes, reframe, to_bones
from osteon.formats.shared.standing_pose import stood
from osteon.formats.shared.text_table import unused_name
from osteon.formats.shared.units import to_z_up
from osteon.maths import forward_kinematics, quat
from osteon.typing import Array
from osteon.values import Body, Motion, Skeleton, SkinnedMesh, Take

GENERATOR = "Osteon"
VERTEX_TARGET, INDEX_TARGET = 34962, 34963
"""Codes of buffer views of vertex attributes and of the corners of triangles, defined by glTF."""
U1, U2, U4, F4 = 5121, 5123, 5125, 5126
"""Codes of numbers by kind and bytes, defined by glTF."""
SKIN_COLOUR = (0.86, 0.80, 0.68, 1.0)
"""Shares of red, green and blue, and no light coming through; chosen: like plaster."""
MATERIAL = {
    "name": "skin",
    "pbrMetallicRoughness": {
        "baseColorFactor": SKIN_COLOUR,
        "metallicFactor": 0.0,
        "roughnessFactor": 0.7,
    },
}
WAIST_SHARE = 0.15
"""Share of a bone's length at which it is thickest; chosen: near its joint, to show its way."""
BONE_RADIUS = 0.07
"""Share of a bone's length that is half its thickness there; chosen: neighbours stay apart."""
JOINT_RADIUS = 0.05
"""Share of the longest bone at a joint that its octahedron reaches; chosen: thin beside bones."""
LONE_RADIUS = 0.05
"""Metres of a joint that no bone touches; chosen: as of a bone of one metre."""
SHORTEST_BONE = 1e-6
"""Metres; chosen: shorter bones have hardly a direction in float32."""
_RING = np.array([[1.0, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]])
_FACES = np.array([[4, (i + 1) % 4, i] for i in range(4)] + [[5, i, (i + 1) % 4] for i in range(4)])


def write_glb(path: Path, take: Take, options: WriteOptions) -> None:
    """Write the only motion, or the only skeleton, of a take."""
    options.allow_metres("y", "GLB is in metres with y up, always")
    motion = take.motion() if take.motions else None
    skeleton = motion.skeleton if motion else take.skeleton()
    if not skeleton.bodies:
        raise BadValue("GLB needs a skeleton of one body or more, this one has none")
    path.write_bytes(glb_bytes(skeleton, motion))


def glb_bytes(skeleton: Skeleton, motion: Motion | None, skin: SkinnedMesh | None = None) -> bytes:
    """Return the file: node 0 turns z up to y up, nodes 1 … n are the bodies, the last one carries
    the mesh, of a skin or of bones."""
    n_bodies = len(skeleton.bodies)
    block = BinaryPart()
    if skin is None:
        rest = np.array(skeleton.offsets)
        _, places = forward_kinematics(quat.identity((n_bodies,)), rest, skeleton.parents)
        skin = bone_mesh(skeleton, places)
    skin = stood(skeleton, skin)
    seen = _add_mesh(block, skin)
    axes = bone_axes(skeleton, skin.rotations)
    inverse_bind = block.add(_inverse_bind(skin, axes), F4, "MAT4")
    animations = ()
    if motion is not None and motion.n_frames > 0:
        animations = (_animation(block, motion, axes),)
    gltf = Gltf(
        asset=Asset("2.0", GENERATOR, {"osteon": _extras(skeleton, motion)}),
        scene=0,
        scenes=({"nodes": [0, n_bodies + 1]},),
        nodes=_nodes(skeleton, skin, axes),
        meshes=(seen,),
        materials=(MATERIAL,),
        skins=(Skin(tuple(range(1, n_bodies + 1)), inverse_bind, 0, "skeleton"),),
        animations=animations,
        accessors=tuple(block.accessors),
        buffer_views=tuple(block.views),
        buffers=(Buffer(len(block.data)),),
    )
    return pack(gltf, bytes(block.data))


class BinaryPart:
    """The binary part, filled array by array, behind ``start`` bytes that are there already."""

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self.data = bytearray()
        self.views: list[BufferView] = []
        self.accessors: list[Accessor] = []

    def add(self, values: np.ndarray, component: int, kind: str, target: int | None = None) -> int:
        """Append (count, width) values and return their accessor.

        Smallest and largest values are given where glTF demands them: places and times.
        """
        dtype = {U1: "<u1", U2: "<u2", U4: "<u4", F4: "<f4"}[component]
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(values.reshape(len(values), -1), dtype=dtype)
        if not np.isfinite(values).all():
            raise BadValue("GLB counts in single precision, too narrow for a length here")
        self.data += bytes(-len(self.data) % 4)
        self.views.append(BufferView(0, values.nbytes, self.start + len(self.data), target=target))
        is_time = kind == "SCALAR" and target is None
        ranged = is_time or (kind == "VEC3" and target is not None)
        self.accessors.append(
            Accessor(
                component,
                len(values),
                kind,
                len(self.views) - 1,
                min=tuple(values.min(axis=0).tolist()) if ranged else None,
                max=tuple(values.max(axis=0).tolist()) if ranged else None,
            )
        )
        self.data += values.tobytes()
        return len(self.accessors) - 1


def _add_mesh(block: BinaryPart, skin: SkinnedMesh) -> dict:
    narrow = len(skin.joints) <= 256
    attributes = {
        "POSITION": block.add(skin.vertices, F4, "VEC3", VERTEX_TARGET),
        "NORMAL": block.add(skin.normals(), F4, "VEC3", VERTEX_TARGET),
        "JOINTS_0": block.add(skin.bodies, U1 if narrow else U2, "VEC4", VERTEX_TARGET),
        "WEIGHTS_0": block.add(skin.weights, F4, "VEC4", VERTEX_TARGET),
    }
    wide = U2 if len(skin.vertices) < 2**16 - 1 else U4
    corners = block.add(skin.triangles.reshape(-1), wide, "SCALAR", INDEX_TARGET)
    primitive = {"attributes": attributes, "indices": corners, "material": 0}
    return {"name": "skin", "primitives": [primitive]}


def _inverse_bind(skin: SkinnedMesh, axes: Array) -> Array:
    """Return (n_bodies, 4, 4) to each bone's frame, at its joint, from the mesh's; column by
    column.

    The mesh is z up like the bodies, below the node that turns them: Blender takes these matrices
    for the bones' rest under that node, and would lay the figure down if the turn were in them.
    """
    to_bone = quat.inverse(quat.multiply(skin.rotations, axes))
    matrices = np.tile(np.eye(4), (len(skin.joints), 1, 1))
    matrices[:, :3, :3] = quat.to_matrix(to_bone)
    matrices[:, :3, 3] = -quat.rotate(to_bone, skin.joints)
    return np.swapaxes(matrices, 1, 2)


def _nodes(skeleton: Skeleton, bound: SkinnedMesh, axes: Array) -> tuple[Node, ...]:
    """Return the nodes, at rest as the skin is bound."""
    children: list[list[int]] = [[] for _ in range(len(skeleton.bodies) + 1)]
    for index, parent in enumerate(skeleton.parents):
        children[parent + 1].append(index + 1)
    w, x, y, z = quat.inverse(to_z_up("y")).tolist()
    turn = Node(
        name=unused_name("armature", skeleton.names),
        children=tuple(children[0]),
        rotation=(x, y, z, w),
    )
    above = [bound.rotations[p] if p >= 0 else quat.identity() for p in skeleton.parents]
    roots = np.array(skeleton.parents)[:, None] < 0
    places = np.where(roots, bound.joints, skeleton.offsets)
    turns = quat.between(np.stack(above), bound.rotations)
    turns, places = reframe(axes, skeleton.parents, turns, places)
    turns = np.clip(turns, -1.0, 1.0)  # rounding leads beyond, which glTF forbids
    bodies = [
        Node(
            name=body.name,
            children=tuple(children[index + 1]),
            translation=tuple(places[index].tolist()),
            rotation=tuple(turns[index, [1, 2, 3, 0]].tolist()),
            extras={"osteon": _node_record(body, axes[index])},
        )
        for index, body in enumerate(skeleton.bodies)
    ]
    return (turn, *bodies, Node(name=unused_name("bones", skeleton.names), mesh=0, skin=0))


def _node_record(body: Body, axes: Array) -> dict:
    return msgspec.to_builtins(from_body(body)) | {"bone_axes": axes.tolist()}


def _animation(block: BinaryPart, motion: Motion, axes: Array) -> Animation:
    """Return rotations of all bodies, places of the root and of bodies whose bones stretch."""
    clock = add_clock(block, motion)
    parents = motion.skeleton.parents
    to_bone = to_bones(axes, parents)
    samplers, channels = [], []

    def drive(body: int, path: str, values: Array, kind: str) -> None:
        samplers.append(Sampler(clock, block.add(values, F4, kind)))
        channels.append(Channel(len(samplers) - 1, Target(path, body + 1)))

    for body in range(len(parents)):  # of a long take all together are large
        rotations = quat.multiply(to_bone[body], motion.rotations[:, body])
        rotations = quat.unroll(quat.multiply(rotations, axes[body]))
        drive(body, "rotation", rotations[:, [1, 2, 3, 0]], "VEC4")
        places = motion.root if body == 0 else None
        if body > 0 and motion.offsets is not None:
            places = motion.offsets[:, body]
        if places is not None:
            drive(body, "translation", quat.rotate(to_bone[body], places), "VEC3")
    name = Path(motion.source.file).stem or "motion"
    return Animation(tuple(channels), tuple(samplers), name)


def add_clock(block: BinaryPart, motion: Motion) -> int:
    """Append the times of a motion that lacks nothing, and return their accessor."""
    with np.errstate(over="ignore", invalid="ignore"):
        times = (np.arange(motion.n_frames) / motion.rate).astype(np.float32)
        increasing = (np.diff(times) > 0).all()
    if not increasing:
        raise BadValue(
            f"GLB counts time in single precision, too coarse for {motion.n_frames} frames at "
            f"{motion.rate:g} per second; cut the motion first"
        )
    check_whole(motion, "GLB")
    return block.add(times, F4, "SCALAR")


def _extras(skeleton: Skeleton, motion: Motion | None) -> TakeExtras:
    record = from_skeleton(skeleton)
    check_finite(record)
    record.bodies = ()
    if motion is None:
        return TakeExtras(record)
    about = MotionExtras(motion.rate, motion.marks, motion.held, motion.history)
    extras = TakeExtras(record, about)
    check_finite(extras)
    return extras


def bone_mesh(skeleton: Skeleton, places: Array) -> SkinnedMesh:
    """Return bones of a skeleton whose joints stand at ``places`` (n_bodies, 3), all frames
    parallel."""
    corners = [(body, places[body] + triangles) for body, triangles in _octahedra(skeleton)]
    return SkinnedMesh.of_triangles(corners, quat.identity((len(places),)), places)


def _octahedra(skeleton: Skeleton) -> Iterator[tuple[int, Array]]:
    """Yield body and corners (24, 3), seen from its joint, of every octahedron."""
    reach = np.zeros(len(skeleton.bodies))
    for body, end in _bones(skeleton):
        length = float(np.linalg.norm(end))
        if length > SHORTEST_BONE:
            reach[body] = max(reach[body], length)
            turn = quat.shortest(np.array([0.0, 0.0, 1.0]), end)
            bone = _octahedron(0.0, WAIST_SHARE * length, length, BONE_RADIUS * length)
            yield body, quat.rotate(turn, bone)
    arrive = np.linalg.norm(skeleton.offsets, axis=-1)
    for body, longest in enumerate(np.where(reach > 0.0, reach, arrive)):
        radius = JOINT_RADIUS * longest if longest > SHORTEST_BONE else LONE_RADIUS
        yield body, _octahedron(-radius, 0.0, radius, radius)


def _bones(skeleton: Skeleton) -> Iterator[tuple[int, Array]]:
    """Yield body and end, seen from its joint, of every bone: to each child, or to the tip."""
    for parent, offset in zip(skeleton.parents, skeleton.offsets, strict=True):
        if parent >= 0:
            yield parent, offset
    for index, body in enumerate(skeleton.bodies):
        if (tip := body.tip_from_joint) is not None:
            yield index, tip


def _octahedron(low: float, waist: float, high: float, radius: float) -> Array:
    """Return corners (24, 3) of the eight triangles of an octahedron along z."""
    ring = radius * _RING + [0.0, 0.0, waist]
    points = np.concatenate([ring, [[0.0, 0.0, low], [0.0, 0.0, high]]])
    return points[_FACES].reshape(-1, 3)
