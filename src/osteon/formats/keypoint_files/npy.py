"""NPY: an array of frames × keypoints × 3, or 4 with confidence, or frames × people × … of both."""

from pathlib import Path

import numpy as np

from osteon.errors import FormatError
from osteon.formats.keypoint_files.points_of_people import PeoplePoints, take_of
from osteon.formats.registry import Format
from osteon.values import Take

MAGIC = b"\x93NUMPY"


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
    with path.open("rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            shape, by_columns, kind = read(file)
        except (ValueError, KeyError, SyntaxError, TypeError) as error:
            raise FormatError(path, f"its NPY header cannot be read: {error}") from None
        if kind.kind not in "fiu" or len(shape) not in (3, 4):
            told = " × ".join(map(str, shape)) or "a single number"
            raise FormatError(
                path,
                f"holds {told} of type {kind}; expected numbers, frames × keypoints × 3 or 4",
            )
        data = file.read()
    size = kind.itemsize * int(np.prod([int(n) for n in shape], dtype=object))
    if min(shape) < 1 or len(data) < size:
        raise FormatError(path, f"its header promises {size} bytes, found {len(data)}: cut short?")
    values = np.frombuffer(data[:size], dtype=kind).astype(float)
    return values.reshape(shape, order="F" if by_columns else "C")


NPY = Format(
    name="NPY",
    suffixes=(".npy",),
    sniff=sniff,
    read=read_npy,
    holds=frozenset({"markers"}),
)
