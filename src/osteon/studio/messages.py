"""What studio and page say to each other over ``/ws``: JSON, one struct a message.

``type`` names the message, ``edit`` inside an edit names the edit (``edits/model.py``). The page
sends one of ``FromPage``, the server one of ``ToPage``; the TypeScript types are made from these.
Metres, radians, seconds, z up, quaternions w x y z, frames from 0 with both ends in a range; a
number that is not known is null.

Big arrays do not travel here but as ``GET /api/arrays/{name}?token=…``, little-endian numbers,
their shape in the header ``X-Shape`` (``2400,41,3``), and ``X-First``, ``X-Stride``: row i is frame
first + i · stride. Query: ``first``, ``last`` (default: all frames), ``stride`` (default 1),
``dtype`` ``float32`` (NaN = missing) or ``int16`` (−32768 = missing; value = ``X-Origin`` +
``X-Step`` · integer), ``only`` (columns by number, ``3,4``; default: all), ``of`` ``take`` or
``compared`` (the other side of ``Compare``):

    markers     (n, n_markers, 3)  recording; ``state=before`` untouched, ``after`` edited (default)
    channel     (n_columns, 3, 2)  one marker's x, y, z for the curve panel: least and most of each
                                   of ``width`` columns; ``marker``, ``width`` (default 1000),
                                   ``state``. One row per frame where there are fewer frames
    joints      (n, n_bodies, 3)   joints in the world
    rotations   (n, n_bodies, 4)   to the parent from the body; root: to the world
    turned      (n, n_bodies, 4)   to the world from the body
    sensors     (n, n_sensors, 4)  as recorded, to the world; their places are ``markers``
    filled      (n, n_markers)     1 where a sample was filled in, and not measured
    angles      (n, n_angles)      of one joint, ``body``, radians: about its movement axes where
                                   they are known, else about x, y and z
    parameters  (n, n_parameters)  movement angles, in the order of ``RigRow.parameters``
    residuals   (n, n_markers)     distance from model to marker

``GET /api/skin?token=…&of=…`` is the rig's skin as the report carries it (``report.data.SkinRow``),
or null; ``of`` as above, or ``character`` with its ``path``. ``GET /api/character?token=…&path=…``
is a ``Character``.

``POST /api/open?token=…&path=…`` opens as ``Open`` does. ``POST /api/upload?token=…&name=…`` (body:
the file) stores a dropped file in the folder and opens it. ``GET /api/export/{format}?token=…``
downloads one file of the export: an ending such as ``bvh`` or ``glb``, or ``skeleton``,
``summary``, ``report``, ``passport``, ``edits``, ``labels``.
"""

from typing import Any, Literal

import msgspec

from osteon.edits import Edit, FindingKind, KeepFinding, Place3, Settings
from osteon.report import BodyRow, MarkerRow, Span

Stage = Literal["solve", "limits", "axes", "swaps", "map", "label"]
"""``swaps`` only looks for exchanged labels and spikes; ``map`` moves a given character; ``label``
finds out whose marker each track is, and solves nothing."""
Quaternion = tuple[float, float, float, float]


class _Message(msgspec.Struct, frozen=True, tag_field="type"):
    pass


# from the page


class Open(_Message, frozen=True, tag="open"):
    """Open a file of the folder; every page is told by ``Opened``."""

    path: str
    """Relative to the opened folder."""
    subject: str = ""
    """Whose markers, where the file holds several; empty: the first."""


class MakeEdit(_Message, frozen=True, tag="edit"):
    """Make a change; every page is told by ``Changed``."""

    edit: Edit
    revision: int
    """The revision that the page shows. A change of something that another page has changed
    meanwhile is refused, others go on top."""
    id: str = ""
    """Made by the page, comes back in ``Changed`` or ``Problem``. A page that lost its socket sends
    again what was not answered: an id that was seen before is answered, not done twice."""


class Undo(_Message, frozen=True, tag="undo"):
    """Take back the last change; ``Changed`` follows."""

    revision: int
    id: str = ""


class Redo(_Message, frozen=True, tag="redo"):
    """Make again what was taken back last; ``Changed`` follows."""

    revision: int
    id: str = ""


class Run(_Message, frozen=True, tag="run"):
    """Run a stage; ``Progress`` … then ``StageDone``, ``Cancelled`` or ``Problem`` follow."""

    stage: Stage = "solve"
    settings: Settings | None = None
    """None: as last time. Kept in the file of edits."""
    character: str = ""
    """For ``map``: file of the skeleton to move, relative to the folder."""


class Cancel(_Message, frozen=True, tag="cancel"):
    """Stop the running stage as soon as it comes to a step; ``Cancelled`` follows."""


class Drag(_Message, frozen=True, tag="drag"):
    """Pose one frame by pulling at handles, per mouse move; ``Pose`` answers this page alone.

    Nothing is kept: ``SetPose`` with the same targets makes it an edit. Of drags that pile up only
    the newest is answered.
    """

    frame: int
    targets: dict[str, Place3]
    """Body, `` tip`` of a body, or marker → where it is to be in the world."""
    limits: bool = True
    serial: int = 0
    """Comes back in the answer."""
    limb: bool = False
    """As in ``SetPose``, and ``pins``."""
    pins: tuple[str, ...] = ()


