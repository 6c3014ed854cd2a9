"""Foot events against force plates and against what laboratories marked; gait numbers against those
stored in files; walks of one person against each other.

    python benchmarks/accuracy_gait.py

Where ``gaitkit`` (PyPI, MIT) can be imported its detectors are run on the same files. Writes the
tables of docs/numbers/gait.md.
"""

import logging
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import ezc3d
import numpy as np
from accuracy_angles import C3D, DATA
from accuracy_page import put_section, table

from osteon import pipeline
from osteon.errors import OsteonError
from osteon.gait import (
    SIDES,
    UNITS,
    FootEvent,
    GaitTake,
    Load,
    at_frames,
    between_takes,
    find_events,
    foot_paths,
    load_times,
    loads_of,
    meaning_of,
    spreads_of,
)
from osteon.kinetics import CUTOFF_RATE, find_moments
from osteon.maths import low_pass
from osteon.pipeline import Solved

PAGE = Path(__file__).parent.parent / "docs" / "numbers" / "gait.md"
IN_VIEW = (
    f"{C3D}00/Motion Analysis Corporation/Walk1.c3d",
    f"{C3D}03/gait-pig-nz.c3d",
    f"{C3D}03/gait-pig.c3d",
    f"{C3D}04/sub_labels.c3d",
    f"{C3D}11/2198928.c3d",
    "clinical-gait-auckland/RCH/dynamic/RCH.08.c3d",
    f"{C3D}00/Codamotion/codamotion_gaitwands_20150204.c3d",
    "opensim-core/walking2.c3d",
    f"{C3D}06/newwalk.c3d",
)
"""Files whose events chose the shares and heights of ``gait/foot_events.py``."""
LEFT_OUT = (
    f"{C3D}00/Vicon Motion Systems/pyCGM2 lower limb CGM24 Walking01.c3d",
    f"{C3D}02/pc_real.c3d",
    f"{C3D}09/PlugInC3D.c3d",
    f"{C3D}18/bad_parameter_section.c3d",
    f"{C3D}32/vicon_zerowire.c3d",
    "clinical-gait-auckland/AUC/dynamic/CB_Dynamic0003.c3d",
    "gaitalytics/treadmill_events.c3d",
    "opensim-core/test_walking.c3d",
    "opensim-core/walking5.c3d",
    f"{C3D}00/Innovative Sports Training/Gait with EMG.c3d",
    f"{C3D}26/Walking_Hybrid_1_1.c3d",
    f"{C3D}30/admarche2.c3d",
)
CODAMOTION = """[markers]
"L.ASIS" = "left_asis"
"L.PSIS" = "left_psis"
"L.Sac.Wand" = "pelvis"
"R.Sac.Wand" = "pelvis"
"L.Post.Fem." = "left_thigh"
"L.Ant.Fem." = "left_thigh"
"L.Post.Tib." = "left_shin"
"L.Ant.Tib." = "left_shin"
"L.Knee" = "left_knee_lateral"
"L.Ankle" = "left_malleolus_lateral"
"L.Heel" = "left_heel"
"L.Toe" = "left_metatarsal_5"
"""
CLUSTERS = """[markers]
L_ASIS = "left_asis"
SACRUM = "sacrum"
L_THIGH_1 = "left_thigh"
L_THIGH_2 = "left_thigh"
L_THIGH_3 = "left_thigh"
L_THIGH_4 = "left_thigh"
L_SHANK_1 = "left_shin"
L_SHANK_2 = "left_shin"
L_SHANK_3 = "left_shin"
L_SHANK_4 = "left_shin"
L_HEEL = "left_heel"
L_MT_1 = "left_metatarsal_1"
L_MT_5 = "left_metatarsal_5"
"""
OWN_SETS = {
    f"{C3D}00/Codamotion/codamotion_gaitwands_20150204.c3d": CODAMOTION,
    f"{C3D}26/Walking_Hybrid_1_1.c3d": CLUSTERS,
}
"""Sets of files whose labels no known set has and that show legs alone, which is too little to be
taken for a human's. Codamotion's toe markers sit on the fifth metatarsals."""
WALKS = ("opensim-core/test_walking.c3d", "opensim-core/walking2.c3d", "opensim-core/walking5.c3d")
"""Walks of one person."""
STORED = {
    "Cadence": "cadence",
    "Walking Speed": "speed",
    "Stride Time": "stride_time",
    "Stride Length": "stride_length",
    "Step Time": "step_time",
    "Step Length": "step_length",
    "Step Width": "step_width",
    "Foot Off": "stance",
}
"""Number of the ANALYSIS group → ours."""
SCALES = {"cm/s": 0.01, "mm/s": 0.001, "cm": 0.01, "mm": 0.001, "1/s": 120.0}
"""Unit in the file → factor to ours; a cadence in 1/s counts strides."""
DETECTORS = ("zeni", "oconnor", "hreljac", "ghoussayni", "bike")
NEAR, LOST = 0.02, 0.15
LEAST_LOAD = 20.0
LAGS = np.arange(-0.05, 0.0501, 0.002)
LEAST_KNOWN, FIT_SHARE = 0.35, 0.4
"""Seconds for which plates carry the whole person, and the share of what they felt that the motion
leaves unexplained: from and to these a lag is told."""
Truth = list[tuple[str, str, float]]
"""Side, kind, seconds."""


