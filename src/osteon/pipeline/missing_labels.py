"""Recordings whose tracks have no labels, or break: labelled before anything else is done.

Labels that are fine cost a look at the names and at who is seen when, no more.
"""

import re
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from osteon.cleaning import prepare
from osteon.human import MarkerSet, load_set, recognise
from osteon.labelling import (
    Labelled,
    cut_pieces,
    label,
    set_named,
    share_of_samples,
    sure_chains,
)
from osteon.pipeline.people_apart import people_apart
from osteon.pipeline.solved import SolveOptions, Stopwatch
from osteon.pipeline.subjects_in_files import Subject, file_of
from osteon.pipeline.unknown_markers import calibrate_unknown
from osteon.typing import Progress, unheard
from osteon.values import Recording, Skeleton

NAMELESS = re.compile(
    r"(\*|#|u|uname|un-?label?led|unknown|unidentified|unassigned|traj\w*|track|point|marker)?"
    r"[\s_:*-]*\d+|",
    re.IGNORECASE,
)
"""Names that capture programs give to tracks which nobody has labelled."""
TRACK_SHARE = 0.5
"""Share of the take below which a track's life, from first to last frame, is but a piece, and of
tracks that are such, from which all are joined first. Chosen: a marker that hides comes back."""
CHANGED_SHARE = 0.1
"""Ratio of markers that change their track to all tracks, from which tracks without a name are
joined first. Measured: 0 to 0.05 on 25 labelled takes, 0.32 on an unlabelled one."""
FILLED_SHARE = 0.02
"""Share of a set's samples that are missing while tracks without a name are there, from which these
are looked at. Chosen: as much as a marker of fifty."""


def with_labels(
    subjects: dict[str, Subject], options: SolveOptions, watch: Stopwatch
) -> dict[str, Subject]:
    """Return everybody with labels; several, where one cloud turns out to be several people."""
    given: dict[str, Subject] = {}
    for name, subject in subjects.items():
        everything = [*subject.takes, *subject.stills]
        if not any(lacks_labels(take, options) for take in everything):
            given |= people_apart(name, subject, options)
            continue
        with watch.stage("label", "labelling tracks that have no label"):
            given |= _labelled_subjects(name, subject, options)
    return given


def lacks_labels(take: Recording, options: SolveOptions) -> bool:
    """Whether tracks must be labelled before they say anything, or some may fill others' gaps."""
    asked = asked_set(options)
    if (asked is not None and asked.keypoints) or take.seen.any(axis=0).sum() < 3:
        return False
    person, known = _person(options), _known_labels(take, options)
    if known:
        return _filled_by_nameless(take, known) > FILLED_SHARE
    nameless = all(map(_is_nameless, take.names))
    if person is None and asked is None:
        return _in_pieces(take) or (nameless and _change_markers(take))
    return person is not None or _in_pieces(take) or nameless


def asked_set(options: SolveOptions) -> MarkerSet | None:
    """The set that was asked for by file or name; None where none was."""
    if options.own_set is not None:
        return load_set(options.own_set)
    if options.template in ("auto", "none"):
        return None
    return set_named(options.template)


def _person(options: SolveOptions) -> Skeleton | None:
    if options.skeleton is not None or options.passport is None:
        return options.skeleton
    return options.passport.skeleton


def _known_labels(take: Recording, options: SolveOptions) -> Collection[str]:
    """Return the tracks whose names say who they are."""
    if (person := _person(options)) is not None:
        return person.marker_names & set(take.names)
    if (asked := asked_set(options)) is not None:
        return asked.match(take.names)
    known = recognise(take.names) if options.template == "auto" else None
    return () if known is None or known[0].keypoints else known[1]


def _is_nameless(name: str) -> bool:
    return NAMELESS.fullmatch(name) is not None


def _in_pieces(take: Recording) -> bool:
    """Whether most tracks end for good long before the take does."""
    seen = take.seen[:, take.seen.any(axis=0)]
    lives = len(seen) - np.argmax(seen, axis=0) - np.argmax(seen[::-1], axis=0)
    return bool((lives < TRACK_SHARE * len(seen)).mean() > TRACK_SHARE)


def _change_markers(take: Recording) -> bool:
    """Whether many markers surely go on in another track than the one they began in."""
    chains = sure_chains(cut_pieces(take))
    columns = chains.pieces.column
    changed = [len(set(columns[chains.members(chain)])) > 1 for chain in range(len(chains))]
    return sum(changed) > CHANGED_SHARE * take.n_markers


