"""The same motion told in the limbs' own frames."""

from dataclasses import replace

import numpy as np

from osteon.errors import NotEnoughData
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Body, Frame, Limits, Motion, Movement, Skeleton


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
        _body(body, turns[i], origins[i], of_parent[i], parent_origins[i])
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


def _body(body: Body, turn: Array, origin: Array, of_parent: Array, parent_origin: Array) -> Body:
    to_limb, to_parent = quat.inverse(turn), quat.inverse(of_parent)
    joint = replace(
        body.joint,
        in_parent=quat.rotate(to_parent, body.joint.in_parent - parent_origin),
        in_body=quat.rotate(to_limb, body.joint.in_body - origin),
        axes=quat.rotate(to_parent, body.joint.axes),
        covariance=_turned(body.joint.covariance, of_parent),
        rest=quat.multiply(quat.multiply(to_parent, body.joint.rest), turn),
        limits=_limits(body.joint.limits, to_limb, to_parent, turn),
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
        movement=_movement(body.movement, to_limb, to_parent, turn),
    )


def _limits(limits: Limits | None, to_limb: Array, to_parent: Array, turn: Array) -> Limits | None:
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


def _movement(
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