def by_plates(solved: Solved) -> Truth:
    """What plates say, of feet that one bears alone and whole."""
    loads = loads_of(solved.motion, solved.recording.ground_reactions())
    said = [(side, kind, t) for side, load in loads.items() for kind, t in load_times(load)]
    return sorted(said, key=lambda each: each[2])


def sharply_by_plates(solved: Solved) -> Truth:
    """Those of them that half and double the threshold tell within 20 ms of it: of the others no
    plate says more exactly when they were."""
    loads = loads_of(solved.motion, solved.recording.ground_reactions())
    return [each for each in by_plates(solved) if is_sharp(loads[each[0]], *each[1:])]


def is_sharp(load: Load, kind: str, time: float) -> bool:
    middle, reach = round(time * load.rate), round(LOST * load.rate)
    first = max(0, middle - reach)
    part = np.nan_to_num(load.force[first : middle + reach])
    for newtons in (0.5 * LEAST_LOAD, 2.0 * LEAST_LOAD):
        light = np.flatnonzero(part <= newtons)
        if not len(light):
            return False
        crossed = first + (light[-1] + 1 if kind == "strike" else light[0])
        if abs(crossed / load.rate - time) > NEAR:
            return False
    return True


def by_marks(solved: Solved) -> Truth:
    """What people marked in the file."""
    known = [(meaning_of(mark), mark.time) for mark in solved.recording.marks]
    return sorted({(*m, time) for m, time in known if m is not None}, key=lambda each: each[2])


def apart(found: Truth, truth: Truth) -> dict[str, list[float]]:
    """Kind → seconds from each true event to the one found; infinite where none is near."""
    errors: dict[str, list[float]] = {"strike": [], "off": []}
    for side, kind, time in truth:
        off = [t - time for s, k, t in found if (s, k) == (side, kind)]
        nearest = min(off, key=abs, default=np.inf)
        errors[kind].append(nearest if abs(nearest) < LOST else np.inf)
    return errors


def told(errors: list[float]) -> str:
    """Events, share within 20 ms, median offset."""
    if not errors:
        return "–"
    found = [error for error in errors if np.isfinite(error)]
    share = 100.0 * np.mean([abs(error) <= NEAR for error in errors])
    median = f"{1e3 * np.median(found):+.0f} ms" if found else "none"
    return f"{share:.0f} % of {len(errors)}, {median}"


def ours(events: tuple[FootEvent, ...]) -> Truth:
    return [(event.side, event.kind, event.time) for event in events]


def gaitkits(path: Path, method: str) -> Truth | None:
    """Events of a gaitkit detector, None where it cannot read or tell them."""
    gaitkit = import_module("gaitkit")
    logging.disable(logging.CRITICAL)
    try:
        found = gaitkit.detect(str(path), method=method)
    except Exception as error:  # whatever it raises: it has no answer
        print("gaitkit", method, path.name, str(error)[:90])
        return None
    kinds = {"strike": found.hs, "off": found.to}
    told_by = [(side, kind, events(side)) for kind, events in kinds.items() for side in SIDES]
    return [(side, kind, float(e["time"])) for side, kind, events in told_by for e in events]


def solve_all() -> dict[str, Solved]:
    solved = {}
    for file in (*IN_VIEW, *LEFT_OUT):
        try:
            one = solve_with_set(file)
            foot_paths(one.motion)
        except OsteonError as error:
            print(file, error)  # also of a rig without feet by name
        else:
            solved[file] = one
    return solved


