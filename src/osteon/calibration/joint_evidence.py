"""Joints of a subject of which nothing is known: placed and named as ``articulation`` finds them.

What motion says about the joint of two bodies with frames of their own is found there, from all
frames. The fit of the whole subject looks at some of the same frames: it may not count them again,
so it holds such joints where they are, and finds the others. Afterwards those that are hinges get
their name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from osteon.articulation import FinishedJoint, GroupJoint, joints_of_groups
from osteon.calibration.guess import Guess, Held
from osteon.calibration.priors import Beliefs
from osteon.calibration.subject_model import SubjectModel
from osteon.calibration.tree_from_markers import INDEPENDENT_FRAMES
from osteon.maths import fit_rigid, quat
from osteon.typing import Array
from osteon.values import Body, Recording, Skeleton

FINEST_DEVIATION = 1e-4
"""Metres: no marker's place is held to be known better. Chosen: far below what skin leaves."""
HELD_DEVIATION = 1e-6
"""Metres. How firmly the fit of some frames holds to what all of them have told: chosen, far below
what markers of any noise say together, and far above rounding."""


ACROSS_RATIO = 0.2
"""Ratio to a bone's length of how far its ends are from one plane across an axis. Chosen: 11°,
twice what knees and elbows are bent sideways."""
OPEN_RATIO = 0.3
"""Ratio of a joint's middle deviation to its widest below which motion tells all but where on its
axis it lies. Chosen."""


def hold_joints(guess: Guess, recording: Recording) -> Guess:
    """Move joints between bodies of three markers or more to where articulation has them, and hold
    them and their bodies' markers there; ``Guess.held`` says how well they are known."""
    rig = guess.rig
    groups = [np.flatnonzero(rig.marker_bodies == body) for body in range(rig.n_bodies)]
    names = [[rig.marker_names[marker] for marker in group] for group in groups]
    pairs = list(zip(rig.parents[1:], range(1, rig.n_bodies), strict=True))
    joints = joints_of_groups(recording, names, pairs)
    known = {body: joint for (_, body), joint in zip(pairs, joints, strict=True) if joint}
    if not known:
        return guess
    known = with_bones_across(known, rig.parents)
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
    held = Held(
        {body: _seen_from_parent(found, turns[rig.parents[body]]) for body, found in known.items()},
        np.maximum(noise / np.sqrt(INDEPENDENT_FRAMES), FINEST_DEVIATION)[rig.marker_bodies],
    )
    loose = replace(guess.beliefs, target=guess.beliefs.matrix @ rig.shared)
    beliefs = _joined(loose, _hold(rig, held))
    return replace(guess, rig=rig, beliefs=beliefs, tips=tips, held=held)


def with_bones_across(
    known: Mapping[int, GroupJoint], parents: Sequence[int]
) -> dict[int, GroupJoint]:
    """Joints (child → joint) of which motion tells all but where on their axis they lie, put there
    as bones mostly are.

    Bones run across the axes that they turn about. So where two bones of two joints each meet, the
    other joint of either tells where on the axis this one lies.
    """
    found = dict(known)
    for body, group in known.items():
        rows = []
        for half, end in enumerate((body, parents[body])):
            others = [b for b, above in enumerate(parents) if above >= 0 and end in (b, above)]
            others.remove(body)
            if len(others) == 1 and others[0] in known:
                rows.append((half, *_across(group, half, known[others[0]], int(others[0] != end))))
        if len(rows) == 2 and _open_along_axis(group.joint):
            found[body] = group._replace(joint=_told_along(group.joint, rows))
    return found


def _open_along_axis(joint: FinishedJoint) -> bool:
    deviations = np.sqrt(np.linalg.eigvalsh(joint.covariance[3:, 3:]))
    return bool(deviations[1] < OPEN_RATIO * deviations[2])


def _across(group: GroupJoint, half: int, other: GroupJoint, far: int) -> tuple[float, float]:
    """Where on the axis the bone's other joint lies, and its variance; the bone is this ``half`` of
    its joint, child first, and ``far`` of the other's."""
    own = slice(3 * half, 3 * half + 3)
    there = slice(3 * far, 3 * far + 3)
    axis, at = group.joint.axes[half], other.joint.centres[there]
    length = float(np.linalg.norm(at - group.joint.centres[own]))
    unsure = float(axis @ other.joint.covariance[there, there] @ axis)
    return float(axis @ at), (ACROSS_RATIO * length) ** 2 + unsure


def _told_along(joint: FinishedJoint, rows: Sequence[tuple[int, float, float]]) -> FinishedJoint:
    """A joint whose halves lie there on their axes, each row give or take its variance."""
    matrix = np.zeros((len(rows), 6))
    for row, (half, _, _) in zip(matrix, rows, strict=True):
        row[3 * half : 3 * half + 3] = joint.axes[half]
    target, variance = np.array([row[1:] for row in rows]).T
    spread = joint.covariance @ matrix.T
    gain = np.linalg.solve(matrix @ spread + np.diag(variance), spread.T).T
    centres = joint.centres + gain @ (target - matrix @ joint.centres)
    return replace(joint, centres=centres, covariance=joint.covariance - gain @ spread.T)


def _seen_from_parent(found: GroupJoint, turn: Array) -> Array:
    """(3, 3) covariance of a joint in the rig's frame of its parent, to which that of the parent's
    markers is turned."""
    to_rig = quat.to_matrix(turn)
    return to_rig @ found.joint.covariance[3:, 3:] @ to_rig.T


def _hold(rig: SubjectModel, held: Held) -> Beliefs:
    """Markers of a body, and the joints that are known on it, keep their places among each other.

    A body whose own joint is not known may shift against its origin, which is that joint.
    """
    blocks = []
    for marker in np.flatnonzero(np.isfinite(held.markers)).tolist():
        body = int(rig.marker_bodies[marker])
        block = np.zeros((3, rig.n_shared))
        block[:, rig.marker_columns(marker)] = np.eye(3)
        blocks.append(block if body in held.joints else block + _minus_mean(rig, body))
    for body in held.joints:
        block = _minus_mean(rig, rig.parents[body])
        block[:, rig.joint_columns(body)] = np.eye(3)
        blocks.append(block)
    rows = np.concatenate(blocks)
    return Beliefs(rows, rows @ rig.shared, np.full(len(rows), HELD_DEVIATION))


def _minus_mean(rig: SubjectModel, body: int) -> Array:
    """(3, n_shared) takes away the mean of a body's markers."""
    own = np.flatnonzero(rig.marker_bodies == body)
    block = np.zeros((3, rig.n_shared))
    for marker in own.tolist():
        block[:, rig.marker_columns(marker)] = -np.eye(3) / len(own)
    return block


def _joined(one: Beliefs, other: Beliefs) -> Beliefs:
    return Beliefs(
        np.concatenate([one.matrix, other.matrix]),
        np.concatenate([one.target, other.target]),
        np.concatenate([one.sigma, other.sigma]),
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
