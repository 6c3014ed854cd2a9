"""What a person changes by hand: small, named, and replayed on the untouched recording.

An edit says what to do, never what came out, so that the same list on the same recording gives the
same rig from the studio and from the command line. Frames count from 0 and both ends belong to a
range.
"""

from typing import Literal

import msgspec

Place3 = tuple[float, float, float]
"""x, y, z in metres."""
Degrees = tuple[float, float]
"""Low and high."""


class _Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="edit"):
    pass


class Cut(_Edit, frozen=True, tag="cut"):
    """Markers count as not seen for a while."""

    markers: tuple[str, ...]
    first: int
    last: int


class Fill(_Edit, frozen=True, tag="fill"):
    """Missing samples of markers are filled in."""

    markers: tuple[str, ...]
    first: int
    last: int
    method: Literal["auto", "spline", "rigid", "lowrank"] = "auto"


class Filter(_Edit, frozen=True, tag="filter"):
    """Markers are smoothed for a while."""

    markers: tuple[str, ...]
    first: int
    last: int
    cutoff: float = 6.0
    """Hz."""
    method: Literal["butterworth", "spline"] = "butterworth"


class SwapLabels(_Edit, frozen=True, tag="swap"):
    """Two markers exchange their labels for a while."""

    a: str
    b: str
    first: int
    last: int


class Assign(_Edit, frozen=True, tag="assign"):
    """A marker belongs to a body, wherever on it the recording says; to none where empty."""

    marker: str
    body: str


class Place(_Edit, frozen=True, tag="place"):
    """A marker sits at this very place of a body: gluing a marker set onto a figure."""

    marker: str
    body: str
    position: Place3
    """In the body's frame, metres."""
    character: str = ""
    """File name of the character that the marker is glued on; empty: on the solved rig."""


class SetParent(_Edit, frozen=True, tag="parent"):
    """A body hangs on another one."""

    body: str
    parent: str


class SetRoot(_Edit, frozen=True, tag="root"):
    """A body becomes the root; the joints stay where they are."""

    body: str


class SetKind(_Edit, frozen=True, tag="kind"):
    """A joint is of another kind."""

    body: str
    kind: Literal["fixed", "hinge", "universal", "ball"]
    axes: tuple[Place3, ...] = ()
    """In the parent's frame: one for a hinge, two for a universal joint; none: as it moves."""


class SetLimits(_Edit, frozen=True, tag="limits"):
    """A joint goes this far, degrees; what is left out stays as it was found."""

    body: str
    hinge: Degrees | None = None
    swing: Degrees | None = None
    """Half axes of the elliptic cone."""
    twist: Degrees | None = None
    zyz: tuple[Degrees, Degrees, Degrees] | None = None


class SetPlant(_Edit, frozen=True, tag="plant"):
    """A foot stands on the ground for a while, or does not."""

    body: str
    first: int
    last: int
    on: bool
    found: bool = True
    """As in ``SetPose``."""


class SetPose(_Edit, frozen=True, tag="pose"):
    """Another pose in one frame; the frames around it follow, less and less."""

    frame: int
    targets: dict[str, Place3] = {}
    """Body, `` tip`` of a body, or marker → where it is to be in the world, metres."""
    parameters: dict[str, float] = {}
    """Movement parameter, such as ``left_thigh.bend`` → angle, radians. Turned before targets."""
    limits: bool = True
    """Keep joints within their limits, where these are known."""
    spread: float = 0.25
    """Seconds to either side over which the change fades away; 0: this frame alone."""
    found: bool = True
    """Keep to the kinds and limits of joints that were found of the take; false: they were not
    known when the edit was made, and finding them later does not change it."""


Edit = (
    Cut
    | Fill
    | Filter
    | SwapLabels
    | Assign
    | Place
    | SetParent
    | SetRoot
    | SetKind
    | SetLimits
    | SetPlant
    | SetPose
)
"""One change."""

RecordingEdit = Cut | Fill | Filter | SwapLabels
"""A change of the recording, made before any stage."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the take is solved: names and defaults of ``solve``."""

    template: str = "auto"
    """Marker set: ``auto``, ``none`` (by motion alone), or a name."""
    hips: Literal["harrington", "davis", "seidel"] = "harrington"
    clean: bool = True
    """Repair exchanged labels and take out spikes."""
    smooth: bool = False
    """One fit over the whole take."""
    limits: bool = False
    """Also find joint kinds and limits."""
    axes: bool = False
    """Also find limb frames and movement axes."""


class RecordingId(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which recording edits were made on."""

    file: str
    sha256: str
    subject: str = ""


class Edits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that a person changed about one take."""

    recording: RecordingId
    edits: tuple[Edit, ...] = ()
    undone: tuple[Edit, ...] = ()
    """What redo would bring back, next one last."""
    settings: Settings = Settings()


def told(edit: Edit) -> str:
    """An edit in a few words, for histories."""
    match edit:
        case Cut(markers, first, last):
            return f"cut {_names(markers)} {_frames(first, last)}"
        case Fill(markers, first, last, method):
            return f"fill {_names(markers)} {_frames(first, last)} ({method})"
        case Filter(markers, first, last, cutoff, method):
            return f"filter {_names(markers)} {_frames(first, last)} ({cutoff:g} Hz {method})"
        case SwapLabels(a, b, first, last):
            return f"swap {a} and {b} {_frames(first, last)}"
        case Assign(marker, body):
            return f"{marker} belongs to {body or 'no body'}"
        case Place(marker, body, _, character):
            return f"{marker} placed on {body}" + (f" of {character}" if character else "")
        case SetParent(body, parent):
            return f"{body} hangs on {parent}"
        case SetRoot(body):
            return f"{body} is the root"
        case SetKind(body, kind):
            return f"{body} is {'' if kind == 'fixed' else 'a '}{kind}"
        case SetLimits(body):
            return f"limits of {body}"
        case SetPlant(body, first, last, on):
            return f"{body} {'stands' if on else 'is off the ground'} {_frames(first, last)}"
        case SetPose(frame, targets, parameters):
            return f"pose {_names((*targets, *parameters))} at frame {frame}"


def _names(names: tuple[str, ...]) -> str:
    return (
        ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"
    )


def _frames(first: int, last: int) -> str:
    return f"frame {first}" if first == last else f"{first}–{last}"
