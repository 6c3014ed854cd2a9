"""What happened during a take: marks set by people, and events that a stage found."""

import msgspec


class Mark(msgspec.Struct, frozen=True):
    """An instant that somebody marked in the file, such as a foot strike."""

    label: str
    time: float
    """Seconds from the first frame of the file."""
    context: str = ""
    """Side or scope: ``Left``, ``Right``, ``General``."""


class Slip(msgspec.Struct, frozen=True, tag_field="kind", tag="slip"):
    """A sensor moved on its body and stayed there."""

    body: str
    frame: int
    size: float
    """How far it moved, metres."""


class Swap(msgspec.Struct, frozen=True, tag_field="kind", tag="swap"):
    """Two markers exchanged labels for a while."""

    markers: tuple[str, str]
    frames: tuple[int, int]
    """First and last frame."""
    repaired: bool


class Attachment(msgspec.Struct, frozen=True, tag_field="kind", tag="attachment"):
    """Two bodies were joined for a part of the take, as a hand that holds an object."""

    bodies: tuple[str, str]
    frames: tuple[int, int]
    """First and last frame."""
    in_first: tuple[float, float, float]
    in_second: tuple[float, float, float]
    rms: float
    """Residual while joined, metres."""


Event = Slip | Swap | Attachment


def event_sentence(event: Event) -> str:
    """Return what happened, in words for people; without a full stop."""
    if isinstance(event, Slip):
        return f"{event.body} slipped by {1000 * event.size:.1f} mm at frame {event.frame}"
    first, last = event.frames
    if isinstance(event, Attachment):
        return f"{' and '.join(event.bodies)} held together from frame {first} to {last}"
    mended = "; put right" if event.repaired else ""
    return f"labels {' and '.join(event.markers)} exchanged from frame {first} to {last}{mended}"
