"""JSON checked against a type: what is wrong is said with its place, as ``$.bodies[3].name``.

And JSON for people to read: indented, and on disk whole or not at all.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from osteon.errors import FormatError
from osteon.formats.registry import whole_file

T = TypeVar("T")
Hook = Callable[[type, Any], Any]

_PLACE = re.compile(r"^(?P<problem>.*) - at `(?P<place>[^`]*)`$", re.DOTALL)


def decode(path: Path, data: bytes, kind: type[T]) -> T:
    """The JSON text ``data`` of the file ``path`` as a ``kind``."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise located(path, error) from None


def convert(path: Path, tree: Any, kind: type[T], hook: Hook, root: str) -> T:
    """Decoded JSON that stands at ``root`` as a ``kind``.

    Numbers may stand in quotes, as ``"nan"`` must; ``hook`` makes what JSON has no type for.
    """
    try:
        return msgspec.convert(tree, kind, dec_hook=hook, strict=False)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise located(path, error, root) from None


def write_readable(value: Any, path: Path) -> None:
    with whole_file(path) as partial:
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def located(path: Path, error: Exception, root: str = "$") -> FormatError:
    """What msgspec found, as our error with the place in the document."""
    if isinstance(error, RecursionError):
        return FormatError(path, "its JSON is nested too deeply")
    if not isinstance(error, msgspec.ValidationError):
        return FormatError(path, f"is not valid JSON: {error}")
    match = _PLACE.match(str(error))
    problem, place = (match["problem"], match["place"]) if match else (str(error), "$")
    return FormatError(path, problem[:1].lower() + problem[1:], place.replace("$", root, 1))
