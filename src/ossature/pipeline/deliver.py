"""What ``solve`` leaves in its folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ossature.anatomy.figure import figure_for
from ossature.formats import write
from ossature.formats.glb.write import write_skinned
from ossature.formats.json_text import write_readable
from ossature.pipeline.reporting import report_of
from ossature.pipeline.take import Solved
from ossature.report.page import write_report
from ossature.values import Motion

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
        elif ending == "glb":
            write_skinned(folder / "motion.glb", solved.motion, figure_for(solved.motion))
        else:
            write(solved.motion, folder / f"motion.{ending}")
    summary = summary_of(solved) | (facts or {})
    write_readable(summary, folder / "summary.json")
    write_report(folder / "report.html", report_of(solved, summary, measured))


def summary_of(solved: Solved) -> dict:
    """The contract's summary.json."""
    recording = solved.recording
    return {
        "frames": recording.n_frames,
        "rate": recording.rate,
        "subject": recording.subject,
        "markers": recording.n_markers,
        "points": solved.points,
        "marker_set": solved.marker_set,
        "missing": float(1.0 - recording.seen.mean()) if recording.seen.size else 0.0,
        "marker_rms_mm": 1e3 * solved.rms,
        "marker_max_mm": 1e3 * float(np.nanmax(solved.marker_error)),
        "per_marker_rms_mm": {k: 1e3 * v for k, v in solved.rms_per_marker().items()},
        "bone_length_spread_mm": 1e3 * bone_length_spread(solved.motion),
        "held_frames": list(solved.motion.held),
        "contacts": [{"body": c.body, "frames": list(c.frames)} for c in solved.contacts],
        "warnings": list(solved.warnings),
        **({} if solved.findings is None else {"passport": solved.findings.facts()}),
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
