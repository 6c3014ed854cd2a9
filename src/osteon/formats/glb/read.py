"""A skeleton and its motion from any glTF file."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from osteon.errors import BadValue, FormatError
from osteon.formats.glb.curves import LONE_RATE, Clock, Curve, find_clock, read_curves, sample
from osteon.formats.glb.mesh import find_flesh_tips
from osteon.formats.glb.nodes import (
    FARTHEST_PLACE,
    NodeTree,
    bind_pose,
    choose_bodies,
    rest_of,
    unique_node_names,
)
from osteon.formats.glb.schema import File, TakeExtras, our_extras
from osteon.formats.own.skeleton_json import BodyRecord, to_body, to_skeleton
from osteon.formats.shared.sane_rig import check_body
from osteon.formats.shared.units import to_z_up, turn_points, turn_rotations
from osteon.maths import forward_kinematics, quat
from osteon.typing import Array
from osteon.values import Body, Joint, Motion, Skeleton, Source, Take

LEAST_SCALE, MOST_SCALE = 1e-6, 1e6
"""Ratios of lengths; chosen: beyond, metres become micrometres or thousands of kilometres."""
SAME_PLACE = 1e-6
"""Metres; offsets that differ less are the same. Derived: what float32 leaves of places some metres
away."""
SPARE_CELLS = 1_000_000
"""Count of frames times bodies that any file may have; larger ones need bytes to show for them.
Chosen: some dozens of megabytes."""


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
        problems.append(f"{len(file.gltf.animations)} animations; the first one is read")
    if clock is not None and len(clock.times) * len(used) > SPARE_CELLS + file.size:
        size = f"{len(clock.times)} frames of {len(used)} nodes"
        raise FormatError(path, f"{size} are more than {file.size} bytes can fill")
    pose = _pose(file, tree, used, curves, np.zeros(1) if clock is None else clock.times)
    pose, parents = _bodies_only(tree, used, chosen, pose)
    names, odd = unique_node_names(file.gltf.nodes, chosen)
    bound = bind_pose(file, tree, chosen)
    stance = _stance(bound[0], parents)
    skeleton, more = _skeleton(file, chosen, names, parents, pose, stance, extras)
    if extras is None:
        skeleton = _with_tips(skeleton, _tips(file, chosen, pose, bound))
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
        if max(np.abs(pose.rotations[..., 1:]).max(), np.abs(pose.places[0, 0]).max()) < SAME_PLACE:
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
    if not file.gltf.animations:
        return {}, None
    curves = read_curves(file, file.gltf.animations[0], nodes)
    if not curves:
        return {}, None
    rate = extras.motion.rate if extras and extras.motion else None
    return curves, find_clock(file.path, curves, rate if rate and rate > 0 else None)


def _pose(
    file: File,
    tree: NodeTree,
    used: list[int],
    curves: dict[tuple[int, str], Curve],
    times: Array,
) -> NodePose:
    rotations = np.zeros((len(times), len(used), 4))
    places = np.zeros((len(times), len(used), 3))
    rest = np.zeros((len(used), 3))
    scales = {-1: 1.0}
    for column, index in enumerate(used):
        place = f"$.nodes[{index}]"
        q, p, s = rest_of(file.path, file.gltf.nodes[index], place)
        above = scales[tree.parents[index]]
        rest[column] = above * p
        if (index, "rotation") in curves:
            q = sample(curves[index, "rotation"], times, rotation=True)
        if (index, "translation") in curves:
            p = sample(curves[index, "translation"], times, rotation=False)
        if (index, "scale") in curves:
            s = sample(curves[index, "scale"], times, rotation=False)
        scales[index] = above * _uniform(file.path, s, place)
        rotations[:, column], places[:, column] = q, above * p
        if not (LEAST_SCALE < scales[index] < MOST_SCALE and np.abs(p).max() < FARTHEST_PLACE):
            raise FormatError(file.path, "is scaled or moved out of all measure", place)
    if not np.isfinite(rotations).all():
        raise FormatError(file.path, "a rotation is all zeros and names no turn")
    return NodePose(rotations, places, rest, np.array([scales[index] for index in used]))


def _uniform(path: Path, scale: Array, place: str) -> float:
    """Return the one number by which a node scales what is below it."""
    low, high = float(scale.min()), float(scale.max())
    if not (low > 0.0 and high - low <= 1e-3 * high):
        raise FormatError(
            path,
            f"scale runs from {low:g} to {high:g}; bones are rigid: "
            "apply the scale before exporting",
            place,
        )
    return 0.5 * (low + high) if high > low else high


def _bodies_only(
    tree: NodeTree, used: list[int], chosen: list[int], pose: NodePose
) -> tuple[NodePose, list[int]]:
    """Return bodies with roots in our world, and parents (−1 for a root): nodes above are folded
    in."""
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
    up = to_z_up("y")
    rotations[:, roots] = turn_rotations(q[:, ends], up)
    places[:, roots] = turn_points(p[:, ends], up)
    return NodePose(rotations, places, pose.rest[columns], pose.scales[columns]), parents


def _skeleton(
    file: File,
    chosen: list[int],
    names: list[str],
    parents: list[int],
    pose: NodePose,
    stance: Array,
    extras: TakeExtras | None,
) -> tuple[Skeleton, list[str]]:
    """Return bodies from the nodes, with what our own files say beyond glTF."""
    bodies: list[Body] = []
    lost = 0
    for index, (node, name, parent) in enumerate(zip(chosen, names, parents, strict=True)):
        base = bodies[parent].joint.in_body if parent >= 0 else np.zeros(3)
        in_parent = base + (_offset(pose, index) if parent >= 0 else 0.0)
        plain = Body(
            name,
            None if parent < 0 else names[parent],
            Joint("free" if parent < 0 else "ball", in_parent, rest=stance[index]),
        )
        record = our_extras(file.gltf.nodes[node].extras, BodyRecord)
        told = None if record is None else _restore_body(record, plain)
        lost += record is not None and told is None
        bodies.append(told or plain)
    problems = [f"{lost} nodes were changed after osteon wrote them"] if lost else []
    if extras is None:
        return Skeleton(tuple(bodies)), problems
    return replace(to_skeleton(extras.skeleton), bodies=tuple(bodies)), problems


def _stance(rests: Array, parents: list[int]) -> Array:
    """Return (n_bodies, 4) local rotations of bodies that stand as (n_bodies, 4, 4) in our
    world."""
    turns = quat.from_matrix(rests[:, :3, :3])
    above = [quat.identity() if parent < 0 else turns[parent] for parent in parents]
    return quat.between(np.stack(above), turns)


def _tips(
    file: File, chosen: list[int], pose: NodePose, bound: tuple[Array, Array]
) -> dict[int, Array]:
    """Return body → (3,) where its bone ends: at a node below it that is no body, or with its
    flesh."""
    tips = find_flesh_tips(file, chosen, *bound) if file.gltf.skins else {}
    for index, node in enumerate(chosen):
        for child in file.gltf.nodes[node].children:
            if file.gltf.nodes[child].mesh is None:
                _, place, _ = rest_of(file.path, file.gltf.nodes[child], f"$.nodes[{child}]")
                if SAME_PLACE < pose.scales[index] * np.abs(place).max() < FARTHEST_PLACE:
                    tips[index] = pose.scales[index] * place
    return tips


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


def _offset(pose: NodePose, index: int) -> Array:
    """Return (3,) where a joint sits: at rest, or where an animation puts it throughout."""
    places, rest = pose.places[:, index], pose.rest[index]
    stays = len(places) > 0 and np.ptp(places, axis=0).max() < SAME_PLACE
    return places[0] if stays and np.abs(places[0] - rest).max() > SAME_PLACE else rest
