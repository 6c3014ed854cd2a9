"""What a batch may do when: a take waits for its subjects, a subject's passport for its takes."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np

import osteon
from osteon.batch import batch_jobs
from osteon.batch.batch_jobs import Job, PassportJob, SubjectJob, SurveyJob, TakeJob
from osteon.batch.places import (
    BatchFolders,
    BatchOptions,
    SubjectRecord,
    Survey,
    TakeRecord,
    read_record,
    whole_folder,
    write_record,
)
from osteon.batch.workers import Lost, Queue
from osteon.errors import OsteonError
from osteon.formats import content_hash, read_passport
from osteon.pipeline import MOST_FRAMES
from osteon.values import Origin

FIRST, SOON, LATER = 0, 1, 2
"""Codes of ranks in the queue, defined here: what others wait for, what is short, and the rest."""


class Agenda:
    """Takes that were looked at, and what is left to do for them.

    Jobs come to ``queue`` as soon as what they need is there, so that nobody waits for others'
    takes; among takes the longest is first, so that none is left alone at the end.
    """

    def __init__(
        self, places: BatchFolders, options: BatchOptions, takes: Sequence[Survey]
    ) -> None:
        self.queue: Queue[Job] = Queue()
        self.solved = 0
        """How many takes were solved now, not before."""
        self._places, self._options = places, options
        self._takes = {survey.take: survey for survey in takes}
        self._takes_of: dict[str, list[str]] = {}
        for survey in takes:
            for subject in survey.subjects:
                self._takes_of.setdefault(subject, []).append(survey.take)
        self._subjects: dict[str, SubjectRecord] = {}
        self._records: dict[str, TakeRecord] = {}
        self._without_passport = set(self._takes_of)
        for subject, own in self._takes_of.items():
            job = SubjectJob(places, options, subject, tuple(own))
            if (known := self._known_subject(job)) is not None:
                self._subjects[subject] = known
            else:
                frames = sum(self._takes[take].frames for take in own)
                self.queue.put(job, (FIRST, -frames, subject))
        for take in self._takes:
            self._plan_take(take)

    @property
    def records(self) -> list[TakeRecord]:
        """Of every take, in order, when nothing is left."""
        return [self._records[take] for take in self._takes]

    def left(self, job: Job) -> int:
        """Return how many jobs of a kind are still to be done."""
        if isinstance(job, SubjectJob):
            return len(self._takes_of) - len(self._subjects)
        if isinstance(job, TakeJob):
            return len(self._takes) - len(self._records)
        return len(self._without_passport)

    def settle(self, job: Job, result: SubjectRecord | TakeRecord | str | Lost) -> None:
        """Take up what came of a job, and put in the queue what waited for it."""
        if isinstance(job, SubjectJob):
            if isinstance(result, Lost):
                result = batch_jobs.subject_record(job, problem=result.reason)
            assert isinstance(result, SubjectRecord)
            self._subjects[job.name] = result
            for take in self._takes_of[job.name]:
                self._plan_take(take)
        elif isinstance(job, TakeJob):
            if isinstance(result, Lost):
                result = self._give_up(job, result)
            assert isinstance(result, TakeRecord)
            self.solved += 1
            self._settle_take(result)
        else:
            self._without_passport.discard(job.name)

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

    def _plan_take(self, take: str) -> None:
        """Queue a take whose subjects are all known, unless it is solved or cannot be."""
        survey = self._takes[take]
        if any(subject not in self._subjects for subject in survey.subjects):
            return
        job = TakeJob(self._places, self._options, take, self._plan(survey))
        known = job.record if job.record.problem else batch_jobs.find_finished(job)
        if known is not None:
            self._settle_take(known)
        else:
            self.queue.put(job, (LATER, -survey.frames, take))

    def _plan(self, survey: Survey) -> TakeRecord:
        """Return a take's record before it is solved."""
        own = [self._subjects[name] for name in survey.subjects]
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
        _keep_record(self._places, self._places.take(record.take), record)
        return record

    def _settle_take(self, record: TakeRecord) -> None:
        """Of a subject whose last take it was, leave the passport, if there is none."""
        self._records[record.take] = record
        for subject in record.subjects:
            if any(take not in self._records for take in self._takes_of[subject]):
                continue
            solved = [take for take in self._takes_of[subject] if self._records[take].people]
            if solved and not _is_passport(self._places.subject(subject) / "passport.json"):
                self.queue.put(self._passport(subject, solved), (SOON, 0, subject))
            else:
                self._without_passport.discard(subject)

    def _passport(self, subject: str, takes: Sequence[str]) -> PassportJob:
        surveys, records = [self._takes[t] for t in takes], [self._records[t] for t in takes]
        people = [record.people[record.subjects.index(subject)] for record in records]
        frames = np.cumsum([survey.frames for survey in surveys])
        folders = [
            self._places.take(take) / person.folder
            for take, person in zip(takes, people, strict=True)
        ]
        shown = [each for each, total in zip(folders, frames, strict=True) if total <= MOST_FRAMES]
        squares = np.array([person.rms_mm**2 for person in people])
        weights = np.array([person.frames for person in people])
        return PassportJob(
            self._places,
            self._options,
            subject,
            tuple(shown or folders[:1]),
            tuple(map(_origin, surveys)),
            1e-3 * float(np.sqrt(np.average(squares, weights=weights))),
        )


def give_up_survey(job: SurveyJob, lost: Lost) -> Survey:
    """Call a file looked at, that kills whoever looks."""
    record = batch_jobs.survey_record(job, problem=lost.reason)
    _keep_record(job.places, job.places.survey(job.name), record)
    return record


def _keep_record(places: BatchFolders, target: Path, record: msgspec.Struct) -> None:
    """Leave a folder that holds nothing but what is known of a job that came to nothing."""
    with suppress(OSError), whole_folder(target, places.unfinished) as folder:
        write_record(folder, record)  # where even that is impossible it is tried again


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
