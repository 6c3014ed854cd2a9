"""A take solved as a person has edited it. The same edits on the same recording give the same rig.

Edits of the recording come before all stages. What is said of the rig is measured on a first solve,
then the poses are solved again; kinds and limits likewise. Plants and poses come last, on the
finished motion.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from osteon.anatomy import axes
from osteon.cleaning import upright
from osteon.edits.edits_json import Edit, Edits, Settings, by_stage, placed_on
from osteon.edits.findings import right_samples
from osteon.edits.label_edits import said_labels
from osteon.edits.motion_edits import MotionDraft
from osteon.edits.recording_edits import apply_edits
from osteon.edits.rig_edits import LimitEdit, edit_rig
from osteon.formats import read
from osteon.joint_limits import hold_within, limits
from osteon.labelling import Labelled
from osteon.pipeline import (
    Solved,
    SolveOptions,
    label_tracks,
    labelled_take,
    marker_errors,
    prepare_take,
    set_of,
    solve,
    with_named_tracks,
)
from osteon.posing import contacts_of
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
    """Solve one subject of one take with all its edits.

    Parameters
    ----------
    options
        Instead of the settings that the edits carry.
    """
    asked = options or options_of(edits.settings)
    recording = edit_take(source, edits, asked).recordings[0]
    if wants_labels(edits.edits, edits.settings):
        found = label_tracks(recording, asked, progress=progress)
        recording = give_labels(recording, found, edits.edits)
    rig = pose_rig(recording, edits.edits, asked, progress)
    rig = describe_rig(rig, edits.edits, edits.settings, asked, progress)
    path = None if isinstance(source, Take) else Path(source)
    return replace(edit_motion(rig, edits.edits), path=path)


def edit_take(source: str | Path | Take, edits: Edits, options: SolveOptions) -> Take:
    """Return the recording that edits were made on, with those that change its samples."""
    take = source if isinstance(source, Take) else read(source)
    recording = take.recording(edits.recording.subject or None).markers()
    changes = by_stage(edits.edits).recording
    return Take(recordings=(apply_edits(turn_upright(recording, options), changes),))


def wants_labels(edits: Sequence[Edit], settings: Settings) -> bool:
    """Whether all tracks are to be labelled anew, whatever they are called."""
    return settings.label or bool(by_stage(edits).labels)


def give_labels(recording: Recording, found: Labelled, edits: Sequence[Edit]) -> Recording:
    """Return a recording with the labels found, and with those said by hand."""
    return with_named_tracks(recording, said_labels(found, recording, by_stage(edits).labels))


def glue_markers(
    edits: Sequence[Edit], character: str, said: Corrections | None = None
) -> Corrections:
    """Add markers that were placed by hand on a character to other corrections."""
    said = said or Corrections()
    by_hand = placed_on(edits, character)
    placed = {marker: (edit.body, edit.position) for marker, edit in by_hand.items()}
    return replace(said, markers={**said.markers, **placed})


def turn_upright(recording: Recording, options: SolveOptions) -> Recording:
    """Turn z up, as the stages see it, before anything is edited."""
    chosen = set_of([recording], options)
    return upright(recording, chosen[1] if chosen else {})


def options_of(settings: Settings) -> SolveOptions:
    """Return what ``solve`` is asked for by a session's settings."""
    return SolveOptions(**{name: getattr(settings, name) for name in SOLVE_SETTINGS})


def describe_rig(
    solved: Solved,
    edits: Sequence[Edit],
    settings: Settings,
    options: SolveOptions,
    progress: Progress = unheard,
) -> Solved:
    """Add joint kinds, limits and movement axes, where settings or edits ask for them."""
    chosen = by_stage(edits)
    if settings.limits or chosen.limits:
        solved = _add_limits(solved, chosen.limits, options, progress)
    if settings.axes or any(edit.turns_limbs for edit in chosen.motion):
        progress(Step("axes", "finding movement axes"))
        solved = replace(solved, motion=add_axes(solved.motion))
    return solved


def as_solved(motion: Motion) -> Solved:
    """Put a motion from a file in the place of a solved one; its joints stand for markers."""
    joints = motion.world()[1]
    recording = Recording(
        joints, motion.skeleton.names, motion.rate, motion.skeleton.subject, source=motion.source
    )
    return Solved(recording, motion, np.zeros(joints.shape[:2]), "", contacts=contacts_of(motion))


