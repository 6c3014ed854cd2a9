"""A part of a motion, and a motion at another rate."""

from dataclasses import replace

import numpy as np
from msgspec import structs

from osteon.errors import BadValue
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Motion


def trim(motion: Motion, first: int, last: int) -> Motion:
    """Return the frames from ``first`` to ``last``, counted from 0, both included, with the marks
    among them."""
    if not 0 <= first <= last < motion.n_frames:
        raise BadValue(
            f"frames {first}:{last} cannot be cut out; there are 0:{motion.n_frames - 1}"
        )
    begin, end = first / motion.rate, last / motion.rate
    marks = [structs.replace(mark, time=mark.time - begin) for mark in motion.marks]
    return replace(
        motion.frames(first, last),
        marks=tuple(mark for mark in marks if 0.0 <= mark.time <= end - begin),
        held=tuple(frame - first for frame in motion.held if first <= frame <= last),
        history=(*motion.history, f"trimmed to frames {first} to {last}"),
    )


def resample(motion: Motion, rate: float) -> Motion:
    """Return the motion at another rate, frames per second, from its first frame on.

    Rotations go the shortest way from frame to frame, places straight; the last frame is the last
    that lies within the take.
    """
    if not (np.isfinite(rate) and rate > 0.0):
        raise BadValue(f"a rate must be above zero, got {rate}")
    step = motion.rate / rate
    # a frame that rounding puts just beyond the end is the end
    count = int(np.floor((motion.n_frames - 1) / step + 1e-6)) + 1
    at = np.minimum(np.arange(count) * step, motion.n_frames - 1)
    before = np.minimum(at.astype(int), max(motion.n_frames - 2, 0))
    after, share = np.minimum(before + 1, motion.n_frames - 1), at - before
    offsets = motion.offsets
    held = np.isin(np.rint(at).astype(int), motion.held)
    return replace(
        motion,
        rotations=quat.slerp(motion.rotations[before], motion.rotations[after], share[:, None]),
        root=_between(motion.root, before, after, share),
        offsets=None if offsets is None else _between(offsets, before, after, share),
        rate=rate,
        held=tuple(np.flatnonzero(held).tolist()),
        history=(*motion.history, f"resampled from {motion.rate:g} to {rate:g} Hz"),
    )


def _between(values: Array, before: np.ndarray, after: np.ndarray, share: Array) -> Array:
    part = share.reshape(-1, *[1] * (values.ndim - 1))
    return (1.0 - part) * values[before] + part * values[after]
