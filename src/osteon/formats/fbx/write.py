"""A skeleton, its motion and its skin as an FBX scene.

Every body is a bone (LimbNode) of its own name that sits at the body's joint and points along the
bone; only the root is turned to the file's axes. With all rotations zero the figure stands as
it was bound, its lowest point on the ground: that pose is the bones' PreRotation.
"""

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from osteon.errors import BadValue
from osteon.formats.fbx.nodes import (
    CREATION_TIME,
    FILE_ID,
    WRITTEN_VERSION,
    FbxRecord,
    PackedValue,
    pack_file,
    pack_value,
)
from osteon.formats.glb.read import SAME_PLACE
from osteon.formats.glb.write import GENERATOR, SKIN_COLOUR
from osteon.formats.registry import WriteOptions, check_whole
from osteon.formats.shared.bone_axes import bone_axes, reframe
from osteon.formats.shared.standing_pose import standing_pose
from osteon.formats.shared.units import metres_per, to_z_up, turn_points
from osteon.maths import euler, quat
from osteon.typing import Array
from osteon.values import Motion, Skeleton, SkinnedMesh, Take

TICK_RATE = 46_186_158_000
"""Ticks per second of FBX's clock, by which it is defined: whole frames of all film rates fit."""
CUSTOM_MODE = 14
"""Code of a frame rate that is told as a number, defined by FBX."""
TIME_MODES = {
    Fraction(120): 1, Fraction(100): 2, Fraction(60): 3, Fraction(50): 4, Fraction(48): 5,
    Fraction(30): 6, Fraction(30000, 1001): 9, Fraction(25): 10, Fraction(24): 11,
    Fraction(1000): 12, Fraction(24000, 1001): 13, Fraction(96): 15, Fraction(72): 16,
    Fraction(60000, 1001): 17, Fraction(120000, 1001): 18,
}  # fmt: skip
"""Codes of frame rates (frames per second), defined by FBX."""
LINEAR_FLAG = 4
"""Code of keys with straight lines between them, defined by FBX."""
KEY_WEIGHTS = 0x0D050D05
"""Two ratios in ten thousandths, the thirds at which handles of keys lie by default; defined by
FBX."""
ORDER = "zyx"
"""FBX's XYZ order: x is turned about first, in axes that stand still."""
UNIT, UP = "cm", "y"
"""What engines take for granted."""
CENTIMETRE = 0.01
"""Metres in the unit of UnitScaleFactor, defined by FBX."""
FRONT_OF_Z_UP = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
"""Rows: right, up and front, as FBX names them, in our world (z up)."""
AXES = ("Coord", "Up", "Front")


class World(NamedTuple):
    """Conventions of the file."""

    scale: float
    """Units in a metre."""
    turn: Array
    """(4,) rotation to its world from ours."""
    axes: dict[str, int]
    """Properties of GlobalSettings."""


class Bound(NamedTuple):
    """The pose that the bones are bound in, as the file has it."""

    rotations: Array
    """(n_bodies, 4) to the file's world."""
    joints: Array
    """(n_bodies, 3) in the file's world, its unit."""
    local: Array
    """(n_bodies, 4) to the parent's frame."""
    places: Array
    """(n_bodies, 3) in the parent's frame; of roots in the world."""
    axes: Array
    """(n_bodies, 4) to each body's frame from its bone's."""


@dataclass
class Scene:
    """Objects by their ids, and which hangs on which."""

    objects: list[FbxRecord] = field(default_factory=list)
    connections: list[FbxRecord] = field(default_factory=list)
    last: int = 0
    """The highest id that is taken already."""

    def add(self, kind: str, name: str, form: str, children: list[FbxRecord], of: str = "") -> int:
        """Add an object and return its id; ``of`` is its class where that is not its ``kind``."""
        number = self.last + len(self.objects) + 1
        values = (np.int64(number), f"{name}\0\x01{of or kind}", form)
        self.objects.append(FbxRecord(kind, values, children))
        return number

    def connect(self, child: int, parent: int, *driven: str) -> None:
        """Hang one object on another, or let it drive a property of it."""
        values = ("OP" if driven else "OO", np.int64(child), np.int64(parent), *driven)
        self.connections.append(FbxRecord("C", values))


