"""Hands whose fingers are known, on performers or alone, and what they do.

A hand hangs as the performers' do: fingers down, thumb forward, palms towards each other. Its table
is of no template: bones of one person's hand, varied from performer to performer.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.errors import BadValue
from osteon.maths import quat
from osteon.synth.curves import stream, waves
from osteon.synth.motions import Act, Script, exercise
from osteon.synth.performers import Point, body, figure, mirrored
from osteon.typing import Array
from osteon.values import Body, Joint, Limits, Marker, Skeleton

FINGER_TABLE = {
    # place on the hand, lengths, along, curl; metres
    "thumb": ((0.010, 0.026, -0.024), (0.045, 0.034, 0.028), (0.30, 0.62, -0.72), (0.7, -0.7, 0.0)),
    "index": ((0.000, 0.024, -0.088), (0.042, 0.025, 0.022), (0.0, 0.06, -1.0), (1.0, 0.0, 0.0)),
    "middle": ((-0.003, 0.002, -0.091), (0.046, 0.029, 0.023), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0)),
    "ring": ((-0.001, -0.018, -0.086), (0.043, 0.028, 0.023), (0.0, -0.05, -1.0), (1.0, 0.0, 0.0)),
    "little": ((0.003, -0.035, -0.078), (0.034, 0.020, 0.020), (0.0, -0.1, -1.0), (1.0, 0.0, 0.0)),
}
"""Metres, of a left hand; chosen: the hand of ``performers``, seen from another side."""
GLOVE_JOINTS = {"thumb": ("CMC", "MCP", "IP", "Tip")}
OTHER_JOINTS = ("MCP", "PIP", "DIP", "Tip")
WORN = {5: ("Tip",), 10: ("Tip", "PIP"), 20: ("Tip", "DIP", "PIP", "IP", "MCP", "CMC")}
"""Markers of a finger by how many a hand wears; of ten, the thumb's MCP in place of a PIP."""
SKIN_HEIGHTS = (0.017, 0.012, 0.011, 0.009)
"""Metres from a joint or the nail's bone to the marker over it; chosen: half of a finger."""
FINGER_RANGES = {
    "thumb": ((-20, 20), (-20, 35), (0, 50), (0, 70)),
    **dict.fromkeys(
        ("index", "middle", "ring", "little"), ((-12, 12), (-10, 75), (0, 95), (0, 65))
    ),
}
"""Degrees of spread and of the three bends; chosen: what hands do without effort."""
LAST_BEND = (2.0 / 3.0, 6.0)
"""Ratio of a finger's last bend to the one before [Rijpkema 1991], and degrees by which it strays
from it; chosen."""
TOGETHER_SHARE = 0.6
"""Share of a finger's bend that all fingers have in common; chosen: hands close as one."""


def with_gloves(
    performer: Skeleton,
    count: int = 20,
    *,
    sides: Sequence[str] = ("left", "right"),
    variation: float = 0.05,
    seed: int = 0,
) -> Skeleton:
    """A performer with fingers on its hands, ``count`` markers on those of each: 5, 10 or 20.

    Parameters
    ----------
    variation
        Standard deviation of every bone's length about the table's, as a share; joints on the hand
        and markers lie that share of 5 cm elsewhere. Left and right alike.
    """
    if count not in WORN:
        raise BadValue(f"a glove has {', '.join(map(str, WORN))} markers, got {count}")
    bodies = list(performer.bodies)
    for side in sides:
        rng = stream(seed, "glove")
        left = _glove(count, variation, rng)
        own = left if side == "left" else [_mirrored(each) for each in left]
        at = performer.index(f"{side}_hand")
        on_hand = tuple(mark for each in own if each.parent is None for mark in each.markers)
        bodies[at] = replace(bodies[at], markers=(*bodies[at].markers, *on_hand), tip=None)
        bodies += [each for each in own if each.parent is not None]
    return figure(performer.subject, bodies)


def glove(
    count: int = 20, *, side: str = "left", variation: float = 0.05, seed: int = 0
) -> Skeleton:
    """A hand alone: what ``with_gloves`` puts on one, and three markers on its back."""
    on_back: dict[str, Point] = {
        "LHandWrist": (-0.024, 0.0, -0.012),
        "LHandIn": (-0.018, 0.022, -0.070),
        "LHandOut": (-0.014, -0.034, -0.062),
    }
    hand = body("left_hand", None, (0, 0, 0), markers=on_back)
    if side == "right":
        hand = _mirrored(hand)
    alone = figure("Glove", [hand])
    return with_gloves(alone, count, sides=(side,), variation=variation, seed=seed)


