"""What a file held before: its header and parameters, and which of them still tell the truth.

A recording that came from a C3D file brings that file's head along (``Source.head``). Writing
starts from it and rewrites only what has changed, so that force plates, lists of angles and
forces, and groups that only other programs know stay as they were.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.formats.c3d.conventions import find_rate
from osteon.formats.c3d.data import channel_names
from osteon.formats.c3d.encoding import BLOCK_BYTES, PROCESSORS, Processor
from osteon.formats.c3d.events import marks_of, read_marks
from osteon.formats.c3d.header import Header, parse_header
from osteon.formats.c3d.labels import body_names, make_unique, split_subjects
from osteon.formats.c3d.layout import COUNT_CAP, trial_frames
from osteon.formats.c3d.parameters import C3dParameters, parse_parameters
from osteon.typing import Array
from osteon.values import Analog, Bodies, Recording

TOLD = frozenset(
    ("POINT", "ANALOG", "TRIAL", "SUBJECTS", "EVENT", "EVENT_CONTEXT", "ROTATION")
    + ("FORCE_PLATFORM", "MANUFACTURER")
)
"""Groups that values hold, or that need no mention of their own."""
SECTION_BYTES = 255 * BLOCK_BYTES
"""Bytes of the longest parameter section, defined by C3D, where one byte counts its blocks."""


@dataclass(frozen=True)
class Original:
    """The head of the file that values came from."""

    head: bytes
    processor: Processor
    header: Header
    parameters: C3dParameters

    @property
    def n_channels(self) -> int:
        return self.parameters.count("ANALOG", "USED") or 0

    @property
    def n_bodies(self) -> int:
        return self.parameters.count("ROTATION", "USED") or 0

    def prefixes(self, subjects: Sequence[str]) -> bool:
        """Whether labels of the file begin with one of these subjects' names."""
        labels = self.parameters.texts("POINT", "LABELS")
        return any(label.startswith(f"{name}:") for name in subjects if name for label in labels)

    def columns_of_points(self, recordings: Sequence[Recording]) -> list[int] | None:
        """Each point's place in the file, where all are there and called as they were."""
        n_points = sum(recording.n_markers for recording in recordings)
        if n_points not in (self.header.n_points, self.parameters.count("POINT", "USED")):
            return None
        if not recordings:
            return []
        subjects = split_subjects(self.parameters, n_points, [])
        before = [(subject.name, subject.names, subject.outputs) for subject in subjects]
        if before != [(each.subject, each.names, each.outputs) for each in recordings]:
            return None
        return [column for subject in subjects for column in subject.columns]

    def words_of(self, recording: Recording) -> Array | None:
        """(n_frames, n_markers) what the file said of each sample beside its place; NaN of points
        that were not there; None where it said no more, or frames were cut."""
        words = recording.source.words
        if words is None or len(words) != recording.n_frames:
            return None
        subjects = split_subjects(self.parameters, words.shape[1], [])
        columns = {
            name: column
            for subject in subjects
            if subject.name == recording.subject
            for name, column in zip(subject.names, subject.columns, strict=True)
        }
        found = np.full((recording.n_frames, recording.n_markers), np.nan)
        for place, name in enumerate(recording.names):
            if name in columns:
                found[:, place] = words[:, columns[name]]
        return found

    def columns_of_bodies(self, bodies: Sequence[Bodies]) -> list[int] | None:
        """The same of the ROTATION group's bodies."""
        n_bodies = sum(each.n_bodies for each in bodies)
        if n_bodies != self.n_bodies:
            return None
        owners = body_names(self.parameters, n_bodies)
        before = [
            (subject, make_unique([name for _, name in listed], []))
            for subject, listed in owners.items()
        ]
        if before != [(each.subject, each.names) for each in bodies]:
            return None
        return [column for listed in owners.values() for column, _ in listed]

    def has_length(self, n_frames: int, rate: float) -> bool:
        """Whether all that tells the take's length and rate tells these."""
        counts = [self.parameters.count("POINT", name) for name in ("FRAMES", "LONG_FRAMES")]
        true = {None, n_frames, n_frames & COUNT_CAP, min(n_frames, COUNT_CAP)}
        known = trial_frames(self.parameters) in (0, n_frames)
        return known and set(counts) <= true and find_rate(self.header, self.parameters, []) == rate

    def has_channels(self, analog: Analog | None) -> bool:
        """Whether these are the analog channels the file had, so that numbers of them hold."""
        if analog is None:
            return self.n_channels == 0
        n = len(analog.names)
        return n == self.n_channels and (analog.names, analog.units) == channel_names(
            self.parameters, n
        )

    def has_marks(self, values: Sequence[Recording] | Sequence[Bodies]) -> bool:
        """Whether header and EVENT group tell the same marks."""
        rate = values[0].rate
        found = read_marks(self.header, self.parameters, rate, values[0].n_frames / rate)
        names = [value.subject for value in values]
        return all(marks_of(found, each.subject, names) == each.marks for each in values)

    def event_words(self) -> bytes:
        """The header's own list of events, Intel order: bytes 298 to 512."""
        words = self.processor.integers(self.head[298:304]).astype("<i2").tobytes()
        times = self.processor.floats(self.head[304:376]).astype("<f4").tobytes()
        return words + times + self.head[376:BLOCK_BYTES]


def original(values: Sequence[Recording | Bodies]) -> Original | None:
    """The head that all values share, if they came from one C3D file."""
    heads = {value.source.head for value in values if value.source.format == "C3D"}
    if len(heads) != 1 or not (head := heads.pop()) or len(head) < BLOCK_BYTES + 4:
        return None
    processor = PROCESSORS.get(head[BLOCK_BYTES + 3])
    if processor is None:
        return None
    header = parse_header(head[:BLOCK_BYTES], processor)
    return Original(
        head, processor, header, parse_parameters(memoryview(head), BLOCK_BYTES + 4, processor)
    )


def head_of(data: memoryview, start: int, parameters: C3dParameters) -> bytes:
    """Header and parameters of a file whose parameters begin at ``start``; empty if too long."""
    if parameters.end - start > SECTION_BYTES:
        return b""
    return bytes(data[:BLOCK_BYTES]) + bytes(data[start : parameters.end])


def beyond(parameters: C3dParameters) -> tuple[str, ...]:
    """What of a file no value holds, in words."""
    plates = parameters.count("FORCE_PLATFORM", "USED") or 0
    others = sorted(name for name, held in parameters.groups.items() if held and name not in TOLD)
    told = [f"{plates} force plate{'s' if plates > 1 else ''}"] if plates else []
    return (*told, *([f"the parameters of {', '.join(others[:8])}"] if others else []))
