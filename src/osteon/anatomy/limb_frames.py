"""Frames of body and limbs that do not depend on how a recording was set up. [002] §3.

The frontal plane is the best one through the joints in the default pose; front and up follow, and
every limb takes its frame from them and from its own direction. The joints are at the
median of all poses about as good as the default pose, seen from the root: arms that swing in turn
cancel, and one sway does not turn the body.

Joints that the motion leaves open are laid where limbs are straight. A knee that only bends may lie
anywhere along its axis as far as the bodies' motion tells, and skin moves the answer by
centimetres; the joint's covariance says so. From the front, hip, knee and ankle are nearly in line:
that decides what the motion does not.
"""

from dataclasses import dataclass, replace

import numpy as np

from osteon.anatomy.default_pose import (
    ENOUGH_POSES,
    UP,
    FrontEvidence,
    PoseCosts,
    RestPoses,
    body_axes,
    decide_front,
    frontal_normal,
    looked_at,
    pose_costs,
)
from osteon.errors import NotEnoughData
from osteon.maths import chain, quat
from osteon.threads import one_thread
from osteon.typing import Array
from osteon.values import Body, Frame, GlidePath, Limits, Motion, Movement, Skeleton

CROOKED_SHARE = 0.03
"""Share of the line from the joint above to the one below by which joints lie beside it; chosen:
legs are nearly straight from the front (docs/guide/axes.md)."""
STRAIGHT_SHARE = 0.85
"""Share of its bones that a limb measures from end to end, below which it has a corner; chosen:
shoulders have, bent knees have not."""
OPEN_RATIO = 1.3
"""Ratio of standard deviations from which a joint is open in its worst direction; chosen: a ball
joint's are nearly alike."""
UNSURE_SHARE = 0.3
"""Share of full confidence in the front below which a warning is given; chosen: the witnesses then
disagree or hardly speak."""
STEP_COUNT = 12
"""Count of steps of Weiszfeld's iteration towards a median; chosen: enough for a thousandth of the
spread."""
STEEP_COSINE = np.cos(np.pi / 4)
"""Cosine of 45°; a limb nearer to a direction goes along it. Derived: there both references give
the same frame (docs/guide/axes.md)."""


def is_open(body: Body) -> bool:
    """Return whether the place of a body's joint is known much worse along one line."""
    covariance = body.joint.covariance
    if covariance is None or body.parent is None or not np.isfinite(covariance).all():
        return False
    spread = np.linalg.eigvalsh(covariance)
    return bool(spread[2] > OPEN_RATIO**2 * max(spread[1], 0.0))


def straighten(skeleton: Skeleton, poses: RestPoses, reaches: Array) -> Skeleton:
    """Return the skeleton with its open joints moved along their line, as far as they are
    uncertain.

    Parameters
    ----------
    reaches : (n_bodies, 3)
        From each body's joint to its far end, in the body's frame.
    """
    bodies = list(skeleton.bodies)
    for index, body in enumerate(skeleton.bodies):
        parent = skeleton.parents[index]
        has_ends = np.linalg.norm(reaches[index]) > 1e-6 and skeleton.parents[max(parent, 0)] >= 0
        if not is_open(body) or not has_ends:
            continue
        shift = _shift(body, parent, index, poses, reaches[index])
        turn = quat.between(poses.rotations[:, index], poses.rotations[:, parent])
        moved = np.median(quat.rotate(turn, shift), axis=0)
        joint = replace(
            body.joint, in_parent=body.joint.in_parent + shift, in_body=body.joint.in_body + moved
        )
        bodies[index] = replace(body, joint=joint)
    return replace(skeleton, bodies=tuple(bodies))


def _shift(body: Body, parent: int, index: int, poses: RestPoses, reach: Array) -> Array:
    """Return (3,) by which the joint moves in its parent's frame; 0 where the limb has a corner
    there."""
    values, vectors = np.linalg.eigh(body.joint.covariance)  # type: ignore[arg-type]
    line, spread = vectors[:, 2], values[2]
    above, joint = poses.joints[:, parent], poses.joints[:, index]
    below = joint + quat.rotate(poses.rotations[:, index], reach)
    way, first = below - above, joint - above
    length2 = np.sum(way**2, axis=-1)
    beside = first - (np.sum(first * way, axis=-1) / length2)[:, None] * way
    beside = np.sum(beside * quat.rotate(poses.rotations[:, parent], line), axis=-1)
    lengths = np.linalg.norm(first, axis=-1) + np.linalg.norm(below - joint, axis=-1)
    if np.median(np.sqrt(length2) / lengths) < STRAIGHT_SHARE:
        return np.zeros(3)
    trust = spread / (spread + CROOKED_SHARE**2 * float(np.median(length2)))
    return -trust * float(np.median(beside)) * line


