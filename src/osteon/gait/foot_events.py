"""Feet → when they strike the ground and leave it.

A foot swings where it is fast against the ground, which on a treadmill is the belt; so walking,
running and stairs are one. Before each swing the foot leaves the ground, after it it strikes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from osteon.errors import NotEnoughData
from osteon.maths import runs
from osteon.posing import sole_paths, standing_of
from osteon.typing import Array
from osteon.values import Motion

Side = Literal["left", "right"]
SIDES: tuple[Side, Side] = ("left", "right")
FINE_RATE = 500.0
"""Samples per second between frames; chosen: ten within the 20 ms that events are told to."""
PATH_CUTOFF = 14.0
"""Hertz above which the feet's paths are noise; chosen: of 7, 10 and 14 the best on the files in
view of docs/numbers/gait.md."""
LEAST_SWING = 0.5
"""Metres per second that a swinging foot reaches; chosen: half of what the slowest walkers of
docs/numbers/gait.md reach."""
SWING_SHARE, SWING_RISE = 0.5, 0.4
"""Shares of the usual top speed that every swing reaches, and by which it stands out; chosen: a
foot that only turns on the ground has less."""
SWING_APART = 0.25
"""Seconds from one swing of a foot to its next at least; chosen: sprinters take 0.4."""
SWING_REACH = 0.5
"""Seconds from a swing's top speed to both its events at most; chosen: slow walkers take 0.4."""
SHORTEST_SWING = 0.15
"""Seconds from a foot's off to its strike at least; chosen: sprinters take 0.3, who shuffles 0.2;
what is shorter is a foot that markers pulled away for a moment."""
OFF_SHARE = 0.3
"""Share of the swing's top speed with which the sole leaves the ground; measured on the files in
view of docs/numbers/gait.md: so the median is where plates say it."""
SLOW_SHARE = 0.2
"""Share of the swing's top speed that a heel has left about when it lands; chosen of 0.15 to 0.3 on
the files in view of docs/numbers/gait.md."""
LANDING_TIME, LANDING_HEIGHT = 0.06, 0.007
"""Seconds about it, and metres above the lowest the sole gets there, in which it lands: soles and
skin yield by so much. Chosen of 5 to 10 mm on the same files."""
SETTLE_TIME = 0.1
"""Seconds after it in which a landed sole is at its lowest; chosen: a foot is flat by then."""
FEWEST_FRAMES = 10
"""Count of frames in a row that show a foot's motion; chosen: fewer leave nothing to smooth."""
SHORT_GAP = 0.1
"""Seconds for which a foot may be out of sight; chosen: a part of any swing, whose rest is
seen."""
LEAST_LOAD = 20.0
"""Newtons from which a plate bears a foot; chosen: laboratories' usual one."""
SHORTEST_LOAD = 0.1
"""Seconds that a foot loads a plate at least; chosen: sprinters do for 0.1."""
LOAD_NEAR = 0.15
"""Seconds between a plate's word and the feet's within which both speak of one event; chosen: less
than any stance or swing lasts."""


class FootEvent(NamedTuple):
    """A foot strikes the ground or leaves it."""

    time: float
    """Seconds from the first frame."""
    side: Side
    kind: Literal["strike", "off"]
    source: Literal["feet", "plate"] = "feet"


class Load(NamedTuple):
    """The vertical force under one foot."""

    force: Array
    """(n_samples,) newtons, up positive; 0 where none, NaN where the foot was on no plate."""
    rate: float


@dataclass(frozen=True, eq=False)
class FootPaths:
    """Where both soles are against the ground, a moving belt taken off."""

    soles: dict[Side, Array]
    """(n_frames, 4, 3): heel, inner and outer ball, tip."""
    known: np.ndarray
    """(n_frames,) whether markers tell where they are; else the pose is held."""
    rate: float
    belt: Array
    """(2,) the belt's velocity, metres per second; zero on solid ground."""


def foot_paths(motion: Motion, seen: np.ndarray | None = None) -> FootPaths:
    """Return the ways of both soles of a human rig.

    ``seen`` (n_frames,) says whether markers show both feet; they may be gone for a moment.
    """
    standing = standing_of(motion)
    names = motion.skeleton.names
    belt = standing.ground.belt
    drift = np.arange(motion.n_frames)[:, None] / motion.rate * belt
    soles: dict[Side, Array] = {}
    for sole in standing.soles:
        path = np.array(sole_paths(motion, sole))
        path[..., :2] -= drift[:, None]
        soles["left" if names[sole.body].startswith("left") else "right"] = path
    if len(soles) < 2:
        raise NotEnoughData("the rig has no two feet by name: no gait events")
    known = np.ones(motion.n_frames, dtype=bool)
    known[list(motion.held)] = False
    for first, last in runs(~seen) if seen is not None else ():
        if last - first + 1 > SHORT_GAP * motion.rate:
            known[first : last + 1] = False
    for path in soles.values():
        known &= np.isfinite(path).all(axis=(1, 2))
    return FootPaths(soles, known, motion.rate, belt)


