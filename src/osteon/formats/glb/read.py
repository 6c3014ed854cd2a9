"""A skeleton and its motion from any glTF file, or its meshes with the skin that carries them."""

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from osteon.errors import BadValue, FormatError, WrongContent
from osteon.formats.glb.nodes import (
    FARTHEST_PLACE,
    LONE_RATE,
    Clock,
    Curve,
    NodeTree,
    between_skins,
    bind_pose,
    binds_of_skins,
    choose_bodies,
    find_clock,
    node_worlds,
    read_curves,
    rest_of,
    sample,
    unique_node_names,
)
from osteon.formats.glb.schema import BoneRecord, File, TakeExtras, our_extras
from osteon.formats.obj import Triangles
from osteon.formats.own.skeleton_json import BodyRecord, to_body, to_skeleton
from osteon.formats.shared.bone_axes import reframe
from osteon.formats.shared.flesh_ends import Flesh, flesh_ends, with_soles
from osteon.formats.shared.sane_rig import check_body
from osteon.formats.shared.units import to_z_up, turn_points, turn_rotations
from osteon.maths import forward_kinematics, quat
from osteon.typing import Array
from osteon.values import Body, Joint, Motion, Skeleton, SkinnedMesh, Source, Take

LEAST_SCALE, MOST_SCALE = 1e-6, 1e6
"""Ratios of lengths; chosen: beyond, metres become micrometres or thousands of kilometres."""
SAME_PLACE = 1e-6
"""Metres; offsets that differ less are the same. Derived: what float32 leaves, metres away."""
UNIT_SLACK = 1e-3
"""Share by which a quaternion's length may differ from 1; chosen: more is no rounding."""
SPARE_CELLS = 1_000_000
"""Count of frames times bodies that any file may have; chosen: some dozens of megabytes."""
TRIANGLE_LIST = 4
"""Code of a primitive made of triangles, defined by glTF."""
MOST_VERTICES = 5_000_000
"""Count of vertices of all primitives; those that share some have them each. Chosen: far more than
characters have, and still little memory."""
CORNER_COUNT = 6
"""Count of corners per vertex, derived: a closed mesh has twice as many triangles as vertices."""


class NodePose(NamedTuple):
    """Nodes in their parents' frames."""

    rotations: Array
    """(n_frames, n_nodes, 4) w x y z"""
    places: Array
    """(n_frames, n_nodes, 3) metres, scales of the nodes above applied."""
    rest: Array
    """(n_nodes, 3) the same where no animation drives them."""
    scales: Array
    """(n_nodes,) by which they scale what is below them."""


def read_glb(path: Path) -> Take:
    file = File(path)
    tree = NodeTree(path, file.gltf.nodes)
    chosen, problems = choose_bodies(path, file.gltf, tree)
    used = tree.with_ancestors(chosen)
    extras = our_extras(file.gltf.asset.extras, TakeExtras)
    curves, clock = _curves(file, set(used), extras)
    if len(file.gltf.animations) > 1:
        which = file.gltf.animations[file.gltf.animation or 0]
        told = "the first one is" if not which.is_take else f"{which.name!r}, put on last, is"
        problems.append(f"{len(file.gltf.animations)} animations; {told} read")
    if clock is not None and len(clock.times) * len(used) > SPARE_CELLS + file.size:
        size = f"{len(clock.times)} frames of {len(used)} nodes"
        raise FormatError(path, f"{size} are more than {file.size} bytes can fill")
    pose, stretched = _pose(file, tree, used, curves, np.zeros(1) if clock is None else clock.times)
    problems += stretched_note(stretched)
    pose, parents = bodies_only(tree, used, chosen, pose, to_z_up("y"))
    names, odd = unique_node_names(file.gltf.nodes, chosen)
    bound = bind_pose(file, tree, chosen)
    stance = _stance(bound[0], parents)
    told = [file.gltf.nodes[node].extras for node in chosen]
    pose, stance = _in_bodies(told, parents, pose, stance)
    records = [our_extras(each, BodyRecord) for each in told]
    skeleton, more = _skeleton(records, names, parents, pose, stance, extras)
    if extras is None:
        flesh = _read_flesh(file, tree, chosen, bound[1])
        ends = {} if flesh is None else flesh_ends(flesh, bound[0])
        skeleton = _with_tips(skeleton, ends | _node_ends(file, chosen, pose))
        skeleton = skeleton if flesh is None else with_soles(skeleton, flesh, bound[0][:, :3, 3])
    problems = [*problems, *odd, *more, *(clock.problems if clock else ())]
    return _take(file, skeleton, pose, clock, extras, tuple(problems))


