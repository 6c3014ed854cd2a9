"""What was captured: markers, and rigid bodies (sensors, tracked clusters, fitted segments); what
happened meanwhile: marks set by people, and events that a stage found; and what the file said about
itself, kept so that it can be written back."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np

from osteon.errors import BadValue, UnknownName
from osteon.typing import Array
from osteon.values.array_checks import (
    freeze,
    frozen,
    handed_over,
    positive_rate,
    settle,
    unique_names,
    unit_quaternions,
    whole_rows,
)
from osteon.values.force_plates import ForcePlate, GroundReaction


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


@dataclass(frozen=True, slots=True)
class Source:
    """A file's own conventions. Values never use them; writers may restore them."""

    file: str = ""
    """Name of the file, without folders."""
    format: str = ""
    """Name of the format, such as ``C3D``."""
    detail: str = ""
    """Variant of the format, such as ``Intel float`` or ``Motive 1.25``."""
    software: str = ""
    """Program that wrote the file, where it says so."""
    unit: str = "m"
    """Unit of length in the file."""
    up: str = "z"
    """Axis that points up in the file, ``x``, ``y`` or ``z``."""
    up_known: bool = False
    """Whether the file says which axis is up; else it was assumed or judged from the data."""
    first_frame: int = 0
    """Number the file gives to its first frame."""
    problems: tuple[str, ...] = ()
    """What was odd about the file and how it was read, one sentence each."""
    head: bytes = field(default=b"", repr=False)
    """The file's own head, which only the writer of its format understands: so it can put back what
    no value here has a place for."""
    beyond: tuple[str, ...] = ()
    """What only the head tells, in words."""
    words: Array | None = field(default=None, repr=False, compare=False)
    """(n_frames, n_points of the file) what its format says of each sample beside its place, as
    stored: which cameras saw it. None where positions and residuals tell it all."""


@dataclass(frozen=True, slots=True, eq=False)
class Analog:
    """Channels sampled beside the markers: force plates, muscles."""

    values: Array
    """(n_samples, n_channels) in the channel's own unit."""
    names: tuple[str, ...]
    units: tuple[str, ...]
    rate: float
    """Samples per second."""
    stored: Array | None = None
    """(n_samples, n_channels) as the file had them before scaling, where ``values`` do not tell:
    a channel may have the scale 0."""

    def __post_init__(self) -> None:
        values = frozen(self.values, ("n_samples", len(self.names)), "analog values")
        stored = self.stored
        if stored is not None:
            stored = frozen(stored, values.shape, "stored analog values")
        settle(self, values=values, stored=stored, rate=positive_rate(self.rate))


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """Marker trajectories of one subject. Metres, seconds, z up."""

    positions: Array
    """(n_frames, n_markers, 3); NaN where a marker was not seen."""
    names: tuple[str, ...]
    """One per marker, unique, without the subject's prefix."""
    rate: float
    """Frames per second."""
    subject: str = ""
    residuals: Array | None = None
    """(n_frames, n_markers), metres: the capture system's own doubt. 0 = filled in or processed,
    > 0 = measured, NaN = not seen, or measured with an error that nobody stated. None where the
    file carries none."""
    outputs: frozenset[str] = frozenset()
    """Names among ``names`` that are no markers but results of other software: joint angles,
    forces, powers. They are scaled and turned like the markers, so that the file's numbers come
    back where its unit and axes do."""
    marks: tuple[Mark, ...] = ()
    analog: Analog | None = None
    history: tuple[str, ...] = ()
    """What has been done to the data, oldest first."""
    source: Source = Source()
    plates: tuple[ForcePlate, ...] = ()
    """Force plates in the floor, in the axes of the markers; their channels are in ``analog``."""

    def __post_init__(self) -> None:
        names = unique_names(self.names, "marker")
        positions = whole_rows(frozen(self.positions, ("n_frames", len(names), 3), "positions"))
        settle(self, names=names, positions=positions, rate=positive_rate(self.rate))
        freeze(self, residuals=positions.shape[:2])
        n_channels = len(self.analog.names) if self.analog else 0
        for plate in self.plates:
            if not all(0 <= channel < n_channels for channel in plate.channels):
                raise BadValue(f"a force plate names a channel beyond the {n_channels} there are")

    @property
    def n_frames(self) -> int:
        return self.positions.shape[0]

    @property
    def n_markers(self) -> int:
        return self.positions.shape[1]

    @property
    def seen(self) -> np.ndarray:
        """(n_frames, n_markers) whether the marker was seen or filled in."""
        return np.isfinite(self.positions[..., 0])

    @property
    def measured(self) -> np.ndarray:
        """(n_frames, n_markers) whether a camera saw the marker: evidence, not filling.

        A file whose residuals are zero throughout (many exporters write nothing else) does not
        tell the two apart; there everything seen counts as measured.
        """
        if self.residuals is None:
            return self.seen
        evidence = self.seen & ~(self.residuals == 0.0)
        return evidence if evidence.any() else self.seen

    def index(self, name: str) -> int:
        if name not in self.names:
            raise UnknownName("marker", name, self.names)
        return self.names.index(name)

    def select(self, names: Sequence[str], did: str | None = None) -> "Recording":
        """Only these markers, in this order."""
        if did is None and tuple(names) == self.names:
            return self
        columns = [self.index(name) for name in names]
        return replace(
            self,
            positions=handed_over(self.positions.take(columns, axis=1)),
            names=tuple(names),
            residuals=None
            if self.residuals is None
            else handed_over(self.residuals.take(columns, axis=1)),
            outputs=self.outputs & set(names),
            history=self.history if did is None else (*self.history, did),
        )

    def ground_reactions(self) -> tuple[GroundReaction, ...]:
        """What each force plate does to the person: force, centre of pressure, free moment."""
        if self.analog is None:
            return ()
        values, rate = self.analog.values, self.analog.rate
        return tuple(plate.reaction(values, rate) for plate in self.plates)

    def markers(self) -> "Recording":
        """Without the results of other software."""
        if not self.outputs:
            return self
        kept = [name for name in self.names if name not in self.outputs]
        return self.select(kept, did=f"left out {len(self.outputs)} model outputs")

    def with_positions(
        self, positions: Array, did: str, residuals: Array | None = None
    ) -> "Recording":
        """New coordinates for the same markers, and what was done in one phrase."""
        residuals = self.residuals if residuals is None else residuals
        return replace(self, positions=positions, residuals=residuals, history=(*self.history, did))

    def with_filled(self, positions: Array, filled: np.ndarray, did: str) -> "Recording":
        """New coordinates of which those under ``filled`` (n_frames, n_markers) are no evidence.

        They get the residual 0; what was measured keeps its residual, or NaN where none is known.
        """
        known = np.nan if self.residuals is None else self.residuals
        residuals = np.where(self.measured, np.where(known == 0.0, np.nan, known), 0.0)
        residuals[filled] = 0.0
        residuals[~np.isfinite(positions[..., 0])] = np.nan
        return self.with_positions(positions, did, handed_over(residuals))


