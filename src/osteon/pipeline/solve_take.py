"""One or several takes of a subject → rig and motion."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from osteon.calibration import (
    Calibration,
    NextMarker,
    add_riders,
    calibrate,
)
from osteon.cleaning import prepare
from osteon.errors import NotEnoughData, OsteonError, UnknownName, counted
from osteon.fingers import HandTake, add_fingers, pose_fingers, without_fingers
from osteon.formats import UNNAMED
from osteon.human import (
    Landmark,
    MarkerSet,
    Recognition,
    another_fits_better,
    explain_misfit,
    landmark_names,
    recognise,
    with_hands,
)
from osteon.identity import (
    SAME_PLACES_RMS,
    TakeFindings,
    compare_places,
    hold_against,
    tell_apart,
)
from osteon.joint_limits import hold_within
from osteon.keypoints import calibrate_keypoints, pose_keypoints
from osteon.pipeline.held_together import tell_holds
from osteon.pipeline.missing_labels import asked_set, with_labels
from osteon.pipeline.solve_notes import far_markers, of_another, sudden, sunken_soles, unusable
from osteon.pipeline.solved import Solved, SolveOptions, Stopwatch
from osteon.pipeline.subjects_in_files import Subject, file_of, subjects_of
from osteon.pipeline.unknown_markers import calibrate_unknown
from osteon.posing import (
    PoseOptions,
    SolveResult,
    bend_toes,
    rms_of_seen,
    solve as solve_pose,
    standing_of,
)
from osteon.threads import one_thread
from osteon.typing import Array, Progress, Share, unheard
from osteon.values import Motion, Passport, Recording, Skeleton, Swap, Take

Chosen = tuple[MarkerSet, dict[str, Landmark]] | None
"""The marker set to use and the labels found of it; None: by motion alone."""
OTHER_PERSON_RMS = 0.02
"""Metres: twice what skin moves markers, and more than a marker set put on anew adds."""
FAR_MARKER_RMS = 0.025
"""Metres RMS from its place above which a marker was elsewhere at times: skin stays below."""
FAR_KEYPOINT_RMS = 0.06
"""Metres RMS from its place above which a keypoint was elsewhere at times. Chosen: twice what is
usual of such systems [Nakano 2020]."""
FINGER_FRAMES = 3000
"""Frames of each take that fingers are fitted to, its first ones; chosen: most takes are shorter,
and hands are never still for so long."""


@one_thread()
def solve(
    *sources: str | Path | Take,
    static: Sequence[str | Path | Take] = (),
    subject: str | None = None,
    options: SolveOptions | None = None,
    progress: Progress = unheard,
) -> tuple[Solved, ...]:
    """Do the whole job: recordings in, a rig with motion out for every subject and take.

    Parameters
    ----------
    sources
        Files or takes; those of one subject calibrate together.
    static
        Further takes that help to calibrate but are not solved, such as a standing trial with
        more markers on.
    subject
        Only this one of those recorded.
    """
    watch = Stopwatch(progress)
    given = all(isinstance(source, Take) for source in (*sources, *static))
    with watch.stage("read", "" if given else "reading"):
        subjects = subjects_of(sources, static, subject)
    options, solved = options or SolveOptions(), []
    for name, one in with_labels(subjects, options, watch).items():
        own = _solve_subject(name, one, options, watch)
        solved += [replace(each, path=path) for each, path in zip(own, one.paths, strict=True)]
    return _with_holds(solved)


def _with_holds(solved: Sequence[Solved]) -> tuple[Solved, ...]:
    """Every take's subjects with a note of who holds whom."""
    rows: dict[object, list[int]] = {}
    for row, each in enumerate(solved):
        rows.setdefault(each.path or row, []).append(row)
    told = list(solved)
    for own in rows.values():
        for row, each in zip(own, tell_holds([solved[row] for row in own]), strict=True):
            told[row] = each
    return tuple(told)


