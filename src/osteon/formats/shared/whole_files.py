"""Files that appear whole or not at all, and names of people and takes as names of files."""

import hashlib
import os
import re
import secrets
import shutil
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO
from urllib.parse import quote

from osteon.errors import FormatError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

PLAIN = " ()+,=@[]"
"""Kept as they are, besides letters, digits and ``_.-~``; all else becomes ``%`` and its bytes."""
NAME_BYTES = 160
"""Bytes of a name; chosen: file systems take 255, and others may put something around it."""
UNFINISHED = re.compile(r"\..*\.[0-9a-f]{12}\.unfinished", re.DOTALL)
"""Names of files and folders that are being written."""
PARTIAL_BYTES = 200
"""Bytes of a name that its unfinished neighbour keeps; chosen: file systems take 255 in all."""
STALE_SECONDS = 3600.0
"""Seconds after which what nobody writes to was left by a program that was killed; chosen: a living
one writes the files of a result one after the other, each in minutes at most."""


def file_name(text: str) -> str:
    """Return any text as the name of a file in the folder at hand, no two texts the same one."""
    # file systems take letters composed in other ways for the same: only one way is kept
    letters = unicodedata.is_normalized("NFC", text)
    parts = [c if letters and c.isalnum() else quote(c, safe=PLAIN) for c in text] or ["%"]
    parts[0] = "%2E" if parts[0] == "." else parts[0]
    name = "".join(parts)
    return name if len(name.encode()) <= NAME_BYTES else _shorten(parts, text)


def _shorten(parts: list[str], text: str) -> str:
    """Return the beginning, and what tells the whole from all others with the same beginning."""
    tail = "%~" + hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:32]
    while len("".join(parts).encode()) > NAME_BYTES - len(tail):
        parts = parts[:-1]
    return "".join(parts) + tail


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary neighbour to write to, moved into place when all went well.

    So a file appears whole or not at all, also when the program is killed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_stale_once(path.parent)
    partial = _unfinished(path)
    # made here, so that it has the rights that the user's umask leaves a new file
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def unfinished_folder(within: Path) -> Iterator[Path]:
    """Give a folder to write to, below another one; whatever is in it at the end goes with it."""
    within.mkdir(parents=True, exist_ok=True)
    partial = _unfinished(within / "results")
    partial.mkdir()
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _unfinished(path: Path) -> Path:
    """Name a hidden neighbour that is no file's or folder's name but ours."""
    start = os.fsencode(path.name)[:PARTIAL_BYTES].decode(errors="ignore")
    return path.with_name(f".{start}.{secrets.token_hex(6)}.unfinished")


def remove_unfinished(folder: Path, age: float = STALE_SECONDS) -> None:
    """Remove what killed programs left half written in a folder, untouched for ``age`` seconds (0
    where nobody else can be at work there)."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if UNFINISHED.fullmatch(entry.name) and not entry.is_symlink():
                _remove_older(Path(entry.path), age)


def _remove_older(left: Path, age: float) -> None:
    with suppress(OSError):  # another run may be just as tidy
        last = max(each.lstat().st_mtime for each in (left, *left.rglob("*")))
        if time.time() - last < age:
            return
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink()


def try_lock(file: IO) -> bool:
    """Take the system's lock on an open file; False where somebody else holds it.

    It goes with the process, however that ends. Where system or disk know none, everybody is let
    in.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def content_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes; of all files where a folder stands for one."""
    inside = [file for file in sorted(path.rglob("*")) if file.is_file()]
    total = hashlib.sha256()
    try:
        for file in inside if path.is_dir() else [path]:
            with file.open("rb") as data:
                hashlib.file_digest(data, lambda: total)
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror or error}") from None
    return total.hexdigest()


_remove_stale_once = cache(remove_unfinished)
"""Of a folder that many files go to: once a run."""
