"""Takes of rigid bodies: statistics add, so joints come from all takes of a subject at once."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np

from osteon.articulation import Sums, joints_of_sums, joints_of_take, limb_table
from osteon.batch.places import Quality
from osteon.delivery import joints_summary, show_joints, write_joints
from osteon.errors import NotEnoughData
from osteon.formats import write
from osteon.values import Bodies, Skeleton


def survey(takes: Sequence[Bodies], folder: Path) -> None:
    """Leave every subject's sums in ``folder``: some kilobytes, however long the take."""
    for person, bodies in enumerate(takes):
        if bodies.n_bodies < 2:
            raise NotEnoughData("joints lie between bodies: at least two are needed")
        Sums.of(bodies).save(_sums(folder, person))


def calibrate(subject: str, surveys: Sequence[tuple[Path, int]], folder: Path) -> dict:
    """Joints from the sum over all takes; skeleton.json is left in ``folder``."""
    total = reduce(add, (Sums.load(_sums(survey, person)) for survey, person in surveys))
    found = joints_of_sums(total, rate=1.0, subject=subject)
    write(found.skeleton(), folder / "skeleton.json")
    squares = [link.rms**2 for link in found.connections]
    return {
        "frames": total.frames,
        "candidates": total.frames,
        "rms_mm": 1e3 * float(np.sqrt(np.mean(squares))),
        "doubts": found.warnings,
    }


def solve_person(
    bodies: Bodies, skeleton: Skeleton, doubts: Sequence[str], folder: Path, facts: dict
) -> Quality:
    """Play a take through its subject's joints and write its folder."""
    bodies = bodies.select(skeleton.names)
    found = joints_of_take(skeleton, bodies)
    found = replace(found, warnings=tuple(dict.fromkeys((*found.warnings, *doubts))))
    summary = joints_summary(bodies, found, limb_table(found)) | facts
    write_joints(bodies, found, summary, folder)
    show_joints(bodies, found, folder)
    worst = max(found.connections, key=lambda link: link.rms)
    return Quality(
        subject=skeleton.subject,
        frames=bodies.n_frames,
        rate=bodies.rate,
        markers=bodies.n_bodies,
        missing=summary["missing"],
        rms_mm=1e3 * float(np.sqrt(np.nanmean(found.residuals**2))),
        max_mm=1e3 * float(np.nanmax(found.residuals)),
        worst=worst.child,
        held=int((~bodies.seen.any(axis=1)).sum()),
        warnings=tuple(summary["warnings"]),
        report="report.html",
    )


def _sums(folder: Path, person: int) -> Path:
    return folder / f"sums_{person}.npz"