def _solve_subject(
    name: str, subject: Subject, options: SolveOptions, watch: Stopwatch
) -> list[Solved]:
    given = [*subject.takes, *subject.stills]
    everything: Sequence[Recording] = [_named_as_asked(take, options) for take in given]
    n_takes = len(subject.takes)
    subject.takes.clear()  # once cleaned they are not needed, and long ones need memory
    del given
    _check_solvable(everything)
    chosen = set_of(everything, options)
    with watch.stage("clean", "looking for swapped labels and spikes" if options.clean else ""):
        everything, swaps = zip(*(_prepare(t, chosen, options) for t in everything), strict=True)
    saying = _calibrating(name or "the subject", chosen, options)
    with watch.stage("calibrate", saying) as share:
        plans = _plans(name, everything, n_takes, chosen, options, share)
    solved = []
    for take, plan, found in zip(everything[:n_takes], plans, swaps, strict=False):
        stills = everything[n_takes:]
        notes = (*subject.notes, *_no_help(stills, plan, options), *_of_others(take, stills, plan))
        told = replace(plan, warnings=(*notes, *plan.warnings))
        solved.append(_solve_take(take, told, found, chosen, watch, options))
    known = options.skeleton is not None or options.passport is not None
    alone = known or _are_keypoints(chosen) or len(everything) == 1
    if alone or all(one.rms < OTHER_PERSON_RMS for one in solved):
        return solved
    with watch.stage("calibrate", "comparing the takes"):
        own = [_calibrated_alone(take, chosen, options) for take in everything]
        told = tell_apart(own, [file_of(take) for take in everything])
    return [replace(one, warnings=(*told, *one.warnings)) for one in solved]


def _calibrated_alone(take: Recording, chosen: Chosen, options: SolveOptions) -> Skeleton | None:
    try:
        return calibrate_subject([take], chosen, options).skeleton
    except OsteonError:  # what calibrates with others may show too little alone
        return None


def _no_help(stills: Sequence[Recording], plan: "_Plan", options: SolveOptions) -> list[str]:
    """A word about each standing trial that had no say in the skeleton."""
    if options.skeleton is not None or options.passport is not None:
        given = "`skeleton`" if options.skeleton is not None else "`passport`"
        return [f"{file_of(still)} was not used: with {given} none calibrates" for still in stills]
    worn = [[name in plan.skeleton.marker_names for name in still.names] for still in stills]
    return [
        f"{file_of(still)} was not used: none of its markers is on the rig"
        for still, on_rig in zip(stills, worn, strict=True)
        if not still.measured[:, on_rig].any()
    ]


def _of_others(take: Recording, stills: Sequence[Recording], plan: "_Plan") -> list[str]:
    """A word about each standing trial whose markers do not sit where the take's do."""
    told = []
    for still in stills:
        change = compare_places(take, still, plan.skeleton)
        if change is not None and change.rms > SAME_PLACES_RMS:
            told.append(
                f"{file_of(still)} is of another person, or markers were put on anew since: "
                f"{' to '.join(change.farthest)} is {1e3 * change.new:.0f} mm there and "
                f"{1e3 * change.known:.0f} mm in the take ({1e3 * change.rms:.0f} mm rms of all on "
                "one body); the rig is right for neither: give a `static` of this session, or none"
            )
    return told


def _calibrating(who: str, chosen: Chosen, options: SolveOptions) -> str:
    if options.skeleton is not None:
        return ""
    if options.passport is not None:
        return f"holding {who} against the passport"
    return f"calibrating {who}" + ("" if chosen else " by motion alone")


@dataclass(frozen=True)
class _Plan:
    """What a take is solved with."""

    skeleton: Skeleton
    warnings: tuple[str, ...] = ()
    findings: TakeFindings | None = None
    recognition: Recognition | None = None
    next_markers: tuple[NextMarker, ...] = ()


def _plans(
    name: str,
    takes: Sequence[Recording],
    n: int,
    chosen: Chosen,
    options: SolveOptions,
    progress: Share,
) -> list[_Plan]:
    """For each of the first ``n`` takes."""
    if options.skeleton is not None:
        return [_Plan(options.skeleton, _known_as_keypoints(chosen))] * n
    if options.passport is not None and _are_keypoints(chosen):
        told = "the passport's person is taken for this one: keypoints do not tell people apart"
        return [_Plan(options.passport.skeleton, (*_known_as_keypoints(chosen), told))] * n
    if options.passport is not None:
        return [_by_passport(name, take, options.passport, chosen, options) for take in takes[:n]]
    calibration = calibrate_subject(takes, chosen, options, name, progress)
    found, more = calibration.recognition, calibration.next_markers
    told = calibration.doubts
    return [_Plan(calibration.skeleton, told, recognition=found, next_markers=more)] * n


def _by_passport(
    name: str, take: Recording, passport: Passport, chosen: Chosen, options: SolveOptions
) -> _Plan:
    findings, own = hold_against(
        passport, take, lambda: calibrate_subject([take], chosen, options, name)
    )
    if own is None:
        assert findings.skeleton is not None
        return _Plan(findings.skeleton, findings.sentences(), findings)
    told = (*findings.sentences(), *own.doubts)
    return _Plan(own.skeleton, told, findings, own.recognition, own.next_markers)


