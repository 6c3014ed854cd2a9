"""Joints of a subject of which nothing is known: placed and named as ``articulation`` finds them.

What motion says about the joint of two bodies is found there, from all frames. Here it becomes
where the fit of the whole subject starts, and evidence that this fit weighs; and afterwards the
name of those joints that are hinges.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.articulation import GroupJoint, joints_of_groups
from osteon.calibration.guess import Guess
from osteon.calibration.priors import BeliefRows, Beliefs
from osteon.calibration.subject_model import SubjectModel
from osteon.calibration.tree_from_markers import INDEPENDENT_FRAMES
from osteon.maths import fit_rigid, quat
from osteon.typing import Array
from osteon.values import Body, Recording, Skeleton

FINEST_DEVIATION = 1e-4
"""Metres: no joint and no marker is held to be known better. Chosen: far below what skin leaves,
and so far above rounding that the fit stays well posed."""


def with_joint_evidence(guess: Guess, recording: Recording) -> Guess:
    """Move joints between bodies of three markers or more to where articulation has them.

    How well each is known there is told to the fit, in all directions.
    """
    rig = guess.rig
    groups = [np.flatnonzero(rig.marker_bodies == body) for body in range(rig.n_bodies)]
    names = [[rig.marker_names[marker] for marker in group] for group in groups]
    pairs = list(zip(rig.parents[1:], range(1, rig.n_bodies), strict=True))
    joints = joints_of_groups(recording, names, pairs)
    known = {body: joint for (_, body), joint in zip(pairs, joints, strict=True) if joint}
    offsets, places = rig.offsets.copy(), rig.places.copy()
    shifts, noise = np.zeros((rig.n_bodies, 3)), np.full(rig.n_bodies, np.nan)
    turns: dict[int, Array] = {}
    for body, found in known.items():
        ends = zip((rig.parents[body], body), (found.parent, found.child), found.noise, strict=True)
        for one, shape, noise[one] in ends:
            laid = fit_rigid(shape, rig.places[None, groups[one]])
            turns[one], start = laid.rotations[0], laid.positions[0]
            places[groups[one]] = start + quat.rotate(turns[one], shape)
            half = found.joint.centres[:3] if one == body else found.joint.centres[3:]
            (shifts if one == body else offsets)[body] = start + quat.rotate(turns[one], half)
    # every body's origin is its joint
    places -= shifts[rig.marker_bodies]
    offsets[1:] -= shifts[list(rig.parents[1:])]
    rig = replace(rig, offsets=offsets, places=places)
    tips = {name: tip - shifts[rig.names.index(name)] for name, tip in guess.tips.items()}
    beliefs = [replace(guess.beliefs, target=guess.beliefs.matrix @ rig.shared)]
    beliefs += [_joint_rows(rig, body, groups, found, turns) for body, found in known.items()]
    if known:
        beliefs.append(_marker_rows(rig, noise))
    return replace(guess, rig=rig, beliefs=_joined(beliefs), tips=tips)


def _joint_rows(
    rig: SubjectModel,
    body: int,
    groups: Sequence[np.ndarray],
    found: GroupJoint,
    turns: dict[int, Array],
) -> Beliefs:
    """Both places of a joint, each seen from the mean of its body's markers, in units of what is
    known of them."""
    parent, rows, to_rig = rig.parents[body], np.zeros((6, rig.n_shared)), np.zeros((6, 6))
    rows[3:, rig.joint_columns(body)] = np.eye(3)
    for half, one in ((slice(0, 3), body), (slice(3, 6), parent)):
        to_rig[half, half] = quat.to_matrix(turns[one])
        for marker in groups[one].tolist():
            rows[half, rig.marker_columns(marker)] -= np.eye(3) / len(groups[one])
    covariance = to_rig @ found.joint.covariance @ to_rig.T + FINEST_DEVIATION**2 * np.eye(6)
    rows = np.linalg.solve(np.linalg.cholesky(covariance), rows)
    return Beliefs(rows, rows @ rig.shared, np.ones(6))


def _marker_rows(rig: SubjectModel, noise: Array) -> Beliefs:
    """The shapes of bodies as all frames show them; ``noise`` (n_bodies,) is of one frame."""
    rows = BeliefRows(rig)
    for marker, body in enumerate(rig.marker_bodies):
        if np.isfinite(noise[body]):
            sigma = max(noise[body] / np.sqrt(INDEPENDENT_FRAMES), FINEST_DEVIATION)
            rows.marker_at(marker, rig.places[marker], float(sigma))
    return rows.beliefs()


def _joined(parts: Sequence[Beliefs]) -> Beliefs:
    return Beliefs(
        np.concatenate([part.matrix for part in parts]),
        np.concatenate([part.target for part in parts]),
        np.concatenate([part.sigma for part in parts]),
    )


def with_hinges(skeleton: Skeleton, recording: Recording) -> Skeleton:
    """Name those joints hinges about whose axis alone both bodies turn, to within their noise."""
    bodies = list(skeleton.bodies)
    worn = [[m for m in body.markers if m.name in recording.names] for body in bodies]
    groups = [[marker.name for marker in markers] for markers in worn]
    pairs = [(skeleton.index(body.parent), k) for k, body in enumerate(bodies) if body.parent]
    joints = joints_of_groups(recording, groups, pairs)
    for (parent, child), found in zip(pairs, joints, strict=True):
        if found is not None and found.joint.one_axis:
            shapes = ((worn[child], found.child), (worn[parent], found.parent))
            turns = [
                fit_rigid(shape, np.array([marker.position for marker in markers])[None])
                for markers, shape in shapes
            ]
            axes = [
                quat.rotate(turn.rotations[0], axis)
                for turn, axis in zip(turns, found.joint.axes, strict=True)
            ]
            bodies[child] = _as_hinge(bodies[child], *axes)
    return replace(skeleton, bodies=tuple(bodies))


def _as_hinge(body: Body, in_body: Array, in_parent: Array) -> Body:
    """A body that turns about one axis, unit, told in its own frame and in its parent's."""
    rest = quat.shortest(in_body, in_parent)
    joint = replace(body.joint, kind="hinge", axes=in_parent[None], rest=rest)
    return replace(body, joint=joint)
