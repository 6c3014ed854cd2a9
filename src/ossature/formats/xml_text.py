"""XML files read whole: well formed, without declarations, their numbers checked."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from ossature.errors import FormatError
from ossature.formats.numbers import is_sane
from ossature.maths.quat import Array

FIRST_ELEMENT = re.compile(rb"(?:\s|<\?.*?\?>|<!--.*?-->)*<([\w:.-]+)", re.DOTALL)


def first_element(head: bytes) -> str:
    """Name of the outermost element of a file that starts with these bytes; else empty."""
    match = FIRST_ELEMENT.match(head.removeprefix(b"\xef\xbb\xbf"))
    return match[1].decode("ascii", "replace") if match else ""


def read_xml(path: Path) -> ElementTree.Element:
    """The outermost element. A document type declaration, and with it every entity, is refused."""
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
    """The numbers of an attribute; as many as one of ``counts``."""
    try:
        values = np.array(text.split(), dtype=float)
    except ValueError:
        values = np.zeros(0)
    if len(values) not in counts or not is_sane(values):
        wanted = " or ".join(map(str, counts))
        raise FormatError(path, f"expected {wanted} numbers, got {text[:40]!r}", place)
    return values
