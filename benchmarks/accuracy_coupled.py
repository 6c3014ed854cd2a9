"""Limits that know each other, measured: writes its heading of docs/numbers/accuracy.md.

python benchmarks/accuracy_coupled.py [folder of recordings]
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from accuracy_limits import DATA, MOTIONS, PARTS
from accuracy_page import put_section

from osteon.formats import read
from osteon.joint_limits import LimitOptions, clamp, draw_poses, limits, mid_ranges
from osteon.maths import euler, quat, rotations
from osteon.posing import reach
from osteon.values import Joint, Motion, Skeleton

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from oracles.angle_oracles import excess, inside_polygon

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
SHAPES = ("cone", "ellipse", "zyz", "auto")
BLOCK = 1.0
"""Seconds seen, then as many held out: about a stride."""
N_DRAWN = 1500
NEAR = np.radians(5.0)


def main(data: Path) -> None:
    lines = [*held_out(data), *figure_8(data)]
    put_section("Limits that know each other", "\n".join(lines))
    print("\n".join(lines))


def held_out(data: Path) -> list[str]:
    rng = np.random.default_rng(3)
    rows = []
    for name in MOTIONS:
        motion = read(data / name).motion()
        found = [row for side in (0, 1) for row in judged_side(motion, side, rng)]
        for part in ("all", "hips, shoulders", "all others"):
            cells = np.mean([each for which, each in found if part in (which, "all")], axis=0)
            shown = " | ".join(f"{100 * cell:.1f} %" for cell in cells)
            rows.append(f"| {name} | {part} | {shown} |")
    return [
        "Every other second of a motion is learned from, the seconds between are held out, then",
        "the other way round. Of every joint that is no hinge and does not stand still: how many",
        "drawn poses lie within 5° of a held-out one. *Drawn*: by `draw_poses`, as often here and",
        "there as the motion was, whole poses within all limits. *Recorded*: as many of the poses",
        "that were learned from lie so themselves; to draw better than that is to draw something",
        "else. The others are drawn evenly: from regions, cones and boxes, and (*seen, evenly*) of",
        "the poses that stand for what was seen, each once however long it lasted. *Held-out poses",
        "allowed*: how many of them lie inside (to 0.01°).",
        "",
        "| motion | joints | recorded | drawn | seen, evenly | regions, evenly | cones | ZYZ boxes"
        " | held-out poses allowed: regions | cones |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|",
        *rows,
        "",
    ]


def judged_side(motion: Motion, side: int, rng: np.random.Generator) -> list:
    """(part, shares) of each joint, with the seconds of one side learned from."""
    learned = (np.arange(motion.n_frames) / motion.rate / BLOCK).astype(int) % 2 == side
    poses = motion.rotations
    known = np.where(learned[:, None, None], poses, np.nan)
    skeleton = limits(replace(motion, rotations=known), options=LimitOptions(zyz=True))
    drawn = draw_poses(skeleton, N_DRAWN, rng)
    found = []
    for column, body in enumerate(skeleton.bodies):
        if column > 0 and body.joint.kind in ("universal", "ball"):
            which = body.name in (*PARTS["hip"], *PARTS["shoulder"])
            sides = poses[learned, column], poses[~learned, column]
            shares = joint_shares(body.joint, *sides, drawn[:, column], rng)
            found.append(("hips, shoulders" if which else "all others", shares))
    return found


def joint_shares(joint: Joint, seen, hidden, drawn, rng) -> list[float]:
    even, weights = draw_region(joint, rng)
    return [
        near_share(seen, hidden),
        near_share(drawn, hidden),
        near_share(quat.normalise(joint.limits.region.poses), hidden),
        near_share(even, hidden, weights),
        near_share(draw_cone(joint, rng), hidden),
        near_share(draw_box(joint, rng), hidden),
        *(allowed_share(hidden, joint, shape) for shape in ("auto", "cone")),
    ]


def near_share(poses: np.ndarray, others: np.ndarray, weights: np.ndarray | None = None) -> float:
    nearest = np.abs(poses @ others.T).max(axis=1)
    return float(np.average(nearest >= np.cos(0.5 * NEAR), weights=weights))


def allowed_share(poses: np.ndarray, joint: Joint, shape: str) -> float:
    return float(np.mean(quat.angle(quat.between(clamp(poses, joint, shape), poses)) < 2e-4))


def draw_region(joint: Joint, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Poses of a region, and weights that make them even."""
    region = joint.limits.region
    centres, radius = quat.normalise(region.poses), 1.25 * region.radius
    sizes = radius * np.cbrt(rng.uniform(size=(N_DRAWN, 1)))
    turns = quat.exp(sizes * quat.normalise(rng.normal(size=(N_DRAWN, 3))))
    poses = quat.multiply(centres[rng.integers(len(centres), size=N_DRAWN)], turns)
    overlap = (np.abs(poses @ centres.T) >= np.cos(0.5 * radius) - 1e-12).sum(axis=1)
    inside = quat.angle(quat.between(clamp(poses, joint), poses)) < 1e-5
    return poses[inside], 1.0 / overlap[inside]


def draw_cone(joint: Joint, rng: np.random.Generator) -> np.ndarray:
    cone = joint.limits.cone
    box = rng.uniform(cone.polygon.min(axis=0), cone.polygon.max(axis=0), size=(2 * N_DRAWN, 2))
    swing = box[inside_polygon(box, cone.polygon)]
    inner = rotations.join(swing, rng.uniform(*cone.twist, len(swing)), cone.axis, cone.across)
    return quat.multiply(cone.centre, inner)


def draw_box(joint: Joint, rng: np.random.Generator) -> np.ndarray:
    angles = [rng.uniform(*ends, N_DRAWN) for ends in joint.limits.zyz]
    return euler.zyz_to_quat(np.stack(angles, axis=-1))


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
        "[001] Fig. 8, in numbers: hands, feet and head of one half of a motion are targets,",
        "limits come from the other half, the root is given. Every frame starts from the bind pose",
        "(with limits: the pose nearest to it that they allow) or from the middle of the learned",
        "ranges. Regions have one help more: they start from the best of up to 64 stored poses of",
        "the half learned from, where that is nearer to the targets; cones and boxes from the",
        "given pose. Without it regions lost to cones in 6 of 12 rows (a trial of 60 frames). Mean",
        "angle of all joints to the recorded pose:",
        "",
        "| motion | frames | start | balls, no limits | types, no limits | cones | ellipses"
        " | ZYZ boxes | regions | worst excess |",
        "|---|--:|---|--:|--:|--:|--:|--:|--:|--:|",
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
    runs = [(balls, "none"), *((learned, shape) for shape in ("none", *SHAPES))]
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
    return mid_ranges([joint], joint.limits.evidence.mean[None])[0]


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
