"""Joint types, limits and reach, measured: writes its heading of docs/numbers/accuracy.md.

python benchmarks/accuracy_limits.py [folder of recordings]
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from accuracy_page import put_section

from osteon import synth
from osteon.formats import read
from osteon.joint_limits import (
    Degrees,
    RangeOptions,
    denoise,
    find_arc,
    find_cones,
    find_kinds,
    limits,
)
from osteon.maths import euler, quat, rotations
from osteon.pipeline import solve
from osteon.values import Joint, Skeleton, Take

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from limit_joints import some_joint, two_sines
from oracles.angle_oracles import inside_polygon

DATA = Path(__file__).parents[2] / "shared" / "data"
MOTIONS = (
    "cmu-01/01_01.amc",
    "cmu-02/02_01.amc",
    "cmu-asfamc-variants/35_01.amc",
    "cmu-01/01_01.bvh",
    "cmu-02/02_01.bvh",
    "cmu-asfamc-variants/Swagger.bvh",
)
PARTS = {
    "knee": ("ltibia", "rtibia", "LeftLeg", "RightLeg"),
    "elbow": ("lradius", "rradius", "LeftForeArm", "RightForeArm"),
    "hip": ("lfemur", "rfemur", "LeftUpLeg", "RightUpLeg"),
    "shoulder": ("lhumerus", "rhumerus", "LeftArm", "RightArm"),
}
TAKES = (
    "cmu-02/02_01.c3d",
    "cmu-01/01_01.c3d",
    "gaitalytics/treadmill_events.c3d",
    "nimble-opencap-s4/walking1.trc",
    "nimble-opencap-s4/DJ1.trc",
    "nimble-opencap-s4/squats1.trc",
    "clinical-gait-auckland/RCH/dynamic/RCH.08.c3d",
    "clinical-gait-auckland/AUC/dynamic/CB_Dynamic0003.c3d",
    "nimble-c3d/squat.c3d",
    "nimble-c3d/nick_freeform_001.c3d",
    "kineticstoolkit/kinematics_tennis_serve.c3d",
)
SOLVED_PARTS = {
    "knee": ("left_shin", "right_shin"),
    "elbow": ("left_forearm", "right_forearm"),
    "hip": ("left_thigh", "right_thigh"),
    "shoulder": ("left_upper_arm", "right_upper_arm"),
}
WANTED = {"knee": "hinge", "elbow": "hinge", "hip": "ball", "shoulder": "ball"}
N_EACH = 500
KINDS = ("fixed", "hinge", "universal", "ball")
Z = np.array([0.0, 0.0, 1.0])


def main(data: Path) -> None:
    lines = [*synthetic(), *drawn(), *real_kinds(data)]
    put_section("Joint types and limits", "\n".join(lines))
    print("\n".join(lines))
    lines = solved_kinds(data)
    put_section("Joint types of our own solved takes", "\n".join(lines))
    print("\n".join(lines))


class Cell(NamedTuple):
    """What came of joints of so many samples and so much noise."""

    samples: int
    noise: float
    right: np.ndarray
    """Whether the type is; then, of the hinges among them, degrees:"""
    axis: np.ndarray
    axis_bound: np.ndarray
    limit: np.ndarray
    limit_bound: np.ndarray
    raw: np.ndarray

    def short(self) -> float:
        """By what share of the limits fewer are within 2° than possible."""
        return float(np.mean(np.abs(self.limit_bound) <= 2.0) - np.mean(np.abs(self.limit) <= 2.0))

    def row(self, label: str) -> str:
        cells = [
            label,
            f"{np.mean(self.right):.1%}",
            f"{np.median(self.axis):.2f}°",
            f"{np.median(self.axis_bound):.2f}°",
            f"{np.mean(self.axis <= 1.0):.0%}",
            f"{np.mean(self.axis_bound <= 1.0):.0%}",
            f"{np.median(self.limit):+.2f}°",
            f"{np.median(np.abs(self.limit)):.2f}°",
            f"{np.median(np.abs(self.limit_bound)):.2f}°",
            f"{np.mean(np.abs(self.limit) <= 2.0):.1%}",
            f"{np.mean(np.abs(self.limit_bound) <= 2.0):.1%}",
            f"{np.median(self.raw):+.2f}°",
        ]
        return f"| {' | '.join(cells)} |"


def synthetic() -> list[str]:
    rng = np.random.default_rng(1)
    cells = [one_cell(rng, n, noise) for n in (30, 100, 300, 1000) for noise in (0.5, 1.5, 3.0)]
    pooled = Cell(
        0, 0.0, *(np.concatenate(column) for column in list(zip(*cells, strict=True))[2:])
    )
    return [
        f"Synthetic joints, {N_EACH} of each kind (fixed, hinge, universal, ball) in a row; ranges",
        "of 40° to 120°, any rest, any quaternion signs, noise about all three axes. *Best* is the",
        "median error, *possible* the share within the line, of the best unbiased estimator",
        "(Cramér and Rao). Axes: a hinge whose angles have the resultant ρ tells its axis to",
        "σ/√(n(1 − ρ²)) in each of two directions. Limits: who knows that every motion is two",
        "sines and fits their seven numbers; we do not know that. Limits are held against the",
        "range without noise, half of what they are too wide: as found, and raw (`--raw`, the",
        "paper's least and largest sample). The last row pools all others, each alike:",
        "",
        "| samples, noise | type right | axis | best | ≤ 1° | possible"
        " | limit too wide | limit error | best | ≤ 2° | possible | raw too wide |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        *(cell.row(f"{cell.samples}, {cell.noise}°") for cell in cells),
        pooled.row("all"),
        "",
        f"So types are right in {min(np.mean(cell.right) for cell in cells):.1%} and more of every",
        "row; axes are as near as the samples allow, within 1° where noise / √samples is below",
        "about 0.1°; limits fall short of what is possible by at most",
        f"{100 * max(cell.short() for cell in cells):.0f} points of a hundred. Pooled, the medians",
        "hold: axes within 1°, limits within 2°. Not every joint of a row does, and of 30 samples",
        "at 3° noise no estimator could make it so. What goes wrong with types there are balls",
        "called universal: in one or two cycles their three angles leave a surface by little more",
        "than the noise.",
        "",
    ]


def one_cell(rng: np.random.Generator, n: int, noise: float) -> Cell:
    made = [some_joint(rng, kind, n, noise) for _ in range(N_EACH) for kind in KINDS]
    q = np.stack([q for q, _, _ in made], axis=1)
    found = find_kinds(q)
    hinges = [j for j in range(1, len(made), 4) if found.kinds[j] == "hinge"]
    cosines = [abs(found.axes[j][0] @ made[j][1]) for j in hinges]
    resultant = np.abs([np.exp(1j * made[j][2]).mean() for j in hinges])
    deviation = noise / np.sqrt(n * (1.0 - resultant**2))
    return Cell(
        n,
        noise,
        right=np.array(found.kinds) == np.tile(KINDS, N_EACH),
        axis=np.degrees(np.arccos(np.minimum(cosines, 1.0))),
        axis_bound=deviation * np.linalg.norm(rng.normal(size=(2, len(hinges))), axis=0),
        limit=np.array([half_off(q, found, j, made[j][2], raw=False) for j in hinges]),
        limit_bound=np.array([limit_bound(rng, n, noise) for _ in range(N_EACH)]),
        raw=np.array([half_off(q, found, j, made[j][2], raw=True) for j in hinges]),
    )


def limit_bound(rng: np.random.Generator, n: int, noise: float) -> float:
    """Half of what a range is too wide for who fits the seven numbers of its two sines, degrees.

    Drawn from the Cramér–Rao bound, to first order in the noise.
    """
    time = 2.0 * np.pi * np.linspace(0.0, 1.0, n)
    parts, track = [np.ones(n)], np.zeros(n)
    for (cycles, phase), size in zip(two_sines(rng, n), (1.0, 0.5), strict=True):
        sine, cosine = np.sin(cycles * time + phase), np.cos(cycles * time + phase)
        parts += [sine, cosine, time * cosine]
        track += size * sine
    slopes = np.stack(parts, axis=1)
    slopes /= np.linalg.norm(slopes, axis=0)
    ends = slopes[np.argmax(track)] - slopes[np.argmin(track)]
    # two sines of all but one frequency are told apart badly, their sum is not: a least root of 0
    told = np.linalg.pinv(slopes.T @ slopes, rcond=1e-12, hermitian=True)
    return float(0.5 * noise * np.sqrt(ends @ told @ ends) * rng.normal())


def half_off(q: np.ndarray, found: Degrees, j: int, angle: np.ndarray, *, raw: bool) -> float:
    """Half of what a hinge's range is too wide, degrees."""
    track = q[:, j : j + 1] if raw else denoise(q[:, j : j + 1], found.noise[j : j + 1])
    turn = quat.multiply(track[:, 0], quat.inverse(found.rest[j]))
    angles = rotations.twist_angle(turn, found.axes[j][0])
    arc = find_arc(angles, np.zeros(len(q), dtype=int), RangeOptions())
    return 0.5 * float(np.degrees(arc.high - arc.low - np.ptp(angle)))


