"""One take's gait; several of one person together; two sessions, and a person against controls."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from osteon.anatomy import ClinicalAngles
from osteon.gait.cycles import CYCLE_POINTS, Cycle, cycles_of, over_cycle
from osteon.gait.feet_on_plates import loads_of
from osteon.gait.foot_events import SIDES, FootEvent, Side, find_events, foot_paths
from osteon.gait.gait_numbers import UNITS, numbers_of
from osteon.maths import runs
from osteon.typing import Array
from osteon.values import GroundReaction, Mark, Motion

MARK_WORDS = {
    "foot strike": "strike",
    "heel strike": "strike",
    "foot off": "off",
    "toe off": "off",
}
MARK_CODES = {"HS": "strike", "IC": "strike", "TO": "off", "FO": "off"}
"""What laboratories call both events in their files, with L or R before a code."""
MARK_NEAR = 0.15
"""Seconds within which a mark and an event are the same; chosen: less than any stance lasts."""


@dataclass(frozen=True, eq=False)
class GaitTake:
    """Events and cycles of one take, and what was told over each cycle."""

    name: str
    events: tuple[FootEvent, ...]
    cycles: tuple[Cycle, ...]
    curves: dict[tuple[str, Side], Array]
    """Channel and side → (n_cycles of that side, 101) radians."""
    numbers: tuple[dict[str, float | None], ...]
    """Of every cycle."""
    belt: float
    """Metres per second; 0 on solid ground."""
    apart: tuple[float, ...] = ()
    """Seconds from each event that was marked in the file to ours."""

    def of(self, side: Side, number: str) -> list[float]:
        """Return one number of all cycles of a side that tell it."""
        told = zip(self.cycles, self.numbers, strict=True)
        found = [numbers[number] for cycle, numbers in told if cycle.side == side]
        return [value for value in found if value is not None]


@dataclass(frozen=True, eq=False)
class Band:
    """Mean and standard deviation of curves over a cycle."""

    mean: Array
    """(101,)"""
    deviation: Array
    """(101,) from cycle to cycle; of controls from person to person."""
    count: int
    """Cycles, or people."""


FEWEST_CYCLES = 3
"""Count of cycles from which their scatter is told. Chosen: of two it is anybody's guess."""
CHANCE_SHARE = 0.001
"""Share of points at which curves of one person differ by chance, by Student's t. Simulated: of
curves of 3 to 10 cycles that scatter by 2° 0.2 to 0.8 % then show a difference."""
LEAST_DIFFERENCE = np.radians(2.0)
"""Radians. Chosen: below it markers put on again differ by as much [McGinley 2009]."""
SHORTEST_PART = 5
"""Share of the cycle, in per cent, that a difference lasts. Chosen: a phase of gait is longer."""


@dataclass(frozen=True)
class NumberSpread:
    """Mean and standard deviation of a number."""

    mean: float
    deviation: float
    count: int


def gait_of(
    motion: Motion,
    angles: ClinicalAngles,
    name: str = "",
    marks: Sequence[Mark] = (),
    reactions: Sequence[GroundReaction] = (),
    seen: np.ndarray | None = None,
) -> GaitTake:
    """Find events and cycles of a take, and tell its angles over them.

    Parameters
    ----------
    marks
        What was marked in the file; compared with what is found.
    reactions
        Of force plates, where there were any: they say better when a foot comes and goes.
    seen : (n_frames,)
        Whether markers show both feet; all frames where nobody says.
    """
    feet = foot_paths(motion, seen)
    events = find_events(feet, loads_of(motion, reactions))
    cycles = cycles_of(events)
    curves: dict[tuple[str, Side], Array] = {}
    for channel in angles.channels:
        for side in SIDES:
            values = channel.sign(side) * angles.of(channel.names[side])
            own = [over_cycle(values, angles.rate, c) for c in cycles if c.side == side]
            curves[channel.title, side] = np.reshape(own, (-1, CYCLE_POINTS))
    numbers = tuple(numbers_of(cycle, feet, events) for cycle in cycles)
    belt = float(np.linalg.norm(feet.belt))
    return GaitTake(name, events, cycles, curves, numbers, belt, _apart(events, marks))


def _apart(events: Sequence[FootEvent], marks: Sequence[Mark]) -> tuple[float, ...]:
    """Seconds from marks to events of the same foot and kind; NaN where there is none near."""
    found = []
    for mark in marks:
        if (known := meaning_of(mark)) is None:
            continue
        off = [e.time - mark.time for e in events if (e.side, e.kind) == known]
        nearest = min(off, key=abs, default=np.inf)
        found.append(nearest if abs(nearest) < MARK_NEAR else np.nan)
    return tuple(found)


def meaning_of(mark: Mark) -> tuple[str, str] | None:
    """Return side and kind of what was marked in a file, if it is a foot's strike or off."""
    if (kind := MARK_WORDS.get(mark.label.lower())) and mark.context.lower() in SIDES:
        return mark.context.lower(), kind
    for word in (mark.label.strip(), mark.context.strip()):
        if word[:1] in "LR" and word[1:] in MARK_CODES:
            return ("left" if word[0] == "L" else "right"), MARK_CODES[word[1:]]
    return None


