"""A skeleton and its motion from a binary FBX file of any program.

Bodies are its bones, and whatever carries skin or lies between them; without any, its empty nodes.
They rest as the skin was put on them, whatever their nodes do.
"""

from pathlib import Path

import numpy as np

from osteon.errors import FormatError, WrongContent
from osteon.formats.fbx.flesh import read_flesh
from osteon.formats.fbx.nodes import FbxFile
from osteon.formats.fbx.scene import (
    BONES,
    SEGMENT_SCALE,
    Curves,
    KeyedCurve,
    LocalPose,
    SceneInFile,
    SceneModel,
    local_pose,
    numbers_of,
)
from osteon.formats.fbx.write import TICK_RATE
from osteon.formats.glb.nodes import FARTHEST_PLACE, MOST_BODIES, NodeTree, unique_node_names
from osteon.formats.glb.read import (
    LEAST_SCALE,
    MOST_SCALE,
    SAME_PLACE,
    SPARE_CELLS,
    NodePose,
    bodies_only,
    body_scale,
    offset_at_rest,
    stretched_note,
)
from osteon.formats.shared.flesh_ends import with_soles
from osteon.formats.shared.units import to_z_up
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Body, Joint, Motion, Skeleton, Source, Take

USUAL_RATE = 30.0
"""Frames per second of a file that does not say; chosen: a usual one."""
EVEN_SHARE = 0.01
"""Share by which a rate may differ from that of the keys and still be theirs; chosen: above what
ticks round, below any two rates in use."""
PACKED_RATIO = 4
"""Count of poses of a body per byte of a file; chosen: bones that keep still take hardly any."""


def read_fbx(path: Path) -> Take:
    scene = SceneInFile(FbxFile(path))
    tree = NodeTree(path, scene.models)
    chosen, problems = choose_bones(scene, tree)
    used = tree.with_ancestors(chosen)
    curves, notes = scene.curves(set(used))
    rate, times = _clock(scene, curves)
    if len(times) * len(used) > SPARE_CELLS + PACKED_RATIO * len(scene.file.data):
        size = f"{len(times)} frames of {len(used)} nodes"
        raise FormatError(path, f"{size} are more than {len(scene.file.data)} bytes can fill")
    pose, still, stretched = poses_of(scene, tree, used, curves, times)
    notes += stretched_note(stretched)
    rows, up, right_handed = scene.axes()
    if not right_handed:
        notes.append("its axes are not those of a right hand; the front is taken the other way")
    turn = quat.multiply(to_z_up("y"), quat.from_matrix(rows))
    pose, parents = bodies_only(tree, used, chosen, pose, turn)
    names, odd = unique_node_names(scene.models, chosen)
    stance = _stance(scene, tree, chosen, still, turn)
    bodies: list[Body] = []
    for index, parent in enumerate(parents):
        place = offset_at_rest(pose, index) if parent >= 0 else np.zeros(3)
        joint = Joint("free" if parent < 0 else "ball", place, rest=stance[index])
        bodies.append(Body(names[index], None if parent < 0 else names[parent], joint))
    skeleton = with_soles(Skeleton(tuple(bodies)), *read_flesh(scene, chosen, turn))
    if not curves:
        return Take(skeletons=(skeleton,))
    first = round(float(times[0]) * rate / TICK_RATE)
    source = Source(
        path.name,
        "FBX",
        f"{scene.file.version / 1000:.1f}",
        scene.creator,
        scene.unit()[1],
        up,
        up_known=True,
        first_frame=first if abs(first) < 2**53 else 0,
        problems=(*problems, *notes, *odd),
    )
    return Take(motions=(_motion(skeleton, pose, rate, source),))


def _motion(skeleton: Skeleton, pose: NodePose, rate: float, source: Source) -> Motion:
    moves = np.abs(pose.places - skeleton.offsets)[:, 1:] > SAME_PLACE
    # roots beyond the first stand at their offsets, so those are always kept
    keeps = moves.any() or skeleton.parents.count(-1) > 1
    offsets = pose.places if keeps else None
    return Motion(skeleton, pose.rotations, pose.places[:, 0], rate, offsets=offsets, source=source)


def choose_bones(scene: SceneInFile, tree: NodeTree) -> tuple[list[int], list[str]]:
    """Return models that are bodies, parents first, and what was odd."""
    path, problems = scene.file.path, []
    wanted = [place for place, model in enumerate(scene.models) if model.kind in BONES]
    wanted += [place for place, _ in scene.clusters()]
    if not wanted:
        wanted = [place for place, model in enumerate(scene.models) if model.kind == "Null"]
        problems.append("no bones; the empty nodes are the bodies")
    members = tree.between(wanted)
    if not members:
        raise WrongContent(path, "holds no bones, so no skeleton")
    if len(members) > MOST_BODIES:
        raise FormatError(path, f"up to {MOST_BODIES} bodies are read, here are {len(members)}")
    return tree.parents_first(wanted, members), problems


