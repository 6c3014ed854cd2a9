"""Limb lengths of a person from magnetic sensors on skin, as in Tables 2 to 4 of [000].

    python benchmarks/accuracy_limbs.py          replaces its section in docs/numbers/accuracy.md

Three estimators on the same takes: the paper's (plain least squares), ours, and the bound: what one
would reach who knows the sizes of noise and skin, the postures, and that skin is linear in them.
"""

from dataclasses import dataclass

import accuracy_page as page
import numpy as np

from osteon import synth
from osteon.articulation import JointStatistics, fit_pairs, joints, limb_table
from osteon.maths import quat
from osteon.synth.disturb import OTHER_SKIN_RMS, SKIN_RMS, SKIN_TURN, SOFT_LEVER
from osteon.values import Skeleton

LIMBS = ("upper_arm", "forearm", "thigh", "shin")
DEGREE = np.radians(1.0)
MAGNETIC = {"noise": 0.004, "moving_noise": 0.007, "orientation_noise": DEGREE}
SKINS = (0.0, 0.3, 1.0)
BOUND_FRAMES = 200
"""Frames that are enough to show postures to the bound; its noise is scaled to all of them."""
MOTIONS = {
    "one joint after the other": synth.exercise(60, rate=60),
    "all joints at once": synth.exercise(30, rate=60, together=True),
}
EXERCISE = (
    "-0.8 3.0 0.1 1.8 0.7 0.1 -2.6 -4.1 -0.9 1.9 -0.5 1.4 0.3 -0.3 -1.8 -3.4 "
    "-2.2 -0.9 -1.3 0.0 -0.7 -0.1 0.2 -0.6 -2.5 -1.2 -0.6 0.2 0.0 -0.4 0.7 -0.4 "
    "-2.3 -1.1 -0.7 -0.5 -0.7 -0.3 0.2 -0.9"
)
WALKS = (
    "-0.6 -0.4 0.9 -1.9 -0.3 0.5 -1.4 -2.7 -0.3 1.4 1.0 0.5 -0.5 1.7 -1.6 -2.7 "
    "1.1 0.5 -1.0 0.1 1.2 1.0 -3.2 -1.3 -1.2 -0.5 -1.1 -2.2 -0.5 0.0 0.1 -2.4 "
    "-1.3 -0.9 0.0 -1.0 2.3 1.8 -1.0 -1.3"
)
"""Centimetres: measured by tape minus found, eight limbs a take, of Tables 2 to 4 of [000]."""
PAPERS = dict(zip(MOTIONS, (EXERCISE, WALKS), strict=True))


CONCLUSION = """
With skin 0.3 the paper's method scatters as its own people did: such were its sensors and straps,
as far as scatter tells, a third of what bone pins show under markers. A sensor's skin moves all
joints of its body at once, and follows angles of joints that cannot be moved by it: so ours fits
all joints with the skin of every body as an unknown. The bound, which knows the sizes and the
true postures, lies below: skin turns sensors as well, and what it is linear in is measured with
these sensors."""


@dataclass(frozen=True)
class Limb:
    """Errors of one limb's length, metres."""

    ours: float
    """NaN where it is not told."""
    said: float
    """Our deviation."""
    plain: float
    bound: float
    """Deviation of the estimator that knows noise and skin."""


def limbs_of(worn: synth.SensorPerformance, skin: float) -> list[Limb]:
    skeleton = worn.truth.skeleton
    parents = {body.name: body.parent for body in skeleton.bodies if body.parent}
    found = {limb.name: limb for limb in limb_table(joints(worn.bodies, parents=parents))}
    plain, spread = plain_joints(worn), covariance(worn, skin)
    columns = {name: 6 * k for k, name in enumerate(parents)}
    limbs = []
    for name in skeleton.names:
        if name.partition("_")[2] in LIMBS:
            (child,) = skeleton.children(name)
            apart = skeleton.body(child).joint.in_parent - skeleton.body(name).joint.in_body
            length = float(np.linalg.norm(apart))
            slope = np.zeros(len(spread))
            slope[columns[name] : columns[name] + 3] = -apart / length
            slope[columns[child] + 3 : columns[child] + 6] = apart / length
            one = float(np.linalg.norm(plain[child][3:] - plain[name][:3]))
            bound = float(np.sqrt(slope @ spread @ slope))
            ours = found.get(name)  # none where a joint at its ends was called free
            error, said = (ours.length - length, ours.deviation) if ours else (np.nan, np.nan)
            limbs.append(Limb(error, said, one - length, bound))
    return limbs


def plain_joints(worn: synth.SensorPerformance) -> dict[str, np.ndarray]:
    """(6,) child's and parent's place of every joint by plain least squares, by its child."""
    bodies, skeleton = worn.bodies, worn.truth.skeleton
    ends = {b.name: (bodies.index(b.name), bodies.index(b.parent)) for b in skeleton.bodies[1:]}
    fits = fit_pairs(JointStatistics.of(bodies), None, list(ends.values()))
    return dict(zip(ends, fits.centres, strict=True))


