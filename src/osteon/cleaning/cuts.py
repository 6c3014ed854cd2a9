"""Take away what should not be used: frames at the ends, or a marker for a while."""

from dataclasses import replace

import numpy as np

from osteon.errors import BadValue
from osteon.values import Analog, Recording


def cut(recording: Recording, first: int, last: int) -> Recording:
    """Keep only the frames from ``first`` to ``last``, with marks and analog channels."""
    check_range(recording.n_frames, first, last)
    start, end = first / recording.rate, (last + 1) / recording.rate
    marks = [
        type(mark)(mark.label, mark.time - start, mark.context)
        for mark in recording.marks
        if start <= mark.time < end
    ]
    residuals = recording.residuals
    return replace(
        recording,
        positions=recording.positions[first : last + 1],
        residuals=None if residuals is None else residuals[first : last + 1],
        marks=tuple(marks),
        analog=_cut_analog(recording.analog, start, end),
        source=replace(recording.source, first_frame=recording.source.first_frame + first),
        history=(*recording.history, f"cut(first={first}, last={last})"),
    )


def blank(recording: Recording, marker: str, first: int, last: int) -> Recording:
    """Count a marker as not seen from ``first`` to ``last``."""
    check_range(recording.n_frames, first, last)
    positions = recording.positions.copy()
    positions[first : last + 1, recording.index(marker)] = np.nan
    return recording.with_filled(
        positions,
        np.zeros(positions.shape[:2], dtype=bool),
        did=f"blank({marker}, first={first}, last={last})",
    )


def check_range(n_frames: int, first: int, last: int) -> None:
    """Refuse frames that are not there."""
    if not 0 <= first <= last < n_frames:
        raise BadValue(
            f"frames must lie in 0…{n_frames - 1}, first before last; got {first} to {last}"
        )


def _cut_analog(analog: Analog | None, start: float, end: float) -> Analog | None:
    if analog is None:
        return None
    samples = slice(round(start * analog.rate), round(end * analog.rate))
    return replace(analog, values=analog.values[samples])
