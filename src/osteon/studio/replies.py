"""The open take as pages see it: messages, and what they fetch: arrays as bytes, and characters to
glue markers on."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from osteon.delivery import contact_spans, motion_spans, summary_of
from osteon.edits import by_stage, compact_of, placed_on
from osteon.errors import BadValue, NotEnoughData, UnknownName
from osteon.formats import read
from osteon.human import figure_at_rest, known_sets
from osteon.labelling import DOUBTFUL, Labelled, share_of_samples
from osteon.maths import euler
from osteon.pipeline import watch_poses
from osteon.report import MarkerRow, Span, gap_spans, mark_spans, marker_rows
from osteon.retargeting import transfer
from osteon.studio.document import (
    Change,
    OpenTake,
    Shown,
    knows_axes,
    rig_row,
    subjects_of,
)
from osteon.studio.messages import (
    Changed,
    Character,
    Compared,
    LabelRow,
    LabelTable,
    Opened,
    PlacedMarker,
    RigRow,
    StageDone,
    TakeState,
)
from osteon.typing import Array
from osteon.values import Marker, Motion, Skeleton, Source

MOST_GAPS = 1000
"""Count of gaps drawn apart on the timeline; where there are more, neighbours are drawn as one.
Chosen: about the columns that a timeline has on a screen."""
MOST_ROWS = 500
"""Count of labels to look at that are sent. Chosen: nobody looks through more at once."""
KNOWN = (
    "markers",
    "filled",
    "sensors",
    "channel",
    "joints",
    "rotations",
    "turned",
    "parameters",
    "angles",
    "residuals",
)
MISSING_INTEGER = -32768
"""Code of NaN among integers of 16 bits. Chosen: the least of them, which no value takes."""
MOST_NUMBERS = 64_000_000
"""Count of numbers in one answer. Chosen by memory: 256 MB."""
MOST_COLUMNS = 20_000
"""Count of columns of a curve panel. Chosen: wider than screens are."""


def state_of(take: OpenTake) -> TakeState:
    return TakeState(
        take.revisions.current,
        tuple(take.edits),
        len(take.undone),
        take.settings,
        solved=take.solved is not None,
        stale=take.stale,
    )


def labels_of(take: OpenTake) -> LabelTable | None:
    """Return what to look at of the labels that were found, and what was said of them."""
    found = take.labels()
    if found is None:
        return None
    said = [(edit.track, edit.first, edit.last) for edit in by_stage(take.edits).labels]
    rows = [
        LabelRow(p.track, p.first, p.last, p.label, p.confidence, p.rival, by_hand=by_hand)
        for p in found.pieces
        if (by_hand := (p.track, p.first, p.last) in said) or p.confidence < DOUBTFUL or not p.label
    ]
    return LabelTable(
        found.by,
        found.labelled,
        share_of_samples(found.pieces, found.doubtful),
        _labels_to_give(found),
        tuple(rows[:MOST_ROWS]),
        max(0, len(rows) - MOST_ROWS),
        found.warnings,
    )


def _labels_to_give(found: Labelled) -> tuple[str, ...]:
    """Return labels that were given, and the others of their set."""
    worn = [label for each in known_sets() if each.name == found.by for label in each.markers]
    return tuple(dict.fromkeys([*found.recording.names, *worn]))


def say_opened(take: OpenTake) -> Opened:
    source = take.timed.source
    return Opened(
        path=take.name,
        subject=take.subject,
        subjects=subjects_of(take.take),
        frames=take.n_frames,
        rate=take.timed.rate,
        kinds=(_kind_of(take),),
        facts=_facts(take, source),
        problems=source.problems,
        markers=markers_of(take),
        spans=tuple(spans_of(take)),
        rig=take.rig,
        state=state_of(take),
        summary=take.summary,
        labels=labels_of(take),
        findings=take.finding_table(),
    )


def _kind_of(take: OpenTake) -> str:
    if take.sensors is not None:
        return "sensors"
    return "markers" if take.recording is not None else "motion"


def say_changed(take: OpenTake, change: Change, *, undone: bool) -> Changed:
    what = change.edit.sentence
    return Changed(
        state_of(take),
        f"taken back: {what}" if undone else what,
        markers_of(take, change.markers),
        change.first,
        change.last,
        tuple(spans_of(take)),
        change.moved,
        labels_of(take),
        take.finding_table(),
    )


def say_done(take: OpenTake, stage: str) -> StageDone:
    """Return what there is after a stage."""
    done = take.solved
    return StageDone(
        stage,
        take.rig or RigRow(),
        take.summary or {},
        markers_of(take),
        tuple(spans_of(take)),
        state_of(take),
        take.n_frames,
        () if done is None else done.warnings,
        labels_of(take),
        take.finding_table(),
    )


def say_compared(shown: Shown) -> Compared:
    motion, seen = shown.solved.motion, shown.recording.seen
    return Compared(
        shown.label,
        shown.n_frames,
        motion.rate,
        rig_row(motion),
        marker_rows(shown.names, seen, shown.measured, motion.skeleton),
        summary_of(shown.solved),
        (
            *gap_spans(shown.names, seen, MOST_GAPS),
            *motion_spans(motion, shown.solved.contacts, watch_poses(motion, [])),
        ),
    )


def markers_of(take: OpenTake, columns: Sequence[int] | None = None) -> list[MarkerRow]:
    """Return the take's markers as edited, or some of them by column."""
    chosen = list(range(len(take.names)) if columns is None else columns)
    names = [take.names[column] for column in chosen]
    skeleton = None if take.solved is None else take.solved.skeleton
    if skeleton is not None and take.sensors is not None:
        skeleton = _wearing_sensors(skeleton)
    return marker_rows(names, take.seen[:, chosen], take.measured[:, chosen], skeleton)


