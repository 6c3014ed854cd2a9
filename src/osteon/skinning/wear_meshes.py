"""Meshes that fit any body: given once in limb frames, or as one skin, put on every rig. [002] §5.

A limb's mesh is told in its frame, x right, y front and z up the limb, from the limb's middle, and
in lengths of the limb: z runs from −½ to ½. So the same mesh fits other takes and other people.

A skin with bones of its own goes through the frames both skeletons have: the rig is posed as the
skin's own skeleton stood, limb frame by limb frame. Then nothing has to be turned: each limb's part
of the skin is stretched along the limb to the other's length, across it by how much larger the
other body is, and laid joint on joint. A bare mesh is laid over the rig's bones, its weights by
distance.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from osteon.anatomy import Normalised, bone_lengths, limb_reaches, normalise
from osteon.errors import NotEnoughData, UnknownName
from osteon.formats import (
    Skinned,
    Triangles,
    read_glb_mesh,
    read_obj,
    to_z_up,
    turn_points,
    write_skinned,
)
from osteon.human import chain_between, find_parts
from osteon.maths import Nearest, forward_kinematics, quat
from osteon.skinning.body_skin import body_extent, find_carriers
from osteon.skinning.flesh import FleshPose, pose_of
from osteon.typing import Array
from osteon.values import CARRIERS, Motion, Skeleton, SkinnedMesh

FEWEST_BODIES = 4
"""Count of bodies that both skeletons must have; chosen: fewer match by chance."""
WIDE_SHARE = 0.3
"""Share of their largest distance by which joints of one body must lie apart along an axis to tell
a stretch along it; chosen: of small ones the ratio says nothing."""
MOST_STRETCH = 2.0
"""Ratio by which a limb is stretched or shrunk at most, beyond the whole body's; chosen: more is a
joint that means another place."""
LIFT_ANGLES = np.radians([5.0, 25.0, 45.0, 65.0, 90.0])
"""Radians (5° to 90°) from hanging of the arms that are tried; chosen: meshes stand in a T, an A,
or at attention."""
PLACE_SHARE = 0.05
"""Share of the rig's height up to which a mesh of its size and place counts as made for it and
stays there; chosen: what was made for the rig needs no laying over."""
FACES = np.array([0.0, -1.0, 0.0])
"""Where a mesh looks: to the front of glTF and OBJ, z, with y turned up."""


def read_mesh(path: Path, up: str = "y") -> Triangles | Skinned:
    """Return a mesh as GLB or OBJ, with its skin where it has one.

    Parameters
    ----------
    up
        Axis that points up in an OBJ file; glTF says so itself.
    """
    if path.suffix.lower() in (".glb", ".gltf"):
        return read_glb_mesh(path)
    mesh = read_obj(path)
    return Triangles(turn_points(mesh.vertices, to_z_up(up)), mesh.faces)


def read_meshes(folder: Path) -> dict[str, Triangles]:
    """Return body name → mesh of every ``<body>.obj`` and ``<body>.glb`` in a folder."""
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in (".obj", ".glb"))
    meshes = {}
    for path in paths:
        mesh = read_mesh(path, up="z")
        if isinstance(mesh, Skinned):
            mesh = Triangles(mesh.mesh.vertices, mesh.mesh.triangles)
        meshes[path.stem] = mesh
    if not meshes:
        raise NotEnoughData(
            f"{folder.name} holds no mesh; name them after bodies, as left_thigh.obj"
        )
    return meshes


def dress_limbs(found: Normalised, meshes: Mapping[str, Triangles]) -> SkinnedMesh:
    """Return the meshes on the rig told in limb frames, in its rest pose; every face is flat."""
    rig = found.rig().skeleton
    sizes = limb_sizes(found.skeleton)
    rest = quat.identity((len(rig.bodies),))
    _, joints = forward_kinematics(rest, rig.offsets, rig.parents)
    corners = []
    for name, mesh in meshes.items():
        if name not in rig.names:
            raise UnknownName("body for the mesh", name, rig.names)
        index = rig.index(name)
        # a node sits at the joint, a limb frame in the middle
        middle = joints[index] - rig.joints_in_bodies[index]
        placed = middle + sizes[index] * mesh.vertices
        corners.append((index, placed[mesh.faces].reshape(-1, 3)))
    return SkinnedMesh.of_triangles(corners, rest, joints)


def limb_sizes(skeleton: Skeleton) -> np.ndarray:
    """Return (n_bodies,) length of every limb, metres.

    Of one without a far end, the bone that leads to it; of the root, the way between its joints.
    """
    lengths = bone_lengths(skeleton)
    sizes = np.linalg.norm(limb_reaches(skeleton), axis=-1)
    on_root = list(skeleton.children_of(0))
    sizes[0] = 2.0 * lengths[on_root].mean() if on_root else 1.0
    return np.where(sizes > 1e-6, sizes, np.maximum(lengths, 1e-3))


def write_dressed(found: Normalised, path: Path, meshes: Path, up: str = "y") -> None:
    """Write a skinned GLB that wears a folder's meshes, limb by limb, or one skin over the whole
    body.

    Parameters
    ----------
    meshes
        Folder of meshes told in limb frames, or one file.
    up
        Axis that points up in one skin given as OBJ.
    """
    if meshes.is_dir():
        write_skinned(path, found.rig(), dress_limbs(found, read_meshes(meshes)))
        return
    mesh = read_mesh(meshes, up)
    skin = bind_mesh(mesh, found) if isinstance(mesh, Triangles) else fit_skin(mesh, found)
    write_skinned(path, found.given, skin)


class _Worn(NamedTuple):
    """The other skeleton in the pose of the skin."""

    rotations: Array
    joints: Array


def fit_skin(skin: Skinned, found: Normalised) -> SkinnedMesh:
    """Return the skin on the given motion's skeleton."""
    own = _at_rest(skin)
    partners = match_bodies(own.skeleton, found.skeleton)
    ratio = _ratio(own.skeleton, found.skeleton, partners)
    worn = _pose_alike(skin, own, found, partners, ratio)
    stretches, froms, tos = _stretches(skin, own, found, worn, partners, ratio)
    mesh, carriers = skin.mesh, _carrier_of(own.skeleton.parents, partners)
    vertices = np.zeros_like(mesh.vertices)
    for column in range(CARRIERS):
        on = carriers[mesh.bodies[:, column]]
        stretched = np.einsum("vij,vj->vi", stretches[on], mesh.vertices - froms[on])
        vertices += mesh.weights[:, column, None] * (tos[on] + stretched)
    bodies, weights = _merge(partners[carriers[mesh.bodies]], mesh.weights)
    return SkinnedMesh(vertices, mesh.triangles, bodies, weights, *worn)


