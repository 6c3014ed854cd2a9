"""Numbers of the open take for the page: some frames, thinned, as bytes."""

from dataclasses import dataclass, field
from typing import Literal

import msgspec
import numpy as np

from osteon.edits import compact_of
from osteon.errors import BadValue, NotEnoughData, UnknownName
from osteon.studio.document import OpenTake, Shown
from osteon.typing import Array

KNOWN = ("markers", "channel", "joints", "rotations", "turned", "parameters", "residuals")
MISSING = -32768
"""The integer that stands for NaN."""
MOST = 64_000_000
"""Numbers in one answer: 256 MB."""
WIDEST = 20_000
"""Columns of a curve panel."""


class Asked(msgspec.Struct, frozen=True):
    """The query of ``/api/arrays/{name}``."""

    name: str
    first: int = 0
    last: int | None = None
    stride: int = 1
    only: tuple[int, ...] | None = None
    """Columns; all where None."""
    state: Literal["before", "after"] = "after"
    marker: str = ""
    width: int = 1000
    dtype: Literal["float32", "int16"] = "float32"


@dataclass(frozen=True, eq=False)
class Answer:
    """Bytes and the headers that explain them."""

    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


def answer(asked: Asked, shown: OpenTake | Shown) -> Answer:
    """The numbers asked for, little-endian."""
    last = shown.n_frames - 1 if asked.last is None else min(asked.last, shown.n_frames - 1)
    if not (0 <= asked.first <= last and asked.stride >= 1):
        raise BadValue(
            f"frames must lie in 0…{shown.n_frames - 1}, first before last, stride at least 1; "
            f"got {asked.first} to {asked.last}, stride {asked.stride}"
        )
    if asked.name == "channel":
        values = _channel(asked, shown, last)
    else:
        values = _frames(asked, shown, last)
    if values.size > MOST:
        raise BadValue(f"{values.size} numbers are too many at once; ask for fewer frames")
    headers = {"X-First": str(asked.first), "X-Stride": str(asked.stride)}
    body, more = _packed(values, asked.dtype)
    shape = ",".join(str(size) for size in values.shape)
    return Answer(body, {**headers, **more, "X-Shape": shape})


def _frames(asked: Asked, shown: OpenTake | Shown, last: int) -> Array:
    frames = asked.first, last, asked.stride
    match asked.name:
        case "markers":
            values = _positions(asked, shown)[asked.first : last + 1 : asked.stride]
        case "residuals":
            values = shown.residuals()[asked.first : last + 1 : asked.stride]
        case "joints":
            values = shown.motion_draft().world(*frames)[1]
        case "turned":
            values = shown.motion_draft().world(*frames)[0]
        case "rotations":
            values = shown.motion_draft().window(*frames).rotations
        case "parameters":
            values = compact_of(shown.motion_draft().window(*frames)).angles
        case _:
            raise UnknownName("array", asked.name, KNOWN)
    if asked.only is None:
        return values
    if not all(0 <= column < values.shape[1] for column in asked.only):
        raise BadValue(f"columns must lie in 0…{values.shape[1] - 1}, got {asked.only}")
    return values[:, list(asked.only)]


def _positions(asked: Asked, shown: OpenTake | Shown) -> Array:
    positions = shown.before if asked.state == "before" else shown.after
    if positions is None:
        raise NotEnoughData("the file holds no markers")
    return positions


def _channel(asked: Asked, shown: OpenTake | Shown, last: int) -> Array:
    """(n_columns, 3, 2) least and most of one marker in every column of the panel."""
    if asked.marker not in shown.names:
        raise UnknownName("marker", asked.marker, shown.names)
    if not 1 <= asked.width <= WIDEST:
        raise BadValue(f"width must lie in 1…{WIDEST}, got {asked.width}")
    column = shown.names.index(asked.marker)
    return least_and_most(_positions(asked, shown)[asked.first : last + 1, column], asked.width)


def least_and_most(path: Array, width: int) -> Array:
    """(n_columns, 3, 2) extremes of a path (n, 3) in ``width`` columns; NaN where nothing is seen.

    A peak of one frame stays in sight however long the take; one column a frame where there are no
    more frames than columns.
    """
    n_columns = min(width, len(path))
    starts = np.arange(n_columns) * len(path) // n_columns
    low = np.fmin.reduceat(path, starts, axis=0)
    high = np.fmax.reduceat(path, starts, axis=0)
    return np.stack([low, high], axis=-1)


def _packed(values: Array, dtype: str) -> tuple[bytes, dict[str, str]]:
    if dtype == "float32":
        return np.ascontiguousarray(values, dtype="<f4").tobytes(), {}
    seen = np.isfinite(values)
    low = float(np.min(values, where=seen, initial=np.inf))
    high = float(np.max(values, where=seen, initial=-np.inf))
    low, high = (low, high) if low <= high else (0.0, 0.0)
    origin, step = 0.5 * (low + high), max((high - low) / 65_000.0, 1e-9)
    whole = np.rint((np.where(seen, values, origin) - origin) / step)
    body = np.where(seen, whole, MISSING).astype("<i2").tobytes()
    return body, {"X-Origin": repr(origin), "X-Step": repr(step)}
