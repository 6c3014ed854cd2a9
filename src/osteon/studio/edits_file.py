"""The file of edits on disk, where another studio may be at work on the same take.

Nobody writes over what he has not seen: a writer holds the system's lock, looks whether the file is
still the one he read or wrote last, and only then puts his own in its place. The lock lasts as long
as one writing and goes with its process, however that ends.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from osteon.edits import Edits, decode_edits, write_edits
from osteon.errors import FormatError, OsteonError

try:
    import fcntl
except ImportError:  # Windows: the look before writing is all there is
    fcntl = None

PATIENCE = 5.0
"""Seconds to wait for another studio that is just writing."""


class ChangedElsewhere(OsteonError):
    """Edits that another studio has written meanwhile."""


class EditsFile:
    """The edits of one take on disk, and what was last seen of them."""

    def __init__(self, path: Path, recording: Path) -> None:
        self.path, self.recording = path, recording
        self._seen: bytes | None = None

    def read(self) -> Edits | None:
        """What it says; None where there is no file."""
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
        """Whether somebody else has written it; a file that is gone holds nothing to lose."""
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
    file = _locked(lock, path)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no open file
            lock.unlink()
        file.close()


def _locked(lock: Path, path: Path) -> IO[bytes]:
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            file = lock.open("wb")
        except OSError as error:
            raise FormatError(path, f"cannot be written: {error.strerror or error}") from None
        if _lock(file) and _is_there(file, lock):
            return file
        file.close()
        if time.monotonic() > give_up:
            raise FormatError(path, "is being written by another studio; try again")
        time.sleep(0.01)


def _lock(file: IO[bytes]) -> bool:
    """False where somebody else holds it; a disk that knows no locks lets everybody in."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _is_there(file: IO[bytes], lock: Path) -> bool:
    """Whether the file is still the lock: who held it before has removed it when done."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), lock.stat())
    except OSError:
        return False
