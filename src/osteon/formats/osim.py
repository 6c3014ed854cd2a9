"""OpenSim models, and the motion beside them: ``name.osim`` and ``name.mot``, written only.

Metres, radians, y up: (x, y, z) of the file is (x, z, −y) of ours, and the bodies' frames turn
along. Joints are CustomJoints that turn about successive axes; the root has three translations as
well. Coordinates are named after the body: ``left_thigh_1`` … ``_3``, ``pelvis_tx`` … ``_tz``; of
a hinge, ``left_shin``. Where a motion does what its joint's kind cannot, the joint gets the
coordinates that are missing, so that the motion is kept.

A joint that glides as it turns (``GlidePath``) has translations that are splines of its angle, as
OpenSim's own knees have.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from osteon.errors import WrongContent
from osteon.formats.registry import Format, WriteOptions, check_one_root, check_posed
from osteon.formats.shared.json_and_xml import add, text_of
from osteon.formats.shared.simulation_models import (
    BALL,
    Freedom,
    Mass,
    Turn,
    capsules_of,
    complete_turns,
    freedom_of,
    mass_of,
)
from osteon.formats.shared.text_table import unused_names
from osteon.formats.shared.units import TO_Z_UP, turn_local, turn_points
from osteon.maths import euler, quat
from osteon.typing import Array
from osteon.values import Body, GlidePath, Joint, Motion, Skeleton, Take

TO_FILE = quat.inverse(TO_Z_UP["y"])
VERSION = "40000"
"""The first of OpenSim 4; later ones read it."""
UNSAFE = re.compile(r"[^\w.-]+")
ROOT_TURNS = tuple(Turn(np.array(axis)) for axis in ((0.0, -1.0, 0.0), (1.0, 0, 0), (0, 0, 1.0)))
"""Tilt, list and rotation, in OpenSim's usual order: heading never locks the other two."""
GLIDE_STEP = 0.03
"""Radians between the points of a spline; chosen: so near that any cubic spline through them is the
path to far below a micrometre."""
END_STEPS = 0.001 * 2.0 ** np.arange(6)
"""Radians of points about its ends, where a path becomes level at once; chosen: from a thirtieth of
``GLIDE_STEP`` on."""
FAR_RANGE = 100.0
"""Metres of a translation's range, which OpenSim wants; chosen: wider than any room."""


class Joined(NamedTuple):
    """A body with the names and turns that the file gives it."""

    name: str
    body: Body
    freedom: Freedom
    slides: bool
    """Whether it has three translations as well."""

    @property
    def coordinates(self) -> list[str]:
        """Names of the angles, then of the translations."""
        count = len(self.freedom.turns)
        turning = [self.name if count == 1 else f"{self.name}_{i + 1}" for i in range(count)]
        return turning + [f"{self.name}_t{letter}" for letter in "xyz"] * self.slides


def write_osim(path: Path, take: Take, options: WriteOptions) -> None:
    skeleton, joined = _plan(path, take, options)
    top = Element("OpenSimDocument", Version=VERSION)
    model = add(top, "Model", name=_safe(skeleton.subject) or "skeleton")
    add(model, "gravity").text = "0 -9.80665 0"
    add(model, "Ground", name="ground")
    homes = {member.body.name: f"/bodyset/{member.name}" for member in joined}
    bodies, joints, markers = (_set(model, kind) for kind in ("Body", "Joint", "Marker"))
    for member, capsules in zip(joined, capsules_of(skeleton), strict=True):
        _body(bodies, member.name, mass_of(capsules))
        _joint(joints, member, homes.get(member.body.parent or "", "/ground"))
        for marker in member.body.markers:
            _marker(markers, marker.name, homes[member.body.name], marker.position)
    ElementTree.indent(top)
    ElementTree.ElementTree(top).write(path, encoding="utf-8", xml_declaration=True)


def write_mot(path: Path, take: Take, options: WriteOptions) -> None:
    """Write every coordinate of the model in every frame; degrees and metres."""
    _, joined = _plan(path, take, options)
    motion = take.motion()
    columns = {"time": np.arange(motion.n_frames) / motion.rate}
    for index, member in enumerate(joined):
        values = np.degrees(member.freedom.angles(motion.rotations[:, index]))
        if member.slides:
            values = np.hstack([values, turn_points(motion.root, TO_FILE)])
        columns |= zip(member.coordinates, values.T, strict=True)
    write_storage(path, columns)


