"""C3D to values: put together from the parts beside this file."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from osteon.errors import FormatError
from osteon.formats.c3d.carried import beyond, head_of
from osteon.formats.c3d.conventions import find_rate, find_unit, find_up
from osteon.formats.c3d.data import Points, decode_analog, decode_frames, decode_points
from osteon.formats.c3d.encoding import BLOCK_BYTES, PROCESSORS, Processor
from osteon.formats.c3d.events import marks_of, read_marks
from osteon.formats.c3d.header import FILE_CODE, Header, parse_header
from osteon.formats.c3d.labels import C3dSubject, body_names, make_unique, split_subjects
from osteon.formats.c3d.layout import Layout, find_layout
from osteon.formats.c3d.parameters import C3dParameters, parse_parameters
from osteon.formats.c3d.plates import read_plates
from osteon.formats.c3d.poses import C3dPoses, bodies_from_axes, read_rotations
from osteon.formats.shared.units import METRES, to_z_up, turn_points, turn_rotations
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import (
    Analog,
    Bodies,
    ForcePlate,
    Mark,
    Recording,
    Source,
    Take,
    handed_over,
)


@dataclass(frozen=True)
class Contents:
    """What every subject of a file shares."""

    rate: float
    up: Array
    """Rotation to our world from the file's."""
    metres: float
    marks: list[tuple[str, Mark]]
    analog: Analog | None
    plates: tuple[ForcePlate, ...]
    source: Source


def sniff(head: bytes) -> bool:
    """The second byte is 80, and the first says at which block parameters begin; so, by chance, in
    a PNG."""
    named = len(head) > 2 and head[1] == FILE_CODE and head[:4] != b"\x89PNG"
    return named and head[0] >= 1 and (len(head) < 513 or head[0] > 1)


def read_c3d(path: Path) -> Take:
    """Markers of every subject; bodies where the file has a ROTATION group or axis points."""
    data = memoryview(path.read_bytes())
    if len(data) < 2 * BLOCK_BYTES:
        raise FormatError(
            path, f"a C3D file has at least {2 * BLOCK_BYTES} bytes, this has {len(data)}"
        )
    problems: list[str] = []
    # damaged numbers may be NaN or too large; what becomes of them is decided, not warned about
    with np.errstate(all="ignore"):
        processor, header, parameters = _head(path, data, problems)
        head = head_of(data, (data[0] - 1) * BLOCK_BYTES, parameters)
        layout = find_layout(path, len(data), header, parameters, problems)
        poses = read_rotations(path, data, parameters, processor, layout.n_frames)
        if not (layout.frame_bytes or poses):
            raise FormatError(path, "holds no points, no analog channels and no rotations")
        table, analog = decode_frames(data, layout, processor)
        points = decode_points(table, layout.scale, problems)
        return _take(path, head, header, parameters, layout, points, analog, poses, problems)


def _head(
    path: Path, data: memoryview, problems: list[str]
) -> tuple[Processor, Header, C3dParameters]:
    start = (data[0] - 1) * BLOCK_BYTES
    if start < BLOCK_BYTES or start + 4 > len(data):
        raise FormatError(
            path, f"parameters should begin at block {data[0]}, which is not there", "byte 0"
        )
    code = data[start + 3]
    if code not in PROCESSORS:
        raise FormatError(path, f"processor must be 84, 85 or 86, got {code}", f"byte {start + 3}")
    processor = PROCESSORS[code]
    header = parse_header(bytes(data[:BLOCK_BYTES]), processor)
    data_start = (header.data_block - 1) * BLOCK_BYTES
    end = data_start if start < data_start < len(data) else len(data)
    parameters = parse_parameters(data[:end], start + 4, processor)
    if parameters.broken:
        problems.append(f"{parameters.broken}; the rest was used")
    return processor, header, parameters


