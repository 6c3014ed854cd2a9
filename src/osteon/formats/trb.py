"""TRB, Motion Analysis' binary tracks, as far as the Biomechanical ToolKit found them out.

Little-endian. Eight bytes of signature, the place of the frames in words of four bytes, then keys
of two bytes with their size in words: rates, first time, and a key per marker with its number and
name. Each frame has its number, its size, and for every marker seen its number, three coordinates,
residual and cameras. Neither unit nor up axis is said.
"""

import struct
from pathlib import Path

import numpy as np

from osteon.errors import FormatError
from osteon.formats.registry import Format
from osteon.formats.shared.text_table import by_subject, is_sane, unique_labels
from osteon.formats.shared.units import METRES, stance_of, to_z_up, turn_points
from osteon.typing import Array
from osteon.values import Recording, Source, Take

SIGNATURE = b"\0\0\0\0\xff\xff\xff\xff"
FRAME_START = b"\0\0\0\0\0\x06"
RATE_CODE, TIME_CODE, MARKER_CODE = 0x0103, 0x0105, 0x010C
"""Codes of keys, defined by Motion Analysis."""
FRAME_BYTES, SAMPLE_BYTES = 12, 24
"""Bytes before a frame's samples, and of each, defined by Motion Analysis."""
SPREAD_RATIO = 20
"""Ratio of samples, seen or not, to the file's bytes; chosen: a whole one has 24 bytes, so that of
480 one is seen at least."""
SAMPLE = np.dtype([("marker", "<u2"), ("_", "<u2"), ("numbers", "<f4", 4), ("cameras", "<u4")])
UNIT = "mm"


def sniff(head: bytes) -> bool:
    return head.startswith(SIGNATURE)


def read_trb(path: Path) -> Take:
    data = path.read_bytes()
    if len(data) < 12 + FRAME_BYTES:
        raise FormatError(path, f"ends after {len(data)} bytes: copy the file again")
    high, low = struct.unpack_from("<HH", data, 8)
    rate, start, numbers, labels = _header(path, data)
    names, renamed = unique_labels(labels)
    table, residuals = _frames(path, data, 4 * (high << 16 | low), numbers)
    positions = METRES[UNIT] * table
    stance = stance_of(positions)
    up = (stance.up() if stance else None) or "z"
    said = f"TRB says neither unit nor up axis; {UNIT} assumed, {up} judged from how markers stand"
    source = Source(
        file=path.name,
        format="TRB",
        software="Motion Analysis",
        unit=UNIT,
        up=up,
        first_frame=round(start * rate) + 1,
        problems=(said, *renamed),
    )
    points = turn_points(positions, to_z_up(up))
    recording = Recording(points, names, rate, residuals=METRES[UNIT] * residuals, source=source)
    return Take(recordings=by_subject(recording))


def _header(path: Path, data: bytes) -> tuple[float, float, list[int], list[str]]:
    """Rate, time of the first frame, and the markers' numbers and names."""
    rate, start, numbers, labels, at = 0.0, 0.0, [], [], 12
    while at + 8 <= len(data):
        key, size = struct.unpack_from("<HH", data, at)
        if not 0x0100 < key < 0x0200 or at + 4 + 4 * size > len(data):
            break
        if key in (RATE_CODE, TIME_CODE) and size == 1:
            (value,) = struct.unpack_from("<f", data, at + 4)
            rate, start = (value, start) if key == RATE_CODE else (rate, value)
        elif key == MARKER_CODE and size >= 1:
            numbers.append(struct.unpack_from("<H", data, at + 4)[0])
            text = data[at + 8 : at + 4 + 4 * size].decode("latin-1")
            labels.append(text.strip("\0 ") or f"unlabelled_{len(labels) + 1}")
        at += 4 + 4 * size
    if not (np.isfinite(rate) and 0.0 < rate < 1e6 and np.isfinite(start) and abs(start) < 1e6):
        raise FormatError(path, "the header tells no rate")
    if not labels or len(set(numbers)) < len(numbers):
        raise FormatError(path, "the header tells no markers, or one twice")
    return rate, start, numbers, labels


def _frames(path: Path, data: bytes, at: int, numbers: list[int]) -> tuple[Array, Array]:
    """Places (n_frames, n_markers, 3) in the file's unit, and residuals; NaN where not seen."""
    columns = np.full(0x10000, -1)
    columns[numbers] = np.arange(len(numbers))
    rows, residuals = [], []
    while at + FRAME_BYTES <= len(data):
        size = 4 * struct.unpack_from("<H", data, at + 8)[0]
        wrong = data[at : at + 6] != FRAME_START or (size - FRAME_BYTES) % SAMPLE_BYTES
        if wrong or size < FRAME_BYTES or at + size > len(data):
            raise FormatError(path, f"frame {len(rows) + 1} is damaged or cut short", f"byte {at}")
        if len(rows) * len(numbers) > SPREAD_RATIO * len(data):
            raise FormatError(path, "names far more markers than its frames hold")
        count = (size - FRAME_BYTES) // SAMPLE_BYTES
        seen = np.frombuffer(data, SAMPLE, count, at + FRAME_BYTES)
        own = columns[seen["marker"]]
        if (own < 0).any() or not is_sane(seen["numbers"]):
            raise FormatError(path, f"frame {len(rows) + 1} holds a marker unknown", f"byte {at}")
        row = np.full((len(numbers), 4), np.nan)
        row[own] = seen["numbers"]
        rows.append(row[:, :3])
        residuals.append(np.maximum(row[:, 3], 0.0))
        at += size
    if not rows:
        raise FormatError(path, "the header is there but no frames")
    return np.stack(rows), np.stack(residuals)


TRB = Format(
    name="TRB",
    suffixes=(".trb",),
    sniff=sniff,
    read=read_trb,
    holds=frozenset({"markers"}),
)
