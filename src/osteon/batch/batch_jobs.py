"""The jobs of a batch. Each runs on any worker and leaves one whole folder, or nothing.

A job's result is its record, small enough to send home; frames stay on disk. A job that finds its
folder finished returns the record there: after a lost connection nothing is done twice.
"""

import shutil
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import msgspec

import osteon
from osteon.batch.places import (
    BatchFolders,
    BatchOptions,
    Quality,
    SubjectRecord,
    Survey,
    TakeRecord,
    read_record,
    sizes_in,
    subjects_of,
    whole_folder,
    write_record,
)
from osteon.batch.subject_takes import (
    calibrate_bodies,
    calibrate_markers,
    sample_markers,
    solve_bodies,
    solve_markers,
    sum_bodies,
)
from osteon.errors import FormatError, NotEnoughData, OsteonError, UnknownFormat, WrongContent
from osteon.formats import FOLDER_INDEX, content_hash, file_name, read, write_passport
from osteon.pipeline import make_passport
from osteon.values import Bodies, Origin, Recording

TELLING = (".c3d", ".trc")
"""Endings that promise a recording: without one inside the file is damaged, not another kind."""
J = TypeVar("J", bound="Job")
R = TypeVar("R", Survey, SubjectRecord, TakeRecord)


@dataclass(frozen=True)
class Job:
    """What every job needs to know."""

    verb: ClassVar[str]
    """What doing it is called."""

    places: BatchFolders
    options: BatchOptions
    name: str
    """Of the take or subject it is about."""


@dataclass(frozen=True)
class SurveyJob(Job):
    verb = "looking at"


@dataclass(frozen=True)
class SubjectJob(Job):
    verb = "calibrating"

    takes: tuple[str, ...]


@dataclass(frozen=True)
class PassportJob(Job):
    verb = "passports"

    motions: tuple[Path, ...]
    """Folders of solved takes."""
    origins: tuple[Origin, ...]
    noise: float
    """Metres."""


@dataclass(frozen=True)
class TakeJob(Job):
    verb = "solving"

    record: TakeRecord
    """As it will be, but for the quality."""


def run_job(job: Job) -> Any:
    """Do a job of whatever kind, on any worker."""
    return _WORK[type(job)](job)


def stamp(path: Path) -> tuple[int, int]:
    """Size and time of change of a file, or of the folder that stands for one; −1 if it is gone."""
    try:
        status = (path / FOLDER_INDEX if path.is_dir() else path).stat()
    except OSError:
        return -1, -1
    return status.st_size, status.st_mtime_ns


def survey(job: SurveyJob) -> Survey:
    """Read a file once: whose it is, its hash, and a sample of its frames."""
    path, found = job.places.recording(job.name), survey_record(job)

    def tell(problem: Exception) -> dict:
        return {"skipped" if _no_take(problem, path) else "problem": _sentence(problem)}

    return _leave_folder(job.places.survey(job.name), job, found, _facts, tell)


def survey_record(job: SurveyJob, problem: str = "") -> Survey:
    """Return a survey's record before anything is known of the file."""
    size, modified = stamp(job.places.recording(job.name))
    return Survey(
        take=job.name,
        size=size,
        modified_ns=modified,
        looking=job.options.looking(),
        problem=problem,
    )


def _facts(job: SurveyJob, folder: Path) -> dict:
    """Return the survey's remaining fields; what calibration will need is left in ``folder``."""
    path = job.places.recording(job.name)
    take = read(path)
    people: Sequence[Recording] | Sequence[Bodies] = take.recordings or take.bodies
    if not people:
        held = " and ".join(take.kinds) or "nothing"
        raise WrongContent(path, f"holds {held}; a batch solves markers or bodies")
    if take.recordings:
        sample_markers(take.recordings, folder, job.options)
    else:
        sum_bodies(take.bodies, folder)
    in_file = [person.subject for person in people]
    return {
        "sha256": content_hash(path),
        "kind": "markers" if take.recordings else "bodies",
        "subjects": subjects_of(job.name, in_file, job.options.subjects),
        "frames": people[0].n_frames,
        "rate": people[0].rate,
        "software": people[0].source.software,
    }


def calibrate(job: SubjectJob) -> SubjectRecord:
    """Fit a subject to the samples of all its takes."""
    return _leave_folder(job.places.subject(job.name), job, subject_record(job), _calibrated)


def subject_record(job: SubjectJob, problem: str = "") -> SubjectRecord:
    """Return a subject's record before anything is known of it."""
    return SubjectRecord(
        subject=job.name,
        options=job.options.calibrating(),
        version=osteon.__version__,
        takes=job.takes,
        problem=problem,
    )


