"""How near the angles of ``osteon angles`` come to angles that others computed.

    python benchmarks/accuracy_angles.py

Against Plug-in Gait: recordings under OSTEON_DATA that carry its angles. Against OpenSim: angles of
the bodies of experts' models (OSTEON_DATA/anatomical-truth), from their markers with 0.5 mm of
noise, as they are and with skin of real size. Writes the tables of docs/numbers/angles.md.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from accuracy_anatomy import CHOSEN, Person, wear
from accuracy_page import put_section, table

from osteon import formats, pipeline
from osteon.anatomy import ClinicalAngles, angles_between, find_angles
from osteon.maths import quat
from osteon.values import Take

DATA = Path(os.environ.get("OSTEON_DATA", Path(__file__).parents[2] / "shared" / "data"))
PAGE = Path(__file__).parent.parent / "docs" / "numbers" / "angles.md"
C3D = "c3d-org/sample_"
IN_VIEW = (
    f"{C3D}00/Vicon Motion Systems/pyCGM2 lower limb CGM24 Walking01.c3d",
    f"{C3D}03/gait-pig-nz.c3d",
    f"{C3D}04/sub_labels.c3d",
    f"{C3D}11/2198928.c3d",
    "clinical-gait-auckland/RCH/dynamic/RCH.08.c3d",
    "pycgm/Test_Files/Movement_trial.c3d",
)
"""Files that were looked at while definitions and constants were chosen."""
LEFT_OUT = (
    f"{C3D}03/gait-pig.c3d",
    f"{C3D}09/PlugInC3D.c3d",
    f"{C3D}33/bigparlove.c3d",
    "gaitalytics/treadmill_events.c3d",
    "clinical-gait-auckland/RCH/static/RCH.01.c3d",
    "pycgm/ROM/Sample_Static.c3d",
    "pycgm/Test_Files/Static_trial.c3d",
)
LEGS = ("Pelvis", "Hip", "Knee", "Ankle")
ARMS = ("Spine", "Thorax", "Neck", "Head", "Shoulder", "Elbow")
LINES = {
    "Hip": (3.0, 3.0, None),
    "Knee": (3.0, 3.0, None),
    "Ankle": (4.0, None, None),
    "Pelvis": (1.0, 1.0, 1.0),
}
"""Degrees rms asked of the planes X, Y, Z; rotations of hip and knee: ``TURN_LINE``."""
TURN_LINE, LEAST_R = 6.0, 0.99
"""Degrees rms after a constant; correlation of hip and knee flexion."""
TRUTH = {
    "PelvisAngles": ("", "pelvis"),
    "HipAngles": ("pelvis", "femur"),
    "KneeAngles": ("femur", "tibia"),
    "AnkleAngles": ("tibia", "calcn"),
    "SpineAngles": ("pelvis", "torso"),
    "ShoulderAngles": ("torso", "humerus"),
    "ElbowAngles": ("humerus", "radius"),
}
"""Joint → the model's bodies above and below."""
EXPERT = ("walking1", "squats1", "DJ1")
"""Takes of one person with an expert's inverse kinematics beside them."""
COLUMNS = [
    (model, skin, view)
    for model in ("Rajagopal", "gait2392")
    for skin in (False, True)
    for view in (True, False)
]
"""Which model, whether with skin, whether in view."""


def stored_angles(path: Path) -> dict[str, np.ndarray]:
    """Label → (n_frames, 3) degrees, NaN where the file has none."""
    found = {}
    for recording in formats.read(path).recordings:
        scale = 1e3 if recording.source.unit == "mm" else 1.0
        for label in sorted(recording.outputs):
            values = scale * recording.positions[:, recording.index(label)]
            found[label] = np.where(np.any(values != 0.0, axis=-1, keepdims=True), values, np.nan)
    return found


def told_by(angles: ClinicalAngles, label: str) -> np.ndarray | None:
    """(n_frames, 3) degrees of a point, as a C3D file would hold it."""
    if label not in angles.points:
        return None
    columns = [angles.of(name) for name in angles.points[label]]
    columns += [np.zeros(len(angles.values))] * (3 - len(columns))
    return np.degrees(np.stack(columns, axis=-1))