def write_storage(path: Path, columns: Mapping[str, Array]) -> None:
    """Write a table as OpenSim stores it: columns (n_frames,), time first, angles in degrees."""
    n_rows = len(columns["time"])
    header = ["Coordinates", "version=1", f"nRows={n_rows}", f"nColumns={len(columns)}"]
    header += ["inDegrees=yes", "endheader", "\t".join(columns)]
    row = "\t".join(["%.10g"] * len(columns)) + "\n"
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write("\n".join(header) + "\n")
        table = np.stack([*columns.values()], axis=-1) + 0.0
        file.writelines(row % tuple(values) for values in table.tolist())


def _plan(path: Path, take: Take, options: WriteOptions) -> tuple[Skeleton, list[Joined]]:
    """Return what model and motion must agree on."""
    options.allow_metres("y", "OpenSim models are in metres with y up, always")
    skeleton = take.skeleton()
    check_one_root(skeleton, path, "an OpenSim model")
    free = [b.name for b in skeleton.bodies if b.parent is not None and b.joint.kind == "free"]
    motion = take.motion() if take.motions else None
    if motion is not None:
        check_posed(motion, path, "an OpenSim motion")
    if free or (motion is not None and motion.offsets is not None):
        raise WrongContent(path, "bones that slide or stretch cannot be written for OpenSim")
    names = unused_names((_safe(name) or "body" for name in skeleton.names), taken=["ground"])
    return skeleton, [_join(names[i], i, skeleton, motion) for i in range(len(names))]


def _join(name: str, index: int, skeleton: Skeleton, motion: Motion | None) -> Joined:
    body = skeleton.bodies[index]
    root = body.parent is None
    freedom = Freedom(ROOT_TURNS, quat.identity()) if root else _freedom(body.joint)
    if motion is not None:
        freedom = freedom.widen(motion.rotations[:, index])
    return Joined(name, body, freedom, slides=root)


def _freedom(joint: Joint) -> Freedom:
    """Return what a joint can do; a ball that glides turns first about the axis it glides by."""
    freedom, path = freedom_of(joint), joint.glide_path
    if path is None or freedom.turns is not BALL:
        return freedom
    return Freedom(complete_turns((Turn(path.axis),)), path.rest)


def _set(model: Element, kind: str) -> Element:
    return add(add(model, f"{kind}Set", name=f"{kind.lower()}set"), "objects")


def _body(bodies: Element, name: str, mass: Mass) -> None:
    body = add(bodies, "Body", name=name)
    turn = np.rint(quat.to_matrix(TO_FILE))
    inertia = turn @ mass.inertia @ turn.T
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.tolist()
    _text(body, "mass", [mass.total])
    _text(body, "mass_center", turn_points(mass.centre, TO_FILE))
    _text(body, "inertia", [xx, yy, zz, xy, xz, yz])


def _joint(joints: Element, member: Joined, parent: str) -> None:
    joint, name, turns = member.body.joint, member.name, member.freedom.turns
    kind = "CustomJoint" if member.coordinates else "WeldJoint"
    element = add(joints, kind, name=f"{name}_joint")
    add(element, "socket_parent_frame").text = f"{name}_in_parent"
    add(element, "socket_child_frame").text = f"{name}_in_body"
    coordinates = add(element, "coordinates")
    for place, coordinate in enumerate(member.coordinates):
        _coordinate(coordinates, coordinate, turns[place] if place < len(turns) else None)
    frames = add(element, "frames")
    _frame(frames, f"{name}_in_parent", parent, joint.in_parent, quat.identity())
    # the joint turns what it carries to the parent; at rest the body is turned by rest
    unturned = quat.inverse(turn_local(member.freedom.rest, TO_FILE))
    _frame(frames, f"{name}_in_body", f"/bodyset/{name}", joint.in_body, unturned)
    if member.coordinates:
        _spatial_transform(element, member)


