"""The three jobs of a batch. Each runs on any worker and leaves one whole folder, or nothing.

A job's result is its record, small enough to send home; frames stay on disk. A job that finds its
folder finished returns the record there: after a lost connection nothing is done twice.
"""

import hashlib
import os
import shutil
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

import ossature
from ossature.batch.find import subjects_of
from ossature.batch.options import BatchOptions, file_hash
from ossature.batch.places import Places, read_record, whole_folder, write_record
from ossature.batch.records import Quality, SubjectRecord, Survey, TakeRecord
from ossature.batch.sample import joined, sample_frames, share_of
from ossature.errors import FormatError, OssatureError, UnknownFormat, WrongContent
from ossature.formats import read, write
from ossature.formats.registry import FOLDER_INDEX
from ossature.pipeline import Solved, calibrate_subject, deliver, prepared, set_of, solve
from ossature.pipeline.deliver import summary_of
from ossature.values import Recording, Skeleton, Take

SAMPLE = "sample.oss"
TELLING = (".c3d", ".trc")
"""Endings that promise a recording: without one inside the file is damaged, not another kind."""
T = TypeVar("T")
J = TypeVar("J")


@dataclass(frozen=True)
class Timed(Generic[T]):
    """A job's result, and what it cost where."""

    result: T
    seconds: float
    worker: str


def timed(work: Callable[[J], T], job: J) -> Timed[T]:
    start = time.perf_counter()
    result = work(job)
    seconds = time.perf_counter() - start
    return Timed(result, seconds, f"{socket.gethostname()}:{os.getpid()}")


@dataclass(frozen=True)
class Job:
    """What every job needs to know."""

    places: Places
    options: BatchOptions


@dataclass(frozen=True)
class SurveyJob(Job):
    take: str


@dataclass(frozen=True)
class SubjectJob(Job):
    subject: str
    takes: tuple[str, ...]


@dataclass(frozen=True)
class TakeJob(Job):
    record: TakeRecord
    """As it will be, but for the quality."""


def stamp(path: Path) -> tuple[int, int]:
    """Size and time of change of a file, or of the folder that stands for one."""
    status = (path / FOLDER_INDEX if path.is_dir() else path).stat()
    return status.st_size, status.st_mtime_ns


def survey(job: SurveyJob) -> Survey:
    """Read a file once: whose it is, its hash, and a sample of its frames."""
    path = job.places.recording(job.take)
    size, modified = stamp(path)
    looking = job.options.looking()
    found = Survey(take=job.take, size=size, modified_ns=modified, looking=looking)
    with whole_folder(job.places.survey(job.take), job.places.unfinished) as folder:
        facts, problem = _attempt(folder, lambda: _facts(job, path, folder))
        if problem is not None:
            facts = {"skipped" if _no_take(problem, path) else "problem": _sentence(problem)}
        found = msgspec.structs.replace(found, **(facts or {}))
        write_record(folder, found)
    return found


def _facts(job: SurveyJob, path: Path, folder: Path) -> dict:
    """The survey's remaining fields; the sample is left in ``folder``."""
    take = read(path)
    recordings = [recording.markers() for recording in take.recordings]
    if not recordings:
        held = " and ".join(take.kinds) or "nothing"
        raise WrongContent(path, f"holds {held}; a batch solves markers")
    options = job.options.solving()
    samples = [
        sample_frames(prepared(each, set_of([each], options), options)[0]) for each in recordings
    ]
    write(Take(recordings=tuple(samples)), folder / SAMPLE)
    first = recordings[0]
    in_file = [recording.subject for recording in recordings]
    return {
        "sha256": content_hash(path),
        "kind": "markers",
        "subjects": subjects_of(job.take, in_file, job.options.subjects),
        "frames": first.n_frames,
        "rate": first.rate,
        "software": first.source.software,
    }


def calibrate(job: SubjectJob) -> SubjectRecord:
    """Fit a subject to the samples of all its takes."""
    target = job.places.subject(job.subject)
    record = subject_record(job)
    with whole_folder(target, job.places.unfinished) as folder:
        facts, problem = _attempt(folder, lambda: _calibrated(job, folder))
        if problem is not None:
            facts = {"problem": _sentence(problem)}
        record = msgspec.structs.replace(record, **(facts or {}))
        write_record(folder, record)
    return record


def subject_record(job: SubjectJob, problem: str = "") -> SubjectRecord:
    """A subject's record before anything is known of it."""
    return SubjectRecord(
        subject=job.subject,
        options=job.options.calibrating(),
        version=ossature.__version__,
        takes=job.takes,
        problem=problem,
    )


