"""Fewer numbers, and axes of the person: writes its heading of docs/numbers/accuracy.md.

python benchmarks/accuracy_compact.py [folder of recordings]
"""

import sys
from pathlib import Path

import numpy as np
from accuracy_limits import DATA, MOTIONS
from accuracy_page import put_section, table

from osteon import synth
from osteon.anatomy import axes, fewer_angles
from osteon.delivery.motion_files import TOLD_SHARE
from osteon.formats import read
from osteon.maths import quat
from osteon.pipeline import solve
from osteon.posing import solve as solve_poses
from osteon.values import Motion, Skeleton

RECORDINGS = ("cmu-02/02_01.c3d",)
COUNTS = (12, 18, 24, 30, 36, 42, 48)
PAIRS = 2
TRUTH = "anatomical-truth"
REAL_PAIRS = {
    "squats and a walk (opencap-2)": ("opencap-2-squats1", "opencap-2-walking1"),
    "squats and a walk (opencap-4)": ("opencap-4-squats1", "opencap-4-walking1"),
    "drop jumps and squats (opencap-4)": ("opencap-4-DJ1", "opencap-4-squats1"),
    "runs at 2 and 4 m/s (hamner-01)": ("hamner-01-run200", "hamner-01-run400"),
}
MOVING = np.radians(10.0)
"""A limb that turns by less, rms, in either take has no first axis to speak of."""


def main(data: Path) -> None:
    parts = []
    for make in (lambda: curves(data), apart, lambda: real_pairs(data)):
        parts.append(make())
        put_section("Few numbers, and axes of the person", "\n\n".join(parts))
    print("\n\n".join(parts))


def curves(data: Path) -> str:
    motions = {name: read(data / name).motion() for name in MOTIONS}
    motions |= {f"{name}, solved": solve(data / name)[0].motion for name in RECORDINGS}
    rows = []
    for name, motion in motions.items():
        told = axes(motion)
        found = {each.numbers: each for each in fewer_angles(told, COUNTS)}
        cells = [f"{1e3 * found[n].error:.1f}" if n in found else "–" for n in COUNTS]
        limbs = found[30].limbs
        worst = max(limbs, key=lambda limb: limbs[limb])
        rows.append(
            (name, 6 + len(told.compact.names), *cells, f"{worst} {1e3 * limbs[worst]:.1f}")
        )
    head = ["take", "all", *map(str, COUNTS), "worst free end at 30"]
    return (
        "Numbers a frame, the root's six among them, against the mean distance of all joints and "
        "free ends from where they were, mm. Angles that matter least stand still at their median; "
        "a joint of one angle is a hinge, of two a universal; the others are fitted anew. *All*: "
        "three for a joint that moves in every way. [002] has 1.3 mm for single limbs.\n\n"
        + table(head, rows)
    )


def apart() -> str:
    rows = []
    for name, scripts in {
        "two calibration takes": (synth.exercise(40), synth.exercise(40)),
        "a calibration take and a walk": (synth.exercise(40), synth.walk(10)),
    }.items():
        for skin in (0.0, 0.3):
            found = [angles(*scripts, seed, skin) for seed in range(PAIRS)]
            cells = [np.concatenate(column) for column in zip(*found, strict=True)]
            shown = [f"{np.median(off):.2f}, {np.percentile(off, 90):.1f}" for off in cells]
            rows.append((name, f"{skin:g}", *shown))
    return (
        f"First axes of all limbs of one synthetic person from two takes, {PAIRS} pairs, 1 mm "
        "noise, solved with the person's skeleton; degrees between them, median and nine in ten. "
        "*Found apart*: each take by itself. *Kept*: found on the first, and held against the "
        "person's own, `axes --known`; between takes they are the same.\n\n"
        + table(["takes", "skin", "found apart", "kept, against truth"], rows)
    )


def real_pairs(data: Path) -> str:
    rows = []
    for name, takes in REAL_PAIRS.items():
        files = [data / TRUTH / take / "real.trc" for take in takes]
        motions = [each.motion for each in solve(*files)]
        one, two = (axes(motion).compact.skeleton for motion in motions)
        off = np.array(between(one, two))
        moves = np.min([turns(motion, one, two) for motion in motions], axis=0) > MOVING
        told = both_told(one, two)
        cells = [
            f"{np.median(each):.1f}, {np.percentile(each, 90):.0f}" if len(each) else "–"
            for each in (off, off[moves], off[told])
        ]
        rows.append((name, len(off), cells[0], int(moves.sum()), cells[1], told.sum(), cells[2]))
        print(rows[-1], flush=True)
    return (
        "The same on real pairs of takes of one person, solved together: degrees between first "
        "axes found on each take, median and nine in ten. *Moving*: limbs that turn by more than "
        f"{np.degrees(MOVING):.0f}° rms in both takes. "
        "*Told*: two thirds of the limb's sweeping or more go along its first axis in both takes, "
        "hinges aside; `osteon axes` names the others.\n\n"
        + table(
            ["takes", "limbs", "found apart", "moving", "found apart", "told", "found apart"], rows
        )
    )


def both_told(one: Skeleton, two: Skeleton) -> np.ndarray:
    """Return which of the limbs of ``between`` have a first axis that both takes tell."""
    pairs = ((a.movement, b.movement) for a, b in zip(one.bodies, two.bodies, strict=True))
    return np.array(
        [
            len(a.axes) > 1 and len(b.axes) > 1 and min(a.share[0], b.share[0]) >= TOLD_SHARE
            for a, b in pairs
            if a and b and len(a.axes) and len(b.axes)
        ]
    )


def turns(motion: Motion, *found: Skeleton) -> list[float]:
    """Radians rms by which each limb that has axes in both turns about its mean."""
    spreads = []
    for index, pair in enumerate(zip(*(each.bodies for each in found), strict=True)):
        a, b = (each.movement for each in pair)
        if a and b and len(a.axes) and len(b.axes):
            local = motion.rotations[:, index]
            sums = np.linalg.eigh(local.T @ local)[1]  # the mean rotation is the last column
            turned = quat.angle(quat.between(sums[:, -1], local))
            spreads.append(float(np.sqrt(np.mean(turned**2))))
    return spreads


def angles(first, second, seed: int, skin: float) -> tuple[list[float], list[float]]:
    person = synth.human()
    one, two = (performed(person, s, 2 * seed + i, skin) for i, s in enumerate((first, second)))
    kept = axes(one).compact.skeleton
    true = axes(synth.act(person, synth.exercise(40), seed=99).motion).compact.skeleton
    other = axes(two).compact.skeleton
    return between(kept, other), between(kept, true)


def performed(person: Skeleton, script, seed: int, skin: float) -> Motion:
    take = synth.perform(person, script, seed=seed, noise=0.001, skin=skin)
    return solve_poses(take.recording, person).motion


def between(one: Skeleton, other: Skeleton) -> list[float]:
    pairs = ((a.movement, b.movement) for a, b in zip(one.bodies, other.bodies, strict=True))
    return [
        float(np.degrees(np.arccos(min(1.0, abs(a.axes[0] @ b.axes[0])))))
        for a, b in pairs
        if a and b and len(a.axes) and len(b.axes)
    ]


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
