"""What ``osteon limits`` writes and prints."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from osteon.formats import write, write_readable
from osteon.joint_limits import write_edits
from osteon.values import Body, Motion, Skeleton

HINGE_LIKE = 0.25
"""Second spread, as a share of the first, below which one direction dominates."""


def limits_summary(motions: Sequence[Motion], skeleton: Skeleton) -> dict[str, Any]:
    """Return the facts of a run, as they stand in summary.json. Angles in degrees."""
    joints = {body.name: _facts(body) for body in skeleton.bodies if body.parent is not None}
    return {
        "frames": sum(motion.n_frames for motion in motions),
        "rate": motions[0].rate,
        "motions": len(motions),
        "joints": joints,
        "warnings": [
            *dict.fromkeys(text for motion in motions for text in motion.source.problems),
            *_bind_warnings(joints),
        ],
    }


def _facts(body: Body) -> dict[str, Any]:
    joint, limits = body.joint, body.joint.limits
    assert limits is not None and limits.evidence is not None and limits.bind is not None
    evidence, cone, bind = limits.evidence, limits.cone, limits.bind
    return {
        "type": joint.kind,
        "hinge_like": bool(evidence.spread[1] < HINGE_LIKE * evidence.spread[0]),
        "spread_deg": _degrees(evidence.spread),
        "noise_deg": _degrees(evidence.noise),
        "threshold_deg": _degrees(evidence.threshold),
        "rule": evidence.rule,
        "samples": evidence.samples,
        "hinge_deg": limits.hinge and _degrees(limits.hinge),
        "swing_deg": None if cone is None else _degrees(cone.radii),
        "twist_deg": None if cone is None else _degrees(cone.twist),
        "zyz_deg": limits.zyz and _degrees(limits.zyz),
        "gap_deg": _degrees(evidence.gap),
        "coverage": round(evidence.coverage, 3),
        "crosstalk": None if evidence.crosstalk is None else round(evidence.crosstalk, 3),
        "bind": {
            "feasible": bind.feasible,
            "outside_deg": _degrees(bind.excess),
            "choice": bind.choice,
        },
    }


def _degrees(radians: Any) -> Any:
    return np.degrees(radians).round(3).tolist()


def _bind_warnings(joints: dict[str, dict[str, Any]]) -> list[str]:
    """One line for each way in which infeasible bind poses were dealt with."""
    choices: dict[str, list[tuple[float, str]]] = {}
    for name, facts in joints.items():
        if not facts["bind"]["feasible"]:
            found = (facts["bind"]["outside_deg"], name)
            choices.setdefault(facts["bind"]["choice"], []).append(found)
    return [
        f"the bind pose lies outside the motion at {len(found)} joints, most at "
        f"{max(found)[1]} ({max(found)[0]:.1f}°); taken instead: {choice}"
        for choice, found in choices.items()
    ]


def limits_text(summary: dict[str, Any]) -> str:
    """Tell a line per joint, and what to know about the motion."""
    width = max(len(name) for name in summary["joints"])
    lines = [f"{name:{width}}  {_joint_text(facts)}" for name, facts in summary["joints"].items()]
    return "\n".join([*lines, *(f"warning: {text}" for text in summary["warnings"])])


def _joint_text(facts: dict[str, Any]) -> str:
    spread = " ".join(f"{value:.1f}" for value in facts["spread_deg"])
    parts = [f"{facts['type']:9}", f"spread {spread}°"]
    if facts["hinge_deg"]:
        low, high = facts["hinge_deg"]
        parts.append(f"{low:.1f}° to {high:.1f}°")
    elif facts["swing_deg"]:
        wide, narrow = facts["swing_deg"]
        low, high = facts["twist_deg"]
        parts.append(f"swing ±{wide:.1f}° ±{narrow:.1f}°, twist {low:.1f}° to {high:.1f}°")
    return "  ".join(parts)


def write_limits(skeleton: Skeleton, summary: dict[str, Any], folder: Path) -> None:
    """Write skeleton.json, limits.toml and summary.json in ``folder``."""
    write(skeleton, folder / "skeleton.json")
    write_edits(skeleton, folder / "limits.toml")
    write_readable(summary, folder / "summary.json")