@dataclass(frozen=True, eq=False)
class Normalised:
    """A motion whose limbs have frames of their own, and how these were found."""

    given: Motion
    """As it was given."""
    skeleton: Skeleton
    """Its skeleton; every body carries ``frame``."""
    default_frame: int
    """The frame that shows the default pose best."""
    costs: PoseCosts
    front: FrontEvidence
    voters: int
    """How many poses had a say in the frames."""
    disagreement: float
    """Mean angle between single poses' frontal planes and the one taken, radians."""
    directions: Array
    """(n_bodies, 3) unit direction of every limb in its body's frame."""
    body_axes: Array
    """(n_bodies, 3, 3) rows: the body's right, front and up in the default pose, seen from each
    body's frame."""
    warnings: tuple[str, ...] = ()

    @property
    def motion(self) -> Motion:
        """The motion as given, on the skeleton whose bodies carry ``frame``."""
        return replace(self.given, skeleton=self.skeleton)

    def rig(self) -> Motion:
        """Return the same motion told in the limbs' own frames."""
        return in_limb_frames(self.given, self.skeleton)


@one_thread()
def normalise(motion: Motion) -> Normalised:
    """Find the default pose, the body's planes, and a frame for every limb.

    Frames are written into the skeleton's bodies; ``rig()`` of the answer is the same motion told
    in them.
    """
    given, motion = motion, _with_open_joints_laid(motion)
    skeleton = motion.skeleton
    poses = world_poses(motion, looked_at(motion))
    costs = pose_costs(poses.frames, poses.joints, skeleton)
    best, voters, say = costs.best, np.flatnonzero(costs.say), costs.say[costs.say > 0.0]
    some = voters[:: -(-len(voters) // ENOUGH_POSES)]
    pose, unrest, up = typical_pose(poses.rotations[some], poses.joints[some])
    guess = frontal_normal(pose, unrest, skeleton)
    front, evidence = decide_front(motion, poses, best, guess)
    body = quat.from_matrix(body_axes(front, up))
    turned = quat.rotate(poses.rotations[voters, 0], quat.rotate(body, np.eye(3)[:, None]))
    seen = _seen_from(poses.rotations[voters], np.moveaxis(turned, 0, -1), say)
    frames, directions = _limb_frames(skeleton, body, poses.rotations[voters], seen, say)
    normals = quat.rotate(quat.inverse(poses.rotations[voters, 0]), costs.normal[voters])
    apart = np.arccos(np.clip(np.abs(normals @ front), 0.0, 1.0))
    bodies = [
        replace(body, frame=frame)
        for body, frame in zip(given.skeleton.bodies, frames, strict=True)
    ]
    return Normalised(
        given=given,
        skeleton=given.skeleton.with_bodies(bodies, "limb frames found"),
        default_frame=int(poses.frames[best]),
        costs=costs,
        front=evidence,
        voters=len(voters),
        disagreement=float(np.average(apart, weights=say)),
        directions=directions,
        body_axes=seen,
        warnings=_warnings(costs, evidence),
    )


def _with_open_joints_laid(motion: Motion) -> Motion:
    """Return the motion on bones by which frames are found."""
    if not any(is_open(body) for body in motion.skeleton.bodies):
        return motion
    poses = world_poses(motion, looked_at(motion))
    laid = straighten(motion.skeleton, poses, limb_reaches(motion.skeleton))
    return replace(motion, skeleton=laid)


def world_poses(motion: Motion, frames: np.ndarray) -> RestPoses:
    """World poses of some frames only."""
    offsets = motion.skeleton.offsets if motion.offsets is None else motion.offsets[frames]
    places = np.array(np.broadcast_to(offsets, (len(frames), *motion.skeleton.offsets.shape)))
    places[:, 0] = motion.root[frames]
    parents = motion.skeleton.parents
    return RestPoses(frames, *chain.forward_kinematics(motion.rotations[frames], places, parents))


def limb_reaches(skeleton: Skeleton) -> Array:
    """Return (n_bodies, 3) from each body's joint to its far end, in the body's frame; 0 where
    none.

    The far end is the middle of the joints that follow, else the tip.
    """
    reaches = np.zeros((len(skeleton.bodies), 3))
    for index, body in enumerate(skeleton.bodies):
        if following := skeleton.children_of(index):
            reaches[index] = skeleton.offsets[list(following)].mean(axis=0)
        elif (tip := body.tip_from_joint) is not None:
            reaches[index] = tip
    return reaches


def typical_pose(rotations: Array, joints: Array) -> tuple[Array, Array, Array]:
    """Joints (n_bodies, 3), their unrest (n_bodies,) and up (3,), seen from the root.

    Middles of poses (n, …): a limb that is lifted once does not shift them.
    """
    to_root = quat.inverse(rotations[:, 0])
    seen = quat.rotate(to_root[:, None], joints - joints[:, :1])
    up = quat.rotate(to_root, UP)
    middle, unrest = spatial_median(seen)
    return middle, unrest, quat.normalise(spatial_median(up)[0])


def spatial_median(points: Array) -> tuple[Array, Array]:
    """Return the place (..., 3) nearest to all points (n, ..., 3), and the median distance (...)
    from it.

    Unlike a median of each coordinate it does not depend on how the frame is turned.
    """
    middle = points.mean(axis=0)
    for _ in range(STEP_COUNT):
        near = 1.0 / np.maximum(np.linalg.norm(points - middle, axis=-1, keepdims=True), 1e-6)
        middle = np.sum(near * points, axis=0) / near.sum(axis=0)
    return middle, np.median(np.linalg.norm(points - middle, axis=-1), axis=0)


def _seen_from(rotations: Array, axes: Array, say: Array) -> Array:
    """Return (n_bodies, 3, 3) mean body axes, as rows, in the frames of bodies (n, n_bodies, 4).

    The mean of turned axes is a little short, and not quite square: only ratios are used of it.
    """
    n_poses, n_bodies = rotations.shape[:2]
    turns = quat.to_matrix(rotations).transpose(1, 3, 0, 2).reshape(3 * n_bodies, 3 * n_poses)
    weighted = (axes * (say / say.sum())[:, None, None]).reshape(3 * n_poses, 3)
    return (turns @ weighted).reshape(n_bodies, 3, 3).transpose(0, 2, 1)


def _limb_frames(
    skeleton: Skeleton, body: Array, rotations: Array, seen: Array, say: Array
) -> tuple[list[Frame], Array]:
    """Frames and directions of all limbs, from poses (n, n_bodies, 4) and body axes in each."""
    reaches = limb_reaches(skeleton)
    down = -quat.to_matrix(body)[:, 2]
    frames, directions = [Frame(np.zeros(3), body)], [down]
    for index in range(1, len(skeleton.bodies)):
        direction = reaches[index]
        if np.linalg.norm(direction) < 1e-6:
            direction = _lead_in(skeleton, index, rotations, seen[index], say)
        direction = quat.normalise(direction)
        rotation = quat.from_matrix(_along(direction, seen[index]))
        frames.append(Frame(skeleton.bodies[index].joint.in_body + reaches[index] / 2, rotation))
        directions.append(direction)
    return frames, np.stack(directions)


def _lead_in(skeleton: Skeleton, index: int, rotations: Array, seen: Array, say: Array) -> Array:
    """Let a limb with no far end go on as the bone that leads to it, in the default pose."""
    parent = skeleton.parents[index]
    offset = skeleton.offsets[index]
    if parent < 0 or np.linalg.norm(offset) < 1e-6:
        return -seen[2]
    return say @ quat.rotate(quat.between(rotations[:, index], rotations[:, parent]), offset)


def _along(direction: Array, seen: Array) -> Array:
    """Axes (columns) of a limb, from its direction and the body's right, front and up (rows).

    z lies along the limb and points up it, to the joint of a limb that hangs or reaches out and to
    the far end of one that stands. y is the front as far as it is across the limb; for a limb that
    goes to the front, as feet do, it is up. One reference and a cross product: always orthonormal.
    """
    _, front, up = seen
    z = direction if direction @ up > STEEP_COSINE * np.linalg.norm(up) else -direction
    ahead = direction @ front
    steep = abs(ahead) > STEEP_COSINE * np.linalg.norm(front)
    reference = np.sign(ahead) * up if steep else front
    y = quat.normalise(reference - z * (reference @ z))
    return np.stack([np.cross(y, z), y, z], axis=-1)


def _warnings(costs: PoseCosts, evidence: FrontEvidence) -> tuple[str, ...]:
    found = []
    if costs.lean[costs.best] >= np.pi / 4:
        found.append("nobody stands upright in this take: the default pose is a guess")
    if evidence.confidence < UNSURE_SHARE:
        found.append(
            f"front and back are told apart with confidence {evidence.confidence:.2f} only: "
            "show feet, bent knees or a few steps"
        )
    return tuple(found)


def in_limb_frames(motion: Motion, skeleton: Skeleton | None = None) -> Motion:
    """Return the motion with every body's frame replaced by its limb frame; nothing moves in the
    world.

    Hinge and cone limits come along; ranges of Euler angles are told in the frames that are gone
    and are left out.

    Parameters
    ----------
    skeleton
        The motion's skeleton with frames, where the motion's own has none.
    """
    skeleton = skeleton or motion.skeleton
    bodies = skeleton.bodies
    if any(body.frame is None for body in bodies):
        raise NotEnoughData("the skeleton has no limb frames; find them with normalise")
    turns = np.stack([body.frame.rotation for body in bodies])  # type: ignore[union-attr]
    origins = np.stack([body.frame.origin for body in bodies])  # type: ignore[union-attr]
    parents = skeleton.parents
    of_parent = np.stack([turns[parent] if parent >= 0 else quat.identity() for parent in parents])
    parent_origins = np.stack([origins[max(parent, 0)] for parent in parents])
    told = [
        _body_in_frame(body, turns[i], origins[i], of_parent[i], parent_origins[i])
        for i, body in enumerate(bodies)
    ]
    offsets = motion.offsets
    if offsets is not None:
        offsets = quat.rotate(quat.inverse(of_parent), offsets)
    return replace(
        motion,
        skeleton=skeleton.with_bodies(told, "told in limb frames", loops=()),
        rotations=_sandwich(quat.inverse(of_parent), motion.rotations, turns),
        offsets=offsets,
        history=(*motion.history, "told in limb frames"),
    )


def _sandwich(before: Array, rotations: Array, after: Array) -> Array:
    """before · q · after for constant (n_bodies, 4): one 4×4 matrix each, so one product each."""
    basis = np.eye(4)[:, None]
    matrices = quat.multiply(quat.multiply(before, basis), after).transpose(1, 0, 2)
    return np.matmul(rotations.transpose(1, 0, 2), matrices).transpose(1, 0, 2)


def _body_in_frame(
    body: Body, turn: Array, origin: Array, of_parent: Array, parent_origin: Array
) -> Body:
    to_limb, to_parent = quat.inverse(turn), quat.inverse(of_parent)
    joint = replace(
        body.joint,
        in_parent=quat.rotate(to_parent, body.joint.in_parent - parent_origin),
        in_body=quat.rotate(to_limb, body.joint.in_body - origin),
        axes=quat.rotate(to_parent, body.joint.axes),
        covariance=_turned(body.joint.covariance, of_parent),
        rest=quat.multiply(quat.multiply(to_parent, body.joint.rest), turn),
        limits=_limits_in_frame(body.joint.limits, to_limb, to_parent, turn),
        glide_path=_glide_in_frame(body.joint.glide_path, to_parent, turn),
    )
    markers = [
        replace(
            marker,
            position=quat.rotate(to_limb, marker.position - origin),
            covariance=_turned(marker.covariance, turn),
        )
        for marker in body.markers
    ]
    return replace(
        body,
        joint=joint,
        markers=tuple(markers),
        tip=None if body.tip is None else quat.rotate(to_limb, body.tip - origin),
        frame=Frame(np.zeros(3), quat.identity()),
        movement=_movement_in_frame(body.movement, to_limb, to_parent, turn),
    )


def _glide_in_frame(path: GlidePath | None, to_parent: Array, turn: Array) -> GlidePath | None:
    if path is None:
        return None
    return replace(
        path,
        axis=quat.rotate(to_parent, path.axis),
        rest=quat.multiply(quat.multiply(to_parent, path.rest), turn),
        places=quat.rotate(to_parent, path.places),
    )


def _limits_in_frame(
    limits: Limits | None, to_limb: Array, to_parent: Array, turn: Array
) -> Limits | None:
    if limits is None or (limits.hinge is None and limits.cone is None):
        return None
    cone = limits.cone
    if cone is not None:
        cone = replace(
            cone,
            centre=quat.multiply(quat.multiply(to_parent, cone.centre), turn),
            axis=quat.rotate(to_limb, cone.axis),
            across=quat.rotate(to_limb, cone.across),
        )
    return Limits(hinge=limits.hinge, cone=cone)


def _movement_in_frame(
    movement: Movement | None, to_limb: Array, to_parent: Array, turn: Array
) -> Movement | None:
    if movement is None:
        return None
    return replace(
        movement,
        axes=quat.rotate(to_parent, movement.axes),
        rest=quat.multiply(quat.multiply(to_parent, movement.rest), turn),
        direction=quat.rotate(to_limb, movement.direction),
    )


def _turned(covariance: Array | None, rotation: Array) -> Array | None:
    if covariance is None:
        return None
    matrix = quat.to_matrix(rotation)
    return matrix.T @ covariance @ matrix