def _clock(scene: SceneInFile, curves: Curves) -> tuple[float, np.ndarray]:
    """Return frames per second and the time of each, ticks: by the rate that the file tells, unless
    its keys lie closer."""
    keyed = [curve for parts in curves.values() for curve in parts if curve is not None]
    if not keyed:
        return USUAL_RATE, np.zeros(1)
    start = min(int(curve.times[0]) for curve in keyed)
    end = max(int(curve.times[-1]) for curve in keyed)
    rate, keys = scene.rate(), _key_rate(keyed)
    if rate is None or (keys is not None and keys > rate * (1.0 + EVEN_SHARE)):
        rate = keys or rate or USUAL_RATE
    n_frames = (end - start) * rate / TICK_RATE + 1.0
    most = SPARE_CELLS + PACKED_RATIO * len(scene.file.data)
    if not n_frames < most:
        raise FormatError(
            scene.file.path, f"spreads its keys over {n_frames:.0f} frames; sample it evenly first"
        )
    # a last key between two frames is left out, one that ticks round away is not
    return rate, np.rint(start + np.arange(int(n_frames + EVEN_SHARE)) * TICK_RATE / rate)


def _key_rate(keyed: list[KeyedCurve]) -> float | None:
    """Return keys per second of the curve that has most, if they are even."""
    times = max((curve.times for curve in keyed), key=len)
    if len(times) < 3:
        return None
    steps = np.diff(times)
    if np.ptp(steps) > EVEN_SHARE * np.median(steps):
        return None
    rate = TICK_RATE * (len(times) - 1) / float(times[-1] - times[0])
    return float(round(rate)) if abs(rate - round(rate)) < 1e-6 * rate else rate


def poses_of(
    scene: SceneInFile, tree: NodeTree, used: list[int], curves: Curves, times: np.ndarray
) -> tuple[NodePose, dict[int, LocalPose], int]:
    """Return the used models in their parents' frames, metres, each as it stands undriven, and the
    count of those whose size the animation changes."""
    path, (metres, _) = scene.file.path, scene.unit()
    rotations, places = np.zeros((len(times), len(used), 4)), np.zeros((len(times), len(used), 3))
    rest, still = np.zeros((len(used), 3)), {}
    scales, own, stretched = {-1: metres}, {-1: 1.0}, 0
    carrying = {tree.parents[index] for index in used}
    for column, index in enumerate(used):
        model, parent = scene.models[index], tree.parents[index]
        still[index] = local_pose(model, {})
        moved = local_pose(model, _driven(model, index, curves, times))
        above, place = scales[parent], f"model {model.name[:40]!r}"
        both, carries = (moved.scale, still[index].scale), index in carrying
        own[index], steady = body_scale(path, *both, place, carries=carries)
        stretched += not steady
        (kind,) = numbers_of(model.told.get("InheritType", ()), [0.0])
        inherited = above / own[parent] if kind == SEGMENT_SCALE else above
        scales[index] = inherited * own[index]
        rotations[:, column], places[:, column] = moved.rotation, above * moved.place
        rest[column] = above * still[index].place
        far = max(np.abs(places[:, column]).max(), np.abs(rest[column]).max())
        if not (LEAST_SCALE * metres < scales[index] < MOST_SCALE and far < FARTHEST_PLACE):
            raise FormatError(path, "is scaled or moved out of all measure", place)
    if not np.isfinite(rotations).all():
        raise FormatError(path, "a rotation is no number")
    pose = NodePose(rotations, places, rest, np.array([scales[i] for i in used]))
    return pose, still, stretched


def _driven(model: SceneModel, index: int, curves: Curves, times: np.ndarray) -> dict[str, Array]:
    """Return the properties (n_frames, 3) that curves drive."""
    found = {}
    for name, usual in (("Lcl Translation", 0.0), ("Lcl Rotation", 0.0), ("Lcl Scaling", 1.0)):
        parts = curves.get((index, name))
        if parts is not None:
            fixed = model.vector(name, usual)
            columns = [
                np.full(len(times), value) if curve is None else curve.at(times)
                for curve, value in zip(parts, fixed, strict=True)
            ]
            found[name] = np.stack(columns, axis=-1)
    return found


def _stance(
    scene: SceneInFile,
    tree: NodeTree,
    chosen: list[int],
    still: dict[int, LocalPose],
    turn: Array,
) -> Array:
    """Return local rotations (n_bodies, 4) in which bodies were bound; of those that were not, as
    their nodes stand undriven. Roots: to our world."""
    bound, worlds = scene.bound(), {-1: quat.identity()}
    for index in tree.with_ancestors(chosen):
        stands = quat.multiply(worlds[tree.parents[index]], still[index].rotation)
        worlds[index] = bound.get(index, stands)
    members = set(chosen)
    found = []
    for index in chosen:
        parent = tree.parents[index]
        above = worlds[parent] if parent in members else quat.inverse(turn)
        found.append(quat.between(above, worlds[index]))
    return np.stack(found)