def drawn() -> list[str]:
    """Poses drawn from the limits of a ball joint that moved by ±15° about rest."""
    rng = np.random.default_rng(2)
    q = quat.exp(np.radians(15.0) * rng.uniform(-1, 1, size=(500, 3)))
    groups, options = np.zeros(500, dtype=int), RangeOptions()
    mean = rotations.frechet_mean(q)
    cone = find_cones(q[:, None], mean[None], Z[None], groups, options)[0][0]
    box = rng.uniform(cone.polygon.min(axis=0), cone.polygon.max(axis=0), size=(8000, 2))
    swing = box[inside_polygon(box, cone.polygon)][:4000]
    inner = rotations.join(swing, rng.uniform(*cone.twist, len(swing)), cone.axis, cone.across)
    from_cone = share_inside(quat.multiply(cone.centre, inner), q, mean)
    arcs = [find_arc(angle, groups, options) for angle in euler.zyz_from_quat(q).T]
    angles = np.stack([rng.uniform(arc.low, arc.high, 4000) for arc in arcs], axis=-1)
    from_box = share_inside(euler.zyz_to_quat(angles), q, mean)
    return [
        "Poses drawn at random from the limits of a ball joint that moved by ±15° about its rest",
        f"lie within 5° of what was sampled: from our cone {from_cone:.1%}, from the paper's ZYZ",
        f"box {from_box:.1%}.",
        "",
    ]


