"""MJCF, MuJoCo's model format, as a skeleton: bodies, joints, ranges, sites as markers.

Metres, z up. Only the tree is read: inertia, shapes, actuators, sensors and constraints are passed
over. In our skeleton the frames of all bodies agree at rest, so each is turned to how the world
stands when all joints are at zero. Several joints of one body become a universal or a ball joint
where they meet in a point at right angles; else bodies without extent are laid between. Written is
any skeleton, with its limits, markers and loops; bodies keep their own frames.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from osteon.errors import FormatError
from osteon.formats.registry import Format, WriteOptions, check_one_root
from osteon.formats.shared.json_and_xml import add, first_element, numbers, read_xml, text_of
from osteon.formats.shared.simulation_models import (
    FLESH_DENSITY,
    Capsule,
    Turn,
    box_of,
    capsules_of,
    freedom_of,
    perpendicular,
)
from osteon.formats.shared.text_table import unique_labels, unused_name
from osteon.maths import euler, quat
from osteon.typing import Array
from osteon.values import Body, Joint, Limits, Marker, Skeleton, Take

SAME_PLACE = 1e-9
"""Metres within which joints of a body meet in a point; chosen: far above what doubles round."""
NEAR_SHARE = 0.1
"""Share of a capsule's length by which it may start beside the joint and still show where the bone
ends; chosen: models leave room for other flesh."""
NOT_READ = ("include", "replicate", "attach", "flexcomp", "composite")
"""Elements that make bodies which the file itself does not show."""
PARTS = ("joint", "freejoint", "site", "geom")
READ = ("name", "pos", "type", "axis", "range", "limited", "fromto")
"""Elements of a body that are read, and their attributes: all that defaults need to pass on."""


@dataclass
class Hinge:
    """One joint element, in the world at rest."""

    name: str
    kind: str
    place: Array
    """(3,) from the body's origin."""
    turn: Turn


@dataclass
class MjcfNode:
    """One body element, in the world at rest."""

    name: str
    parent: "MjcfNode | None"
    place: Array
    hinges: list[Hinge] = field(default_factory=list)
    markers: list[Marker] = field(default_factory=list)
    capsules: list[Array] = field(default_factory=list)
    """(2, 3) both ends of each, from the body's origin."""
    is_leaf: bool = True


class Scope(NamedTuple):
    """Where an element stands: its body, the class of its defaults, and its frame."""

    node: MjcfNode
    childclass: str
    place: Array
    """(3,) from the body's origin, along the world's axes."""
    rotation: Array
    """(4,) to the world at rest."""


def sniff(head: bytes) -> bool:
    return first_element(head) == "mujoco"


def read_mjcf(path: Path) -> Take:
    reader = MjcfReader(path, read_xml(path))
    nodes = reader.nodes()
    if not nodes:
        raise FormatError(path, "the model has no bodies")
    bodies = [body for node in _with_one_root(nodes) for body in _bodies(path, node)]
    return Take(skeletons=(Skeleton(tuple(bodies), reader.name),))


