"""One list of formats: how files are recognised, read and written.

A format is one file in this folder that ends with a ``Format``. Readers return a ``Take`` in the
library's own units (metres, z up); writers receive one, and restore a file's conventions on the
way out. Units and axes are converted here and nowhere else.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ossature.errors import FormatError, UnknownFormat, WrongContent
from ossature.values import Bodies, Motion, Recording, Skeleton, Take

HEAD = 4096
"""How many of a file's first bytes ``sniff`` is shown."""


@dataclass(frozen=True)
class WriteOptions:
    """A file's conventions, where the user asks for others than the source's or the format's."""

    unit: str | None = None
    """Unit of length: ``m``, ``cm``, ``mm``, ``in``."""
    up: str | None = None
    """Axis that points up: ``y`` or ``z``."""


@dataclass(frozen=True)
class Format:
    """A file format and what ossature can do with it."""

    name: str
    suffixes: tuple[str, ...]
    """Endings, lower case with the dot; the first is the usual one."""
    sniff: Callable[[bytes], bool]
    """Whether a file that starts with these bytes is of this format."""
    read: Callable[[Path], Take] | None = None
    write: Callable[[Path, Take, WriteOptions], None] | None = None
    holds: frozenset[str] = frozenset()
    """What it can store: ``markers``, ``bodies``, ``motion``, ``skeleton``."""


def find_format(path: Path, formats: tuple[Format, ...]) -> Format:
    """Recognise a file by its first bytes."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise FormatError(path, f"cannot be opened: {error.strerror or error}") from error
    if not head:
        raise UnknownFormat(path, "the file is empty")
    for form in formats:
        if form.sniff(head):
            return form
    raise UnknownFormat(
        path,
        f"not a format ossature reads (it starts with {head[:16]!r}); readable: "
        + ", ".join(f"{form.name} ({form.suffixes[0]})" for form in formats if form.read),
    )


def format_for_writing(path: Path, formats: tuple[Format, ...]) -> Format:
    """The format that a file name's ending asks for."""
    writers = [form for form in formats if form.write is not None]
    for form in writers:
        if path.suffix.lower() in form.suffixes:
            return form
    endings = ", ".join(form.suffixes[0] for form in writers)
    raise UnknownFormat(
        path, f"no format is written with the ending {path.suffix!r}; known: {endings}"
    )


def as_take(value: Take | Recording | Bodies | Motion | Skeleton) -> Take:
    """Any value as a take of its own."""
    if isinstance(value, Recording):
        return Take(recordings=(value,))
    if isinstance(value, Bodies):
        return Take(bodies=(value,))
    if isinstance(value, Motion):
        return Take(motions=(value,))
    if isinstance(value, Skeleton):
        return Take(skeletons=(value,))
    return value


def check_holds(form: Format, take: Take, path: Path) -> None:
    """Refuse to write what the format cannot store, rather than lose it without a word."""
    if form.holds & set(take.kinds):
        return
    has = " and ".join(take.kinds) or "nothing"
    raise WrongContent(
        path, f"{form.name} stores {' or '.join(sorted(form.holds))}, but there is {has} to write"
    )


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary neighbour to write to, moved into place when all went well.

    So a file appears whole or not at all, also when the program is killed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        partial.chmod(0o644)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
