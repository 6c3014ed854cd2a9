"""What ``osteon angles`` writes and prints."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from osteon.anatomy import ClinicalAngles
from osteon.delivery.beside_markers import beside_markers
from osteon.errors import WrongContent, counted
from osteon.formats import (
    metres_per,
    to_z_up,
    turn_points,
    whole_file,
    write,
    write_readable,
    write_storage,
)
from osteon.pipeline import Solved
from osteon.values import Recording

ANGLE_FILES = ("angles.csv", "angles.mot", "angles.c3d")
GAIT_FILES = ("gait.json", "gait_cycles.csv", "gait_numbers.csv", "report.html")
"""Of one person's takes together, or of one take: written by ``deliver_gait``."""


def deliver_angles(
    solved: Solved, angles: ClinicalAngles, folder: Path, more: Sequence[str] = ()
) -> None:
    """Write skeleton.json, the angles, the rig as an OpenSim model that moves, summary.json.

    Parameters
    ----------
    more
        Files that others write to the same folder: the summary names them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write(solved.skeleton, folder / "skeleton.json")
    files = ["skeleton.json", *write_angles(solved, angles, folder)]
    with suppress(WrongContent):  # bones that stretch have no such model
        files += [file.name for file in write(solved.motion, folder / "motion.osim")]
    summary = angles_summary(solved, angles) | {"files": [*files, *more, "summary.json"]}
    write_readable(summary, folder / "summary.json")


def deliver_overview(folder: Path, takes: Sequence[Path], gait: Sequence[str]) -> None:
    """Write summary.json of a folder that holds no take itself but what is told of several.

    Parameters
    ----------
    takes
        Folders of the takes, from the folder of all results.
    gait
        Files of cycles and numbers of these takes together.
    """
    folder.mkdir(parents=True, exist_ok=True)
    facts = {"takes": [path.as_posix() for path in takes], "files": [*gait, "summary.json"]}
    write_readable(facts, folder / "summary.json")


def write_angles(solved: Solved, angles: ClinicalAngles, folder: Path) -> tuple[str, ...]:
    """Write the angles as CSV, OpenSim storage and points of a C3D; return the files' names."""
    times = np.arange(len(angles.values)) / angles.rate
    columns = {"time": times, **dict(zip(angles.names, np.degrees(angles.values).T, strict=True))}
    _write_csv(folder / "angles.csv", columns)
    with whole_file(folder / "angles.mot") as partial:
        write_storage(partial, columns)
    target = folder / "angles.c3d"
    write(beside_markers([with_angles(solved.recording, angles)], solved.path, target), target)
    return ANGLE_FILES


def _write_csv(path: Path, columns: dict[str, np.ndarray]) -> None:
    rows = np.stack([*columns.values()], axis=-1).tolist()
    lines = [",".join(columns), *(",".join(f"{value:.6f}" for value in row) for row in rows), ""]
    with whole_file(path) as partial:
        partial.write_text("\n".join(lines), encoding="utf-8")


def with_angles(recording: Recording, angles: ClinicalAngles) -> Recording:
    """Return the markers and, as model outputs, a point per joint whose x, y, z are degrees."""
    n = recording.n_frames
    degrees = np.zeros((n, len(angles.points), 3))
    for point, names in enumerate(angles.points.values()):
        for axis, name in enumerate(names):
            degrees[:, point, axis] = np.degrees(angles.of(name))
    source = recording.source
    # a writer scales and turns outputs as it does markers
    unit = metres_per(source.unit) if source.format else metres_per("mm")
    points = unit * turn_points(degrees, to_z_up(source.up))
    kept = recording.select([name for name in recording.names if name not in angles.points])
    known = kept.residuals
    zeros = np.zeros(points.shape[:2])
    return replace(
        kept,
        positions=np.concatenate([kept.positions, points], axis=1),
        names=(*kept.names, *angles.points),
        residuals=None if known is None else np.concatenate([known, zeros], axis=1),
        outputs=kept.outputs | set(angles.points),
        history=(*kept.history, f"added {len(angles.points)} joints' angles"),
    )


def angles_summary(solved: Solved, angles: ClinicalAngles) -> dict[str, Any]:
    """Return the facts of a run, as they stand in summary.json."""
    degrees, deviations = np.degrees(angles.values), np.degrees(angles.deviations)
    return {
        "subject": solved.recording.subject,
        "frames": len(degrees),
        "rate": angles.rate,
        "convention": angles.convention,
        "unit": "degrees",
        "walking_direction": angles.walking,
        "frames_of_segments": {
            name: {
                "source": segment.source,
                "from": segment.told,
                "deviation_deg": dict(
                    zip("xyz", np.degrees(segment.deviation).tolist(), strict=True)
                ),
            }
            for name, segment in angles.segments.items()
        },
        "angles": {
            name: {
                "least": float(values.min()),
                "mean": float(values.mean()),
                "largest": float(values.max()),
                "deviation": float(deviation),
            }
            for name, values, deviation in zip(angles.names, degrees.T, deviations, strict=True)
        },
        "points": {label: list(names) for label, names in angles.points.items()},
        "held_frames": list(solved.motion.held),
        "marker_rms_mm": 1e3 * solved.rms,
        "warnings": [*solved.warnings, *_doubts(angles)],
    }


def _doubts(angles: ClinicalAngles) -> list[str]:
    """What speaks against frames, and which of them neither landmarks nor motion tell."""
    doubts = [*dict.fromkeys(each.doubt for each in angles.segments.values() if each.doubt)]
    guessed = [name for name, each in angles.segments.items() if each.source == "template"]
    if not guessed:
        return doubts
    return [
        *doubts,
        f"only the template tells how {', '.join(guessed)} "
        f"{'is' if len(guessed) == 1 else 'are'} turned: their angles may be off by a constant of "
        "10° and more; mark both sides of joints, or bend them in the take",
    ]


def angles_text(solved: Solved, angles: ClinicalAngles) -> str:
    """Tell a line per angle, and what is uncertain."""
    facts = angles_summary(solved, angles)
    who = facts["subject"] or solved.recording.source.file
    lines = [
        f"{who}: {counted(len(angles.names), 'angle')} ({angles.convention}), "
        f"{counted(facts['frames'], 'frame')}; along {angles.walking}"
    ]
    width = max(map(len, angles.names))
    for name, each in facts["angles"].items():
        span = f"{each['least']:7.1f}° … {each['largest']:6.1f}°"
        lines.append(f"{name:{width}}  {span}  ± {each['deviation']:.1f}°")
    return "\n".join([*lines, *(f"note: {warning}" for warning in facts["warnings"])])