def bands_of(takes: Sequence[GaitTake]) -> dict[tuple[str, Side], Band]:
    """Return curves of several takes of one person together, channel and side → band."""
    found = {}
    for key in dict.fromkeys(key for take in takes for key in take.curves):
        curves = np.concatenate([take.curves[key] for take in takes if key in take.curves])
        if len(curves):
            found[key] = _band(curves)
    return found


@dataclass(frozen=True)
class CurveDifference:
    """A part of the cycle in which two sessions or people differ beyond what cycles scatter by."""

    channel: str
    side: Side
    part: tuple[int, int]
    """First and last per cent of the cycle."""
    most: float
    """Where they differ most, radians: this one minus the other."""

    def __str__(self) -> str:
        more = "more" if self.most > 0.0 else "less"
        return (
            f"{self.channel}, {self.side}: {abs(np.degrees(self.most)):.0f}° {more} than the other "
            f"at most, from {self.part[0]} to {self.part[1]} % of the cycle"
        )


def comparable_sides(takes: Sequence[GaitTake], others: Sequence[GaitTake]) -> tuple[Side, ...]:
    """Return the sides of which both sessions have cycles enough to tell how they scatter."""
    one, other = bands_of(takes), bands_of(others)
    enough = {key[1] for key in one.keys() & other.keys() if _enough(one[key], other[key])}
    return tuple(side for side in SIDES if side in enough)


def _enough(one: Band, other: Band) -> bool:
    return min(one.count, other.count) >= FEWEST_CYCLES


def differences_between(
    takes: Sequence[GaitTake], others: Sequence[GaitTake]
) -> tuple[CurveDifference, ...]:
    """Return where the mean curves of two sessions or people differ beyond noise, largest first.

    Noise is the standard error of either mean, from cycle to cycle; curves of fewer than
    ``FEWEST_CYCLES`` say nothing of it and are not compared.
    """
    one, other, found = bands_of(takes), bands_of(others), []
    for key in one.keys() & other.keys():
        mine, theirs = one[key], other[key]
        if not _enough(mine, theirs):
            continue
        apart = mine.mean - theirs.mean
        error = np.hypot(*(band.deviation / np.sqrt(band.count) for band in (mine, theirs)))
        bound = stdtrit(mine.count + theirs.count - 2, 1.0 - 0.5 * CHANCE_SHARE) * error
        clear = np.abs(apart) > np.maximum(bound, LEAST_DIFFERENCE)
        for first, last in runs(clear):
            if last - first + 1 >= SHORTEST_PART:
                worst = first + int(np.argmax(np.abs(apart[first : last + 1])))
                found.append(CurveDifference(*key, (first, last), float(apart[worst])))
    return tuple(sorted(found, key=lambda each: -abs(each.most)))


def spreads_of(takes: Sequence[GaitTake]) -> dict[tuple[str, Side], NumberSpread]:
    """Return the gait numbers of several takes of one person together."""
    found = {}
    for number in UNITS:
        for side in SIDES:
            values = [value for take in takes for value in take.of(side, number)]
            if values:
                found[number, side] = _spread(values)
    return found


def control_bands(people: Sequence[Sequence[GaitTake]]) -> dict[tuple[str, Side], Band]:
    """Return what is usual: takes and sides of each person averaged first, so that one who took
    many strides counts as one. Both sides have the same band."""
    found = {}
    own = [bands_of(takes) for takes in people]
    for title in dict.fromkeys(title for bands in own for title, _ in bands):
        means = []
        for bands in own:
            sides = [bands[title, side].mean for side in SIDES if (title, side) in bands]
            means += [np.mean(sides, axis=0)] if sides else []
        if means:
            found |= dict.fromkeys([(title, side) for side in SIDES], _band(np.array(means)))
    return found


def control_spreads(people: Sequence[Sequence[GaitTake]]) -> dict[tuple[str, Side], NumberSpread]:
    """Return the usual gait numbers, of people as ``control_bands`` counts them."""
    found = {}
    for number in UNITS:
        own = [[v for t in takes for side in SIDES for v in t.of(side, number)] for takes in people]
        means = [float(np.mean(values)) for values in own if values]
        if means:
            found |= dict.fromkeys([(number, side) for side in SIDES], _spread(means))
    return found


def between_takes(takes: Sequence[GaitTake]) -> dict[tuple[str, Side], float]:
    """Return how much takes of one person differ: the standard deviation of their mean curves,
    root mean square over the cycle, radians; of two takes or more."""
    found = {}
    for key in dict.fromkeys(key for take in takes for key in take.curves):
        means = [take.curves[key].mean(axis=0) for take in takes if len(take.curves.get(key, ()))]
        if len(means) > 1:
            found[key] = float(np.sqrt(np.mean(np.var(means, axis=0, ddof=1))))
    return found


def _band(curves: Array) -> Band:
    deviation = curves.std(axis=0, ddof=1) if len(curves) > 1 else np.full(CYCLE_POINTS, np.nan)
    return Band(curves.mean(axis=0), deviation, len(curves))


def _spread(values: Sequence[float]) -> NumberSpread:
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return NumberSpread(float(np.mean(values)), deviation, len(values))
