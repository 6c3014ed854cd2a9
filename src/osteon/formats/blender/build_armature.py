"""Run by Blender: builds an armature with limits and motion from what Osteon writes.

    blender --background --python build_armature.py -- FOLDER rig.blend
    python build_armature.py FOLDER rig.blend           (a Python with the bpy wheel)

FOLDER holds ``skeleton.json`` and, if there is motion, ``motion.bvh``, in any unit, y or z up.
Bones are named like the bodies; an empty per marker hangs on its bone. Each joint's rest is the
rest pose of its bone: for a joint with a cone, the middle of the cone. A bone's axes are laid along
the joint's, so that Limit Rotation constraints say exactly what the joint's ranges say. This file
needs nothing but Blender.
"""

import json
import re
import sys
from pathlib import Path

import bpy  # pyright: ignore[reportMissingImports]
from mathutils import Matrix, Quaternion, Vector  # pyright: ignore[reportMissingImports]

FREE = (None, None)
LOCKED = (0.0, 0.0)
SHORT_LENGTH = 0.05
"""Metres of a bone that shows none; chosen: Blender removes those of no length, and it is seen."""
UPRIGHT = {"z": Quaternion(), "y": Quaternion((0.5**0.5, 0.5**0.5, 0.0, 0.0))}
"""To a world with z up from those that motions are written in."""
SAME_SHARE = 0.01
"""Share of their lengths by which the bones of one skeleton may differ in two files; chosen: far
above printed digits, far below another body."""


class Bone:
    """A body as Blender needs it: where it rests, its axes, and its ranges about them."""

    def __init__(self, record: dict, parent: "Bone | None") -> None:
        self.name, self.parent, self.joint = record["name"], parent, record["joint"]
        self.record = record
        self.in_body = Vector(self.joint["in_body"])
        self.rest = Quaternion(self.joint.get("rest", (1, 0, 0, 0)))
        self.offset = Vector()
        self.ends: list[Vector] = []
        if record.get("tip"):
            self.ends.append(Vector(record["tip"]) - self.in_body)
        if parent is not None:
            self.offset = Vector(self.joint["in_parent"]) - parent.in_body
            parent.ends.append(self.offset)

    def settle(self) -> None:
        """Choose axes (columns of a matrix, in the body's frame) and ranges about x, y, z."""
        limits = self.joint.get("limits") or {}
        direction = self.ends[0] if self.ends and self.ends[0].length > 1e-6 else Vector((0, 0, 1))
        self.length = (
            self.ends[0].length if self.ends and self.ends[0].length > 1e-6 else SHORT_LENGTH
        )
        back = self.rest.inverted()
        axes = [back @ Vector(axis) for axis in self.joint.get("axes", ())]
        kind = self.joint["type"]
        self.ranges = {}
        self.axes = make_axes(direction.orthogonal(), direction)
        if kind == "fixed":
            self.ranges = dict.fromkeys("xyz", LOCKED)
        elif limits.get("euler") and kind != "free":
            self.take_box(limits["euler"], Quaternion(limits.get("frame", (1, 0, 0, 0))))
        elif kind == "hinge" and len(axes) == 1:
            self.axes = make_axes(axes[0], direction)
            self.ranges = {"x": limits.get("hinge") or FREE, "y": LOCKED, "z": LOCKED}
        elif kind == "universal" and len(axes) == 2 and abs(axes[0].dot(axes[1])) < 1e-6:
            # Blender's order is Rz·Ry·Rx: the first axis is z, the second x
            self.axes = Matrix((axes[1], axes[0].cross(axes[1]), axes[0])).transposed()
            self.ranges = {"x": FREE, "y": LOCKED, "z": FREE}
        elif limits.get("cone"):
            self.take_cone(limits["cone"])

    def take_cone(self, cone: dict) -> None:
        along, first = Vector(cone["axis"]), Vector(cone["across"][0])
        self.rest = Quaternion(cone["centre"])
        self.axes = Matrix((first, along, first.cross(along))).transposed()
        swings = [(-radius, radius) for radius in cone["radii"]]
        self.ranges = {"x": swings[0], "y": cone["twist"], "z": swings[1]}

    def take_box(self, box: list[dict], frame: Quaternion) -> None:
        """Take ranges of R(first)·R(second)·R(third) as Blender's Rz·Ry·Rx; others are locked."""
        self.rest = Quaternion()
        named = {one["axis"]: (one["low"], one["high"]) for one in box}
        letters = [*named, *(letter for letter in "xyz" if letter not in named)]
        axes = [frame @ Vector([float(letter == other) for other in "xyz"]) for letter in letters]
        ranges = [named.get(letter, LOCKED) for letter in letters]
        z, y, x = axes
        if x.cross(y).dot(z) < 0.0:  # turned the other way about, the range is too
            x, (low, high) = -x, ranges[2]
            ranges[2] = (None if high is None else -high, None if low is None else -low)
        self.axes = Matrix((x, y, z)).transposed()
        self.ranges = dict(zip("zyx", ranges, strict=True))

    def place(self) -> None:
        """Put the bone where it rests in the armature."""
        if self.parent is None:
            self.turn, self.head = Quaternion(), Vector()
            self.rest = Quaternion()
            return
        self.turn = self.parent.turn @ self.rest
        self.head = self.parent.head + self.parent.turn @ self.offset