def find_events(feet: FootPaths, loads: Mapping[Side, Load] | None = None) -> tuple[FootEvent, ...]:
    """Return every strike and off of both feet, in time's order.

    Parameters
    ----------
    loads
        The force under each foot, where plates measured it: they say better when it begins and
        ends.
    """
    found: list[FootEvent] = []
    for first, last in runs(feet.known):
        if last - first + 1 >= FEWEST_FRAMES:
            for side in SIDES:
                part = feet.soles[side][first : last + 1]
                found += _events_of(side, part, first, feet.rate)
    for side, load in (loads or {}).items():
        said = load_times(load)
        found = [_moved(event, said) if event.side == side else event for event in found]
    return tuple(_once(sorted(found)))


def _once(events: list[FootEvent]) -> list[FootEvent]:
    """Without what two swings tell of one landing or leaving."""
    kept: list[FootEvent] = []
    for event in events:
        alike = [e.time for e in kept if (e.side, e.kind) == (event.side, event.kind)]
        if not alike or event.time - alike[-1] > SWING_APART:
            kept.append(event)
    return kept


def _events_of(side: Side, path: Array, first: int, rate: float) -> list[FootEvent]:
    """Events of one foot in a stretch of frames that begins with ``first``."""
    from scipy.interpolate import CubicSpline  # slow to load, rarely asked for

    times = np.arange(len(path)) / rate
    fine = np.arange(0.0, times[-1], 1.0 / FINE_RATE)
    spline = CubicSpline(times, _smooth(path, rate))
    sole, velocity = spline(fine), spline(fine, 1)
    speed = np.linalg.norm(velocity.mean(axis=1), axis=-1)
    heel = np.linalg.norm(velocity[:, 0], axis=-1)
    lowest = sole[..., 2].min(axis=1)
    events = []
    for swing, top in _swings(speed):
        off, strike = _leaves(speed, top, swing), _lands(heel, lowest, top, swing)
        swung = np.inf if off is None or strike is None else strike - off
        if swung < SHORTEST_SWING * FINE_RATE:
            continue
        if off is not None:
            events.append(FootEvent(first / rate + off / FINE_RATE, side, "off"))
        if strike is not None:
            events.append(FootEvent(first / rate + strike / FINE_RATE, side, "strike"))
    return events


def _smooth(path: Array, rate: float) -> Array:
    if rate <= 2.0 * PATH_CUTOFF:
        return path
    from scipy.signal import butter, sosfiltfilt  # slow to load, rarely asked for

    sections = butter(2, 2.0 * PATH_CUTOFF / rate, output="sos")
    return sosfiltfilt(sections, path, axis=0, padlen=min(len(path) - 1, 9))


def _swings(speed: Array) -> list[tuple[int, float]]:
    """Of every swing the sample at which the foot is fastest, and how fast."""
    usual = float(np.quantile(speed, 0.95))
    if usual < LEAST_SWING:
        return []
    from scipy.signal import find_peaks  # slow to load, rarely asked for

    # still before and after the take, so that a swing which it cuts has its top at the cut
    found, _ = find_peaks(
        np.concatenate([[0.0], speed, [0.0]]),
        height=SWING_SHARE * usual,
        distance=round(SWING_APART * FINE_RATE),
        prominence=SWING_RISE * usual,
    )
    swings = (found - 1).tolist()
    cut = (0, len(speed) - 1)
    return [(at, max(float(speed[at]), usual if at in cut else 0.0)) for at in swings]


def _leaves(speed: Array, top: float, swing: int) -> int | None:
    """Return the sample of the last moment before a swing that the sole is slow, if it is."""
    first = max(0, swing - round(SWING_REACH * FINE_RATE))
    slow = np.flatnonzero(speed[first:swing] < OFF_SHARE * top)
    return None if not len(slow) else first + int(slow[-1])


def _lands(heel: Array, lowest: Array, top: float, swing: int) -> float | None:
    """Return the sample, between samples, at which the sole lands, if it does.

    About when the heel is slow, its lowest point comes down to where it then stays.
    """
    last = min(len(heel), swing + round(SWING_REACH * FINE_RATE))
    slow = np.flatnonzero(heel[swing:last] < SLOW_SHARE * top)
    if not len(slow):
        return None
    slowed = swing + int(slow[0])
    first = max(swing, slowed - round(LANDING_TIME * FINE_RATE))
    level = lowest[first : slowed + round(SETTLE_TIME * FINE_RATE) + 1].min() + LANDING_HEIGHT
    down = np.flatnonzero(lowest[first:last] < level)
    return first + int(down[0]) if len(down) else slowed


def load_times(load: Load) -> list[tuple[str, float]]:
    """Return when a load begins (``strike``) and ends (``off``), where that was seen; seconds."""
    bears = np.nan_to_num(load.force) > LEAST_LOAD
    said: list[tuple[str, float]] = []
    for first, last in runs(bears):
        if last - first + 1 < SHORTEST_LOAD * load.rate:
            continue
        if first > 0 and np.isfinite(load.force[first - 1]):
            said.append(("strike", first / load.rate))
        if last + 1 < len(bears) and np.isfinite(load.force[last + 1]):
            said.append(("off", (last + 1) / load.rate))
    return said


def _moved(event: FootEvent, said: list[tuple[str, float]]) -> FootEvent:
    near = [time for kind, time in said if kind == event.kind]
    near = [time for time in near if abs(time - event.time) < LOAD_NEAR]
    if not near:
        return event
    return event._replace(time=min(near, key=lambda time: abs(time - event.time)), source="plate")
