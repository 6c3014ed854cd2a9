"""What a person says about the rig: which body a marker is on, who hangs on whom, who is root.

Where things are is measured again from the motion as first solved; the poses are then solved anew.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from osteon.articulation import JointStatistics, fit_pairs
from osteon.edits.model import Assign, Edit, Place, SetParent, SetRoot, told
from osteon.errors import BadValue, NotEnoughData, UnknownName
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Bodies, Body, Joint, Marker, Motion, Recording, Skeleton

RigEdit = Assign | Place | SetParent | SetRoot


def edited_rig(recording: Recording, motion: Motion, edits: Sequence[Edit]) -> Skeleton:
    """The motion's skeleton after all edits of the rig, in their order."""
    skeleton = motion.skeleton
    for edit in edits:
        match edit:
            case Assign():
                changed = _assigned(skeleton, edit, recording, motion)
            case Place(character=""):
                changed = _placed(skeleton, edit, recording)
            case SetParent():
                changed = _reparented(skeleton, edit, motion)
            case SetRoot():
                changed = _rerooted(skeleton, edit.body)
            case _:
                continue
        skeleton = changed.with_bodies(changed.bodies, f"by hand: {told(edit)}")
    return skeleton


def _assigned(skeleton: Skeleton, edit: Assign, recording: Recording, motion: Motion) -> Skeleton:
    """The marker on a body, where it was on average."""
    column = recording.index(edit.marker)
    if not edit.body:
        return _without(skeleton, edit.marker)
    skeleton.index(edit.body)  # refuses a body that is not there
    turned, origins = origins_of(motion)
    index = motion.skeleton.index(edit.body)
    seen = np.flatnonzero(recording.measured[:, column])
    if not len(seen):
        raise NotEnoughData(f"marker {edit.marker!r} is never seen, so it has no place on a body")
    arm = recording.positions[seen, column] - origins[seen, index]
    place = np.median(quat.rotate(quat.inverse(turned[seen, index]), arm), axis=0)
    return _carrying(skeleton, edit.body, Marker(edit.marker, place))


def _placed(skeleton: Skeleton, edit: Place, recording: Recording) -> Skeleton:
    recording.index(edit.marker)
    skeleton.index(edit.body)
    return _carrying(skeleton, edit.body, Marker(edit.marker, np.array(edit.position)))


def _carrying(skeleton: Skeleton, name: str, marker: Marker) -> Skeleton:
    skeleton = _without(skeleton, marker.name)
    return skeleton.replacing(name, markers=(*skeleton.body(name).markers, marker))


def _without(skeleton: Skeleton, marker: str) -> Skeleton:
    bodies = [
        replace(body, markers=tuple(each for each in body.markers if each.name != marker))
        for body in skeleton.bodies
    ]
    return replace(skeleton, bodies=tuple(bodies))


def _reparented(skeleton: Skeleton, edit: SetParent, motion: Motion) -> Skeleton:
    """The body hangs on another one at the point that both keep best over the take."""
    check_parent(skeleton, edit)
    in_body, in_parent, rms = _joint_between(motion, edit.body, edit.parent)
    joint = Joint("ball", in_parent=in_parent, in_body=in_body, rms=rms)
    changed = [
        replace(each, parent=edit.parent, joint=joint) if each.name == edit.body else each
        for each in skeleton.bodies
    ]
    return replace(skeleton, bodies=in_tree_order(changed))


def check_parent(skeleton: Skeleton, edit: SetParent) -> None:
    """Refuse a parent that would leave no tree."""
    if skeleton.body(edit.body).parent is None:
        raise BadValue(f"{edit.body!r} is the root; make another body the root first")
    above: str | None = edit.parent
    while above is not None:
        if above == edit.body:
            raise BadValue(f"{edit.parent!r} hangs on {edit.body!r} itself; choose another parent")
        above = skeleton.body(above).parent


def _joint_between(motion: Motion, first: str, second: str) -> tuple[Array, Array, float]:
    """A joint in the frames of two bodies, and how far their ideas of it lie apart."""
    turned, origins = origins_of(motion)
    skeleton = motion.skeleton
    pair = [skeleton.index(first), skeleton.index(second)]
    bodies = Bodies(origins[:, pair], turned[:, pair], (first, second), motion.rate)
    fit = fit_pairs(JointStatistics.of(bodies), pairs=[(0, 1)])
    return fit.centres[0, :3], fit.centres[0, 3:], float(np.sqrt(max(fit.mean_square[0], 0.0)))


def _rerooted(skeleton: Skeleton, name: str) -> Skeleton:
    """The same joints, hung up at another body: the chain up to the old root turns round."""
    if name not in skeleton.names:
        raise UnknownName("body", name, skeleton.names)
    chain = [skeleton.body(name)]
    while (above := chain[-1].parent) is not None:
        chain.append(skeleton.body(above))
    turned = {name: replace(chain[0], parent=None, joint=Joint("free"), length=None)}
    for child, parent in pairwise(chain):
        joint = _turned_round(child.joint)
        # the bone now goes from the joint below to the one above, which the old root lacks
        length = float(np.linalg.norm(joint.in_body - parent.joint.in_body))
        known = None if parent.parent is None else length
        turned[parent.name] = replace(parent, parent=child.name, joint=joint, length=known)
    bodies = [turned.get(body.name, body) for body in skeleton.bodies]
    return replace(skeleton, bodies=in_tree_order(bodies))


def _turned_round(joint: Joint) -> Joint:
    """The joint as its parent sees it when the child has become the parent.

    (R(a)·R(b)·rest)⁻¹ = R(−rest⁻¹b)·R(−rest⁻¹a)·rest⁻¹: the angles stay what they were.
    """
    back = quat.inverse(joint.rest)
    axes = -quat.rotate(back, joint.axes)[::-1] if len(joint.axes) else joint.axes
    return Joint(joint.kind, joint.in_body, joint.in_parent, axes=axes, rms=joint.rms, rest=back)


def in_tree_order(bodies: Sequence[Body]) -> tuple[Body, ...]:
    """Every parent before its children, otherwise as they were."""
    ordered: list[Body] = []
    waiting = list(bodies)
    placed: set[str | None] = {None}
    while waiting:
        body = next(each for each in waiting if each.parent in placed)
        waiting.remove(body)
        placed.add(body.name)
        ordered.append(body)
    return tuple(ordered)


def origins_of(motion: Motion) -> tuple[Array, Array]:
    """Rotation (n_frames, n_bodies, 4) and origin (n_frames, n_bodies, 3) of the bodies' frames."""
    turned, joints = motion.world()
    return turned, joints - quat.rotate(turned, motion.skeleton.joints_in_bodies)
