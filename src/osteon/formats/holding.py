"""What a file holds, without reading it whole: for lists of files."""

import struct
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from osteon.errors import OsteonError
from osteon.formats.catalogue import FORMATS, read
from osteon.formats.glb import GLB
from osteon.formats.glb.schema import MAGIC
from osteon.formats.own.store import STORE
from osteon.formats.registry import find_format

SMALL = 1 << 20
"""Bytes up to which a store is read to see what it holds; a larger one holds more than bones."""


def held_by(path: Path) -> frozenset[str]:
    """Kinds as ``Take.kinds`` has them; nothing where the file is of no format that is read.

    Where only the whole file tells, all that its format can hold.
    """
    try:
        form = find_format(path, FORMATS)
        if form.read is None:
            return frozenset()
        return frozenset(PEEKS[form.name](path)) if form.name in PEEKS else form.holds
    except (OsteonError, OSError):
        return frozenset()


class _Moving(msgspec.Struct):
    animations: tuple[msgspec.Raw, ...] = ()


def _in_glb(path: Path) -> frozenset[str]:
    """A GLB begins with its document; the arrays behind it are left alone."""
    with path.open("rb") as file:
        head = file.read(20)
        whole = not head.startswith(MAGIC) or len(head) < 20
        text = head + file.read() if whole else file.read(struct.unpack_from("<I", head, 12)[0])
    try:
        moves = bool(msgspec.json.decode(text, type=_Moving).animations)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return frozenset()
    return GLB.holds if moves else GLB.holds - {"motion"}


def _in_store(path: Path) -> frozenset[str]:
    return frozenset(read(path).kinds) if path.stat().st_size <= SMALL else STORE.holds


PEEKS: Mapping[str, Callable[[Path], frozenset[str]]] = {GLB.name: _in_glb, STORE.name: _in_store}
"""Formats that may hold motion, or a skeleton alone."""
