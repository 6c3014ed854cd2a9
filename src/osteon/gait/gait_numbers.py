"""Cycles and feet → the numbers of gait: how fast, how long, how wide, for how long.

Lengths are between footprints: where the heel rests in the first half of its stance, against the
ground. So a treadmill's belt, on which nobody gets on, counts as way.
"""

from collections.abc import Sequence

import numpy as np

from osteon.gait.cycles import Cycle
from osteon.gait.foot_events import FootEvent, FootPaths, Side
from osteon.typing import Array

UNITS = {
    "cadence": "steps/min",
    "speed": "m/s",
    "stride_time": "s",
    "stride_length": "m",
    "step_time": "s",
    "step_length": "m",
    "step_width": "m",
    "stance": "%",
    "single_support": "%",
    "double_support": "%",
    "flight": "%",
}
"""Every number and its unit; shares are of the cycle. A side's step ends with its own strike."""
PRINT_SHARE = (0.1, 0.5)
"""Shares of a stance between which the heel rests; chosen: it has landed and has not risen."""
USUAL_STANCE = 0.5
"""Seconds of a stance of which the take shows no end; chosen: half a second, of a walk's 0.6."""


def numbers_of(
    cycle: Cycle, feet: FootPaths, events: Sequence[FootEvent]
) -> dict[str, float | None]:
    """Return the numbers of one cycle; None what the take does not show."""
    other: Side = "right" if cycle.side == "left" else "left"
    stride = cycle.seconds
    start, end = (_print(feet, events, cycle.side, at) for at in (cycle.start, cycle.end))
    way = (end - start)[:2]
    length = float(np.linalg.norm(way))
    found: dict[str, float | None] = dict.fromkeys(UNITS)
    found |= {
        "cadence": 120.0 / stride,
        "speed": length / stride,
        "stride_time": stride,
        "stride_length": length,
        "stance": cycle.share(cycle.off),
    }
    if cycle.other_strike is not None:
        between = _print(feet, events, other, cycle.other_strike)
        ahead = way / max(length, 1e-9)
        gap = (end - between)[:2]
        found["step_time"] = cycle.end - cycle.other_strike
        found["step_length"] = float(gap @ ahead)
        found["step_width"] = float(abs(gap[0] * ahead[1] - gap[1] * ahead[0]))
    if cycle.both_feet is not None and cycle.no_foot is not None:
        both, none = cycle.both_feet, cycle.no_foot
        found["double_support"] = 100.0 * both / stride
        found["flight"] = 100.0 * none / stride
        found["single_support"] = 100.0 * (cycle.off - cycle.start - both) / stride
    return found


def _print(feet: FootPaths, events: Sequence[FootEvent], side: Side, strike: float) -> Array:
    """(3,) where the heel rests after a strike."""
    offs = [e.time for e in events if e.side == side and e.kind == "off" and e.time > strike]
    stance = min(offs[0] - strike if offs else USUAL_STANCE, USUAL_STANCE)
    heel = feet.soles[side][:, 0]
    first, last = (round((strike + share * stance) * feet.rate) for share in PRINT_SHARE)
    first = min(first, len(heel) - 1)
    return np.median(heel[first : max(last, first + 1)], axis=0)
