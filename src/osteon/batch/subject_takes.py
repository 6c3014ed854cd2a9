"""Takes of one subject, sampled or summed, calibrated together, solved one by one.

Of markers a sample of frames stands for each take. Statistics of rigid bodies add, so their joints
come from all takes at once.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np

from osteon.articulation import Sums, joints_of_sums, joints_of_take, limb_table, play_back
from osteon.batch.places import BatchOptions, Quality
from osteon.calibration import farthest_frames, spread_frames
from osteon.delivery import deliver, joints_summary, show_joints, summary_of, write_joints
from osteon.errors import NotEnoughData
from osteon.formats import read, write
from osteon.pipeline import (
    Solved,
    calibrate_subject,
    labelled_take,
    prepare_take,
    set_of,
    solve,
)
from osteon.typing import Array
from osteon.values import Bodies, Passport, Recording, Skeleton, Take

SAMPLE = "sample.osteon"
FRAMES_PER_TAKE = 128
"""Frames that stand for one take. Chosen: more than the 80 of all takes that the calibration itself
looks at."""
FRAMES_PER_SUBJECT = 4096
"""Frames that stand for a subject, however many takes there are. Chosen by memory: 4 MB of 41
markers."""
MOST_LANDMARKS = 40
"""Count of markers whose mutual distances tell poses apart. Chosen: about a whole set of markers,
780 distances."""


def sample_markers(recordings: Sequence[Recording], folder: Path, options: BatchOptions) -> None:
    """Leave a sample of every subject's frames, cleaned, in ``folder``."""
    asked = options.solving
    markers = [recording.markers() for recording in recordings]
    if asked.own_set is not None or asked.template not in ("auto", "none"):
        # names by motion would mean another marker in every take
        markers = [labelled_take(each, asked) for each in markers]
    samples = [sample_frames(prepare_take(each, asked)[0]) for each in markers]
    write(Take(recordings=tuple(samples)), folder / SAMPLE)


def calibrate_markers(
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
    everything = join_samples(samples)
    chosen = set_of([everything], asked)
    found = calibrate_subject([everything], chosen, asked, subject, in_order=False)
    write(found.skeleton, folder / "skeleton.json")
    return {
        "frames": found.frames,
        "candidates": everything.n_frames,
        "rms_mm": 1e3 * found.rms,
        "doubts": found.doubts,
    }


def solve_markers(
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
        names=options.names,
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


def sample_frames(recording: Recording, n: int = FRAMES_PER_TAKE) -> Recording:
    """Choose up to ``n`` frames: half spread evenly, half where markers stand most differently."""
    candidates = spread_frames(recording.measured, 4 * n)
    chosen = candidates[farthest_frames(_shape(recording.positions[candidates]), n)]
    return replace(
        recording,
        positions=recording.positions[chosen],
        residuals=None if recording.residuals is None else recording.residuals[chosen],
        marks=(),
        analog=None,
        plates=(),
        history=(*recording.history, f"{len(chosen)} of {recording.n_frames} frames chosen"),
    )


def share_of(n_takes: int) -> tuple[int, int]:
    """Return every how many-th take of a subject is looked at, and how many frames of it."""
    stride = -(-n_takes // FRAMES_PER_SUBJECT)
    return stride, max(1, min(FRAMES_PER_TAKE, FRAMES_PER_SUBJECT * stride // max(n_takes, 1)))


def join_samples(samples: Sequence[Recording]) -> Recording:
    """Join the samples of a subject to one recording of all its markers."""
    names = tuple(dict.fromkeys(name for sample in samples for name in sample.names))
    n_frames = sum(sample.n_frames for sample in samples)
    positions = np.full((n_frames, len(names), 3), np.nan)
    start = 0
    for sample in samples:
        columns = [names.index(name) for name in sample.names]
        evidence = np.where(sample.measured[..., None], sample.positions, np.nan)
        positions[start : start + sample.n_frames, columns] = evidence
        start += sample.n_frames
    first = samples[0]
    return Recording(positions, names, first.rate, first.subject, source=first.source)


def _shape(positions: Array) -> Array:
    """Return (n_frames, n_pairs) distances between markers, which no walking about changes.

    A missing one takes its mean: what is not seen does not make a frame special.
    """
    markers = np.unique(np.linspace(0, positions.shape[1] - 1, MOST_LANDMARKS).astype(int))
    first, second = np.triu_indices(len(markers), 1)
    gaps = np.linalg.norm(positions[:, markers[first]] - positions[:, markers[second]], axis=-1)
    seen = np.isfinite(gaps)
    mean = np.where(seen, gaps, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    return np.where(seen, gaps, mean)


def sum_bodies(takes: Sequence[Bodies], folder: Path) -> None:
    """Leave every subject's sums in ``folder``: some kilobytes, however long the take."""
    for person, bodies in enumerate(takes):
        if bodies.n_bodies < 2:
            raise NotEnoughData("joints lie between bodies: at least two are needed")
        Sums.of(bodies).save(_sums_file(folder, person))


def calibrate_bodies(subject: str, surveys: Sequence[tuple[Path, int]], folder: Path) -> dict:
    """Joints from the sum over all takes; skeleton.json is left in ``folder``."""
    total = reduce(add, (Sums.load(_sums_file(survey, person)) for survey, person in surveys))
    found = joints_of_sums(total, rate=1.0, subject=subject)
    write(found.skeleton(), folder / "skeleton.json")
    squares = [link.rms**2 for link in found.connections]
    return {
        "frames": total.frames,
        "candidates": total.frames,
        "rms_mm": 1e3 * float(np.sqrt(np.mean(squares))),
        "doubts": found.warnings,
    }


def solve_bodies(
    bodies: Bodies, skeleton: Skeleton, doubts: Sequence[str], folder: Path, facts: dict
) -> Quality:
    """Play a take through its subject's joints and write its folder."""
    bodies = bodies.select(skeleton.names)
    found = joints_of_take(skeleton, bodies)
    found = replace(found, warnings=tuple(dict.fromkeys((*found.warnings, *doubts))))
    summary = joints_summary(bodies, found, limb_table(found)) | facts
    motion = play_back(bodies, found)
    write_joints(motion, found, summary, folder)
    show_joints(bodies, motion, found, folder)
    worst = max(found.connections, key=lambda link: link.rms)
    return Quality(
        subject=skeleton.subject,
        frames=bodies.n_frames,
        rate=bodies.rate,
        markers=bodies.n_bodies,
        missing=summary["missing"],
        rms_mm=1e3 * float(np.sqrt(np.nanmean(found.residuals**2))),
        max_mm=1e3 * float(np.nanmax(found.residuals)),
        worst=worst.child,
        held=int((~bodies.seen.any(axis=1)).sum()),
        warnings=tuple(summary["warnings"]),
        report="report.html",
    )


def _sums_file(folder: Path, person: int) -> Path:
    return folder / f"sums_{person}.npz"