def describe_motion(motion: Motion, edits: Sequence[Edit], settings: Settings) -> Solved:
    """Add kinds, limits and axes to a motion from a file; poses keep to what is said by hand."""
    said, by_hand = by_stage(edits).limits, None
    if settings.limits or said:
        skeleton = limits(motion)
        for edit in said:
            skeleton = edit.change(skeleton)
        by_hand = _take_bodies(skeleton, motion.skeleton, {edit.body for edit in said})
        rotations = hold_within(by_hand, np.array(motion.rotations), "auto")
        motion = replace(motion, skeleton=skeleton, rotations=rotations)
    return replace(as_solved(add_axes(motion) if settings.axes else motion), by_hand=by_hand)


def add_axes(motion: Motion) -> Motion:
    """Return the motion on a skeleton that knows limb frames and movement axes."""
    return replace(motion, skeleton=axes(motion).motion.skeleton)


def edit_motion(solved: Solved, edits: Sequence[Edit]) -> Solved:
    """Make the edits of poses and plants, in their order."""
    chosen = by_stage(edits).motion
    if not chosen:
        return solved
    draft = MotionDraft(solved.motion, solved.contacts, solved.by_hand)
    for edit in chosen:
        draft.apply(edit)
    history = (*solved.motion.history, *(f"by hand: {edit.sentence}" for edit in chosen))
    motion = replace(draft.motion(), history=history)
    errors = marker_errors(solved.recording, motion)
    return replace(solved, motion=motion, contacts=draft.contacts, marker_error=errors)


def pose_rig(
    recording: Recording, edits: Sequence[Edit], options: SolveOptions, progress: Progress
) -> Solved:
    """Solve bodies, joints and poses, with what is said by hand of markers and hierarchy."""
    options = replace(options, right=right_samples(edits))
    chosen = by_stage(edits).rig
    if not chosen:
        return solve(Take(recordings=(recording,)), options=options, progress=progress)[0]
    whole, swaps = prepare_take(labelled_take(recording, options), options)
    last = {marker: body for edit in chosen for marker, body in edit.carried.items()}
    # a marker on the wrong body would spoil the calibration before it is moved
    first = _again(_blank_markers(whole, tuple(last)), options, progress)
    whole = _blank_markers(whole, tuple(marker for marker, body in last.items() if not body))
    skeleton = edit_rig(whole, first.motion, chosen)
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


def _blank_markers(recording: Recording, names: tuple[str, ...]) -> Recording:
    """Leave markers out, as if they had not been worn."""
    if not names:
        return recording
    positions = np.array(recording.positions)
    positions[:, [recording.index(name) for name in names]] = np.nan
    return recording.with_positions(positions, did=f"left out by hand: {', '.join(names)}")


def _add_limits(
    solved: Solved, edits: Sequence[LimitEdit], options: SolveOptions, progress: Progress
) -> Solved:
    """Find kinds and limits, and set those said by hand; poses keep to the latter."""
    progress(Step("limits", "finding joint kinds and limits"))
    found = limits(solved.motion)
    skeleton = found
    for edit in edits:
        skeleton = edit.change(skeleton)
    if not edits:
        motion = replace(solved.motion, skeleton=found)
        return replace(solved, motion=motion, by_hand=solved.skeleton)
    # joints that nobody spoke of stay free: what was found there came from this very motion
    by_hand = _take_bodies(skeleton, solved.skeleton, {edit.body for edit in edits})
    asked = replace(options, skeleton=by_hand, limits=True)
    again = _again(solved.recording, asked, progress)
    carried = {body.name: body.markers for body in again.skeleton.bodies}
    bodies = [replace(body, markers=carried[body.name]) for body in skeleton.bodies]
    motion = replace(again.motion, skeleton=replace(skeleton, bodies=tuple(bodies)))
    told = {"warnings": solved.warnings, "riders": solved.riders}
    return replace(again, motion=motion, by_hand=by_hand, **told)


def _take_bodies(skeleton: Skeleton, other: Skeleton, names: set[str]) -> Skeleton:
    """Take these bodies of a skeleton, and the rest from another one."""
    bodies = [skeleton.body(body.name) if body.name in names else body for body in other.bodies]
    return replace(skeleton, bodies=tuple(bodies))