def _wearing_sensors(skeleton: Skeleton) -> Skeleton:
    """Return bodies that each carry their sensor, in the origin of its own frame."""
    bodies = [replace(body, markers=(Marker(body.name, np.zeros(3)),)) for body in skeleton.bodies]
    return replace(skeleton, bodies=tuple(bodies))


def spans_of(take: OpenTake) -> list[Span]:
    """Return the timeline: gaps and contacts as edited, and what the last solve found."""
    spans = gap_spans(take.names, take.seen, MOST_GAPS) if take.names else []
    spans += take.findings.spans()
    if take.solved is None:
        marks = take.recording.marks if take.recording is not None else ()
        marked = mark_spans(marks, take.timed.rate, take.n_frames)
        return [*spans, *take.findings.swaps(), *marked]
    contacts = take.motion_draft().contacts
    return [*spans, *take.found, *contact_spans(contacts, take.solved.skeleton.names)]


def _facts(take: OpenTake, source: Source) -> tuple[tuple[str, str], ...]:
    rows = [
        ("file", source.file or take.path.name),
        ("format", " ".join(filter(None, (source.format, source.detail)))),
        ("frames", f"{take.n_frames} at {take.timed.rate:g} per second"),
    ]
    if take.recording is not None:
        missing = 1.0 - float(take.seen.mean()) if take.seen.size else 0.0
        what = _kind_of(take)
        rows.append((what, f"{len(take.names)}, {100.0 * missing:.1f} % of samples missing"))
    if source.software:
        rows.append(("written by", source.software))
    return tuple(rows)


class Asked(msgspec.Struct, frozen=True):
    """The query of ``/api/arrays/{name}``."""

    name: str
    first: int = 0
    last: int | None = None
    stride: int = 1
    only: tuple[int, ...] | None = None
    """Columns; all where None."""
    state: Literal["before", "after"] = "after"
    marker: str = ""
    body: str = ""
    width: int = 1000
    dtype: Literal["float32", "int16"] = "float32"


@dataclass(frozen=True, eq=False)
class Answer:
    """Bytes and the headers that explain them."""

    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def answer(asked: Asked, shown: OpenTake | Shown) -> Answer:
    """Return the numbers asked for, little-endian."""
    last = shown.n_frames - 1 if asked.last is None else min(asked.last, shown.n_frames - 1)
    if not (0 <= asked.first <= last and asked.stride >= 1):
        raise BadValue(
            f"frames must lie in 0…{shown.n_frames - 1}, first before last, stride at least 1; "
            f"got {asked.first} to {asked.last}, stride {asked.stride}"
        )
    if asked.name == "channel":
        values = _channel(asked, shown, last)
    else:
        values = _frames(asked, shown, last)
    if values.size > MOST_NUMBERS:
        raise BadValue(f"{values.size} numbers are too many at once; ask for fewer frames")
    headers = {"X-First": str(asked.first), "X-Stride": str(asked.stride)}
    body, more = _pack_numbers(values, asked.dtype)
    shape = ",".join(str(size) for size in values.shape)
    return Answer(body, {**headers, **more, "X-Shape": shape})


def _frames(asked: Asked, shown: OpenTake | Shown, last: int) -> Array:
    frames = asked.first, last, asked.stride
    match asked.name:
        case "markers":
            values = _positions(asked, shown)[asked.first : last + 1 : asked.stride]
        case "sensors":
            values = _sensor_turns(shown)[asked.first : last + 1 : asked.stride]
        case "filled":
            filled = shown.seen & ~shown.measured
            values = filled[asked.first : last + 1 : asked.stride].astype(float)
        case "angles":
            values = _angles(asked.body, shown)[asked.first : last + 1 : asked.stride]
        case "residuals":
            values = shown.residuals()[asked.first : last + 1 : asked.stride]
        case "joints":
            values = shown.motion_draft().world(*frames)[1]
        case "turned":
            values = shown.motion_draft().world(*frames)[0]
        case "rotations":
            values = shown.motion_draft().window(*frames).rotations
        case "parameters":
            values = compact_of(shown.motion_draft().window(*frames)).angles
        case _:
            raise UnknownName("array", asked.name, KNOWN)
    if asked.only is None:
        return values
    if not all(0 <= column < values.shape[1] for column in asked.only):
        raise BadValue(f"columns must lie in 0…{values.shape[1] - 1}, got {asked.only}")
    return values[:, list(asked.only)]


