"""A take solved as a person has edited it. The same edits on the same recording give the same rig.

Edits of the recording come before all stages. What is said of the rig is measured on a first solve,
then the poses are solved again; kinds and limits likewise. Plants and poses come last, on the
finished motion.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from osteon.anatomy import axes
from osteon.cleaning import upright
from osteon.edits.model import (
    Assign,
    Edit,
    Edits,
    Place,
    RecordingEdit,
    SetKind,
    SetLimits,
    SetPlant,
    SetPose,
    Settings,
    told,
)
from osteon.edits.motion_edits import changed_motion
from osteon.edits.recording_draft import apply_edits
from osteon.edits.rig_edits import RigEdit, edited_rig
from osteon.errors import BadValue
from osteon.formats import read
from osteon.joint_limits import limits, limits_toml as limit_edits
from osteon.pipeline import (
    Solved,
    SolveOptions,
    marker_errors,
    prepare_take,
    set_of,
    solve,
)
from osteon.posing import contacts_of, hold_within
from osteon.retargeting import Corrections
from osteon.threads import one_thread
from osteon.typing import Progress, Step, unheard
from osteon.values import Motion, Recording, Skeleton, Take

SOLVE_SETTINGS = ("template", "hips", "clean", "smooth")
"""Those of a session's settings that are options of ``solve``."""


@one_thread()
def solve_edited(
    source: str | Path | Take,
    edits: Edits,
    *,
    options: SolveOptions | None = None,
    progress: Progress = unheard,
) -> Solved:
    """One subject of one take, solved with all its edits.

    Parameters
    ----------
    options
        Instead of the settings that the edits carry.
    """
    asked = options or options_of(edits.settings)
    recording = edited_take(source, edits, asked).recordings[0]
    rig = posed_rig(recording, edits.edits, asked, progress)
    rig = told_rig(rig, edits.edits, edits.settings, asked, progress)
    path = None if isinstance(source, Take) else Path(source)
    return replace(with_motion_edits(rig, edits.edits), path=path)


def edited_take(source: str | Path | Take, edits: Edits, options: SolveOptions) -> Take:
    """The recording that edits were made on, with those that change its samples."""
    take = source if isinstance(source, Take) else read(source)
    recording = take.recording(edits.recording.subject or None).markers()
    changes = [edit for edit in edits.edits if isinstance(edit, RecordingEdit)]
    return Take(recordings=(apply_edits(turned_upright(recording, options), changes),))


def glued(edits: Sequence[Edit], character: str, said: Corrections | None = None) -> Corrections:
    """Markers that were placed by hand on a character, beside other corrections."""
    said = said or Corrections()
    placed = {
        edit.marker: (edit.body, edit.position)
        for edit in edits
        if isinstance(edit, Place) and edit.character == character
    }
    return replace(said, markers={**said.markers, **placed})


def turned_upright(recording: Recording, options: SolveOptions) -> Recording:
    """z up, as the stages see it, before anything is edited."""
    chosen = set_of([recording], options)
    return upright(recording, chosen[1] if chosen else {})


def options_of(settings: Settings) -> SolveOptions:
    """Return what ``solve`` is asked for by a session's settings."""
    return SolveOptions(**{name: getattr(settings, name) for name in SOLVE_SETTINGS})


def told_rig(
    solved: Solved,
    edits: Sequence[Edit],
    settings: Settings,
    options: SolveOptions,
    progress: Progress = unheard,
) -> Solved:
    """With joint kinds, limits and movement axes, where settings or edits ask for them."""
    if settings.limits or any(isinstance(edit, SetKind | SetLimits) for edit in edits):
        solved = _with_limits(solved, edits, options, progress)
    turns_limbs = any(isinstance(edit, SetPose) and edit.parameters for edit in edits)
    if settings.axes or turns_limbs:
        progress(Step("axes", "finding movement axes"))
        solved = replace(solved, motion=with_axes(solved.motion))
    return solved


def as_solved(motion: Motion) -> Solved:
    """A motion from a file in the place of a solved one; its joints stand for markers."""
    joints = motion.world()[1]
    recording = Recording(
        joints, motion.skeleton.names, motion.rate, motion.skeleton.subject, source=motion.source
    )
    return Solved(recording, motion, np.zeros(joints.shape[:2]), "", contacts=contacts_of(motion))


def told_motion(motion: Motion, edits: Sequence[Edit], settings: Settings) -> Solved:
    """A motion from a file with kinds, limits and axes; poses keep to what is said by hand."""
    said, by_hand = [edit for edit in edits if isinstance(edit, SetKind | SetLimits)], None
    if settings.limits or said:
        skeleton = limits(motion)
        for edit in said:
            skeleton = with_limit_edit(skeleton, edit)
        by_hand = _only(skeleton, motion.skeleton, {edit.body for edit in said})
        rotations = hold_within(by_hand, np.array(motion.rotations), "auto")
        motion = replace(motion, skeleton=skeleton, rotations=rotations)
    return replace(as_solved(with_axes(motion) if settings.axes else motion), by_hand=by_hand)


def with_axes(motion: Motion) -> Motion:
    """The motion on a skeleton that knows limb frames and movement axes."""
    return replace(motion, skeleton=axes(motion).motion.skeleton)


