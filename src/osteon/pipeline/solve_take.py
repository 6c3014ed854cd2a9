"""One or several takes of a subject → rig and motion."""

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from osteon.calibration import (
    Calibration,
    Share,
    calibrate,
    calibrate_blind,
    unheard,
    with_hinges,
    with_passengers,
)
from osteon.cleaning import check_size, oddities, put_right, upright
from osteon.errors import NotEnoughData, UnknownName, counted
from osteon.human import (
    Landmark,
    MarkerSet,
    another_fits_better,
    known_sets,
    load_set,
    misfit,
    recognise,
    unrecognised,
)
from osteon.identity import TakeFindings, hold_against
from osteon.pipeline.subjects_in_files import Subject, file_of, subjects_of
from osteon.posing import (
    Contact,
    PoseOptions,
    Standing,
    rms_of_seen,
    rms_per_marker,
    soles_off,
    solve as solve_pose,
    standing_of,
    sudden_turns,
)
from osteon.threads import one_thread
from osteon.typing import Array
from osteon.values import Event, Motion, Passport, Recording, Skeleton, Swap, Take

Progress = Callable[[str], None]
Chosen = tuple[MarkerSet, dict[str, Landmark]] | None
"""The marker set to use and the labels found of it; None: by motion alone."""
SOMEBODY_ELSE = 0.02
"""Metres: twice what skin moves markers, and more than a marker set put on anew adds."""
FAR = 0.025
"""Metres RMS from its place above which a marker was elsewhere at times: skin stays below."""
SUNKEN = 0.015
"""Metres off the ground at which a user is told of a sole."""
SOME = 5
"""Names that a sentence lists before it counts the others."""
AT_ONCE = 1.0
"""Seconds that nobody minds waiting without a word."""


@dataclass(frozen=True)
class SolveOptions:
    """What a user may ask of ``solve``."""

    template: str = "auto"
    """``auto`` recognises the marker set by its labels, ``none`` goes by motion alone, else the
    name of a set."""
    own_set: str | Path | None = None
    """A TOML file with the user's own marker set."""
    hips: str = "harrington"
    """Regression for the hip centres: ``harrington``, ``davis`` or ``seidel``."""
    skeleton: Skeleton | None = None
    """A subject calibrated before; then only the poses are solved."""
    passport: Passport | None = None
    """A performer known before: each take is held against it and solved with what it says."""
    limits: bool = False
    """Keep joints within the limits of ``skeleton``."""
    clean: bool = True
    """Repair exchanged labels and take out spikes before anything else."""
    smooth: bool = False
    """Use time as well: one fit over the whole take, noise levels estimated from it."""


@dataclass(frozen=True, eq=False)
class Solved:
    """One subject of one take, solved."""

    recording: Recording
    """The markers as they were solved: cleaned, z up."""
    motion: Motion
    marker_error: Array
    """(n_frames, n_markers) distance from model to data in the recording's order, metres; NaN
    where not seen or not on the skeleton."""
    marker_set: str
    """Name of the set that was recognised; empty where there was none."""
    warnings: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    contacts: tuple[Contact, ...] = ()
    """Feet that stand on the ground."""
    findings: TakeFindings | None = None
    """What differs from the passport, where one was given."""
    riders: frozenset[str] = frozenset()
    """Markers that no set knows and that ride on a body: they did not shape the rig."""
    path: Path | None = None
    """Where the recording was read from; None where no file was given."""
    by_hand: Skeleton | None = None
    """Where kinds and limits of joints were found: the skeleton without them, with those alone that
    were said by hand."""

    @property
    def skeleton(self) -> Skeleton:
        return self.motion.skeleton

    @property
    def events(self) -> tuple[Event, ...]:
        return self.skeleton.events

    @property
    def points(self) -> str:
        """What ``recording`` holds: ``markers``, or ``joints`` that stand in their place."""
        return "joints" if self.recording.names == self.skeleton.names else "markers"

    @property
    def fit_error(self) -> Array:
        """``marker_error`` of the markers that shaped the rig; NaN for those that ride along."""
        riding = [name in self.riders for name in self.recording.names]
        return np.where(riding, np.nan, self.marker_error)

    @property
    def rms(self) -> float:
        """Over all markers that shaped the rig and all frames, metres."""
        return float(np.sqrt(np.nanmean(self.fit_error**2)))

    def rms_per_marker(self) -> dict[str, float]:
        """Of those that shaped the rig, metres, worst first."""
        return rms_per_marker(self.recording.names, self.fit_error)


class Stopwatch:
    """Seconds by stage, and a word to whoever watches."""

    def __init__(self, progress: Progress) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress

    def tenths(self, saying: str) -> Callable[[float], None]:
        """Says how far a step is, at every tenth of those that take their time."""
        told, start = 0, time.perf_counter()

        def tell(share: float) -> None:
            nonlocal told
            if told < int(10.0 * share) < 10 and time.perf_counter() - start > AT_ONCE:
                told = int(10.0 * share)
                self._progress(f"{saying}, {told}0 %")

        return tell

    @contextmanager
    def stage(self, name: str, saying: str = "") -> Iterator[None]:
        if saying:
            self._progress(saying)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@one_thread()