def share_inside(poses, q, mean) -> float:
    """Share within 5° of the convex hull of the sampled rotation vectors."""
    logs, poses = (quat.log(quat.between(mean, each)) for each in (q, poses))
    directions = quat.normalise(np.random.default_rng(0).normal(size=(400, 3)))
    reached = (logs @ directions.T).max(axis=0) + np.radians(5.0)
    return float(np.mean(np.all(poses @ directions.T <= reached, axis=1)))


def real_kinds(data: Path) -> list[str]:
    rows, right = [], {part: [] for part in PARTS}
    for name in MOTIONS:
        skeleton = limits(read(data / name).motion())
        for part, bone, joint in joints_of(skeleton, PARTS):
            rows.append(f"| {name} | {part} | {bone} | {joint.kind} | {spread_cells(joint)} |")
            right[part].append(joint.kind == WANTED[part])
    counts = ", ".join(f"{part}s {sum(found)} of {len(found)}" for part, found in right.items())
    return [
        "Real motions, threshold `noise`; spread is the standard deviation along each principal",
        "direction, *first* the first one's share of the variance. Knees and elbows that are",
        f"hinges, hips and shoulders that are balls: {counts}.",
        "",
        "| motion | joint | bone | type | spread | first |",
        "|---|---|---|---|--:|--:|",
        *rows,
        "",
    ]


def joints_of(skeleton: Skeleton, parts: dict[str, tuple[str, ...]]) -> list:
    """(part, bone, joint) of those the skeleton has."""
    return [
        (part, bone, skeleton.body(bone).joint)
        for part, bones in parts.items()
        for bone in bones
        if bone in skeleton.names
    ]


def spread_cells(joint: Joint) -> str:
    spread = np.degrees(joint.limits.evidence.spread)
    return f"{' '.join(f'{value:.1f}' for value in spread)}° | {first_share(joint):.0%}"


def first_share(joint: Joint) -> float:
    variance = joint.limits.evidence.spread**2
    return variance[0] / variance.sum()


