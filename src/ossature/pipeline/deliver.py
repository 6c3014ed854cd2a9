"""What ``solve`` leaves in its folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from ossature.formats import write
from ossature.formats.registry import whole_file
from ossature.pipeline.take import Solved
from ossature.report.data import (
    ReportData,
    Span,
    body_rows,
    joint_points,
    marker_points,
    marker_rows,
    pack,
    stride_for,
)
from ossature.report.page import write_report
from ossature.values import Attachment, Motion, Slip, Swap

MOTION_FILES = ("bvh", "glb")
"""Formats of the motion that are always written."""


def deliver(
    solved: Solved,
    folder: Path,
    *,
    formats: Sequence[str] = (),
    unit: str | None = None,
    up: str | None = None,
    measured: dict[str, float] | None = None,
    facts: dict[str, Any] | None = None,
) -> None:
    """Write skeleton.json, the motion, summary.json and report.html.

    Parameters
    ----------
    formats
        Endings of further motion files, such as ``amc``.
    unit, up
        Of the BVH file; metres and z up by default, whatever the recording had.
    measured
        Lengths of bodies measured by hand, metres, to stand beside the found ones.
    facts
        Further entries of summary.json.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write(solved.skeleton, folder / "skeleton.json")
    for ending in dict.fromkeys((*MOTION_FILES, *formats)):
        if ending == "bvh":
            write(solved.motion, folder / "motion.bvh", unit=unit or "m", up=up or "z")
        else:
            write(solved.motion, folder / f"motion.{ending}")
    summary = summary_of(solved) | (facts or {})
    with whole_file(folder / "summary.json") as partial:
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(summary), indent=2))
    write_report(folder / "report.html", report_data(solved, summary, measured))


def summary_of(solved: Solved) -> dict:
    """The contract's summary.json."""
    recording = solved.recording
    return {
        "frames": recording.n_frames,
        "rate": recording.rate,
        "subject": recording.subject,
        "markers": recording.n_markers,
        "marker_set": solved.marker_set,
        "missing": float(1.0 - recording.seen.mean()) if recording.seen.size else 0.0,
        "marker_rms_mm": 1e3 * solved.rms,
        "marker_max_mm": 1e3 * float(np.nanmax(solved.marker_error)),
        "per_marker_rms_mm": {k: 1e3 * v for k, v in solved.rms_per_marker().items()},
        "bone_length_spread_mm": 1e3 * bone_length_spread(solved.motion),
        "held_frames": list(solved.motion.held),
        "contacts": [{"body": c.body, "frames": list(c.frames)} for c in solved.contacts],
        "warnings": list(solved.warnings),
        "seconds": solved.seconds,
    }


def bone_length_spread(motion: Motion) -> float:
    """Largest standard deviation over time of any joint-to-joint distance, metres."""
    _, joints = motion.world()
    parents = motion.skeleton.parents
    spreads = [
        float(np.std(np.linalg.norm(joints[:, child] - joints[:, parent], axis=-1)))
        for child, parent in enumerate(parents)
        if parent >= 0
    ]
    return max(spreads, default=0.0)


def report_data(
    solved: Solved, summary: dict, measured: dict[str, float] | None = None
) -> ReportData:
    recording, motion = solved.recording, solved.motion
    stride = stride_for(recording.n_frames, max(recording.n_markers, len(motion.skeleton.bodies)))
    joints, tips = joint_points(motion, stride)
    warnings = list(solved.warnings)
    if stride > 1:
        warnings.append(f"the page shows every {stride}th frame; the files hold all of them")
    name = recording.subject or recording.source.file
    return ReportData(
        title=f"{name} · {recording.n_frames} frames" if name else f"{recording.n_frames} frames",
        subject=recording.subject,
        rate=recording.rate,
        frames=recording.n_frames,
        stride=stride,
        bodies=body_rows(motion, measured),
        markers=marker_rows(recording, motion),
        joints=joints,
        tips=tips,
        points=marker_points(recording, stride),
        errors=pack(1e3 * solved.marker_error[::stride]),
        spans=_spans(solved),
        facts=_facts(summary),
        history=list(recording.history),
        warnings=warnings,
    )


def _facts(summary: dict) -> list[tuple[str, str]]:
    worst = next(iter(summary["per_marker_rms_mm"].items()), ("–", float("nan")))
    return [
        ("markers to model", f"{summary['marker_rms_mm']:.2f} mm rms"),
        ("worst marker", f"{worst[0]}, {worst[1]:.1f} mm"),
        ("largest distance", f"{summary['marker_max_mm']:.1f} mm"),
        ("frames", f"{summary['frames']} at {summary['rate']:g} per second"),
        ("markers", f"{summary['markers']}, {100 * summary['missing']:.1f} % of samples missing"),
        ("marker set", summary["marker_set"] or "none: found by motion alone"),
        ("bone lengths vary", f"{summary['bone_length_spread_mm']:.4f} mm"),
        ("held frames", str(len(summary["held_frames"]))),
    ]


def _spans(solved: Solved) -> list[Span]:
    spans = [Span("held", "no evidence", *run) for run in runs_of(solved.motion.held)]
    for event in solved.events:
        if isinstance(event, Slip):
            what = f"{event.body} moved {1e3 * event.size:.0f} mm"
            spans.append(Span("slip", what, event.frame, event.frame))
        elif isinstance(event, Swap):
            spans.append(Span("swap", " and ".join(event.markers), *event.frames))
        elif isinstance(event, Attachment):
            spans.append(Span("attachment", " to ".join(event.bodies), *event.frames))
    spans += [Span("contact", contact.body, *contact.frames) for contact in solved.contacts]
    gaps = np.flatnonzero(~solved.recording.seen.all(axis=1))
    return spans + [Span("gap", "markers missing", *run) for run in runs_of(gaps)]


def runs_of(frames: ArrayLike) -> list[tuple[int, int]]:
    """First and last of each run of consecutive frames."""
    frames = np.asarray(frames, dtype=int)
    if not len(frames):
        return []
    breaks = np.flatnonzero(np.diff(frames) > 1)
    firsts = frames[np.concatenate([[0], breaks + 1])]
    lasts = frames[np.concatenate([breaks, [len(frames) - 1]])]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))
