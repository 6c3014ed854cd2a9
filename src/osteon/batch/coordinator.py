"""The order of a batch: look at every file, calibrate every subject, solve every take."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from osteon.batch import batch_jobs
from osteon.batch.agenda import Agenda, give_up_survey
from osteon.batch.batch_jobs import Job, SurveyJob
from osteon.batch.index import Row, rows_of, write_index
from osteon.batch.places import (
    BatchFolders,
    BatchOptions,
    Survey,
    find_files,
    only_one,
    read_record,
)
from osteon.batch.workers import Lost, Meter, Queue, Timed, Workers, cluster, pool
from osteon.errors import OsteonError
from osteon.formats import remove_unfinished
from osteon.threads import one_thread
from osteon.typing import Progress, unheard

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
        agenda = Agenda(self._places, self._options, [one for one in surveys if one.kind])
        for job, result in self._run(agenda.queue, agenda.left):
            agenda.settle(job, result)
        rows = rows_of(surveys, agenda.records)
        skipped = tuple(survey for survey in surveys if survey.skipped)
        write_index(self._places.output, rows, skipped)
        return Done(rows, skipped, agenda.solved)

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
        found: dict[str, Survey | None] = dict.fromkeys(files)
        waiting = Queue[SurveyJob]()
        for take in files:
            job = SurveyJob(self._places, self._options, take)
            found[take] = self._known_survey(job)
            if found[take] is None:
                size, _ = batch_jobs.stamp(self._places.recording(take))
                waiting.put(job, (-size, take))
        unseen = {take for take, known in found.items() if known is None}
        for job, result in self._run(waiting, lambda _: len(unseen)):
            unseen.remove(job.name)
            lost = isinstance(result, Lost)
            found[job.name] = give_up_survey(job, result) if lost else result
        return [survey for survey in found.values() if survey is not None]

    def _known_survey(self, job: Job) -> Survey | None:
        """Return what an earlier look found, if file and options are still the same."""
        known = read_record(self._places.survey(job.name), Survey)
        if known is None or known.looking != self._options.looking():
            return None
        if (known.size, known.modified_ns) != batch_jobs.stamp(self._places.recording(job.name)):
            return None
        return None if known.problem and self._options.retry else known

    def _run(self, waiting: Queue[J], left: Callable[[J], int]) -> Iterator[tuple[J, Any]]:
        """Yield jobs with what came of them as they are done, with a word to whoever watches and a
        line in the journal."""
        meters: dict[str, Meter] = {}

        def meter(job: J) -> Meter:
            if job.verb not in meters:
                meters[job.verb] = Meter(job.verb, left(job), self._progress)
            return meters[job.verb]

        if waiting:
            meter(waiting.first)
        for job, outcome in self._workers.each(batch_jobs.run_job, waiting):
            if isinstance(outcome, Timed):
                self._note(job.verb, job.name, outcome)
                outcome = outcome.result
            counted = meter(job)
            yield job, outcome
            counted.step(left(job))
            if waiting:
                meter(waiting.first)

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