def write_fbx(path: Path, take: Take, options: WriteOptions) -> None:
    """Write the only motion, or the only skeleton, of a take; in the conventions of the FBX file it
    came from, else in centimetres and y up."""
    motion = take.motion() if take.motions else None
    skeleton = motion.skeleton if motion else take.skeleton()
    if not skeleton.bodies:
        raise BadValue("FBX needs a skeleton of one body or more, this one has none")
    own = motion.source if motion and motion.source.format == "FBX" else None
    unit = options.unit or (own.unit if own else UNIT)
    up = options.up or (own.up if own else UP)
    path.write_bytes(fbx_bytes(skeleton, motion, unit=unit, up=up))


def fbx_bytes(
    skeleton: Skeleton,
    motion: Motion | None,
    skin: SkinnedMesh | None = None,
    *,
    unit: str = UNIT,
    up: str = UP,
) -> bytes:
    """Return the file. Its animation is named after the file that the motion came from."""
    world, scene = _world(unit, up), Scene()
    bound, vertices = _bound(skeleton, skin, world)
    bones = _add_bones(scene, skeleton, bound)
    posed = dict(zip(bones, _matrices(bound.rotations, bound.joints), strict=True))
    if skin is not None:
        posed[_add_mesh(scene, skin, vertices, world, posed)] = np.eye(4)
    _add_bind_pose(scene, posed)
    name, times = "", np.zeros(1, np.int64)
    if motion is not None and motion.n_frames:
        check_whole(motion, "FBX")
        name, times = Path(motion.source.file).stem or "motion", key_times(motion)
        _add_animation(scene, motion, bones, bound, world, name, times)
    rate = motion.rate if motion else 30.0
    return pack_file(_document(scene, _settings(world, unit, rate, times), name, times))


def key_times(motion: Motion) -> np.ndarray:
    """Return the time of each frame, ticks."""
    with np.errstate(over="ignore", invalid="ignore"):
        times = np.rint(np.arange(motion.n_frames) * TICK_RATE / motion.rate)
    if not (times < 2.0**62).all() or not (np.diff(times) > 0).all():
        raise BadValue(
            f"FBX's clock cannot tell {motion.n_frames} frames at {motion.rate:g} per second"
        )
    return times.astype(np.int64)


def _world(unit: str, up: str) -> World:
    turn = quat.inverse(to_z_up(up))
    rows = np.rint(FRONT_OF_Z_UP @ quat.to_matrix(to_z_up(up)))
    axes = {}
    for name, row in zip(AXES, rows, strict=True):
        axis = int(np.argmax(np.abs(row)))
        axes |= {f"{name}Axis": axis, f"{name}AxisSign": int(row[axis])}
    return World(1.0 / metres_per(unit), turn, axes)


def _bound(skeleton: Skeleton, skin: SkinnedMesh | None, world: World) -> tuple[Bound, Array]:
    """Return the pose that bones are bound in and the skin's vertices, both in the file's world."""
    turns, joints, vertices = standing_pose(skeleton, skin)
    axes = bone_axes(skeleton, turns)
    joints, vertices = (world.scale * turn_points(p, world.turn) for p in (joints, vertices))
    turns = quat.multiply(quat.multiply(world.turn, turns), axes)
    above = np.array([turns[p] if p >= 0 else quat.identity() for p in skeleton.parents])
    starts = np.array([joints[p] if p >= 0 else np.zeros(3) for p in skeleton.parents])
    places = quat.rotate(quat.inverse(above), joints - starts)
    return Bound(turns, joints, quat.between(above, turns), places, axes), vertices


def _degrees(rotations: Array) -> Array:
    """Return angles (n_frames, ..., 3) about x, y, z that do not jump."""
    return np.degrees(euler.from_quat(rotations, ORDER))[..., ::-1] + 0.0


def _matrices(rotations: Array, places: Array) -> Array:
    """Return (..., 4, 4) as FBX has them: the place in the last row."""
    matrices = np.tile(np.eye(4), (*rotations.shape[:-1], 1, 1))
    matrices[..., :3, :3] = np.swapaxes(quat.to_matrix(rotations), -1, -2)
    matrices[..., 3, :3] = places
    return matrices


