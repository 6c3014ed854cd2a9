"""The first 512 bytes: counts, rate and up to 18 events. Often at odds with the parameters."""

import struct
from dataclasses import dataclass

import numpy as np

from osteon.formats.c3d.encoding import BLOCK_BYTES, Processor
from osteon.formats.c3d.parameters import printable
from osteon.values import Mark

FILE_CODE = 0x50
"""Code in the second byte of every file, defined by C3D."""
EVENT_CODE = 12345
"""Code of a header whose event labels have four characters, defined by C3D."""
EVENT_COUNT = 18
"""Count of events that a header has room for, defined by C3D."""


@dataclass(frozen=True)
class Header:
    """What the header claims."""

    n_points: int
    n_analog: int
    """Analog numbers per frame: channels × samples of each."""
    first_frame: int
    last_frame: int
    scale: float
    """Below zero when the data are floats."""
    data_block: int
    """Number of the 512-byte block at which data begin, counted from 1."""
    analog_ratio: int
    """Samples of an analog channel per frame."""
    rate: float
    marks: tuple[Mark, ...]


def parse_header(data: bytes, processor: Processor) -> Header:
    words = processor.integers(data, BLOCK_BYTES // 2).astype(int) & 0xFFFF
    floats = processor.floats
    return Header(
        n_points=int(words[1]),
        n_analog=int(words[2]),
        first_frame=int(words[3]),
        last_frame=int(words[4]),
        scale=float(floats(data, 1, 12)[0]),
        data_block=int(words[8]),
        analog_ratio=int(words[9]),
        rate=float(floats(data, 1, 20)[0]),
        marks=_marks(data, processor, int(words[149]), int(words[150])),
    )


def _marks(data: bytes, processor: Processor, key: int, count: int) -> tuple[Mark, ...]:
    if key != EVENT_CODE or not 0 < count <= EVENT_COUNT:
        return ()
    times = processor.floats(data, count, 304)
    labels = struct.unpack_from("4s" * count, data, 396)
    return tuple(
        Mark(printable(label), float(time))
        for label, time in zip(labels, times, strict=True)
        if printable(label) and np.isfinite(time)
    )
