"""JSON and XML read whole and checked: what is wrong is said with its place.

JSON against a type, its place as ``$.bodies[3].name``; and JSON for people to read: indented, and
on disk whole or not at all. XML well formed, without declarations, its numbers checked.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from xml.etree import ElementTree

import msgspec
import numpy as np

from osteon.errors import FormatError
from osteon.formats.shared.text_table import is_sane
from osteon.formats.shared.whole_files import whole_file
from osteon.typing import Array

T = TypeVar("T")
Hook = Callable[[type, Any], Any]

_PLACE = re.compile(r"^(?P<problem>.*) - at `(?P<place>[^`]*)`$", re.DOTALL)
BYTE_ORDER = b"\xef\xbb\xbf"
ASIDE = {b"<?": b"?>", b"<!--": b"-->"}
"""What may stand before the outermost element: instructions and comments, and how each ends."""
LONGEST_TEXT = 1000
"""Characters of an attribute of up to six numbers; chosen: six times all digits of a double need a
sixth of it, so with more it is something else."""
BLANKS = re.compile(rb"\s*")
ELEMENT = re.compile(rb"<([\w:.-]+)")


def decode(path: Path, data: bytes, kind: type[T]) -> T:
    """Return the JSON text ``data`` of the file ``path`` as a ``kind``."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise locate_error(path, error) from None


def check_version(path: Path, found: int, latest: int) -> None:
    if found > latest:
        raise FormatError(path, f"version must be {latest} or lower, got {found}", "$.version")


def convert(path: Path, tree: Any, kind: type[T], hook: Hook, root: str) -> T:
    """Return decoded JSON that stands at ``root`` as a ``kind``.

    Numbers may stand in quotes, as ``"nan"`` must; ``hook`` makes what JSON has no type for.
    """
    try:
        return msgspec.convert(tree, kind, dec_hook=hook, strict=False)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise locate_error(path, error, root) from None


def write_readable(value: Any, path: Path) -> None:
    with whole_file(path) as partial:
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def locate_error(path: Path, error: Exception, root: str = "$") -> FormatError:
    """Return what msgspec found, as our error with the place in the document."""
    if isinstance(error, RecursionError):
        return FormatError(path, "its JSON is nested too deeply")
    if not isinstance(error, msgspec.ValidationError):
        return FormatError(path, f"is not valid JSON: {error}")
    match = _PLACE.match(str(error))
    problem, place = (match["problem"], match["place"]) if match else (str(error), "$")
    return FormatError(path, problem[:1].lower() + problem[1:], place.replace("$", root, 1))


def first_element(head: bytes) -> str:
    """Name of the outermost element of a file that starts with these bytes; else empty."""
    match = ELEMENT.match(head, _past_asides(head))
    return match[1].decode("ascii", "replace") if match else ""


def _past_asides(head: bytes) -> int:
    """Return where the outermost element begins.

    Step by step: one pattern for all that may stand before can divide a short head in millions of
    ways.
    """
    at = len(BYTE_ORDER) if head.startswith(BYTE_ORDER) else 0
    while True:
        at = BLANKS.match(head, at).end()  # type: ignore[union-attr]
        start = next((start for start in ASIDE if head.startswith(start, at)), None)
        if start is None:
            return at
        end = head.find(ASIDE[start], at + len(start))
        at = end + len(ASIDE[start]) if end >= 0 else len(head)


def read_xml(path: Path) -> ElementTree.Element:
    """Read the outermost element; a document type, and with it every entity, is refused."""
    data = path.read_bytes()
    if b"<!DOCTYPE" in data:
        raise FormatError(path, "holds a document type declaration, which no model needs; refused")
    try:
        return ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        line, _ = error.position
        raise FormatError(path, f"not well-formed XML: {error}", f"line {line}") from None
    except (LookupError, ValueError) as error:
        raise FormatError(path, f"its text encoding is not read: {error}") from None


def numbers(path: Path, text: str, counts: tuple[int, ...], place: str) -> Array:
    """Return the numbers of an attribute; as many as one of ``counts``."""
    try:
        # a default may stand for thousands of elements, each of which reads it again
        values = np.array(text.split() if len(text) <= LONGEST_TEXT else (), dtype=float)
    except ValueError:
        values = np.zeros(0)
    if len(values) not in counts or not is_sane(values):
        wanted = " or ".join(map(str, counts))
        raise FormatError(path, f"expected {wanted} numbers, got {text[:40]!r}", place)
    return values


def add(parent: ElementTree.Element, tag: str, **attributes: object) -> ElementTree.Element:
    """Add an element whose numbers and vectors are written so that they read back the same."""
    texts = {name: text_of(value) for name, value in attributes.items()}
    return ElementTree.SubElement(parent, tag, texts)


def text_of(value: object) -> str:
    if isinstance(value, str | int):
        return str(value)
    if isinstance(value, float):
        return f"{value + 0.0:.12g}"  # adding zero turns −0 into 0
    return " ".join(text_of(float(number)) for number in value)  # type: ignore[attr-defined]
