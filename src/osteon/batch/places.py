"""What a user may ask of a batch, where it finds takes and keeps results, and what each finished
job leaves in record.json, with fingerprints that tell whether work is done already.

DIR/index.html, index.csv, index.parquet   all takes, worst first
DIR/takes/<path of the recording>/         what solve writes, and record.json
DIR/subjects/<subject>/                    skeleton.json, passport.json, record.json
DIR/.batch/                                samples of frames, the journal, unfinished folders
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

import osteon
from osteon.errors import BadValue, OsteonError
from osteon.formats import (
    bvh_conventions,
    content_hash,
    file_name,
    try_lock,
    unfinished_folder,
    write_readable,
)
from osteon.pipeline import SolveOptions

RECORD = "record.json"
R = TypeVar("R", bound=msgspec.Struct)
NUMBERED = re.compile(r"^(?P<subject>.*?)[ _.-]*\d+$")


@dataclass(frozen=True)
class BatchOptions:
    """How takes are grouped, calibrated, solved and written."""

    solving: SolveOptions = field(default_factory=SolveOptions)
    """How takes are solved; subjects are calibrated here, so none is given."""
    formats: tuple[str, ...] = ()
    unit: str | None = None
    up: str | None = None
    names: str | None = None
    """These four as in ``deliver``."""
    subjects: str | None = None
    """Regular expression on the path below the folder whose first group is the subject; by default
    the file says, else its folder, else its name up to the number of the take."""
    recalibrate: bool = False
    """Calibrate subjects anew where takes came since; by default new takes wear what is known."""
    retry: bool = False
    """Try takes again that failed before."""

    def __post_init__(self) -> None:
        if self.solving.skeleton is not None or self.solving.passport is not None:
            raise BadValue("a batch calibrates its subjects: solving takes no skeleton or passport")
        if self.subjects is None:
            return
        try:
            groups = re.compile(self.subjects).groups
        except re.error as error:
            raise BadValue(f"the subjects' pattern {self.subjects!r} is wrong: {error}") from None
        if groups < 1:
            raise BadValue(
                f"the subjects' pattern {self.subjects!r} has no group; put the part that names "
                "the subject in parentheses, as in '([0-9]+)_'"
            )

    def looking(self) -> str:
        """Fingerprint of all that the look at a file depends on."""
        return fingerprint(self.calibrating(), self.subjects or "")

    def calibrating(self) -> str:
        """Fingerprint of all that a subject's calibration depends on beside its takes."""
        asked = self.solving
        own = "" if asked.own_set is None else content_hash(Path(asked.own_set))
        return fingerprint(osteon.__version__, asked.template, own, asked.hips, asked.clean)

    def writing(self) -> str:
        """Fingerprint of all that a take's folder depends on beside recording and subject."""
        bvh = bvh_conventions(self.unit, self.up)
        return fingerprint(
            self.calibrating(), self.solving.smooth, list(self.formats), bvh, self.names
        )


def fingerprint(*parts: object) -> str:
    """Return the same for the same values, in any process and on any machine."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


@dataclass(frozen=True)
class BatchFolders:
    """The folders of one batch; small enough to be sent with every job."""

    source: Path
    output: Path

    @property
    def hidden(self) -> Path:
        return self.output / ".batch"

    @property
    def unfinished(self) -> Path:
        return self.hidden / "unfinished"

    @property
    def journal(self) -> Path:
        """Times and workers: what differs between runs that do the same."""
        return self.hidden / "journal.jsonl"

    def recording(self, take: str) -> Path:
        return self.source / take

    def survey(self, take: str) -> Path:
        return self.hidden / "surveys" / file_name(take)

    def take(self, take: str) -> Path:
        return self.output / "takes" / take

    def subject(self, name: str) -> Path:
        return self.output / "subjects" / file_name(name)


@contextmanager
def whole_folder(target: Path, unfinished: Path) -> Iterator[Path]:
    """Give a folder to write to, and rename it to ``target`` when all went well.

    An older ``target`` is moved away first. Where another worker has put the same there in the
    meantime that one stays, for both hold the same bytes.
    """
    with unfinished_folder(unfinished) as partial:
        yield partial
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            with unfinished_folder(unfinished) as old:
                target.replace(old / target.name)
        try:
            partial.rename(target)
        except OSError:
            if not (target / RECORD).exists():
                raise


def read_record(folder: Path, kind: type[R]) -> R | None:
    """Read what a finished folder says of itself; None where there is nothing readable."""
    try:
        return msgspec.json.decode((folder / RECORD).read_bytes(), type=kind)
    except (OSError, ValueError, msgspec.MsgspecError):  # ValueError: bytes that are no text
        return None


def sizes_in(folder: Path) -> dict[str, int]:
    """Bytes of every file below a folder but its record, by its path there.

    By them a later batch sees that a file was cut or is gone.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
    sizes.pop(RECORD, None)
    return sizes