def match_bodies(own: Skeleton, other: Skeleton) -> np.ndarray:
    """Return (n_own,) the other's body for each of a skin's own, −1 for none: the same human part,
    the same height in the trunk, or the same name."""
    partners = np.full(len(own.bodies), -1)
    parts, others = find_parts(own), find_parts(other)
    for part in (parts.keys() & others.keys()) - {"chest"}:
        partners[own.index(parts[part])] = other.index(others[part])
    _match_trunks(partners, _trunk(own, parts), _trunk(other, others))
    plain = {name.lower(): index for index, name in enumerate(other.names)}
    for index, name in enumerate(own.names):
        found = plain.get(name.lower(), -1)
        if partners[index] < 0 and found not in partners:
            partners[index] = found
    if np.count_nonzero(partners >= 0) < FEWEST_BODIES:
        raise NotEnoughData(
            f"the skin's bodies ({', '.join(own.names[:4])}, …) are not those of the motion "
            f"({', '.join(other.names[:4])}, …); name {FEWEST_BODIES} or more of them alike"
        )
    return partners


def _match_trunks(partners: np.ndarray, mine: dict[int, float], theirs: dict[int, float]) -> None:
    """Match bodies between pelvis and neck by how far up they begin: people cut spines in many
    ways."""
    for body, height in theirs.items():
        free = [one for one in mine if partners[one] < 0]
        if free and body not in partners:
            partners[min(free, key=lambda one: abs(mine[one] - height))] = body


def _trunk(skeleton: Skeleton, parts: dict[str, str]) -> dict[int, float]:
    """Return body → share of the way from pelvis to neck at which its joint lies."""
    top = parts.get("neck", parts.get("head"))
    if top is None or "pelvis" not in parts:
        return {}
    chain = [skeleton.index(name) for name in chain_between(skeleton, parts["pelvis"], top)]
    steps = np.linalg.norm(skeleton.offsets[[*chain[1:], skeleton.index(top)]], axis=-1)
    heights = np.cumsum(steps) / max(float(steps.sum()), 1e-9)
    return dict(zip(chain[1:], heights[:-1].tolist(), strict=True))


def _at_rest(skin: Skinned) -> Normalised:
    """Return frames of the skin's own skeleton, in the pose it was put on in."""
    own = skin.skeleton
    return normalise(Motion(own, own.rest[None], skin.mesh.joints[None, 0], 1.0))


def _ratio(own: Skeleton, other: Skeleton, partners: np.ndarray) -> float:
    """Return how much larger the other body is: the median over bones that both have."""
    mine, theirs = bone_lengths(own), bone_lengths(other)
    parents = np.array(own.parents)
    both = [
        theirs[partner] / mine[body]
        for body, partner in enumerate(partners)
        if partner >= 0 and parents[body] >= 0 and min(mine[body], theirs[partner]) > 1e-6
    ]
    return float(np.median(both)) if both else 1.0


