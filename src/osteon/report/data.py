"""What pages are told of a rig, and all that the report page is given.

The studio's messages speak of bodies and markers by the same rows; ``client/src/report_data.ts`` is
made from this module.
"""

import msgspec

Point = tuple[float, float, float]
Turn = tuple[float, float, float, float]


class Packed(msgspec.Struct, frozen=True):
    """An array as integers: value = origin + step · integer.

    The data are differences along the first axis, d ≥ 0 as 2·d and d < 0 as −2·d − 1, all lowest
    bytes first, then all second bytes and so on, deflated and written in base 64.
    """

    data: str
    shape: tuple[int, ...]
    origin: float
    step: float
    missing: int
    """The integer that stands for NaN: the least of 16 bits where all fit in 16, else of 32."""


class HingeRow(msgspec.Struct, frozen=True):
    """The range of a hinge about its axis; angle 0 at ``rest``. Radians."""

    axis: Point
    """In the parent's frame."""
    rest: Turn
    """To the parent's frame from the body's."""
    low: float
    high: float


class ConeRow(msgspec.Struct, frozen=True):
    """Where a bone may point: swings about ``centre``. Radians."""

    centre: Turn
    """To the parent's frame from the body's, in the middle of the cone."""
    axis: Point
    """Along the bone, in the body's frame."""
    across: tuple[Point, Point]
    """With ``axis`` a right-handed frame; swings are rotation vectors along these two."""
    radii: tuple[float, float]
    """Half axes of the ellipse of swings."""
    rim: list[tuple[float, float]]
    """Swings at the corners of the limit."""
    twist: tuple[float, float]
    seen: list[Point] = []
    """Swing along both directions and twist of poses that were seen, few that stand for all."""


class FrameRow(msgspec.Struct, frozen=True):
    """A limb's own frame, seen from its body's joint."""

    origin: Point
    rotation: Turn


class GlideRow(msgspec.Struct, frozen=True, kw_only=True):
    """How a joint glides as it turns."""

    low: float
    """Radians, and ``high``: the turn that was shown."""
    high: float
    travel_mm: float
    """From where it is farthest one way to farthest the other."""


class BodyRow(msgspec.Struct, frozen=True, kw_only=True):
    """One body of the rig. A body's node sits at its joint and is turned like the body."""

    name: str
    parent: int
    """−1 for a root."""
    kind: str
    """Of the joint."""
    offset: Point
    """Its joint from the parent's joint, in the parent's frame, metres."""
    in_body: Point = (0.0, 0.0, 0.0)
    """Its joint in the body's own frame, metres."""
    tip: Point | None = None
    """End of a bone that has no child, from the joint, in the body's frame."""
    length_mm: float | None = None
    measured_mm: float | None = None
    sigma_mm: float | None = None
    """Standard deviation of the joint in its worst direction."""
    rms_mm: float | None = None
    """How far the two bodies' ideas of the joint lie apart."""
    gap_mm: float | None = None
    """The same as the calibration found it, noise counted out: gliding, and skin that a body's
    markers share."""
    glide_mm: float | None = None
    """The part of the gap that skin does not explain; 0 where it may."""
    glide_path: GlideRow | None = None
    skin_mm: float | None = None
    """How far each of the body's markers slides on the bone for itself."""
    ellipsoid: tuple[Point, Point, Point] | None = None
    """Half axes of one standard deviation about the joint, in the parent's frame, metres."""
    margin: float | None = None
    """How clearly the joint beats its best rival: 0 a tie, 0.7 twice the unexplained square."""
    rival: tuple[str, str] | None = None
    """The two bodies that would be joined instead."""
    ambiguous: bool = False
    cone: ConeRow | None = None
    hinge: HingeRow | None = None
    frame: FrameRow | None = None
    movement: list[str] = []
    """What turning about each movement axis is called."""


class MarkerRow(msgspec.Struct, frozen=True):
    name: str
    body: int
    """−1 where no body carries it."""
    rms_mm: float | None = None
    missing: float = 0.0
    """Share of the frames in which it was not seen."""
    filled: float = 0.0
    """Share of the frames in which it was filled in, and not measured."""
    place: Point | None = None
    """Where the model has it, from its body's joint, in the body's frame, metres."""


