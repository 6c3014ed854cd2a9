"""Nodes of a file: their tree, which of them are bodies, and the pose in which a skin was put on,
which says how a character stands, whatever its nodes do. And the curves that drive them: key times,
and values at any time.
"""

from collections.abc import Iterable, Sequence
from itertools import permutations, product
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from osteon.errors import FormatError, WrongContent
from osteon.formats.glb.schema import File, Gltf, Node, Sampler, TakeExtras, our_extras
from osteon.formats.shared.text_table import unique_labels
from osteon.formats.shared.units import to_z_up
from osteon.maths import quat
from osteon.typing import Array

MOST_BODIES = 4096
"""Count of bodies; chosen: more than any skeleton has."""
FARTHEST_PLACE = 1e9
"""Metres; chosen: larger lengths are none, in whatever unit."""
LEAST_TURN = 1e-12
"""Ratio of volumes below which a matrix has no inverse; chosen: 1e-4 along each of three axes."""
LEAST_WORLD = 1e-20
"""The same ratio of a node in the world; chosen: a millionth along each of three axes, and some."""
BOUND_ANGLE = np.radians(1.0)
"""Radians (1°); nodes that are turned by less stand as the skin was put on them. Chosen: above what
float32 loses, below any pose that one sees."""
WIDTHS = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3"}
EVEN_SHARE = 0.02
"""Share of its step by which a key may lie off an even grid; chosen: room for rounded times."""
LONE_RATE = 30.0
"""Frames per second of a file with a single key, which shows no time; chosen: a usual one."""
MOST_RESAMPLED = 36_000
"""Count of frames that uneven keys may spread to beyond ten each; chosen: 20 minutes at 30 Hz."""


class TreeNode(Protocol):
    """A node of a file, whatever its format."""

    @property
    def name(self) -> str | None: ...
    @property
    def children(self) -> Sequence[int]: ...


class NodeTree:
    """Parents of all nodes, and the nodes in an order in which parents come first."""

    def __init__(self, path: Path, nodes: Sequence[TreeNode]) -> None:
        self.parents = [-1] * len(nodes)
        for index, node in enumerate(nodes):
            for child in node.children:
                place = f"$.nodes[{index}].children"
                if child >= len(nodes):
                    raise FormatError(path, f"there are {len(nodes)} nodes, none {child}", place)
                if self.parents[child] >= 0:
                    raise FormatError(path, f"node {child} has two parents", place)
                self.parents[child] = index
        self.order = [index for index, parent in enumerate(self.parents) if parent < 0]
        for index in self.order:
            self.order.extend(nodes[index].children)
        if len(self.order) != len(nodes):
            raise FormatError(path, "some nodes are their own ancestors", "$.nodes")

    def between(self, chosen: Sequence[int]) -> set[int]:
        """Return the chosen nodes, and those that lie between two of them."""
        return self.under(chosen) & set(self.with_ancestors(chosen))

    def with_ancestors(self, chosen: Iterable[int]) -> list[int]:
        """Return the chosen nodes and all above them, parents first."""
        used = set(chosen)
        for index in reversed(self.order):
            if index in used and self.parents[index] >= 0:
                used.add(self.parents[index])
        return [index for index in self.order if index in used]

    def under(self, chosen: Iterable[int]) -> set[int]:
        """Return the chosen nodes and all their descendants."""
        found = set(chosen)
        for index in self.order:
            if self.parents[index] in found:
                found.add(index)
        return found

    def parents_first(self, wanted: Iterable[int], members: set[int]) -> list[int]:
        """Return all members, in the order wanted as far as no child comes before its parent."""
        done: dict[int, None] = {}
        for index in [*wanted, *(i for i in self.order if i in members)]:
            path = []
            while index in members and index not in done:
                path.append(index)
                index = self.parents[index]
            done.update(dict.fromkeys(reversed(path)))
        return list(done)


def choose_bodies(path: Path, gltf: Gltf, tree: NodeTree) -> tuple[list[int], list[str]]:
    """Return nodes that are bodies, parents first, and what was odd.

    The joints of the largest skin and of those that belong to it, as a visor's to a soldier's; in a
    file without skin, the animated nodes and all below them.
    """
    problems = []
    if gltf.skins:
        for number, skin in enumerate(gltf.skins):
            if max(skin.joints, default=0) >= len(gltf.nodes):
                place = f"$.skins[{number}].joints"
                raise FormatError(path, f"there are {len(gltf.nodes)} nodes only", place)
        skins = skins_together(gltf, tree)
        wanted = list(dict.fromkeys(j for number in skins for j in gltf.skins[number].joints))
        members = tree.between(wanted)
        if len(skins) < len(gltf.skins):
            left = len(gltf.skins) - len(skins)
            problems.append(f"{left} of {len(gltf.skins)} skins belong to others and are not read")
    else:
        own = gltf.animation
        channels = () if own is None else gltf.animations[own].channels
        targets = [channel.target.node for channel in channels]
        wanted = [node for node in targets if node is not None and node < len(gltf.nodes)]
        members = tree.under(wanted)
        problems.append("no skin; the animated nodes and all below them are the bodies")
    if not members:
        raise WrongContent(path, "holds neither a skin nor an animation, so no skeleton")
    if len(members) > MOST_BODIES:
        raise FormatError(path, f"up to {MOST_BODIES} bodies are read, here are {len(members)}")
    return tree.parents_first(wanted if gltf.skins else (), members), problems