def _calibrated(job: SubjectJob, folder: Path) -> dict:
    kinds, surveys = set(), []
    for take in job.takes:
        known = read_record(job.places.survey(take), Survey)
        assert known is not None
        kinds.add(known.kind)
        surveys.append((job.places.survey(take), known.subjects.index(job.name)))
    if len(kinds) > 1:
        raise NotEnoughData(
            "some takes hold markers and some bodies; put them in folders of their own, or name "
            "the subjects apart with `subjects`"
        )
    if kinds == {"markers"}:
        facts = calibrate_markers(job.name, surveys, folder, job.options)
    else:
        facts = calibrate_bodies(job.name, surveys, folder)
    return facts | {"skeleton": content_hash(folder / "skeleton.json")}


def solve_take(job: TakeJob) -> TakeRecord:
    """Solve every subject of a take and write its folder."""
    done = find_finished(job)
    return done or _leave_folder(job.places.take(job.name), job, job.record, _solved)


def find_finished(job: TakeJob) -> TakeRecord | None:
    """Return what is there of a take that need not be solved again: the same work, every file
    whole."""
    target = job.places.take(job.name)
    done = read_record(target, TakeRecord)
    if done is None or done.key != job.record.key or (done.problem and job.options.retry):
        return None
    there = sizes_in(target)
    whole = all(there.get(name) == size for name, size in done.files)
    return done if whole else None


def _solved(job: TakeJob, folder: Path) -> dict:
    path = job.places.recording(job.name)
    if content_hash(path) != job.record.sha256:
        raise FormatError(path, "changed while the batch was at work; start the batch again")
    take = read(path)
    people: Sequence[Recording] | Sequence[Bodies] = take.recordings or take.bodies
    qualities = tuple(
        _person(job, person, subject, folder, "" if len(people) == 1 else file_name(subject))
        for person, subject in zip(people, job.record.subjects, strict=True)
    )
    return {"people": qualities, "files": tuple(sizes_in(folder).items())}


def _person(
    job: TakeJob, person: Recording | Bodies, subject: str, folder: Path, name: str
) -> Quality:
    home = job.places.subject(subject)
    skeleton, known = read(home / "skeleton.json").skeleton(), read_record(home, SubjectRecord)
    doubts = () if known is None else known.doubts
    facts = {"take": job.name, "sha256": job.record.sha256}
    (folder / name).mkdir(exist_ok=True)
    if isinstance(person, Recording):
        found = solve_markers(person, skeleton, doubts, folder / name, job.options, facts)
    else:
        found = solve_bodies(person, skeleton, doubts, folder / name, facts)
    return msgspec.structs.replace(found, folder=name)


def passport(job: PassportJob) -> str:
    """Write a subject's passport from its solved takes; returns what hindered it, or nothing."""
    folder = job.places.subject(job.name)
    try:
        skeleton = read(folder / "skeleton.json").skeleton()
        motions = [read(each / "motion.bvh").motion() for each in job.motions]
        made = make_passport(skeleton, motions, job.origins, job.noise)
        write_passport(folder / "passport.json", made)
    except Exception as error:  # a subject without a passport is solved all the same
        return _sentence(error)
    return ""


def _leave_folder(
    target: Path,
    job: J,
    record: R,
    work: Callable[[J, Path], dict],
    tell: Callable[[Exception], dict] = lambda problem: {"problem": _sentence(problem)},
) -> R:
    """Leave a whole folder with what ``work`` writes and its record, to which it adds fields.

    Of work that fails only the record stays, with what ``tell`` makes of the problem.
    """
    with whole_folder(target, job.places.unfinished) as folder:
        try:
            facts = work(job, folder)
        except Exception as error:  # one bad file never stops the rest
            for inside in folder.iterdir():
                shutil.rmtree(inside) if inside.is_dir() else inside.unlink()
            facts = tell(error)
        record = msgspec.structs.replace(record, **facts)
        write_record(folder, record)
    return record


def _sentence(problem: Exception) -> str:
    if isinstance(problem, FormatError):  # whose file it is stands beside it
        return ", ".join(filter(None, [problem.place, problem.problem]))
    if isinstance(problem, OsteonError):
        return str(problem)
    if isinstance(problem, MemoryError):
        return "not enough memory for this file"
    words = " ".join(str(problem).split())
    place = traceback.extract_tb(problem.__traceback__)[-1]
    where = f"{Path(place.filename).name}, line {place.lineno}"
    return f"unexpected {type(problem).__name__} in {where}: {words or 'no more is known'}"


def _no_take(problem: Exception, path: Path) -> bool:
    """Return whether a file is simply something else."""
    if isinstance(problem, WrongContent):
        return True
    return isinstance(problem, UnknownFormat) and path.suffix.lower() not in TELLING


_WORK: dict[type[Job], Callable[[Any], Any]] = {
    SurveyJob: survey,
    SubjectJob: calibrate,
    TakeJob: solve_take,
    PassportJob: passport,
}