class Slide(_Message, frozen=True, tag="slide"):
    """Turn a limb about a movement axis in one frame; ``Pose`` answers this page alone."""

    frame: int
    parameter: str
    value: float
    """Radians."""
    limits: bool = True
    serial: int = 0
    pins: tuple[str, ...] = ()
    """As in ``SetPose``."""


class Export(_Message, frozen=True, tag="export"):
    """Write everything into the output folder, as ``solve --edits`` does; ``Exported`` follows."""

    formats: tuple[str, ...] = ()
    """Endings beside bvh and glb, such as ``amc``."""
    names: str = ""
    """Scheme of bone names in motion files, as ``mixamo``; empty: our own."""
    unit: Literal["", "m", "cm", "mm", "in"] = ""
    """Of motion.bvh, and ``up``; empty: as usual."""
    up: Literal["", "y", "z"] = ""
    angles: Literal["", "isb", "pig", "opensim"] = ""
    """Convention of joint angles to write as well; empty: none."""
    markers: bool = False
    """Also the cleaned markers, as ``osteon clean`` writes them."""
    labels: bool = False
    """Only the markers with their labels, as ``osteon label`` writes them; nothing is solved."""


class Compare(_Message, frozen=True, tag="compare"):
    """Solve another take, or this one with other settings, to stand beside; ``Compared`` tells."""

    path: str = ""
    """Relative to the folder; empty: this take."""
    settings: Settings | None = None
    edits: bool = True
    """This take with its edits, or without."""


FromPage = Open | MakeEdit | Undo | Redo | Run | Cancel | Drag | Slide | Export | Compare


# to the page


class SliderRow(msgspec.Struct, frozen=True):
    """An angle about a movement axis, for a slider."""

    name: str
    """``left_thigh.bend``"""
    low: float
    """Range to offer, radians: a little more than the take shows."""
    high: float


class RigRow(msgspec.Struct, frozen=True):
    """The rig: what joints, rotations and parameters are about."""

    bodies: list[BodyRow] = []
    parameters: tuple[SliderRow, ...] = ()
    """Empty where the movement axes have not been found."""
    subject: str = ""


class LabelRow(msgspec.Struct, frozen=True):
    """A stretch of a track whose label somebody should look at, or has."""

    track: str
    first: int
    last: int
    label: str
    """Empty: it has none."""
    confidence: float
    rival: str = ""
    """The label that is next likely."""
    by_hand: bool = False


class LabelTable(msgspec.Struct, frozen=True):
    """Labels found for the tracks: how much has one, and what to look at."""

    by: str
    """What they come from: the name of a marker set, or ``motion``."""
    labelled: float
    """Share of the samples."""
    doubtful: float
    """Share of the samples."""
    names: tuple[str, ...]
    """Labels to choose from: all that were given, and the others of their set."""
    rows: tuple[LabelRow, ...]
    """In order of time: doubtful, left open, said by hand."""
    more: int = 0
    """How many rows are left out because there are too many."""
    warnings: tuple[str, ...] = ()


class FindingRow(msgspec.Struct, frozen=True):
    """Something that somebody should look at, and mend or leave."""

    kind: FindingKind
    what: str
    first: int
    last: int
    names: tuple[str, ...]
    """Markers, or the body."""
    state: Literal["open", "mended", "accepted", "refused"]
    """``mended``: cleaning has put it right for the last solve, and nobody has spoken of it."""
    accept: Edit
    """The edit that mends it."""
    refuse: KeepFinding
    """The edit that says it is right as it is."""


class FindingTable(msgspec.Struct, frozen=True):
    """Exchanged labels, spikes, gaps, pops and slides, in order of time."""

    rows: tuple[FindingRow, ...] = ()
    more: int = 0
    """How many are left out because there are too many."""


class TakeState(msgspec.Struct, frozen=True):
    """Where the session stands; with every ``Opened`` and ``Changed``."""

    revision: int
    """Grows with every change, whoever makes it."""
    edits: tuple[Edit, ...] = ()
    undone: int = 0
    """How many redo could bring back."""
    settings: Settings = Settings()
    solved: bool = False
    """Whether there is a motion."""
    stale: bool = False
    """Whether edits were made since the motion was solved."""


class Welcome(_Message, frozen=True, tag="welcome"):
    """First message on every socket; ``Opened`` follows where a take is open."""

    folder: str
    """Name of the opened folder."""
    files: tuple[str, ...]
    """Takes in it that can be opened, relative paths."""
    characters: tuple[str, ...]
    """Skeletons in it that can be moved."""
    version: str
    formats: tuple[str, ...]
    """Endings that ``Export`` can write."""
    marker_sets: tuple[str, ...]
    """Names for ``Settings.template``."""
    output: str = ""
    """Folder that ``Export`` writes to."""
    names: tuple[str, ...] = ()
    """Schemes of bone names that ``Export`` knows."""


