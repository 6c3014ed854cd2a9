"""NPY: an array of frames × keypoints × 3, or 4 with confidence, or frames × people × … of both."""

import ast
import math
from pathlib import Path
from typing import Any

import numpy as np

from osteon.errors import FormatError
from osteon.formats.keypoint_files.points_of_people import PeoplePoints, take_of
from osteon.formats.registry import Format
from osteon.values import Take

MAGIC = b"\x93NUMPY"
MOST_HEADER_BYTES = 10_000
"""Bytes of a header; chosen: that of four numbers has about a hundred."""


def sniff(head: bytes) -> bool:
    return head.startswith(MAGIC)


def read_npy(path: Path) -> Take:
    values = _array(path)
    if values.ndim == 4:
        shown = [p for p in range(values.shape[1]) if np.isfinite(values[:, p]).any()]
        people = [PeoplePoints(values[:, p], subject=f"person {p + 1}") for p in shown]
        return take_of(path, people, "NPY")
    return take_of(path, [PeoplePoints(values)], "NPY")


def _array(path: Path) -> np.ndarray:
    """Return the array, after its header was held against the file's size."""
    data = path.read_bytes()
    start, header = _header(path, data)
    shape, kind = header["shape"], header["descr"]
    if kind.kind not in "fiu" or len(shape) not in (3, 4):
        told = " × ".join(map(str, shape)) or "a single number"
        raise FormatError(
            path, f"holds {told} of type {kind}; expected numbers, frames × keypoints × 3 or 4"
        )
    size = kind.itemsize * math.prod(shape)
    if size < 1 or len(data) - start < size:
        found = len(data) - start
        raise FormatError(path, f"its header promises {size} bytes, found {found}: cut short?")
    values = np.frombuffer(data, dtype=kind, count=math.prod(shape), offset=start).astype(float)
    return values.reshape(shape, order="F" if header["fortran_order"] else "C")


def _header(path: Path, data: bytes) -> tuple[int, dict[str, Any]]:
    """Where the numbers begin, and what the header says of them."""
    width = 2 if data[6:7] == b"\x01" else 4
    start = 8 + width + int.from_bytes(data[8 : 8 + width], "little")
    try:
        if start - 8 > MOST_HEADER_BYTES:
            raise ValueError
        said = ast.literal_eval(data[8 + width : start].decode("latin-1").strip())
        shape = tuple(said["shape"])
        if not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError
        whole = {"shape": shape, "descr": np.dtype(said["descr"])}
        return start, whole | {"fortran_order": said["fortran_order"] is True}
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
        raise FormatError(path, "its NPY header cannot be read: damaged?") from None


NPY = Format(
    name="NPY",
    suffixes=(".npy",),
    sniff=sniff,
    read=read_npy,
    holds=frozenset({"markers"}),
)
