"""Walking, chicken walking and kicking: feet go where they are put, and legs follow.

While a foot stands it keeps one pose in the world; the leg is bent to fit (``limbs``). So contacts
are true by construction.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from osteon.errors import BadValue
from osteon.maths import quat, runs
from osteon.synth.curves import bump, ease, waves
from osteon.synth.joint_coordinates import X, dofs, reach, to_rotations
from osteon.synth.motions import STILL_ANGLE, Act, Script, TrueContact, clock
from osteon.synth.performers import rest, standing_height
from osteon.typing import Array, Mask
from osteon.values import Motion, Skeleton

Angles = dict[tuple[str, str], Array]
"""(body, axis) → angle in every frame, radians."""


@dataclass(frozen=True)
class Gait:
    """How feet are put. Lengths are shares of the leg's length."""

    period: float
    """Seconds from one step of a foot to its next."""
    stride: float
    """From one plant of a foot to its next."""
    duty: float
    """Share of the period during which a foot stands."""
    lift: float
    """How high the toes go."""
    drop: float
    """How far the hips sink below standing."""
    pitch: float
    """How far the toes point down as the foot leaves the ground, radians."""
    play: float
    """How far knees wander sideways and shins twist, radians."""


@dataclass(frozen=True)
class Leg:
    """Three bodies of a performer, by index, that carry it on the ground."""

    upper: int
    lower: int
    foot: int
    phase: float
    """Share of the period by which it is later than the first leg."""


@dataclass(frozen=True)
class FootPath:
    """Where a foot is."""

    ankle: Array
    """(n_frames, 3) its joint in the world."""
    rotation: Array
    """(n_frames, 4) to the world from the foot."""
    planted: Mask
    """(n_frames,) whether it stands."""


def walk(seconds: float = 10.0, *, rate: float = 120.0) -> Script:
    """A walk along y with planted feet; a quadruped walks on four."""
    gait = Gait(period=1.1, stride=1.3, duty=0.5, lift=0.09, drop=0.065, pitch=1.1, play=0.08)

    def upper_body(turn: Array, rng: np.random.Generator) -> Angles:
        swing, level = np.cos(turn), np.ones_like(turn)
        return {
            ("chest", "z"): 0.12 * swing,
            ("chest", "x"): -0.06 * level,
            ("head", "z"): -0.05 * swing,
            ("left_upper_arm", "x"): -0.35 * swing,
            ("right_upper_arm", "x"): 0.35 * swing,
            ("left_upper_arm", "y"): 0.10 * level,
            ("right_upper_arm", "y"): -0.10 * level,
            ("left_forearm", "x"): 0.40 - 0.20 * swing,
            ("right_forearm", "x"): 0.40 + 0.20 * swing,
        }

    return _stepping(gait, upper_body, seconds, rate, "walk")


def chicken_walk(seconds: float = 20.0, *, rate: float = 120.0) -> Script:
    """The walk of [000] §4: exaggerated legs, waist bending, arms waving, all at once."""
    gait = Gait(period=1.8, stride=0.6, duty=0.5, lift=0.40, drop=0.04, pitch=1.3, play=0.2)

    def upper_body(turn: Array, rng: np.random.Generator) -> Angles:
        wave = waves(rng, turn / (2.0 * np.pi) * gait.period, 2 * len(WAVE_ANGLES), 0.2, 0.8)
        angles: Angles = {}
        for i, ((part, axis), (middle, half)) in enumerate(WAVE_ANGLES.items()):
            mirror = 1.0 if axis == "x" else -1.0
            angles[part, axis] = angles[f"left_{part}", axis] = middle + half * wave[:, 2 * i]
            angles[f"right_{part}", axis] = mirror * (middle + half * wave[:, 2 * i + 1])
        return angles

    return _stepping(gait, upper_body, seconds, rate, "chicken walk")


WAVE_ANGLES = {
    ("chest", "x"): (-0.20, 0.45),
    ("chest", "y"): (0.0, 0.35),
    ("chest", "z"): (0.0, 0.45),
    ("head", "x"): (0.0, 0.45),
    ("head", "y"): (0.0, 0.35),
    ("head", "z"): (0.0, 0.70),
    ("clavicle", "y"): (0.12, 0.20),
    ("clavicle", "z"): (0.0, 0.20),
    ("upper_arm", "x"): (0.7, 0.9),
    ("upper_arm", "y"): (0.55, 0.5),
    ("upper_arm", "z"): (0.0, 0.6),
    ("forearm", "x"): (1.1, 0.9),
    ("forearm", "z"): (0.0, 0.8),
    ("hand", "x"): (0.05, 0.3),
    ("hand", "y"): (0.0, 0.7),
}
"""(part, axis) → middle and half of its range in the chicken walk, radians, left side; chosen:
wide, so that every joint shows itself, and within what people can do."""