def _add_bones(scene: Scene, skeleton: Skeleton, bound: Bound) -> list[int]:
    bones: list[int] = []
    angles = _degrees(bound.local[None])[0]
    for index, (name, parent) in enumerate(zip(skeleton.names, skeleton.parents, strict=True)):
        bone = _add_model(
            scene,
            name,
            "LimbNode",
            _property("RotationActive", "bool", "", "", 1),
            _property("PreRotation", "Vector3D", "Vector", "", *angles[index].tolist()),
            _property("Lcl Translation", "Lcl Translation", "", "A", *bound.places[index].tolist()),
            _property("Lcl Rotation", "Lcl Rotation", "", "A", 0.0, 0.0, 0.0),
        )
        size = _properties(_property("Size", "double", "Number", "", 1.0))
        kind = [size, FbxRecord("TypeFlags", ("Skeleton",))]
        scene.connect(scene.add("NodeAttribute", name, "LimbNode", kind), bone)
        scene.connect(bone, bones[parent] if parent >= 0 else 0)
        bones.append(bone)
    return bones


def _add_model(scene: Scene, name: str, form: str, *properties: FbxRecord) -> int:
    shown = [FbxRecord("Shading", (True,)), FbxRecord("Culling", ("CullingOff",))]
    inherit = _property("InheritType", "enum", "", "", 1)
    attribute = _property("DefaultAttributeIndex", "int", "Integer", "", 0)
    told = _properties(inherit, attribute, *properties)
    return scene.add("Model", name, form, [FbxRecord("Version", (232,)), told, *shown])


def _add_mesh(
    scene: Scene, skin: SkinnedMesh, vertices: Array, world: World, bones: dict[int, Array]
) -> int:
    """Add the skin with a cluster for each bone that carries some of it; returns its node."""
    corners = skin.triangles.astype(np.int32)
    corners[:, 2] = ~corners[:, 2]  # the last corner of a face is told as its complement
    normals = turn_points(skin.normals(), world.turn)
    told = [
        FbxRecord("Vertices", (vertices.ravel(),)),
        FbxRecord("PolygonVertexIndex", (corners.ravel(),)),
        FbxRecord("GeometryVersion", (124,)),
        _layer("LayerElementNormal", "ByVertice", "Direct", "Normals", normals.ravel()),
        _layer("LayerElementMaterial", "AllSame", "IndexToDirect", "Materials",
               np.zeros(1, np.int32)),
        FbxRecord("Layer", (0,), [FbxRecord("Version", (100,)), *map(
            _layer_use, ("LayerElementNormal", "LayerElementMaterial"))]),
    ]  # fmt: skip
    mesh = _add_model(scene, "skin", "Mesh")
    geometry = scene.add("Geometry", "skin", "Mesh", told)
    deformer = [FbxRecord("Version", (101,)), FbxRecord("Link_DeformAcuracy", (50.0,))]
    worn = scene.add("Deformer", "skin", "Skin", deformer)
    scene.connect(mesh, 0)
    scene.connect(geometry, mesh)
    scene.connect(_add_material(scene), mesh)
    scene.connect(worn, geometry)
    for (bone, matrix), share in zip(bones.items(), _shares(skin), strict=True):
        if len(share[0]):
            cluster = scene.add("Deformer", f"bone {bone}", "Cluster", _cluster(matrix, *share),
                                of="SubDeformer")  # fmt: skip
            scene.connect(cluster, worn)
            scene.connect(bone, cluster)
    return mesh


def _layer(kind: str, mapping: str, reference: str, name: str, values: np.ndarray) -> FbxRecord:
    about = {"Version": 101, "Name": "", "MappingInformationType": mapping,
             "ReferenceInformationType": reference}  # fmt: skip
    told = [FbxRecord(key, (value,)) for key, value in about.items()]
    return FbxRecord(kind, (0,), [*told, FbxRecord(name, (values,))])


def _layer_use(kind: str) -> FbxRecord:
    return FbxRecord(
        "LayerElement", (), [FbxRecord("Type", (kind,)), FbxRecord("TypedIndex", (0,))]
    )


def _add_material(scene: Scene) -> int:
    colour = _property("DiffuseColor", "Color", "", "A", *SKIN_COLOUR[:3])
    told = [FbxRecord("Version", (102,)), FbxRecord("ShadingModel", ("lambert",))]
    return scene.add("Material", "skin", "", [*told, FbxRecord("MultiLayer", (0,)),
                                              _properties(colour)])  # fmt: skip