def set_of(takes: Sequence[Recording], options: SolveOptions) -> Chosen:
    """Choose the marker set that a subject wears, by the labels of all its takes."""
    return _marker_set(_labels_of(takes), options)


def _named_as_asked(take: Recording, options: SolveOptions) -> Recording:
    """Points without names under those of the keypoint set that was asked for, in its order."""
    asked = asked_set(options)
    if take.source.detail != UNNAMED or asked is None or len(asked.markers) != take.n_markers:
        return take
    return replace(take, names=tuple(asked.markers))


def _labels_of(takes: Sequence[Recording]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label for take in takes for label in take.names))


def prepare_take(recording: Recording, options: SolveOptions) -> tuple[Recording, tuple[Swap, ...]]:
    """Prepare a take on its own, as ``solve`` does; with it come the swaps that were repaired."""
    return _prepare(recording, set_of([recording], options), options)


def _prepare(
    recording: Recording, chosen: Chosen, options: SolveOptions
) -> tuple[Recording, tuple[Swap, ...]]:
    found = chosen[1] if chosen and not chosen[0].of_hands else {}  # hands stand on nothing
    return prepare(recording, found, repair=options.clean, right=options.right)


def calibrate_subject(
    takes: Sequence[Recording],
    chosen: Chosen,
    options: SolveOptions,
    subject: str = "",
    progress: Share = unheard,
    *,
    in_order: bool = True,
) -> Calibration:
    """Calibrate the subject of prepared takes; by motion alone where no set is known.

    ``in_order`` says whether frames follow each other, as those chosen from long takes do not.
    """
    found = _calibrate_body(takes, chosen, options, subject, progress, in_order=in_order)
    on_fingers = {} if chosen is None else chosen[0].match_fingers(_labels_of(takes))
    if chosen is None or not on_fingers:
        return found
    hands = [_hand_take(take, found.skeleton, chosen, options) for take in takes]
    skeleton = add_fingers(
        found.skeleton, hands, chosen[1], on_fingers, keypoints=chosen[0].keypoints
    )
    return replace(found, skeleton=skeleton)


def _hand_take(
    take: Recording, skeleton: Skeleton, chosen: Chosen, options: SolveOptions
) -> HandTake:
    some = Recording(take.positions[:FINGER_FRAMES], take.names, take.rate)
    posed = _pose(some, skeleton, chosen, replace(options, limits=False, smooth=False), unheard)
    return HandTake(some, posed.motion)


def _calibrate_body(
    takes: Sequence[Recording],
    chosen: Chosen,
    options: SolveOptions,
    subject: str,
    progress: Share,
    *,
    in_order: bool,
) -> Calibration:
    labels = _labels_of(takes)
    if _are_keypoints(chosen):
        assert chosen is not None
        return calibrate_keypoints(
            takes,
            chosen[1],
            set_name=chosen[0].name,
            subject=subject,
            in_order=in_order,
            progress=progress,
        )
    if chosen is None:
        return calibrate_unknown(takes, options, subject, progress)
    try:
        calibration = calibrate(
            takes, chosen[1], hips=options.hips, subject=subject, progress=progress
        )
    except NotEnoughData as error:
        if told := explain_misfit(chosen[0], labels):
            raise NotEnoughData(f"{error}; {told}") from None
        raise
    if options.own_set is not None or not another_fits_better(chosen[0], labels):
        return calibration
    return replace(calibration, doubts=(explain_misfit(chosen[0], labels), *calibration.doubts))


def _are_keypoints(chosen: Chosen) -> bool:
    """Whether a markerless system found the points: on joints, not on skin."""
    return chosen is not None and chosen[0].keypoints


def _known_as_keypoints(chosen: Chosen) -> tuple[str, ...]:
    """A word about what the points are, where nothing is calibrated that would tell it."""
    if chosen is None or not chosen[0].keypoints:
        return ()
    return (f"{len(chosen[1])} keypoints ({chosen[0].name}): joint centres, not skin",)


