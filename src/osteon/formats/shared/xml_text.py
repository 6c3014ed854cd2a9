"""XML files read whole: well formed, without declarations, their numbers checked."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from osteon.errors import FormatError
from osteon.formats.shared.numbers import is_sane
from osteon.typing import Array

BYTE_ORDER = b"\xef\xbb\xbf"
ASIDE = {b"<?": b"?>", b"<!--": b"-->"}
"""What may stand before the outermost element: instructions and comments, and how each ends."""
LONGEST = 1000
"""Letters of an attribute of up to six numbers; with more it is something else."""
BLANKS = re.compile(rb"\s*")
ELEMENT = re.compile(rb"<([\w:.-]+)")


def first_element(head: bytes) -> str:
    """Name of the outermost element of a file that starts with these bytes; else empty."""
    match = ELEMENT.match(head, _past_asides(head))
    return match[1].decode("ascii", "replace") if match else ""


def _past_asides(head: bytes) -> int:
    """Where the outermost element begins.

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
        # a default may stand for thousands of elements, each of which reads it again
        values = np.array(text.split() if len(text) <= LONGEST else (), dtype=float)
    except ValueError:
        values = np.zeros(0)
    if len(values) not in counts or not is_sane(values):
        wanted = " or ".join(map(str, counts))
        raise FormatError(path, f"expected {wanted} numbers, got {text[:40]!r}", place)
    return values
