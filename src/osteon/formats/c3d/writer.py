"""Values to C3D: Intel floats, the dialect that every program reads.

Values that came from a C3D file get that file's parameters again, but for what has changed.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from osteon.errors import BadValue, NotEnoughData
from osteon.formats.c3d.carried import Original, original
from osteon.formats.c3d.data import stored_analog, words_that_hold
from osteon.formats.c3d.encoding import BLOCK_BYTES
from osteon.formats.c3d.header import EVENT_CODE
from osteon.formats.c3d.labels import output_lists
from osteon.formats.c3d.layout import COUNT_CAP
from osteon.formats.c3d.poses import POSE_COUNT
from osteon.formats.c3d.section import Section
from osteon.formats.registry import WriteOptions, without_restated
from osteon.formats.shared.units import metres_per, to_z_up, turn_points, turn_rotations
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Analog, Bodies, Mark, Recording, Source, Take

SCREEN = {"z": ("+X", "+Z"), "y": ("+X", "+Y"), "x": ("+Y", "+X")}
"""Axes drawn to the right and upwards, by the upward axis."""
FARTHEST_COUNT = 32_000
"""Count of scale steps to the farthest coordinate; chosen: just within 16-bit integers."""
RESIDUAL_COUNT = 255
"""Largest count of scale steps in a residual, defined by C3D: one byte."""


@dataclass(frozen=True)
class Plan:
    """All that the sections of the file have in common."""

    recordings: tuple[Recording, ...]
    bodies: tuple[Bodies, ...]
    n_frames: int
    rate: float
    first_frame: int
    unit: str
    up: str
    turn: Array
    """Rotation to the file's world from ours."""
    tell_up: bool
    scale: float
    analog: Analog | None
    analog_ratio: int
    body_ratio: int
    original: Original | None
    """The head of the file that all this came from."""
    keeps: frozenset[str]
    """Parts of the original head that hold: length, points, unit, up, channels, samples, marks,
    bodies."""
    samples: np.ndarray | None
    """Analog samples before the original's scaling."""

    @property
    def metres(self) -> float:
        return metres_per(self.unit)

    @property
    def n_points(self) -> int:
        return sum(recording.n_markers for recording in self.recordings)

    @property
    def n_analog(self) -> int:
        return len(self.analog.names) * self.analog_ratio if self.analog else 0

    @property
    def prefixed(self) -> bool:
        """Whether labels carry their subject: where there are several, names have colons, or they
        did in the file that all this came from."""
        values = (*self.recordings, *self.bodies)
        if self.original and self.original.prefixes([value.subject for value in values]):
            return True
        several = len({value.subject for value in values}) > 1
        return several or any(":" in name for value in values for name in value.names)