def kicks(seconds: float = 12.0, *, rate: float = 120.0) -> Script:
    """Kicks to the front, left and right in turn, one every two seconds.

    The foot flies up in a quarter of a second to a straight leg; the other stays planted.
    """

    def act(skeleton: Skeleton, rng: np.random.Generator) -> Act:
        times, legs = clock(seconds, rate), _legs(skeleton)[:2]
        size = _leg_length(skeleton, legs)
        effort = bump((times % 2.0) / 2.0)
        lean = effort * np.where(times % 4.0 < 2.0, 1.0, -1.0)
        angles = {
            ("chest", "x"): 0.15 * effort,
            ("left_upper_arm", "y"): 0.3 + 0.2 * effort,
            ("right_upper_arm", "y"): -0.3 - 0.2 * effort,
            ("left_forearm", "x"): 1.0 + 0.2 * lean,
            ("right_forearm", "x"): 1.0 - 0.2 * lean,
        }
        rotations = _upper_body(skeleton, angles, times, rng)
        rotations[:, 0] = quat.exp(np.stack([0.15 * effort, -0.05 * lean, 0.1 * lean], axis=-1))
        root = np.stack([0.08 * size * lean, -0.04 * size * effort, 0 * lean], axis=-1)
        root[:, 2] = standing_height(skeleton) - 0.03 * size
        motion = Motion(skeleton, rotations, root, rate, history=("kicks",))
        feet = [_kick(motion, leg, times - 2.0 * side) for side, leg in enumerate(legs)]
        return _stand(motion, legs, feet, 0.05 * waves(rng, times, 2 * len(legs), 0.2, 0.9))

    return act


def _kick(motion: Motion, leg: Leg, times: Array) -> FootPath:
    """A foot that leaves its plant once every four seconds, half a second after they begin."""
    since = times % 4.0 - 0.5
    up = ease(since / 0.25) * (1.0 - ease((since - 0.40) / 0.5))
    plant = _plant(motion.skeleton, leg)
    straight = 0.999 * sum(_bones(motion.skeleton, leg))
    hip = motion.world()[1][:, leg.upper]
    high = hip + straight * np.array([0.0, np.sin(1.3), -np.cos(1.3)])
    ankle = plant + up[:, None] * (high - plant)
    return FootPath(ankle, quat.from_axis_angle(X, 0.9 * up), up == 0.0)


def _stepping(
    gait: Gait,
    upper_body: Callable[[Array, np.random.Generator], Angles],
    seconds: float,
    rate: float,
    name: str,
) -> Script:
    def act(skeleton: Skeleton, rng: np.random.Generator) -> Act:
        times, legs = clock(seconds, rate), _legs(skeleton)
        size = _leg_length(skeleton, legs)
        turn = 2.0 * np.pi * times / gait.period
        middle = turn - np.pi * gait.duty  # of the first leg's stance
        rotations = _upper_body(skeleton, upper_body(turn, rng), times, rng)
        tilt = [-0.02 + 0.015 * np.sin(2 * turn), 0.05 * np.cos(middle), -0.09 * np.cos(turn)]
        rotations[:, 0] = quat.exp(np.stack(tilt, axis=-1))
        root = np.stack([-0.02 * np.cos(middle), gait.stride / gait.period * times, 0 * turn], -1)
        root[:, 2] = 0.015 * np.cos(2 * middle) - gait.drop
        root = size * root + [0.0, 0.0, standing_height(skeleton)]
        motion = Motion(skeleton, rotations, root, rate, history=(name,))
        feet = [_step(skeleton, leg, gait, size, times) for leg in legs]
        return _stand(motion, legs, feet, gait.play * waves(rng, times, 2 * len(legs), 0.2, 0.9))

    return act


def _step(skeleton: Skeleton, leg: Leg, gait: Gait, size: float, times: Array) -> FootPath:
    """A foot that stands, swings and stands again, straight along y; it rolls over its toes."""
    phase = times / gait.period - leg.phase
    step = np.floor(phase)
    swing = np.maximum(phase - step - gait.duty, 0.0) / (1.0 - gait.duty)
    tip = _tip(skeleton, leg)
    # below its hip in the middle of its stance
    toes = _plant(skeleton, leg) + tip
    toes = toes + [0.0, size * gait.stride * (gait.duty / 2.0 + leg.phase), 0.0]
    along = size * gait.stride * (step + ease(swing))
    toes = toes + np.stack([0 * along, along, size * gait.lift * bump(swing)], axis=-1)
    rotation = quat.from_axis_angle(X, gait.pitch * bump(swing) * (1.2 * swing - 1.0))
    return FootPath(toes - quat.rotate(rotation, tip), rotation, swing == 0.0)


