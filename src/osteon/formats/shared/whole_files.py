"""Files that appear whole or not at all, and names of people and takes as names of files."""

import hashlib
import os
import re
import secrets
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from urllib.parse import quote

PLAIN = " ()+,=@[]"
"""Kept as they are, besides letters, digits and ``_.-~``; all else becomes ``%`` and its bytes."""
NAME_BYTES = 160
"""Bytes of a name; chosen: file systems take 255, and others may put something before and
behind."""
UNFINISHED = re.compile(r"\..*\.[0-9a-f]{12}\.osteon", re.DOTALL)
"""Names of files that are being written."""
PARTIAL_BYTES = 200
"""Bytes of a file's name in the name of its unfinished neighbour; chosen: file systems take 255 in
all."""
STALE_SECONDS = 600.0
"""Seconds after which a file that nobody writes to was left by a program that was killed; chosen:
no file takes minutes between two writes."""


def file_name(text: str) -> str:
    """Return any text as the name of one file in the folder at hand, two texts never the same
    one."""
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
    remove_stale(path.parent)
    start = os.fsencode(path.name)[:PARTIAL_BYTES].decode(errors="ignore")
    partial = path.with_name(f".{start}.{secrets.token_hex(6)}.osteon")
    # made here, so that it has the rights that the user's umask leaves a new file
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@cache  # once a run
def remove_stale(folder: Path) -> None:
    """Remove what a program that was killed has left half written in a folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if UNFINISHED.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                _remove_if_stale(entry)


def _remove_if_stale(entry: os.DirEntry[str]) -> None:
    with suppress(OSError):  # another run may be just as tidy
        if time.time() - entry.stat(follow_symlinks=False).st_mtime > STALE_SECONDS:
            Path(entry.path).unlink()