def _sensor_turns(shown: OpenTake | Shown) -> Array:
    if not isinstance(shown, OpenTake) or shown.sensors is None:
        raise NotEnoughData("the file holds no sensors with orientation")
    return shown.sensors.rotations


def _angles(name: str, shown: OpenTake | Shown) -> Array:
    """Return (n_frames, n) angles of a joint, radians, without jumps by full turns.

    About its movement axes where these are known, else about x, y and z of the parent, in that
    order.
    """
    motion = shown.motion_draft().motion()
    body = motion.skeleton.index(name)
    if body and knows_axes(motion.skeleton):
        compact = compact_of(motion)
        own = [i for i, each in enumerate(compact.names) if each.startswith(f"{name}.")]
        return np.unwrap(compact.angles[:, own], axis=0)
    return euler.from_quat(motion.rotations[:, body], "xyz")


def _positions(asked: Asked, shown: OpenTake | Shown) -> Array:
    positions = shown.before if asked.state == "before" else shown.after
    if positions is None:
        raise NotEnoughData("the file holds no markers")
    return positions


def _channel(asked: Asked, shown: OpenTake | Shown, last: int) -> Array:
    """Return (n_columns, 3, 2) least and most of one marker in every column of the panel."""
    if asked.marker not in shown.names:
        raise UnknownName("marker", asked.marker, shown.names)
    if not 1 <= asked.width <= MOST_COLUMNS:
        raise BadValue(f"width must lie in 1…{MOST_COLUMNS}, got {asked.width}")
    column = shown.names.index(asked.marker)
    return find_extremes(_positions(asked, shown)[asked.first : last + 1, column], asked.width)


def find_extremes(path: Array, width: int) -> Array:
    """Return (n_columns, 3, 2) extremes of a path (n, 3) in ``width`` columns; NaN where nothing
    is seen.

    A peak of one frame stays in sight however long the take; one column a frame where there are no
    more frames than columns.
    """
    n_columns = min(width, len(path))
    starts = np.arange(n_columns) * len(path) // n_columns
    low = np.fmin.reduceat(path, starts, axis=0)
    high = np.fmax.reduceat(path, starts, axis=0)
    return np.stack([low, high], axis=-1)


def _pack_numbers(values: Array, dtype: str) -> tuple[bytes, dict[str, str]]:
    if dtype == "float32":
        return np.ascontiguousarray(values, dtype="<f4").tobytes(), {}
    seen = np.isfinite(values)
    low = float(np.min(values, where=seen, initial=np.inf))
    high = float(np.max(values, where=seen, initial=-np.inf))
    low, high = (low, high) if low <= high else (0.0, 0.0)
    origin, step = 0.5 * (low + high), max((high - low) / 65_000.0, 1e-9)
    whole = np.rint((np.where(seen, values, origin) - origin) / step)
    body = np.where(seen, whole, MISSING_INTEGER).astype("<i2").tobytes()
    return body, {"X-Origin": repr(origin), "X-Step": repr(step)}


def character_at(path: Path, take: OpenTake) -> Character:
    """Return a character in its rest pose, and where the take's markers are on it so far."""
    skeleton = read(path).skeleton()
    motion = Motion.at_rest(skeleton)
    turned, joints = motion.world()
    return Character(
        rig=rig_row(motion),
        joints=tuple(map(tuple, joints[0].tolist())),
        turned=tuple(map(tuple, turned[0].tolist())),
        placed=_place_markers(skeleton, path.name, take),
    )


def _place_markers(skeleton: Skeleton, file: str, take: OpenTake) -> tuple[PlacedMarker, ...]:
    """Place markers by hand where that was done, else as the character's own, else as on the
    rig."""
    found = {marker.marker: marker for marker in _guess_places(skeleton, take)}
    for body in skeleton.bodies:
        for marker in body.markers:
            found[marker.name] = PlacedMarker(
                marker.name, body.name, tuple(marker.position.tolist())
            )
    for name, edit in placed_on(take.edits, file).items():
        found[name] = PlacedMarker(name, edit.body, edit.position, by_hand=True)
    return tuple(found[name] for name in take.names if name in found)


def _guess_places(skeleton: Skeleton, take: OpenTake) -> list[PlacedMarker]:
    """Place markers as ``map`` would begin; none where performer or character are not
    understood."""
    if take.solved is None:
        return []
    try:
        performer = figure_at_rest(take.solved.skeleton)
        carried = transfer(performer, figure_at_rest(skeleton)).on(skeleton)
    except (NotEnoughData, BadValue):
        return []
    return [
        PlacedMarker(marker.name, body.name, tuple(marker.position.tolist()))
        for body in carried.bodies
        for marker in body.markers
    ]
