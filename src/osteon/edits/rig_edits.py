"""What a person says about the rig: which body a marker is on, who hangs on whom, who is root, what
kind a joint is and how far it goes.

Where things are is measured again from the motion as first solved; the poses are then solved anew.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import msgspec
import numpy as np

from osteon.articulation import JointStatistics, fit_pairs
from osteon.edits.model import BaseEdit, EditStage, Place3, Touched
from osteon.errors import BadValue, NotEnoughData
from osteon.joint_limits import limits_toml
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Bodies, Body, Joint, Marker, Motion, Recording, Skeleton

Degrees = tuple[float, float]
"""Low and high."""


class RigEdit(BaseEdit, frozen=True):
    """A change of bodies, or of the markers on them."""

    @property
    def stage(self) -> EditStage:
        return "rig"

    def change(self, skeleton: Skeleton, recording: Recording, motion: Motion) -> Skeleton:
        """Return the skeleton as it becomes; ``motion`` is as first solved."""
        raise NotImplementedError


class _OfMarker(RigEdit, frozen=True):
    marker: str
    body: str

    @property
    def touches(self) -> Touched:
        return Touched("marker", (self.marker,))

    @property
    def carried(self) -> dict[str, str]:
        return {self.marker: self.body}


class Assign(_OfMarker, frozen=True, tag="assign"):
    """A marker belongs to a body, wherever on it the recording says; to none where empty."""

    @property
    def sentence(self) -> str:
        return f"{self.marker} belongs to {self.body or 'no body'}"

    def bodies_on(self, character: str) -> tuple[str, ...]:
        return (self.body,) if self.body else ()

    def change(self, skeleton: Skeleton, recording: Recording, motion: Motion) -> Skeleton:
        """Put the marker where it was on the body on average."""
        column = recording.index(self.marker)
        if not self.body:
            return _drop_marker(skeleton, self.marker)
        skeleton.index(self.body)  # refuses a body that is not there
        turned, origins = origins_of(motion)
        index = motion.skeleton.index(self.body)
        seen = np.flatnonzero(recording.measured[:, column])
        if not len(seen):
            raise NotEnoughData(
                f"marker {self.marker!r} is never seen, so it has no place on a body"
            )
        arm = recording.positions[seen, column] - origins[seen, index]
        place = np.median(quat.rotate(quat.inverse(turned[seen, index]), arm), axis=0)
        return _carry_marker(skeleton, self.body, Marker(self.marker, place))


class Place(_OfMarker, frozen=True, tag="place"):
    """A marker sits at this very place of a body: gluing a marker set onto a figure."""

    position: Place3
    """In the body's frame, metres."""
    character: str = ""
    """File name of the character that the marker is glued on; empty: on the solved rig."""

    @property
    def stage(self) -> EditStage:
        return "character" if self.character else "rig"

    @property
    def sentence(self) -> str:
        placed = f"{self.marker} placed on {self.body}"
        return f"{placed} of {self.character}" if self.character else placed

    def bodies_on(self, character: str) -> tuple[str, ...]:
        return (self.body,) if self.character == character else ()

    def change(self, skeleton: Skeleton, recording: Recording, motion: Motion) -> Skeleton:
        recording.index(self.marker)
        skeleton.index(self.body)
        return _carry_marker(skeleton, self.body, Marker(self.marker, np.array(self.position)))


class _OfBody(RigEdit, frozen=True):
    body: str

    @property
    def touches(self) -> Touched:
        return _touched_body(self, self.body)

    def bodies_on(self, character: str) -> tuple[str, ...]:
        return (self.body,)


def _touched_body(edit: BaseEdit, body: str) -> Touched:
    """Return what an edit is about that is called after the one thing of a body that it sets."""
    return Touched(str(edit.__struct_config__.tag), (body,))


class SetParent(_OfBody, frozen=True, tag="parent"):
    """A body hangs on another one."""

    parent: str

    @property
    def sentence(self) -> str:
        return f"{self.body} hangs on {self.parent}"

    def bodies_on(self, character: str) -> tuple[str, ...]:
        return self.body, self.parent

    def check(self, skeleton: Skeleton) -> None:
        if skeleton.body(self.body).parent is None:
            raise BadValue(f"{self.body!r} is the root; make another body the root first")
        above: str | None = self.parent
        while above is not None:
            if above == self.body:
                raise BadValue(
                    f"{self.parent!r} hangs on {self.body!r} itself; choose another parent"
                )
            above = skeleton.body(above).parent

    def change(self, skeleton: Skeleton, recording: Recording, motion: Motion) -> Skeleton:
        """Hang the body on the other one at the point that both keep best over the take."""
        self.check(skeleton)
        in_body, in_parent, rms = _fit_joint(motion, self.body, self.parent)
        joint = Joint("ball", in_parent=in_parent, in_body=in_body, rms=rms)
        changed = [
            replace(each, parent=self.parent, joint=joint) if each.name == self.body else each
            for each in skeleton.bodies
        ]
        return replace(skeleton, bodies=sort_by_tree(changed))


