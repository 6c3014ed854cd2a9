"""field.json: what a tracker reports over its volume, as ``osteon field`` finds it. Metres."""

import re
from pathlib import Path
from typing import Literal

import msgspec

from osteon.errors import FormatError, OsteonError
from osteon.formats.shared.json_and_xml import check_version, decode, write_readable
from osteon.values import TrackerField

FIELD = "osteon.field"
FIELD_VERSION = 1
"""Version of field.json, defined here; a higher one was written by a later Osteon."""
Point = tuple[float, float, float]


class FieldRecord(msgspec.Struct, kw_only=True):
    format: Literal["osteon.field"] = FIELD
    version: int = FIELD_VERSION
    distance: float
    scale: float
    centre: Point
    reach: Point
    bend_degree: int
    bends: tuple[Point, ...]
    noise_degree: int
    noises: tuple[float, ...]


def read_field(path: str | Path) -> TrackerField:
    """Return the field that a field.json tells of."""
    path = Path(path)
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    claim = re.search(rb'"format":\s*"([^"]*)"', data[:200])
    if claim is None or claim[1].decode(errors="replace") != FIELD:
        raise FormatError(path, "is no tracker's field; give the field.json of osteon field")
    record = decode(path, data, FieldRecord)
    check_version(path, record.version, FIELD_VERSION)
    given = msgspec.structs.asdict(record)
    try:
        return TrackerField(**{k: v for k, v in given.items() if k not in ("format", "version")})
    except OsteonError as error:
        raise FormatError(path, str(error)) from None


def write_field(path: str | Path, field: TrackerField) -> None:
    """Write the file; it appears whole or not at all."""
    names = [each for each in FieldRecord.__struct_fields__ if each not in ("format", "version")]
    plain = {name: getattr(field, name) for name in names}
    plain = {name: getattr(value, "tolist", lambda v=value: v)() for name, value in plain.items()}
    write_readable(msgspec.convert(plain, FieldRecord), Path(path))
