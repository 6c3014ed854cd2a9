"""A part of a motion or a recording, and a motion at another rate."""

from dataclasses import replace
from typing import TypeVar

import numpy as np
from msgspec import structs

from osteon.errors import BadValue
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Analog, Bodies, Motion, Recording

T = TypeVar("T", Motion, Recording, Bodies)


def trim(value: T, first: int, last: int) -> T:
    """Return the frames from ``first`` to ``last``, counted from 0, both included, with the marks
    among them; of a recording with its analog samples and the numbers that the file gives frames.
    """
    if not 0 <= first <= last < value.n_frames:
        raise BadValue(f"frames {first}:{last} cannot be cut out; there are 0:{value.n_frames - 1}")
    begin, end = first / value.rate, last / value.rate
    marks = [structs.replace(mark, time=mark.time - begin) for mark in value.marks]
    return replace(
        _frames(value, first, last),
        marks=tuple(mark for mark in marks if 0.0 <= mark.time <= end - begin),
        history=(*value.history, f"trimmed to frames {first} to {last}"),
    )


def _frames(value: T, first: int, last: int) -> T:
    if isinstance(value, Motion):
        held = tuple(frame - first for frame in value.held if first <= frame <= last)
        return replace(value.frames(first, last), held=held)
    kept, source = slice(first, last + 1), value.source
    words = None if source.words is None else source.words[kept]
    told = replace(source, first_frame=source.first_frame + first, words=words)
    if isinstance(value, Bodies):
        return replace(
            value,
            positions=value.positions[kept],
            rotations=value.rotations[kept],
            source=told,
        )
    return replace(
        value,
        positions=value.positions[kept],
        residuals=None if value.residuals is None else value.residuals[kept],
        analog=None if value.analog is None else _samples(value.analog, kept, value.rate),
        source=told,
    )


def _samples(analog: Analog, frames: slice, rate: float) -> Analog:
    """The samples beside these frames; their number of each frame is whole."""
    ratio = round(analog.rate / rate)
    kept = slice(ratio * frames.start, ratio * frames.stop)
    stored = None if analog.stored is None else analog.stored[kept]
    return replace(analog, values=analog.values[kept], stored=stored)


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
