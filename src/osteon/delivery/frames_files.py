"""What ``osteon normalise`` writes and prints."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from osteon.anatomy import Normalised
from osteon.formats import bvh_conventions, check_endings, write, write_readable, write_skinned
from osteon.skinning import make_skin_for
from osteon.values import Motion


def frames_summary(found: Normalised) -> dict[str, Any]:
    """The facts of a run, as they stand in summary.json."""
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
    """A few lines a person understands."""
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


def deliver_frames(found: Normalised, folder: Path, formats: Sequence[str]) -> None:
    """skeleton.json with a frame for every limb, the rig told in these frames, summary.json."""
    write(found.skeleton, folder / "skeleton.json")
    told = write_motion(found.rig(), folder, "normalised", formats)
    write_readable(frames_summary(found) | told, folder / "summary.json")


def write_motion(
    motion: Motion, folder: Path, name: str, formats: Sequence[str]
) -> dict[str, dict[str, str]]:
    """The motion in each format; what summary.json has to say of the files."""
    check_endings(formats)
    bvh = bvh_conventions()
    for ending in dict.fromkeys(formats):
        path = folder / f"{name}.{ending}"
        if ending == "glb":
            write_skinned(path, motion, make_skin_for(motion))
        else:
            write(motion, path, **(bvh if ending == "bvh" else {}))
    return {"bvh": bvh} if "bvh" in formats else {}