class Poses(msgspec.Struct, frozen=True):
    """How the bodies are turned, and where they are."""

    turns: Packed
    """(n_shown, n_bodies, 3) rotation vectors to the world from each body, radians."""
    root: Packed
    """(n_shown, 3) the root's place in the world."""
    joints: Packed | None = None
    """(n_shown, n_bodies, 3) places of the joints, where bones do not keep their length."""


class SkinRow(msgspec.Struct, frozen=True):
    """A skin that the bodies carry, in its rest pose."""

    vertices: Packed
    """(n_vertices, 3) metres."""
    triangles: Packed
    """(n_triangles, 3)"""
    bodies: Packed
    """(n_vertices, 4) which bodies move a vertex."""
    weights: Packed
    """(n_vertices, 4) how much, summing to one."""
    joints: list[Point]
    """Where each body's joint is in the rest pose."""
    turns: list[Turn]
    """How each body is turned in it."""


class Residuals(msgspec.Struct, frozen=True):
    """Distances over time of several things of one kind, millimetres."""

    what: str
    """What the distance is between, such as ``markers and model``."""
    names: list[str]
    values: Packed
    """(n_shown, n_names)"""
    rms_mm: list[float | None]
    """Root mean square of each over all frames."""


class Span(msgspec.Struct, frozen=True):
    """Something that happened from one frame to another."""

    kind: str
    """``gap``, ``swap``, ``slip``, ``contact``, ``step``, ``held``, ``improbable``,
    ``attachment``, ``mark``."""
    what: str
    first: int
    last: int
    body: int = -1
    """The body it happened to, where it is one."""


class Ground(msgspec.Struct, frozen=True):
    """The plane that feet stand on."""

    height: float = 0.0
    slope: tuple[float, float] = (0.0, 0.0)
    """How much it rises per metre along x and y."""


class CurveBand(msgspec.Struct, frozen=True):
    """A curve over the gait cycle: 101 points, degrees."""

    mean: list[float]
    deviation: list[float] | None
    """Standard deviation at each point, where there are several."""
    count: int
    """Cycles that it is the mean of; of controls, people."""


class CurveRow(msgspec.Struct, frozen=True, kw_only=True):
    """An angle over the gait cycle."""

    title: str
    """As people say it."""
    joint: str
    place: int
    """Column: 0 sagittal, 1 frontal, 2 transverse plane."""
    bands: dict[str, CurveBand]
    """``left``, ``right``, ``usual`` of controls; ``left_other``, ``right_other`` of the session
    it is held against."""
    deviation: float
    """By which constant it may be off, one standard deviation, degrees."""


class NumberRow(msgspec.Struct, frozen=True, kw_only=True):
    """A number of gait: mean and standard deviation by column, as in ``CurveRow.bands``."""

    title: str
    unit: str
    digits: int
    values: dict[str, tuple[float, float | None]]


class TrialRow(msgspec.Struct, frozen=True, kw_only=True):
    """A take and how good it is."""

    name: str
    seconds: float
    left: int
    """Cycles, and ``right``."""
    right: int
    rms_mm: float
    """Markers from the rig."""
    missing: float
    """Share of marker samples that were not seen."""
    held: int
    """Frames without evidence."""
    events: str
    """How ours lie against those that were marked in the file, in words."""


class GaitData(msgspec.Struct, frozen=True, kw_only=True):
    """What is told over gait cycles."""

    convention: str
    walking: str
    """Along which direction, in words."""
    curves: list[CurveRow]
    numbers: list[NumberRow]
    trials: list[TrialRow]
    offs: dict[str, float]
    """Foot off, per cent of the cycle, by column as in ``CurveRow.bands``."""
    against: str = ""
    """What the session is called that this one is held against."""
    controls: int = 0
    """People that the usual band is of."""
    doubts: list[tuple[str, str]] = []
    """Segment, and how its frame was made and how uncertain it is."""


class ReportData(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    subject: str
    rate: float
    frames: int
    """Of the recording; the page shows every ``stride``-th."""
    stride: int
    bodies: list[BodyRow] = []
    markers: list[MarkerRow] = []
    poses: Poses | None = None
    points: Packed | None = None
    """(n_shown, n_markers, 3)"""
    cloud: str = "markers"
    """What the points are: ``markers``, ``joints`` or ``sensors``."""
    skin: SkinRow | None = None
    ground: Ground = Ground()
    residuals: list[Residuals] = []
    spans: list[Span] = []
    gait: GaitData | None = None
    facts: list[tuple[str, str]] = []
    advice: list[str] = []
    history: list[str] = []
    warnings: list[str] = []
