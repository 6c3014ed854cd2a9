"""What calibrations find has happened, in frames of the stream, and whether it is news."""

from collections.abc import Sequence

import msgspec

from osteon.values import Attachment, Event, Slip


def in_stream(event: Event, numbers: Sequence[int]) -> Event:
    """An event of the frames that were calibrated, at those frames' ``numbers`` in the stream."""
    if isinstance(event, Slip):
        return msgspec.structs.replace(event, frame=numbers[event.frame])
    first, last = event.frames
    return msgspec.structs.replace(event, frames=(numbers[first], numbers[last]))


def same_event(one: Event, other: Event, near: float) -> bool:
    """Whether two calibrations mean the same; what still lasts has a later end each time."""
    return _what(one) == _what(other) and abs(_start(one) - _start(other)) <= near


def _what(event: Event) -> tuple[str, ...]:
    if isinstance(event, Slip):
        return ("slip", event.body)
    if isinstance(event, Attachment):
        return ("attachment", *sorted(event.bodies))
    return ("swap", *sorted(event.markers))


def _start(event: Event) -> int:
    return event.frame if isinstance(event, Slip) else event.frames[0]
