"""URDF, the model format of robotics: a tree of links, written only. Metres, radians, z up.

- A link sits at its body's joint and is turned like the body.
- URDF knows hinges only: a joint with two or three turns has links without extent between.
- The root link has no joint to the world, as is the custom: a loader adds the free base, such as
  ``pinocchio.JointModelFreeFlyer()``.
- Markers are links on fixed joints, which loaders know as frames. Loops cannot be said.
"""

import math
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from osteon.errors import WrongContent
from osteon.formats.registry import Format, WriteOptions, check_one_root
from osteon.formats.shared.json_and_xml import add, text_of
from osteon.formats.shared.simulation_models import Mass, Turn, capsules_of, freedom_of, mass_of
from osteon.formats.shared.text_table import unused_name
from osteon.maths import euler, quat
from osteon.typing import Array
from osteon.values import Body, Take

EFFORT, VELOCITY = 1000.0, 100.0
"""Newton metres and radians per second: limits that URDF asks for and nobody measured."""
SLIGHT_SHARE = 0.01
"""Share of a body's mass in each link between the axes of its joint; chosen: simulators refuse
moving links without any, and it hardly changes the body."""
LEAST_INERTIA = 1e-12
"""Kilograms times square metres; chosen: less is rounding to simulators."""
STANDARD_GRAVITY = 9.81
"""Metres per second squared, defined as 9.80665 and rounded; by it bones swing and are damped."""


def write_urdf(path: Path, take: Take, options: WriteOptions) -> None:
    options.allow_metres("z", "URDF is in metres with z up, always")
    skeleton = take.skeleton()
    check_one_root(skeleton, path, "URDF")
    free = [b.name for b in skeleton.bodies if b.parent is not None and b.joint.kind == "free"]
    if free:
        raise WrongContent(path, f"URDF cannot say that {free[0]!r} moves free of its parent")
    robot = Element("robot", name=skeleton.subject or "skeleton")
    model = UrdfModel(robot, set(skeleton.names))
    for body, offset, capsules in zip(
        skeleton.bodies, skeleton.offsets, capsules_of(skeleton), strict=True
    ):
        mass = mass_of(capsules)
        mass = mass._replace(centre=mass.centre - body.joint.in_body)
        model.link(body.name, mass)
        if body.parent is not None:
            model.joints(body, mass, offset)
        for marker in body.markers:
            model.marker(body.name, marker.name, marker.position - body.joint.in_body)
    ElementTree.indent(robot)
    ElementTree.ElementTree(robot).write(path, encoding="utf-8", xml_declaration=True)


def damping_of(mass: Mass) -> float:
    """Return the damping by which the bone alone, swinging from its joint, would come to rest
    without swinging over.

    A rule like the masses, not a measurement. Without damping, chains of hinges that fall run ever
    faster in simulators of usual steps.
    """
    arm = float(np.linalg.norm(mass.centre))
    inertia = float(np.trace(mass.inertia)) / 3.0 + mass.total * arm**2
    return 2.0 * math.sqrt(mass.total * STANDARD_GRAVITY * arm * inertia)


def _slight(mass: Mass) -> Mass:
    inertia = max(SLIGHT_SHARE * float(np.trace(mass.inertia)) / 3.0, LEAST_INERTIA)
    return Mass(SLIGHT_SHARE * mass.total, np.zeros(3), inertia * np.eye(3))


class UrdfModel:
    """The robot element as it grows, and the names of links that are taken."""

    def __init__(self, robot: Element, names: set[str]) -> None:
        self.robot, self.names = robot, names

    def link(self, name: str, mass: Mass | None) -> None:
        link = add(self.robot, "link", name=name)
        if mass is None:
            return
        inertial = add(link, "inertial")
        add(inertial, "origin", xyz=mass.centre, rpy="0 0 0")
        add(inertial, "mass", value=mass.total)
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = mass.inertia.tolist()
        add(inertial, "inertia", ixx=xx, ixy=xy, ixz=xz, iyy=yy, iyz=yz, izz=zz)

    def joints(self, body: Body, mass: Mass, offset: Array) -> None:
        """Add the joints from the parent's link to the body's, one hinge after the other."""
        assert body.parent is not None
        freedom = freedom_of(body.joint)
        turns, rest = freedom.turns, freedom.rest
        if not turns:
            self.joint("fixed", body.name, body.parent, body.name, offset, rest)
        above = body.parent
        for place, (turn, axis) in enumerate(zip(turns, freedom.body_axes, strict=True), 1):
            name = body.name if len(turns) == 1 else f"{body.name}_{place}"
            below = body.name
            if place < len(turns):
                below = self.find_unused(f"{name}_link")
                self.link(below, _slight(mass))
            kind = "revolute" if turn.limited else "continuous"
            joint = self.joint(kind, name, above, below, offset, rest)
            add(joint, "axis", xyz=axis)
            add(joint, "dynamics", damping=damping_of(mass))
            self.limit(joint, turn)
            above, offset, rest = below, np.zeros(3), quat.identity()

    def limit(self, joint: Element, turn: Turn) -> None:
        limit = add(joint, "limit", effort=EFFORT, velocity=VELOCITY)
        if turn.limited:
            low, high = turn.range
            limit.set("lower", text_of(low))
            limit.set("upper", text_of(high))

    def marker(self, body: str, name: str, place: Array) -> None:
        name = self.find_unused(name)
        self.link(name, None)
        self.joint("fixed", f"{name}_on_{body}", body, name, place, quat.identity())

    def joint(
        self, kind: str, name: str, above: str, below: str, offset: Array, rest: Array
    ) -> Element:
        joint = add(self.robot, "joint", name=name, type=kind)
        # about axes that stand still: roll x first, then y, then z
        rpy = euler.from_quat(rest[None], "zyx")[0, ::-1]
        add(joint, "origin", xyz=offset, rpy=rpy)
        add(joint, "parent", link=above)
        add(joint, "child", link=below)
        return joint

    def find_unused(self, name: str) -> str:
        name = unused_name(name, self.names)
        self.names.add(name)
        return name


URDF = Format(
    name="URDF",
    suffixes=(".urdf",),
    sniff=lambda head: False,  # the list of refused kinds says why it is not read
    write=write_urdf,
    holds=frozenset({"skeleton"}),
)
