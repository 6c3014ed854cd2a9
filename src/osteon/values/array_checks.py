"""Checks that every value makes of its arrays."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from osteon.errors import BadValue, ShapeError
from osteon.typing import Array

Value = TypeVar("Value")

FASTEST_RATE = 1e6
"""Frames per second. Chosen: no camera is faster, and windows of time become windows of frames."""


def frozen(values: ArrayLike, shape: Sequence[int | str], name: str) -> Array:
    """Return a read-only float64 copy of ``values``; a word in ``shape`` stands for any size.

    What nobody can write to any more is not copied.
    """
    array = values if _settled(values) else np.array(values, dtype=np.float64)
    fits = array.shape == shape or (
        array.ndim == len(shape)
        and all(isinstance(w, str) or w == n for w, n in zip(shape, array.shape, strict=True))
    )
    if not fits:
        wanted = "(" + ", ".join(str(size) for size in shape) + ")"
        raise ShapeError(f"{name} must have shape {wanted}, got {array.shape}")
    array.flags.writeable = False
    return array


def freeze(value: object, **shapes: Sequence[int | str]) -> None:
    """Make fields of a frozen value that are not None read-only arrays of these shapes."""
    for name, shape in shapes.items():
        if (array := getattr(value, name)) is not None:
            settle(value, **{name: frozen(array, shape, name)})


def settle(value: object, **fields: object) -> None:
    """Set fields of a frozen value while it is made."""
    for name, field in fields.items():
        object.__setattr__(value, name, field)


def read_only(array: Array) -> Array:
    """Return a copy whose parts can be handed to values without another one."""
    copy = np.array(array, dtype=np.float64)
    copy.flags.writeable = False
    return copy


def handed_over(array: Array) -> Array:
    """Return an array that nobody writes to any more: values keep it without a copy."""
    array.flags.writeable = False
    return array


def in_rows(kind: type[Value], *columns: Iterable[Any]) -> list[Value]:
    """Values of a frozen class with slots, one per row of columns: its fields, in their order.

    The first row is checked as the class does; the others must be like it, their arrays
    ``read_only``: they are only filled in, in a twentieth of the time.
    """
    parts = [list(column) for column in columns]
    kind(*(column[0] for column in parts))
    values = [object.__new__(kind) for _ in parts[0]]
    names = kind.__slots__  # type: ignore[attr-defined]
    for name, column in zip(names, parts, strict=True):
        any(map(getattr(kind, name).__set__, values, column))
    return values


def with_columns(values: Sequence[Value], **columns: Iterable[Any]) -> list[Value]:
    """Values of one frozen class with slots, these fields as the columns say; see ``in_rows``."""
    kind = type(values[0])
    names = kind.__slots__  # type: ignore[attr-defined]
    kept = {name: map(attrgetter(name), values) for name in names}
    return in_rows(kind, *(kept | columns).values())


def _settled(values: ArrayLike) -> TypeGuard[Array]:
    """Return whether values are read-only float64, and so is the array they are a part of."""
    if type(values) is not np.ndarray or values.dtype != np.float64 or values.flags.writeable:
        return False
    whole = values.base
    return whole is None or (type(whole) is np.ndarray and not whole.flags.writeable)


def whole_rows(array: Array) -> Array:
    """Return the array with rows (last axis) that are partly NaN made NaN: half a point is none."""
    # by columns: numpy reduces a last axis of three twenty times slower
    finite = np.moveaxis(np.isfinite(array), -1, 0)
    broken = ~np.logical_and.reduce(list(finite))
    if not np.isnan(array[broken]).all():
        array = array.copy()
        array[broken] = np.nan
        array.flags.writeable = False
    return array


def unit_quaternions(rotations: Array) -> Array:
    """Quaternions (..., 4) scaled to length 1.

    Those that are so already, to rounding, keep every bit: what was stored reads back the same.
    """
    if rotations.ndim == 1 and abs(math.sqrt(rotations @ rotations) - 1.0) < 1e-15:
        return rotations
    # einsum: sums over a last axis of four take numpy three times as long
    length = np.sqrt(np.einsum("...i,...i->...", rotations, rotations))[..., None]
    close = np.abs(length - 1.0) < 1e-15
    if close.all():
        return rotations
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = np.divide(rotations, length, out=rotations.copy(), where=~close)
    unit.flags.writeable = False
    return unit


def unique_names(names: Sequence[str], kind: str) -> tuple[str, ...]:
    names = tuple(str(name) for name in names)
    if len(set(names)) != len(names):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        raise BadValue(f"{kind} names must be unique, these appear twice: {', '.join(twice[:8])}")
    return names


def positive_rate(rate: float) -> float:
    rate = float(rate)
    if not (np.isfinite(rate) and rate > 0.0):
        raise BadValue(f"rate must be a positive number of frames per second, got {rate}")
    if rate > FASTEST_RATE:
        raise BadValue(f"rate must be {FASTEST_RATE:g} frames per second or less, got {rate:g}")
    return rate