def _take(
    path: Path,
    head: bytes,
    header: Header,
    parameters: C3dParameters,
    layout: Layout,
    points: Points,
    analog: np.ndarray,
    poses: C3dPoses | None,
    problems: list[str],
) -> Take:
    rate = find_rate(header, parameters, problems)
    unit = find_unit(parameters, points, problems)
    up, up_known = find_up(parameters, points, METRES[unit], problems)
    subjects = split_subjects(parameters, layout.n_points, problems) if layout.frame_bytes else []
    ratio = header.analog_ratio
    channels = decode_analog(analog, parameters, rate, ratio, is_float=layout.is_float)
    frames = header.first_frame, layout.n_frames
    turn = quat.to_matrix(to_z_up(up))
    plates = read_plates(parameters, channels, frames, METRES[unit], turn, problems)
    source = Source(
        file=path.name,
        format="C3D",
        detail=f"{parameters.processor} {'float' if layout.is_float else 'integer'}",
        software=parameters.text("MANUFACTURER", "SOFTWARE"),
        unit=unit,
        up=up,
        up_known=up_known,
        first_frame=header.first_frame,
        problems=tuple(problems),
        head=head,
        beyond=beyond(parameters),
        words=points.words,
    )
    marks = read_marks(header, parameters, rate, layout.n_frames / rate)
    shared = Contents(rate, to_z_up(up), METRES[unit], marks, channels, plates, source)
    names = [subject.name for subject in subjects]
    recordings = tuple(_recording(points, subject, names, shared) for subject in subjects)
    bodies = _bodies(poses, parameters, shared) if poses else _axis_bodies(recordings)
    return Take(recordings, bodies)


def _recording(
    points: Points, subject: C3dSubject, subjects: list[str], shared: Contents
) -> Recording:
    whole = subject.columns == tuple(range(points.seen.shape[1]))
    pick = slice(None) if whole else list(subject.columns)
    factor = points.factor * shared.metres
    positions = np.multiply(points.raw[:, pick], factor, dtype=np.float64)
    seen = _known(points, subject)
    residuals = None if points.residuals is None else points.residuals[:, pick] * shared.metres
    if not seen.all():
        positions[~seen] = np.nan
        if residuals is not None:
            residuals[~seen] = np.nan
    if shared.source.up != "z":
        positions = turn_points(positions, shared.up)
    return Recording(
        handed_over(positions),
        subject.names,
        shared.rate,
        subject=subject.name,
        residuals=None if residuals is None else handed_over(residuals),
        outputs=subject.outputs,
        marks=marks_of(shared.marks, subject.name, subjects),
        analog=shared.analog,
        plates=shared.plates,
        source=shared.source,
    )


def _known(points: Points, subject: C3dSubject) -> np.ndarray:
    """(n_frames, n_points) which samples of a subject are there: an angle or a power may be 0."""
    columns = list(subject.columns)
    are_outputs = np.array([name in subject.outputs for name in subject.names], dtype=bool)
    return points.seen[:, columns] | (points.zeros[:, columns] & are_outputs)


def _bodies(poses: C3dPoses, parameters: C3dParameters, shared: Contents) -> tuple[Bodies, ...]:
    problems = list(shared.source.problems)
    owners = body_names(parameters, poses.positions.shape[1])
    unique = {
        subject: make_unique([name for _, name in listed], problems)
        for subject, listed in owners.items()
    }
    source = replace(shared.source, problems=tuple(problems))
    found = []
    for subject, listed in owners.items():
        columns = [column for column, _ in listed]
        bodies = Bodies(
            turn_points(poses.positions[:, columns] * shared.metres, shared.up),
            turn_rotations(poses.rotations[:, columns], shared.up),
            unique[subject],
            shared.rate * poses.ratio,
            subject=subject,
            marks=marks_of(shared.marks, subject, list(owners)),
            source=source,
        )
        found.append(bodies)
    return tuple(found)


def _axis_bodies(recordings: tuple[Recording, ...]) -> tuple[Bodies, ...]:
    return tuple(bodies for bodies in map(bodies_from_axes, recordings) if bodies is not None)