def _calibrated(job: SubjectJob, folder: Path) -> dict:
    options = job.options.solving()
    stride, n = share_of(len(job.takes))
    samples = [sample_frames(_sample(job, take), n) for take in job.takes[::stride]]
    everything = joined(samples)
    chosen = set_of([everything], options)
    found = calibrate_subject([everything], chosen, options, job.subject)
    write(found.skeleton, folder / "skeleton.json")
    return {
        "frames": found.frames,
        "candidates": everything.n_frames,
        "marker_rms_mm": 1e3 * found.rms,
        "doubts": found.doubts,
        "skeleton": file_hash(folder / "skeleton.json"),
    }


def _sample(job: SubjectJob, take: str) -> Recording:
    folder = job.places.survey(take)
    found = read_record(folder, Survey)
    assert found is not None
    return read(folder / SAMPLE).recordings[found.subjects.index(job.subject)]


def solve_take(job: TakeJob) -> TakeRecord:
    """Solve every subject of a take and write its folder."""
    target = job.places.take(job.record.take)
    done = read_record(target, TakeRecord)
    if done is not None and done.key == job.record.key and not (done.problem and job.options.retry):
        return done
    with whole_folder(target, job.places.unfinished) as folder:
        people, problem = _attempt(folder, lambda: _solved(job, folder))
        said = "" if problem is None else _sentence(problem)
        record = msgspec.structs.replace(job.record, people=people or (), problem=said)
        write_record(folder, record)
    return record


def _solved(job: TakeJob, folder: Path) -> tuple[Quality, ...]:
    path = job.places.recording(job.record.take)
    if content_hash(path) != job.record.sha256:
        raise FormatError(path, "changed while the batch was at work; start the batch again")
    recordings = read(path).recordings
    alone = len(recordings) == 1
    people = []
    for recording, subject in zip(recordings, job.record.subjects, strict=True):
        skeleton = read(job.places.subject(subject) / "skeleton.json").skeleton()
        people.append(_person(job, recording, skeleton, folder, "" if alone else subject))
    return tuple(people)


def _person(
    job: TakeJob, recording: Recording, skeleton: Skeleton, folder: Path, name: str
) -> Quality:
    options, asked = job.options, replace(job.options.solving(), skeleton=skeleton)
    solved = solve(Take(recordings=(recording,)), options=asked)[0]
    # how long it took is no part of the result: it stands in the journal
    solved = replace(solved, seconds={})
    deliver(
        solved,
        folder / name,
        formats=options.formats,
        unit=options.unit,
        up=options.up,
        facts={"take": job.record.take, "sha256": job.record.sha256},
    )
    return _quality(solved, skeleton.subject, name)


def _quality(solved: Solved, subject: str, folder: str) -> Quality:
    summary = summary_of(solved)
    return Quality(
        subject=subject,
        folder=folder,
        frames=summary["frames"],
        rate=summary["rate"],
        markers=summary["markers"],
        missing=summary["missing"],
        rms_mm=summary["marker_rms_mm"],
        max_mm=summary["marker_max_mm"],
        worst=next(iter(summary["per_marker_rms_mm"]), ""),
        held=len(summary["held_frames"]),
        warnings=tuple(summary["warnings"]),
    )


def content_hash(path: Path) -> str:
    """SHA-256 of a file, or of all files of a folder that stands for one."""
    if not path.is_dir():
        return file_hash(path)
    inside = sorted(each for each in path.rglob("*") if each.is_file())
    parts = [f"{each.relative_to(path).as_posix()} {file_hash(each)}" for each in inside]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _attempt(folder: Path, work: Callable[[], T]) -> tuple[T | None, Exception | None]:
    """The result, or what went wrong; then nothing half done stays in ``folder``."""
    try:
        return work(), None
    except Exception as error:  # one bad file never stops the rest
        for inside in folder.iterdir():
            shutil.rmtree(inside) if inside.is_dir() else inside.unlink()
        return None, error


def _sentence(problem: Exception) -> str:
    if isinstance(problem, OssatureError):
        return str(problem)
    if isinstance(problem, MemoryError):
        return "not enough memory for this file"
    words = " ".join(str(problem).split())
    return f"unexpected {type(problem).__name__}: {words or 'no more is known'}"


def _no_take(problem: Exception, path: Path) -> bool:
    """Whether a file is simply something else."""
    if isinstance(problem, WrongContent):
        return True
    return isinstance(problem, UnknownFormat) and path.suffix.lower() not in TELLING
