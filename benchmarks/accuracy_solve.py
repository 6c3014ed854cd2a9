"""How near ``solve`` comes to a performer whose joints are known.

    python benchmarks/accuracy_solve.py

People of different size and proportions walk and exercise every joint in turn. Writes its section
of docs/numbers/accuracy.md.
"""

from typing import Any

import numpy as np
from accuracy_page import put_section, table

from osteon import pipeline, synth
from osteon.values import Skeleton, Take

SEEDS = range(1, 17)
TROUBLES = {
    "1 mm noise, skin of real size": {"noise": 0.001, "skin": 1.0},
    "and 5 % gaps": {"noise": 0.001, "skin": 1.0, "gaps": 0.05},
    "1 mm noise alone": {"noise": 0.001},
}
LIMBS = ("upper_arm", "forearm", "hand", "thigh", "shin", "foot")
BONES = (("upper_arm", "forearm"), ("forearm", "hand"), ("thigh", "shin"), ("shin", "foot"))


def performer(seed: int) -> Skeleton:
    """Between 1.55 and 1.90 m, segments varied by 4 % on top."""
    return synth.human(1.55 + 0.07 * ((seed - 1) % 6), variation=0.04, seed=seed)


def trial(seed: int, troubles: dict[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    """Median error of every joint, metres, and relative error of every bone's length."""
    script = synth.sequence(synth.walk(seconds=8, rate=60), synth.exercise(seconds=40, rate=60))
    take = synth.perform(performer(seed), script, seed=seed, **troubles)
    (solved,) = pipeline.solve(Take(recordings=(take.recording,)))
    ours = dict(
        zip(solved.skeleton.names, np.moveaxis(solved.motion.world()[1], 1, 0), strict=True)
    )
    truth = dict(zip(take.truth.skeleton.names, np.moveaxis(take.truth.joints, 1, 0), strict=True))
    # the performer's back bends in one joint, ours in two: the lower of ours is its counterpart
    ours["chest"] = ours.get("spine", ours["chest"])
    joints = {
        name: float(np.median(np.linalg.norm(ours[name] - truth[name], axis=-1)))
        for name in truth
        if name != "pelvis"
    }
    bones = {}
    for side in ("left_", "right_"):
        for start, end in BONES:
            length, true_length = (
                np.median(np.linalg.norm(each[side + start] - each[side + end], axis=-1))
                for each in (ours, truth)
            )
            bones[side + start] = float(length / true_length - 1.0)
    return joints, bones


def report() -> str:
    rows, by_joint = [], {}
    for name, troubles in TROUBLES.items():
        trials = [trial(seed, troubles) for seed in SEEDS]
        errors = 1e3 * np.array([list(joints.values()) for joints, _ in trials])
        lengths = 1e2 * np.abs([list(bones.values()) for _, bones in trials])
        limbs = [n.removeprefix("left_").removeprefix("right_") in LIMBS for n in trials[0][0]]
        by_joint.setdefault("names", list(trials[0][0]))
        by_joint.setdefault("errors", errors)
        rows.append(
            [
                name,
                *(f"{np.percentile(errors, p):.1f}" for p in (50, 95)),
                *(f"{np.percentile(errors[:, limbs], p):.1f}" for p in (50, 95)),
                *(f"{np.percentile(lengths, p):.1f}" for p in (50, 95)),
            ]
        )
        print(rows[-1], flush=True)
    head = ["", "all joints, mm", "95 %", "limb joints, mm", "95 %", "bone lengths, %", "95 %"]
    joints = table(
        ["joint", "median, mm", "worst person, mm"],
        [
            [name, f"{np.median(column):.1f}", f"{column.max():.1f}"]
            for name, column in zip(by_joint["names"], by_joint["errors"].T, strict=True)
        ],
    )
    return f"""\
`python benchmarks/accuracy_solve.py`: {len(SEEDS)} people, 1.55 to 1.90 m, proportions varied by
4 %, 41 markers, 8 s of walking and 40 s of exercise at 60 Hz, `osteon solve` with its defaults.
An error is the median over a take of the distance between a joint as solved and as it was; the
table gives medians and 95th percentiles over people and joints.

{table(head, rows)}

Joint by joint, with noise and skin:

{joints}

`chest` is the joint above the pelvis. The performers' backs bend in one joint where the template
has two: what motion alone can put right. The template's weights were chosen on the first six
people, the others are new to it; real takes stand further down. A collar bone carries one marker
and hardly turns; its inner end stays where the template has it."""


if __name__ == "__main__":
    put_section("Solving a synthetic performer", report())