def solve(
    *sources: str | Path | Take,
    static: Sequence[str | Path | Take] = (),
    subject: str | None = None,
    options: SolveOptions | None = None,
    progress: Progress = lambda saying: None,
) -> tuple[Solved, ...]:
    """The whole job: recordings in, a rig with motion out for every subject and take.

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
    solved = []
    for name, one in subjects.items():
        own = _solve_subject(name, one, options or SolveOptions(), watch)
        solved += [replace(each, path=path) for each, path in zip(own, one.paths, strict=True)]
    return tuple(solved)


def _solve_subject(
    name: str, subject: Subject, options: SolveOptions, watch: Stopwatch
) -> list[Solved]:
    everything: Sequence[Recording] = [*subject.takes, *subject.stills]
    n_takes = len(subject.takes)
    _check_solvable(everything)
    chosen = set_of(everything, options)
    with watch.stage("clean", "looking for swapped labels and spikes" if options.clean else ""):
        everything, swaps = zip(*(prepared(t, chosen, options) for t in everything), strict=True)
    saying = _calibrating(name or "the subject", chosen, options)
    with watch.stage("calibrate", saying):
        plans = _plans(name, everything, n_takes, chosen, options, watch.tenths(saying))
    set_name = chosen[0].name if chosen else ""
    solved = []
    for take, plan, found in zip(everything[:n_takes], plans, swaps, strict=False):
        notes = (*subject.notes, *_no_help(everything[n_takes:], plan, options))
        told = replace(plan, warnings=(*notes, *plan.warnings))
        solved.append(_solve_take(take, told, found, set_name, watch, options))
    return solved


def _no_help(stills: Sequence[Recording], plan: "_Plan", options: SolveOptions) -> list[str]:
    """A word about each standing trial that had no say in the skeleton."""
    if options.skeleton is not None or options.passport is not None:
        given = "--skeleton" if options.skeleton is not None else "--passport"
        return [f"{file_of(still)} was not used: with {given} none calibrates" for still in stills]
    worn = [[name in plan.skeleton.marker_names for name in still.names] for still in stills]
    return [
        f"{file_of(still)} was not used: none of its markers is on the rig"
        for still, on_rig in zip(stills, worn, strict=True)
        if not still.measured[:, on_rig].any()
    ]


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
        return [_Plan(options.skeleton)] * n
    if options.passport is not None:
        return [_by_passport(name, take, options.passport, chosen, options) for take in takes[:n]]
    calibration = calibrate_subject(takes, chosen, options, name, progress)
    return [_Plan(calibration.skeleton, calibration.doubts)] * n


def _by_passport(
    name: str, take: Recording, passport: Passport, chosen: Chosen, options: SolveOptions
) -> _Plan:
    findings, own = hold_against(
        passport, take, lambda: calibrate_subject([take], chosen, options, name)
    )
    if own is None:
        assert findings.skeleton is not None
        return _Plan(findings.skeleton, findings.sentences(), findings)
    return _Plan(own.skeleton, (*findings.sentences(), *own.doubts), findings)


def set_of(takes: Sequence[Recording], options: SolveOptions) -> Chosen:
    """The marker set that a subject wears, by the labels of all its takes."""
    return _marker_set(_labels_of(takes), options)


def _labels_of(takes: Sequence[Recording]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label for take in takes for label in take.names))


def prepared(
    recording: Recording, chosen: Chosen, options: SolveOptions
) -> tuple[Recording, tuple[Swap, ...]]:
    """A take as it is calibrated and solved: z up, cleaned where asked; and the swaps repaired."""
    found = chosen[1] if chosen else {}
    check_size(recording, found)
    turned = upright(recording, found)
    turned = _noted(turned, told_oddities(turned, found))
    return put_right(turned) if options.clean else (turned, ())


def told_oddities(recording: Recording, found: dict[str, Landmark]) -> tuple[str, ...]:
    """What no person is like, each with the command that mends it."""
    file = recording.source.file or "FILE"
    mended = f"osteon convert {shlex.quote(file)} {shlex.quote(f'mended-{file}')}"
    return tuple(
        f"{odd.what}; mend it with: {mended} {', or '.join(odd.mends)}"
        for odd in oddities(recording, found)
    )


def _noted(recording: Recording, told: Sequence[str]) -> Recording:
    """With more to say about it, first of all."""
    before = recording.source.problems
    new = tuple(sentence for sentence in told if sentence not in before)
    return replace(recording, source=replace(recording.source, problems=(*new, *before)))


def calibrate_subject(
    takes: Sequence[Recording],
    chosen: Chosen,
    options: SolveOptions,
    subject: str = "",
    progress: Share = unheard,
) -> Calibration:
    """The subject of prepared takes; by motion alone where no set is known."""
    labels = _labels_of(takes)
    if chosen is None:
        blind = calibrate_blind(takes, subject=subject, progress=progress)
        longest = max(takes, key=lambda take: take.n_frames)
        why = () if options.template == "none" else (unrecognised(labels),)
        skeleton = with_hinges(blind.skeleton, longest)
        return replace(blind, skeleton=skeleton, doubts=(*why, *blind.doubts))
    try:
        calibration = calibrate(
            takes, chosen[1], hips=options.hips, subject=subject, progress=progress
        )
    except NotEnoughData as error:
        if told := misfit(chosen[0], labels):
            raise NotEnoughData(f"{error}; {told}") from None
        raise
    if options.own_set is not None or not another_fits_better(chosen[0], labels):
        return calibration
    return replace(calibration, doubts=(misfit(chosen[0], labels), *calibration.doubts))


def _solve_take(
    recording: Recording,
    plan: _Plan,
    swaps: tuple[Swap, ...],
    set_name: str,
    watch: Stopwatch,
    options: SolveOptions,
) -> Solved:
    skeleton = replace(plan.skeleton, events=(*plan.skeleton.events, *swaps))
    saying = f"solving {counted(recording.n_frames, 'frame')}"
    with watch.stage("solve", saying):
        result = solve_pose(
            recording,
            skeleton,
            options=PoseOptions(loss="geman-mcclure"),
            smooth=options.smooth,
            limits="auto" if options.limits else "none",
            progress=watch.tenths(saying),
        )
    errors = np.full((recording.n_frames, recording.n_markers), np.nan)
    errors[:, [recording.index(name) for name in result.marker_names]] = result.marker_error
    strange = _far(recording.names, errors) if options.skeleton is None else _strange(errors)
    motion, errors = with_passengers(recording, result.motion, errors)
    motion = _with_marker_rms(motion, recording.names, errors)
    standing = standing_of(motion)
    return Solved(
        recording,
        motion,
        errors,
        set_name,
        (
            *recording.source.problems,
            *plan.warnings,
            *_sudden(motion),
            *strange,
            *_sunken(standing),
        ),
        dict(watch.seconds),
        standing.contacts(),
        plan.findings,
        motion.skeleton.marker_names - result.motion.skeleton.marker_names,
    )


def _sunken(standing: Standing) -> tuple[str, ...]:
    """A word about soles that are not on the ground where they stand."""
    off = {body: high for body, high in soles_off(standing).items() if abs(high) > SUNKEN}
    if not off:
        return ()
    told = [f"{b} {1e3 * abs(h):.0f} mm {'above' if h > 0 else 'below'}" for b, h in off.items()]
    return (
        f"soles stand off the ground: {', '.join(told)}; feet that never stand flat, markers that "
        "moved since the calibration, or a floor that is none?",
    )


def _strange(errors: Array) -> tuple[str, ...]:
    """A word where a skeleton that was given is hardly that of who was recorded."""
    rms = rms_of_seen(errors)
    if rms is None or rms < SOMEBODY_ELSE:
        return ()
    return (
        f"markers are {1e3 * rms:.0f} mm rms from the skeleton that was given: of another person, "
        "or with markers elsewhere? without --skeleton the take calibrates its own",
    )


def _far(names: Sequence[str], errors: Array) -> tuple[str, ...]:
    """A word about markers that are not always where the rig has them, worst first."""
    off = rms_per_marker(names, errors)
    far = [name for name, rms in off.items() if rms > FAR]
    if not far:
        return ()
    told = [f"{name} {1e3 * off[name]:.0f} mm" for name in far[:SOME]]
    others = f" and {len(far) - SOME} others" if len(far) > SOME else ""
    return (
        f"far from their place on the rig, rms: {', '.join(told)}{others}; labels exchanged for a "
        "while, markers that slipped, or a joint that the rig lacks?",
    )


def _sudden(motion: Motion) -> tuple[str, ...]:
    """A word about joints that turn faster than people do, because their markers do."""
    turns = sudden_turns(motion)
    if not turns:
        return ()
    told = [
        f"{body} turns {np.degrees(angle):.0f}° in one frame at frame {frame}"
        for body, frame, angle in turns[:SOME]
    ]
    others = f" and {len(turns) - SOME} other joints" if len(turns) > SOME else ""
    return (
        f"{', '.join(told)}{others}: its markers ask for it; exchanged, slipped, or seen again "
        "after a long gap?",
    )


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
    if options.own_set is not None:
        chosen = load_set(options.own_set)
        found = chosen.match(labels)
        if not found:
            raise UnknownName("marker of the own set", next(iter(chosen.markers), ""), labels)
        return chosen, found
    if options.template == "auto":
        return recognise(labels)
    if options.template == "none":
        return None
    by_name = {each.name.lower(): each for each in known_sets()}
    if options.template.lower() not in by_name:
        raise UnknownName("marker set", options.template, [each.name for each in known_sets()])
    chosen = by_name[options.template.lower()]
    return chosen, chosen.match(labels)


def _check_solvable(recordings: Sequence[Recording]) -> None:
    n_markers = max(take.n_markers for take in recordings)
    if n_markers < 2:
        raise NotEnoughData(f"{n_markers} marker shows no body; a rig needs several per body")
    if not any(take.seen.any() for take in recordings):
        raise NotEnoughData(f"none of the {n_markers} markers is ever seen")
