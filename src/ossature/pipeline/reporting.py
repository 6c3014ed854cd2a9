"""What the stages found → what the report page shows."""

from collections.abc import Mapping
from typing import Any

from ossature.pipeline.take import Solved
from ossature.report.data import ReportData, Span
from ossature.report.pack import pack
from ossature.report.rows import (
    body_rows,
    distances,
    event_spans,
    gap_spans,
    held_spans,
    marker_rows,
    poses_of,
    stride_for,
)

OF_BODIES = 3
"""Numbers per frame that a body's turn takes."""
OF_MARKERS = 4
"""Numbers per frame that a marker's place and residual take."""


def report_of(
    solved: Solved, summary: dict[str, Any], measured: Mapping[str, float] | None = None
) -> ReportData:
    """The page of a solved take.

    Parameters
    ----------
    summary
        What summary.json holds; the page shows the same numbers.
    measured
        Lengths of bodies by hand, metres.
    """
    recording, motion = solved.recording, solved.motion
    n_numbers = OF_MARKERS * recording.n_markers + OF_BODIES * len(motion.skeleton.bodies)
    stride = stride_for(recording.n_frames, n_numbers)
    return ReportData(
        title=_title(recording.subject or recording.source.file, recording.n_frames),
        subject=recording.subject,
        rate=recording.rate,
        frames=recording.n_frames,
        stride=stride,
        bodies=body_rows(motion.skeleton, measured),
        markers=marker_rows(recording, motion.skeleton),
        poses=poses_of(motion, stride),
        points=pack(recording.positions[::stride]),
        residuals=[distances("markers and model", recording.names, solved.marker_error, stride)],
        spans=_spans(solved),
        facts=_facts(summary),
        history=list(recording.history),
        warnings=[*solved.warnings, *_thinned(stride)],
    )


def _title(name: str, n_frames: int) -> str:
    return f"{name} · {n_frames} frames" if name else f"{n_frames} frames"


def _thinned(stride: int) -> list[str]:
    if stride == 1:
        return []
    return [f"the page shows one frame of every {stride}; the files hold all of them"]


def _facts(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
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
    names = solved.skeleton.names
    stands = [
        Span("contact", f"{contact.body} on the ground", *contact.frames, names.index(contact.body))
        for contact in solved.contacts
    ]
    return [
        *held_spans(solved.motion),
        *event_spans(solved.events, names),
        *stands,
        *gap_spans(solved.recording),
    ]