def _take(
    file: File,
    skeleton: Skeleton,
    pose: NodePose,
    clock: Clock | None,
    extras: TakeExtras | None,
    problems: tuple[str, ...],
) -> Take:
    """Return a motion; a skeleton alone where nothing moves or is turned."""
    about = extras.motion if extras else None
    if clock is None and about is not None:  # one of ours, of no frames
        pose = pose._replace(rotations=pose.rotations[:0], places=pose.places[:0])
        clock = Clock(np.zeros(0), about.rate, ())
    if clock is None:
        moved = max(np.abs(pose.rotations[..., 1:]).max(), np.abs(pose.places[0, 0]).max())
        if extras is not None or moved < SAME_PLACE:  # ours stand on the ground
            return Take(skeletons=(skeleton,))
        clock = Clock(np.zeros(1), LONE_RATE, ())
        problems = (*problems, "no animation; the rest pose is given as one frame")
    moves = np.abs(pose.places - skeleton.offsets)[:, 1:] > SAME_PLACE
    motion = Motion(
        skeleton,
        pose.rotations,
        pose.places[:, 0],
        clock.rate,
        # roots beyond the first stand at their offsets, so those are always kept
        offsets=pose.places if moves.any() or skeleton.parents.count(-1) > 1 else None,
        marks=about.marks if about else (),
        held=about.held if about else (),
        history=about.history if about else (),
        source=_source(file, clock, problems),
    )
    return Take(motions=(motion,))


def _source(file: File, clock: Clock, problems: tuple[str, ...]) -> Source:
    return Source(
        file.path.name,
        "GLB",
        f"glTF {file.gltf.asset.version}",
        file.gltf.asset.generator or "",
        up="y",
        up_known=True,
        first_frame=round(float(clock.times[0]) * clock.rate) if len(clock.times) else 0,
        problems=problems,
    )


def _curves(
    file: File, nodes: set[int], extras: TakeExtras | None
) -> tuple[dict[tuple[int, str], Curve], Clock | None]:
    if file.gltf.animation is None:
        return {}, None
    curves = read_curves(file, file.gltf.animation, nodes)
    if not curves:
        return {}, None
    rate = extras.motion.rate if extras and extras.motion else None
    return curves, find_clock(file.path, curves, rate if rate and rate > 0 else None)


def _pose(
    file: File, tree: NodeTree, used: list[int], curves: dict[tuple[int, str], Curve], times: Array
) -> tuple[NodePose, int]:
    """Return nodes at these times, and the count of those whose size the animation changes."""
    rotations = np.zeros((len(times), len(used), 4))
    places = np.zeros((len(times), len(used), 3))
    rest = np.zeros((len(used), 3))
    scales, stretched = {-1: 1.0}, 0
    carrying = {tree.parents[index] for index in used}
    for column, index in enumerate(used):
        place = f"$.nodes[{index}]"
        q, p, s = rest_of(file.path, file.gltf.nodes[index], place)
        above = scales[tree.parents[index]]
        rest[column] = above * p
        if (index, "rotation") in curves:
            q = sample(curves[index, "rotation"], times, rotation=True)
        if (index, "translation") in curves:
            p = sample(curves[index, "translation"], times, rotation=False)
        driven = s
        if (index, "scale") in curves:
            driven = sample(curves[index, "scale"], times, rotation=False)
        own, steady = body_scale(file.path, driven, s, place, carries=index in carrying)
        scales[index], stretched = above * own, stretched + (not steady)
        rotations[:, column], places[:, column] = q, above * p
        if not (LEAST_SCALE < scales[index] < MOST_SCALE and np.abs(p).max() < FARTHEST_PLACE):
            raise FormatError(file.path, "is scaled or moved out of all measure", place)
    if not np.isfinite(rotations).all():
        raise FormatError(file.path, "a rotation is all zeros and names no turn")
    pose = NodePose(rotations, places, rest, np.array([scales[index] for index in used]))
    return pose, stretched


def body_scale(
    path: Path, driven: Array, still: Array, place: str, *, carries: bool
) -> tuple[float, bool]:
    """Return the one number by which a node scales what is below it, and whether it always does.

    What an animation scales otherwise at times keeps the size that it has undriven; the shape of
    what ``carries`` no other node, a prop that is hidden by no size at all, is nothing to bones.
    """
    if (own := _uniform(driven)) is not None:
        return own, True
    if (own := _uniform(still)) is not None:
        return own, False
    if not carries:
        return 1.0, True
    low, high = float(still.min()), float(still.max())
    raise FormatError(
        path,
        f"scale runs from {low:g} to {high:g}; bones are rigid: apply the scale before exporting",
        place,
    )


