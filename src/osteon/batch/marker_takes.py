"""Takes of markers: sampled, calibrated on the samples of all takes, solved one by one."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from osteon.batch.batch_options import BatchOptions
from osteon.batch.records import Quality
from osteon.batch.sample import joined, sample_frames, share_of
from osteon.delivery import deliver, summary_of
from osteon.formats import read, write
from osteon.pipeline import Solved, calibrate_subject, prepare_take, set_of, solve
from osteon.values import Passport, Recording, Skeleton, Take

SAMPLE = "sample.osteon"


def survey(recordings: Sequence[Recording], folder: Path, options: BatchOptions) -> None:
    """Leave a sample of every subject's frames, cleaned, in ``folder``."""
    asked = options.solving
    markers = [recording.markers() for recording in recordings]
    samples = [sample_frames(prepare_take(each, asked)[0]) for each in markers]
    write(Take(recordings=tuple(samples)), folder / SAMPLE)


def calibrate(
    subject: str, surveys: Sequence[tuple[Path, int]], folder: Path, options: BatchOptions
) -> dict:
    """Fit a subject to samples of all its takes; skeleton.json is left in ``folder``.

    Parameters
    ----------
    surveys
        Folder of each take's survey, and which of its samples is the subject's.
    """
    asked = options.solving
    stride, n = share_of(len(surveys))
    samples = [
        sample_frames(read(survey / SAMPLE).recordings[person], n)
        for survey, person in surveys[::stride]
    ]
    everything = joined(samples)
    found = calibrate_subject([everything], set_of([everything], asked), asked, subject)
    write(found.skeleton, folder / "skeleton.json")
    return {
        "frames": found.frames,
        "candidates": everything.n_frames,
        "rms_mm": 1e3 * found.rms,
        "doubts": found.doubts,
    }


def solve_person(
    recording: Recording,
    skeleton: Skeleton,
    doubts: Sequence[str],
    folder: Path,
    options: BatchOptions,
    facts: dict,
) -> Quality:
    """Hold a take against its subject, solve it and write its folder.

    ``doubts`` about the subject are told with every take.
    """
    asked = replace(options.solving, passport=Passport(skeleton, (), 0.0))
    solved = solve(Take(recordings=(recording,)), options=asked)[0]
    warnings = tuple(dict.fromkeys((*solved.warnings, *doubts)))
    # how long it took is no part of the result: it stands in the journal
    solved = replace(solved, seconds={}, warnings=warnings)
    deliver(
        solved,
        folder,
        formats=options.formats,
        unit=options.unit,
        up=options.up,
        facts=facts,
    )
    return _quality(solved, skeleton.subject)


def _quality(solved: Solved, subject: str) -> Quality:
    summary = summary_of(solved)
    changed = () if solved.findings is None else solved.findings.sentences()
    return Quality(
        subject=subject,
        frames=summary["frames"],
        rate=summary["rate"],
        markers=summary["markers"],
        missing=summary["missing"],
        rms_mm=summary["marker_rms_mm"],
        max_mm=summary["marker_max_mm"],
        worst=next(iter(summary["per_marker_rms_mm"]), ""),
        held=len(summary["held_frames"]),
        warnings=tuple(text for text in summary["warnings"] if text not in changed),
        changed=changed,
        report="report.html",
    )
