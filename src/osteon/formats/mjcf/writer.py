"""Writing MJCF, MuJoCo's model format: any skeleton, with its limits, markers and loops.

Bodies keep their own frames; a joint sits where it is in the body. Metres, radians, z up.
"""

from pathlib import Path
from xml.etree import ElementTree

from osteon.errors import BadValue, WrongContent
from osteon.formats.registry import WriteOptions
from osteon.formats.shared.json_and_xml import add, text_of
from osteon.formats.shared.simulation_models import FLESH_DENSITY, Capsule, capsules_of, freedom_of
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Body, Skeleton, Take

Element = ElementTree.Element


def write_mjcf(path: Path, take: Take, options: WriteOptions) -> None:
    if options.unit not in (None, "m") or options.up not in (None, "z"):
        raise BadValue("MJCF is in metres with z up, always; leave unit and up out")
    skeleton = take.skeleton()
    if skeleton.parents.count(-1) != 1:
        raise WrongContent(path, "a MuJoCo model needs a skeleton with exactly one root")
    root = mjcf_element(skeleton)
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=False)


def mjcf_element(skeleton: Skeleton) -> Element:
    """Return the whole model."""
    top = Element("mujoco", model=skeleton.subject or "skeleton")
    add(top, "compiler", angle="radian", autolimits="true")
    default = add(top, "default")
    # bones meet the floor (contype 1), not each other: neighbours overlap at every joint
    add(default, "geom", type="capsule", density=FLESH_DENSITY, contype=0, conaffinity=1)
    add(default, "site", size=0.005)
    elements: dict[str | None, Element] = {None: add(top, "worldbody")}
    for body, capsules in zip(skeleton.bodies, capsules_of(skeleton), strict=True):
        elements[body.name] = _body(elements[body.parent], body, capsules)
    if skeleton.loops:
        _loops(top, elements, skeleton)
    return top


def _body(parent: Element, body: Body, capsules: list[Capsule]) -> Element:
    joint, rest = body.joint, freedom_of(body.joint).rest
    place = joint.in_parent - quat.rotate(rest, joint.in_body)
    element = add(parent, "body", name=body.name, pos=place)
    if quat.angle(rest) > 0.0:
        element.set("quat", text_of(rest))
    _joints(element, body)
    for capsule in capsules:
        if capsule.length > 0.0:
            ends = (*capsule.start, *capsule.end)
            add(element, "geom", fromto=ends, size=capsule.radius)
        else:
            add(element, "geom", type="sphere", pos=capsule.start, size=capsule.radius)
    for marker in body.markers:
        add(element, "site", name=marker.name, pos=marker.position)
    return element


def _joints(element: Element, body: Body) -> None:
    joint, freedom = body.joint, freedom_of(body.joint)
    turns = freedom.turns
    if body.parent is None:
        add(element, "freejoint", name=body.name)
        return
    if joint.kind == "free":  # MuJoCo's own free joint stands at the top only
        for letter, axis in zip("xyz", ((1, 0, 0), (0, 1, 0), (0, 0, 1)), strict=True):
            add(element, "joint", name=f"{body.name}_{letter}", type="slide", axis=axis)
    # a ball joint of MuJoCo knows one limit, a cone: ranges per axis need hinges
    if len(turns) == 3 and not any(turn.limited for turn in turns):
        add(element, "joint", name=body.name, type="ball", pos=joint.in_body)
        return
    for place, (turn, axis) in enumerate(zip(turns, freedom.body_axes, strict=True), 1):
        name = body.name if len(turns) == 1 else f"{body.name}_{place}"
        hinge = add(element, "joint", name=name, type="hinge", pos=joint.in_body, axis=axis)
        if turn.limited:
            hinge.set("range", text_of(turn.range))


def _loops(top: Element, elements: dict[str | None, Element], skeleton: Skeleton) -> None:
    equality = add(top, "equality")
    for number, loop in enumerate(skeleton.loops, 1):
        sites = []
        places: tuple[Array, Array] = (loop.in_first, loop.in_second)
        for end, (name, place) in enumerate(zip(loop.bodies, places, strict=True), 1):
            sites.append(f"loop_{number}_{end}")
            add(elements[name], "site", name=sites[-1], pos=place)
        add(equality, "connect", name=f"loop_{number}", site1=sites[0], site2=sites[1])
