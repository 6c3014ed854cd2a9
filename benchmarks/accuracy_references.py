"""How near ``solve`` comes to what other software made of the same recordings.

    python benchmarks/accuracy_references.py

Reads the real recordings below ``OSTEON_DATA``; writes its sections of docs/numbers/accuracy.md.
"""

import os
from pathlib import Path

import numpy as np
from accuracy_page import put_section, table

from osteon import pipeline
from osteon.formats import read
from osteon.maths import quat
from osteon.pipeline import Solved, SolveOptions

DATA = Path(os.environ.get("OSTEON_DATA", Path(__file__).parents[2] / "shared" / "data"))
PLUG_IN_GAIT = {"thigh": "FEP", "shin": "FEO", "foot": "TIO"}
"""Our bodies by Plug-in Gait's points at their joints: femur's upper end and origin, tibia's."""
CENTRES = {
    "pycgm/Test_Files/Movement_trial.c3d": PLUG_IN_GAIT,
    "pycgm/Test_Files/Static_trial.c3d": PLUG_IN_GAIT,
    "pycgm/ROM/Sample_Static.c3d": PLUG_IN_GAIT,
    "gaitalytics/treadmill_events.c3d": PLUG_IN_GAIT,
    "clinical-gait-auckland/RCH/static/RCH.01.c3d": PLUG_IN_GAIT,
    "clinical-gait-auckland/RCH/dynamic/RCH.08.c3d": PLUG_IN_GAIT,
}
JOINTS = {"thigh": "hip", "shin": "knee", "foot": "ankle"}
RCH = "clinical-gait-auckland/RCH/dynamic/RCH.08.c3d"
RCH_HIPS = {"HJC": "Plug-in Gait", "HJC_GOM": "HJC_GOM", "DelpHJC": "DelpHJC"}
SQUATS = "nimble-opencap-s4/squats1"


def solved(name: str, hips: str = "harrington") -> Solved:
    return pipeline.solve(DATA / name, options=SolveOptions(hips=hips))[0]


def distances(one: Solved, name: str, body: str, point: str) -> np.ndarray:
    """Millimetres between our joint and their point, both sides, wherever theirs is there."""
    theirs = read(DATA / name).recordings[0]
    joints = one.motion.world()[1]
    found = []
    for side, letter in (("left_", "L"), ("right_", "R")):
        ours = joints[:, one.skeleton.index(side + body)]
        found.append(
            np.linalg.norm(ours - theirs.positions[:, theirs.index(letter + point)], axis=-1)
        )
    found = np.concatenate(found)
    return 1e3 * found[np.isfinite(found)]


def spread(values: np.ndarray) -> str:
    """Median and the middle nine tenths."""
    low, middle, high = np.percentile(values, [5, 50, 95])
    return f"{middle:.0f} ({low:.0f}–{high:.0f})"


def midway() -> str:
    """Ours and theirs from the middle of the markers on both sides of knee and ankle."""
    name = "gaitalytics/treadmill_events.c3d"
    one, theirs = solved(name), read(DATA / name).recordings[0]
    joints, cells = one.motion.world()[1], []
    for body, outer, inner in (("shin", "LEK", "MEK"), ("foot", "LM", "MM")):
        away: dict[str, list[np.ndarray]] = {"ours": [], "theirs": []}
        for side, letter in (("left_", "L"), ("right_", "R")):
            pair = [theirs.index(letter + outer), theirs.index(letter + inner)]
            middle = theirs.positions[:, pair].mean(axis=1)
            centre = theirs.positions[:, theirs.index(letter + PLUG_IN_GAIT[body])]
            ours = joints[:, one.skeleton.index(side + body)]
            away["ours"].append(np.linalg.norm(ours - middle, axis=-1))
            away["theirs"].append(np.linalg.norm(centre - middle, axis=-1))
        far = {who: 1e3 * float(np.nanmedian(values)) for who, values in away.items()}
        cells.append(f"{JOINTS[body]} ours {far['ours']:.0f} mm, theirs {far['theirs']:.0f} mm")
    return "; ".join(cells)


