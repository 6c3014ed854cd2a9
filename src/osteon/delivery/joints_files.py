"""What ``osteon joints`` writes and prints."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from osteon.articulation import Limb, play_back, table_text
from osteon.delivery.residual_plots import residual_page
from osteon.formats import bvh_conventions, whole_file, write, write_readable
from osteon.values import Bodies, Connection, Joints, event_sentence

TOLD = 6
"""Advice and warnings that are printed."""


def joints_summary(bodies: Bodies, found: Joints, limbs: tuple[Limb, ...]) -> dict[str, Any]:
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
        "limbs": [_limb_facts(limb) for limb in limbs],
        "markers": {name: [each.name for each in worn] for name, worn in found.markers.items()},
        "loops": len(found.loops),
        "events": len(found.events),
        "advice": [advice.text for advice in found.advice],
        "warnings": [*bodies.source.problems, *found.warnings],
    }


def _joint_facts(link: Connection) -> dict[str, Any]:
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


def _limb_facts(limb: Limb) -> dict[str, Any]:
    return {
        "limb": limb.name,
        "found_mm": 1000 * limb.length,
        "deviation_mm": 1000 * limb.deviation,
        "measured_mm": None if limb.measured is None else 1000 * limb.measured,
        "difference_mm": None if limb.difference is None else 1000 * limb.difference,
    }


def joints_text(found: Joints, limbs: tuple[Limb, ...]) -> str:
    """A line per joint, and what to know about the take."""
    lines = [f"{found.root} (root)"]
    for link in found.connections:
        worst = 1000 * link.ellipsoid[0][0]
        note = f"  ambiguous with {'–'.join(link.rival)}" if link.ambiguous and link.rival else ""
        lines.append(
            f"{link.child} on {link.parent}: {link.kind}, residual {1000 * link.rms:.2f} mm, "
            f"known to ±{worst:.{0 if worst >= 10 else 1}f} mm{note}"
        )
    lines += ["", table_text(limbs), ""]
    lines += [
        f"{name} is {', '.join(each.name for each in worn)}" for name, worn in found.markers.items()
    ]
    lines += [event_sentence(event) for event in found.events]
    lines += [
        f"{' and '.join(loop.bodies)} close a loop, residual {1000 * loop.rms:.2f} mm"
        for loop in found.loops
    ]
    lines += _first("advice", [advice.text for advice in found.advice])
    lines += _first("warning", found.warnings)
    return "\n".join(lines)


def _first(kind: str, sentences: Sequence[str]) -> list[str]:
    """As many as a person reads; worst first, so the rest can wait in a file."""
    lines = [f"{kind}: {sentence}" for sentence in sentences[:TOLD]]
    more = len(sentences) - TOLD
    return [*lines, f"{kind}: {more} more in summary.json"] if more > 0 else lines


def write_joints(bodies: Bodies, found: Joints, summary: dict[str, Any], folder: Path) -> None:
    """skeleton.json, summary.json, the residual plots and the motion in ``folder``."""
    write(found.skeleton(), folder / "skeleton.json")
    bvh = bvh_conventions()
    write(play_back(bodies, found), folder / "motion.bvh", **bvh)
    write_readable(summary | {"bvh": bvh}, folder / "summary.json")
    with whole_file(folder / "residuals.svg") as partial:
        partial.write_text(residual_page(found), encoding="utf-8")
