"""Where the frames lie. Header and parameters often disagree; the file's size decides."""

import itertools
import math
from dataclasses import dataclass
from pathlib import Path

from osteon.errors import FormatError
from osteon.formats.c3d.encoding import BLOCK_BYTES
from osteon.formats.c3d.header import Header
from osteon.formats.c3d.parameters import C3dParameters

COUNT_CAP = 0xFFFF
"""Largest count, defined by its 16 bits; a longer take shows it and tells its length elsewhere."""


@dataclass(frozen=True)
class Layout:
    """The part of a file that holds points and analog samples."""

    start: int
    """First byte."""
    n_points: int
    n_analog: int
    """Analog numbers per frame."""
    scale: float
    """Below zero when the data are floats."""
    n_frames: int = 0

    @property
    def is_float(self) -> bool:
        return self.scale < 0.0

    @property
    def frame_bytes(self) -> int:
        return (4 * self.n_points + self.n_analog) * (4 if self.is_float else 2)

    def room(self, end: int) -> int:
        """How many whole frames there is room for."""
        return max(0, end - self.start) // self.frame_bytes


def find_layout(
    path: Path, size: int, header: Header, parameters: C3dParameters, problems: list[str]
) -> Layout:
    """The reading of header and parameters that the file's size bears out."""
    layouts = _candidates(header, parameters)
    if not layouts:
        raise FormatError(path, "neither header nor parameters say where the data begin")
    if not any(layout.frame_bytes for layout in layouts):
        return _with_frames(layouts[0], max(_promised(header, parameters), default=0))
    layouts = [layout for layout in layouts if layout.frame_bytes]
    promised = _promised(header, parameters)
    if not promised:
        raise FormatError(path, "neither header nor parameters say how many frames there are")
    best: tuple[bool, Layout] | None = None
    for layout in layouts:
        end = _data_end(size, layout, parameters)
        n_frames = _fitting(layout, end, promised)
        if n_frames is None:
            continue
        whole = _accounts_for(layout, end, n_frames)
        if best is None or (whole and not best[0]):
            best = whole, _with_frames(layout, n_frames)
    if best is None:
        there, wanted = layouts[0].room(size), max(promised)
        raise FormatError(
            path,
            f"cut short: {there} of {wanted} frames are there; copy the file again from its source",
            f"byte {size}",
        )
    _note_conflicts(best[1], layouts[0], header, promised, problems)
    return best[1]


def _candidates(header: Header, parameters: C3dParameters) -> list[Layout]:
    """All combinations of what header and parameters say, the header's own first."""
    starts = _distinct(header.data_block, parameters.count("POINT", "DATA_START"))
    points = _distinct(header.n_points, parameters.count("POINT", "USED"), least=0)
    used, ratio = parameters.count("ANALOG", "USED"), _analog_ratio(header, parameters)
    analogs = _distinct(header.n_analog, None if used is None else used * ratio, least=0)
    scales = [
        scale
        for scale in (parameters.number("POINT", "SCALE"), header.scale)
        if scale is not None and math.isfinite(scale) and scale != 0.0
    ]
    # a scale whose sign differs means the other number format
    by_sign = {scale < 0: scale for scale in reversed(scales or [-1.0])}
    ordered = sorted(by_sign.items(), key=lambda item: item[0] != ((scales or [-1.0])[0] < 0))
    return [
        Layout((start - 1) * BLOCK_BYTES, n_points, n_analog, scale)
        for start, n_points, n_analog, (_, scale) in itertools.product(
            starts, points, analogs, ordered
        )
    ]


def _distinct(first: int, second: int | None, least: int = 2) -> list[int]:
    """Both values where they differ; the first block is the header's, so data begin later."""
    return [
        value for value in dict.fromkeys((first, second)) if value is not None and value >= least
    ]


def _analog_ratio(header: Header, parameters: C3dParameters) -> int:
    rate, base = parameters.number("ANALOG", "RATE"), parameters.number("POINT", "RATE")
    if rate and base and 0 < rate / base < COUNT_CAP:
        return max(1, round(rate / base))
    return max(1, header.analog_ratio)


