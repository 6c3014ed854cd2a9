"""Where a batch keeps things, and how a folder appears whole or not at all.

DIR/index.html, index.csv, index.parquet   all takes, worst first
DIR/takes/<path of the recording>/         what solve writes, and record.json
DIR/subjects/<subject>/                    skeleton.json, passport.json, record.json
DIR/.batch/                                samples of frames, the journal, unfinished folders
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from osteon.errors import OsteonError
from osteon.formats import file_name, unfinished_folder, write_readable

RECORD = "record.json"
R = TypeVar("R", bound=msgspec.Struct)


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
    """A folder to write to, renamed to ``target`` when all went well.

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
    """What a finished folder says of itself; None where there is none, or an unreadable one."""
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
    """Refuse a second batch on the same output; the lock goes with the process, however it ends."""
    places.hidden.mkdir(parents=True, exist_ok=True)
    with (places.hidden / "lock").open("w") as file:
        if not _locked(file.fileno()):
            raise OsteonError(f"another batch is at work in {places.output}; wait for its end")
        yield


def _locked(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows: two batches waste time there, but spoil nothing
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
