"""Characters as other programs write them: skinned GLB files, made here joint by joint."""

from pathlib import Path

import numpy as np

from glb_files import save
from osteon.maths import quat

HEIGHTS = {  # Mixamo's tree, metres, y up, facing z
    "Hips": (None, (0.0, 1.00, 0.0)),
    "Spine": ("Hips", (0.0, 1.10, -0.01)),
    "Spine1": ("Spine", (0.0, 1.20, -0.01)),
    "Spine2": ("Spine1", (0.0, 1.32, -0.02)),
    "Neck": ("Spine2", (0.0, 1.47, -0.03)),
    "Head": ("Neck", (0.0, 1.57, 0.0)),
    "HeadTop_End": ("Head", (0.0, 1.76, 0.06)),
}
SIDED = {
    "Shoulder": ("Spine2", (0.06, 1.43, -0.01)),
    "Arm": ("Shoulder", (0.17, 1.43, -0.03)),
    "ForeArm": ("Arm", (0.44, 1.43, -0.03)),
    "Hand": ("ForeArm", (0.69, 1.43, -0.03)),
    "UpLeg": ("Hips", (0.09, 0.93, 0.0)),
    "Leg": ("UpLeg", (0.09, 0.50, 0.01)),
    "Foot": ("Leg", (0.09, 0.09, -0.02)),
    "ToeBase": ("Foot", (0.10, 0.02, 0.10)),
    "Toe_End": ("ToeBase", (0.10, 0.02, 0.18)),
}
POSED = {"Hips": (1, 0, 0, 0.3), "Spine1": (0, 1, 0, 0.4), "LeftLeg": (1, 0, 0, 1.2),
         "RightUpLeg": (1, 0, 0, -0.9), "LeftArm": (0, 0, 1, -1.0), "LeftFoot": (1, 0, 0, 0.6),
         "RightFoot": (0, 1, 0, 1.5)}  # fmt: skip
"""Axis in the world and angle by which nodes are turned away from the pose of the skin."""


UNREAL = {
    "Hips": "pelvis", "Spine": "spine_01", "Spine1": "spine_02", "Spine2": "spine_03",
    "Neck": "neck_01", "Head": "head", "Shoulder": "clavicle", "Arm": "upperarm",
    "ForeArm": "lowerarm", "Hand": "hand", "UpLeg": "thigh", "Leg": "calf", "Foot": "foot",
    "ToeBase": "ball",
}  # fmt: skip
VRM = {
    "Hips": "hips", "Spine": "spine", "Spine1": "chest", "Spine2": "upperChest", "Neck": "neck",
    "Head": "head", "Shoulder": "Shoulder", "Arm": "UpperArm", "ForeArm": "LowerArm",
    "Hand": "Hand", "UpLeg": "UpperLeg", "Leg": "LowerLeg", "Foot": "Foot", "ToeBase": "Toes",
}  # fmt: skip
FINGERS = {"Thumb": 0.04, "Index": 0.03, "Middle": 0.01, "Ring": -0.01, "Pinky": -0.03}
"""Metres that each finger begins before the hand's middle."""


def called_as(style: str, name: str) -> str:
    """Mixamo's name of a joint, as Unreal or VRM call it."""
    table = {"unreal": UNREAL, "vrm": VRM}.get(style)
    if table is None:
        return name
    side, bare = "", name
    for word in ("Left", "Right"):
        if name.startswith(word):
            side, bare = word, name.removeprefix(word)
    twist = bare.endswith("Twist")
    called = table.get(bare.removesuffix("Twist"))
    if called is None:  # fingers, ends
        called = bare.removeprefix("Hand") if bare.startswith("Hand") else bare
    if style == "vrm":
        return f"{side.lower()}{called}{'Twist' if twist else ''}"
    called = called.lower() if called not in table.values() else called
    return f"{called}{'_twist_01' if twist else ''}{f'_{side[0].lower()}' if side else ''}"


def with_details(places: dict) -> dict:
    """With twist bones halfway along limbs, which end in themselves, and fingers of three bones."""
    places = dict(places)
    for side in ("Left", "Right"):
        for upper, lower in (("Arm", "ForeArm"), ("ForeArm", "Hand"), ("UpLeg", "Leg")):
            halfway = 0.5 * (places[f"{side}{upper}"][1] + places[f"{side}{lower}"][1])
            places[f"{side}{upper}Twist"] = (f"{side}{upper}", halfway)
        hand, elbow = places[f"{side}Hand"][1], places[f"{side}ForeArm"][1]
        along = (hand - elbow) / np.linalg.norm(hand - elbow)
        for finger, ahead in FINGERS.items():
            above = f"{side}Hand"
            for number in (1, 2, 3):
                place = hand + (0.06 + 0.03 * number) * along + [0.0, 0.0, ahead]
                places[f"{side}Hand{finger}{number}"] = (above, place)
                above = f"{side}Hand{finger}{number}"
    return places