def solved_kinds(data: Path) -> list[str]:
    """Types of real and of synthetic takes, from markers alone."""
    rows, first = [], {part: [] for part in SOLVED_PARTS}
    for name in TAKES:
        skeleton = limits(solve(data / name)[0].motion)
        for part, bone, joint in joints_of(skeleton, SOLVED_PARTS):
            second = joint.limits.evidence.crosstalk
            cells = f"{spread_cells(joint)} | {second:.2f} | {joint.kind}"
            rows.append(f"| {name} | {part} | {bone} | {cells} |")
            first[part].append(first_share(joint))
    return [
        "Recordings solved by us, then judged by `osteon limits`; spread is the standard",
        "deviation along each principal direction, *first* its share of the variance, *second*",
        "the second direction's spread as a share of the first's, both in units of what markers",
        "can tell in that direction. Below 0.14 it is taken for the skin's cross-talk:",
        "",
        "| take | joint | bone | spread | first | second | type |",
        "|---|---|---|--:|--:|--:|---|",
        *rows,
        "",
        f"The first direction holds {min(first['knee']):.0%} of the variance and more in every",
        f"knee, {min(first['elbow']):.0%} and more in every elbow. Squats are what they show:",
        "hips that bend about one axis. An elbow's second direction is the forearm's turning over,",
        "which two markers 6 cm apart at the wrist hardly tell. Not all come out as hinges: the",
        "freeform take's rig is poor (markers 43 mm off); the tennis serve's is not (7 mm), and",
        "why its knees show 0.3 is not known: knees of synthetic performers show 0.11 at most. In",
        "the squats of nimble-c3d the forearms' turning over is just beyond the line, and so, as",
        "they should, are the hips of 01_01. The 0.14 was first chosen with these takes in view;",
        "48 synthetic takes of other seeds (walk and exercise, 0.15 to 0.5 of real skin) put the",
        "best line at 0.15 (98.7 % of 192 true hinges and 144 true balls right on average) and",
        "find nothing to choose between 0.12 and 0.17 (97.7 % and more), so 0.14 stays. The",
        "performers below are fresh ones.",
        "",
        *solved_synthetic(),
    ]


def solved_synthetic() -> list[str]:
    """Knees and elbows made true hinges, skin that slides, solved from markers, judged."""
    rows = []
    for script_name, script in (("walk", synth.walk(seconds=4)), ("exercise", synth.exercise(8))):
        for skin in (0.3, 1.0):
            found: dict[str, list[Joint]] = {part: [] for part in SOLVED_PARTS}
            for seed in range(20, 28):
                worn = synth.perform(
                    synth.human(), hinged(script), seed=seed, noise=5e-4, skin=skin
                )
                skeleton = limits(solve(Take(recordings=(worn.recording,)))[0].motion)
                for part, _, joint in joints_of(skeleton, SOLVED_PARTS):
                    found[part].append(joint)
            cells = [of_kind(joints, WANTED[part]) for part, joints in found.items()]
            rows.append(f"| {script_name} | {skin:g} | {' | '.join(cells)} |")
    return [
        "Synthetic performers whose knees and elbows are true hinges, skin that slides as joints",
        "bend (1: the median person's), 0.5 mm of noise, solved from 41 markers: how many come out",
        "so, and from what to what their *second* goes. The walk swings its arms about one axis",
        "(shoulders spread 14.1° 0.6° 0.3° in truth), so hinges are what its shoulders show:",
        "",
        "| motion | skin | knees hinge | elbows hinge | hips ball | shoulders ball |",
        "|---|--:|--:|--:|--:|--:|",
        *rows,
        "",
    ]


def of_kind(joints: list[Joint], kind: str) -> str:
    second = [joint.limits.evidence.crosstalk for joint in joints]
    right = sum(joint.kind == kind for joint in joints)
    return f"{right}/{len(joints)}, {min(second):.2f}–{max(second):.2f}"


def hinged(script):
    """The script with knees and elbows that turn about one axis only."""

    def run(performer: Skeleton, rng: np.random.Generator):
        done = script(performer, rng)
        turns = np.array(done.motion.rotations)
        for bone in (*SOLVED_PARTS["knee"], *SOLVED_PARTS["elbow"]):
            column = performer.index(bone)
            mean = rotations.frechet_mean(turns[:, column])
            away = quat.log(quat.between(mean, turns[:, column]))
            axis = np.linalg.svd(away, full_matrices=False)[2][0]
            turns[:, column] = quat.multiply(mean, quat.exp((away @ axis)[:, None] * axis))
        return replace(done, motion=replace(done.motion, rotations=turns))

    return run


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
