"""Other performers: the wooden linkage of [000], single joints, a dog, a hand."""

from dataclasses import replace

import numpy as np

from osteon.synth.performers import Point, Ranges, body, both_sides, cluster, figure
from osteon.values import Body, Skeleton

TABLE_1 = {
    "neck–left shoulder": 0.390,
    "neck–right shoulder": 0.397,
    "between shoulders": 0.343,
    "right upper arm": 0.286,
    "left upper arm": 0.314,
}
"""Measured distances between the linkage's joints, metres: [000] Table 1."""


def linkage() -> Skeleton:
    """The wooden linkage of [000]: a torso, a head and two arms on five ball joints.

    Neck and shoulders are points of one rigid torso, whose frame sits at the neck.
    """
    left, right = TABLE_1["neck–left shoulder"], TABLE_1["neck–right shoulder"]
    across = TABLE_1["between shoulders"]
    foot = (right**2 - left**2) / across  # how much further right the base reaches than left
    from_left, from_right = (across - foot) / 2.0, (across + foot) / 2.0
    drop = -float(np.sqrt(left**2 - from_left**2))
    free = {"x": (-45, 45), "y": (-45, 45), "z": (-45, 45)}

    def part(name: str, parent: str, place: Point, reach: float) -> Body:
        markers = cluster(f"{name}_", (0.02, 0.02, reach / 2.0), 0.04)
        return body(name, parent, place, free, markers, tip=(0, 0, reach))

    torso = body("torso", None, (0, 0, 0), markers=cluster("torso_", (0, 0.03, -0.2), 0.06))
    parts = [
        part("head", "torso", (0, 0, 0), 0.20),
        part("left_upper_arm", "torso", (-from_left, 0, drop), -TABLE_1["left upper arm"]),
        part("right_upper_arm", "torso", (from_right, 0, drop), -TABLE_1["right upper arm"]),
        part("left_forearm", "left_upper_arm", (0, 0, -TABLE_1["left upper arm"]), -0.30),
        part("right_forearm", "right_upper_arm", (0, 0, -TABLE_1["right upper arm"]), -0.30),
    ]
    return figure("Linkage", [torso, *parts])


def hinge(low: float = 0.0, high: float = np.pi / 2) -> Skeleton:
    """Two bodies on one axis, x; angles in radians."""
    return _pair("Hinge", {"x": (np.degrees(low), np.degrees(high))})


def ball(reach: float = np.pi / 4) -> Skeleton:
    """Two bodies on a ball joint that turns by ±``reach`` (radians) about each axis."""
    span = (-np.degrees(reach), np.degrees(reach))
    return _pair("Ball", {"x": span, "y": span, "z": span})


def quadruped() -> Skeleton:
    """A dog-like performer of 17 bodies: four legs, a neck and a tail; 0.55 m at the hips."""
    spine = {"x": (-25, 25), "y": (-10, 10), "z": (-25, 25)}
    neck = {"x": (-40, 40), "y": (-20, 20), "z": (-50, 50)}
    wag = {"x": (-50, 50), "z": (-60, 60)}
    trunk = [
        body("pelvis", None, (0, 0, 0), markers=cluster("PEL", (0, 0, 0.06), 0.05)),
        body("chest", "pelvis", (0, 0.28, 0.02), spine, cluster("CHE", (0, 0.15, 0.09), 0.06)),
        body("neck", "chest", (0, 0.30, 0.08), neck, cluster("NEC", (0, 0.08, 0.10), 0.03)),
        body(
            "head",
            "neck",
            (0, 0.14, 0.13),
            neck,
            cluster("HEA", (0, 0.08, 0.06), 0.03),
            (0, 0.2, 0),
        ),
        body(
            "tail",
            "pelvis",
            (0, -0.12, 0.03),
            wag,
            cluster("TAI", (0, -0.12, 0), 0.02),
            (0, -0.3, 0),
        ),
    ]
    fore = _dog_leg(
        ("upper_arm", "forearm", "hand"), "chest", (-0.07, 0.22, -0.05), (0.22, 0.22), bend=(0, 110)
    )
    hind = _dog_leg(
        ("thigh", "shin", "foot"), "pelvis", (-0.06, -0.04, -0.03), (0.22, 0.22), bend=(-110, 0)
    )
    return figure("Dog", [*trunk, *both_sides([*fore, *hind])])


def hand() -> Skeleton:
    """A right hand seen from its palm: a palm and five fingers of three bones, 16 bodies."""
    spread = {"x": (-80, 15), "z": (-15, 15)}
    palm = body("palm", None, (0, 0, 0), markers=cluster("PALM", (0.0, 0.05, 0.015), 0.02))
    bones = [palm]
    fingers = {
        "thumb": ((-0.025, 0.015, 0.0), (0.045, 0.034, 0.028), {"x": (-40, 15), "z": (-10, 50)}),
        "index": ((-0.026, 0.090, 0.0), (0.042, 0.025, 0.022), spread),
        "middle": ((-0.004, 0.093, 0.0), (0.046, 0.029, 0.023), spread),
        "ring": ((0.016, 0.088, 0.0), (0.043, 0.028, 0.023), spread),
        "little": ((0.034, 0.080, 0.0), (0.034, 0.020, 0.020), spread),
    }
    for finger, (place, lengths, ranges) in fingers.items():
        bones += _finger(finger, place, lengths, ranges)
    return figure("Hand", bones)


def _pair(subject: str, ranges: Ranges) -> Skeleton:
    near = cluster("base_", (0, 0.06, 0.15), 0.05)
    far = cluster("arm_", (0, 0.06, -0.20), 0.05)
    arm = body("arm", "base", (0, 0, 0), ranges, far, tip=(0, 0, -0.4))
    return figure(subject, [body("base", None, (0, 0, 0), markers=near), arm])


def _dog_leg(
    names: tuple[str, str, str],
    trunk: str,
    place: Point,
    lengths: tuple[float, float],
    bend: tuple[float, float],
) -> list[Body]:
    upper, lower, paw = (f"left_{name}" for name in names)
    swing = {"x": (-55, 55), "y": (-10, 20), "z": (-10, 10)}
    first, second = lengths
    on_upper = cluster(f"L{names[0][:3].upper()}", (-0.03, 0, -first / 2), 0.03)
    on_lower = cluster(f"L{names[1][:3].upper()}", (-0.02, 0, -second / 2), 0.03)
    on_paw = cluster(f"L{names[2][:3].upper()}", (-0.01, 0.02, -0.02), 0.015)
    step = {"x": (-80, 40), "y": (-15, 15), "z": (-15, 15)}
    return [
        body(upper, trunk, place, swing, on_upper),
        body(lower, upper, (0, 0, -first), {"x": bend, "z": (-8, 8)}, on_lower),
        body(paw, lower, (0, 0, -second), step, on_paw, tip=(0, 0.07, -0.05)),
    ]


def _finger(
    name: str, place: Point, lengths: tuple[float, float, float], ranges: Ranges
) -> list[Body]:
    bones, parent = [], "palm"
    for number, length in enumerate(lengths, 1):
        joint = f"{name}_{number}"
        span = ranges if number == 1 else {"x": (-90, 0)}
        marker = {joint.upper(): (0.0, length * 0.8, 0.008)}
        bones.append(body(joint, parent, place, span, marker))
        parent, place = joint, (0.0, length, 0.0)
    return [*bones[:-1], replace(bones[-1], tip=np.array(place))]
