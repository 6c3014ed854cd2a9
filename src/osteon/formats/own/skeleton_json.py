"""skeleton.json: a rig as text that any program can read. Metres, radians, z up, w x y z.

The structs below are the file: their fields are its keys, in this order. Keys that are not here
are passed over, so that later stages may add what they find. A covariance entry that is not a
finite number is written as ``null``: nothing is known in that direction. A limit that is ``null``
is none: the joint goes on for ever.
"""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from osteon.errors import BadValue, FormatError, OsteonError
from osteon.formats.registry import Format, WriteOptions
from osteon.formats.shared.json_and_xml import decode
from osteon.formats.shared.sane_rig import check_rig
from osteon.values import (
    Bind,
    Body,
    Cone,
    Event,
    Evidence,
    Frame,
    Joint,
    Limits,
    Loop,
    Marker,
    Movement,
    Skeleton,
    Take,
)

Point = tuple[float, float, float]
Rotation = tuple[float, float, float, float]
Ends = tuple[float | None, float | None]
FORMAT = "osteon.skeleton"
FORMAT_VERSION = 1
"""Version of skeleton.json, defined here; a higher one was written by a later Osteon."""
FIRST_FORMAT = re.compile(rb'"format"\s*:\s*"([^"]*)"')


class EulerRecord(msgspec.Struct):
    axis: str
    low: float | None
    high: float | None


class ConeRecord(msgspec.Struct):
    centre: Rotation
    axis: Point
    across: tuple[Point, Point]
    radii: tuple[float, float]
    polygon: tuple[tuple[float, float], ...]
    twist: Ends


class BindRecord(msgspec.Struct):
    feasible: bool
    excess: float
    choice: str
    rotation: Rotation


class EvidenceRecord(msgspec.Struct):
    samples: int
    spread: Point
    directions: tuple[Point, Point, Point]
    mean: Rotation
    noise: float
    threshold: float
    rule: str
    gap: float
    coverage: float
    crosstalk: float | None = None


class LimitsRecord(msgspec.Struct, omit_defaults=True):
    hinge: Ends | None = None
    euler: tuple[EulerRecord, ...] = ()
    frame: Rotation = (1.0, 0.0, 0.0, 0.0)
    cone: ConeRecord | None = None
    zyz: tuple[Ends, Ends, Ends] | None = None
    bind: BindRecord | None = None
    evidence: EvidenceRecord | None = None


def from_limits(limits: Limits | None) -> LimitsRecord | None:
    if limits is None:
        return None
    return LimitsRecord(
        hinge=limits.hinge and _ends(limits.hinge),
        euler=tuple(EulerRecord(axis, *_ends((low, high))) for axis, low, high in limits.euler),
        frame=limits.frame,
        cone=None
        if limits.cone is None
        else msgspec.convert(_plain(limits.cone) | {"twist": _ends(limits.cone.twist)}, ConeRecord),
        zyz=limits.zyz and tuple(map(_ends, limits.zyz)),  # type: ignore[arg-type]
        bind=limits.bind and msgspec.convert(_plain(limits.bind), BindRecord),
        evidence=limits.evidence and msgspec.convert(_plain(limits.evidence), EvidenceRecord),
    )


def to_limits(record: LimitsRecord | None) -> Limits | None:
    if record is None:
        return None
    cone, bind, evidence = record.cone, record.bind, record.evidence
    return Limits(
        hinge=record.hinge and _range(*record.hinge),
        euler=tuple((e.axis, *_range(e.low, e.high)) for e in record.euler),
        frame=record.frame,
        cone=None
        if cone is None
        else Cone(**_arrays(cone) | {"polygon": _corners(cone), "twist": _range(*cone.twist)}),
        zyz=record.zyz and tuple(_range(*ends) for ends in record.zyz),  # type: ignore[arg-type]
        bind=bind and Bind(**_arrays(bind)),
        evidence=evidence and Evidence(**_arrays(evidence)),
    )


def _plain(value: Any) -> dict[str, Any]:
    """Return the fields of a value with arrays as lists."""
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in fields.items()}


