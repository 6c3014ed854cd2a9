"""A character's own file with one more animation: mesh, textures, materials, morphs, other
animations and whatever else it holds stay as they are."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from osteon.errors import WrongContent
from osteon.formats.glb.nodes import (
    NodeTree,
    choose_bodies,
    node_worlds,
    rest_of,
    unique_node_names,
)
from osteon.formats.glb.schema import (
    MAGIC,
    TAKE_MARK,
    Animation,
    Channel,
    File,
    Sampler,
    TakeExtras,
    Target,
    our_extras,
    pack,
)
from osteon.formats.glb.write import F4, BinaryPart, add_clock
from osteon.formats.shared.text_table import unused_name
from osteon.formats.shared.units import to_z_up
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Motion

SAME_PLACE = 1e-6
"""Metres; a node that is moved by less stays where its file has it. Derived: what float32 leaves,
metres away."""


def is_glb_character(path: Path) -> bool:
    """Return whether a file is a skinned GLB that an animation can be added to, and not our own."""
    with path.open("rb") as opened:
        if opened.read(len(MAGIC)) != MAGIC:
            return False
    gltf = File(path).gltf
    bound = any(node.skin is not None for node in gltf.nodes)
    inside = bool(gltf.buffers) and gltf.buffers[0].uri is None
    return bound and inside and our_extras(gltf.asset.extras, TakeExtras) is None


def glb_with_animation(character: Path, motion: Motion, name: str) -> bytes:
    """Return the file ``character`` with ``motion``, of the skeleton that was read from it, as one
    more animation."""
    file = File(character)
    document: dict[str, Any] = msgspec.json.decode(file.text)
    block = BinaryPart(start=len(file.binary) + -len(file.binary) % 4)
    animation, driven = _animation(file, motion, block)
    for node in driven:
        _free_of_matrix(file, document["nodes"][node], node)
    taken = [each.get("name") or "" for each in document.get("animations", [])]
    animation.name = unused_name(name, taken)
    animation.extras = {TAKE_MARK: {"take": name}}
    _append(document, block, animation)
    document["buffers"][0]["byteLength"] = block.start + len(block.data)
    filling = bytes(block.start - len(file.binary))
    return pack(document, file.binary + filling + bytes(block.data))


def _animation(file: File, motion: Motion, block: BinaryPart) -> tuple[Animation, list[int]]:
    """Return rotations of all bodies and places of those that move, and the nodes driven."""
    tree = NodeTree(file.path, file.gltf.nodes)
    chosen, _ = choose_bodies(file.path, file.gltf, tree)
    names, _ = unique_node_names(file.gltf.nodes, chosen)
    if set(names) != set(motion.skeleton.names):
        raise WrongContent(file.path, "has other bodies than the motion that it shall be moved by")
    worlds = node_worlds(file, tree, tree.with_ancestors(chosen))
    clock = add_clock(block, motion)
    rotations, places = motion.rotations, motion.in_parents()
    samplers, channels = [], []
    for node, body in zip(chosen, map(motion.skeleton.index, names), strict=True):
        above = worlds.get(tree.parents[node], np.eye(4))
        scale = float(np.cbrt(np.linalg.det(above[:3, :3])))
        turn, place = rotations[:, body], places[:, body] / scale
        if motion.skeleton.parents[body] < 0:
            turn, place = _under(above, scale, turn, places[:, body])
        _, rest, _ = rest_of(file.path, file.gltf.nodes[node], f"$.nodes[{node}]")
        curves = {"rotation": quat.unroll(turn, axis=0)[:, [1, 2, 3, 0]]}
        if np.abs(place - rest).max(initial=0.0) * scale > SAME_PLACE:
            curves["translation"] = place
        for path, values in curves.items():
            samplers.append(Sampler(clock, block.add(values, F4, f"VEC{values.shape[1]}")))
            channels.append(Channel(len(samplers) - 1, Target(path, node)))
    return Animation(tuple(channels), tuple(samplers)), chosen


def _under(above: Array, scale: float, turns: Array, places: Array) -> tuple[Array, Array]:
    """Return poses in our world, rotations (n_frames, 4) and places (n_frames, 3), as seen from a
    node whose place in the file's world is ``above`` (4, 4)."""
    way = quat.multiply(
        quat.inverse(quat.from_matrix(above[:3, :3] / scale)), quat.inverse(to_z_up("y"))
    )
    from_node = places - quat.rotate(to_z_up("y"), above[:3, 3])
    return quat.multiply(way, turns), quat.rotate(way, from_node) / scale


def _free_of_matrix(file: File, node: dict[str, Any], index: int) -> None:
    """Tell a node's place by its parts: glTF lets no animation drive a matrix."""
    if "matrix" in node:
        q, p, s = rest_of(file.path, file.gltf.nodes[index], f"$.nodes[{index}]")
        del node["matrix"]
        node |= {"rotation": q[[1, 2, 3, 0]].tolist(), "translation": p.tolist()}
        node["scale"] = s.tolist()


def _append(document: dict[str, Any], block: BinaryPart, animation: Animation) -> None:
    """Put the block's views and accessors behind those that are there, and count on from them."""
    views = document.setdefault("bufferViews", [])
    accessors = document.setdefault("accessors", [])
    n_views, n_accessors = len(views), len(accessors)
    views += msgspec.to_builtins(block.views)
    for accessor in msgspec.to_builtins(block.accessors):
        accessors.append(accessor | {"bufferView": accessor.get("bufferView", 0) + n_views})
    told = msgspec.to_builtins(animation)
    for sampler in told["samplers"]:
        sampler["input"] += n_accessors
        sampler["output"] += n_accessors
    document.setdefault("animations", []).append(told)
