"""passport.json: a performer as one small text. Metres, radians, z up, w x y z.

The skeleton stands in it as in skeleton.json. ``lengths_mm`` repeats the bones for reading; what
counts is the skeleton.
"""

import dataclasses
import re
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from osteon.errors import FormatError, OsteonError
from osteon.formats.own.skeleton_json import (
    SkeletonRecord,
    check_finite,
    from_skeleton,
    to_skeleton,
)
from osteon.formats.shared.json_and_xml import check_version, decode
from osteon.formats.shared.whole_files import whole_file
from osteon.values import Origin, Passport

FORMAT = "osteon.passport"
FORMAT_VERSION = 1
"""Version of passport.json, defined here; a higher one was written by a later Osteon."""


class OriginRecord(msgspec.Struct, omit_defaults=True):
    file: str
    frames: int
    rate: float
    sha256: str = ""
    modified: str = ""
    software: str = ""


class PassportRecord(msgspec.Struct, kw_only=True):
    format: Literal["osteon.passport"]
    version: int
    subject: str = ""
    made_by: str = ""
    noise: float = 0.0
    takes: tuple[OriginRecord, ...] = ()
    lengths_mm: dict[str, float] = {}
    skeleton: SkeletonRecord


def read_passport(path: str | Path) -> Passport:
    """Return the performer that a passport.json tells of."""
    path = Path(path)
    try:
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise FormatError(path, f"cannot be opened: {error.strerror or error}") from error
    claim = re.search(rb'"format":\s*"([^"]*)"', data[:200])
    if claim and claim[1].decode(errors="replace") != FORMAT:
        raise FormatError(
            path,
            f"is {claim[1].decode(errors='replace')!r}, expected {FORMAT!r}; give the "
            "passport.json that osteon solve has written",
        )
    record = decode(path, data, PassportRecord)
    check_version(path, record.version, FORMAT_VERSION)
    try:
        return Passport(
            skeleton=to_skeleton(record.skeleton),
            takes=tuple(Origin(**msgspec.structs.asdict(take)) for take in record.takes),
            noise=record.noise,
            made_by=record.made_by,
        )
    except OsteonError as error:
        raise FormatError(path, str(error), "$.skeleton") from None


def write_passport(path: str | Path, passport: Passport) -> None:
    """Write the file; it appears whole or not at all."""
    skeleton = passport.skeleton
    lengths = {
        body.name: round(1e3 * float(np.linalg.norm(offset)), 1)
        for body, offset in zip(skeleton.bodies, skeleton.offsets, strict=True)
        if body.parent is not None
    }
    record = PassportRecord(
        format=FORMAT,
        version=FORMAT_VERSION,
        subject=passport.subject,
        made_by=passport.made_by,
        noise=passport.noise,
        takes=tuple(OriginRecord(**dataclasses.asdict(take)) for take in passport.takes),
        lengths_mm=lengths,
        skeleton=from_skeleton(skeleton),
    )
    check_finite(record)
    with whole_file(Path(path)) as partial:
        partial.write_bytes(msgspec.json.encode(record) + b"\n")
