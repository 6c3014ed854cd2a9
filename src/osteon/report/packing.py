"""Long arrays made short enough to live inside a page."""

import base64
import zlib

import numpy as np
from numpy.typing import ArrayLike

from osteon.report.data import Packed

LEVEL = 6
"""Of deflate: higher ones take twice the time for one per cent."""

MOST = 2**31 - 2
"""Largest integer that is no sign of something missing."""


def pack(values: ArrayLike, step: float) -> Packed:
    """Numbers rounded to multiples of ``step``, or to coarser ones where 32 bits do not do; NaN
    stays.

    Motion is smooth: the differences from frame to frame are small, and few bits tell them.
    """
    values = np.asarray(values, dtype=np.float64)
    seen = np.isfinite(values)
    low, high = (values[seen].min(), values[seen].max()) if seen.any() else (0.0, 0.0)
    origin = 0.5 * float(low) + 0.5 * float(high)
    step = max(step, (float(high) - origin) / MOST)
    whole = np.rint((np.where(seen, values, origin) - origin) / step)
    kind = np.int16 if np.abs(whole).max(initial=0.0) < 2**15 else np.int32
    missing = int(np.iinfo(kind).min)
    return _packed(np.where(seen, whole, missing).astype(np.int32), origin, step, missing)


def pack_whole(values: ArrayLike) -> Packed:
    """Counting numbers, exactly."""
    return _packed(np.asarray(values).astype(np.int32), 0.0, 1.0, int(np.iinfo(np.int32).min))


def _packed(whole: np.ndarray, origin: float, step: float, missing: int) -> Packed:
    change = np.diff(whole, axis=0, prepend=np.zeros_like(whole[:1]))
    folded = (change << 1) ^ (change >> 31)  # small ones of either sign stay small
    planes = np.ascontiguousarray(folded, dtype="<i4").view(np.uint8).reshape(-1, 4).T
    used = 4 - next((n for n, plane in enumerate(planes[::-1]) if plane.any()), 3)
    squeezed = zlib.compress(np.ascontiguousarray(planes[:used]).tobytes(), LEVEL)
    return Packed(base64.b64encode(squeezed).decode("ascii"), whole.shape, origin, step, missing)