def write_c3d(path: Path, take: Take, options: WriteOptions) -> None:
    """Points of every subject, analog channels and marks; bodies as a ROTATION group."""
    plan = _plan(without_restated(take), options)
    section = _parameters(plan, data_block=0, body_block=0)
    data_block = 2 + section.blocks()
    frame_bytes = 4 * (4 * plan.n_points + plan.n_analog)
    body_block = data_block + max(1, -(-plan.n_frames * frame_bytes // BLOCK_BYTES))
    if plan.bodies and body_block > COUNT_CAP:
        raise BadValue("C3D holds bodies only within its first 32 MB; write the markers without")
    section = _parameters(plan, data_block, body_block)
    with path.open("wb") as file:
        file.write(_header(plan, data_block))
        file.write(section.packed())
        _frames(plan).tofile(file)
        file.write(bytes(-file.tell() % BLOCK_BYTES))
        if plan.bodies:
            file.write(bytes(max(0, (body_block - 1) * BLOCK_BYTES - file.tell())))
            _rotations(plan).tofile(file)
            file.write(bytes(-file.tell() % BLOCK_BYTES))


def _plan(take: Take, options: WriteOptions) -> Plan:
    recordings, bodies = take.recordings, take.bodies
    first = (*recordings, *bodies)[0]
    source = first.source
    analog = next((r.analog for r in recordings if r.analog is not None), None)
    unit = options.unit or (source.unit if source.format else "mm")
    up = options.up or source.up
    before = original((*recordings, *bodies))
    samples = (
        stored_analog(analog, before.parameters)
        if before and analog and before.has_channels(analog)
        else None
    )
    plan = Plan(
        recordings,
        bodies,
        first.n_frames,
        first.rate,
        first_frame=source.first_frame if before else max(1, source.first_frame),
        unit=unit,
        up=up,
        turn=quat.inverse(to_z_up(up)),
        tell_up=_tells_up(source, options),
        scale=_scale(recordings, metres_per(unit), before),
        analog=analog,
        analog_ratio=max(1, round(analog.rate / first.rate)) if analog else 1,
        body_ratio=max(1, round(bodies[0].rate / first.rate)) if bodies else 1,
        original=before,
        keeps=frozenset(),
        samples=samples,
    )
    _check_fit(plan)
    return plan if before is None else replace(plan, keeps=_kept(plan, before, options))


def _kept(plan: Plan, before: Original, options: WriteOptions) -> frozenset[str]:
    """What of the original's head still tells the truth."""
    values, source = plan.recordings or plan.bodies, (*plan.recordings, *plan.bodies)[0].source
    channels = before.has_channels(plan.analog)
    holds = {
        "length": before.has_length(plan.n_frames, plan.rate),
        "points": before.columns_of_points(plan.recordings) is not None,
        "unit": plan.unit == source.unit,
        "up": options.up is None or (plan.up == source.up and source.up_known),
        "channels": channels,
        "samples": channels and (plan.analog is None) == (plan.samples is None),
        "marks": before.has_marks(values),
        "bodies": before.columns_of_bodies(plan.bodies) is not None,
    }
    return frozenset(part for part, true in holds.items() if true)


def _tells_up(source: Source, options: WriteOptions) -> bool:
    return options.up is not None or source.up_known or source.format != "C3D"


def _check_fit(plan: Plan) -> None:
    n, rate = plan.n_frames, plan.rate
    if any((r.n_frames, r.rate) != (n, rate) for r in plan.recordings):
        raise NotEnoughData("the subjects differ in length or rate; write them one by one")
    for body in plan.bodies:
        fits = body.n_frames == n * plan.body_ratio
        if not fits or not np.isclose(body.rate, rate * plan.body_ratio, rtol=1e-6):
            raise NotEnoughData("markers and bodies differ in length or rate; write one of them")
    if plan.analog and len(plan.analog.values) != n * plan.analog_ratio:
        raise NotEnoughData(
            f"{len(plan.analog.values)} analog samples do not fit {n} frames; leave them out"
        )
    if max(plan.n_points, plan.n_analog) > COUNT_CAP:
        raise BadValue(f"C3D counts points and analog samples per frame to {COUNT_CAP}")


def _scale(recordings: Sequence[Recording], metres: float, before: Original | None) -> float:
    """Size of a residual's step, in the file's unit: the source's where it can be told."""
    farthest, steps = 0.0, []
    for recording in recordings:
        kept = [i for i, name in enumerate(recording.names) if name not in recording.outputs]
        if recording.seen[:, kept].any():
            farthest = max(farthest, float(np.nanmax(np.abs(recording.positions[:, kept]))))
        if recording.residuals is not None:
            steps.append(recording.residuals[recording.residuals > 0.0])
    if before:
        stated = before.parameters.number("POINT", "SCALE") or before.header.scale
        step = abs(stated) * (metres_per(recordings[0].source.unit) if recordings else metres)
        largest = max((float(some.max(initial=0.0)) for some in steps), default=0.0)
        if 0.0 < step < np.inf and largest <= (RESIDUAL_COUNT + 0.5) * step:
            return step / metres
    least = max(farthest / metres, 1e-6) / FARTHEST_COUNT
    step = _common_step(np.unique(np.concatenate(steps)) / metres) if steps else None
    # a little finer than FARTHEST_COUNT asks is how most writers choose it
    return step if step is not None and step >= 0.95 * least else least


def _common_step(values: Array) -> float | None:
    """The step of which all residuals are multiples, where there is one."""
    if not 0 < len(values) <= RESIDUAL_COUNT:
        return None
    step = float(np.diff(values, prepend=0.0).min())
    codes = values / step
    whole = np.abs(codes - np.rint(codes)).max() < 1e-3
    return step if whole and codes[-1] <= RESIDUAL_COUNT else None


def _header(plan: Plan, data_block: int) -> bytes:
    last = min(plan.first_frame + plan.n_frames - 1, COUNT_CAP)
    first = min(plan.first_frame, COUNT_CAP)
    head = struct.pack(
        "<BBHHHHHfHHf",
        *(2, 0x50, plan.n_points, plan.n_analog, first, last, 0),
        *(-plan.scale, data_block, plan.analog_ratio, plan.rate),
    )
    events = struct.pack("<H", EVENT_CODE).ljust(BLOCK_BYTES - 298, b"\0")
    if plan.original and "marks" in plan.keeps:
        events = plan.original.event_words()
    return head.ljust(298, b"\0") + events


def _parameters(plan: Plan, data_block: int, body_block: int) -> Section:
    """The original's parameters where there is one; whatever no longer holds is written anew."""
    section, keeps = Section(), plan.keeps
    if plan.original:
        section.carry(plan.original.head, plan.original.parameters, plan.original.processor)
    else:
        section.text("MANUFACTURER", "SOFTWARE", "osteon")
    _place(section, plan, data_block)
    if "length" not in keeps:
        _length(section, plan)
    if "points" not in keeps:
        _point_labels(section, plan)
    if "unit" not in keeps:
        section.texts("POINT", "UNITS", [plan.unit])
    if "up" not in keeps and plan.tell_up:
        section.text("POINT", "X_SCREEN", SCREEN[plan.up][0])
        section.text("POINT", "Y_SCREEN", SCREEN[plan.up][1])
    if "samples" not in keeps:
        _analog_group(section, plan)
    _plates(section, plan)
    if not keeps >= {"points", "bodies"}:
        _subjects_group(section, plan)
    if "marks" not in keeps:
        _event_group(section, plan)
    _rotation_group(section, plan, body_block)
    return section


def _place(section: Section, plan: Plan, data_block: int) -> None:
    """What the header says, too."""
    if plan.original is None:
        section.integer("POINT", "USED", plan.n_points)
        section.integer("POINT", "DATA_START", data_block)
        section.real("POINT", "SCALE", -plan.scale)
        return
    stated = plan.original.parameters
    for name, value in (("USED", plan.n_points), ("DATA_START", data_block)):
        if stated.count("POINT", name) not in (None, value):
            section.integer("POINT", name, value)
    if stated.number("POINT", "SCALE") not in (None, float(np.float32(-plan.scale))):
        section.real("POINT", "SCALE", -plan.scale)


def _length(section: Section, plan: Plan) -> None:
    section.real("POINT", "RATE", plan.rate)
    section.integer("POINT", "FRAMES", min(plan.n_frames, COUNT_CAP))
    section.drop("POINT", "LONG_FRAMES")
    if plan.n_frames >= COUNT_CAP:
        section.real("POINT", "LONG_FRAMES", plan.n_frames)
    if plan.original and "TRIAL" not in plan.original.parameters.groups:
        return
    last = plan.first_frame + plan.n_frames - 1
    for name, frame in (("ACTUAL_START_FIELD", plan.first_frame), ("ACTUAL_END_FIELD", last)):
        section.numbers("TRIAL", name, np.array([frame & COUNT_CAP, frame >> 16]))
    section.real("TRIAL", "CAMERA_RATE", plan.rate)


def _point_labels(section: Section, plan: Plan) -> None:
    labels = _labels(plan, plan.recordings)
    names = [name for recording in plan.recordings for name in recording.names]
    listed = [name in r.outputs for r in plan.recordings for name in r.names]
    about = _descriptions(plan.original)
    section.texts("POINT", "LABELS", labels)
    section.texts("POINT", "DESCRIPTIONS", [about.get(label, "") for label in labels])
    lists = _type_lists(section, plan.original, {*labels, *names})
    named = {label for listed in lists.values() for label in listed}
    for label, name, is_output in zip(labels, names, listed, strict=True):
        if is_output and not {label, name} & named:
            kind = "ANGLES" if name.endswith("Angles") else "OUTPUTS"
            lists.setdefault(kind, []).append(label)
            section.texts("POINT", kind, lists[kind])


def _descriptions(before: Original | None) -> dict[str, str]:
    if before is None:
        return {}
    labels, told = (before.parameters.texts("POINT", name) for name in ("LABELS", "DESCRIPTIONS"))
    return dict(zip(labels, told, strict=False))


def _type_lists(
    section: Section, before: Original | None, present: set[str]
) -> dict[str, list[str]]:
    """Lists of angles, forces … without points that are no longer there."""
    lists: dict[str, list[str]] = {}
    for name, listed in output_lists(before.parameters).items() if before else ():
        lists[name] = [label for label in listed if label in present]
        if not lists[name]:
            section.drop("POINT", name)
        elif lists[name] != listed:
            section.texts("POINT", name, lists[name])
    return lists


def _plates(section: Section, plan: Plan) -> None:
    """Force plates count channels, and lie in the unit and axes of the points."""
    before = plan.original
    if before is None or "channels" not in plan.keeps:
        section.drop("FORCE_PLATFORM")
        section.integer("FORCE_PLATFORM", "USED", 0)
        return
    source = (*plan.recordings, *plan.bodies)[0].source
    factor = metres_per(source.unit) / plan.metres
    corners, origins = (
        before.parameters.numbers("FORCE_PLATFORM", name) for name in ("CORNERS", "ORIGIN")
    )
    if (factor, plan.up) != (1.0, source.up) and len(corners) and len(corners) % 12 == 0:
        turned = turn_points(turn_points(corners.reshape(-1, 4, 3), to_z_up(source.up)), plan.turn)
        section.numbers("FORCE_PLATFORM", "CORNERS", turned * factor)
    if factor != 1.0 and len(origins) and len(origins) % 3 == 0:  # in the plate's own axes
        section.numbers("FORCE_PLATFORM", "ORIGIN", origins.reshape(-1, 3) * factor)


def _analog_group(section: Section, plan: Plan) -> None:
    names = plan.analog.names if plan.analog else ()
    section.integer("ANALOG", "USED", len(names))
    section.real("ANALOG", "RATE", plan.rate * plan.analog_ratio)
    section.real("ANALOG", "GEN_SCALE", 1.0)
    section.texts("ANALOG", "LABELS", names)
    section.texts("ANALOG", "DESCRIPTIONS", [""] * len(names))
    section.texts("ANALOG", "UNITS", plan.analog.units if plan.analog else ())
    section.numbers("ANALOG", "SCALE", np.ones(len(names)))
    section.numbers("ANALOG", "OFFSET", np.zeros(len(names), int))


def _subjects_group(section: Section, plan: Plan) -> None:
    subjects = _subjects(plan)
    if plan.original and plan.original.parameters.texts("SUBJECTS", "NAMES") == subjects:
        return
    section.drop("SUBJECTS")
    if subjects:
        section.integer("SUBJECTS", "USED", len(subjects))
        section.texts("SUBJECTS", "NAMES", subjects)
        prefixes = [f"{name}:" if plan.prefixed else "" for name in subjects]
        section.texts("SUBJECTS", "LABEL_PREFIXES", prefixes)
        section.integer("SUBJECTS", "USES_PREFIXES", int(plan.prefixed))


def _event_group(section: Section, plan: Plan) -> None:
    found = _marks(plan)
    start = (max(1, plan.first_frame) - 1) / plan.rate
    times = np.array([mark.time + start for _, mark in found])
    section.drop("EVENT")
    section.integer("EVENT", "USED", len(found))
    if found:
        section.texts("EVENT", "LABELS", [mark.label for _, mark in found])
        section.texts("EVENT", "CONTEXTS", [mark.context for _, mark in found])
        section.texts("EVENT", "SUBJECTS", [subject for subject, _ in found])
        section.numbers("EVENT", "TIMES", np.stack([times // 60, times % 60], axis=-1))


def _rotation_group(section: Section, plan: Plan, body_block: int) -> None:
    if "bodies" in plan.keeps:
        if plan.bodies:
            section.integer("ROTATION", "DATA_START", body_block)
        return
    section.drop("ROTATION")
    if not plan.bodies:
        return
    labels = [f"{label}_4X4" for label in _labels(plan, plan.bodies)]
    section.integer("ROTATION", "USED", len(labels))
    section.integer("ROTATION", "DATA_START", body_block)
    section.real("ROTATION", "RATE", plan.rate * plan.body_ratio)
    section.integer("ROTATION", "RATIO", plan.body_ratio)
    section.texts("ROTATION", "LABELS", labels)


def _subjects(plan: Plan) -> list[str]:
    named = [value.subject for value in (*plan.recordings, *plan.bodies) if value.subject]
    return list(dict.fromkeys(named))


def _labels(plan: Plan, values: Sequence[Recording] | Sequence[Bodies]) -> list[str]:
    return [
        f"{value.subject}:{name}" if plan.prefixed and value.subject else name
        for value in values
        for name in value.names
    ]


def _marks(plan: Plan) -> list[tuple[str, Mark]]:
    """Every mark once, with its subject unless all have it."""
    values = plan.recordings or plan.bodies
    shared = [mark for mark in values[0].marks if all(mark in value.marks for value in values)]
    own = [(v.subject, mark) for v in values for mark in v.marks if mark not in shared]
    return [("", mark) for mark in shared] + own


def _frames(plan: Plan) -> np.ndarray:
    """(n_frames, 4 · points + analog) as stored."""
    table = np.zeros((plan.n_frames, 4 * plan.n_points + plan.n_analog), "<f4")
    columns, first = _columns(plan), 0
    for recording in plan.recordings:
        positions = recording.positions
        if plan.up != "z":
            positions = turn_points(positions, plan.turn)
        part = np.empty((plan.n_frames, recording.n_markers, 4), "<f4")
        part[..., :3] = positions / _metres(recording, plan)[:, None]
        part[~recording.seen] = 0.0
        part[..., 3] = _words(recording, plan)
        own = 4 * columns[first : first + recording.n_markers, None] + np.arange(4)
        table[:, own] = part
        first += recording.n_markers
    if plan.analog:
        samples = plan.analog.values if plan.samples is None else plan.samples
        table[:, 4 * plan.n_points :] = np.reshape(samples, (plan.n_frames, plan.n_analog))
    return table


def _columns(plan: Plan) -> np.ndarray:
    """Where each point stands in the file: where it stood, or in order."""
    before = plan.original and plan.original.columns_of_points(plan.recordings)
    return np.arange(plan.n_points) if before is None else np.array(before, int)


def _metres(recording: Recording, plan: Plan) -> Array:
    """(n_points,) the file's unit; of another file's model outputs that one's: degrees stay so."""
    source = recording.source
    own = metres_per(source.unit) if source.format == "C3D" else plan.metres
    return np.array([own if name in recording.outputs else plan.metres for name in recording.names])


def _words(recording: Recording, plan: Plan) -> Array:
    """Each sample's fourth word: the file's own while it holds, for it names the cameras."""
    codes = np.where(recording.seen, _codes(recording, plan), -1.0)
    before = plan.original and plan.original.words_of(recording)
    return codes if before is None else words_that_hold(before, codes)


def _codes(recording: Recording, plan: Plan) -> Array | float:
    """Residuals in steps of the scale: 0 stays 0, what was measured is at least one.

    NaN on a point that was seen, measured with an error that nobody stated, is the smallest step.
    """
    if recording.residuals is None:
        return 0.0
    steps = recording.residuals / (float(np.float32(plan.scale)) * plan.metres)
    steps = np.where(np.isnan(steps), 1.0, steps)
    return np.where(steps > 0.0, np.clip(np.rint(steps), 1.0, RESIDUAL_COUNT), 0.0)


def _rotations(plan: Plan) -> np.ndarray:
    """(n_samples, bodies · 17) as stored: matrices column after column, and 0 or −1."""
    positions = np.concatenate([body.positions for body in plan.bodies], axis=1)
    rotations = np.concatenate([body.rotations for body in plan.bodies], axis=1)
    before = plan.original and plan.original.columns_of_bodies(plan.bodies)
    if before is not None:
        order = np.argsort(before)
        positions, rotations = positions[:, order], rotations[:, order]
    seen = np.isfinite(positions[..., 0])
    table = np.zeros((*seen.shape, POSE_COUNT), "<f4")
    matrices = table[..., :16].reshape(*seen.shape, 4, 4)
    turns = quat.to_matrix(turn_rotations(rotations, plan.turn))
    matrices[..., :3, :3] = turns.swapaxes(-1, -2)
    matrices[..., 3, :3] = turn_points(positions, plan.turn) / plan.metres
    matrices[..., 3, 3] = 1.0
    table[..., :16] = matrices.reshape(*seen.shape, 16)
    table[~seen] = 0.0
    table[~seen, 16] = -1.0
    return table.reshape(len(table), -1)
