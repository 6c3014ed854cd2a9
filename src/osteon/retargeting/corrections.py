"""What a user says by hand about character, performer and markers before one is mapped."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from osteon.errors import FormatError
from osteon.retargeting.pins import Hold, Keep

T = TypeVar("T")


@dataclass(frozen=True)
class Corrections:
    """What a user says about character and markers; see ``read_corrections``."""

    bodies: Mapping[str, str] = field(default_factory=dict)
    """Human part → body of the character."""
    performer: Mapping[str, str] = field(default_factory=dict)
    """Human part → body of the performer, where a motion comes with names of its own."""
    markers: Mapping[str, tuple[str, tuple[float, float, float]]] = field(default_factory=dict)
    """Marker → body and place in the body's frame, metres."""
    holds: tuple[Hold, ...] = ()
    keeps: tuple[Keep, ...] = ()


def read_corrections(path: str | Path) -> Corrections:
    """Read a TOML file with ``[bodies]``, as ``left_thigh = "LeftUpLeg"``, and ``[markers]``, as
    ``LKNE = { body = "LeftUpLeg", at = [0.05, 0.0, -0.4] }``, metres in the body's frame. Each
    ``[[holds]]`` pins a point: ``body``, ``at`` in its frame, ``to`` in the world, ``frames``. Each
    ``[[keeps]]`` names a ``part`` that stays where the performer has it, and ``frames``.
    ``[performer]`` is as ``[bodies]``, for a motion that is mapped."""
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FormatError(path, f"cannot be read as TOML: {error}") from None
    bodies, performer = (_names(Path(path), table, key) for key in ("bodies", "performer"))
    markers = {}
    for label, entry in table.get("markers", {}).items():
        markers[label] = _marker_entry(Path(path), label, entry)
    holds = _entries(Path(path), table, "holds", Hold, "body, at, to and frames")
    keeps = _entries(Path(path), table, "keeps", Keep, "part and may have frames")
    return Corrections(bodies, performer, markers, holds, keeps)


def _names(path: Path, table: dict[str, Any], key: str) -> dict[str, str]:
    try:
        return msgspec.convert(table.get(key, {}), dict[str, str])
    except msgspec.ValidationError:
        raise FormatError(
            path, f'[{key}] must hold lines such as left_thigh = "LeftUpLeg"'
        ) from None


def _entries(
    path: Path, table: dict[str, Any], key: str, kind: type[T], needs: str
) -> tuple[T, ...]:
    try:
        return msgspec.convert(table.get(key, []), tuple[kind, ...])
    except msgspec.ValidationError as error:
        raise FormatError(path, f"[[{key}]] needs {needs}: {error}") from None


def _marker_entry(path: Path, label: str, entry: Any) -> tuple[str, tuple[float, float, float]]:
    match entry:
        case {"body": str(body), "at": [int() | float() as x, int() | float() as y, z]} if (
            isinstance(z, int | float)
        ):
            return body, (float(x), float(y), float(z))
    raise FormatError(
        path, f'marker {label} must be {{ body = "…", at = [x, y, z] }}, got {entry!r}'
    )
