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
from osteon.gait import at_frames
from osteon.kinetics import JointMoments
from osteon.maths import quat
from osteon.pipeline import Solved
from osteon.typing import Array
from osteon.values import GroundReaction, Recording

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
HEAVY_FORCE = 200.0
"""Newtons with which a foot is surely on a plate; chosen: a quarter of a person."""
FOOT_WORDS = (
    *("HEE", "TOE", "ANK", "MT1", "MT5", "MTP", "CAL", "D1M", "D5M", "MED", "SMH", "FMH"),
    *("VMH", "5TH", "1ST", "HALLUX", "FOOT", "MAL", "FCC", "FM1", "FM2", "FM5"),
)
"""Parts of labels that feet wear."""


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
            if theirs is None:
                continue
            for plane in range(3):
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


def centre_gaps() -> list[tuple[float, str]]:
    """Median metres from a plate's centre of pressure to the nearest marker of a foot, and which
    plate, of all recordings."""
    found = []
    for path in sorted(p for p in DATA.rglob("*") if p.suffix.lower() == ".c3d"):
        for recording in formats.read(path).recordings[:1]:
            markers = recording.markers()
            worn = [n for n in markers.names if any(word in n.upper() for word in FOOT_WORDS)]
            for number, reaction in enumerate(recording.ground_reactions(), 1):
                if len(worn) >= 4 and (gaps := marker_gaps(markers.select(worn), reaction)).size:
                    found.append((float(np.median(gaps)), f"{path.stem} plate {number}"))
    return sorted(found)


def marker_gaps(feet: Recording, reaction: GroundReaction) -> Array:
    force, _, centre = at_frames(reaction, feet.n_frames, feet.rate)
    heavy = (force[:, 2] > HEAVY_FORCE) & np.isfinite(centre[:, 0])
    if heavy.sum() < FEWEST_FRAMES:
        return np.zeros(0)
    gaps = np.linalg.norm(feet.positions[heavy, :, :2] - centre[heavy, None, :2], axis=-1)
    nearest = np.where(np.isfinite(gaps), gaps, np.inf).min(axis=1)
    return nearest[np.isfinite(nearest)]


def centre_table() -> str:
    gaps = centre_gaps()
    limits = (0.03, 0.06, 0.1, 0.2, np.inf)
    rows = []
    for least, most in zip((0.0, *limits), limits, strict=False):
        own = [name for gap, name in gaps if least <= gap < most]
        listed = ", ".join(own) if least >= 0.1 else ""
        span = f"{100 * least:.0f} to {100 * most:.0f}" if most < np.inf else "20 and more"
        rows.append([span, len(own), listed])
    return table(["cm, median of the plate", "plates", "which"], rows)


def solve_all() -> dict[str, Solved]:
    return {
        file: pipeline.solve(DATA / file, static=[DATA / each for each in static])[0]
        for file, static in FILES.items()
    }


if __name__ == "__main__":
    of_moments, of_powers, facts = tables(solve_all())
    put_section("Moments", of_moments, PAGE)
    put_section("Powers", of_powers, PAGE)
    put_section("Centre of pressure to the nearest foot marker", centre_table(), PAGE)
    put_section("Steps, mass, residuals", facts, PAGE)
