"""Marks that people set in the take: the EVENT group, or the header's old list."""

import numpy as np

from osteon.formats.c3d.header import Header
from osteon.formats.c3d.parameters import C3dParameters
from osteon.values import Mark


def read_marks(
    header: Header, parameters: C3dParameters, rate: float, duration: float
) -> list[tuple[str, Mark]]:
    """Subject (blank: everybody's) and mark, seconds from the first frame of the file."""
    found = _event_group(parameters) or [("", mark) for mark in header.marks]
    times = np.array([mark.time for _, mark in found])
    shift = (header.first_frame - 1) / rate if header.first_frame > 0 else 0.0
    # times count from frame 1 of the trial, which a trimmed file no longer holds;
    # some programs count from the first frame that is there
    counts_from_here = len(times) and times.min() < shift - 1 / rate and times.max() <= duration
    if counts_from_here:
        shift = 0.0
    return [(who, Mark(mark.label, mark.time - shift, mark.context)) for who, mark in found]


def marks_of(found: list[tuple[str, Mark]], subject: str, subjects: list[str]) -> tuple[Mark, ...]:
    """The marks of one subject and those that are everybody's or name nobody in the file."""
    others = {name for name in subjects if name and name != subject}
    return tuple(mark for who, mark in found if who not in others)


def _event_group(parameters: C3dParameters) -> list[tuple[str, Mark]]:
    used = parameters.count("EVENT", "USED") or 0
    times = parameters.numbers("EVENT", "TIMES")
    # pairs of minutes and seconds; a plain list of seconds has one number per event
    if len(times) >= 2 * used:
        times = times[: 2 * used].reshape(-1, 2) @ (60.0, 1.0)
    columns = [parameters.texts("EVENT", name) for name in _TEXTS]
    columns = [column + [""] * (used - len(column)) for column in columns]
    rows = zip(times[:used], *columns, strict=False)
    return [
        (subject, Mark(label or description, float(time), context))
        for time, label, description, context, subject in rows
        if np.isfinite(time)
    ]


_TEXTS = ("LABELS", "DESCRIPTIONS", "CONTEXTS", "SUBJECTS")