class MjcfReader:
    """Walks the elements with the defaults and frames that hold for each."""

    def __init__(self, path: Path, top: Element) -> None:
        self.path, self.top = path, top
        if top.tag != "mujoco":
            raise FormatError(path, f"expected <mujoco>, got <{top.tag[:24]}>")
        for tag in NOT_READ:
            if next(top.iter(tag), None) is not None:
                advice = "save the compiled model from MuJoCo and read that"
                raise FormatError(path, f"<{tag}> is not read; {advice}")
        options = {k: v for compiler in top.findall("compiler") for k, v in compiler.items()}
        self.name = top.get("model", "")
        self.angle = 1.0 if options.get("angle") == "radian" else np.pi / 180.0
        self.order = options.get("eulerseq", "xyz")
        if len(self.order) != 3 or set(self.order.lower()) - set("xyz"):
            raise FormatError(path, f"eulerseq must be three of x, y, z, got {self.order!r}")
        self.defaults = self._defaults()

    def nodes(self) -> list[MjcfNode]:
        """Return every body in the order of the file, so parents first."""
        world = Scope(MjcfNode("world", None, np.zeros(3)), "", np.zeros(3), quat.identity())
        found: list[MjcfNode] = []
        todo = [(element, world) for element in self.top.findall("worldbody")]
        while todo:
            element, outer = todo.pop()
            scope = self._scope(element, outer)
            if scope.node is not outer.node:
                found.append(scope.node)
            nested = []
            for child in element:
                if child.tag in ("body", "frame"):
                    nested.append((child, scope))
                else:
                    self._part(child, scope)
            todo += reversed(nested)
        _name(world.node, found)
        return found

    def _scope(self, element: Element, outer: Scope) -> Scope:
        """Return what holds inside a body or frame element."""
        childclass = element.get("childclass", outer.childclass)
        place = outer.place + quat.rotate(outer.rotation, self._vector(element.attrib, "pos"))
        rotation = quat.multiply(outer.rotation, self._rotation(element.attrib))
        if element.tag != "body":
            return Scope(outer.node, childclass, place, rotation)
        outer.node.is_leaf = False
        node = MjcfNode(element.get("name", ""), outer.node, outer.node.place + place)
        return Scope(node, childclass, np.zeros(3), rotation)

    def _part(self, element: Element, scope: Scope) -> None:
        """Read a joint, site or capsule of a body."""
        if element.tag not in PARTS:
            return
        values = {**self._default(element, scope.childclass), **element.attrib}
        place = scope.place + quat.rotate(scope.rotation, self._vector(values, "pos"))
        if element.tag == "site":
            scope.node.markers.append(Marker(values.get("name", ""), place))
        elif element.tag != "geom":
            scope.node.hinges.append(self._hinge(element.tag, values, scope, place))
        elif "fromto" in values:
            ends = self._numbers(values, "fromto", (6,)).reshape(2, 3)
            scope.node.capsules.append(scope.place + quat.rotate(scope.rotation, ends))

    def _hinge(self, tag: str, values: dict[str, str], scope: Scope, place: Array) -> Hinge:
        kind = "free" if tag == "freejoint" else values.get("type", "hinge")
        if kind not in ("free", "ball", "hinge", "slide"):
            raise FormatError(self.path, f"a joint of {scope.node.name!r} is of type {kind!r}")
        axis = self._vector(values, "axis", "0 0 1")
        if not np.any(axis):
            raise FormatError(self.path, f"a joint of {scope.node.name!r} has no axis")
        axis = quat.rotate(scope.rotation, quat.normalise(axis))
        low, high = self._numbers({"range": "0 0", **values}, "range", (2,)) * self.angle
        limited = values.get("limited", "auto")
        if limited == "false" or (limited == "auto" and "range" not in values) or low >= high:
            low, high = -np.inf, np.inf
        return Hinge(values.get("name", ""), kind, place, Turn(axis, float(low), float(high)))

    def _rotation(self, values: dict[str, str]) -> Array:
        """Return the rotation (4,) to the frame around from an element's own."""
        q = quat.identity()
        if "quat" in values:
            q = quat.normalise(self._numbers(values, "quat", (4,)))
        elif "axisangle" in values:
            *axis, angle = self._numbers(values, "axisangle", (4,))
            q = quat.from_axis_angle(quat.normalise(np.array(axis)), angle * self.angle)
        elif "euler" in values:
            q = self._euler(self._vector(values, "euler") * self.angle)
        elif "xyaxes" in values:
            x, y = self._numbers(values, "xyaxes", (6,)).reshape(2, 3)
            y = y - x * (x @ y) / max(x @ x, np.finfo(float).tiny)
            x, y = quat.normalise(x), quat.normalise(y)
            q = quat.from_matrix(np.stack([x, y, np.cross(x, y)], axis=-1))
        elif "zaxis" in values:
            q = quat.shortest(np.array([0.0, 0.0, 1.0]), self._vector(values, "zaxis"))
        if not np.isfinite(q).all():
            name = values.get("name") or "an element without name"
            raise FormatError(self.path, f"the orientation of {name} has no direction")
        return q

    def _euler(self, angles: Array) -> Array:
        """Return the rotation (4,) of angles: small letters turn with the body, capitals about axes
        that stand still."""
        if self.order.islower():
            return euler.to_quat(angles, self.order)
        if self.order.isupper():
            return euler.to_quat(angles[::-1], self.order[::-1].lower())
        raise FormatError(self.path, f"eulerseq {self.order!r} mixes capitals and small letters")

    def _vector(self, values: dict[str, str], key: str, default: str = "0 0 0") -> Array:
        return self._numbers({key: default, **values}, key, (3,))

    def _numbers(self, values: dict[str, str], key: str, counts: tuple[int, ...]) -> Array:
        place = f"{key} of {values.get('name') or 'an element without name'}"
        return numbers(self.path, values[key], counts, place)

    def _defaults(self) -> dict[str, dict[str, dict[str, str]]]:
        """Return per class and tag the attributes that elements have unless they say otherwise."""
        classes: dict[str, dict[str, dict[str, str]]] = {"": {}}
        todo = [(default, "") for default in reversed(self.top.findall("default"))]
        while todo:
            element, outer = todo.pop()
            name = element.get("class", "")
            name = "" if name == "main" else name
            own = dict(classes[outer])
            for child in element:
                if child.tag in PARTS:
                    said = {key: child.attrib[key] for key in READ if key in child.attrib}
                    own[child.tag] = {**own.get(child.tag, {}), **said}
            classes[name] = own
            todo += [(child, name) for child in reversed(element.findall("default"))]
        return classes

    def _default(self, element: Element, childclass: str) -> dict[str, str]:
        name = element.get("class", childclass)
        name = "" if name == "main" else name
        if name not in self.defaults:
            raise FormatError(self.path, f"no default class is named {name[:40]!r}")
        return self.defaults[name].get(element.tag, {})