def make_axes(x: Vector, towards: Vector) -> Matrix:
    """Return axes with the given x, and y as nearly along the bone as may be."""
    x = x.normalized()
    y = towards - x * x.dot(towards)
    y = (y if y.length > 1e-6 * towards.length else x.orthogonal()).normalized()
    return Matrix((x, y, x.cross(y))).transposed()


def read_bones(path: Path) -> list[Bone]:
    bones: dict[str, Bone] = {}
    for record in json.loads(path.read_text(encoding="utf-8"))["bodies"]:
        bones[record["name"]] = Bone(record, bones.get(record["parent"]))
    for bone in bones.values():
        bone.settle()
        bone.place()
    return list(bones.values())


def build(bones: list[Bone], name: str) -> bpy.types.Object:
    armature = bpy.data.objects.new(name, bpy.data.armatures.new(name))
    bpy.context.scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in bones:
        edit = armature.data.edit_bones.new(bone.name)
        axes = bone.turn.to_matrix() @ bone.axes
        edit.head, edit.tail = bone.head, bone.head + axes.col[1] * bone.length
        edit.align_roll(axes.col[2])
        if bone.parent is not None:
            edit.parent = armature.data.edit_bones[bone.parent.name]
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in bones:
        limit(armature.pose.bones[bone.name], bone)
        for marker in bone.record.get("markers", ()):
            hang(armature, bone, marker)
    return armature


def limit(posed: bpy.types.PoseBone, bone: Bone) -> None:
    posed.rotation_mode = "QUATERNION"
    if not any(end is not None for ends in bone.ranges.values() for end in ends):
        return
    constraint = posed.constraints.new("LIMIT_ROTATION")
    constraint.owner_space = "LOCAL"
    for letter, (low, high) in bone.ranges.items():
        if low is None and high is None:
            continue
        setattr(constraint, f"use_limit_{letter}", True)
        setattr(constraint, f"min_{letter}", -3.14159 if low is None else low)
        setattr(constraint, f"max_{letter}", 3.14159 if high is None else high)


def hang(armature: bpy.types.Object, bone: Bone, marker: dict) -> None:
    """Put an empty at a marker's place on its bone."""
    empty = bpy.data.objects.new(marker["name"], None)
    empty.empty_display_size = 0.01
    bpy.context.scene.collection.objects.link(empty)
    empty.parent, empty.parent_type, empty.parent_bone = armature, "BONE", bone.name
    # Blender counts from the bone's tail
    place = bone.axes.transposed() @ (Vector(marker["position"]) - bone.in_body)
    empty.location = place - Vector((0.0, bone.length, 0.0))


