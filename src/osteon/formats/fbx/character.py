"""A character's own FBX file with one more animation: whatever else it holds stays, value by value,
as it is."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from osteon.errors import WrongContent
from osteon.formats.fbx.nodes import MAGIC, FbxFile, FbxRecord, pack_file
from osteon.formats.fbx.read import choose_bones, poses_of
from osteon.formats.fbx.scene import SceneInFile, driven_values
from osteon.formats.fbx.write import Scene, add_stack, drive, key_times, shared_keys, take_of
from osteon.formats.glb.nodes import NodeTree, unique_node_names
from osteon.formats.glb.read import SAME_PLACE
from osteon.formats.glb.write import GENERATOR
from osteon.formats.registry import check_whole
from osteon.formats.shared.text_table import unused_name
from osteon.formats.shared.units import to_z_up, turn_points
from osteon.maths import forward_kinematics, quat
from osteon.typing import Array
from osteon.values import Motion

MOST_COUNTED = 2**30
"""Count of objects of a kind up to which it is believed; derived: sums fit 32 bits."""
LARGE_ID = 2**62
"""Code of an object from which on none is added behind; derived: there is room for as many again
in 64 bits."""


def is_fbx_character(path: Path) -> bool:
    """Return whether a file is a skinned FBX, and not our own."""
    with path.open("rb") as opened:
        if opened.read(len(MAGIC)) != MAGIC:
            return False
    scene = SceneInFile(FbxFile(path))
    return any(scene.clusters()) and scene.creator != GENERATOR


def fbx_with_animation(character: Path, motion: Motion, name: str) -> bytes:
    """Return the file ``character`` with ``motion``, of the skeleton that was read from it, as one
    more animation."""
    check_whole(motion, "FBX")
    scene = SceneInFile(FbxFile(character))
    stacks = [str(r.values[1]) for r in scene.objects.values() if r.name == "AnimationStack"]
    name = unused_name(name, {stack.partition("\0\x01")[0] for stack in stacks})
    last = max((number for number in scene.objects if number < LARGE_ID), default=0)
    added, times = Scene(last=last), key_times(motion)
    layer, keys = add_stack(added, name, times), shared_keys(times)
    ids = list(scene.places)
    for node, curves in _curves(scene, motion):
        for driven, values in curves.items():
            drive(added, (layer, ids[node]), driven, values, keys)
    grown = {"Objects": added.objects, "Connections": added.connections}
    records = []
    for record in scene.file.root.children:
        more = grown.get(record.name, [take_of(name, times)] if record.name == "Takes" else [])
        if record.name == "Definitions":
            record = _counted(record, Counter(each.name for each in added.objects))
        records.append(replace(record, children=[*record.children, *more]))
    return pack_file(records, scene.file.version, scene.file.foot)


def _counted(definitions: FbxRecord, more: Counter[str]) -> FbxRecord:
    """Return the list of kinds of objects with more of some."""
    children: list[FbxRecord] = []
    for child in definitions.children:
        if child.name == "Count":
            child = _sum(child, more.total())
        elif child.name == "ObjectType" and child.values and child.values[0] in more:
            extra = more.pop(child.values[0])
            rows = [_sum(row, extra) if row.name == "Count" else row for row in child.children]
            child = replace(child, children=rows)
        children.append(child)
    for kind, count in more.items():
        children.append(FbxRecord("ObjectType", (kind,), [FbxRecord("Count", (count,))]))
    return replace(definitions, children=children)


def _sum(count: FbxRecord, more: int) -> FbxRecord:
    told = count.values[0] if count.values else None
    if not isinstance(told, int) or not 0 <= told < MOST_COUNTED:
        return count
    return FbxRecord("Count", (told + more,))


def _curves(scene: SceneInFile, motion: Motion) -> Iterator[tuple[int, dict[str, Array]]]:
    """Yield models and the values (n_frames, 3) of their properties: rotations of all bodies, and
    places of those that move."""
    path, tree = scene.file.path, NodeTree(scene.file.path, scene.models)
    chosen, _ = choose_bones(scene, tree)
    names, _ = unique_node_names(scene.models, chosen)
    if set(names) != set(motion.skeleton.names):
        raise WrongContent(path, "has other bodies than the motion that it shall be moved by")
    used = tree.with_ancestors(chosen)
    pose, *_ = poses_of(scene, tree, used, {}, np.zeros(1))
    column = {node: index for index, node in enumerate(used)}
    parents = [column.get(tree.parents[node], -1) for node in used]
    turns, joints = forward_kinematics(pose.rotations[0], pose.places[0], parents)
    to_file = quat.inverse(quat.multiply(to_z_up("y"), quat.from_matrix(scene.axes()[0])))
    places = motion.in_parents()
    for node, body in zip(chosen, map(motion.skeleton.index, names), strict=True):
        above = parents[column[node]]
        turn, place = motion.rotations[:, body], places[:, body]
        if motion.skeleton.parents[body] < 0:
            turn, place = quat.multiply(to_file, turn), turn_points(place, to_file)
            if above >= 0:
                turn = quat.between(turns[above], turn)
                place = quat.rotate(quat.inverse(turns[above]), place - joints[above])
        scale = float(pose.scales[above]) if above >= 0 else scene.unit()[0]
        model = scene.models[node]
        angles, moved = driven_values(model, turn, place / scale)
        curves = {"Lcl Rotation": angles}
        if np.abs(moved - model.vector("Lcl Translation")).max() * scale > SAME_PLACE:
            curves["Lcl Translation"] = moved
        yield node, curves