def _stand(motion: Motion, legs: Sequence[Leg], feet: Sequence[FootPath], play: Array) -> Act:
    """Bend every leg to its foot; ``play`` (n_frames, 2 n_legs) moves knees and twists shins."""
    skeleton = motion.skeleton
    q_world, p_world = motion.world()
    rotations = motion.rotations.copy()
    contacts = []
    for i, (leg, foot) in enumerate(zip(legs, feet, strict=True)):
        down = foot.ankle - p_world[:, leg.upper]
        line = down / np.linalg.norm(down, axis=-1, keepdims=True)
        forward = quat.rotate(quat.exp(play[:, [2 * i]] * line), np.array([0.0, 1.0, 0.0]))
        q_upper, bend = reach(down, *_bones(skeleton, leg), forward, _bend(skeleton, leg))
        twist = quat.from_axis_angle(np.array([0.0, 0.0, 1.0]), play[:, 2 * i + 1])
        q_bend = quat.multiply(quat.from_axis_angle(X, bend), twist)
        rotations[:, leg.upper] = quat.between(q_world[:, skeleton.parents[leg.upper]], q_upper)
        rotations[:, leg.lower] = q_bend
        rotations[:, leg.foot] = quat.between(quat.multiply(q_upper, q_bend), foot.rotation)
        contacts += [TrueContact(skeleton.names[leg.foot], span) for span in runs(foot.planted)]
    standing = Motion(skeleton, rotations, motion.root, motion.rate, history=motion.history)
    return Act(standing, tuple(contacts))


def _upper_body(
    skeleton: Skeleton, wanted: Angles, times: Array, rng: np.random.Generator
) -> Array:
    ways = dofs(skeleton)
    angles = STILL_ANGLE * waves(rng, times, len(ways), 0.1, 0.8)
    for column, dof in enumerate(ways):
        angles[:, column] += wanted.get((dof.body, dof.label), 0.0)
    return to_rotations(skeleton, angles)


def _legs(skeleton: Skeleton) -> list[Leg]:
    """Limbs of three bodies whose end is on the ground at rest; hind legs first."""
    limbs = (("thigh", "shin", "foot", 0.0), ("upper_arm", "forearm", "hand", 0.25))
    legs = []
    for upper, lower, foot, phase in limbs:
        for side, later in (("left", 0.0), ("right", 0.5)):
            names = [f"{side}_{part}" for part in (upper, lower, foot)]
            if set(names) <= set(skeleton.names):
                first, second, third = map(skeleton.index, names)
                legs.append(Leg(first, second, third, phase + later))
    ground = -standing_height(skeleton)
    places = rest(skeleton)[1]
    legs = [leg for leg in legs if places[leg.foot, 2] + _tip(skeleton, leg)[2] < ground + 0.05]
    if not legs:
        raise BadValue(f"performer {skeleton.subject!r} has no legs to stand on; use exercise")
    return legs


def _plant(skeleton: Skeleton, leg: Leg) -> Array:
    """The ankle of the upright performer, root above the origin; its toes on the ground."""
    ankle = rest(skeleton)[1][leg.foot].copy()
    ankle[2] = -_tip(skeleton, leg)[2]
    return ankle


def _tip(skeleton: Skeleton, leg: Leg) -> Array:
    tip = skeleton.bodies[leg.foot].tip
    return np.zeros(3) if tip is None else tip


def _bones(skeleton: Skeleton, leg: Leg) -> tuple[float, float]:
    lower, foot = skeleton.offsets[leg.lower], skeleton.offsets[leg.foot]
    return float(np.linalg.norm(lower)), float(np.linalg.norm(foot))


def _leg_length(skeleton: Skeleton, legs: Sequence[Leg]) -> float:
    """Of the shortest leg: the one that limits the stride."""
    return min(sum(_bones(skeleton, leg)) for leg in legs)


def _bend(skeleton: Skeleton, leg: Leg) -> float:
    """Whether the middle joint bends forward (+1, an elbow) or back (−1, a knee)."""
    limits = skeleton.bodies[leg.lower].joint.limits
    assert limits is not None
    _, low, high = limits.euler[0]
    return 1.0 if low + high > 0.0 else -1.0