def errors_of(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, ...]:
    """Constant, rms, rms without the constant, correlation; ranges as the ratio ours to theirs."""
    n = min(len(ours), len(theirs))
    ours, theirs = ours[:n], theirs[:n]
    seen = np.isfinite(ours) & np.isfinite(theirs)
    if seen.sum() < 5:
        return (np.nan,) * 5
    ours, theirs = ours[seen], theirs[seen]
    off = (ours - theirs + 180.0) % 360.0 - 180.0
    constant = float(np.median(off))
    off = (ours - theirs - constant + 180.0) % 360.0 - 180.0 + constant
    moving = min(ours.std(), theirs.std()) > 1e-6
    alike = float(np.corrcoef(ours, theirs)[0, 1]) if moving else np.nan
    ratio = float(np.ptp(ours) / max(np.ptp(theirs), 1e-6))
    return float(off.mean()), float(np.sqrt(np.mean(off**2))), float(off.std()), alike, ratio


def told(errors: list[tuple[float, ...]]) -> str:
    """Of both sides: rms, in brackets without the constant."""
    known = [each for each in errors if np.isfinite(each[1])]
    if not known:
        return "–"
    _, rms, after, *_ = np.sqrt(np.mean(np.square(known), axis=0))
    return f"{rms:.1f} ({after:.1f})"


def plug_in_gait(joints: tuple[str, ...], solved: dict[str, pipeline.Solved]) -> list[list[str]]:
    rows = []
    for file, one in solved.items():
        theirs = stored_angles(DATA / file)
        if not one.landmarks:
            continue  # nobody whose bodies have a human's name
        angles, ours_isb = (pipeline.angles(one, convention) for convention in ("pig", "isb"))
        cells, alike, ratio = [], [], []
        for joint in joints:
            for axis in range(1 if joint == "Elbow" else 3):
                both = [
                    errors_of(ours[:, axis], theirs[label][:, axis])
                    for label in (f"L{joint}Angles", f"R{joint}Angles")
                    if label in theirs and (ours := told_by(angles, label)) is not None
                ]
                cells.append(told(both))
                if joint in ("Hip", "Knee") and axis == 0:
                    alike += [each[3] for each in both]
                if joint == "Knee" and axis == 1:
                    ratio += [knee_range(ours_isb, theirs, side) for side in ("left", "right")]
        if any(cell != "–" for cell in cells):
            view = "in view" if file in IN_VIEW else "left out"
            extra = [f"{np.nanmin(alike):.3f}", ", ".join(ratio)] if alike else []
            rows.append([f"{Path(file).stem}, {view}", *cells, *extra])
    return rows


def verdicts(solved: dict[str, pipeline.Solved]) -> list[list[str]]:
    """Of every file, what is over the lines: rms, and in brackets what a constant leaves of it."""
    rows = []
    for file, one in solved.items():
        theirs = stored_angles(DATA / file)
        if not one.landmarks:
            rows.append([Path(file).stem, "no landmark known: not compared", ""])
            continue
        angles = pipeline.angles(one, "pig")
        over, offset = [], []
        for label in sorted(theirs):
            side, joint = label[0], label[1:].removesuffix("Angles")
            ours = told_by(angles, label) if joint in LINES else None
            for axis in range(3) if ours is not None and label in theirs else ():
                _, rms, after, alike, _ = errors_of(ours[:, axis], theirs[label][:, axis])
                line = LINES[joint][axis]
                what = f"{side} {joint.lower()} {'XYZ'[axis]} {rms:.1f} ({after:.1f})"
                if line is None and axis == 2 and joint != "Ankle" and after > TURN_LINE:
                    over.append(what)
                if line is not None and rms > line:
                    (over if after > line else offset).append(what)
                still = np.nanstd(theirs[label][:, axis]) < 1.0
                if axis == 0 and joint in ("Hip", "Knee") and alike < LEAST_R and not still:
                    over.append(f"{side} {joint.lower()} r {alike:.3f}")
        rows.append([Path(file).stem, ", ".join(over) or "none", ", ".join(offset) or "none"])
    return rows


def knee_range(angles: ClinicalAngles, theirs: dict[str, np.ndarray], side: str) -> str:
    """How far a knee seems to go from side to side, by our own axis and by the file's."""
    label = f"{side[0].upper()}KneeAngles"
    if label not in theirs:
        return "–"
    ours = np.degrees(angles.of(f"{side}_knee_adduction"))
    return f"{errors_of(ours, theirs[label][:, 1])[4]:.2f}"


def true_angles(person: Person) -> Iterator[tuple[str, np.ndarray]]:
    """Name → (n_frames,) degrees, by OpenSim's definition of the coordinates."""
    turns = {n: quat.from_matrix(person.turns[:, i]) for i, n in enumerate(person.names)}
    up = quat.from_matrix(np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]]))
    turns[""] = np.broadcast_to(up, turns["pelvis"].shape)
    for label, (above, below) in TRUTH.items():
        for side in ("left", "right"):
            pair = [turns.get(name, turns.get(f"{name}_{side[0]}")) for name in (above, below)]
            if pair[0] is not None and pair[1] is not None:
                found = angles_between("opensim", label, side, pair[0], pair[1])
                if below not in turns or side == "right":
                    yield from ((name, np.degrees(values)) for name, values in found.items())