def grasps(script: Script | None = None, *, seconds: float = 20.0, rate: float = 120.0) -> Script:
    """Fingers that close and open, each a little as it likes, while ``script`` moves the rest; a
    hand alone is moved about."""
    base = exercise(seconds, rate=rate, together=True) if script is None else script

    def act(skeleton: Skeleton, rng: np.random.Generator) -> Act:
        done = base(skeleton, rng)
        motion = done.motion
        times = np.arange(motion.n_frames) / motion.rate
        rotations = np.array(motion.rotations)
        for side in ("left", "right"):
            common = waves(rng, times, 1, 0.1, 0.7)
            for finger in FINGER_TABLE:
                if f"{side}_{finger}_1" in skeleton.names:
                    angles = _bends(finger, common, waves(rng, times, 4, 0.15, 1.2))
                    _turn_finger(skeleton, rotations, f"{side}_{finger}", angles)
        return replace(done, motion=replace(motion, rotations=rotations))

    return act


def _bends(finger: str, common: Array, own: Array) -> Array:
    """(n_frames, 4) spread and bends, radians."""
    low, high = np.radians(np.array(FINGER_RANGES[finger], dtype=float)).T
    share = np.concatenate([own[:, :1], TOGETHER_SHARE * common + 0.4 * own[:, 1:]], axis=1)
    angles = 0.5 * (low + high) + 0.5 * (high - low) * share
    if finger != "thumb":
        ratio, stray = LAST_BEND
        angles[:, 3] = ratio * angles[:, 2] + np.radians(stray) * own[:, 3]
    return angles


def _turn_finger(skeleton: Skeleton, rotations: Array, name: str, angles: Array) -> None:
    for bone in (1, 2, 3):
        at = skeleton.index(f"{name}_{bone}")
        axes = skeleton.bodies[at].joint.axes
        turn = quat.exp(angles[:, bone, None] * axes[-1])
        if bone == 1:
            turn = quat.multiply(quat.exp(angles[:, :1] * axes[0]), turn)
        rotations[:, at] = turn


def _glove(count: int, variation: float, rng: np.random.Generator) -> list[Body]:
    """Fingers of a left hand, and before each a body without parent that has its markers on the
    hand."""
    found: list[Body] = []
    for finger, (place, lengths, along, curl) in FINGER_TABLE.items():
        sizes = np.array(lengths) * np.exp(variation * rng.standard_normal(3))
        at = np.array(place) + 0.05 * variation * rng.standard_normal(3)
        ahead = quat.normalise(np.array(along))
        bend = quat.normalise(np.array(curl) - ahead * (np.array(curl) @ ahead))
        axis = np.cross(ahead, bend)
        axes = np.stack([np.cross(ahead, axis), axis])
        ends = np.array([0.0, *sizes])
        joints = GLOVE_JOINTS.get(finger, OTHER_JOINTS)
        worn = []
        for bone, joint in enumerate(joints):
            far = 0.8 * ends[bone] if joint == "Tip" else ends[bone]
            spot = far * ahead - SKIN_HEIGHTS[bone] * bend if bone else at - SKIN_HEIGHTS[0] * bend
            spot = spot + 0.04 * variation * rng.standard_normal(3)
            shown = _is_worn(finger, joint, count)
            worn.append([Marker(f"L{finger.capitalize()}{joint}", spot)] if shown else [])
        found.append(Body(f"left_{finger}_0", None, Joint("free"), markers=tuple(worn[0])))
        parent, start = "left_hand", at
        for bone in (1, 2, 3):
            joint = Joint(
                "universal" if bone == 1 else "hinge",
                in_parent=start,
                axes=axes if bone == 1 else axes[1:],
                limits=_limits(finger, bone),
            )
            start, name = sizes[bone - 1] * ahead, f"left_{finger}_{bone}"
            tip = start if bone == 3 else None
            found.append(Body(name, parent, joint, markers=tuple(worn[bone]), tip=tip))
            parent = name
    return found


def _is_worn(finger: str, joint: str, count: int) -> bool:
    return joint in WORN[count] or (count == 10 and (finger, joint) == ("thumb", "MCP"))


def _limits(finger: str, bone: int) -> Limits:
    ranges = np.radians(FINGER_RANGES[finger])
    spans = [(float(low), float(high)) for low, high in ranges]
    if bone > 1:
        return Limits(hinge=spans[bone])
    return Limits(euler=(("x", *spans[0]), ("y", *spans[1])))


def _mirrored(left: Body) -> Body:
    """A left body as a right one; axes of turns mirror the other way."""
    if left.joint.limits is None:
        flip = np.array([-1.0, 1.0, 1.0])
        marks = tuple(Marker(f"R{m.name[1:]}", m.position * flip) for m in left.markers)
        return replace(left, name=left.name.replace("left_", "right_", 1), markers=marks)
    right = mirrored(left)
    axes = left.joint.axes * [1.0, -1.0, -1.0]
    limits = left.joint.limits
    return replace(right, joint=replace(right.joint, axes=axes, limits=limits))
