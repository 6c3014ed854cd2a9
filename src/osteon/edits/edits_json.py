"""All that a person changed about a take, and the file ``take.edits.json`` that keeps it.

{ "format": "osteon.edits", "version": 1,
  "recording": { "file": "take.c3d", "sha256": "…", "subject": "" },
  "settings": { "template": "auto", … },
  "edits": [ { "edit": "cut", "markers": ["LTHI"], "first": 120, "last": 140 }, … ],
  "undone": [] }
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import msgspec

from osteon.edits.findings import KeepFinding
from osteon.edits.label_edits import SetLabel
from osteon.edits.model import EditStage
from osteon.edits.motion_edits import Ease, MotionEdit, SetPlant, SetPose
from osteon.edits.recording_edits import Cut, Fill, Filter, RecordingEdit, SwapLabels
from osteon.edits.rig_edits import (
    Assign,
    LimitEdit,
    Place,
    RigEdit,
    SetKind,
    SetLimits,
    SetParent,
    SetRoot,
)
from osteon.errors import FormatError
from osteon.formats import content_hash, write_readable

SUFFIX = ".edits.json"

Edit = (
    Cut
    | Fill
    | Filter
    | SwapLabels
    | KeepFinding
    | SetLabel
    | Assign
    | Place
    | SetParent
    | SetRoot
    | SetKind
    | SetLimits
    | SetPlant
    | SetPose
    | Ease
)
"""One change."""


class EditsByStage(NamedTuple):
    """Edits in their order, sorted by what they change."""

    recording: tuple[RecordingEdit, ...]
    kept: tuple[KeepFinding, ...]
    labels: tuple[SetLabel, ...]
    rig: tuple[RigEdit, ...]
    character: tuple[Place, ...]
    limits: tuple[LimitEdit, ...]
    motion: tuple[MotionEdit, ...]


def by_stage(edits: Iterable[Edit]) -> EditsByStage:
    """Sort edits by the stage that they change."""
    found: dict[EditStage, list[Any]] = {stage: [] for stage in get_args(EditStage)}
    for edit in edits:
        found[edit.stage].append(edit)
    return EditsByStage(**{stage: tuple(chosen) for stage, chosen in found.items()})


def placed_on(edits: Iterable[Edit], character: str) -> dict[str, Place]:
    """Return by marker what was glued by hand onto a character, given by its file's name."""
    return {edit.marker: edit for edit in by_stage(edits).character if edit.character == character}


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
    label: bool = False
    """Label all tracks anew before anything else; without it, only where labels are missing."""


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


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: Literal["osteon.edits"]
    version: Literal[1]
    recording: RecordingId
    settings: Settings = Settings()
    edits: tuple[Edit, ...] = ()
    undone: tuple[Edit, ...] = ()


def edits_path(recording: Path) -> Path:
    """Return where the edits of a recording are kept: beside it."""
    return recording.with_name(recording.stem + SUFFIX)


def read_edits(path: str | Path, recording: str | Path | None = None) -> Edits:
    """Read edits; refuse those of another recording than the one given."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror or error}") from None
    return decode_edits(data, path, recording)


def decode_edits(data: bytes, path: Path, recording: str | Path | None = None) -> Edits:
    """Read edits, as :func:`read_edits`, from what was in the file."""
    try:
        said = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FormatError(path, f"not a file of edits: {error}") from None
    if recording is not None and said.recording.sha256 != content_hash(Path(recording)):
        raise FormatError(
            path,
            f"these edits were made on another recording ({said.recording.file}) than "
            f"{Path(recording).name} is now; give that one, or move the edits away",
        )
    return Edits(said.recording, said.edits, said.undone, said.settings)


def write_edits(edits: Edits, path: str | Path) -> None:
    """Write edits; the file appears whole or not at all."""
    said = _File("osteon.edits", 1, edits.recording, edits.settings, edits.edits, edits.undone)
    try:
        write_readable(said, Path(path))
    except OSError as error:
        raise FormatError(path, f"cannot be written: {error.strerror or error}") from None
