"""What ``solve`` leaves in its folder."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ossature.anatomy.figure import figure_for
from ossature.formats import write
from ossature.formats.glb.write import write_skinned
from ossature.formats.json_text import write_readable
from ossature.pipeline.reporting import report_of
from ossature.pipeline.take import Solved
from ossature.report.page import write_report
from ossature.values import Motion

ALWAYS = ("skeleton.json", "summary.json", "report.html")
"""Files besides the motion."""
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
    motions: list[Path] = []
    for ending in dict.fromkeys((*MOTION_FILES, *formats)):
        file = folder / f"motion.{ending}"
        if ending == "bvh":
            motions += write(solved.motion, file, unit=unit or "m", up=up or "z")
        elif ending == "glb":
            write_skinned(file, solved.motion, figure_for(solved.motion))
            motions.append(file)
        else:
            motions += write(solved.motion, file)
    files = [*ALWAYS, *(file.name for file in motions)]
    summary = summary_of(solved) | {"files": files} | (facts or {})
    write_readable(summary, folder / "summary.json")
    write_report(folder / "report.html", report_of(solved, summary, measured))


class _Earlier(msgspec.Struct):
    """What summary.json of an earlier run says of its files."""

    files: tuple[str, ...] = ()


def remove_earlier(folder: Path, keep: Collection[Path] = ()) -> list[str]:
    """Remove what :func:`deliver` has written to a folder before; returns the files' names.

    Nothing else is touched: neither files it did not list, nor those of ``keep``.
    """
    try:
        listed = msgspec.json.decode((folder / "summary.json").read_bytes(), type=_Earlier).files
    except (OSError, msgspec.MsgspecError):
        return []
    kept = {path.resolve() for path in keep}
    ours = [name for name in listed if name in ALWAYS or re.fullmatch(r"motion\.\w+", name)]
    gone = [name for name in ours if (folder / name).is_file()]
    gone = [name for name in gone if (folder / name).resolve() not in kept]
    for name in gone:
        (folder / name).unlink()
    return gone


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
        "marker_max_mm": 1e3 * float(np.nanmax(solved.fit_error)),
        "per_marker_rms_mm": {k: 1e3 * v for k, v in solved.rms_per_marker().items()},
        "riders": sorted(solved.riders),
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