def with_motion_edits(solved: Solved, edits: Sequence[Edit]) -> Solved:
    """With plants and poses set by hand, in their order."""
    chosen = [edit for edit in edits if isinstance(edit, SetPlant | SetPose)]
    if not chosen:
        return solved
    motion, contacts = solved.motion, solved.contacts
    for edit in chosen:
        motion, contacts = changed_motion(motion, contacts, edit, solved.by_hand)
    history = (*motion.history, *(f"by hand: {told(edit)}" for edit in chosen))
    motion = replace(motion, history=history)
    errors = marker_errors(solved.recording, motion)
    return replace(solved, motion=motion, contacts=contacts, marker_error=errors)


def posed_rig(
    recording: Recording, edits: Sequence[Edit], options: SolveOptions, progress: Progress
) -> Solved:
    """Bodies, joints and poses, with what is said by hand of markers and hierarchy."""
    chosen = [
        edit
        for edit in edits
        if isinstance(edit, RigEdit) and not (isinstance(edit, Place) and edit.character)
    ]
    if not chosen:
        return solve(Take(recordings=(recording,)), options=options, progress=progress)[0]
    whole, swaps = prepare_take(recording, options)
    last = {edit.marker: edit.body for edit in chosen if isinstance(edit, Assign | Place)}
    # a marker on the wrong body would spoil the calibration before it is moved
    first = _again(_blanked(whole, tuple(last)), options, progress)
    whole = _blanked(whole, tuple(marker for marker, body in last.items() if not body))
    skeleton = edited_rig(whole, first.motion, chosen)
    skeleton = replace(skeleton, events=(*skeleton.events, *swaps))
    second = _again(whole, replace(options, skeleton=skeleton), progress)
    seconds = {
        key: first.seconds.get(key, 0.0) + second.seconds.get(key, 0.0)
        for key in (*first.seconds, *second.seconds)
    }
    return replace(second, warnings=first.warnings, seconds=seconds, riders=first.riders)


def _again(recording: Recording, options: SolveOptions, progress: Progress) -> Solved:
    """Solve a recording that is cleaned already."""
    asked = replace(options, clean=False)
    return solve(Take(recordings=(recording,)), options=asked, progress=progress)[0]


def _blanked(recording: Recording, names: tuple[str, ...]) -> Recording:
    """As if these markers had not been worn."""
    if not names:
        return recording
    positions = np.array(recording.positions)
    positions[:, [recording.index(name) for name in names]] = np.nan
    return recording.with_positions(positions, did=f"left out by hand: {', '.join(names)}")


def _with_limits(
    solved: Solved, edits: Sequence[Edit], options: SolveOptions, progress: Progress
) -> Solved:
    """Kinds and limits as found, and as said by hand; poses keep to the latter."""
    progress(Step("limits", "finding joint kinds and limits"))
    found = limits(solved.motion)
    skeleton, said = found, {}
    for edit in edits:
        if isinstance(edit, SetKind | SetLimits):
            skeleton = with_limit_edit(skeleton, edit)
            said[edit.body] = None
    if not said:
        motion = replace(solved.motion, skeleton=found)
        return replace(solved, motion=motion, by_hand=solved.skeleton)
    # joints that nobody spoke of stay free: what was found there came from this very motion
    by_hand = _only(skeleton, solved.skeleton, set(said))
    asked = replace(options, skeleton=by_hand, limits=True)
    again = _again(solved.recording, asked, progress)
    carried = {body.name: body.markers for body in again.skeleton.bodies}
    bodies = [replace(body, markers=carried[body.name]) for body in skeleton.bodies]
    motion = replace(again.motion, skeleton=replace(skeleton, bodies=tuple(bodies)))
    told = {"warnings": solved.warnings, "riders": solved.riders}
    return replace(again, motion=motion, by_hand=by_hand, **told)


def _only(skeleton: Skeleton, other: Skeleton, names: set[str]) -> Skeleton:
    """These bodies of a skeleton, the rest from another one."""
    bodies = [skeleton.body(body.name) if body.name in names else body for body in other.bodies]
    return replace(skeleton, bodies=tuple(bodies))


def with_limit_edit(skeleton: Skeleton, edit: SetKind | SetLimits) -> Skeleton:
    """A joint's kind or limits as said by hand."""
    if isinstance(edit, SetKind):
        n_axes = {"hinge": 1, "universal": 2}.get(edit.kind, 0)
        if edit.axes and len(edit.axes) != n_axes:
            raise BadValue(f"a {edit.kind} joint has {n_axes} axes, got {len(edit.axes)}")
        changed = limit_edits.apply_edits(skeleton, {edit.body: limit_edits.Edit(type=edit.kind)})
        return _with_joint_axes(changed, edit) if edit.axes else changed
    has_cone = (known := skeleton.body(edit.body).joint.limits) and known.cone is not None
    if (edit.swing or edit.twist) and not has_cone:
        raise BadValue(f"joint {edit.body!r} has no cone, so it has no swing or twist to set")
    table = msgspec.structs.asdict(edit)
    del table["body"]
    return limit_edits.apply_edits(skeleton, {edit.body: limit_edits.Edit(**table)})


def _with_joint_axes(skeleton: Skeleton, edit: SetKind) -> Skeleton:
    long = np.array(edit.axes)
    length = np.linalg.norm(long, axis=-1, keepdims=True)
    if not (np.isfinite(length).all() and (length > 0.0).all()):
        raise BadValue(f"axes of {edit.body!r} must have a length, got {edit.axes}")
    bodies = [
        replace(body, joint=replace(body.joint, axes=long / length))
        if body.name == edit.body
        else body
        for body in skeleton.bodies
    ]
    return replace(skeleton, bodies=tuple(bodies))