def centres() -> str:
    rows = []
    for name, points in CENTRES.items():
        one = solved(name)
        cells = [spread(distances(one, name, body, point)) for body, point in points.items()]
        rows.append([name, one.marker_set, *cells])
        print(rows[-1], flush=True)
    marked = midway()
    return f"""\
`python benchmarks/accuracy_references.py`. Distance in mm between our joints and the joint centres
that Plug-in Gait stored in the same file, both sides together: median (5 %–95 %). Plug-in Gait
takes leg length and the widths of knee and ankle from a ruler and computes every frame by itself;
we use the markers alone and keep the bones' lengths. Neither is the truth. The knees of pycgm's
movement trial show it: the file asks for a centre 79 mm from the knee marker, and its shins change
their length by 23 mm (standard deviation) as the subject moves.

{table(["file", "marker set", *(JOINTS[body] for body in PLUG_IN_GAIT)], rows)}

Gaitalytics marks both sides of knee and ankle. From the middle between them, median: {marked}."""


def hips() -> str:
    rows = []
    for method in ("harrington", "davis", "seidel"):
        one = solved(RCH, method)
        cells = [spread(distances(one, RCH, "thigh", point)) for point in RCH_HIPS]
        rows.append([f"`--hips {method}`", *cells])
        print(rows[-1], flush=True)
    theirs = read(DATA / RCH).recordings[0]
    among = []
    for first, second in (("HJC", "HJC_GOM"), ("HJC", "DelpHJC"), ("HJC_GOM", "DelpHJC")):
        gaps = [
            theirs.positions[:, theirs.index(side + first)]
            - theirs.positions[:, theirs.index(side + second)]
            for side in "LR"
        ]
        among.append(
            f"{first}–{second} {spread(1e3 * np.linalg.norm(np.concatenate(gaps), axis=-1))}"
        )
    return f"""\
`{RCH}` holds hip centres by three methods. Distance to ours in mm, median
(5 %–95 %), both sides, for each of our regressions:

{table(["ours", *RCH_HIPS.values()], rows)}

Among themselves: {"; ".join(among)}."""


def flexion(one: Solved, side: str) -> tuple[np.ndarray, np.ndarray]:
    """Hip and knee (n_frames,) in degrees: thigh against pelvis in its sagittal plane, and the
    angle from the thigh's bone on to the shin's."""
    rotations, joints = one.motion.world()
    at = {name: joints[:, one.skeleton.index(side + name)] for name in ("thigh", "shin", "foot")}
    pelvis = rotations[:, one.skeleton.index("pelvis")]
    thigh = quat.rotate(quat.inverse(pelvis), at["shin"] - at["thigh"])
    hip = np.arctan2(thigh[:, 0], -thigh[:, 2])
    upper, lower = at["shin"] - at["thigh"], at["foot"] - at["shin"]
    across = np.linalg.norm(np.cross(upper, lower), axis=-1)
    return np.degrees(hip), np.degrees(np.arctan2(across, np.sum(upper * lower, axis=-1)))


def read_mot(path: Path) -> dict[str, np.ndarray]:
    """OpenSim's table of coordinates, radians."""
    lines = path.read_text().splitlines()
    start = lines.index("endheader") + 1
    values = np.array([[float(cell) for cell in line.split()] for line in lines[start + 1 :]])
    return dict(zip(lines[start].split(), values.T, strict=True))


def squats() -> str:
    one, expert = solved(SQUATS + ".trc"), read_mot(DATA / f"{SQUATS}_ik.mot")
    rows = []
    for side, letter in (("left_", "l"), ("right_", "r")):
        hip, knee = flexion(one, side)
        for name, ours, theirs in (
            ("hip flexion", hip, expert[f"hip_flexion_{letter}"]),
            ("knee flexion", knee, expert[f"knee_angle_{letter}"]),
        ):
            off = ours - np.degrees(theirs)
            correlation = np.corrcoef(ours, theirs)[0, 1]
            rows.append(
                [
                    f"{side.removesuffix('_')} {name}",
                    f"{np.degrees(np.ptp(theirs)):.0f}°",
                    f"{correlation:.4f}",
                    f"{np.sqrt(np.mean(off**2)):.1f}°",
                    f"{off.mean():+.1f}°",
                    f"{off.std():.1f}°",
                ]
            )
            print(rows[-1], flush=True)
    head = ["angle", "range", "correlation", "RMS", "constant offset", "RMS without it"]
    return f"""\
`{SQUATS}.trc`, {one.recording.n_frames} frames, against the expert's inverse kinematics with
OpenSim. Hip flexion is the thigh's bone in the pelvis's sagittal plane, knee flexion the angle
between the bones. Where the pelvis counts as level is a convention, hence a constant offset at the
hip.

{table(head, rows)}"""


if __name__ == "__main__":
    put_section("Joint centres against Plug-in Gait", centres())
    put_section("Hip centres against three methods", hips())
    put_section("Squats against OpenSim", squats())