def _uniform(scale: Array) -> float | None:
    """The scale along all axes and in all frames; None where it is not one."""
    low, high = float(scale.min()), float(scale.max())
    if not (low > 0.0 and high - low <= 1e-3 * high):
        return None
    return 0.5 * (low + high) if high > low else high


def stretched_note(count: int) -> list[str]:
    """Tell of nodes whose size an animation changes."""
    said = "of 1 node changes" if count == 1 else f"of {count} nodes changes"
    return [f"the size {said} in the animation; bones are rigid and keep theirs"] if count else []


def bodies_only(
    tree: NodeTree, used: list[int], chosen: list[int], pose: NodePose, turn: Array
) -> tuple[NodePose, list[int]]:
    """Return bodies alone, with roots turned to our world, and their parents (−1 for a root)."""
    column = {node: index for index, node in enumerate(used)}
    members = {node: index for index, node in enumerate(chosen)}
    parents = [members.get(tree.parents[node], -1) for node in chosen]
    columns = [column[node] for node in chosen]
    rotations, places = pose.rotations[:, columns], pose.places[:, columns]
    roots = [index for index, parent in enumerate(parents) if parent < 0]
    # the chain down to the roots only: the bodies below keep their parents
    down = [node for node in used if node not in members or parents[members[node]] < 0]
    order = {node: index for index, node in enumerate(down)}
    lines = [column[node] for node in down]
    q, p = forward_kinematics(
        pose.rotations[:, lines],
        pose.places[:, lines],
        [order.get(tree.parents[node], -1) for node in down],
    )
    ends = [order[chosen[root]] for root in roots]
    rotations[:, roots] = turn_rotations(q[:, ends], turn)
    places[:, roots] = turn_points(p[:, ends], turn)
    return NodePose(rotations, places, pose.rest[columns], pose.scales[columns]), parents


def _in_bodies(
    told: list[Any], parents: list[int], pose: NodePose, stance: Array
) -> tuple[NodePose, Array]:
    """Return what is told of bones as of the bodies of our own files that they stand in."""
    back = quat.inverse(np.stack([_bone_axes(extras) for extras in told]))
    rotations, places = reframe(back, parents, pose.rotations, pose.places)
    stance, rest = reframe(back, parents, stance, pose.rest)
    return pose._replace(rotations=rotations, places=places, rest=rest), stance


def _bone_axes(extras: Any) -> Array:
    """Return (4,) to a body's frame from its node's; identity where nothing sound is told."""
    record = our_extras(extras, BoneRecord)
    axes = quat.identity() if record is None else np.array(record.bone_axes)
    return axes if abs(np.linalg.norm(axes) - 1.0) < UNIT_SLACK else quat.identity()


def _skeleton(
    records: list[BodyRecord | None],
    names: list[str],
    parents: list[int],
    pose: NodePose,
    stance: Array,
    extras: TakeExtras | None,
) -> tuple[Skeleton, list[str]]:
    """Return bodies from the nodes, with what our own files say beyond glTF."""
    bodies: list[Body] = []
    lost = 0
    for index, (record, name, parent) in enumerate(zip(records, names, parents, strict=True)):
        base = bodies[parent].joint.in_body if parent >= 0 else np.zeros(3)
        in_parent = base + (offset_at_rest(pose, index) if parent >= 0 else 0.0)
        plain = Body(
            name,
            None if parent < 0 else names[parent],
            Joint("free" if parent < 0 else "ball", in_parent, rest=stance[index]),
        )
        told = None if record is None else _restore_body(record, plain)
        lost += record is not None and told is None
        bodies.append(told or plain)
    problems = [f"{lost} nodes were changed after osteon wrote them"] if lost else []
    if extras is None:
        return Skeleton(tuple(bodies)), problems
    return replace(to_skeleton(extras.skeleton), bodies=tuple(bodies)), problems


def _stance(rests: Array, parents: list[int]) -> Array:
    """Return local rotations (n_bodies, 4) of bodies that stand as ``rests`` in our world."""
    turns = quat.from_matrix(rests[:, :3, :3])
    above = [quat.identity() if parent < 0 else turns[parent] for parent in parents]
    return quat.between(np.stack(above), turns)


def _node_ends(file: File, chosen: list[int], pose: NodePose) -> dict[int, Array]:
    """Return body → (3,) where its bone ends at a node that is no body."""
    ends = {}
    for index, node in enumerate(chosen):
        for child in file.gltf.nodes[node].children:
            if file.gltf.nodes[child].mesh is None:
                _, place, _ = rest_of(file.path, file.gltf.nodes[child], f"$.nodes[{child}]")
                if SAME_PLACE < pose.scales[index] * np.abs(place).max() < FARTHEST_PLACE:
                    ends[index] = pose.scales[index] * place
    return ends


