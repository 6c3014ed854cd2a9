"""Limits, frame and movement of a body, as they stand in skeleton.json and in a GLB's extras.

Radians. The structs are the text: their fields are its keys. An end of a range that is ``null`` is
none: the joint goes on for ever.
"""

import dataclasses
from typing import Any

import msgspec
import numpy as np

from osteon.values import Bind, Cone, Evidence, Frame, Limits, Movement

Point = tuple[float, float, float]
Rotation = tuple[float, float, float, float]
Ends = tuple[float | None, float | None]


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