def joints(spread: float) -> dict[str, tuple[str | None, np.ndarray]]:
    """Name → parent and place; arms ``spread`` radians below the T."""
    found = {name: (parent, np.array(place)) for name, (parent, place) in HEIGHTS.items()}
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        for name, (parent, place) in SIDED.items():
            place = np.array(place)
            if name in ("ForeArm", "Hand"):
                arm = place - SIDED["Arm"][1]
                turn = np.array([np.cos(spread), -np.sin(spread), 0.0])
                place = np.array(SIDED["Arm"][1]) + arm[0] * turn + [0.0, 0.0, arm[2]]
            above = parent if parent in HEIGHTS else f"{side}{parent}"
            found[f"{side}{name}"] = (above, place * [sign, 1.0, 1.0])
    return found


def along_bones(places: dict[str, tuple[str | None, np.ndarray]]) -> dict[str, np.ndarray]:
    """Name → (4, 4) with y along the bone, as modelling programs like it."""
    frames = {}
    for name, (parent, place) in places.items():
        ends = [end for above, end in places.values() if above == name]
        start = places[parent][1] if not ends and parent else place
        bone = (ends[0] if ends else place) - start
        frame = np.eye(4)
        frame[:3, :3] = quat.to_matrix(quat.shortest(np.array([0.0, 1.0, 0.0]), bone))
        frame[:3, 3] = place
        frames[name] = frame
    return frames


def mixamo_like(
    path: Path,
    *,
    spread: float = 0.0,
    centimetres: bool = True,
    posed: bool = False,
    ends: str = "joints",
    prefix: str = "mixamorig:",
    style: str = "mixamo",
    details: bool = False,
    visor: bool = False,
) -> Path:
    """A skinned character.

    Parameters
    ----------
    spread
        How far arms hang below a T-pose, radians.
    centimetres
        Whether it lies on its back in centimetres under an armature that puts both right.
    posed
        Whether the nodes stand in another pose than the skin was put on in.
    ends
        Nodes at the ends of limbs: ``joints`` of the skin, plain ``nodes``, or ``none``.
    style
        Whose names the bones have: ``mixamo``, ``unreal`` (with its bone on the ground above all)
        or ``vrm`` (with the extension that tells which node is which).
    details
        Whether it has twist bones and fingers.
    visor
        Whether a mesh before the face comes first, in a skin of its own: bound to neck and head
        alone, and to an eye that the body has not, its numbers ten times as large.
    """
    places = joints(spread)
    if details:
        places = with_details(places)
    if style == "unreal":
        places = {"root": (None, np.zeros(3))} | places
        places["Hips"] = ("root", places["Hips"][1])
    if ends == "none":
        places = {name: each for name, each in places.items() if not name.endswith("_End")}
    frames, names = along_bones(places), list(places)
    armature = np.eye(4)
    if centimetres:
        armature[:3, :3] = 0.01 * np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])
    # as an armature's children, which have no scale of their own
    binds = {name: np.linalg.inv(armature) @ frame for name, frame in frames.items()}
    for bind in binds.values():
        bind[:3, :3] /= np.cbrt(np.linalg.det(bind[:3, :3]))
    bound = [n for n in names if ends == "joints" or not n.endswith("_End")]
    scene = _Scene()
    nodes = _nodes(places, binds, prefix, armature, posed=posed)
    if style != "mixamo":
        for node, name in zip(nodes[1:], names, strict=True):
            node["name"] = called_as(style, name)
    skin = [np.linalg.inv(binds[name]).T for name in bound]
    vertices, carriers = _flesh(places, bound)
    vertices = vertices @ np.linalg.inv(armature)[:3, :3].T
    attributes = {
        "POSITION": scene.add(vertices, "<f4", "VEC3"),
        "JOINTS_0": scene.add(np.pad(carriers[:, None], ((0, 0), (0, 3))), "u1", "VEC4"),
        "WEIGHTS_0": scene.add(np.tile([1.0, 0, 0, 0], (len(vertices), 1)), "<f4", "VEC4"),
    }
    where = {name: index + 1 for index, name in enumerate(names)}
    nodes += [
        {"name": "Body", "mesh": 0, "skin": 0},
        {"name": "Lamp", "translation": [9.0, 9.0, 9.0]},
    ]
    document = {
        "asset": {"version": "2.0", "generator": "Another Program"},
        "nodes": nodes,
        "meshes": [{"primitives": [{"attributes": attributes}]}],
        "skins": [
            {
                "joints": [where[name] for name in bound],
                "inverseBindMatrices": scene.add(np.reshape(skin, (-1, 16)), "<f4", "MAT4"),
            }
        ],
    }
    if visor:
        _put_on_visor(scene, document, where, binds, np.linalg.inv(armature) @ frames["Head"])
    if style == "vrm":
        human = {nodes[where[name]]["name"]: {"node": where[name]} for name in _vrm_bones(names)}
        document["extensionsUsed"] = ["VRMC_vrm"]
        told = {"specVersion": "1.0", "meta": {"name": "Ann", "authors": ["Bob"]}}
        document["extensions"] = {"VRMC_vrm": told | {"humanoid": {"humanBones": human}}}
    return scene.save(path, document)


