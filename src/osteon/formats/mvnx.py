"""MVNX, Xsens' XML: poses of body segments in a z-up world, metres, quaternions w, x, y, z.

    <mvnx><subject label="…" frameRate="60"><segments><segment label="Pelvis"/>…</segments>
      <frames><frame type="normal"><orientation>…</orientation><position>…</position></frame>…

Orientations are to the world from the segment. Frames of the types ``identity``, ``tpose``,
``npose`` and their kin stand before the recording and are passed over. The file is read as a
stream; a document type declaration, and with it every entity, is refused.
"""

from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

import numpy as np

from osteon.errors import FormatError
from osteon.formats.registry import Format
from osteon.formats.shared.text_table import is_sane, number_or_nan
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Bodies, Source, Take

NUMBER_COUNTS = {"orientation": 4, "position": 3}
"""Count of numbers per segment of the parts of a frame that are read, defined by MVNX."""
MOST_DEPTH = 64
"""Count of elements inside each other; chosen: far more than MVNX nests, and harmless."""


@dataclass
class MvnxSubject:
    """One performer as the file gives it."""

    label: str
    rate: str
    line: int
    segments: list[str] = field(default_factory=list)
    tracks: dict[str, list[Array]] = field(
        default_factory=lambda: {key: [] for key in NUMBER_COUNTS}
    )
    n_frames: int = 0
    n_passed: int = 0
    """Frames of calibration poses."""


def sniff(head: bytes) -> bool:
    return b"<mvnx" in head.replace(b"\x00", b"")


def read_mvnx(path: Path) -> Take:
    reader = MvnxReader(path)
    try:
        with path.open("rb") as file:
            reader.parser.ParseFile(file)
    except expat.ExpatError as error:
        problem = f"not well-formed XML: {expat.ErrorString(error.code)}"
        raise FormatError(path, problem, f"line {error.lineno}") from None
    except (LookupError, ValueError) as error:
        raise FormatError(path, f"its text encoding is not read: {error}") from None
    if not reader.subjects:
        raise FormatError(path, "there is no subject in the file")
    labels = [subject.label for subject in reader.subjects]
    several = len(labels) > 1
    return Take(
        bodies=tuple(
            _bodies(path, subject, reader.software, f"{subject.label or place}" if several else "")
            for place, subject in enumerate(reader.subjects, 1)
        )
    )


class MvnxReader:
    """Keeps the poses and lets everything else of the stream go by."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.subjects: list[MvnxSubject] = []
        self.software = ""
        self.open: list[str] = []
        self.text: list[str] | None = None
        self.frame_line = 0
        self.in_frame: dict[str, Array] | None = None
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters

    def error(self, problem: str, line: int | None = None) -> FormatError:
        at = self.parser.CurrentLineNumber if line is None else line
        return FormatError(self.path, problem, f"line {at}")

    def doctype(self, *_: object) -> None:
        raise self.error("holds a document type declaration, which no MVNX file needs; refused")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        self.open.append(name)
        if len(self.open) > MOST_DEPTH:
            raise self.error(f"elements are nested more than {MOST_DEPTH} deep")
        if len(self.open) == 1 and name != "mvnx":
            raise self.error(f"expected <mvnx>, got <{name[:24]}>")
        if name == "mvn":
            self.software = " ".join(["MVN", attributes.get("version", "")]).strip()
        elif name == "subject":
            rate = attributes.get("frameRate", "")
            line = self.parser.CurrentLineNumber
            self.subjects.append(MvnxSubject(attributes.get("label", ""), rate, line))
        elif name == "segment" and self.open[-2:-1] == ["segments"] and self.subjects:
            self.subjects[-1].segments.append(attributes.get("label", ""))
        elif name == "frame" and self.subjects:
            self.start_frame(attributes.get("type", "normal"))
        elif name in NUMBER_COUNTS and self.in_frame is not None:
            self.text = []

    def start_frame(self, kind: str) -> None:
        if kind == "normal":
            self.in_frame, self.frame_line = {}, self.parser.CurrentLineNumber
        else:
            self.subjects[-1].n_passed += 1

    def characters(self, text: str) -> None:
        if self.text is not None:
            self.text.append(text)

    def end(self, tag: str) -> None:
        name = self.open.pop()
        if name in NUMBER_COUNTS and self.text is not None and self.in_frame is not None:
            self.in_frame[name] = self.numbers(name, "".join(self.text))
            self.text = None
        elif name == "frame" and self.in_frame is not None:
            self.keep(self.subjects[-1], self.in_frame)
            self.in_frame = None

    def numbers(self, name: str, text: str) -> Array:
        try:
            values = np.array(text.split(), dtype=float)
        except ValueError:
            raise self.error(f"<{name}> holds something that is no number") from None
        wanted = NUMBER_COUNTS[name] * len(self.subjects[-1].segments)
        if len(values) != wanted:
            raise self.error(
                f"<{name}> has {len(values)} numbers, expected {wanted} for "
                f"{len(self.subjects[-1].segments)} segments"
            )
        # NaN stays: MVN writes it for a segment it lost
        if not is_sane(np.nan_to_num(values, posinf=np.inf, neginf=np.inf)):
            raise self.error(f"<{name}> holds a number beyond all measure")
        return values

    def keep(self, subject: MvnxSubject, frame: dict[str, Array]) -> None:
        subject.n_frames += 1
        for name, track in subject.tracks.items():
            if name in frame:
                track.append(frame[name])
            if name in frame and len(track) != subject.n_frames:
                raise self.error(f"earlier frames had no <{name}>, this one has", self.frame_line)
            if name not in frame and track:
                raise self.error(f"this frame has no <{name}>", self.frame_line)


def _bodies(path: Path, subject: MvnxSubject, software: str, name: str) -> Bodies:
    place = f"line {subject.line}"
    if not subject.n_frames:
        raise FormatError(path, f"subject {subject.label!r} has no frame of type 'normal'", place)
    for track, meaning in (("position", "positions"), ("orientation", "orientations")):
        if not subject.tracks[track]:
            raise FormatError(
                path, f"no {meaning} of segments; export the file from MVN with {track}", place
            )
    if len(set(subject.segments)) != len(subject.segments) or "" in subject.segments:
        raise FormatError(path, "segments must have labels, each its own", place)
    shape = (subject.n_frames, len(subject.segments), -1)
    passed = f"{subject.n_passed} calibration frames passed over"
    return Bodies(
        np.array(subject.tracks["position"]).reshape(shape),
        quat.unroll(np.array(subject.tracks["orientation"]).reshape(shape)),
        tuple(subject.segments),
        _rate(path, subject),
        subject=name,
        source=Source(
            path.name,
            "MVNX",
            software=software,
            up_known=True,
            problems=(passed,) if subject.n_passed else (),
        ),
    )


def _rate(path: Path, subject: MvnxSubject) -> float:
    rate = number_or_nan(subject.rate)
    if not (np.isfinite(rate) and rate > 0.0):
        raise FormatError(
            path, f"frameRate must be above zero, got {subject.rate!r}", f"line {subject.line}"
        )
    return rate


MVNX = Format(
    name="MVNX",
    suffixes=(".mvnx",),
    sniff=sniff,
    read=read_mvnx,
    holds=frozenset({"bodies"}),
)
