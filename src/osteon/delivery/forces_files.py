"""What ``osteon forces`` writes and prints: the plates' forces, moments and powers of joints."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from osteon.errors import counted
from osteon.formats import whole_file, write, write_readable
from osteon.kinetics import JointMoments
from osteon.pipeline import Solved
from osteon.typing import Array
from osteon.values import GroundReaction

FORCE_FILES = ("skeleton.json", "forces.csv", "moments.csv", "powers.csv", "summary.json")
GRAVITY_SIZE = 9.80665
"""Metres per square second, defined as the standard one."""


def deliver_forces(solved: Solved, found: JointMoments, folder: Path) -> None:
    """Write forces.csv (newtons, metres), moments.csv (newton metres), powers.csv (watts), the rig
    and summary.json."""
    folder.mkdir(parents=True, exist_ok=True)
    write(solved.skeleton, folder / "skeleton.json")
    reactions = solved.recording.ground_reactions()
    _write_csv(folder / "forces.csv", _plate_columns(reactions))
    times = np.arange(len(found.moments)) / found.rate
    named = dict(zip(found.names, found.moments.T, strict=True))
    _write_csv(folder / "moments.csv", {"time": times, **named})
    _write_csv(folder / "powers.csv", {"time": times, **found.powers})
    write_readable(
        forces_summary(solved, found) | {"files": [*FORCE_FILES]}, folder / "summary.json"
    )


def _plate_columns(reactions: Sequence[GroundReaction]) -> dict[str, Array]:
    """By name, at the rate of the plates."""
    first = reactions[0]
    columns: dict[str, Array] = {"time": np.arange(len(first.force)) / first.rate}
    for number, each in enumerate(reactions, 1):
        for axis, name in enumerate("xyz"):
            columns[f"plate_{number}_force_{name}"] = each.force[:, axis]
        for axis, name in enumerate("xyz"):
            columns[f"plate_{number}_centre_{name}"] = each.centre[:, axis]
        columns[f"plate_{number}_free_moment"] = each.free_moment
    return columns


def _write_csv(path: Path, columns: Mapping[str, Array]) -> None:
    """What is not known stays empty."""
    rows = np.stack([*columns.values()], axis=-1).tolist()
    lines = [",".join(columns), *(",".join(map(_cell, row)) for row in rows), ""]
    with whole_file(path) as partial:
        partial.write_text("\n".join(lines), encoding="utf-8")


def _cell(value: float) -> str:
    return f"{value:.6f}" if np.isfinite(value) else ""


def forces_summary(solved: Solved, found: JointMoments) -> dict[str, Any]:
    """Return the facts of a run, as they stand in summary.json."""
    return {
        "subject": solved.recording.subject,
        "frames": len(found.moments),
        "rate": found.rate,
        "units": {"moments": "newton metres", "powers": "watts", "forces": "newtons, metres"},
        "mass_kg": found.mass,
        "mass_from": found.weighed,
        "steps": [
            {"plate": step.plate, "foot": step.foot or None, "frames": [step.first, step.last]}
            for step in found.steps
        ],
        "residual_force_n": _rms(found.residual_force),
        "residual_moment_nm": _rms(found.residual_moment),
        "residual_of_weight": _share(found),
        "whole_body": found.whole,
        "warnings": list(solved.warnings),
        "moments": {
            name: {"least": _extreme(np.nanmin, values), "largest": _extreme(np.nanmax, values)}
            for name, values in zip(found.names, found.moments.T, strict=True)
        },
        "known_share": {
            name: round(float(np.isfinite(values).mean()), 4)
            for name, values in zip(found.names, found.moments.T, strict=True)
        },
    }


def forces_text(solved: Solved, found: JointMoments) -> str:
    """Tell who weighs what, the steps, what no plate explains, and a line per moment."""
    facts = forces_summary(solved, found)
    who = facts["subject"] or solved.recording.source.file
    lines = [f"{who}: {_weight_text(found)}"]
    width = max(map(len, found.names))
    for name, each in facts["moments"].items():
        known = f"{100 * facts['known_share'][name]:3.0f} % of {counted(facts['frames'], 'frame')}"
        if each["least"] is not None:
            span = f"{each['least']:7.1f} … {each['largest']:6.1f} N m"
            lines.append(f"{name:{width}}  {span}  known in {known}")
    return "\n".join([*lines, *(f"note: {warning}" for warning in facts["warnings"])])


def _weight_text(found: JointMoments) -> str:
    feet = [f"{s.foot.replace('_foot', '')} on {s.plate}" for s in found.steps if s.foot]
    share = _share(found)
    left = (
        "no frame in which plates carry the whole person: residual not told"
        if share is None
        else f"residual at the root {100 * share:.0f} % of the weight, rms"
    )
    bare = "" if found.whole else "; trunk, head or arms carry no markers, and count as residual"
    steps = ", ".join(dict.fromkeys(feet))
    return f"{found.mass:.1f} kg ({found.weighed}); steps: {steps}; {left}{bare}"


def _rms(vectors: Array) -> float | None:
    seen = np.isfinite(vectors[:, 0])
    return float(np.sqrt(np.mean(np.sum(vectors[seen] ** 2, axis=-1)))) if seen.any() else None


def _share(found: JointMoments) -> float | None:
    force = _rms(found.residual_force)
    return None if force is None else force / (GRAVITY_SIZE * found.mass)


def _extreme(pick: Any, values: Array) -> float | None:
    return float(pick(values)) if np.isfinite(values).any() else None