def _carrier_of(parents: Sequence[int], partners: np.ndarray) -> np.ndarray:
    """Return (n_own,) for each body the nearest above it, or itself, that has a partner."""
    first = int(np.flatnonzero(partners >= 0)[0])
    carriers = np.full(len(parents), first)
    for body, parent in enumerate(parents):
        if partners[body] >= 0:
            carriers[body] = body
        elif parent >= 0:
            carriers[body] = carriers[parent]
    return carriers


def _comparable(own: Skeleton, other: Skeleton, partners: np.ndarray) -> np.ndarray:
    """Return (n_own,) whether both know where the limb ends: only then their frames mean the
    same."""
    mine = np.linalg.norm(limb_reaches(own), axis=-1) > 1e-6
    theirs = np.linalg.norm(limb_reaches(other), axis=-1) > 1e-6
    return (partners >= 0) & (mine == theirs[partners])


def _pose_alike(
    skin: Skinned, own: Normalised, found: Normalised, partners: np.ndarray, ratio: float
) -> _Worn:
    """Return the other skeleton with its limbs turned as the skin's own; what the skin does not
    know stays to its parent as in the default pose."""
    other = found.skeleton
    known = {
        int(partners[b]): b for b in np.flatnonzero(_comparable(own.skeleton, other, partners))
    }
    default = found.given.rotations[found.default_frame]
    local, world = default.copy(), default.copy()
    for body, parent in enumerate(other.parents):
        above = world[parent] if parent >= 0 else quat.identity()
        if body in known:
            limb = own.skeleton.bodies[known[body]].frame
            frame = other.bodies[body].frame
            assert limb is not None and frame is not None
            turned = quat.multiply(skin.mesh.rotations[known[body]], limb.rotation)
            local[body] = quat.between(above, quat.multiply(turned, quat.inverse(frame.rotation)))
        world[body] = quat.multiply(above, local[body])
    places = np.array(other.offsets)
    places[0] = ratio * skin.mesh.joints[0]
    return _Worn(*forward_kinematics(local, places, other.parents))


def _stretches(
    skin: Skinned,
    own: Normalised,
    found: Normalised,
    worn: _Worn,
    partners: np.ndarray,
    ratio: float,
) -> tuple[Array, Array, Array]:
    """Return by how much (n_own, 3, 3) each limb's part of the skin is stretched, about which of
    its places (n_own, 3), and where that comes to lie (n_own, 3).

    Along the limb and from side to side the joints of both tell; from front to back, and where
    there are no two joints, it is the whole body's ratio.
    """
    stretches = np.tile(ratio * np.eye(3), (len(partners), 1, 1))
    froms, tos = skin.mesh.joints.copy(), worn.joints[partners]
    for body in np.flatnonzero(partners >= 0).tolist():
        frame = own.skeleton.bodies[body].frame
        assert frame is not None
        axes = quat.to_matrix(quat.multiply(skin.mesh.rotations[body], frame.rotation))
        mine, theirs = _landmarks(skin, own, found, worn, partners, body)
        if len(mine) < 2:
            continue
        froms[body], tos[body] = mine.mean(axis=0), theirs.mean(axis=0)
        spans = np.ptp(mine @ axes, axis=0), np.ptp(theirs @ axes, axis=0)
        tells = (spans[0] > WIDE_SHARE * spans[0].max()) & [True, False, True]
        factors = np.where(tells, spans[1] / np.where(tells, spans[0], 1.0), ratio)
        stretches[body] = (
            axes * np.clip(factors, ratio / MOST_STRETCH, ratio * MOST_STRETCH)
        ) @ axes.T
    return stretches, froms, tos


def _landmarks(
    skin: Skinned, own: Normalised, found: Normalised, worn: _Worn, partners: np.ndarray, body: int
) -> tuple[Array, Array]:
    """Return places (n, 3) that a body has on both skeletons: its joint, the next below it, its
    tip.

    A root's own origin may lie anywhere and does not count.
    """
    parents, partner = own.skeleton.parents, partners[body]
    carriers = _carrier_of(parents, partners)
    on = [
        below
        for below, parent in enumerate(parents)
        if parent >= 0 and partners[below] >= 0 and carriers[parent] == body
    ]
    if parents[body] >= 0 and found.skeleton.parents[partner] >= 0:
        on.append(body)
    mine, theirs = [skin.mesh.joints[b] for b in on], [worn.joints[partners[b]] for b in on]
    tip = own.skeleton.bodies[body].tip_from_joint
    their_tip = found.skeleton.bodies[partner].tip_from_joint
    if tip is not None and their_tip is not None:
        mine.append(skin.mesh.joints[body] + quat.rotate(skin.mesh.rotations[body], tip))
        theirs.append(worn.joints[partner] + quat.rotate(worn.rotations[partner], their_tip))
    return np.array(mine), np.array(theirs)


