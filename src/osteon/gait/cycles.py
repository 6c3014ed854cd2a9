"""Foot events → cycles: from a strike of one foot to its next; what is told over a cycle has 101
points, whatever its length."""

import itertools
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.gait.foot_events import SIDES, FootEvent, Side
from osteon.typing import Array

CYCLE_POINTS = 101
"""Count of points of a cycle; defined by clinical custom: every per cent, both ends included."""
LONGEST_CYCLE = 3.0
"""Seconds from a strike to the next; chosen: whoever takes longer has stood still."""


@dataclass(frozen=True)
class Cycle:
    """A stride of one foot. Seconds from the take's first frame."""

    side: Side
    start: float
    off: float
    end: float
    other_strike: float | None = None
    """Of the other foot, within the cycle."""
    other_offs: tuple[float, ...] = ()
    """Of the other foot, within the cycle: one in walking before its strike, in running after."""

    @property
    def seconds(self) -> float:
        return self.end - self.start

    def share(self, time: float) -> float:
        """Per cent of the cycle at a time."""
        return 100.0 * (time - self.start) / self.seconds

    @property
    def both_feet(self) -> float | None:
        """Seconds that both feet are on the ground; None where the other foot's are not known."""
        if self.other_strike is None or not self.other_offs:
            return None
        first = [off - self.start for off in self.other_offs if off < self.other_strike]
        return sum(first) + max(0.0, self.off - self.other_strike)

    @property
    def no_foot(self) -> float | None:
        """Seconds of flight."""
        if self.other_strike is None or not self.other_offs:
            return None
        last = [self.end - off for off in self.other_offs if off > self.other_strike]
        return sum(last) + max(0.0, self.other_strike - self.off)


def cycles_of(events: Sequence[FootEvent]) -> tuple[Cycle, ...]:
    """Return the whole cycles of both feet, in time's order; none where one foot takes no step."""
    found = []
    if not all(_times(events, side, "strike") for side in SIDES):
        return ()
    for side in SIDES:
        other = SIDES[1 - SIDES.index(side)]
        strikes, offs = _times(events, side, "strike"), _times(events, side, "off")
        others, others_off = _times(events, other, "strike"), _times(events, other, "off")
        for start, end in itertools.pairwise(strikes):
            off = _within(offs, start, end)
            if len(off) != 1 or end - start > LONGEST_CYCLE:
                continue
            strike = _within(others, start, end)
            one = strike[0] if len(strike) == 1 else None
            found.append(
                Cycle(side, start, off[0], end, one, tuple(_within(others_off, start, end)))
            )
    return tuple(sorted(found, key=lambda cycle: cycle.start))


def _times(events: Sequence[FootEvent], side: Side, kind: str) -> list[float]:
    return [event.time for event in events if (event.side, event.kind) == (side, kind)]


def _within(times: list[float], start: float, end: float) -> list[float]:
    return times[bisect_right(times, start) : bisect_right(times, end)]


def over_cycle(values: Array, rate: float, cycle: Cycle) -> Array:
    """Return (101, …) of values (n_frames, …) from the cycle's start to its end."""
    at = np.linspace(cycle.start, cycle.end, CYCLE_POINTS) * rate
    first = np.clip(at.astype(int), 0, len(values) - 2)
    part = (at - first).reshape(-1, *[1] * (values.ndim - 1))
    return (1.0 - part) * values[first] + part * values[first + 1]