def _put_on_visor(scene, document, where, binds, at) -> None:
    """At the head's joint, ``at`` in the body's mesh space."""
    larger = np.diag([10.0, 10.0, 10.0, 1.0])
    eye = binds["Head"] @ _moved(0.0, 0.05, 0.08)
    document["nodes"] += [
        {"name": "LeftEye", "translation": [0.0, 0.05, 0.08]},
        {"name": "Visor", "mesh": 1, "skin": 0},
    ]
    document["nodes"][where["Head"]].setdefault("children", []).append(len(document["nodes"]) - 2)
    next(node for node in document["nodes"] if node["name"] == "Body")["skin"] = 1
    bound = {where["Neck"]: binds["Neck"], where["Head"]: binds["Head"]}
    bound[len(document["nodes"]) - 2] = eye
    skin = [np.linalg.inv(larger @ bind).T for bind in bound.values()]
    matrices = scene.add(np.reshape(skin, (-1, 16)), "<f4", "MAT4")
    told = {"joints": list(bound), "inverseBindMatrices": matrices}
    document["skins"].insert(0, told)
    unit = np.linalg.norm(at[:3, 0])
    corners = at[:3, 3] + 0.02 * unit * np.eye(3)
    attributes = {
        "POSITION": scene.add(10.0 * corners, "<f4", "VEC3"),
        "JOINTS_0": scene.add([[1, 0, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0]], "u1", "VEC4"),
        "WEIGHTS_0": scene.add(np.tile([1.0, 0, 0, 0], (3, 1)), "<f4", "VEC4"),
    }
    document["meshes"].append({"primitives": [{"attributes": attributes}]})


def _moved(*place: float) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, 3] = place
    return matrix


def _nodes(places, binds, prefix, armature, *, posed) -> list[dict]:
    names = list(places)
    worlds = {}
    for name, (parent, _) in places.items():
        own = binds[name] if parent is None else np.linalg.inv(binds[parent]) @ binds[name]
        worlds[name] = own if parent is None else worlds[parent] @ own
        if posed and name in POSED:
            axis, angle = np.array(POSED[name][:3], dtype=float), np.array(POSED[name][3])
            turn = quat.to_matrix(quat.from_axis_angle(axis, angle))
            # the axis is the world's, the armature may lie on its back
            upright = armature[:3, :3] / np.cbrt(np.linalg.det(armature[:3, :3]))
            worlds[name][:3, :3] = upright.T @ turn @ upright @ worlds[name][:3, :3]
    nodes = [{"name": "Armature", "matrix": armature.T.ravel().tolist(), "children": [1]}]
    for name, (parent, _) in places.items():
        local = worlds[name] if parent is None else np.linalg.inv(worlds[parent]) @ worlds[name]
        w, x, y, z = quat.from_matrix(local[:3, :3]).tolist()
        node = {"name": prefix + name, "rotation": [x, y, z, w]}
        node["translation"] = local[:3, 3].tolist()
        below = [names.index(n) + 1 for n, (above, _) in places.items() if above == name]
        nodes.append(node | ({"children": below} if below else {}))
    return nodes


def _vrm_bones(names: list[str]) -> list[str]:
    known = {*VRM, *(f"{side}{name}" for side in ("Left", "Right") for name in VRM)}
    return [name for name in names if name in known]


def _flesh(places, bound) -> tuple[np.ndarray, np.ndarray]:
    """Triangles from joint to joint, each corner on the joint that it is near."""
    corners, carriers = [], []
    for name, (parent, place) in places.items():
        if parent is None or name not in bound:
            continue
        start, around = places[parent][1], 0.02 * np.eye(3)
        for axis in range(3):
            corners += [start + around[axis], start - around[axis], place + around[axis - 1]]
            carriers += [bound.index(parent)] * 2 + [bound.index(name)]
    return np.array(corners), np.array(carriers)


class _Scene:
    """Numbers and what describes them."""

    def __init__(self) -> None:
        self.binary, self.accessors, self.views = b"", [], []

    def add(self, values, dtype: str, kind: str) -> int:
        numbers = np.ascontiguousarray(values, dtype=dtype)
        view = {"buffer": 0, "byteOffset": len(self.binary), "byteLength": numbers.nbytes}
        self.views.append(view)
        component = {"<f4": 5126, "u1": 5121}[dtype]
        self.accessors.append(
            {"bufferView": len(self.views) - 1, "componentType": component, "type": kind,
             "count": len(numbers)}
        )  # fmt: skip
        if kind == "VEC3":
            ends = {"min": numbers.min(axis=0), "max": numbers.max(axis=0)}
            self.accessors[-1] |= {key: value.tolist() for key, value in ends.items()}
        self.binary += numbers.tobytes() + bytes(-numbers.nbytes % 4)
        return len(self.accessors) - 1

    def save(self, path: Path, document: dict) -> Path:
        document |= {"accessors": self.accessors, "bufferViews": self.views}
        document["buffers"] = [{"byteLength": len(self.binary)}]
        return save(path, document, self.binary)
