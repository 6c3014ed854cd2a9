"""Joint moments and powers of ``osteon forces`` against what Plug-in Gait stored in files.

    python benchmarks/accuracy_forces.py

Recordings under OSTEON_DATA that carry force plates and moments. Writes the tables of
docs/numbers/forces.md.
"""

from pathlib import Path

import numpy as np
from accuracy_angles import C3D, DATA
from accuracy_page import put_section, table

from osteon import formats, pipeline
from osteon.errors import OsteonError
from osteon.formats import to_z_up, turn_points
from osteon.kinetics import JointMoments
from osteon.maths import quat
from osteon.pipeline import Solved
from osteon.typing import Array
from osteon.values import Recording

PAGE = Path(__file__).parent.parent / "docs" / "numbers" / "forces.md"
FILES = {
    f"{C3D}00/Vicon Motion Systems/pyCGM2 lower limb CGM24 Walking01.c3d": (),
    f"{C3D}03/gait-pig-nz.c3d": (),
    f"{C3D}03/gait-pig.c3d": (),
    f"{C3D}04/sub_labels.c3d": (),
    f"{C3D}09/PlugInC3D.c3d": (),
    f"{C3D}11/2198928.c3d": (),
    f"{C3D}33/bigparlove.c3d": (),
    "clinical-gait-auckland/RCH/dynamic/RCH.08.c3d": (
        "clinical-gait-auckland/RCH/static/RCH.01.c3d",
    ),
    "gaitalytics/treadmill_events.c3d": (),
    "pycgm/Test_Files/Movement_trial.c3d": (),
}
"""Every recording with plates and stored moments, and its standing trial."""
JOINTS = ("Hip", "Knee", "Ankle")
FEWEST_FRAMES = 10
"""Count of frames that both tell, below which nothing is compared; chosen: a fifth of a step."""


def stored_point(recording: Recording, label: str) -> Array | None:
    """A model output as the file has it but for a factor, its axes undone."""
    if label not in recording.names:
        return None
    points = recording.positions[:, recording.index(label)]
    return turn_points(points, quat.inverse(to_z_up(recording.source.up)))


def alike(ours: Array, theirs: Array) -> float | None:
    """Correlation where both tell something; None where that is too little."""
    both = np.isfinite(ours) & np.isfinite(theirs) & (theirs != 0.0)
    if both.sum() < FEWEST_FRAMES or np.ptp(theirs[both]) == 0.0:
        return None
    return float(np.corrcoef(ours[both], theirs[both])[0, 1])


def moment_cells(found: JointMoments, stored: Recording) -> dict[tuple[str, str, int], float]:
    """Joint, side, plane → correlation; signs that Plug-in Gait has the other way are dropped."""
    cells = {}
    for joint in JOINTS:
        for side in "LR":
            theirs = stored_point(stored, f"{side}{joint}Moment")
            for plane in range(3) if theirs is not None else ():
                name = f"{side}{joint}Angles_{'XYZ'[plane]}"
                if name in found.names:
                    r = alike(found.moments[:, found.names.index(name)], theirs[:, plane])
                    if r is not None:
                        cells[joint, side, plane] = abs(r)
    return cells


def power_cells(found: JointMoments, stored: Recording) -> dict[tuple[str, str], float]:
    """Joint, side → correlation with the file's power, its planes added up."""
    cells = {}
    for joint in JOINTS:
        for side in "LR":
            theirs = stored_point(stored, f"{side}{joint}Power")
            ours = found.powers.get(f"{side}{joint}Power")
            if theirs is None or ours is None:
                continue
            r = alike(ours, theirs.sum(axis=-1))
            if r is not None:
                cells[joint, side] = r
    return cells


def compare(path: Path, solved: Solved) -> tuple[JointMoments, dict, dict] | str:
    try:
        found = pipeline.moments(solved, pipeline.angles(solved, "pig"))
    except OsteonError as error:
        return str(error)
    recordings = formats.read(path).recordings
    stored = next(each for each in recordings if "LAnkleMoment" in each.names)
    return found, moment_cells(found, stored), power_cells(found, stored)


def pair(cells: dict, *key: object) -> str:
    """Left, right."""
    joint, *rest = key
    both = [cells.get((joint, side, *rest)) for side in "LR"]
    return ", ".join("–" if r is None else f"{r:.2f}" for r in both)


def tables(solved: dict[str, Solved]) -> tuple[str, str, str]:
    moments, powers, facts = [], [], []
    for file, one in solved.items():
        name, found = Path(file).stem, compare(DATA / file, one)
        if isinstance(found, str):
            facts.append([name, found, "–", "–", "–", "–"])
            continue
        told, of_moments, of_powers = found
        moments.append([name, *(pair(of_moments, j, p) for j in JOINTS for p in range(3))])
        powers.append([name, *(pair(of_powers, joint) for joint in JOINTS)])
        facts.append([name, *facts_of(told)])
    planes = [f"{joint} {axis}" for joint in JOINTS for axis in "XYZ"]
    heads = [
        "steps (whole)",
        "known: left ankle, right",
        "mass, kg",
        "told by",
        "residual, % weight",
    ]
    return (
        table(["file", *planes], moments),
        table(["file", *JOINTS], powers),
        table(["file", *heads], facts),
    )


def facts_of(found: JointMoments) -> list[str]:
    own = [step for step in found.steps if step.foot]
    known = [
        f"{100 * np.isfinite(found.powers[f'{side}AnklePower']).mean():.0f} %" for side in "LR"
    ]
    size = np.linalg.norm(found.residual_force, axis=-1) / (9.80665 * found.mass)
    rms = f"{100 * np.sqrt(np.nanmean(size**2)):.0f}" if np.isfinite(size).any() else "–"
    steps = f"{len(own)} ({sum(step.whole for step in own)})"
    return [steps, ", ".join(known), f"{found.mass:.1f}", found.weighed, rms]


def solve_all() -> dict[str, Solved]:
    return {
        file: pipeline.solve(DATA / file, static=[DATA / each for each in static])[0]
        for file, static in FILES.items()
    }


if __name__ == "__main__":
    of_moments, of_powers, facts = tables(solve_all())
    put_section("Moments", of_moments, PAGE)
    put_section("Powers", of_powers, PAGE)
    put_section("Steps, mass, residuals", facts, PAGE)
