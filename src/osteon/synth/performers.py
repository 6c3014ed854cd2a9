"""Performers: skeletons whose every joint and marker place is known.

All stand upright with arms hanging at zero angles: x to the right, y forward, z up; metres. Every
body's frame sits at its joint. Ranges are plausible, not clinical.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from osteon.maths import chain, quat
from osteon.typing import Array
from osteon.values import Body, Joint, Limits, Marker, Skeleton

Point = tuple[float, float, float]
Ranges = Mapping[str, tuple[float, float]]
"""Axis (x, y, z) → lowest and highest angle in degrees, in the order the joint turns."""

KINDS = {0: "fixed", 1: "hinge", 2: "universal", 3: "ball"}


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
    """Height of the root above the ground when the lowest tip or joint of the upright body
    touches it, metres."""
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