def solve_with_set(file: str) -> Solved:
    """A file's one person, by the set that they wear where only we know it."""
    if file not in OWN_SETS:
        return pipeline.solve(DATA / file)[0]
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "own_set.toml"
        own.write_text(OWN_SETS[file], encoding="utf-8")
        return pipeline.solve(DATA / file, options=pipeline.SolveOptions(own_set=own))[0]


def event_tables(solved: dict[str, Solved]) -> tuple[str, str]:
    """By file, and all together beside other detectors."""
    rows, pooled = [], {}
    for file, one in solved.items():
        view = "in view" if file in IN_VIEW else "left out"
        feet = foot_paths(one.motion, pipeline.feet_seen(one))
        found = ours(find_events(feet))
        loads = loads_of(one.motion, one.recording.ground_reactions())
        mine = {"ours": found, "ours, plates used": ours(find_events(feet, loads))}
        kinds = {"plates": by_plates(one), "marks": by_marks(one)}
        others = {method: gaitkits(DATA / file, method) for method in DETECTORS} if GAITKIT else {}
        cells = []
        for source, truth in kinds.items():
            errors = apart(found, truth)
            cells += [told(errors["strike"]), told(errors["off"])]
            known = {name: events for name, events in others.items() if events is not None}
            both = mine | ({"ours, files that gaitkit reads": found} if known else {})
            for name, events in (both | known).items():
                for kind, values in apart(events, truth).items():
                    pooled.setdefault((name, view, source, kind), []).extend(values)
            if kinds["marks"] and source == "plates":
                errors = apart(kinds["marks"], truth)
                for kind, values in errors.items():
                    near = [value for value in values if np.isfinite(value)]
                    pooled.setdefault(("people's marks", view, source, kind), []).extend(near)
        rows.append([f"{Path(file).stem}, {view}", f"{one.recording.rate:g}", *cells])
    head = ["file", "Hz", "plates: strike", "off", "marks: strike", "off"]
    return table(head, rows), table(*pooled_table(pooled))


def by_rate(solved: dict[str, Solved]) -> str:
    """Events against plates, by how often cameras looked."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for file, one in solved.items():
        events = ours(find_events(foot_paths(one.motion, pipeline.feet_seen(one))))
        rate = "50 and 60 Hz" if one.recording.rate < 100.0 else "100 to 250 Hz"
        view = "in view" if file in IN_VIEW else "left out"
        for which, truth in (("all", by_plates(one)), ("sharp", sharply_by_plates(one))):
            for kind, values in apart(events, truth).items():
                for row in (rate, f"all rates, {view}"):
                    found.setdefault((row, which, kind), []).extend(values)
    columns = [(which, kind) for which in ("all", "sharp") for kind in ("strike", "off")]
    rows = [
        [row, *(told(found.get((row, *column), [])) for column in columns)]
        for row in sorted({row for row, *_ in found})
    ]
    return table(["cameras", *(f"{which} plates: {kind}" for which, kind in columns)], rows)


def in_step(solved: dict[str, Solved]) -> str:
    """By how much cameras lag behind plates: when the vertical force that the body's motion needs
    comes after the one that plates felt."""
    rows = []
    for file, one in solved.items():
        reactions = one.recording.ground_reactions()
        try:
            told_by = find_moments(one.motion, pipeline.angles(one), reactions)
        except OsteonError as error:
            print(file, error)
            continue
        n, rate = one.motion.n_frames, one.motion.rate
        each = [at_frames(reaction, n, rate)[0][:, 2] for reaction in reactions]
        felt = low_pass(np.sum(each, axis=0), CUTOFF_RATE, rate)
        needed = told_by.residual_force[:, 2] + felt
        known = np.flatnonzero(np.isfinite(needed) & (felt > 0.2 * felt.max()))
        if len(known) > LEAST_KNOWN * rate:
            lag, left = lag_of(needed, felt, known, rate)
            if left < FIT_SHARE:
                cells = [f"{rate:g}", f"{1e3 * lag:+.0f}", f"{left:.2f}"]
                rows.append([Path(file).stem, *cells])
    return table(["file", "Hz", "cameras after plates, ms", "share left"], rows)


def lag_of(needed: np.ndarray, felt: np.ndarray, known: np.ndarray, rate: float) -> tuple:
    """Seconds that explain most of what plates felt, and the share of it that is left."""
    frames = np.arange(len(felt))
    wanted = np.stack([needed[known], np.ones(len(known))], axis=-1)
    found = []
    for lag in LAGS:
        earlier = np.interp(known - lag * rate, frames, felt)
        fitted = wanted @ np.linalg.lstsq(wanted, earlier)[0]
        found.append((float(np.std(earlier - fitted) / np.std(earlier)), float(lag)))
    left, lag = min(found)
    return lag, left


def pooled_table(pooled: dict) -> tuple[list[str], list[list[str]]]:
    columns = [
        (view, source, kind)
        for source in ("plates", "marks")
        for view in ("in view", "left out")
        for kind in ("strike", "off")
    ]
    names = dict.fromkeys(name for name, *_ in pooled)
    rows = [
        [name, *(told(pooled.get((name, *column), [])) for column in columns)] for name in names
    ]
    return ["detector", *(f"{source}, {view}: {kind}" for view, source, kind in columns)], rows


def stored_numbers(path: Path) -> dict[tuple[str, str], float]:
    """Number and side → what the file's ANALYSIS group says, in our units."""
    group = ezc3d.c3d(str(path))["parameters"].get("ANALYSIS", {})
    if "NAMES" not in group:
        return {}
    columns = [group[name]["value"] for name in ("NAMES", "CONTEXTS", "UNITS", "VALUES")]
    found = {}
    for name, side, unit, value in zip(*columns, strict=False):
        if name in STORED and (name != "Step Time" or unit == "s"):
            found[STORED[name], side.lower()] = float(value) * SCALES.get(unit, 1.0)
    return found