def _shares(skin: SkinnedMesh) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return for each body the vertices it carries and how much of them."""
    n_bodies = len(skin.joints)
    vertices = np.repeat(np.arange(len(skin.vertices)), skin.bodies.shape[1])
    keys, place = np.unique(skin.bodies.ravel() * len(skin.vertices) + vertices,
                            return_inverse=True)  # fmt: skip
    weights = np.bincount(place.ravel(), weights=skin.weights.ravel())
    keys, weights = keys[weights > 0.0], weights[weights > 0.0]
    ends = np.searchsorted(keys, len(skin.vertices) * np.arange(n_bodies + 1))
    return [
        ((keys[a:b] % len(skin.vertices)).astype(np.int32), weights[a:b]) for a, b in pairwise(ends)
    ]


def _cluster(matrix: Array, vertices: np.ndarray, weights: np.ndarray) -> list[FbxRecord]:
    return [
        FbxRecord("Version", (100,)),
        FbxRecord("UserData", ("", "")),
        FbxRecord("Indexes", (vertices,)),
        FbxRecord("Weights", (weights,)),
        FbxRecord("Transform", (np.linalg.inv(matrix).ravel(),)),
        FbxRecord("TransformLink", (matrix.ravel(),)),
    ]


def _add_bind_pose(scene: Scene, posed: dict[int, Array]) -> None:
    about = {"Type": "BindPose", "Version": 100, "NbPoseNodes": len(posed)}
    nodes = [
        FbxRecord("PoseNode", (), [FbxRecord("Node", (np.int64(node),)),
                                FbxRecord("Matrix", (matrix.ravel(),))])
        for node, matrix in posed.items()
    ]  # fmt: skip
    told = [FbxRecord(key, (value,)) for key, value in about.items()]
    scene.add("Pose", "bind pose", "BindPose", [*told, *nodes])


def _add_animation(
    scene: Scene,
    motion: Motion,
    bones: list[int],
    bound: Bound,
    world: World,
    name: str,
    times: np.ndarray,
) -> None:
    """Add rotations of all bodies, and places of roots and of bodies that leave the place in which
    they were bound."""
    layer, clock = add_stack(scene, name, times), shared_keys(times)
    parents = motion.skeleton.parents
    rotations, places = reframe(bound.axes, parents, motion.rotations, motion.in_parents())
    places = world.scale * places
    for index, parent in enumerate(parents):
        if parent < 0:
            rotations[:, index] = quat.multiply(world.turn, rotations[:, index])
            places[:, index] = turn_points(places[:, index], world.turn)
    angles = _degrees(quat.multiply(quat.inverse(bound.local), rotations))
    for index, bone in enumerate(bones):
        drive(scene, (layer, bone), "Lcl Rotation", angles[:, index], clock)
        moved = np.abs(places[:, index] - bound.places[index]).max()
        if parents[index] < 0 or moved > SAME_PLACE * world.scale:
            drive(scene, (layer, bone), "Lcl Translation", places[:, index], clock)


def add_stack(scene: Scene, name: str, times: np.ndarray) -> int:
    """Add an animation; returns its only layer."""
    span = [
        _property(key, "KTime", "Time", "", np.int64(times[end]))
        for key, end in (("LocalStart", 0), ("LocalStop", -1),
                         ("ReferenceStart", 0), ("ReferenceStop", -1))
    ]  # fmt: skip
    stack = scene.add("AnimationStack", name, "", [_properties(*span)], of="AnimStack")
    layer = scene.add("AnimationLayer", "base", "", [], of="AnimLayer")
    scene.connect(layer, stack)
    return layer


class SharedKeys(NamedTuple):
    """What all curves have in common, packed once."""

    times: PackedValue
    flags: PackedValue
    handles: PackedValue
    uses: PackedValue


def shared_keys(times: np.ndarray) -> SharedKeys:
    handles = np.array([0, 0, KEY_WEIGHTS, 0], np.int32).view(np.float32)
    shared = np.array([LINEAR_FLAG], np.int32), handles, np.array([len(times)], np.int32)
    return SharedKeys(*map(pack_value, (times, *shared)))


def drive(scene: Scene, at: tuple[int, int], driven: str, values: Array, clock: SharedKeys) -> None:
    """Let curves (n_frames, 3) drive a property of a bone, within a layer."""
    layer, bone = at
    if not (np.abs(values) < np.finfo(np.float32).max).all():
        raise BadValue("FBX counts in single precision, too narrow for a length here")
    start = [
        _property(f"d|{axis}", "Number", "", "A", value)
        for axis, value in zip("XYZ", values[0].tolist(), strict=True)
    ]
    node = scene.add("AnimationCurveNode", driven[4], "", [_properties(*start)], of="AnimCurveNode")
    scene.connect(node, layer)
    scene.connect(node, bone, driven)
    for axis, keys in zip("XYZ", np.ascontiguousarray(values.T, np.float32), strict=True):
        told = [
            FbxRecord("Default", (float(keys[0]),)),
            FbxRecord("KeyVer", (4008,)),
            FbxRecord("KeyTime", (clock.times,)),
            FbxRecord("KeyValueFloat", (keys,)),
            FbxRecord("KeyAttrFlags", (clock.flags,)),
            FbxRecord("KeyAttrDataFloat", (clock.handles,)),
            FbxRecord("KeyAttrRefCount", (clock.uses,)),
        ]
        curve = scene.add("AnimationCurve", "", "", told, of="AnimCurve")
        scene.connect(curve, node, f"d|{axis}")


def _property(name: str, kind: str, label: str, flags: str, *values: Any) -> FbxRecord:
    return FbxRecord("P", (name, kind, label, flags, *values))


def _properties(*properties: FbxRecord) -> FbxRecord:
    return FbxRecord("Properties70", (), properties)


def _settings(world: World, unit: str, rate: float, times: np.ndarray) -> FbxRecord:
    scale = metres_per(unit) / CENTIMETRE
    mode = TIME_MODES.get(Fraction(rate).limit_denominator(1001), CUSTOM_MODE)
    told = [_property(name, "int", "Integer", "", value) for name, value in world.axes.items()]
    told += [
        _property("OriginalUpAxis", "int", "Integer", "", world.axes["UpAxis"]),
        _property("OriginalUpAxisSign", "int", "Integer", "", 1),
        _property("UnitScaleFactor", "double", "Number", "", scale),
        _property("OriginalUnitScaleFactor", "double", "Number", "", scale),
        _property("TimeMode", "enum", "", "", mode),
        _property("TimeSpanStart", "KTime", "Time", "", np.int64(times[0])),
        _property("TimeSpanStop", "KTime", "Time", "", np.int64(times[-1])),
        _property("CustomFrameRate", "double", "Number", "", float(rate)),
    ]
    return FbxRecord("GlobalSettings", (), [FbxRecord("Version", (1000,)), _properties(*told)])


def _document(scene: Scene, settings: FbxRecord, name: str, times: np.ndarray) -> list[FbxRecord]:
    """Return all that stands in a file, in the order in which FBX has it."""
    stack = _property("ActiveAnimStackName", "KString", "", "", name)
    document = FbxRecord("Document", (np.int64(len(scene.objects) + 1), "", "Scene"), [
        _properties(stack), FbxRecord("RootNode", (np.int64(0),))])  # fmt: skip
    head = {"FBXHeaderVersion": 1003, "FBXVersion": WRITTEN_VERSION, "EncryptionType": 0,
            "Creator": GENERATOR}  # fmt: skip
    return [
        FbxRecord(
            "FBXHeaderExtension", (), [FbxRecord(key, (value,)) for key, value in head.items()]
        ),
        FbxRecord("FileId", (FILE_ID,)),
        FbxRecord("CreationTime", (CREATION_TIME,)),
        FbxRecord("Creator", (GENERATOR,)),
        settings,
        FbxRecord("Documents", (), [FbxRecord("Count", (1,)), document]),
        FbxRecord("References"),
        _definitions(scene),
        FbxRecord("Objects", (), scene.objects),
        FbxRecord("Connections", (), scene.connections),
        _takes(name, times),
    ]


def _definitions(scene: Scene) -> FbxRecord:
    counts = Counter(["GlobalSettings", *(record.name for record in scene.objects)])
    kinds = [
        FbxRecord("ObjectType", (kind,), [FbxRecord("Count", (count,))])
        for kind, count in counts.items()
    ]
    about = [FbxRecord("Version", (100,)), FbxRecord("Count", (counts.total(),))]
    return FbxRecord("Definitions", (), [*about, *kinds])


def _takes(name: str, times: np.ndarray) -> FbxRecord:
    takes = [take_of(name, times)] if name else []
    return FbxRecord("Takes", (), [FbxRecord("Current", (name,)), *takes])


def take_of(name: str, times: np.ndarray) -> FbxRecord:
    """Return what the list of takes says of an animation."""
    span = np.int64(times[0]), np.int64(times[-1])
    told = {"FileName": (f"{name}.tak",), "LocalTime": span, "ReferenceTime": span}
    return FbxRecord("Take", (name,), [FbxRecord(key, values) for key, values in told.items()])