def covariance(worn: synth.SensorPerformance, skin: float) -> np.ndarray:
    """(6 n_joints, 6 n_joints) of all joints' places in child and parent, by generalised least
    squares with skin as a random effect of known size, shared by all joints of a body."""
    motion = worn.truth.motion
    step = -(-motion.n_frames // BOUND_FRAMES)
    turned = quat.to_matrix(motion.world()[0][::step])
    posture = quat.log(motion.rotations[::step])
    skeleton, n_joints = motion.skeleton, len(motion.skeleton.bodies) - 1
    effects = _skin_effects(skeleton, skin)
    total = np.diag(np.r_[np.zeros(6 * n_joints), np.full(18 * len(effects), 1.0)])
    for k in range(n_joints):
        child, parent = k + 1, skeleton.parents[k + 1]
        rows = np.zeros((len(turned), 3, len(total)))
        noise = MAGNETIC["noise"] ** 2 + MAGNETIC["moving_noise"] ** 2
        for half, body, sign in ((0, child, 1.0), (3, parent, -1.0)):
            rows[..., 6 * k + half : 6 * k + half + 3] = sign * turned[:, body]
            arm = _arm(worn, skeleton, child, body)
            noise += DEGREE**2 * 2.0 / 3.0 * float(arm @ arm)
            cross = np.cross(np.eye(3), arm).T
            for place, (wearer, joint, size) in enumerate(effects):
                if wearer != body:
                    continue
                first = 6 * n_joints + 18 * place
                for lever, start in ((np.eye(3), first), (cross / SOFT_LEVER, first + 9)):
                    ways = sign * size * turned[:, body] @ lever
                    moved = np.einsum("tij,tk->tijk", ways, posture[:, joint])
                    rows[..., start : start + 9] += moved.reshape(*rows.shape[:2], 9)
        flat = rows.reshape(-1, len(total))
        total += step * flat.T @ flat / noise
    return np.linalg.inv(total)[: 6 * n_joints, : 6 * n_joints]


def _skin_effects(skeleton: Skeleton, skin: float) -> list[tuple[int, int, float]]:
    """Body, joint beside it, and metres per radian of one coordinate, as ``synth`` draws them."""
    effects = []
    for body, name in enumerate(skeleton.names):
        part = name.removeprefix("left_").removeprefix("right_")
        beside = [j for j in range(1, len(skeleton.names)) if body in (j, skeleton.parents[j])]
        size = skin * SKIN_RMS.get(part, OTHER_SKIN_RMS) / (SKIN_TURN * np.sqrt(3.0 * len(beside)))
        effects += [(body, joint, float(size)) for joint in beside]
    return effects


def _arm(worn: synth.SensorPerformance, skeleton: Skeleton, child: int, body: int) -> np.ndarray:
    """The child's joint from the body's sensor, in the body's frame."""
    joint = skeleton.bodies[child].joint
    place = worn.truth.placement.positions[body]
    return (joint.in_body if body == child else joint.in_parent) - place


def section(takes: int = 4) -> str:
    rows = []
    for motion, script in MOTIONS.items():
        papers = np.array(PAPERS[motion].split(), dtype=float)
        rows.append([motion, "its people", "", "", "", "", *_sizes(papers), ""])
        for skin in SKINS:
            found = []
            for seed in range(takes):
                worn = synth.sense(synth.human(), script, seed=seed, skin=skin, **MAGNETIC)
                found += limbs_of(worn, skin)
            told = [limb for limb in found if np.isfinite(limb.ours)]
            ours = 100.0 * np.array([limb.ours for limb in told])
            inside = np.mean([abs(limb.ours) < 1.96 * limb.said for limb in told])
            bound = 100.0 * np.sqrt(np.mean([limb.bound**2 for limb in found]))
            plain = 100.0 * np.array([limb.plain for limb in found])
            rows.append([motion, f"{skin:g}", f"{len(told)} of {len(found)}", *_sizes(ours)])
            rows[-1] += [f"{100 * inside:.0f} %", *_sizes(plain), f"{bound:.1f}"]
            print(rows[-1], flush=True)
    head = ["motion", "skin", "told", "ours: rms cm", "largest", "inside ± 1.96 s"]
    head += ["the paper's method: rms", "largest", "bound: rms"]
    return f"""\
`python benchmarks/accuracy_limbs.py`: upper and lower arms and legs, {takes} takes each, 4 / 7 mm
and 1° of noise, hierarchy given. Skin 1 is the median person's. The first line of each motion is
what [000] states of its people (Tables 2 to 4, 40 limbs, against a tape); the others are generated,
with exact truth: ours, and the paper's own method on the same takes. *Bound*: generalised least
squares that is told the true postures and the sizes of noise and skin; skin that follows a joint
looks as if the joint were elsewhere. A limb is not told where a joint at its ends is called free.

{page.table(head, rows)}
{CONCLUSION}"""


def _sizes(errors: np.ndarray) -> tuple[str, str]:
    return f"{np.sqrt(np.mean(errors**2)):.1f}", f"{np.abs(errors).max():.1f}"


if __name__ == "__main__":
    page.put_section("Joints: limb lengths of a person", section())
