"""Joint positions → a moving skeleton of fixed lengths ([004] §3.3–3.4, docs/methods.md §5–6).

Lengths and places of the joints come first, then how each body turns to point at its children.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from osteon.errors import BadValue, NotEnoughData, UnknownName
from osteon.fixed_lengths.directions import children_of, turned_to
from osteon.fixed_lengths.lengths import FitStatus, LengthFit, fit_lengths
from osteon.fixed_lengths.rectification import rectify
from osteon.fixed_lengths.trees import (
    JointTree,
    Table,
    known_tree,
    pick_joints,
    tree_of_skeleton,
    tree_of_table,
)
from osteon.fixed_lengths.twist import turns_by_markers
from osteon.maths import quat
from osteon.posing import rms_of_seen
from osteon.threads import one_thread
from osteon.typing import Array
from osteon.values import Body, Joint, Marker, Motion, Recording, Skeleton

SHAPE_FRAMES, SHAPE_ROUNDS = 2000, 8
"""Frames that the shape of a body is found from, at most, and rounds of finding it. Chosen: bounds
time."""


@dataclass(frozen=True, slots=True, eq=False)
class FitResult:
    """A motion with bones of constant length, and how near it is to the joints it was given."""

    motion: Motion
    joints: Recording
    """The joint positions as they were given, one point per body."""
    fit: LengthFit
    """Lengths, their standard errors, and joints of fixed-length bones before they became rigid
    bodies."""
    joint_error: Array
    """(n_frames, n_joints) distance from the motion to the joints, metres; NaN = not given."""
    warnings: tuple[str, ...] = ()
    beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Markers beside the joints that told how a body turns about its bone, by body."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.motion.skeleton.names

    @property
    def status(self) -> FitStatus:
        return self.fit.status

    @property
    def lengths(self) -> dict[str, float]:
        """Bone to each joint from its parent, metres."""
        return self._by_bone(self.fit.lengths)

    @property
    def standard_errors(self) -> dict[str, float]:
        """Of the lengths, metres; NaN where a length was given."""
        return self._by_bone(self.fit.standard_errors)

    @property
    def rms(self) -> float:
        """Distance of motion and joints over all joints and frames, metres."""
        return float(np.sqrt(np.nanmean(self.joint_error**2)))

    def rms_per_joint(self) -> dict[str, float]:
        """Metres, worst first; joints never seen are left out."""
        seen = np.isfinite(self.joint_error)
        squares = np.where(seen, self.joint_error, 0.0) ** 2
        rms = np.sqrt(squares.sum(axis=0) / np.maximum(seen.sum(axis=0), 1))
        return {self.names[j]: float(rms[j]) for j in np.argsort(-rms) if seen[:, j].any()}

    def _by_bone(self, values: Array) -> dict[str, float]:
        parents = self.motion.skeleton.parents
        return {
            name: float(value)
            for name, value, parent in zip(self.names, values, parents, strict=True)
            if parent >= 0
        }

    def __str__(self) -> str:
        worst, error = next(iter(self.rms_per_joint().items()))
        return (
            f"{self.status.value}; RMS {1e3 * self.rms:.1f} mm, "
            f"worst joint {worst} {1e3 * error:.1f} mm"
        )


@one_thread()
def fit(
    source: Recording | Motion,
    tree: Skeleton | JointTree | Table | None = None,
    *,
    lengths: Mapping[str, float] | None = None,
    debias: bool = True,
    noise: float | None = None,
    dividing: bool = False,
    spread: float = 1.0,
) -> FitResult:
    """Fit a skeleton whose bones keep their length to joint positions, and find its angles.

    Parameters
    ----------
    source
        Joint centres as the points of a recording, maybe with markers beside them, which tell how
        bones turn about themselves; or a motion whose bones stretch.
    tree
        What hangs on what: a skeleton, whose rest pose is kept, or a table joint → parent. Not
        needed for a motion, nor for points named like Plug-in Gait's origins, LHJC, LKJC, … or the
        keypoints of a known set.
    lengths
        Known lengths, by the joint at the bone's far end, metres.
    debias, noise, dividing
        As in :func:`osteon.fixed_lengths.lengths.fit_lengths`.
    spread
        How an end effector's error is shared by the joints of its limb, as in
        :func:`osteon.fixed_lengths.rectification.rectify`.
    """
    joint_tree, positions, guide = _given(source, tree)
    known = _known_lengths(joint_tree, lengths)
    found = fit_lengths(
        positions, joint_tree.parents, lengths=known, debias=debias, noise=noise, dividing=dividing
    )
    offsets = _rest_offsets(joint_tree, found, guide)
    offsets = body_shapes(found.positions, offsets, joint_tree.parents, guide)
    beside: dict[str, tuple[str, ...]] = {}
    if isinstance(source, Recording):
        guide, riders = turns_by_markers(
            found.positions, offsets, joint_tree.parents, source.positions
        )
        beside = {
            joint_tree.names[joint]: tuple(source.names[column] for column in columns)
            for joint, columns in riders.items()
        }
    rotations, _ = rotations_from_joints(found.positions, offsets, joint_tree.parents, guide)
    joints = _as_recording(source, joint_tree, positions)
    skeleton = _skeleton(joint_tree, offsets, joints.subject)
    poses = rotations, found.positions[:, 0]
    did = f"fitted bones of fixed length: {found.status.value}"
    motion = Motion.found_in(source, skeleton, poses, did, found.held)
    motion, missed = _ends_on_target(motion, found.positions, spread)
    error = np.linalg.norm(motion.world()[1] - positions, axis=-1)
    motion = _with_rms(motion, error)
    warnings = (*_warnings(joint_tree, found), *missed)
    return FitResult(motion, joints, found, error, warnings, beside)


def _given(
    source: Recording | Motion, tree: Skeleton | JointTree | Table | None
) -> tuple[JointTree, Array, Array | None]:
    """Tree, joint positions, and how the bodies are turned where the source knows it."""
    if isinstance(source, Motion):
        if tree is not None:
            raise BadValue("a motion brings its own tree; leave the other one out")
        world, joints = source.world()
        own = tree_of_skeleton(source.skeleton)
        return own.within(own.names), joints, world
    if tree is None:
        tree = known_tree(source.names)
        if tree is None:
            raise NotEnoughData(
                f"nothing says which of the {source.n_markers} points hangs on which; if they are "
                "joint centres give `tree`, a skeleton file or a TOML table [parents]; markers on "
                "the skin are for: osteon solve"
            )
    elif isinstance(tree, Skeleton):
        tree = tree_of_skeleton(tree)
    elif not isinstance(tree, JointTree):
        tree = tree_of_table(tree)
    part, positions = pick_joints(source, tree)
    return part, positions, None


def _known_lengths(tree: JointTree, lengths: Mapping[str, float] | None) -> Array:
    known = np.full(len(tree.names), np.nan)
    for name, length in (lengths or {}).items():
        if name not in tree.names:
            raise UnknownName("joint", name, tree.names)
        known[tree.names.index(name)] = length
    return known


def _rest_offsets(tree: JointTree, found: LengthFit, guide: Array | None) -> Array:
    """Return (n_joints, 3) each joint from its parent's at rest, with the lengths that were found.

    Directions come from the tree's rest pose, else from the frame that is nearest to its data.
    """
    parents = np.array(tree.parents)
    best = int(np.argmin(np.nan_to_num(found.residuals, nan=1e3).sum(axis=-1)))
    shown = found.positions[best] if guide is None and tree.rest is None else tree.rest
    assert shown is not None
    bones = shown - shown[parents]
    bones[parents < 0] = 0.0
    size = np.linalg.norm(bones, axis=-1, keepdims=True)
    upward = np.array([0.0, 0.0, 1.0])
    directions = np.where(size > 1e-9, bones / np.where(size > 1e-9, size, 1.0), upward)
    return directions * np.where(parents < 0, 0.0, found.lengths)[:, None]


def _skeleton(tree: JointTree, offsets: Array, subject: str) -> Skeleton:
    children = children_of(tree.parents)
    tips = tree.tips or {}
    bodies = []
    for joint, (name, parent) in enumerate(zip(tree.names, tree.parents, strict=True)):
        tip = tips.get(name) if not children[joint] else None
        ends = [offsets[child] for child in children[joint]] or ([] if tip is None else [tip])
        bodies.append(
            Body(
                name,
                None if parent < 0 else tree.names[parent],
                Joint("free") if parent < 0 else Joint("ball", offsets[joint]),
                length=float(np.linalg.norm(ends[0])) if len(ends) == 1 else None,
                tip=tip,
            )
        )
    return Skeleton(tuple(bodies), subject=subject)


def _as_recording(source: Recording | Motion, tree: JointTree, positions: Array) -> Recording:
    subject = source.skeleton.subject if isinstance(source, Motion) else source.subject
    return Recording(
        positions,
        tree.names,
        source.rate,
        subject=subject,
        marks=source.marks,
        history=source.history,
        source=source.source,
    )


def _ends_on_target(motion: Motion, wanted: Array, spread: float) -> tuple[Motion, tuple[str, ...]]:
    """Bring the last joint of every limb to where fixed lengths alone would put it.

    Bodies with several children are rigid, which moves their limbs a little ([004] §3.4.1).
    """
    parents, children = motion.skeleton.parents, children_of(motion.skeleton.parents)
    ends = [
        body
        for body, parent in enumerate(parents)
        if parent >= 0 and not children[body] and len(children[parent]) == 1
    ]
    names = motion.skeleton.names
    result = rectify(motion, {names[body]: wanted[:, body] for body in ends}, spread=spread)
    missed = {name: len(frames) for name, frames in result.unreachable.items()}
    said = ", ".join(f"{name} in {count} frames" for name, count in missed.items())
    return result.motion, (f"ends out of reach of their limb: {said}",) if missed else ()


def _with_rms(motion: Motion, error: Array) -> Motion:
    """Each body with its joint as a marker: what the fit was made to meet."""
    bodies = []
    for body, column in zip(motion.skeleton.bodies, error.T, strict=True):
        marker = Marker(body.name, np.zeros(3), rms_of_seen(column))
        bodies.append(replace(body, markers=(marker,)))
    return replace(motion, skeleton=replace(motion.skeleton, bodies=tuple(bodies)))


def _warnings(tree: JointTree, found: LengthFit) -> tuple[str, ...]:
    said = []
    if not found.status.converged:
        said.append(f"the lengths had not settled: {found.status.value}")
    if found.unsettled:
        said.append(f"{len(found.unsettled)} frames had not settled when their iterations ran out")
    if found.doubtful:
        names = ", ".join(tree.names[joint] for joint in found.doubtful)
        said.append(f"shorter than their noise, length as seen: {names}; give `lengths`")
    return tuple(said)


def rotations_from_joints(
    positions: Array, offsets: Array, parents: Sequence[int], guide: Array | None = None
) -> tuple[Array, Array]:
    """Turn every body so that its children come as near to their places as rigid bodies allow.

    A body with one child is turned the least that points its bone there, one with several by the
    best rotation of all of them about its joint, one with none not at all.

    Parameters
    ----------
    positions : (n_frames, n_joints, 3)
        Where the joints should be, metres.
    offsets : (n_joints, 3)
        Each joint from its parent's joint at rest, where all bodies are turned alike.
    parents : (n_joints,)
        Index of each parent, −1 for the root.
    guide : (n_frames, n_joints, 4), optional
        Where each body would be turned in the world; the turn nearest to it is chosen. By default
        as its parent is: no twist but what the children show.

    Returns
    -------
    rotations : (n_frames, n_joints, 4)
        To the parent's frame from the body's; the root's to the world.
    placed : (n_frames, n_joints, 3)
        Where the joints are then.
    """
    children = children_of(parents)
    world = quat.identity(positions.shape[:2])
    local, placed = world.copy(), positions.copy()
    for joint, parent in enumerate(parents):
        above = quat.identity((len(positions),)) if parent < 0 else world[:, parent]
        if parent >= 0:
            placed[:, joint] = placed[:, parent] + quat.rotate(above, offsets[joint])
        start = above if guide is None else guide[:, joint]
        wanted = positions[:, children[joint]] - placed[:, joint, None]
        world[:, joint] = turned_to(start, offsets[children[joint]], wanted)
        local[:, joint] = quat.between(above, world[:, joint])
    return quat.unroll(local), placed


def body_shapes(
    positions: Array, offsets: Array, parents: Sequence[int], guide: Array | None = None
) -> Array:
    """Offsets (n_joints, 3) whose directions, where several children share a body, suit all frames.

    Lengths stay as they are. Parameters as in :func:`rotations_from_joints`.
    """
    some = np.unique(np.linspace(0, len(positions) - 1, SHAPE_FRAMES).astype(int))
    positions = positions[some]
    offsets = np.array(offsets)
    for joint, children in enumerate(children_of(parents)):
        if len(children) < 2:
            continue
        start = quat.identity((len(some),)) if guide is None else guide[some, joint]
        bones = positions[:, children] - positions[:, joint, None]
        lengths = np.linalg.norm(offsets[children], axis=-1, keepdims=True)
        for _ in range(SHAPE_ROUNDS):
            turn = turned_to(start, offsets[children], bones)
            mean = np.mean(quat.rotate(quat.inverse(turn)[:, None], bones), axis=0)
            size = np.linalg.norm(mean, axis=-1, keepdims=True)
            scaled = mean * lengths / np.where(size > 0.0, size, 1.0)
            offsets[children] = np.where(size > 0.0, scaled, offsets[children])
    return offsets