def skins_together(gltf: Gltf, tree: NodeTree) -> list[int]:
    """Return the skin with most joints, and those whose joints are, carry or hang on its own."""
    rest = sorted(range(len(gltf.skins)), key=lambda number: -len(gltf.skins[number].joints))
    found, joined = rest[:1], True
    while joined:
        members = tree.between([j for number in found for j in gltf.skins[number].joints])
        near = tree.under(members) | set(tree.with_ancestors(members))
        joined = [n for n in rest if n not in found and near.intersection(gltf.skins[n].joints)]
        found += joined
    return found


def unique_node_names(
    nodes: Sequence[TreeNode], chosen: Sequence[int]
) -> tuple[list[str], list[str]]:
    """Return a name for each chosen node, and what was odd."""
    names, _ = unique_labels([nodes[index].name or f"node_{index}" for index in chosen])
    renamed = sum(nodes[index].name != name for index, name in zip(chosen, names, strict=True))
    problems = [f"{renamed} nodes had no name or another's; they were given one"] if renamed else []
    return list(names), problems


def rest_of(path: Path, node: Node, place: str) -> tuple[Array, Array, Array]:
    """Return the rotation w x y z, place and scale of a node that nothing drives."""
    if node.matrix is None:
        x, y, z, w = node.rotation or (0.0, 0.0, 0.0, 1.0)
        q = np.array([w, x, y, z])
        if not 1e-6 < np.abs(q).max() < 1e6:
            raise FormatError(path, f"is no rotation: {node.rotation}", f"{place}.rotation")
        p, s = node.translation or (0.0, 0.0, 0.0), node.scale or (1.0, 1.0, 1.0)
        return quat.normalise(q), np.array(p), np.array(s)
    matrix = np.array(node.matrix).reshape(4, 4).T
    if np.abs(matrix).max() > FARTHEST_PLACE:
        raise FormatError(path, "is moved out of all measure", f"{place}.matrix")
    scale = np.linalg.norm(matrix[:3, :3], axis=0)
    turn = matrix[:3, :3] / np.where(scale > 0.0, scale, 1.0)
    if not np.allclose(turn.T @ turn, np.eye(3), atol=1e-3) or np.linalg.det(turn) < 0.0:
        raise FormatError(path, "shears, mirrors or flattens; bones are rigid", f"{place}.matrix")
    return quat.from_matrix(turn), matrix[:3, 3], scale


def node_worlds(file: File, tree: NodeTree, nodes: Iterable[int]) -> dict[int, Array]:
    """Return node → (4, 4) its place in the file's world at rest; parents first in ``nodes``."""
    worlds: dict[int, Array] = {}
    for index in nodes:
        place = f"$.nodes[{index}]"
        q, p, s = rest_of(file.path, file.gltf.nodes[index], place)
        local = np.eye(4)
        local[:3, :3], local[:3, 3] = quat.to_matrix(q) * s, p
        above = worlds.get(tree.parents[index])
        worlds[index] = local if above is None else above @ local
        if not LEAST_WORLD < abs(np.linalg.det(worlds[index])) < 1.0 / LEAST_WORLD:
            raise FormatError(file.path, "is scaled out of all measure", place)
    return worlds


def bind_pose(file: File, tree: NodeTree, chosen: list[int]) -> tuple[Array, Array]:
    """Return (n_bodies, 4, 4) the bodies as the skin was put on them, in our world, and the way (4,
    4) there from the mesh's, which may lie on its side or be in centimetres.

    Bodies that the skin does not bind stand on their parents as their nodes do.
    """
    worlds, binds = node_worlds(file, tree, tree.with_ancestors(chosen)), _joined_binds(file, tree)
    to_world = _to_world(file, chosen, worlds, binds)
    rests: dict[int, Array] = {}
    for node in chosen:
        parent = tree.parents[node]
        if node in binds:
            rests[node] = to_world @ binds[node]
        elif parent in rests:
            rests[node] = rests[parent] @ np.linalg.inv(worlds[parent]) @ worlds[node]
        else:
            rests[node] = to_world @ worlds[node]
    stacked = np.stack([rests[node] for node in chosen])
    stacked[:, :3, :3] = nearest_turns(stacked[:, :3, :3])
    return stacked, to_world


