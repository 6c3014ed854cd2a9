"""The order of a batch: look at every file, calibrate every subject, solve every take."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

import osteon
from osteon.batch import batch_jobs
from osteon.batch.batch_jobs import Job, PassportJob, SubjectJob, TakeJob
from osteon.batch.index import Row, rows_of, write_index
from osteon.batch.places import (
    BatchFolders,
    BatchOptions,
    Quality,
    SubjectRecord,
    Survey,
    TakeRecord,
    find_files,
    only_one,
    read_record,
    whole_folder,
    write_record,
)
from osteon.batch.workers import Lost, Meter, Timed, Workers, cluster, pool
from osteon.errors import OsteonError
from osteon.formats import content_hash, read_passport, remove_unfinished
from osteon.pipeline import MOST_FRAMES
from osteon.threads import one_thread
from osteon.typing import Progress, unheard
from osteon.values import Origin

J = TypeVar("J", bound=Job)
T = TypeVar("T")

SETTLED_SECONDS = 2.0
"""Seconds a file must have been left alone before a watching batch takes it up. Chosen: one that is
still being written is not to be read."""


@dataclass(frozen=True)
class Done:
    """Where a batch stands when nothing is left to do."""

    rows: tuple[Row, ...]
    """One per subject and take, worst first."""
    skipped: tuple[Survey, ...]
    """Files that are no takes, and why."""
    solved: int
    """How many takes were solved this time; the others were done before."""

    @property
    def failed(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.problem)


@one_thread()
def batch(
    folder: str | Path,
    output: str | Path,
    *,
    options: BatchOptions | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress = unheard,
) -> Done:
    """Solve every take below ``folder``; go on where an earlier batch stopped.

    Parameters
    ----------
    workers
        Processes of this machine; by default one per core.
    scheduler
        Address of a dask scheduler whose workers do the work instead, as ``tcp://head:8786``.
    """
    with _batch(folder, output, options, workers, scheduler, progress) as run:
        return run.once()


def watch(
    folder: str | Path,
    output: str | Path,
    *,
    options: BatchOptions | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress = unheard,
    every: float = 5.0,
) -> Iterator[Done]:
    """Run ``batch`` again and again: a result each time that new or changed files were solved.

    Parameters
    ----------
    every
        Seconds between two looks at the folder.
    """
    with _batch(folder, output, options, workers, scheduler, progress) as run:
        yield run.once()
        while True:
            time.sleep(every)
            if run.has_news():
                yield run.once()


@contextmanager
def _batch(
    folder: str | Path,
    output: str | Path,
    options: BatchOptions | None,
    workers: int | None,
    scheduler: str | None,
    progress: Progress,
) -> Iterator["_Run"]:
    # workers elsewhere have another working folder
    places = BatchFolders(Path(folder).resolve(), Path(output).resolve())
    next(find_files(places.source, places.output), None)  # refuse a wrong folder before any output
    team: AbstractContextManager[Workers] = (
        cluster(scheduler, progress) if scheduler else pool(workers)
    )
    with only_one(places), team as hands:
        remove_unfinished(places.unfinished, age=0.0)
        try:
            yield _Run(places, options or BatchOptions(), hands, progress)
        except OSError as error:
            raise OsteonError(
                f"cannot go on in {places.output}: {error}; what is done is kept"
            ) from error
        remove_unfinished(places.unfinished, age=0.0)  # by workers that were killed


class _Run:
    """One coordinator at work."""

    def __init__(
        self, places: BatchFolders, options: BatchOptions, workers: Workers, progress: Progress
    ) -> None:
        self._places, self._options = places, options
        self._workers, self._progress = workers, progress

    def once(self) -> Done:
        """Everything that is there now."""
        surveys = self._surveys(list(find_files(self._places.source, self._places.output)))
        takes = [survey for survey in surveys if survey.kind]
        subjects = self._subjects(takes)
        records, solved = self._takes(takes, subjects)
        self._passports(takes, records)
        rows = rows_of(surveys, records)
        skipped = tuple(survey for survey in surveys if survey.skipped)
        write_index(self._places.output, rows, skipped)
        return Done(rows, skipped, solved)

    def has_news(self) -> bool:
        """Return whether a file came or changed, and is no longer being written."""
        now = time.time_ns()
        for take in find_files(self._places.source, self._places.output):
            _, modified = stamp = batch_jobs.stamp(self._places.recording(take))
            known = read_record(self._places.survey(take), Survey)
            before = None if known is None else (known.size, known.modified_ns)
            if now - modified > 1e9 * SETTLED_SECONDS and stamp != before:
                return True
        return False

    def _surveys(self, files: Sequence[str]) -> list[Survey]:
        jobs = [Job(self._places, self._options, take) for take in files]
        found, _ = self._settle(
            batch_jobs.survey, "looking at", jobs, self._known_survey, self._give_up_survey
        )
        return [found[take] for take in files]

    def _give_up_survey(self, job: Job, lost: Lost) -> Survey:
        record = batch_jobs.survey_record(job, problem=lost.reason)
        self._keep(self._places.survey(job.name), record)
        return record

    def _known_survey(self, job: Job) -> Survey | None:
        """Return what an earlier look found, if file and options are still the same."""
        known = read_record(self._places.survey(job.name), Survey)
        if known is None or known.looking != self._options.looking():
            return None
        if (known.size, known.modified_ns) != batch_jobs.stamp(self._places.recording(job.name)):
            return None
        return None if known.problem and self._options.retry else known

    def _subjects(self, takes: Sequence[Survey]) -> dict[str, SubjectRecord]:
        """Calibrate all subjects; those that are known stay as they are."""
        takes_of: dict[str, list[str]] = {}
        for survey in takes:
            for subject in survey.subjects:
                takes_of.setdefault(subject, []).append(survey.take)
        jobs = [
            SubjectJob(self._places, self._options, subject, tuple(own))
            for subject, own in takes_of.items()
        ]
        found, _ = self._settle(
            batch_jobs.calibrate,
            "calibrating",
            jobs,
            self._known_subject,
            lambda job, lost: batch_jobs.subject_record(job, problem=lost.reason),
        )
        return found

    def _known_subject(self, job: SubjectJob) -> SubjectRecord | None:
        folder = self._places.subject(job.name)
        known = read_record(folder, SubjectRecord)
        if known is None or known.options != self._options.calibrating():
            return None
        file = folder / "skeleton.json"  # cut, changed or gone, it has to be made again
        if known.skeleton and not (file.is_file() and content_hash(file) == known.skeleton):
            return None
        grown = known.takes != job.takes
        # a subject that could not be calibrated gets another chance with every new take
        return None if grown and (known.problem or self._options.recalibrate) else known

    def _takes(
        self, takes: Sequence[Survey], subjects: dict[str, SubjectRecord]
    ) -> tuple[list[TakeRecord], int]:
        plans = [self._plan(survey, subjects) for survey in takes]
        jobs = [TakeJob(self._places, self._options, plan.take, plan) for plan in plans]
        found, solved = self._settle(
            batch_jobs.solve_take, "solving", jobs, _finished_take, self._give_up
        )
        return [found[plan.take] for plan in plans], solved

    def _passports(self, takes: Sequence[Survey], records: Sequence[TakeRecord]) -> None:
        """For each subject that was calibrated now and has a solved take."""
        solved: dict[str, list[Survey]] = {}
        qualities: dict[tuple[str, str], Quality] = {}
        for survey, record in zip(takes, records, strict=True):
            for subject, person in zip(record.subjects, record.people, strict=False):
                solved.setdefault(subject, []).append(survey)
                qualities[subject, survey.take] = person
        wanted = [
            self._passport(subject, own, [qualities[subject, survey.take] for survey in own])
            for subject, own in solved.items()
            if not _is_passport(self._places.subject(subject) / "passport.json")
        ]
        for _ in self._each(batch_jobs.passport, wanted, "passports"):
            pass

    def _passport(
        self, subject: str, takes: Sequence[Survey], people: Sequence[Quality]
    ) -> PassportJob:
        frames = np.cumsum([survey.frames for survey in takes])
        folders = [
            self._places.take(survey.take) / person.folder
            for survey, person in zip(takes, people, strict=True)
        ]
        shown = [each for each, total in zip(folders, frames, strict=True) if total <= MOST_FRAMES]
        squares = np.array([person.rms_mm**2 for person in people])
        weights = np.array([person.frames for person in people])
        return PassportJob(
            self._places,
            self._options,
            subject,
            tuple(shown or folders[:1]),
            tuple(map(_origin, takes)),
            1e-3 * float(np.sqrt(np.average(squares, weights=weights))),
        )

    def _plan(self, survey: Survey, subjects: dict[str, SubjectRecord]) -> TakeRecord:
        """Return a take's record before it is solved."""
        own = [subjects[name] for name in survey.subjects]
        problems = [f"{one.subject} could not be calibrated: {one.problem}" for one in own]
        return TakeRecord(
            take=survey.take,
            sha256=survey.sha256,
            options=self._options.writing(),
            version=osteon.__version__,
            subjects=survey.subjects,
            skeletons=tuple(one.skeleton for one in own),
            problem=next((p for p, one in zip(problems, own, strict=True) if one.problem), ""),
        )

    def _give_up(self, job: TakeJob, lost: Lost) -> TakeRecord:
        """Call a take that kills its workers done, as one that failed."""
        record = msgspec.structs.replace(job.record, problem=lost.reason)
        self._keep(self._places.take(record.take), record)
        return record

    def _keep(self, target: Path, record: msgspec.Struct) -> None:
        """Leave a folder that holds nothing but what is known of a job that came to nothing."""
        with suppress(OSError), whole_folder(target, self._places.unfinished) as folder:
            write_record(folder, record)  # where even that is impossible it is tried again

    def _settle(
        self,
        work: Callable[[J], T],
        verb: str,
        jobs: Sequence[J],
        known: Callable[[J], T | None],
        give_up: Callable[[J, Lost], T],
    ) -> tuple[dict[str, T], int]:
        """Return every job's record by its name, known before or made now; and how many were."""
        before = {job.name: known(job) for job in jobs}
        found = {name: record for name, record in before.items() if record is not None}
        wanted = [job for job in jobs if job.name not in found]
        for job, result in self._each(work, wanted, verb):
            found[job.name] = give_up(job, result) if isinstance(result, Lost) else result
        return found, len(wanted)

    def _each(
        self, work: Callable[[J], T], wanted: Sequence[J], verb: str
    ) -> Iterator[tuple[J, T | Lost]]:
        """Results as they come, with a word to whoever watches and a line in the journal."""
        meter = Meter(verb, len(wanted), self._progress)
        for job, outcome in self._workers.each(work, wanted):
            if isinstance(outcome, Timed):
                self._note(verb, job.name, outcome)
                yield job, outcome.result
            else:
                yield job, outcome
            meter.step()

    def _note(self, verb: str, name: str, outcome: Timed) -> None:
        line = {
            "did": verb,
            "name": name,
            "seconds": round(outcome.seconds, 4),
            "ended": round(outcome.ended, 4),
            "worker": outcome.worker,
        }
        with self._places.journal.open("ab") as journal:
            journal.write(msgspec.json.encode(line) + b"\n")


def _finished_take(job: TakeJob) -> TakeRecord | None:
    """Return what there is of a take that is solved already, or that cannot be."""
    return job.record if job.record.problem else batch_jobs.find_finished(job)


def _is_passport(file: Path) -> bool:
    try:
        read_passport(file)
    except OsteonError:
        return False
    return True


def _origin(survey: Survey) -> Origin:
    changed = datetime.fromtimestamp(survey.modified_ns // 10**9, UTC)
    return Origin(
        file=survey.take,
        frames=survey.frames,
        rate=survey.rate,
        sha256=survey.sha256,
        modified=changed.isoformat().replace("+00:00", "Z"),
        software=survey.software,
    )