def _name(world: MjcfNode, nodes: list[MjcfNode]) -> None:
    """Give bodies and markers names of their own: a number where one is missing or used twice."""
    names = [node.name or f"body_{count:02d}" for count, node in enumerate(nodes, 1)]
    for node, name in zip(nodes, unique_labels(names)[0], strict=True):
        node.name = name
    owners = [world, *nodes]
    markers = [marker for owner in owners for marker in owner.markers]
    names = [marker.name or f"marker_{count:02d}" for count, marker in enumerate(markers, 1)]
    unique = iter(unique_labels(names)[0])
    for owner in owners:
        owner.markers = [replace(marker, name=next(unique)) for marker in owner.markers]


def _with_one_root(nodes: list[MjcfNode]) -> list[MjcfNode]:
    """Return the nodes under a single one that moves freely: the only such body, else the world."""
    world = nodes[0].parent
    assert world is not None
    tops: dict[int, int] = {}
    for node in nodes:  # parents first
        tops[id(node)] = id(node) if node.parent is world else tops[id(node.parent)]
    moving = {tops[id(node)] for node in nodes if node.hinges}
    nodes = [node for node in nodes if not moving or tops[id(node)] in moving]
    roots = [node for node in nodes if node.parent is world]
    if len(roots) > 1 or [hinge.kind for hinge in roots[0].hinges] not in ([], ["free"]):
        world.name = unused_name(world.name, {node.name for node in nodes})
        return [world, *nodes]
    roots[0].parent, roots[0].hinges = None, []
    return nodes


def _bodies(path: Path, node: MjcfNode) -> Iterator[Body]:
    """Yield the body of a node, after those without extent that its joints need between."""
    parent = node.parent
    if parent is None:
        yield Body(node.name, None, Joint("free"), markers=tuple(node.markers), tip=_tip(node))
        return
    above, shift = parent.name, node.place - parent.place
    groups = list(_groups(path, node)) or [[]]
    for place, group in enumerate(groups, 1):
        last = place == len(groups)
        name = node.name if last else f"{node.name}/{group[0].name or place}"
        at = group[0].place if group else np.zeros(3)
        joint = _joint(group, at + shift, at)
        yield Body(
            name,
            above,
            joint,
            markers=tuple(node.markers) if last else (),
            tip=_tip(node) if last else None,
        )
        above, shift = name, np.zeros(3)


def _groups(path: Path, node: MjcfNode) -> Iterator[list[Hinge]]:
    """Yield the joints of a node, those together that make one joint of ours."""
    kinds = [hinge.kind for hinge in node.hinges]
    if kinds == ["slide"] * 3 + ["ball"] or kinds == ["free"]:
        yield node.hinges[-1:]
        return
    if "slide" in kinds or "free" in kinds:
        raise FormatError(path, f"body {node.name!r} slides, which no joint of a skeleton does")
    group: list[Hinge] = []
    for hinge in node.hinges:
        if group and not _meet([*group, hinge]):
            yield group
            group = []
        group.append(hinge)
    if group:
        yield group


def _meet(hinges: list[Hinge]) -> bool:
    """Return whether these are one joint of ours; ranges need axes at right angles."""
    turns = [hinge.turn for hinge in hinges]
    apart = max(float(np.abs(hinge.place - hinges[0].place).max()) for hinge in hinges)
    skew = len(turns) == 2 and not any(turn.limited for turn in turns)
    return (
        len(turns) <= 3
        and all(hinge.kind == "hinge" for hinge in hinges)
        and apart < SAME_PLACE
        and (skew or perpendicular(turns))
    )


def _joint(group: list[Hinge], in_parent: Array, in_body: Array) -> Joint:
    turns = [hinge.turn for hinge in group]
    if not turns:
        return Joint("fixed", in_parent, in_body)
    if group[0].kind != "hinge":  # the one limit of a ball, a cone, has no place in Limits
        return Joint(group[0].kind, in_parent, in_body)
    if len(turns) == 1:
        (turn,) = turns
        limits = Limits(hinge=(turn.low, turn.high)) if turn.limited else None
        return Joint("hinge", in_parent, in_body, turn.axis[None], limits)
    axes = np.array([turn.axis for turn in turns]) if len(turns) == 2 else ()
    kind = "universal" if len(turns) == 2 else "ball"
    return Joint(kind, in_parent, in_body, axes, box_of(turns))  # type: ignore[arg-type]


def _tip(node: MjcfNode) -> Array | None:
    """Return the far end of a capsule that starts at the joint of the last body of a chain."""
    start = node.hinges[-1].place if node.hinges else np.zeros(3)
    for near, far in node.capsules if node.is_leaf else ():
        if np.linalg.norm(near - start) < NEAR_SHARE * np.linalg.norm(far - near):
            return far
    return None


def write_mjcf(path: Path, take: Take, options: WriteOptions) -> None:
    options.allow_metres("z", "MJCF is in metres with z up, always")
    skeleton = take.skeleton()
    check_one_root(skeleton, path, "a MuJoCo model")
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
        tie = add(equality, "connect", name=f"loop_{number}", site1=sites[0], site2=sites[1])
        if loop.frames is not None:  # a model has no frames: whoever plays them switches it on
            tie.set("active", "false")


MJCF = Format(
    name="MJCF",
    suffixes=(".xml", ".mjcf"),
    sniff=sniff,
    read=read_mjcf,
    write=write_mjcf,
    holds=frozenset({"skeleton"}),
)