def binds_of_skins(file: File, tree: NodeTree) -> dict[int, dict[int, Array]]:
    """Return skin → joint → (4, 4) its place in that skin's mesh space, where the skin tells it."""
    skins = skins_together(file.gltf, tree) if file.gltf.skins else ()
    return {number: _binds(file, number) for number in skins}


def between_skins(main: dict[int, Array], other: dict[int, Array]) -> Array:
    """Return (4, 4) to one skin's mesh space from another's: where they share a joint it was bound
    to both at once."""
    shared = [joint for joint in other if joint in main]
    return main[shared[0]] @ np.linalg.inv(other[shared[0]]) if shared else np.eye(4)


def _joined_binds(file: File, tree: NodeTree) -> dict[int, Array]:
    """Return joint → (4, 4) its place in the mesh space of the largest skin."""
    joined: dict[int, Array] = {}
    for binds in binds_of_skins(file, tree).values():
        if not joined or joined.keys() & binds.keys():
            way = between_skins(joined, binds)
            joined = {joint: way @ bind for joint, bind in binds.items()} | joined
    return joined


def _binds(file: File, number: int) -> dict[int, Array]:
    """Return joint → (4, 4) its place in the mesh's space as a skin says, where it does."""
    skin = file.gltf.skins[number]
    if skin.inverse_bind_matrices is None:
        return {}
    matrices = file.array(skin.inverse_bind_matrices, "MAT4").reshape(-1, 4, 4)
    binds = {}
    for joint, matrix in zip(skin.joints, np.swapaxes(matrices, 1, 2), strict=False):
        if not abs(np.linalg.det(matrix[:3, :3])) >= LEAST_TURN:
            raise FormatError(file.path, "has an inverse bind matrix without an inverse")
        binds[joint] = np.linalg.inv(matrix)
    return binds


def _to_world(
    file: File, chosen: list[int], worlds: dict[int, Array], binds: dict[int, Array]
) -> Array:
    """Return (4, 4) from the mesh's space to ours.

    Nodes may stand in another pose than the skin was put on in, the hips leaning; a mesh does
    not lean, and its axes then are the world's, in whatever order.
    """
    if our_extras(file.gltf.asset.extras, TakeExtras) is not None:
        return np.eye(4)  # our own meshes are z up in our world, whatever the frame of their root
    up, first = np.eye(4), chosen[0]
    up[:3, :3] = np.rint(quat.to_matrix(to_z_up("y")))
    if first not in binds:
        return up
    ways = {node: worlds[node] @ np.linalg.inv(bind) for node, bind in binds.items()}
    turns = nearest_turns(np.stack([way[:3, :3] for way in ways.values()]))
    lean = quat.angle(quat.between(quat.from_matrix(turns[0]), quat.from_matrix(turns)))
    way = np.array(ways[first])
    if lean.max() > BOUND_ANGLE:
        own = nearest_turns(way[None, :3, :3])[0]
        way[:3, :3] = _snap_to_axes(own) @ own.T @ way[:3, :3]
        way[:3, 3] = worlds[first][:3, 3] - way[:3, :3] @ binds[first][:3, 3]
    return up @ way


def nearest_turns(matrices: Array) -> Array:
    """Return (..., 3, 3) rotations nearest to matrices that may scale."""
    left, _, right = np.linalg.svd(matrices)
    left[..., -1] *= np.linalg.det(left @ right)[..., None]
    return left @ right


def _snap_to_axes(turn: Array) -> Array:
    """Return (3, 3) the nearest rotation that only exchanges axes."""
    every = [
        np.eye(3)[list(order)] * signs
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    ]
    return max((m for m in every if np.linalg.det(m) > 0.0), key=lambda m: np.trace(m.T @ turn))


class Curve(NamedTuple):
    times: Array
    """(n_keys,) seconds, increasing."""
    values: Array
    """(n_keys, 3 or 4); of a cubic spline (n_keys, 3, 3 or 4): tangent in, value, tangent out."""
    interpolation: str


class Clock(NamedTuple):
    times: Array
    """(n_frames,) seconds."""
    rate: float
    problems: tuple[str, ...]


def read_curves(file: File, which: int, nodes: set[int]) -> dict[tuple[int, str], Curve]:
    """Return one animation's curves of these nodes by node and path; rotations stay x y z w."""
    curves, clocks = {}, {}
    animation = file.gltf.animations[which]
    for number, channel in enumerate(animation.channels):
        key = (channel.target.node, channel.target.path)
        place = f"$.animations[{which}].channels[{number}]"
        if key[0] not in nodes or key[1] not in WIDTHS:
            continue
        if key in curves:
            raise FormatError(file.path, f"a second channel for the {key[1]} of one node", place)
        if channel.sampler >= len(animation.samplers):
            raise FormatError(file.path, f"there is no sampler {channel.sampler}", place)
        sampler = animation.samplers[channel.sampler]
        if sampler.input not in clocks:  # most channels share theirs
            clocks[sampler.input] = _times(file, sampler.input, place)
        curves[key] = _curve(file, sampler, clocks[sampler.input], WIDTHS[key[1]], place)
    return curves


