"""Whose recordings are whose, by the names in the files; and what is said where names disagree."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from osteon.errors import BadValue, NotEnoughData, UnknownName
from osteon.formats import read
from osteon.human import recognise, with_knee_markers
from osteon.values import Bodies, Recording, Take

Source = str | Path | Take


@dataclass(frozen=True)
class Subject:
    """A person, and all that is known of them."""

    takes: list[Recording] = field(default_factory=list)
    paths: list[Path | None] = field(default_factory=list)
    """The file of each take; None where none was read."""
    stills: list[Recording] = field(default_factory=list)
    """Takes that only help to calibrate."""
    notes: list[str] = field(default_factory=list)
    """Which files are taken for this person's, or are not, where names leave it open."""


def subjects_of(
    sources: Sequence[Source], static: Sequence[Source], only: str | None = None
) -> dict[str, Subject]:
    """Sort out everybody recorded, or one of them, by name; files of one person need no name. Two
    hands without a body are two subjects."""
    _check_once(sources)
    takes = [_take(source) for source in sources]
    files = [_hands_apart(file) for file in _named([_markers(take) for take in takes])]
    if not any(files):
        raise NotEnoughData(_no_markers(takes))
    subjects: dict[str, Subject] = {}
    for source, file in zip(sources, files, strict=True):
        for recording in file:
            own = subjects.setdefault(recording.subject, Subject())
            own.takes.append(recording)
            own.paths.append(None if isinstance(source, Take) else Path(source))
    _note_apart(subjects, [file[0] for file in files if len(file) == 1])
    if only is not None and only not in subjects:
        raise UnknownName("subject", only, [name for name in subjects if name])
    chosen = subjects if only is None else {only: subjects[only]}
    for source in static:
        _share_out(_hands_apart(_markers(_take(source))), chosen, set(subjects))
    return chosen


def _check_once(sources: Sequence[Source]) -> None:
    """Refuse a file that is given twice: it would count as evidence twice."""
    given: set[Path] = set()
    for path in [Path(source) for source in sources if not isinstance(source, Take)]:
        if path.resolve() in given:
            raise BadValue(f"{path} is given twice; its frames would count twice: give it once")
        given.add(path.resolve())


def _take(source: Source) -> Take:
    return source if isinstance(source, Take) else read(source)


def _markers(take: Take) -> list[Recording]:
    """Of everybody in a file; of segments that lie on joints, as Theia's, their origins."""
    segments = [] if take.recordings else [each for each in take.bodies if _on_joints(each)]
    return [with_knee_markers(recording.markers()) for recording in take.recordings] + [
        Recording(
            each.positions,
            each.names,
            each.rate,
            each.subject,
            marks=each.marks,
            history=(*each.history, "origins of segments taken as keypoints"),
            source=each.source,
        )
        for each in segments
    ]


def _on_joints(bodies: Bodies) -> bool:
    known = recognise(bodies.names)
    return known is not None and known[0].keypoints


def _named(files: list[list[Recording]]) -> list[list[Recording]]:
    """Where all files together name one person, those of one without a name are of that one."""
    names = {each.subject for file in files for each in file} - {""}
    if len(names) != 1:
        return files
    return [[replace(file[0], subject=min(names))] if len(file) == 1 else file for file in files]


def _hands_apart(people: Sequence[Recording]) -> list[Recording]:
    """Everybody; who shows nothing but two hands as two, for no body joins them."""
    return [part for one in people for part in (_two_hands(one) or [one])]


def _two_hands(recording: Recording) -> list[Recording]:
    """The left and the right hand of somebody without a body; none where these are not shown."""
    known = recognise(recording.names)
    if known is None or not known[0].of_hands:
        return []
    marks = known[1] | known[0].match_fingers(recording.names)
    hands = []
    for side in ("left", "right"):
        labels = [label for label, mark in marks.items() if mark.body.startswith(f"{side}_")]
        name = "_".join(filter(None, (recording.subject, side, "hand")))
        if recognise(labels):
            hands.append(replace(recording.select(labels), subject=name))
    return hands if len(hands) == 2 else []


def _no_markers(takes: Sequence[Take]) -> str:
    held = " and ".join(dict.fromkeys(kind for take in takes for kind in take.kinds))
    goes = "; a motion goes to: osteon fit, limits, axes or map" if "motion" in held else ""
    goes = "; bodies go to: osteon joints" if "bodies" in held else goes
    return f"there are no markers to solve, only {held or 'nothing'}{goes}"


def _note_apart(subjects: dict[str, Subject], alone: Sequence[Recording]) -> None:
    """Files of one person each, under several names, may be meant as one person's."""
    for name, subject in subjects.items():
        others = [each for each in alone if each.subject != name]
        if others and any(each.subject == name for each in alone):
            told = ", ".join(f"{file_of(each)} ({_called(each.subject)})" for each in others)
            subject.notes.append(
                f"{_called(name)}, calibrated apart from {told}, for the names differ; if they are "
                "one person, give the others as `static`"
            )


def _share_out(still: list[Recording], chosen: dict[str, Subject], known: set[str]) -> None:
    """A standing trial to whom it shows; where that is nobody here, everybody's notes say so."""
    only = next(iter(chosen)) if len(chosen) == 1 else None
    used = False
    for recording in still:
        by_name = recording.subject in chosen and (recording.subject or only is not None)
        if by_name:
            chosen[recording.subject].stills.append(recording)
        elif only is not None and len(still) == 1 and recording.subject not in known - {""}:
            chosen[only].stills.append(recording)
            if recording.subject and only:
                chosen[only].notes.append(
                    f"{file_of(recording)} calls its subject {recording.subject!r}; taken for "
                    f"{only!r}, the only one solved"
                )
        else:
            continue
        used = True
    if not used:
        note = _why_not(still, sorted(chosen))
        for subject in chosen.values():
            subject.notes.append(note)


def _why_not(still: Sequence[Recording], solved: Sequence[str]) -> str:
    if not still:
        return "a `static` take was not used: it holds no markers"
    held = " and ".join(_called(each.subject) for each in still)
    here = " and ".join(map(_called, solved))
    return (
        f"{file_of(still[0])} was not used: it shows {held}, solved is {here}; say with `subject` "
        "whom to solve with it, or give a file of that person alone"
    )


def _called(name: str) -> str:
    return repr(name) if name else "somebody without a name"


def file_of(recording: Recording) -> str:
    """Return the name of the file it was read from."""
    return recording.source.file or "a take"
