"""Whether a marker does what was foretold: it is left out, foretold, and put on again.

    python benchmarks/accuracy_next_marker.py

People whose bones are known (OSTEON_DATA/anatomical-truth), 0.5 mm of noise, as they are and with
skin of real size. Both markers beside knees, ankles or elbows are left out on both sides; what one
of them would bring is foretold, and then it is put on. Prints the tables of
docs/numbers/anatomy.md.
"""

from dataclasses import dataclass

import accuracy_anatomy as anatomy
import numpy as np
from accuracy_page import table

import osteon.calibration.covariances as calibration
from osteon import pipeline
from osteon.human import landmark_names
from osteon.pipeline import SolveOptions, set_of
from osteon.values import Recording, Take

BESIDE = {
    "knee": ("knee_lateral", "knee_medial"),
    "ankle": ("malleolus_lateral", "malleolus_medial"),
    "elbow": ("elbow_lateral", "elbow_medial"),
}


@dataclass
class Told:
    """Radii of 95 % regions, and errors, of one joint, millimetres."""

    before: float
    foretold: float
    after: float
    off_before: float
    off_after: float


def main() -> None:
    rows = []
    for title, skin in (("0.5 mm noise", False), ("and skin of real size", True)):
        found: dict[tuple[bool, str], list[Told]] = {}
        for folder in sorted((anatomy.DATA / "anatomical-truth").glob("*/")):
            for joint in BESIDE:
                told = trial(folder, joint, skin=skin)
                found.setdefault((folder.name.startswith(anatomy.CHOSEN), joint), []).extend(told)
        for chosen, who in ((True, "in view"), (False, "left out")):
            for joint in BESIDE:
                if cases := found.get((chosen, joint)):
                    rows.append([title, who, joint, len(cases), *summary(cases)])
    head = ("markers", "people", "joint", "cases", "without ±", "foretold ±", "with it ±")
    print(table((*head, "foretold / with it", "off without", "off with it"), rows))


def summary(cases: list[Told]) -> list[str]:
    each = np.array([[c.before, c.foretold, c.after, c.off_before, c.off_after] for c in cases])
    before, foretold, after, off, closer = np.median(each, axis=0)
    ratios = each[:, 1] / each[:, 2]
    spread = f"{np.median(ratios):.2f} ({ratios.min():.2f}–{ratios.max():.2f})"
    sizes = [f"{value:.0f}" for value in (before, foretold, after)]
    return [*sizes, spread, f"{off:.1f}", f"{closer:.1f}"]


def trial(folder, joint: str, *, skin: bool) -> list[Told]:
    """Each of the two markers put on again, the worse of left and right."""
    person, worn = anatomy.wear(folder, float(skin))
    chosen = set_of([worn], SolveOptions())
    assert chosen is not None
    spots = landmark_names(chosen[1])
    off = {label for label, spot in spots.items() if spot.partition("_")[2] in BESIDE[joint]}
    bare = worn.select([name for name in worn.names if name not in off])
    told = []
    for spot in BESIDE[joint]:
        labels = [label for label in off if spots[label].partition("_")[2] == spot]
        if len(labels) != 2:
            continue
        pair = tuple(sorted(spots[label] for label in labels))
        radii: dict[str, float] = {}
        without = solve(bare, pair, radii)
        added = solve(worn.select([*bare.names, *labels]), (), {})
        body = anatomy.JOINTS[joint][0]
        sides = [side for side in ("left", "right") if f"{side}_{body}" in radii]
        if sides:
            now, then = (max(radius(s, f"{a}_{body}") for a in sides) for s in (without, added))
            foretold = max(radii[f"{side}_{body}"] for side in sides)
            errors = [
                max(error(s, person, joint, side) for side in sides) for s in (without, added)
            ]
            told.append(Told(now, 1e3 * foretold, then, *errors))
    return told


def solve(worn: Recording, pair: tuple[str, ...], radii: dict[str, float]) -> pipeline.Solved:
    """Solve a take; ``radii`` get what markers on ``pair`` would bring, by body."""
    usual = calibration.foretell_markers

    def foretell(fit, frames, found, deviations, usual_bodies, hips):
        base = calibration._Base.of(fit, frames, found, deviations, usual_bodies, hips)
        then = base.radii(pair, list(range(1, fit.rig.n_bodies))) or {}
        radii.update({fit.rig.names[body]: size for body, size in then.items()})
        return ()

    import osteon.calibration.fit_subject as fit_subject

    fit_subject.foretell_markers = foretell
    try:
        (solved,) = pipeline.solve(Take(recordings=(worn,)))
    finally:
        fit_subject.foretell_markers = usual
    return solved


def radius(solved: pipeline.Solved, body: str) -> float:
    covariance = solved.skeleton.body(body).joint.covariance
    assert covariance is not None
    return 1e3 * calibration.REGION_RATIO * float(np.sqrt(np.linalg.eigvalsh(covariance)[-1]))


def error(solved: pipeline.Solved, person: anatomy.Person, joint: str, side: str) -> float:
    ours, body, parent = anatomy.JOINTS[joint]
    index = solved.skeleton.index(f"{side}_{ours}")
    truth = anatomy.true_joint(
        person, f"{body}_{side[0]}", f"{parent}_{side[0]}", glides=joint == "knee"
    )
    return anatomy.error_of(solved, index, truth).whole


if __name__ == "__main__":
    main()