class SetRoot(_OfBody, frozen=True, tag="root"):
    """A body becomes the root; the joints stay where they are."""

    @property
    def sentence(self) -> str:
        return f"{self.body} is the root"

    def change(self, skeleton: Skeleton, recording: Recording, motion: Motion) -> Skeleton:
        """Hang the same joints up at another body: the chain up to the old root turns round."""
        chain = [skeleton.body(self.body)]
        while (above := chain[-1].parent) is not None:
            chain.append(skeleton.body(above))
        turned = {self.body: replace(chain[0], parent=None, joint=Joint("free"), length=None)}
        for child, parent in pairwise(chain):
            joint = _turn_round(child.joint)
            # the bone now goes from the joint below to the one above, which the old root lacks
            length = float(np.linalg.norm(joint.in_body - parent.joint.in_body))
            known = None if parent.parent is None else length
            turned[parent.name] = replace(parent, parent=child.name, joint=joint, length=known)
        bodies = [turned.get(body.name, body) for body in skeleton.bodies]
        return replace(skeleton, bodies=sort_by_tree(bodies))


class LimitEdit(BaseEdit, frozen=True):
    """A change of one joint's kind or limits."""

    body: str

    @property
    def stage(self) -> EditStage:
        return "limits"

    @property
    def touches(self) -> Touched:
        return _touched_body(self, self.body)

    def bodies_on(self, character: str) -> tuple[str, ...]:
        return (self.body,)

    def change(self, skeleton: Skeleton) -> Skeleton:
        """Return the skeleton with the joint as said."""
        raise NotImplementedError


class SetKind(LimitEdit, frozen=True, tag="kind"):
    """A joint is of another kind."""

    kind: Literal["fixed", "hinge", "universal", "ball"]
    axes: tuple[Place3, ...] = ()
    """In the parent's frame: one for a hinge, two for a universal joint; none: as it moves."""

    @property
    def sentence(self) -> str:
        return f"{self.body} is {'' if self.kind == 'fixed' else 'a '}{self.kind}"

    def change(self, skeleton: Skeleton) -> Skeleton:
        n_axes = {"hinge": 1, "universal": 2}.get(self.kind, 0)
        if self.axes and len(self.axes) != n_axes:
            raise BadValue(f"a {self.kind} joint has {n_axes} axes, got {len(self.axes)}")
        said = {self.body: limits_toml.Edit(type=self.kind)}
        changed = limits_toml.apply_edits(skeleton, said)
        return self._with_axes(changed) if self.axes else changed

    def _with_axes(self, skeleton: Skeleton) -> Skeleton:
        long = np.array(self.axes)
        length = np.linalg.norm(long, axis=-1, keepdims=True)
        if not (np.isfinite(length).all() and (length > 0.0).all()):
            raise BadValue(f"axes of {self.body!r} must have a length, got {self.axes}")
        joint = replace(skeleton.body(self.body).joint, axes=long / length)
        return skeleton.replacing(self.body, joint=joint)


class SetLimits(LimitEdit, frozen=True, tag="limits"):
    """A joint goes this far, degrees; what is left out stays as it was found."""

    hinge: Degrees | None = None
    swing: Degrees | None = None
    """Half axes of the elliptic cone."""
    twist: Degrees | None = None
    zyz: tuple[Degrees, Degrees, Degrees] | None = None

    @property
    def sentence(self) -> str:
        return f"limits of {self.body}"

    def change(self, skeleton: Skeleton) -> Skeleton:
        known = skeleton.body(self.body).joint.limits
        if (self.swing or self.twist) and (known is None or known.cone is None):
            raise BadValue(f"joint {self.body!r} has no cone, so it has no swing or twist to set")
        table = msgspec.structs.asdict(self)
        del table["body"]
        return limits_toml.apply_edits(skeleton, {self.body: limits_toml.Edit(**table)})


def edit_rig(recording: Recording, motion: Motion, edits: Sequence[RigEdit]) -> Skeleton:
    """Return the motion's skeleton after all edits of the rig, in their order."""
    skeleton = motion.skeleton
    for edit in edits:
        changed = edit.change(skeleton, recording, motion)
        skeleton = changed.with_bodies(changed.bodies, f"by hand: {edit.sentence}")
    return skeleton


def _carry_marker(skeleton: Skeleton, name: str, marker: Marker) -> Skeleton:
    skeleton = _drop_marker(skeleton, marker.name)
    return skeleton.replacing(name, markers=(*skeleton.body(name).markers, marker))


def _drop_marker(skeleton: Skeleton, marker: str) -> Skeleton:
    bodies = [
        replace(body, markers=tuple(each for each in body.markers if each.name != marker))
        for body in skeleton.bodies
    ]
    return replace(skeleton, bodies=tuple(bodies))


def _fit_joint(motion: Motion, first: str, second: str) -> tuple[Array, Array, float]:
    """Return a joint in the frames of two bodies, and how far their ideas of it lie apart."""
    turned, origins = origins_of(motion)
    skeleton = motion.skeleton
    pair = [skeleton.index(first), skeleton.index(second)]
    bodies = Bodies(origins[:, pair], turned[:, pair], (first, second), motion.rate)
    fit = fit_pairs(JointStatistics.of(bodies), pairs=[(0, 1)])
    return fit.centres[0, :3], fit.centres[0, 3:], float(np.sqrt(max(fit.mean_square[0], 0.0)))


def _turn_round(joint: Joint) -> Joint:
    """Return the joint as its parent sees it when the child has become the parent.

    (R(a)·R(b)·rest)⁻¹ = R(−rest⁻¹b)·R(−rest⁻¹a)·rest⁻¹: the angles stay what they were.
    """
    back = quat.inverse(joint.rest)
    axes = -quat.rotate(back, joint.axes)[::-1] if len(joint.axes) else joint.axes
    return Joint(joint.kind, joint.in_body, joint.in_parent, axes=axes, rms=joint.rms, rest=back)


def sort_by_tree(bodies: Sequence[Body]) -> tuple[Body, ...]:
    """Sort every parent before its children, otherwise as they were."""
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
