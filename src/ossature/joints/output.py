"""What ``ossature joints`` writes and prints."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ossature.formats import write
from ossature.formats.registry import whole_file
from ossature.values import Bodies, Joints


def summary_of(bodies: Bodies, found: Joints) -> dict[str, Any]:
    """The facts of a run, as they stand in summary.json. Lengths in millimetres."""
    return {
        "frames": bodies.n_frames,
        "rate": bodies.rate,
        "bodies": bodies.n_bodies,
        "missing": float(1.0 - bodies.seen.mean()),
        "root": found.root,
        "ambiguous": found.ambiguous,
        "joints": {link.child: _joint_facts(link) for link in found.connections},
        "looseness_mm": {name: 1000 * value for name, value in found.looseness.items()},
        "loops": len(found.loops),
        "events": len(found.events),
        "advice": [advice.text for advice in found.advice],
        "warnings": [*bodies.source.problems, *found.warnings],
    }


def _joint_facts(link: Any) -> dict[str, Any]:
    deviations, _ = link.ellipsoid
    return {
        "parent": link.parent,
        "type": link.kind,
        "rms_mm": 1000 * link.rms,
        "deviation_mm": [1000 * float(value) for value in deviations],
        "margin": float(link.margin) if np.isfinite(link.margin) else None,
        "rival": link.rival,
        "ambiguous": link.ambiguous,
    }


def summary_text(found: Joints) -> str:
    """A line per joint, and what to know about the take."""
    lines = [f"{found.root} (root)"]
    for link in found.connections:
        worst = 1000 * link.ellipsoid[0][0]
        note = f"  ambiguous with {'–'.join(link.rival)}" if link.ambiguous and link.rival else ""
        lines.append(
            f"{link.child} on {link.parent}: {link.kind}, residual {1000 * link.rms:.2f} mm, "
            f"known to ±{worst:.2g} mm{note}"
        )
    lines += [advice.text for advice in found.advice]
    lines += [f"warning: {warning}" for warning in found.warnings]
    return "\n".join(lines)


def write_joints(found: Joints, summary: dict[str, Any], folder: Path) -> None:
    """skeleton.json and summary.json in ``folder``."""
    write(found.skeleton(), folder / "skeleton.json")
    with whole_file(folder / "summary.json") as partial:
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(summary), indent=2))