def against_opensim() -> list[list[str]]:
    found: dict[str, dict[tuple[str, bool, bool], list[tuple[float, ...]]]] = {}
    ratios: dict[str, list[float]] = {}
    for folder in sorted((DATA / "anatomical-truth").glob("*/")):
        for skin in (False, True):
            person, recording = wear(folder, float(skin))
            (solved,) = pipeline.solve(Take(recordings=(recording,)))
            angles = find_angles(solved.motion, solved.landmarks, "opensim")
            key = (model_of(folder), skin, folder.name.startswith(CHOSEN))
            for name, truth in true_angles(person):
                if name in angles.names:
                    error = errors_of(np.degrees(angles.of(name)), truth)
                    joint = name.removesuffix("_l").removesuffix("_r")
                    found.setdefault(joint, {}).setdefault(key, []).append(error)
                    if key[0] == "Rajagopal":  # whose zero is meant
                        stated = np.degrees(angles.deviations[angles.names.index(name)])
                        ratios.setdefault(joint, []).append(error[0] / stated)
    sizes = {joint: f"{np.sqrt(np.mean(np.square(each))):.1f}" for joint, each in ratios.items()}
    return [
        [joint, *(told(by[key]) for key in COLUMNS), sizes[joint]] for joint, by in found.items()
    ]


def inverse_kinematics() -> list[list[str]]:
    """Of one person's takes: rms against the coordinates of an expert's model, both sides."""
    cells: dict[str, list[str]] = {}
    folder = DATA / "nimble-opencap-s4"
    for name in EXPERT:
        (solved,) = pipeline.solve(folder / f"{name}.trc", static=(folder / "static1.trc",))
        angles = pipeline.angles(solved, "opensim")
        truth = storage(folder / f"{name}_ik.mot")
        found: dict[str, list[tuple[float, ...]]] = {}
        for column in (column for column in angles.names if column in truth):
            joint = column.removesuffix("_l").removesuffix("_r")
            error = errors_of(np.degrees(angles.of(column)), np.degrees(truth[column]))
            found.setdefault(joint, []).append(error)
        for joint, errors in found.items():
            cells.setdefault(joint, []).append(told(errors))
    return [[joint, *by_take] for joint, by_take in cells.items()]


def storage(path: Path) -> dict[str, np.ndarray]:
    """Column → values of an OpenSim storage in radians."""
    lines = path.read_text(encoding="utf-8").splitlines()
    start = lines.index("endheader") + 1
    rows = [[float(word) for word in line.split()] for line in lines[start + 1 :] if line.strip()]
    return dict(zip(lines[start].split(), np.array(rows).T, strict=True))


def model_of(folder: Path) -> str:
    """The model that an expert fitted: it decides where angles are zero."""
    return "gait2392" if folder.name.startswith("hamner") else "Rajagopal"


def main() -> None:
    solved = {file: pipeline.solve(DATA / file)[0] for file in (*IN_VIEW, *LEFT_OUT)}
    planes = [f"{joint.lower()} {axis}" for joint in LEGS for axis in "XYZ"]
    head = ["file", *planes, "least r", "knee Y range, by isb : theirs"]
    put_section("Legs against Plug-in Gait", table(head, plug_in_gait(LEGS, solved)), PAGE)
    head = ["file", "over its line even after a constant", "over its line by a constant alone"]
    put_section("Which lines each file reaches", table(head, verdicts(solved)), PAGE)
    planes = [f"{joint.lower()} {axis}" for joint in ARMS[:-1] for axis in "XYZ"]
    head = ["file", *planes, "elbow X"]
    put_section(
        "Trunk and arms against Plug-in Gait", table(head, plug_in_gait(ARMS, solved)), PAGE
    )
    head = [
        f"{model}, {'skin' if skin else 'clean'}, {'in view' if view else 'left out'}"
        for model, skin, view in COLUMNS
    ]
    head = ["coordinate", *head, "constant : stated deviation, rms, Rajagopal"]
    put_section("Against OpenSim's models", table(head, against_opensim()), PAGE)
    rows = table(["coordinate", *EXPERT], inverse_kinematics())
    put_section("Against an expert's inverse kinematics", rows, PAGE)


if __name__ == "__main__":
    main()