def number_table(solved: dict[str, Solved]) -> str:
    rows = []
    for file, one in solved.items():
        stored = {} if "bad_parameter" in file else stored_numbers(DATA / file)
        if not stored:
            continue
        take = pipeline.gait(one, pipeline.angles(one))
        mine = spreads_of([take])
        cells = []
        for number in STORED.values():
            both = [(mine.get((number, s)), stored.get((number, s))) for s in SIDES]
            cells.append(
                ", ".join(
                    f"{a.mean:.{digits(number)}f} : {b:.{digits(number)}f}"
                    if a is not None and b is not None
                    else "–"
                    for a, b in both
                )
            )
        rows.append([Path(file).stem, *cells])
    head = ["file", *(f"{number.replace('_', ' ')}, {UNITS[number]}" for number in STORED.values())]
    return table(head, rows)


def digits(number: str) -> int:
    return 0 if number in ("cadence", "stance") else 2


def walks_tables() -> tuple[str, str]:
    """Every curve's deviation between walks of one person, and every number's."""
    solved = pipeline.solve(*(DATA / file for file in WALKS))
    takes: list[GaitTake] = []
    for one in solved:
        told_angles = pipeline.angles(one)
        takes.append(pipeline.gait(one, told_angles))
    found = between_takes(takes)
    # walks go both ways through a laboratory
    titles = dict.fromkeys(title for title, _ in found if "lab" not in title)
    degrees = {key: np.degrees(value) for key, value in found.items()}
    rows = [
        [t.replace("_", " "), *(f"{degrees[t, s]:.1f}" if (t, s) in found else "–" for s in SIDES)]
        for t in titles
    ]
    numbers = []
    for number, unit in UNITS.items():
        cells = []
        for side in SIDES:
            own = [np.mean(take.of(side, number)) for take in takes if take.of(side, number)]
            known = len(own) > 1
            cells.append(f"{np.mean(own):.3f} ± {np.std(own, ddof=1):.3f}" if known else "–")
        numbers.append([f"{number.replace('_', ' ')}, {unit}", *cells])
    return table(["curve", *SIDES], rows), table(["number", *SIDES], numbers)


if __name__ == "__main__":
    GAITKIT = find_spec("gaitkit") is not None
    everything = solve_all()
    files, together = event_tables(everything)
    curves, numbers = walks_tables()
    put_section("Events, all files together", together, PAGE)
    put_section("Events by file", files, PAGE)
    put_section("Events by the cameras' rate", by_rate(everything), PAGE)
    put_section("Whether cameras and plates are in step", in_step(everything), PAGE)
    put_section("Numbers stored in files", number_table(everything), PAGE)
    put_section("Three walks of one person: numbers", numbers, PAGE)
    put_section("Three walks of one person: curves", curves, PAGE)