def _frame(frames: Element, name: str, home: str, place: Array, rotation: Array) -> None:
    frame = add(frames, "PhysicalOffsetFrame", name=name)
    add(frame, "socket_parent").text = home
    _text(frame, "translation", turn_points(place, TO_FILE))
    _text(frame, "orientation", euler.from_quat(rotation[None], "xyz")[0])


def _coordinate(coordinates: Element, name: str, turn: Turn | None) -> None:
    element = add(coordinates, "Coordinate", name=name)
    low, high = (-FAR_RANGE, FAR_RANGE) if turn is None else turn.range
    _text(element, "default_value", [min(max(0.0, low), high)])
    _text(element, "range", [low, high])
    add(element, "clamped").text = "true" if turn is not None and turn.limited else "false"
    add(element, "locked").text = "false"


def _spatial_transform(element: Element, member: Joined) -> None:
    """Add six axes in fixed places; those without a coordinate of their own stand still."""
    transform = add(element, "SpatialTransform")
    turns = member.freedom.turns
    n_turns = len(turns)
    turning = [*member.coordinates[:n_turns], None, None, None][:3]
    sliding = member.coordinates[n_turns:] or [None] * 3
    path = member.body.joint.glide_path if turns and not member.slides else None
    axes = [turn_points(turn.axis, TO_FILE) for turn in complete_turns(turns)] + [*np.eye(3)]
    for place, (axis, coordinate) in enumerate(zip(axes, turning + sliding, strict=True)):
        name = f"{'rotation' if place < 3 else 'translation'}{place % 3 + 1}"
        part = add(transform, "TransformAxis", name=name)
        if path is not None and place >= 3:
            _gliding(part, axis, path, member)
            continue
        add(part, "coordinates").text = coordinate or ""
        _text(part, "axis", axis)
        if coordinate is None:
            _text(add(part, "Constant", name="function"), "value", [0.0])
        else:
            _text(add(part, "LinearFunction", name="function"), "coefficients", [1.0, 0.0])


def _gliding(part: Element, axis: Array, path: GlidePath, member: Joined) -> None:
    """Fill in one translation of a joint that glides, as a spline of the angle that it goes by."""
    freedom = member.freedom
    along = [float(turn.axis @ path.axis) for turn in freedom.turns]
    turn = int(np.argmax(np.abs(along)))
    sign, zero = (-1.0 if along[turn] < 0.0 else 1.0), path.angles_of(freedom.rest)
    angles = _spline_angles(float(path.angles[0]), float(path.angles[-1]))[:: int(sign)]
    add(part, "coordinates").text = member.coordinates[turn]
    _text(part, "axis", axis)
    spline = add(part, "SimmSpline", name="function")
    _text(spline, "x", sign * (angles - zero))
    _text(spline, "y", turn_points(path.at(angles), TO_FILE) @ axis)


def _spline_angles(first: float, last: float) -> Array:
    """Return angles, going up, at which a path is told: evenly, and more about its ends. Beyond
    these OpenSim goes on as it came, so the last ones are level."""
    near = END_STEPS * min(1.0, 0.25 * (last - first) / END_STEPS[-1])
    ends = np.concatenate([-near[::-1], [0.0], near])
    inner = np.arange(first + ends[-1] + GLIDE_STEP, last - ends[-1] - 0.5 * GLIDE_STEP, GLIDE_STEP)
    return np.concatenate([first + ends, inner, last + ends])


def _marker(markers: Element, name: str, home: str, place: Array) -> None:
    element = add(markers, "Marker", name=_safe(name))
    add(element, "socket_parent_frame").text = home
    _text(element, "location", turn_points(place, TO_FILE))
    add(element, "fixed").text = "false"


def _text(parent: Element, tag: str, values: Array | list[float]) -> None:
    add(parent, tag).text = text_of(values)


def _safe(name: str) -> str:
    return UNSAFE.sub("_", name)


OSIM = Format(
    name="OpenSim model",
    suffixes=(".osim",),
    sniff=lambda head: False,  # the list of refused kinds says why it is not read
    write=write_osim,
    holds=frozenset({"skeleton", "motion"}),
    beside_motion={".mot": write_mot},
)