def _pose(
    recording: Recording,
    skeleton: Skeleton,
    chosen: Chosen,
    options: SolveOptions,
    progress: Share,
) -> SolveResult:
    """Poses of a take; of fingers after those of the body, which they leave as it is."""
    bare = without_fingers(skeleton)
    if bare is not skeleton:
        return pose_fingers(recording, _pose(recording, bare, chosen, options, progress), skeleton)
    limits = "auto" if options.limits else "none"
    if _are_keypoints(chosen):
        return pose_keypoints(recording, skeleton, limits=limits, progress=progress)
    return solve_pose(
        recording,
        skeleton,
        options=PoseOptions(loss="geman-mcclure"),
        smooth=options.smooth,
        limits=limits,
        progress=progress,
    )


def _solve_take(
    recording: Recording,
    plan: _Plan,
    swaps: tuple[Swap, ...],
    chosen: Chosen,
    watch: Stopwatch,
    options: SolveOptions,
) -> Solved:
    skeleton = replace(plan.skeleton, events=(*plan.skeleton.events, *swaps))
    with watch.stage("solve", f"solving {counted(recording.n_frames, 'frame')}") as share:
        result = _pose(recording, skeleton, chosen, options, share)
    motion, errors = result.motion, _in_columns(result, recording)
    del result  # of a long take it is large
    usual = FAR_KEYPOINT_RMS if _are_keypoints(chosen) else FAR_MARKER_RMS
    strange = far_markers(recording.names, errors, usual)
    bad = () if _are_keypoints(chosen) else unusable(errors)
    if options.skeleton is not None:
        bad = of_another(errors, usual if _are_keypoints(chosen) else OTHER_PERSON_RMS)
        strange = ()
    posed_by = motion.skeleton.marker_names
    motion, errors = add_riders(recording, motion, errors)
    motion = _with_marker_rms(motion, recording.names, errors)
    motion = _with_toes_bent(motion, options)
    standing = standing_of(motion)
    return Solved(
        recording,
        motion,
        errors,
        plan.recognition.set_name if plan.recognition else chosen[0].name if chosen else "",
        (
            *bad,
            *recording.source.problems,
            *plan.warnings,
            *sudden(motion),
            *strange,
            *sunken_soles(standing),
        ),
        dict(watch.seconds),
        standing.contacts,
        plan.findings,
        motion.skeleton.marker_names - posed_by,
        keypoints=_are_keypoints(chosen),
        recognition=plan.recognition,
        next_markers=plan.next_markers,
        landmarks=_landmarks(chosen, plan.recognition),
    )


def _in_columns(result: SolveResult, recording: Recording) -> Array:
    """Return the distances (n_frames, n_markers) of all of a recording's markers."""
    if result.marker_names == recording.names:
        return result.marker_error
    errors = np.full((recording.n_frames, recording.n_markers), np.nan)
    errors[:, [recording.index(name) for name in result.marker_names]] = result.marker_error
    return errors


def _landmarks(chosen: Chosen, recognition: Recognition | None) -> dict[str, str]:
    """Label → landmark, as labels say or as they were recognised."""
    found = recognition.marker_set() if recognition else chosen
    return landmark_names(found[1]) if found else {}


def _with_toes_bent(motion: Motion, options: SolveOptions) -> Motion:
    """The motion with toes on the ground, within their limits where these are to be kept."""
    motion = bend_toes(motion)
    if not options.limits:
        return motion
    return replace(motion, rotations=hold_within(motion.skeleton, motion.rotations, "auto"))


def _with_marker_rms(motion: Motion, names: Sequence[str], errors: Array) -> Motion:
    """The skeleton's markers with their distance over this take."""
    bodies = []
    for body in motion.skeleton.bodies:
        markers = tuple(
            replace(marker, rms=rms_of_seen(errors[:, names.index(marker.name)]))
            if marker.name in names
            else marker
            for marker in body.markers
        )
        bodies.append(replace(body, markers=markers))
    return replace(motion, skeleton=replace(motion.skeleton, bodies=tuple(bodies)))


def _marker_set(labels: Sequence[str], options: SolveOptions) -> Chosen:
    chosen = asked_set(options)
    if chosen is None:
        return recognise(labels) if options.template == "auto" else None
    if options.own_set is not None and not chosen.match(labels):
        raise UnknownName("marker of the own set", next(iter(chosen.markers), ""), labels)
    return with_hands(chosen, labels)


def _check_solvable(recordings: Sequence[Recording]) -> None:
    n_markers = max(take.n_markers for take in recordings)
    if n_markers < 2:
        held = counted(n_markers, "marker")
        raise NotEnoughData(f"the file holds {held}; a rig needs several per body")
    if not any(take.seen.any() for take in recordings):
        raise NotEnoughData(f"none of the {n_markers} markers is ever seen")