def write_record(folder: Path, record: msgspec.Struct) -> None:
    write_readable(record, folder / RECORD)


@contextmanager
def only_one(places: BatchFolders) -> Iterator[None]:
    """Refuse a second batch on the same output; without locks two waste time but spoil nothing."""
    places.hidden.mkdir(parents=True, exist_ok=True)
    with (places.hidden / "lock").open("w") as file:
        if not try_lock(file):
            raise OsteonError(f"another batch is at work in {places.output}; wait for its end")
        yield


def find_files(folder: Path, output: Path) -> Iterator[str]:
    """Find paths below ``folder``, sorted, but hidden ones and all that the batch wrote."""
    if not folder.is_dir():
        raise BadValue(f"{folder} is no folder; give the one that holds the takes")
    if folder.resolve() == output.resolve():
        raise BadValue(
            f"the results cannot go to {output}: it holds the takes; give another folder"
        )
    for path in _walk(folder, {output.resolve()}):
        yield path.relative_to(folder).as_posix()


def _walk(folder: Path, done: set[Path]) -> Iterator[Path]:
    """Yield files below a folder; one in ``done`` is not entered, so links cannot lead in
    circles."""
    done.add(folder.resolve())
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir() and path.suffix != ".osteon":  # such a folder is one take
            if path.resolve() not in done:
                yield from _walk(path, done)
        elif path.exists():
            yield path


def subject_of(take: str, in_file: str, pattern: str | None) -> str:
    """Return whose take it is.

    By the pattern where one is given and fits; else by what the file says; else by the folder;
    else by the name up to the take's number: ``02_01.c3d`` is of ``02``.
    """
    if pattern is not None and (match := re.search(pattern, take)) and match[1]:
        # several people in one file stay apart whatever the path says
        return match[1]
    if in_file:
        return in_file
    path = Path(take)
    if len(path.parts) > 1:
        return "/".join(path.parts[:-1])
    match = NUMBERED.match(path.stem)
    return match["subject"] if match and match["subject"] else path.stem


def subjects_of(take: str, in_file: Iterable[str], pattern: str | None) -> tuple[str, ...]:
    """Return a name for each person of a file; several people keep their own names behind the
    path's."""
    people = list(in_file)
    names = [subject_of(take, person, pattern) for person in people]
    if len(set(names)) < len(names):
        names = [
            f"{name} {person or i}"
            for i, (name, person) in enumerate(zip(names, people, strict=True), 1)
        ]
    return tuple(names)


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """One look at a file: whose it is, and whether it is a take at all."""

    take: str
    """Path below the batch's folder, with slashes."""
    size: int
    modified_ns: int
    """With the size: whether the file is still the one that was looked at."""
    looking: str = ""
    """Fingerprint of the options it was looked at with."""
    sha256: str = ""
    kind: str = ""
    """``markers`` or ``bodies``; empty where there is nothing to solve."""
    subjects: tuple[str, ...] = ()
    """As the batch names them, in the order of the file."""
    frames: int = 0
    rate: float = 0.0
    software: str = ""
    skipped: str = ""
    """Why it is no take, in one sentence."""
    problem: str = ""
    """Why it cannot be read, in one sentence."""


class SubjectRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A calibrated subject."""

    subject: str
    options: str
    """Fingerprint."""
    version: str
    takes: tuple[str, ...]
    """Those that it was calibrated on."""
    frames: int = 0
    """How many frames the fit looked at."""
    candidates: int = 0
    """How many it chose them from."""
    rms_mm: float = 0.0
    doubts: tuple[str, ...] = ()
    skeleton: str = ""
    """SHA-256 of skeleton.json: the takes solved with it name it."""
    problem: str = ""


class TakeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A solved take: what from, what with, how good."""

    take: str
    sha256: str
    options: str
    version: str
    subjects: tuple[str, ...]
    skeletons: tuple[str, ...]
    """SHA-256 of each subject's skeleton.json."""
    people: tuple["Quality", ...] = ()
    """One entry per subject."""
    files: tuple[tuple[str, int], ...] = ()
    """Every file written, by its path in the take's folder, and its bytes."""
    problem: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """Work with the same key need not be done again."""
        return self.sha256, self.options, self.version, self.subjects, self.skeletons


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    """How well one subject of a take is explained."""

    subject: str
    folder: str = ""
    """Below the take's folder; empty where the take has one subject."""
    frames: int = 0
    rate: float = 0.0
    markers: int = 0
    """Or bodies."""
    missing: float = 0.0
    """Share of all samples."""
    rms_mm: float = 0.0
    max_mm: float = 0.0
    worst: str = ""
    held: int = 0
    report: str = ""
    """Its page, below its folder."""
    warnings: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """What differs from the subject's passport, one sentence each."""