@dataclass(frozen=True, slots=True, eq=False)
class Bodies:
    """Poses of rigid bodies. Metres, seconds, z up."""

    positions: Array
    """(n_frames, n_bodies, 3) body origin in the world; NaN where not seen."""
    rotations: Array
    """(n_frames, n_bodies, 4) unit quaternions w, x, y, z to the world from the body."""
    names: tuple[str, ...]
    rate: float
    subject: str = ""
    marks: tuple[Mark, ...] = ()
    history: tuple[str, ...] = ()
    source: Source = Source()

    def __post_init__(self) -> None:
        names = unique_names(self.names, "body")
        positions = frozen(self.positions, ("n_frames", len(names), 3), "positions")
        rotations = frozen(self.rotations, (*positions.shape[:2], 4), "rotations")
        rotations = unit_quaternions(rotations)
        # half a pose is none: both parts are there or neither is
        seen = np.isfinite(np.concatenate([positions, rotations], axis=-1)).all(-1, keepdims=True)
        positions, rotations = np.where(seen, positions, np.nan), np.where(seen, rotations, np.nan)
        positions.flags.writeable = rotations.flags.writeable = False
        settle(self, positions=positions, rotations=rotations, names=names)
        settle(self, rate=positive_rate(self.rate))

    @property
    def n_frames(self) -> int:
        return self.positions.shape[0]

    @property
    def n_bodies(self) -> int:
        return self.positions.shape[1]

    @property
    def seen(self) -> np.ndarray:
        """(n_frames, n_bodies) whether the pose is known."""
        return np.isfinite(self.positions[..., 0])

    def index(self, name: str) -> int:
        if name not in self.names:
            raise UnknownName("body", name, self.names)
        return self.names.index(name)

    def select(self, names: Sequence[str]) -> "Bodies":
        """Only these bodies, in this order."""
        columns = [self.index(name) for name in names]
        return replace(
            self,
            positions=self.positions[:, columns],
            rotations=self.rotations[:, columns],
            names=tuple(names),
        )