def _merge(bodies: np.ndarray, weights: Array) -> tuple[np.ndarray, Array]:
    """Return every body once per vertex: where two of the skin's own became one, their weights add
    up."""
    bodies, weights = bodies.copy(), weights.copy()
    for later in range(1, CARRIERS):
        for earlier in range(later):
            same = (bodies[:, earlier] == bodies[:, later]) & (weights[:, later] > 0.0)
            weights[same, earlier] += weights[same, later]
            weights[same, later] = 0.0
    return np.where(weights > 0.0, bodies, 0), weights


def bind_mesh(mesh: Triangles, found: Normalised) -> SkinnedMesh:
    """Return the mesh on the given motion's skeleton.

    The mesh is z up, of any size; it stands as the rig's rest pose does, as somebody in the take's
    default pose, or with its arms at another height.
    """
    poses = _poses(found)
    laid = [_lay_over(mesh.vertices, pose) for pose in poses]
    misses = [_miss(vertices, pose) for vertices, pose in zip(laid, poses, strict=True)]
    best = int(np.argmin(misses))
    pose, vertices = poses[best], laid[best]
    bodies, weights = find_carriers(pose, vertices, mesh.faces)
    return SkinnedMesh(vertices, mesh.faces, bodies, weights, pose.rotations, pose.joints)


def _poses(found: Normalised) -> list[FleshPose]:
    """Return the rest pose, the default pose, and the first with the arms at several heights."""
    skeleton = found.skeleton
    rest = skeleton.rest
    default = found.given.rotations[found.default_frame].copy()
    default[0] = rest[0]
    first = pose_of(skeleton, rest)
    lifted = [pose_of(skeleton, _lift_arms(first, rest, angle)) for angle in LIFT_ANGLES]
    return [first, pose_of(skeleton, default), *lifted]


def _lift_arms(pose: FleshPose, rotations: Array, angle: float) -> Array:
    """Return local rotations with both upper arms ``angle`` radians from hanging, sideways."""
    lifted = rotations.copy()
    to_left = np.cross([0.0, 0.0, 1.0], pose.front)
    for side, out in (("left", to_left), ("right", -to_left)):
        ends = [pose.parts.get(f"{side}_{part}") for part in ("upper_arm", "forearm")]
        if None in ends:
            continue
        arm, elbow = (int(end) for end in ends)  # type: ignore[arg-type]
        goal = np.sin(angle) * out - np.cos(angle) * np.array([0.0, 0.0, 1.0])
        turn = quat.shortest(pose.joints[elbow] - pose.joints[arm], goal)
        above = pose.rotations[pose.skeleton.parents[arm]]
        lifted[arm] = quat.between(above, quat.multiply(turn, pose.rotations[arm]))
    return lifted


def _lay_over(vertices: Array, pose: FleshPose) -> Array:
    """Return the mesh as tall as the rig, turned to its front and over its middle."""
    low, high = body_extent(pose)
    least, most = vertices.min(axis=0), vertices.max(axis=0)
    if most[2] - least[2] <= 0.0:
        raise NotEnoughData("the mesh is flat; a skin must stand upright")
    scale = (high - low)[2] / (most - least)[2]
    apart = np.abs(0.5 * (low + high - least - most)).max()
    if abs(scale - 1.0) < PLACE_SHARE and apart < PLACE_SHARE * (high - low)[2]:
        return vertices
    heading = np.arctan2(pose.front[1], pose.front[0]) - np.arctan2(FACES[1], FACES[0])
    turned = quat.rotate(quat.exp(np.array([0.0, 0.0, heading])), scale * vertices)
    middle = 0.5 * (turned.min(axis=0) + turned.max(axis=0))
    return turned - middle + 0.5 * (low + high)


def _miss(vertices: Array, pose: FleshPose) -> float:
    """Return the mean distance of bones from the mesh, and of the mesh from bones: large where a
    limb of the one is where the other has none."""
    points = []
    for body, parent in enumerate(pose.skeleton.parents):
        if parent >= 0:
            share = np.linspace(0.1, 1.0, 8)[:, None]
            points.append((1.0 - share) * pose.joints[parent] + share * pose.joints[body])
        tip = pose.tip(body)
        if tip is not None:
            points.append(tip[None])
    bones = np.concatenate(points)
    to_mesh, to_bones = Nearest(vertices).distances(bones), Nearest(bones).distances(vertices)
    return float(to_mesh.mean() + to_bones.mean())