def animate(armature: bpy.types.Object, bones: list[Bone], path: Path) -> None:
    channels, offsets, step, rows = read_bvh(path)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = round(1 / step), round(1 / step) * step
    scene.frame_start, scene.frame_end = 0, len(rows) - 1
    # BVH files have no blanks or brackets in names
    by_name = {re.sub(r"[\s{}]+", "_", bone.name): bone for bone in bones}
    metres, turn = world_of(offsets, [by_name[name].offset for name, _ in channels], path)
    for frame, row in enumerate(rows):
        values = iter(row)
        for name, own in channels:
            bone = by_name[name]
            posed = armature.pose.bones[bone.name]
            place, rotation = pose_of(own, [next(values) for _ in own])
            place, rotation = metres * (turn @ place), turn @ rotation @ turn.inverted()
            inner = bone.rest.inverted() @ rotation
            axes = bone.axes.to_quaternion()
            posed.rotation_quaternion = axes.inverted() @ inner @ axes
            posed.keyframe_insert("rotation_quaternion", frame=frame)
            if bone.parent is None:
                posed.location = bone.axes.transposed() @ place
                posed.keyframe_insert("location", frame=frame)


def world_of(offsets: list[Vector], ours: list[Vector], path: Path) -> tuple[float, Quaternion]:
    """Return metres in the unit of a motion, and the turn to our world: its bones are ours."""
    length = sum(own.length for own in ours)
    metres = length / max(sum(offset.length for offset in offsets), 1e-9)
    off = {
        up: sum(
            (metres * (turn @ offset) - own).length
            for offset, own in zip(offsets, ours, strict=True)
        )
        for up, turn in UPRIGHT.items()
    }
    up = min(off, key=off.__getitem__)
    if off[up] > SAME_SHARE * length:
        sys.exit(f"{path.name}: its bones are not those of skeleton.json; write both anew")
    return metres, UPRIGHT[up]


def pose_of(channels: list[str], values: list[float]) -> tuple[Vector, Quaternion]:
    """Return the place and rotation of one joint: turns in the order of its channels."""
    place, rotation = Vector(), Quaternion()
    for channel, value in zip(channels, values, strict=True):
        axis = "XYZ".index(channel[0])
        if channel.endswith("position"):
            place[axis] = value
        else:
            unit = Vector([float(axis == other) for other in range(3)])
            rotation = rotation @ Quaternion(unit, value * 3.141592653589793 / 180.0)
    return place, rotation


def read_bvh(
    path: Path,
) -> tuple[list[tuple[str, list[str]]], list[Vector], float, list[list[float]]]:
    """Return channels and offset of every joint, seconds per frame, and the numbers by frame."""
    lines = path.read_text(encoding="utf-8").splitlines()
    start = lines.index("MOTION")
    channels, offsets, name, offset = [], [], "", Vector()
    for words in (line.split() for line in lines[:start]):
        if words[0] in ("ROOT", "JOINT"):
            name = words[1]
        elif words[0] == "OFFSET":
            offset = Vector([float(word) for word in words[1:]])
        elif words[0] == "CHANNELS":
            channels.append((name, words[2:]))
            offsets.append(offset)
    step = float(lines[start + 2].split()[-1])
    rows = [[float(word) for word in line.split()] for line in lines[start + 3 :] if line.strip()]
    offsets[0] = Vector()  # the root's says nothing
    return channels, offsets, step, rows


def main(arguments: list[str]) -> bpy.types.Object:
    folder, *outputs = map(Path, arguments)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bones = read_bones(folder / "skeleton.json")
    armature = build(bones, "armature")
    if (folder / "motion.bvh").exists():
        animate(armature, bones, folder / "motion.bvh")
    for output in outputs:
        if output.suffix != ".blend":
            sys.exit(f"{output.name}: the ending must be .blend")
        bpy.ops.wm.save_as_mainfile(filepath=str(output.resolve()))
    return armature


if __name__ == "__main__":
    main(sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:])
