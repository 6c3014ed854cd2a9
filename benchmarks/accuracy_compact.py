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
from osteon.formats import read
from osteon.pipeline import solve
from osteon.posing import solve as solve_poses
from osteon.values import Motion, Skeleton

RECORDINGS = ("cmu-02/02_01.c3d",)
COUNTS = (12, 18, 24, 30, 36, 42, 48)
PAIRS = 2


def main(data: Path) -> None:
    parts = []
    for make in (lambda: curves(data), apart):
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