def _promised(header: Header, parameters: C3dParameters) -> list[int]:
    """Every number of frames that the file names, capped ones left out where a real one is."""
    short = [header.last_frame - header.first_frame + 1, parameters.count("POINT", "FRAMES") or 0]
    if header.last_frame == COUNT_CAP or header.last_frame < header.first_frame:
        short[0] = 0
    if short[1] == COUNT_CAP:
        short[1] = 0
    long = [parameters.count("POINT", "LONG_FRAMES") or 0, trial_frames(parameters)]
    found = [count for count in (*short, *long) if count > 0]
    if not found and COUNT_CAP in (header.last_frame, parameters.count("POINT", "FRAMES")):
        found = [COUNT_CAP - max(1, header.first_frame) + 1]
    return list(dict.fromkeys(found))


def trial_frames(parameters: C3dParameters) -> int:
    """Last − first + 1 of TRIAL, whose fields are a low and a high 16-bit word."""
    ends = []
    for name in ("ACTUAL_START_FIELD", "ACTUAL_END_FIELD"):
        words = [
            int(word) & COUNT_CAP
            for word in parameters.numbers("TRIAL", name)[:2]
            if abs(word) < 1e9
        ]
        if not words:
            return 0
        ends.append(words[0] + (words[1] << 16 if len(words) > 1 else 0))
    return ends[1] - ends[0] + 1


def _data_end(size: int, layout: Layout, parameters: C3dParameters) -> int:
    """Rotations, where there are any, follow the points; a group without bodies may name a block of
    the file that it was first written to."""
    used, block = (parameters.count("ROTATION", name) or 0 for name in ("USED", "DATA_START"))
    rotations = (block - 1) * BLOCK_BYTES if used else 0
    return rotations if layout.start < rotations < size else size


def _fitting(layout: Layout, end: int, promised: list[int]) -> int | None:
    """The number of frames that fits, or None.

    A number that fits while a larger promise does not is believed only when it leaves no room
    over: else the file has lost frames, and reading on would hide it.
    """
    room = layout.room(end)
    if room == 0 or min(promised) > room:
        return None
    fitting = max(count for count in promised if count <= room)
    if max(promised) > room:
        return fitting if _accounts_for(layout, end, fitting) else None
    # 16-bit counters wrap: 100 000 frames show as 34 464
    wrapped = fitting + (room - fitting) // (COUNT_CAP + 1) * (COUNT_CAP + 1)
    if wrapped > fitting and _accounts_for(layout, end, wrapped):
        return wrapped
    return _past_cap(layout, end, fitting)


def _past_cap(layout: Layout, end: int, n_frames: int) -> int:
    """A count that ends at the 16-bit limit says nothing; the file's size does."""
    at_cap = n_frames <= COUNT_CAP and n_frames >= COUNT_CAP - 1
    return layout.room(end) if at_cap and layout.room(end) > n_frames else n_frames


def _accounts_for(layout: Layout, end: int, n_frames: int) -> bool:
    """Whether the frames fill the file but for the padding, at most a block."""
    return 0 <= end - layout.start - n_frames * layout.frame_bytes <= BLOCK_BYTES


def _with_frames(layout: Layout, n_frames: int) -> Layout:
    return Layout(layout.start, layout.n_points, layout.n_analog, layout.scale, n_frames)


def _note_conflicts(
    chosen: Layout, first: Layout, header: Header, promised: list[int], problems: list[str]
) -> None:
    pairs = (
        ("points", header.n_points, chosen.n_points),
        ("analog samples per frame", header.n_analog, chosen.n_analog),
    )
    problems += [
        f"the header says {said} {what}; the file's size bears out {took}"
        for what, said, took in pairs
        if said != took
    ]
    if chosen.is_float != first.is_float:
        problems.append("header and parameters disagree on integers or floats; the size decided")
    others = sorted(set(promised) - {chosen.n_frames})
    if others:
        said = " and ".join(map(str, others))
        problems.append(f"the file also says {said} frames; its size bears out {chosen.n_frames}")
