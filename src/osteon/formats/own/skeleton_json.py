"""skeleton.json: a rig as text that any program can read. Metres, radians, z up, w x y z.

The structs below are the file: their fields are its keys, in this order. Keys that are not here
are passed over, so that later stages may add what they find. A covariance entry that is not a
finite number is written as ``null``: nothing is known in that direction. A limit that is ``null``
is none: the joint goes on for ever.

passport.json: a performer as one small text, whose skeleton stands in it as in skeleton.json.
``lengths_mm`` repeats the bones for reading; what counts is the skeleton.
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
from osteon.formats.shared.whole_files import whole_file
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
    Origin,
    Passport,
    Region,
    Skeleton,
    Take,
)

Point = tuple[float, float, float]
Rotation = tuple[float, float, float, float]
Ends = tuple[float | None, float | None]
"""Of a range; None where the joint goes on for ever."""
Row = tuple[float | None, float | None, float | None]
Matrix = tuple[Row, Row, Row]
Value = TypeVar("Value")
FORMAT = "osteon.skeleton"
FORMAT_VERSION = 1
"""Version of skeleton.json, defined here; a higher one was written by a later Osteon."""
PASSPORT = "osteon.passport"
PASSPORT_VERSION = 1
"""Version of passport.json, defined here; a higher one was written by a later Osteon."""
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


class RegionRecord(msgspec.Struct):
    poses: tuple[Rotation, ...]
    beside: tuple[Rotation, ...]
    radius: float
    shared: int = 0
    shares: tuple[float, ...] = ()


class LimitsRecord(msgspec.Struct, omit_defaults=True):
    hinge: Ends | None = None
    euler: tuple[EulerRecord, ...] = ()
    frame: Rotation = (1.0, 0.0, 0.0, 0.0)
    cone: ConeRecord | None = None
    zyz: tuple[Ends, Ends, Ends] | None = None
    bind: BindRecord | None = None
    evidence: EvidenceRecord | None = None
    region: RegionRecord | None = None


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
    kind: Literal["fixed", "hinge", "universal", "ball", "free"] = msgspec.field(name="type")
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
    frames: tuple[int, int] | None = None


class SkeletonRecord(msgspec.Struct):
    format: Literal["osteon.skeleton"]
    version: int
    bodies: tuple[BodyRecord, ...]
    subject: str = ""
    loops: tuple[LoopRecord, ...] = ()
    events: tuple[Event, ...] = ()
    history: tuple[str, ...] = ()


class OriginRecord(msgspec.Struct, omit_defaults=True):
    file: str
    frames: int
    rate: float
    sha256: str = ""
    modified: str = ""
    software: str = ""


class PassportRecord(msgspec.Struct, kw_only=True):
    format: Literal["osteon.passport"]
    version: int
    subject: str = ""
    made_by: str = ""
    noise: float = 0.0
    takes: tuple[OriginRecord, ...] = ()
    lengths_mm: dict[str, float] = {}
    skeleton: SkeletonRecord


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
    told = {"format": FORMAT, "version": FORMAT_VERSION}
    return msgspec.convert(_plain(skeleton) | told, SkeletonRecord)


def from_body(body: Body) -> BodyRecord:
    return msgspec.convert(_plain(body), BodyRecord)


def _plain(value: Any) -> Any:
    """Return a value as msgspec converts it to the struct whose fields are called the same.

    Numbers that are not finite stay: msgspec writes ``null`` for them.
    """
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, float):  # numpy's own is another type to msgspec
        return float(value)
    if isinstance(value, tuple):
        return [_plain(member) for member in value]
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    if not dataclasses.is_dataclass(value):
        return value
    plain = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Joint):
        plain["type"] = value.kind
    if isinstance(value, Limits):
        plain["euler"] = [
            {"axis": axis, "low": low, "high": high} for axis, low, high in plain["euler"]
        ]
    return plain


def to_skeleton(record: SkeletonRecord) -> Skeleton:
    bodies = tuple(map(to_body, record.bodies))
    loops = tuple(
        _to_value(loop, Loop, rms=np.nan if loop.rms is None else loop.rms) for loop in record.loops
    )
    return check_rig(Skeleton(bodies, record.subject, loops, record.events, record.history))


def to_body(record: BodyRecord) -> Body:
    joint, markers = record.joint, record.markers
    return _to_value(
        record,
        Body,
        joint=_to_value(
            joint,
            Joint,
            limits=_to_limits(joint.limits),
            covariance=_to_matrix(joint.covariance),
            glide_path=joint.glide_path and _to_value(joint.glide_path, GlidePath),
        ),
        markers=tuple(_to_value(m, Marker, covariance=_to_matrix(m.covariance)) for m in markers),
        tip=None if record.tip is None else np.array(record.tip),
        frame=record.frame and _to_value(record.frame, Frame),
        movement=record.movement and _to_value(record.movement, Movement),
    )


def _to_limits(record: LimitsRecord | None) -> Limits | None:
    if record is None:
        return None
    return Limits(
        hinge=record.hinge and _range(*record.hinge),
        euler=tuple((e.axis, *_range(e.low, e.high)) for e in record.euler),
        frame=record.frame,
        cone=record.cone and _to_cone(record.cone),
        zyz=record.zyz and tuple(_range(*ends) for ends in record.zyz),  # type: ignore[arg-type]
        bind=record.bind and _to_value(record.bind, Bind),
        evidence=record.evidence and _to_value(record.evidence, Evidence),
        region=record.region and _to_value(record.region, Region),
    )


def _to_cone(record: ConeRecord) -> Cone:
    corners = np.array(record.polygon, dtype=float).reshape(-1, 2)
    return _to_value(record, Cone, polygon=corners, twist=_range(*record.twist))


def _to_value(record: msgspec.Struct, kind: type[Value], **others: Any) -> Value:
    """Return a struct as the value whose fields are called the same."""
    fields = msgspec.structs.asdict(record)
    arrays = [f.name for f in dataclasses.fields(kind) if f.type == Array]  # type: ignore[arg-type]
    return kind(**fields | {name: np.array(fields[name]) for name in arrays} | others)


def _range(low: float | None, high: float | None) -> tuple[float, float]:
    return -np.inf if low is None else low, np.inf if high is None else high


def _to_matrix(matrix: Matrix | None) -> np.ndarray | None:
    return None if matrix is None else np.array(matrix, dtype=float)


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


def read_passport(path: str | Path) -> Passport:
    """Return the performer that a passport.json tells of."""
    path = Path(path)
    try:
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise FormatError(path, f"cannot be opened: {error.strerror or error}") from error
    claim = re.search(rb'"format":\s*"([^"]*)"', data[:200])
    if claim and claim[1].decode(errors="replace") != PASSPORT:
        raise FormatError(
            path,
            f"is {claim[1].decode(errors='replace')!r}, expected {PASSPORT!r}; give the "
            "passport.json that osteon solve has written",
        )
    record = decode(path, data, PassportRecord)
    check_version(path, record.version, PASSPORT_VERSION)
    try:
        return Passport(
            skeleton=to_skeleton(record.skeleton),
            takes=tuple(Origin(**msgspec.structs.asdict(take)) for take in record.takes),
            noise=record.noise,
            made_by=record.made_by,
        )
    except OsteonError as error:
        raise FormatError(path, str(error), "$.skeleton") from None


def write_passport(path: str | Path, passport: Passport) -> None:
    """Write the file; it appears whole or not at all."""
    skeleton = passport.skeleton
    lengths = {
        body.name: round(1e3 * float(np.linalg.norm(offset)), 1)
        for body, offset in zip(skeleton.bodies, skeleton.offsets, strict=True)
        if body.parent is not None
    }
    record = PassportRecord(
        format=PASSPORT,
        version=PASSPORT_VERSION,
        subject=passport.subject,
        made_by=passport.made_by,
        noise=passport.noise,
        takes=tuple(OriginRecord(**dataclasses.asdict(take)) for take in passport.takes),
        lengths_mm=lengths,
        skeleton=from_skeleton(skeleton),
    )
    check_finite(record)
    with whole_file(Path(path)) as partial:
        partial.write_bytes(msgspec.json.encode(record) + b"\n")
