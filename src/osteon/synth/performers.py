"""Performers, skeletons whose every joint and marker place is known: a human, the wooden linkage of
[000], single joints, a dog, a hand.

All stand upright with arms hanging at zero angles: x to the right, y forward, z up; metres. Every
body's frame sits at its joint. Ranges are plausible, not clinical.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from osteon.errors import BadValue
from osteon.maths import chain, quat
from osteon.synth.curves import stream
from osteon.typing import Array
from osteon.values import Body, Joint, Limits, Marker, Skeleton

Point = tuple[float, float, float]
Ranges = Mapping[str, tuple[float, float]]
"""Axis (x, y, z) → lowest and highest angle in degrees, in the order the joint turns."""

KINDS = {0: "fixed", 1: "hinge", 2: "universal", 3: "ball"}
TABLE_HEIGHT = 1.75
"""Metres, of the figure in the tables below; chosen: a grown-up."""
TABLE_1 = {
    "neck–left shoulder": 0.390,
    "neck–right shoulder": 0.397,
    "between shoulders": 0.343,
    "right upper arm": 0.286,
    "left upper arm": 0.314,
}
"""Measured distances between the linkage's joints, metres: [000] Table 1."""


def body(
    name: str,
    parent: str | None,
    place: Point,
    ranges: Ranges | None = None,
    markers: Mapping[str, Point] | None = None,
    tip: Point | None = None,
) -> Body:
    """A body hung on its parent at ``place``; the ranges decide what kind of joint it is."""
    carried = tuple(Marker(label, np.array(at)) for label, at in (markers or {}).items())
    end = None if tip is None else np.array(tip)
    if parent is None:
        return Body(name, None, Joint("free"), markers=carried, tip=end)
    spans = [(axis, *np.radians(span)) for axis, span in (ranges or {}).items()]
    euler = tuple((axis, float(low), float(high)) for axis, low, high in spans)
    axes = np.array([[float(axis == other) for other in "xyz"] for axis, _, _ in euler])
    kind = KINDS[len(euler)]
    joint = Joint(
        kind,
        in_parent=np.array(place),
        axes=axes if kind in ("hinge", "universal") else np.zeros((0, 3)),
        limits=Limits(hinge=euler[0][1:]) if kind == "hinge" else Limits(euler=euler),
    )
    return Body(name, parent, joint, markers=carried, tip=end)


def both_sides(left: Sequence[Body]) -> list[Body]:
    """The left limbs and their mirror images."""
    return [*left, *map(mirrored, left)]


def mirrored(left: Body) -> Body:
    """A left body as a right one: x the other way, and with it every turn about y and z."""
    flip = np.array([-1.0, 1.0, 1.0])
    limits = left.joint.limits
    assert limits is not None
    turned = tuple(
        (axis, low, high) if axis == "x" else (axis, -high, -low)
        for axis, low, high in limits.euler
    )
    joint = replace(
        left.joint, in_parent=left.joint.in_parent * flip, limits=replace(limits, euler=turned)
    )
    return replace(
        left,
        name=_other_side(left.name),
        parent=left.parent and _other_side(left.parent),
        joint=joint,
        markers=tuple(Marker(f"R{mark.name[1:]}", mark.position * flip) for mark in left.markers),
        tip=None if left.tip is None else left.tip * flip,
    )


def figure(subject: str, bodies: Sequence[Body]) -> Skeleton:
    """A skeleton with bone lengths filled in: to the first child's joint, else to the tip."""
    return Skeleton(tuple(replace(each, length=_length(each, bodies)) for each in bodies), subject)


def scaled(skeleton: Skeleton, factors: Mapping[str, float]) -> Skeleton:
    """The same performer with every body enlarged by its own factor."""

    def grown(each: Body) -> Body:
        own = factors[each.name]
        joint = each.joint
        if each.parent is not None:
            joint = replace(joint, in_parent=joint.in_parent * factors[each.parent])
        markers = tuple(replace(mark, position=mark.position * own) for mark in each.markers)
        tip = None if each.tip is None else each.tip * own
        return replace(each, joint=joint, markers=markers, tip=tip)

    return figure(skeleton.subject, [grown(each) for each in skeleton.bodies])


def standing_height(skeleton: Skeleton) -> float:
    """Height of the root, metres, when the lowest point of the upright body is on the ground."""
    _, places = rest(skeleton)
    tips = [
        place[2] + (0.0 if each.tip is None else each.tip[2])
        for each, place in zip(skeleton.bodies, places, strict=True)
    ]
    return -min(tips)


def rest(skeleton: Skeleton) -> tuple[Array, Array]:
    """World rotations and joint places at zero angles, the root at the origin."""
    rotations = quat.identity((len(skeleton.bodies),))
    return chain.forward_kinematics(rotations, skeleton.offsets, skeleton.parents)


def cluster(label: str, centre: Point, size: float) -> dict[str, Point]:
    """Four markers about a centre, not in one plane and no two distances alike."""
    shape = np.array([[1.0, 0.2, 0.1], [-0.8, 0.5, -0.2], [0.1, -0.9, 0.3], [-0.2, 0.3, 1.1]])
    places = np.array(centre) + size * shape
    return {f"{label}{i}": (x, y, z) for i, (x, y, z) in enumerate(places.tolist(), 1)}


