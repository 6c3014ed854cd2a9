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
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np

from osteon.errors import BadValue, FormatError, OsteonError
from osteon.formats.registry import Format, WriteOptions
from osteon.formats.shared.json_and_xml import check_version, decode
from osteon.formats.shared.sane_rig import check_rig
from osteon.typing import Array
from osteon.values import (
    Bind,
    Body,
    Cone,
    Event,
    Evidence,
    Frame,
    GlidePath,
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
"""Of a range; None where the joint goes on for ever."""
Row = tuple[float | None, float | None, float | None]
Matrix = tuple[Row, Row, Row]
Record = TypeVar("Record", bound=msgspec.Struct)
Value = TypeVar("Value")
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


class FrameRecord(msgspec.Struct):
    origin: Point
    rotation: Rotation


class MovementRecord(msgspec.Struct):
    axes: tuple[Point, ...]
    labels: tuple[str, ...]
    rest: Rotation
    direction: Point
    share: tuple[float, ...] = ()


class GlidePathRecord(msgspec.Struct):
    axis: Point
    rest: Rotation
    angles: tuple[float, ...]
    places: tuple[Point, ...]


class JointRecord(msgspec.Struct):
    type: Literal["fixed", "hinge", "universal", "ball", "free"]
    in_parent: Point = (0.0, 0.0, 0.0)
    in_body: Point = (0.0, 0.0, 0.0)
    axes: tuple[Point, ...] = ()
    limits: LimitsRecord | None = None
    rms: float | None = None
    covariance: Matrix | None = None
    rest: Rotation = (1.0, 0.0, 0.0, 0.0)
    gap: float | None = None
    glide: float | None = None
    glide_path: GlidePathRecord | None = None


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
    skin: float | None = None


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
    check_version(path, record.version, FORMAT_VERSION)
    try:
        return Take(skeletons=(to_skeleton(record),))
    except OsteonError as error:
        raise FormatError(path, str(error), "$.bodies") from None


def write_skeleton_json(path: Path, take: Take, options: WriteOptions) -> None:
    """Write one line per body, so that two files can be compared line by line."""
    options.allow_metres("z", "skeleton.json is in metres with z up, always")
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
        limits=_from_limits(body.joint.limits),
        rms=_known(body.joint.rms),
        covariance=_matrix(body.joint.covariance),
        rest=tuple(body.joint.rest.tolist()),
        gap=_known(body.joint.gap),
        glide=_known(body.joint.glide),
        glide_path=body.joint.glide_path and _to_record(body.joint.glide_path, GlidePathRecord),
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
        body.frame and _to_record(body.frame, FrameRecord),
        body.movement and _to_record(body.movement, MovementRecord),
        _known(body.skin),
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
        limits=_to_limits(record.joint.limits),
        rms=record.joint.rms,
        covariance=_to_matrix(record.joint.covariance),
        rest=np.array(record.joint.rest),
        gap=record.joint.gap,
        glide=record.joint.glide,
        glide_path=record.joint.glide_path and _to_value(record.joint.glide_path, GlidePath),
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
        record.frame and _to_value(record.frame, Frame),
        record.movement and _to_value(record.movement, Movement),
        record.skin,
    )


def _from_limits(limits: Limits | None) -> LimitsRecord | None:
    if limits is None:
        return None
    cone = limits.cone
    return LimitsRecord(
        hinge=limits.hinge and _ends(limits.hinge),
        euler=tuple(EulerRecord(axis, *_ends((low, high))) for axis, low, high in limits.euler),
        frame=limits.frame,
        cone=cone and _to_record(cone, ConeRecord, twist=_ends(cone.twist)),
        zyz=limits.zyz and tuple(map(_ends, limits.zyz)),  # type: ignore[arg-type]
        bind=limits.bind and _to_record(limits.bind, BindRecord),
        evidence=limits.evidence and _to_record(limits.evidence, EvidenceRecord),
    )


def _to_limits(record: LimitsRecord | None) -> Limits | None:
    if record is None:
        return None
    cone = record.cone
    return Limits(
        hinge=record.hinge and _range(*record.hinge),
        euler=tuple((e.axis, *_range(e.low, e.high)) for e in record.euler),
        frame=record.frame,
        cone=cone and _to_value(cone, Cone, polygon=_corners(cone), twist=_range(*cone.twist)),
        zyz=record.zyz and tuple(_range(*ends) for ends in record.zyz),  # type: ignore[arg-type]
        bind=record.bind and _to_value(record.bind, Bind),
        evidence=record.evidence and _to_value(record.evidence, Evidence),
    )


def _to_record(value: Any, kind: type[Record], **others: Any) -> Record:
    """Return a value as the struct whose fields are called the same."""
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in fields.items()}
    return msgspec.convert(plain | others, kind)


def _to_value(record: msgspec.Struct, kind: type[Value], **others: Any) -> Value:
    """Return a struct as the value whose fields are called the same."""
    fields = msgspec.structs.asdict(record)
    arrays = [f.name for f in dataclasses.fields(kind) if f.type == Array]  # type: ignore[arg-type]
    return kind(**fields | {name: np.array(fields[name]) for name in arrays} | others)


def _corners(cone: ConeRecord) -> Array:
    return np.array(cone.polygon, dtype=float).reshape(-1, 2)


def _ends(interval: tuple[float, float]) -> Ends:
    low, high = interval
    return low if np.isfinite(low) else None, high if np.isfinite(high) else None


def _range(low: float | None, high: float | None) -> tuple[float, float]:
    return -np.inf if low is None else low, np.inf if high is None else high


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
