"""What ``osteon axes``, ``osteon limits`` and ``osteon normalise`` write and print."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from osteon.anatomy import AnomalyFindings, FewerAngles, MovementAxes, Normalised
from osteon.delivery.bone_naming import called_by
from osteon.formats import (
    SKINNED,
    bvh_conventions,
    check_endings,
    write,
    write_compact_csv,
    write_compact_parquet,
    write_readable,
    write_skinned,
)
from osteon.joint_limits import write_edits
from osteon.skinning import make_skin_for
from osteon.values import Body, Motion, Region, Skeleton

HINGE_LIKE = 0.25
"""Second spread, as a share of the first, below which one direction dominates."""
TOLD_SHARE = 2.0 / 3.0
"""Share of a limb's sweeping along its first axis, below which another take of the person may show
another. Chosen: twice all the rest; with two pairs of real takes in view."""


def axes_summary(
    found: MovementAxes,
    findings: AnomalyFindings | None = None,
    fewer: Sequence[FewerAngles] = (),
) -> dict[str, Any]:
    """Return the facts of a run, as they stand in summary.json."""
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
        "open_axes": _open_axes(limbs),
        "fewer": [_fewer_facts(each) for each in fewer],
        "improbable": [{"limb": limb, "frames": [a, b]} for limb, a, b in improbable],
    }


def _fewer_facts(fewer: FewerAngles) -> dict[str, Any]:
    return {
        "numbers": fewer.numbers,
        "error_mm": round(1e3 * fewer.error, 3),
        "angles": list(fewer.names),
        "limbs_mm": {name: round(1e3 * error, 3) for name, error in fewer.limbs.items()},
    }


def _open_axes(limbs: dict[str, Any]) -> list[str]:
    """Return limbs whose first axis is not much more than others; a hinge has its own."""
    return [
        name
        for name, limb in limbs.items()
        if len(limb["axes"]) > 1 and limb["share"] and limb["share"][0] < TOLD_SHARE
    ]


def axes_text(facts: dict[str, Any]) -> str:
    """Tell a line per limb, how well the whole is told, and what is improbable."""
    lines = [
        f"{name}: {_axes_text(limb)}; told to {limb['error_mm']:.2f} mm, {limb['turned_deg']:.2f}°"
        for name, limb in facts["limbs"].items()
    ]
    per_frame = 7 + facts["parameters"]
    lines.append(
        f"{per_frame} numbers a frame tell the motion to {facts['error_mm']:.3f} mm and "
        f"{facts['turned_deg']:.3f}° on average"
    )
    if facts["fewer"]:
        told = ", ".join(f"{each['numbers']} to {each['error_mm']:.1f}" for each in facts["fewer"])
        lines.append(f"joints by fewer numbers, mm: {told}")
    if facts["open_axes"]:
        lines.append(
            f"other takes may show other first axes of {', '.join(facts['open_axes'])}: keep those "
            "of a take in which they move (osteon axes OTHER --known skeleton.json)"
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
    facts: dict[str, Any],
    names: str | None = None,
) -> None:
    """Write skeleton.json with frames and movement, the compact motion, summary.json."""
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
            told |= write_motion(found.compact.motion(), folder, "parameters", [ending], names)
    write_readable(facts | told, folder / "summary.json")


def mean_of(values: Sequence[float]) -> float:
    """Return the mean of the known values, NaN where there are none."""
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else float("nan")


def frames_summary(found: Normalised) -> dict[str, Any]:
    """Return the facts of a run, as they stand in summary.json."""
    motion, costs = found.given, found.costs
    best = costs.best
    return {
        "frames": motion.n_frames,
        "rate": motion.rate,
        "subject": motion.skeleton.subject,
        "bodies": len(motion.skeleton.bodies),
        "default_pose": {
            "frame": found.default_frame,
            "cost": float(costs.total[best]),
            "flatness": float(costs.flatness[best]),
            "width": float(costs.width[best]),
            "spread": float(costs.spread[best]),
            "lean_deg": float(np.degrees(costs.lean[best])),
        },
        "front": {"confidence": found.front.confidence, **found.front.votes},
        "voters": found.voters,
        "disagreement_deg": float(np.degrees(found.disagreement)),
        "warnings": [*motion.source.problems, *found.warnings],
    }


def frames_text(found: Normalised) -> str:
    """Tell it in a few lines."""
    facts = frames_summary(found)
    pose, front = facts["default_pose"], facts["front"]
    votes = ", ".join(f"{kind} {vote:+.2f}" for kind, vote in found.front.votes.items())
    lines = [
        f"default pose: frame {pose['frame']}, cost {pose['cost']:.3f} (flatness "
        f"{pose['flatness']:.3f} + width {pose['width']:.3f} + spread {pose['spread']:.3f}, "
        "by body size)",
        f"front: confidence {front['confidence']:.2f} ({votes or 'no evidence'})",
        f"frames of {facts['bodies']} limbs from {found.voters} poses, whose frontal planes differ "
        f"by {facts['disagreement_deg']:.1f}° on average",
    ]
    return "\n".join([*lines, *(f"warning: {warning}" for warning in facts["warnings"])])


def deliver_frames(
    found: Normalised, folder: Path, formats: Sequence[str], names: str | None = None
) -> None:
    """Write skeleton.json with limb frames, the rig told in these frames, and summary.json."""
    write(found.skeleton, folder / "skeleton.json")
    told = write_motion(found.rig(), folder, "normalised", formats, names)
    write_readable(frames_summary(found) | told, folder / "summary.json")


def write_motion(
    motion: Motion, folder: Path, name: str, formats: Sequence[str], names: str | None = None
) -> dict[str, Any]:
    """Write the motion in each format; return what summary.json has to say of the files.

    ``names`` is a scheme of bone names; by default bodies keep theirs.
    """
    check_endings(formats)
    motion, naming = called_by(motion, names)
    bvh = bvh_conventions()
    for ending in dict.fromkeys(formats):
        path = folder / f"{name}.{ending}"
        if ending in SKINNED:
            write_skinned(path, motion, make_skin_for(motion))
        else:
            write(motion, path, **(bvh if ending == "bvh" else {}))
    return naming | ({"bvh": bvh} if "bvh" in formats else {})


def limits_summary(motions: Sequence[Motion], skeleton: Skeleton) -> dict[str, Any]:
    """Return the facts of a run, as they stand in summary.json. Angles in degrees."""
    joints = {body.name: _joint_facts(body) for body in skeleton.bodies if body.parent is not None}
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


def _joint_facts(body: Body) -> dict[str, Any]:
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
        "region": limits.region and _region_facts(limits.region, body.parent),
        "gap_deg": _degrees(evidence.gap),
        "coverage": round(evidence.coverage, 3),
        "crosstalk": None if evidence.crosstalk is None else round(evidence.crosstalk, 3),
        "bind": {
            "feasible": bind.feasible,
            "outside_deg": _degrees(bind.excess),
            "choice": bind.choice,
        },
    }


def _region_facts(region: Region, parent: str | None) -> dict[str, Any]:
    return {
        "poses": len(region.poses),
        "radius_deg": _degrees(region.radius),
        "given": parent if len(region.beside) else None,
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
    if region := facts["region"]:
        given = f", by where {region['given']} is" if region["given"] else ""
        near = f"{region['radius_deg']:.1f}° of {region['poses']} poses seen"
        parts.append(f"within {near}{given}")
    return "  ".join(parts)


def write_limits(skeleton: Skeleton, summary: dict[str, Any], folder: Path) -> None:
    """Write skeleton.json, limits.toml and summary.json in ``folder``."""
    write(skeleton, folder / "skeleton.json")
    write_edits(skeleton, folder / "limits.toml")
    write_readable(summary, folder / "summary.json")