class Opened(_Message, frozen=True, tag="opened"):
    """A take is open."""

    path: str
    subject: str
    subjects: tuple[str, ...]
    frames: int
    rate: float
    kinds: tuple[str, ...]
    """``markers``, ``sensors`` or ``motion``: what the file holds."""
    facts: tuple[tuple[str, str], ...]
    """Rows to show: what, value."""
    problems: tuple[str, ...]
    """What was odd about the file, one sentence each."""
    markers: list[MarkerRow]
    spans: tuple[Span, ...]
    """Timeline: gaps, and what a solve found."""
    rig: RigRow | None
    """Where there is a motion."""
    state: TakeState
    summary: dict[str, Any] | None = None
    """As ``summary.json``, where solved."""
    labels: LabelTable | None = None
    """Where tracks were labelled."""
    findings: FindingTable = FindingTable()


class Changed(_Message, frozen=True, tag="changed"):
    """An edit was made, taken back or made again; fetch again what changed."""

    state: TakeState
    saying: str
    """What was done, for the history: ``cut LTHI 120–140``."""
    markers: list[MarkerRow] = []
    """Those whose samples changed."""
    first: int = 0
    """Frames in which they changed."""
    last: int = -1
    spans: tuple[Span, ...] = ()
    """The whole timeline anew."""
    moved: bool = False
    """Whether the motion itself changed (poses): fetch joints and rotations of first…last."""
    labels: LabelTable | None = None
    """Where tracks were labelled."""
    findings: FindingTable = FindingTable()
    id: str = ""
    """Of the message that asked for it; empty for other pages."""


class Progress(_Message, frozen=True, tag="progress"):
    """A stage is at work."""

    stage: str
    saying: str
    fraction: float | None = None
    """Of the whole, where it can be told."""


class StageDone(_Message, frozen=True, tag="solved"):
    """A stage is done: fetch joints, rotations, residuals, parameters anew."""

    stage: str
    rig: RigRow
    summary: dict[str, Any]
    markers: list[MarkerRow]
    spans: tuple[Span, ...]
    state: TakeState
    frames: int = 0
    warnings: tuple[str, ...] = ()
    labels: LabelTable | None = None
    """Where tracks were labelled."""
    findings: FindingTable = FindingTable()


class Cancelled(_Message, frozen=True, tag="cancelled"):
    """A stage stopped because somebody asked; everything is as before."""

    stage: str


class Pose(_Message, frozen=True, tag="pose"):
    """One frame's pose: the answer to ``Drag`` and ``Slide``, or a live frame."""

    frame: int
    joints: tuple[Place3, ...]
    """In the world, one per body."""
    turned: tuple[Quaternion, ...]
    """To the world from the body."""
    parameters: tuple[float, ...] = ()
    """Movement angles where known, in the rig's order."""
    error: float | None = None
    """Largest distance left to a target, metres."""
    serial: int = 0
    live: bool = False
    points: tuple[Place3 | None, ...] = ()
    """Live markers, where there are any."""


class Live(_Message, frozen=True, tag="live"):
    """A stream begins: ``Pose`` messages with ``live`` follow, of this rig."""

    rig: RigRow
    rate: float
    markers: tuple[str, ...] = ()


class ExportedFile(msgspec.Struct, frozen=True):
    name: str
    url: str
    """To download it, without the token; empty: it lies in the folder only."""
    size: int


class Exported(_Message, frozen=True, tag="exported"):
    """Files were written."""

    folder: str
    files: tuple[ExportedFile, ...]


class Compared(_Message, frozen=True, tag="compared"):
    """The other side is there: fetch its arrays with ``of=compared``."""

    label: str
    frames: int
    rate: float
    rig: RigRow
    markers: list[MarkerRow]
    summary: dict[str, Any]
    spans: tuple[Span, ...]


class PlacedMarker(msgspec.Struct, frozen=True):
    """Where a marker is on a character."""

    marker: str
    body: str
    position: Place3
    """In the body's frame."""
    by_hand: bool = False


class Character(msgspec.Struct, frozen=True):
    """A skeleton to be moved, in its rest pose: the answer to ``/api/character``."""

    rig: RigRow
    joints: tuple[Place3, ...]
    turned: tuple[Quaternion, ...]
    placed: tuple[PlacedMarker, ...] = ()
    """Markers that are on it so far, by hand or as guessed."""


class Problem(_Message, frozen=True, tag="problem"):
    """Something was refused or went wrong; nothing changed."""

    saying: str
    """One sentence for people."""
    about: str = ""
    """Type of the message that was refused, or the stage that failed."""
    serial: int = 0
    """Of the ``Drag`` or ``Slide`` that was refused."""
    id: str = ""
    """Of the change that was refused."""


ToPage = (
    Welcome
    | Opened
    | Changed
    | Progress
    | StageDone
    | Cancelled
    | Pose
    | Live
    | Exported
    | Compared
    | Problem
)