def _with_tips(skeleton: Skeleton, tips: dict[int, Array]) -> Skeleton:
    """Return the skeleton with ends for the bones that have no child."""
    bodies, carrying = list(skeleton.bodies), set(skeleton.parents)
    for index, tip in tips.items():
        body = bodies[index]
        if index not in carrying and body.tip is None:
            bodies[index] = replace(body, tip=body.joint.in_body + tip)
    return replace(skeleton, bodies=tuple(bodies))


def _restore_body(record: BodyRecord, plain: Body) -> Body | None:
    """Return the body as ``extras`` tell it, if its node still sits where they say."""
    try:
        body = replace(check_body(to_body(record)), name=plain.name, parent=plain.parent)
    except BadValue:
        return None
    moved = np.abs(body.joint.in_parent - plain.joint.in_parent).max() > 2 * SAME_PLACE
    return None if moved and plain.parent is not None else body


def offset_at_rest(pose: NodePose, index: int) -> Array:
    """Return (3,) where a joint sits: at rest, or where an animation puts it throughout."""
    places, rest = pose.places[:, index], pose.rest[index]
    stays = len(places) > 0 and np.ptp(places, axis=0).max() < SAME_PLACE
    return places[0] if stays and np.abs(places[0] - rest).max() > SAME_PLACE else rest


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
    """Return what the skins carry, in the pose of their inverse bind matrices."""
    chosen, _ = choose_bodies(file.path, file.gltf, tree)
    vertices, faces, carriers, weights = _gather_worn(file, tree, chosen)
    rests, to_world = bind_pose(file, tree, chosen)
    skeleton = _skin_skeleton(file, tree, chosen, rests)
    mesh = SkinnedMesh(
        vertices @ to_world[:3, :3].T + to_world[:3, 3],
        faces,
        carriers,
        weights,
        quat.from_matrix(rests[:, :3, :3]),
        rests[:, :3, 3],
    )
    return Skinned(skeleton, mesh)


def _gather_worn(
    file: File, tree: NodeTree, chosen: list[int]
) -> tuple[Array, np.ndarray, np.ndarray, Array]:
    """Return vertices and faces of all that wears the skins, in the largest one's mesh space, and
    the bodies (n_vertices, 4) that carry them with their weights."""
    place = {node: index for index, node in enumerate(chosen)}
    binds = binds_of_skins(file, tree)
    ways = {number: between_skins(binds[next(iter(binds))], own) for number, own in binds.items()}
    meshes, carriers, weights = [], [], []
    for node in file.gltf.nodes:
        if node.mesh is None or node.skin not in ways:
            continue
        columns = np.array([place[joint] for joint in file.gltf.skins[node.skin].joints])
        way = ways[node.skin]
        for vertices, faces, attributes in _primitives(file, node.mesh):
            meshes.append((vertices @ way[:3, :3].T + way[:3, 3], faces))
            joints, shares = _carriers(file, attributes, len(vertices))
            if joints.max(initial=0) >= len(columns):
                raise FormatError(file.path, f"a vertex hangs on joint {joints.max()}, which the "
                                  f"skin's {len(columns)} joints do not have")  # fmt: skip
            carriers.append(columns[joints])
            weights.append(shares)
    if not meshes:
        raise WrongContent(file.path, "holds a skin, but no mesh that wears it")
    return *_join(meshes), np.concatenate(carriers), np.concatenate(weights)


def _read_flesh(file: File, tree: NodeTree, chosen: list[int], to_world: Array) -> Flesh | None:
    """Return what the skins carry, in our world; ``to_world`` is of ``bind_pose``. None where there
    is none, or the mesh cannot be read: bones do without."""
    if not file.gltf.skins:
        return None
    try:
        vertices, _, carriers, weights = _gather_worn(file, tree, chosen)
    except FormatError:
        return None
    return Flesh(vertices @ to_world[:3, :3].T + to_world[:3, 3], carriers, weights)


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


def _skin_skeleton(file: File, tree: NodeTree, chosen: list[int], rests: Array) -> Skeleton:
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
        extras = file.gltf.nodes[node].extras
        told = our_extras(extras, BodyRecord)
        if told is not None and (tip := to_body(told).tip_from_joint) is not None:
            body = replace(body, tip=quat.rotate(quat.inverse(_bone_axes(extras)), tip))
        bodies.append(body)
    return Skeleton(tuple(bodies))