def _other_side(name: str) -> str:
    return name.replace("left_", "right_", 1)


def _length(each: Body, bodies: Sequence[Body]) -> float | None:
    ends = [child.joint.in_parent for child in bodies if child.parent == each.name]
    if each.tip is not None:
        ends.append(each.tip)
    return float(np.linalg.norm(ends[0])) if ends else None


def human(height: float = TABLE_HEIGHT, *, variation: float = 0.0, seed: int = 0) -> Skeleton:
    """A human performer.

    Every joint but the root's turns about at least two axes, so each has a definite centre: knee
    and elbow bend and twist (universal), the wrist bends both ways (universal), all others are
    ball joints.

    Parameters
    ----------
    height : float
        Metres.
    variation : float
        Standard deviation of each segment's size about its usual share of the height, 0.05 for
        5 %; left and right alike.
    seed : int
        Which of the varied people.
    """
    if not 0.3 <= height <= 3.0:
        raise BadValue(f"height must be between 0.3 and 3 metres, got {height}")
    usual = figure("Synth", [*_trunk(), *both_sides([*_arm(), *_leg()])])
    rng = stream(seed, "proportions")
    sizes: dict[str, float] = {}
    for name in usual.names:
        kind = name.removeprefix("left_").removeprefix("right_")
        if kind not in sizes:
            sizes[kind] = float(np.exp(variation * rng.standard_normal()))
        sizes[name] = sizes[kind]
    return scaled(usual, {name: height / TABLE_HEIGHT * sizes[name] for name in usual.names})


def _trunk() -> list[Body]:
    waist = {
        # hips lie about 60 mm behind and 85 mm below the front spines in adults
        "LFWT": (-0.130, 0.060, 0.045),
        "RFWT": (0.130, 0.060, 0.045),
        "LBWT": (-0.048, -0.135, 0.055),
        "RBWT": (0.048, -0.135, 0.055),
    }
    back_and_front = {
        "C7": (0.000, -0.070, 0.390),
        "T10": (0.000, -0.105, 0.160),
        "CLAV": (0.000, 0.100, 0.335),
        "STRN": (0.000, 0.130, 0.180),
        "RBAC": (0.085, -0.110, 0.270),
    }
    crown = {
        "LFHD": (-0.075, 0.105, 0.150),
        "RFHD": (0.075, 0.105, 0.150),
        "LBHD": (-0.065, -0.085, 0.125),
        "RBHD": (0.065, -0.085, 0.125),
    }
    bend = {"x": (-50, 25), "y": (-30, 30), "z": (-40, 40)}
    nod = {"x": (-45, 40), "y": (-35, 35), "z": (-65, 65)}
    return [
        body("pelvis", None, (0, 0, 0), markers=waist),
        body("chest", "pelvis", (0, -0.02, 0.12), bend, back_and_front),
        body("head", "chest", (0, 0, 0.42), nod, crown, tip=(0, 0.02, 0.26)),
    ]


def _arm() -> list[Body]:
    return [
        body(
            "left_clavicle",
            "chest",
            (-0.02, 0.08, 0.35),
            {"x": (-10, 10), "y": (-10, 30), "z": (-20, 20)},
            {"LSHO": (-0.145, -0.075, 0.050)},
        ),
        body(
            "left_upper_arm",
            "left_clavicle",
            (-0.15, -0.07, 0),
            {"x": (-40, 150), "y": (-10, 80), "z": (-50, 50)},
            {"LUPA": (-0.050, -0.010, -0.150), "LELB": (-0.045, 0.000, -0.285)},
        ),
        body(
            "left_forearm",
            "left_upper_arm",
            (0, 0, -0.29),
            {"x": (0, 140), "z": (-75, 75)},
            {
                "LFRM": (-0.040, 0.015, -0.120),
                "LWRA": (-0.010, 0.036, -0.248),
                "LWRB": (-0.008, -0.034, -0.246),
            },
        ),
        body(
            "left_hand",
            "left_forearm",
            (0, 0, -0.255),
            {"x": (-20, 30), "y": (-60, 60)},
            {"LFIN": (-0.028, 0.012, -0.085)},
            tip=(0, 0, -0.19),
        ),
    ]


def _leg() -> list[Body]:
    return [
        body(
            "left_thigh",
            "pelvis",
            (-0.085, 0, -0.04),
            {"x": (-20, 100), "y": (-20, 40), "z": (-35, 35)},
            {"LTHI": (-0.085, 0.030, -0.230), "LKNE": (-0.055, 0.000, -0.415)},
        ),
        body(
            "left_shin",
            "left_thigh",
            (0, 0, -0.42),
            {"x": (-130, 0), "z": (-20, 20)},
            {"LSHN": (-0.050, 0.020, -0.170), "LANK": (-0.042, -0.010, -0.402)},
        ),
        body(
            "left_foot",
            "left_shin",
            (0, 0, -0.41),
            {"x": (-45, 35), "y": (-20, 20), "z": (-25, 25)},
            {
                "LHEE": (0.000, -0.065, -0.040),
                "LTOE": (0.005, 0.130, -0.050),
                "LMT5": (-0.050, 0.095, -0.060),
            },
            tip=(0, 0.18, -0.08),
        ),
    ]


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
