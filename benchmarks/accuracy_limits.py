"""Joint types, limits and reach, measured: writes its heading of docs/accuracy.md.

python benchmarks/accuracy_limits.py [folder of recordings]
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from accuracy_page import put_section

from ossature.anatomy.bind import mid_range
from ossature.anatomy.calm import calm
from ossature.anatomy.cones import find_cones, inside_polygon
from ossature.anatomy.kinds import Freedom, KindOptions, find_kinds
from ossature.anatomy.limits import LimitOptions, limits
from ossature.anatomy.ranges import RangeOptions, find_arc
from ossature.anatomy.within import excess
from ossature.formats import read
from ossature.maths import quat, rotations, swing_twist, zyz
from ossature.pipeline import solve
from ossature.pose.reach import reach
from ossature.values import Joint, Motion, Skeleton

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from limit_joints import some_joint

DATA = Path(__file__).parents[2] / "shared" / "data"
MOTIONS = (
    "cmu-01/01_01.amc",
    "cmu-02/02_01.amc",
    "cmu-asfamc-variants/35_01.amc",
    "cmu-01/01_01.bvh",
    "cmu-02/02_01.bvh",
)
PARTS = {
    "knee": ("ltibia", "rtibia", "LeftLeg", "RightLeg"),
    "elbow": ("lradius", "rradius", "LeftForeArm", "RightForeArm"),
    "hip": ("lfemur", "rfemur", "LeftUpLeg", "RightUpLeg"),
    "shoulder": ("lhumerus", "rhumerus", "LeftArm", "RightArm"),
}
TAKES = ("cmu-02/02_01.c3d", "cmu-01/01_01.c3d")
SOLVED_PARTS = {
    "knee": ("left_shin", "right_shin"),
    "elbow": ("left_forearm", "right_forearm"),
    "hip": ("left_thigh", "right_thigh"),
    "shoulder": ("left_upper_arm", "right_upper_arm"),
}
ENDS = (
    "lhand",
    "rhand",
    "lfoot",
    "rfoot",
    "head",
    "LeftHand",
    "RightHand",
    "LeftFoot",
    "RightFoot",
)
N_EACH = 200
KINDS = ("fixed", "hinge", "universal", "ball")
Z = np.array([0.0, 0.0, 1.0])


def main(data: Path) -> None:
    lines = [*synthetic(), *drawn(), *real_kinds(data), *figure_8(data)]
    put_section("Joint types and limits", "\n".join(lines))
    print("\n".join(lines))
    lines = solved_kinds(data)
    put_section("Joint types of our own solved takes", "\n".join(lines))
    print("\n".join(lines))


def synthetic() -> list[str]:
    rng = np.random.default_rng(1)
    rows = []
    for n in (30, 100, 300, 1000):
        for noise in (0.5, 1.5, 3.0):
            right, axis = [], []
            ends: dict[bool, list[float]] = {True: [], False: []}
            for _ in range(N_EACH):
                made = [some_joint(rng, kind, n, noise) for kind in KINDS]
                q = np.stack([q for q, _, _ in made], axis=1)
                found = find_kinds(q)
                right += [a == b for a, b in zip(found.kinds, KINDS, strict=True)]
                if found.kinds[1] == "hinge":
                    axis.append(np.degrees(np.arccos(min(1.0, abs(found.axes[1][0] @ made[1][1])))))
                    for calmed, errors in ends.items():
                        width = hinge_width(q, found, calmed=calmed)
                        errors.append(0.5 * np.degrees(width - np.ptp(made[1][2])))
            cells = [f"{np.median(axis):.2f}°", f"{np.quantile(axis, 0.95):.2f}°"]
            cells += [f"{np.mean(np.array(axis) <= 1.0):.0%}"]
            for errors in ends.values():
                cells += [f"{np.median(errors):+.2f}°", f"{np.quantile(np.abs(errors), 0.95):.2f}°"]
            rows.append(f"| {n} | {noise}° | {np.mean(right):.1%} | {' | '.join(cells)} |")
    return [
        f"Synthetic joints, {N_EACH} of each kind (fixed, hinge, universal, ball) in a row; ranges",
        "of 40° to 120°, any rest, any quaternion signs, noise about all three axes. Limits of",
        "hinges are held against the range without noise, half of what they are too wide: as",
        "found, and raw (`--raw`, the paper's least and largest sample):",
        "",
        "| samples | noise | type right | axis, median | 95 % | ≤ 1° | limit, median | 95 %"
        " | raw, median | 95 % |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        *rows,
        "",
        "What goes wrong at 30 samples are mostly balls called universal: in one or two cycles",
        "their three angles leave a surface by little more than the noise.",
        "",
    ]


def hinge_width(q: np.ndarray, found: Freedom, *, calmed: bool) -> float:
    q = calm(q, found.noise) if calmed else q
    turn = quat.multiply(q[:, 1], quat.inverse(found.rest[1]))
    angles = swing_twist.twist_angle(turn, found.axes[1][0])
    arc = find_arc(angles, np.zeros(len(q), dtype=int), RangeOptions())
    return arc.high - arc.low


def drawn() -> list[str]:
    """Poses drawn from the limits of a ball joint that moved by ±15° about rest."""
    rng = np.random.default_rng(2)
    q = quat.exp(np.radians(15.0) * rng.uniform(-1, 1, size=(500, 3)))
    groups, options = np.zeros(500, dtype=int), RangeOptions()
    mean = rotations.frechet_mean(q)
    cone = find_cones(q[:, None], mean[None], Z[None], groups, options)[0][0]
    box = rng.uniform(cone.polygon.min(axis=0), cone.polygon.max(axis=0), size=(8000, 2))
    swing = box[inside_polygon(box, cone.polygon)][:4000]
    inner = swing_twist.join(swing, rng.uniform(*cone.twist, len(swing)), cone.axis, cone.across)
    from_cone = share_inside(quat.multiply(cone.centre, inner), q, mean)
    arcs = [find_arc(angle, groups, options) for angle in zyz.from_quat(q).T]
    angles = np.stack([rng.uniform(arc.low, arc.high, 4000) for arc in arcs], axis=-1)
    from_box = share_inside(zyz.to_quat(angles), q, mean)
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
    rows = []
    for name in MOTIONS:
        skeleton = limits(read(data / name).motion())
        for part, bones in PARTS.items():
            for bone in bones:
                if bone in skeleton.names:
                    joint = skeleton.body(bone).joint
                    spread = np.degrees(joint.limits.evidence.spread)
                    shown = " ".join(f"{value:.1f}" for value in spread)
                    rows.append(f"| {name} | {part} | {bone} | {joint.kind} | {shown}° |")
    return [
        "Real motions, threshold `noise`; spread is the standard deviation along each principal",
        "direction:",
        "",
        "| motion | joint | bone | type | spread |",
        "|---|---|---|---|--:|",
        *rows,
        "",
    ]


def solved_kinds(data: Path) -> list[str]:
    """Types at the default threshold and by share of the variance, from markers alone."""
    rows = []
    for name in TAKES:
        motion = solve(data / name)[0].motion
        by_noise = limits(motion)
        by_share = limits(motion, options=LimitOptions(kinds=KindOptions("variance95")))
        for part, bones in SOLVED_PARTS.items():
            for bone in bones:
                if bone in by_noise.names:
                    joint, other = (s.body(bone).joint for s in (by_noise, by_share))
                    spread = np.degrees(joint.limits.evidence.spread)
                    share = spread[0] ** 2 / np.sum(spread**2)
                    shown = " ".join(f"{value:.1f}" for value in spread)
                    rows.append(
                        f"| {name} | {part} | {bone} | {shown}° | {share:.0%} | {other.kind}"
                        f" | {joint.kind} |"
                    )
    return [
        "Recordings solved by us, then judged by `ossature limits`; spread is the standard",
        "deviation along each principal direction, *first* its share of the variance. A knee",
        "also shows what skin and misplaced markers do, well above the noise, so the default",
        "threshold calls it a ball; `--threshold variance95` asks what most of the motion is:",
        "",
        "| take | joint | bone | spread | first | `variance95` | `noise` |",
        "|---|---|---|--:|--:|---|---|",
        *rows,
        "",
        "The knees and elbows of the walk, 02_01, have one dominant direction. In 01_01 the first",
        "direction of the knees holds about nine tenths, that of the elbows less: our skeleton has",
        "no joint between elbow and wrist, so the forearm's turning over is the elbow's.",
        "",
    ]


def figure_8(data: Path) -> list[str]:
    rows = []
    for name in MOTIONS[:3]:
        motion = read(data / name).motion()
        half = motion.n_frames // 2
        for train, test in (((0, half), (half, None)), ((half, None), (0, half))):
            learned = limits(cut(motion, *train), options=LimitOptions(zyz=True))
            for start in ("bind pose", "mid-range"):
                rows.append(one_figure(name, learned, thin(cut(motion, *test)), start))
    return [
        "Paper 001, Fig. 8, in numbers: hands, feet and head of one half of a motion are targets,",
        "limits come from the other half, the root is given. Every frame starts from the bind pose",
        "(with limits: the pose nearest to it that they allow) or from the middle of the learned",
        "ranges. Mean angle of all joints to the recorded pose:",
        "",
        "| motion | frames | start | balls, no limits | types, no limits | cones | ellipses"
        " | ZYZ boxes | worst excess |",
        "|---|--:|---|--:|--:|--:|--:|--:|--:|",
        *rows,
        "",
    ]


def one_figure(name: str, learned: Skeleton, test: Motion, start_name: str) -> str:
    free = [replace(b, joint=as_ball(b.joint)) if b.parent else b for b in learned.bodies]
    balls = learned.with_bodies(free, "every joint a ball")
    targets = {n: test.world()[1][:, learned.index(n)] for n in ENDS if n in learned.names}
    pose = np.stack([starting(b.joint, start_name) for b in learned.bodies])
    poses = np.array(np.broadcast_to(pose, test.rotations.shape))
    poses[:, 0] = test.rotations[:, 0]
    cells, worst = [], 0.0
    runs = [(balls, "none"), *((learned, shape) for shape in ("none", "auto", "ellipse", "zyz"))]
    for skeleton, shape in runs:
        start = replace(test, skeleton=skeleton, rotations=poses)
        found = reach(skeleton, targets, start=start, limits=shape, root="held").motion
        turn = quat.between(found.rotations[:, 1:], test.rotations[:, 1:])
        cells.append(f"{np.degrees(quat.angle(turn)).mean():.1f}°")
        if shape != "none":
            worst = max(worst, worst_excess(found, shape))
    return f"| {name} | {test.n_frames} | {start_name} | {' | '.join(cells)} | {worst:.3f}° |"


def starting(joint: Joint, name: str) -> np.ndarray:
    if name == "bind pose" or joint.limits is None:
        return quat.identity()
    return mid_range(joint, joint.limits.evidence.mean)


def worst_excess(motion: Motion, shape: str) -> float:
    pairs = zip(np.swapaxes(motion.rotations, 0, 1)[1:], motion.skeleton.bodies[1:], strict=True)
    return max(float(np.degrees(excess(q, body.joint, shape)).max()) for q, body in pairs)


def as_ball(joint: Joint) -> Joint:
    return replace(joint, kind="ball", axes=np.zeros((0, 3)), rest=quat.identity(), limits=None)


def cut(motion: Motion, first: int, last: int | None) -> Motion:
    span = slice(first, last)
    return replace(motion, rotations=motion.rotations[span], root=motion.root[span])


def thin(motion: Motion, n: int = 200) -> Motion:
    step = slice(None, None, max(1, motion.n_frames // n))
    return replace(motion, rotations=motion.rotations[step], root=motion.root[step])


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
