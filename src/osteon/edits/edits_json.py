"""``take.edits.json``: what a person changed, on top of the untouched recording.

{ "format": "osteon.edits", "version": 1,
  "recording": { "file": "take.c3d", "sha256": "…", "subject": "" },
  "settings": { "template": "auto", … },
  "edits": [ { "edit": "cut", "markers": ["LTHI"], "first": 120, "last": 140 }, … ],
  "undone": [] }
"""

import hashlib
from pathlib import Path
from typing import Literal

import msgspec

from osteon.edits.model import Edit, Edits, RecordingId, Settings
from osteon.errors import FormatError
from osteon.formats import write_readable

SUFFIX = ".edits.json"


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: Literal["osteon.edits"]
    version: Literal[1]
    recording: RecordingId
    settings: Settings = Settings()
    edits: tuple[Edit, ...] = ()
    undone: tuple[Edit, ...] = ()


def edits_path(recording: Path) -> Path:
    """Where the edits of a recording are kept: beside it."""
    return recording.with_name(recording.stem + SUFFIX)


def read_edits(path: str | Path, recording: str | Path | None = None) -> Edits:
    """Read edits; refuses those of another recording than the one given."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror or error}") from None
    return decode_edits(data, path, recording)


def decode_edits(data: bytes, path: Path, recording: str | Path | None = None) -> Edits:
    """As :func:`read_edits`, of what was read from the file before."""
    try:
        said = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FormatError(path, f"not a file of edits: {error}") from None
    if recording is not None and said.recording.sha256 != digest(recording):
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


def digest(recording: str | Path) -> str:
    """SHA-256 of a file's bytes; of all files where a folder stands for one."""
    path, total = Path(recording), hashlib.sha256()
    try:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                with file.open("rb") as data:
                    while block := data.read(1 << 20):
                        total.update(block)
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror or error}") from None
    return total.hexdigest()
