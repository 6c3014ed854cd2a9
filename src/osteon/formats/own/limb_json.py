"""The ``frame`` and ``movement`` of a body in skeleton.json."""

import msgspec
import numpy as np

from osteon.values import Frame, Movement

Point = tuple[float, float, float]
Rotation = tuple[float, float, float, float]


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
