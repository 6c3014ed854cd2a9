"""The folder that a studio works in, and the files of edits in it, which others may write too."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO

from osteon.edits import SUFFIX, Edits, decode_edits, write_edits
from osteon.errors import BadValue, FormatError, OsteonError
from osteon.formats import FORMATS, held_by, try_lock

MOST_FILES = 2000
"""Count of files looked at for the lists. Chosen: an archive opened by mistake keeps nobody
waiting."""
TAKES = frozenset({"markers", "motion", "compact", "bodies"})
CHARACTERS = frozenset({"skeleton", "motion"})
DEEPEST_FOLDER = 3
"""Count of folders below the opened one that are looked into. Chosen as above."""
LONGEST_NAME = 200
"""Bytes of a dropped file's name. Derived: disks hold 255, and names of edits and exports are
longer."""
LOCK_SECONDS = 5.0
"""Seconds to wait for another studio that is just writing. Chosen: the lock is held for one small
file only."""


class OutOfBounds(OsteonError):
    """A path that leads out of the opened folder."""


class Folder:
    """A folder and the files in it that could be opened; nothing outside it is read or written."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    def inside(self, name: str) -> Path:
        """Return the file of that name; refuse what leads out of the folder, links too."""
        if not name or "\0" in name:
            raise BadValue("a file name is needed")
        try:
            path = (self.path / name).resolve()
            path.exists()  # a name that the disk cannot hold is found here
        except (OSError, RuntimeError):  # RuntimeError: links that lead round in a circle
            raise BadValue(f"{name[:60]!r} is no name for a file") from None
        if not path.is_relative_to(self.path):
            raise OutOfBounds(f"{name!r} is outside the opened folder {self.path.name!r}")
        return path

    def existing(self, name: str) -> Path:
        """Return the file of that name, which must be there, as :meth:`inside`."""
        path = self.inside(name)
        if not path.exists():
            raise BadValue(f"there is no file {name!r} in the folder")
        return path

    def name_of(self, path: Path) -> str:
        return path.resolve().relative_to(self.path).as_posix()

    def files(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return names of takes that can be opened, and of characters that can be moved."""
        held = {name: self._held(name) for name in islice(self._names(), MOST_FILES)}
        takes = tuple(name for name, kinds in held.items() if kinds & TAKES)
        return takes, tuple(name for name, kinds in held.items() if kinds & CHARACTERS)

    def _held(self, name: str) -> frozenset[str]:
        try:
            return held_by(self.inside(name))
        except OsteonError:  # a link that leads out
            return frozenset()

    def _names(self) -> Iterator[str]:
        """Yield files whose ending a reader knows, the folder's own first."""
        endings = {suffix for form in FORMATS if form.read is not None for suffix in form.suffixes}
        for here, folders, files in os.walk(self.path):
            depth = len(Path(here).relative_to(self.path).parts)
            folders[:] = sorted(
                f for f in folders if depth < DEEPEST_FOLDER and not f.startswith(".")
            )
            for file in sorted(files):
                if Path(file).suffix.lower() in endings and not file.endswith(SUFFIX):
                    yield (Path(here) / file).relative_to(self.path).as_posix()

    def place_for(self, name: str) -> Path:
        """Return where a dropped file goes: under its own name, numbered where that is taken."""
        plain = Path(name.replace("\\", "/")).name
        if not plain or plain.startswith(".") or "\0" in plain:
            raise BadValue(f"{name[:60]!r} is no name for a file")
        if len(os.fsencode(plain)) > LONGEST_NAME:
            raise BadValue(
                f"{plain[:40]!r}… is too long a name: at most {LONGEST_NAME} bytes; rename it first"
            )
        place, number = self.inside(plain), 1
        while place.exists():
            number += 1
            place = self.inside(f"{Path(plain).stem}-{number}{Path(plain).suffix}")
        return place


class ChangedElsewhere(OsteonError):
    """Edits that another studio has written meanwhile."""


class EditsFile:
    """The edits of one take on disk, and what was last seen of them.

    Nobody writes over what he has not seen: a writer holds the system's lock, looks whether the
    file is still the one he read or wrote last, and only then puts his own in its place. The lock
    lasts as long as one writing and goes with its process, however that ends.
    """

    def __init__(self, path: Path, recording: Path) -> None:
        self.path, self.recording = path, recording
        self._seen: bytes | None = None

    def read(self) -> Edits | None:
        """Read the edits; None where there is no file."""
        seen = self._bytes()
        said = None if seen is None else decode_edits(seen, self.path, self.recording)
        self._seen = seen
        return said

    def write(self, edits: Edits) -> None:
        """Write all edits, unless another studio has written some that were not seen here."""
        with _alone(self.path):
            if self.changed():
                raise ChangedElsewhere(
                    f"another studio has changed the edits of {self.recording.name} meanwhile; "
                    "look again and repeat this if it still makes sense"
                )
            write_edits(edits, self.path)
            self._seen = self._bytes()

    def changed(self) -> bool:
        """Return whether somebody else has written it; a file that is gone holds nothing to
        lose."""
        return (now := self._bytes()) is not None and now != self._seen

    def _bytes(self) -> bytes | None:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise FormatError(self.path, f"cannot be read: {error.strerror or error}") from None


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """No other studio writes to a file meanwhile."""
    lock = path.with_name(f".{path.name}.lock")
    file = _take_lock(lock, path)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no open file
            lock.unlink()
        file.close()


def _take_lock(lock: Path, path: Path) -> IO[bytes]:
    give_up = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            file = lock.open("wb")
        except OSError as error:
            raise FormatError(path, f"cannot be written: {error.strerror or error}") from None
        if try_lock(file) and _is_there(file, lock):
            return file
        file.close()
        if time.monotonic() > give_up:
            raise FormatError(path, "is being written by another studio; try again")
        time.sleep(0.01)


def _is_there(file: IO[bytes], lock: Path) -> bool:
    """Return whether the file is still the lock: who held it before has removed it when done."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), lock.stat())
    except OSError:
        return False