def _filled_by_nameless(take: Recording, known: Collection[str]) -> float:
    """Return the share of known labels' samples that are missing while as many tracks without a
    name are seen."""
    nameless = [_is_nameless(name) and name not in known for name in take.names]
    if not any(nameless):
        return 0.0
    seen, worn = take.seen, [name in known for name in take.names]
    missing = len(known) - seen[:, worn].sum(axis=1)
    return float(np.minimum(missing, seen[:, nameless].sum(axis=1)).mean() / len(known))


def _labelled_subjects(name: str, subject: Subject, options: SolveOptions) -> dict[str, Subject]:
    """Return a subject's takes with labels; where one shows several people, these instead."""
    own, others = Subject(notes=list(subject.notes)), {}
    person = _person_of(subject, options)
    for take, path in zip(subject.takes, subject.paths, strict=True):
        found = _labelled(take, options, person)
        own.notes.extend(_notes(take, found))
        for each in found.people if found is not None else ():
            who = _called(each, take, alone=len(subject.takes) == 1)
            one = replace(each.recording, subject=who)
            others[who] = Subject([one], [path], notes=[*subject.notes, *_notes(take, found)])
        if found is None or not found.people:
            own.takes.append(_whole(take, found))
            own.paths.append(path)
    for still in subject.stills:
        found = _labelled(still, options, person)
        own.notes.extend(_notes(still, found))
        own.stills.append(_whole(still, found))
    return others | ({name: own} if own.takes else {})


def _called(person: Labelled, take: Recording, *, alone: bool) -> str:
    name = person.recording.subject
    return name if alone else f"{file_of(take)} {name}"


def _person_of(subject: Subject, options: SolveOptions) -> Skeleton | None:
    """Return who wears the markers, where that is known; of several takes of which nothing is, whom
    the longest shows, for names by motion mean nothing in another take."""
    person, everything = _person(options), [*subject.takes, *subject.stills]
    longest = max(everything, key=lambda take: take.n_frames)
    if person is not None or len(everything) == 1 or asked_set(options) is not None:
        return person
    if _known_labels(longest, options) or not lacks_labels(longest, options):
        return None
    joined, _ = prepare(label(longest, marker_set="none").recording)
    return calibrate_unknown([joined], options, subject.takes[0].subject).skeleton


def labelled_take(take: Recording, options: SolveOptions) -> Recording:
    """Return a take of one person with labels, as ``solve`` gives them where they are missing."""
    found = _labelled(take, options, _person(options))
    return take if found is None or found.people else _whole(take, found)


def _labelled(take: Recording, options: SolveOptions, person: Skeleton | None) -> Labelled | None:
    """Return a take with labels; None where it has them."""
    return label_tracks(take, options, person) if lacks_labels(take, options) else None


def label_tracks(
    take: Recording,
    options: SolveOptions,
    person: Skeleton | None = None,
    progress: Progress = unheard,
) -> Labelled:
    """Return a take with labels, of who is known, of the set asked for, or by motion."""
    if person is not None:
        return label(take, skeleton=person, progress=progress)
    worn = "none" if options.template == "none" else asked_set(options) or "auto"
    return label(take, marker_set=worn, progress=progress)


def _whole(take: Recording, found: Labelled | None) -> Recording:
    return take if found is None else with_named_tracks(take, found)


def with_named_tracks(take: Recording, found: Labelled) -> Recording:
    """Return the labelled markers, with those beside them that had names of their own."""
    used = {piece.track for piece in found.pieces if piece.label}
    taken = used | set(found.recording.names)
    beside = [name for name in take.names if not _is_nameless(name) and name not in taken]
    if not beside:
        return found.recording
    columns = [take.index(name) for name in beside]
    labelled, residuals = found.recording, found.recording.residuals
    if residuals is not None and take.residuals is not None:
        residuals = np.concatenate([residuals, take.residuals[:, columns]], axis=1)
    return replace(
        labelled,
        positions=np.concatenate([labelled.positions, take.positions[:, columns]], axis=1),
        names=(*labelled.names, *beside),
        residuals=residuals,
    )


def _notes(take: Recording, found: Labelled | None) -> list[str]:
    """Tell that labels were missing, and how sure those are that were found."""
    if found is None:
        return []
    doubtful = share_of_samples(found.pieces, found.doubtful)
    who = f" of {len(found.people)} people" if found.people else ""
    by = {"motion": "motion alone", "skeleton": "the skeleton"}.get(found.by, f"the set {found.by}")
    shares = (found.labelled, doubtful, 1.0 - found.labelled)
    labelled, doubted, left_open = (f"{100.0 * share:.1f} %" for share in shares)
    told = (
        f"{file_of(take)}: labels were missing or broke; of the samples{who} {labelled} "
        f"labelled by {by}, {doubted} doubtful, {left_open} left open"
    )
    return [told, *found.warnings]