def _times(file: File, index: int, place: str) -> Array:
    times = file.array(index, "SCALAR")[:, 0]
    if not (np.diff(times) > 0).all():
        raise FormatError(file.path, "times of keys must increase", place)
    return times


def _curve(file: File, sampler: Sampler, times: Array, kind: str, place: str) -> Curve:
    values = file.array(sampler.output, kind)
    per_key = 3 if sampler.interpolation == "CUBICSPLINE" else 1
    if len(times) == 0 or len(values) != per_key * len(times):
        raise FormatError(
            file.path,
            f"{len(times)} keys need {per_key * len(times)} values, got {len(values)}",
            place,
        )
    if per_key == 3:
        values = values.reshape(len(times), 3, -1)
    return Curve(times, values, sampler.interpolation)


def find_clock(path: Path, curves: dict[tuple[int, str], Curve], rate: float | None) -> Clock:
    """Return one time per frame: the keys themselves where they are evenly spaced, else an even
    grid.

    ``rate`` is what the file says about itself, used where its keys agree.
    """
    clocks = {id(curve.times): curve.times for curve in curves.values()}
    keys = np.unique(np.concatenate([*clocks.values()]))
    keys = _merge(keys)
    if len(keys) == 1:
        note = () if rate else (f"a single key; {LONE_RATE:g} frames per second assumed",)
        return Clock(keys, rate or LONE_RATE, note)
    if rate is not None and _is_even(keys, 1.0 / rate):
        return Clock(keys, rate, ())
    span = float(keys[-1] - keys[0])
    if _is_even(keys, span / (len(keys) - 1)):
        return Clock(keys, _round_rate((len(keys) - 1) / span), ())
    rate = _round_rate(1.0 / float(np.median(np.diff(keys))))
    n_frames = int(min(span * rate, 2**40)) + 1
    if n_frames > 10 * len(keys) + MOST_RESAMPLED:
        raise FormatError(
            path, f"{len(keys)} keys are spread over {span:g} s; sample the animation evenly first"
        )
    note = f"keys are not evenly spaced; sampled {rate:g} times per second"
    return Clock(keys[0] + np.arange(n_frames) / rate, rate, (note,))


def sample(curve: Curve, times: Array, *, rotation: bool) -> Array:
    """Return values (n_times, 3), or rotations (n_times, 4) w x y z; held beyond the keys."""
    values = curve.values[..., [3, 0, 1, 2]] if rotation else curve.values
    points = values[:, 1] if curve.interpolation == "CUBICSPLINE" else values
    if len(points) == 1:
        found = np.repeat(points, len(times), axis=0)
    elif np.array_equal(curve.times, times):
        found = points
    else:
        found = _between(curve, values, points, times, rotation=rotation)
    return quat.normalise(found) if rotation else found


def _between(curve: Curve, values: Array, points: Array, times: Array, *, rotation: bool) -> Array:
    left = np.clip(np.searchsorted(curve.times, times, side="right") - 1, 0, len(points) - 2)
    step = curve.times[left + 1] - curve.times[left]
    share = np.clip((times - curve.times[left]) / step, 0.0, 1.0)
    a, b = points[left], points[left + 1]
    if curve.interpolation == "STEP":
        return np.where(share[:, None] < 1.0, a, b)
    if curve.interpolation == "LINEAR":
        if rotation:
            return quat.slerp(quat.normalise(a), quat.normalise(b), share)
        return a + share[:, None] * (b - a)
    t, h = share[:, None], step[:, None]
    out, into = values[left, 2], values[left + 1, 0]
    return (
        (2 * t**3 - 3 * t**2 + 1) * a
        + (t**3 - 2 * t**2 + t) * h * out
        + (3 * t**2 - 2 * t**3) * b
        + (t**3 - t**2) * h * into
    )


def _merge(keys: Array) -> Array:
    """Return keys without those that stand for the same frame and differ by rounding only."""
    if len(keys) < 3:
        return keys
    steps = np.diff(keys)
    return keys[np.concatenate([[True], steps > 1e-3 * np.median(steps)])]


def _is_even(keys: Array, step: float) -> bool:
    grid = keys[0] + step * np.arange(len(keys))
    return bool(np.abs(keys - grid).max() <= EVEN_SHARE * step)


def _round_rate(rate: float) -> float:
    """Return a whole number where the rate is one to the precision of float32 times."""
    return float(round(rate)) if abs(rate - round(rate)) < 1e-4 * rate and rate >= 1 else rate