def _arrays(record: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a record with tuples as arrays."""
    fields = msgspec.structs.asdict(record)
    return {k: np.array(v) if isinstance(v, tuple) else v for k, v in fields.items()}


def _corners(cone: ConeRecord) -> np.ndarray:
    return np.array(cone.polygon, dtype=float).reshape(-1, 2)


def _ends(interval: tuple[float, float]) -> Ends:
    low, high = interval
    return low if np.isfinite(low) else None, high if np.isfinite(high) else None


def _range(low: float | None, high: float | None) -> tuple[float, float]:
    return -np.inf if low is None else low, np.inf if high is None else high


class FrameRecord(msgspec.Struct):
    origin: Point
    rotation: Rotation


class MovementRecord(msgspec.Struct):
    axes: tuple[Point, ...]
    labels: tuple[str, ...]
    rest: Rotation
    direction: Point
    share: tuple[float, ...] = ()


def from_frame(frame: Frame | None) -> FrameRecord | None:
    if frame is None:
        return None
    return FrameRecord(tuple(frame.origin.tolist()), tuple(frame.rotation.tolist()))


def to_frame(record: FrameRecord | None) -> Frame | None:
    if record is None:
        return None
    return Frame(np.array(record.origin), np.array(record.rotation))


def from_movement(movement: Movement | None) -> MovementRecord | None:
    if movement is None:
        return None
    return MovementRecord(
        axes=tuple(tuple(axis) for axis in movement.axes.tolist()),
        labels=movement.labels,
        rest=tuple(movement.rest.tolist()),
        direction=tuple(movement.direction.tolist()),
        share=movement.share,
    )


def to_movement(record: MovementRecord | None) -> Movement | None:
    if record is None:
        return None
    return Movement(
        np.array(record.axes),
        record.labels,
        np.array(record.rest),
        np.array(record.direction),
        record.share,
    )


Row = tuple[float | None, float | None, float | None]
Matrix = tuple[Row, Row, Row]


class JointRecord(msgspec.Struct):
    type: Literal["fixed", "hinge", "universal", "ball", "free"]
    in_parent: Point = (0.0, 0.0, 0.0)
    in_body: Point = (0.0, 0.0, 0.0)
    axes: tuple[Point, ...] = ()
    limits: LimitsRecord | None = None
    rms: float | None = None
    covariance: Matrix | None = None
    rest: Rotation = (1.0, 0.0, 0.0, 0.0)


class MarkerRecord(msgspec.Struct):
    name: str
    position: Point
    rms: float | None = None
    covariance: Matrix | None = None


class BodyRecord(msgspec.Struct):
    name: str
    parent: str | None
    joint: JointRecord
    length: float | None = None
    tip: Point | None = None
    markers: tuple[MarkerRecord, ...] = ()
    frame: FrameRecord | None = None
    movement: MovementRecord | None = None


class LoopRecord(msgspec.Struct):
    bodies: tuple[str, str]
    in_first: Point
    in_second: Point
    rms: float | None = None


class SkeletonRecord(msgspec.Struct):
    format: Literal["osteon.skeleton"]
    version: int
    bodies: tuple[BodyRecord, ...]
    subject: str = ""
    loops: tuple[LoopRecord, ...] = ()
    events: tuple[Event, ...] = ()
    history: tuple[str, ...] = ()


def sniff(head: bytes) -> bool:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    first = FIRST_FORMAT.search(text)
    if not text.startswith(b"{") or first is None or first[1] != FORMAT.encode():
        return False
    # a passport holds a skeleton further down, a glTF file of ours one in its extras
    return text.count(b"{", 0, first.start()) - text.count(b"}", 0, first.start()) == 1


def read_skeleton_json(path: Path) -> Take:
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    record = decode(path, data, SkeletonRecord)
    if record.version > FORMAT_VERSION:
        raise FormatError(
            path, f"version must be {FORMAT_VERSION} or lower, got {record.version}", "$.version"
        )
    try:
        return Take(skeletons=(to_skeleton(record),))
    except OsteonError as error:
        raise FormatError(path, str(error), "$.bodies") from None


def write_skeleton_json(path: Path, take: Take, options: WriteOptions) -> None:
    """Write one line per body, so that two files can be compared line by line."""
    if options.unit not in (None, "m") or options.up not in (None, "z"):
        raise BadValue("skeleton.json is in metres with z up, always; leave unit and up out")
    path.write_bytes(skeleton_text(take.skeleton()))


def skeleton_text(skeleton: Skeleton) -> bytes:
    """Return the whole file."""
    record = from_skeleton(skeleton)
    check_finite(record)
    keys = ("format", "version", "subject", "bodies", "loops", "events", "history")
    lines = [f'"{key}": {_lines(getattr(record, key))}' for key in keys]
    return ("{ " + ",\n  ".join(lines) + " }\n").encode()


def check_finite(record: msgspec.Struct) -> None:
    """Refuse what JSON has no number for, before anything is written."""
    try:
        msgspec.json.decode(msgspec.json.encode(record), type=type(record))
    except msgspec.ValidationError as error:
        raise BadValue(
            f"the skeleton cannot be written as JSON: {error}; is a number there not finite?"
        ) from None


def from_skeleton(skeleton: Skeleton) -> SkeletonRecord:
    return SkeletonRecord(
        format=FORMAT,
        version=FORMAT_VERSION,
        subject=skeleton.subject,
        bodies=tuple(map(from_body, skeleton.bodies)),
        loops=tuple(
            LoopRecord(loop.bodies, _point(loop.in_first), _point(loop.in_second), _known(loop.rms))
            for loop in skeleton.loops
        ),
        events=skeleton.events,
        history=skeleton.history,
    )


def from_body(body: Body) -> BodyRecord:
    joint = JointRecord(
        type=body.joint.kind,  # type: ignore[arg-type]  # the value has checked it
        in_parent=_point(body.joint.in_parent),
        in_body=_point(body.joint.in_body),
        axes=tuple(map(_point, body.joint.axes)),
        limits=from_limits(body.joint.limits),
        rms=_known(body.joint.rms),
        covariance=_matrix(body.joint.covariance),
        rest=tuple(body.joint.rest.tolist()),
    )
    markers = tuple(
        MarkerRecord(m.name, _point(m.position), _known(m.rms), _matrix(m.covariance))
        for m in body.markers
    )
    tip = None if body.tip is None else _point(body.tip)
    return BodyRecord(
        body.name,
        body.parent,
        joint,
        _known(body.length),
        tip,
        markers,
        from_frame(body.frame),
        from_movement(body.movement),
    )


def to_skeleton(record: SkeletonRecord) -> Skeleton:
    loops = [
        Loop(
            loop.bodies,
            np.array(loop.in_first),
            np.array(loop.in_second),
            np.nan if loop.rms is None else loop.rms,
        )
        for loop in record.loops
    ]
    return check_rig(
        Skeleton(
            bodies=tuple(map(to_body, record.bodies)),
            subject=record.subject,
            loops=tuple(loops),
            events=record.events,
            history=record.history,
        )
    )


def to_body(record: BodyRecord) -> Body:
    joint = Joint(
        kind=record.joint.type,
        in_parent=np.array(record.joint.in_parent),
        in_body=np.array(record.joint.in_body),
        axes=np.array(record.joint.axes),
        limits=to_limits(record.joint.limits),
        rms=record.joint.rms,
        covariance=_to_matrix(record.joint.covariance),
        rest=np.array(record.joint.rest),
    )
    markers = tuple(
        Marker(m.name, np.array(m.position), m.rms, _to_matrix(m.covariance))
        for m in record.markers
    )
    tip = None if record.tip is None else np.array(record.tip)
    return Body(
        record.name,
        record.parent,
        joint,
        record.length,
        markers,
        tip,
        to_frame(record.frame),
        to_movement(record.movement),
    )


def _point(array: np.ndarray) -> Point:
    x, y, z = array.tolist()
    return x, y, z


def _matrix(array: np.ndarray | None) -> Matrix | None:
    if array is None:
        return None
    rows = [tuple(_known(value) for value in row) for row in array.tolist()]
    return tuple(rows)  # type: ignore[return-value]  # the value has checked its shape


def _to_matrix(matrix: Matrix | None) -> np.ndarray | None:
    return None if matrix is None else np.array(matrix, dtype=float)


def _known(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def _lines(value: Any) -> str:
    """Return JSON with the members of a list on lines of their own."""
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        rows = ",\n    ".join(msgspec.json.encode(row).decode() for row in value)
        return f"[\n    {rows} ]"
    return msgspec.json.encode(value).decode()


SKELETON_JSON = Format(
    name="skeleton JSON",
    suffixes=(".json",),
    sniff=sniff,
    read=read_skeleton_json,
    write=write_skeleton_json,
    holds=frozenset({"skeleton"}),
)
