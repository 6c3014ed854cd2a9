"""What ``osteon axes`` writes and prints."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from osteon.anatomy import AnomalyFindings, MovementAxes
from osteon.delivery.frames_files import frames_summary, write_motion
from osteon.formats import write, write_compact_csv, write_compact_parquet, write_readable


def axes_summary(found: MovementAxes, findings: AnomalyFindings | None = None) -> dict[str, Any]:
    """The facts of a run, as they stand in summary.json."""
    skeleton = found.compact.skeleton
    limbs = {}
    for limb in found.limbs:
        movement = skeleton.body(limb.name).movement
        assert movement is not None
        limbs[limb.name] = {
            "axes": list(movement.labels),
            "share": list(movement.share),
            "error_mm": 1e3 * limb.error,
            "worst_mm": 1e3 * limb.worst,
            "turned_deg": float(np.degrees(limb.turned)),
            "unreached": limb.unreached,
            "moving": limb.moving,
        }
    improbable = [] if findings is None else findings.runs()
    return {
        **frames_summary(found.normalised),
        "method": found.method,
        "parameters": len(found.compact.names),
        "error_mm": 1e3 * mean_of([limb.error for limb in found.limbs]),
        "turned_deg": float(np.degrees(mean_of([limb.turned for limb in found.limbs]))),
        "limbs": limbs,
        "improbable": [{"limb": limb, "frames": [a, b]} for limb, a, b in improbable],
    }


def axes_text(found: MovementAxes, findings: AnomalyFindings | None = None) -> str:
    """A line per limb, how well the whole is told, and what is improbable."""
    facts = axes_summary(found, findings)
    lines = [
        f"{name}: {_axes_text(limb)}; told to {limb['error_mm']:.2f} mm, {limb['turned_deg']:.2f}°"
        for name, limb in facts["limbs"].items()
    ]
    per_frame = 7 + facts["parameters"]
    lines.append(
        f"{per_frame} numbers a frame tell the motion to {facts['error_mm']:.3f} mm and "
        f"{facts['turned_deg']:.3f}° on average"
    )
    lines += [
        f"improbable: {entry['limb']}, frames {entry['frames'][0]} to {entry['frames'][1]}"
        for entry in facts["improbable"]
    ]
    return "\n".join([*lines, *(f"warning: {warning}" for warning in facts["warnings"])])


def _axes_text(limb: dict[str, Any]) -> str:
    pairs = zip(limb["axes"], limb["share"], strict=True)
    told = [
        f"{word} {100.0 * share:.0f} %" if share else f"{word} (the rest)" for word, share in pairs
    ]
    return ", ".join([*told, "twist"])


def deliver_axes(
    found: MovementAxes,
    folder: Path,
    formats: Sequence[str],
    findings: AnomalyFindings | None = None,
) -> None:
    """skeleton.json with frames and movement, the compact motion, summary.json."""
    write(found.compact.skeleton, folder / "skeleton.json")
    told: dict[str, Any] = {}
    for ending in dict.fromkeys(formats):
        if ending == "csv":
            write_compact_csv(folder / "parameters.csv", found.compact)
        elif ending == "parquet":
            write_compact_parquet(folder / "parameters.parquet", found.compact)
        elif ending == "osteon":
            write(found.compact, folder / "parameters.osteon")
        else:
            told |= write_motion(found.compact.motion(), folder, "parameters", [ending])
    write_readable(axes_summary(found, findings) | told, folder / "summary.json")


def mean_of(values: Sequence[float]) -> float:
    """Mean of the known values, NaN where there are none."""
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else float("nan")
