"""Steps of feet that may slide: what is on the ground is told by heights, for what slides is not
still."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.maths import moving_mean, runs
from osteon.posing.contacts import (
    LOW_HEIGHT,
    NEARBY_TIME,
    SHORTEST_STAND,
    STANDING_SPEED,
    Sole,
    Standing,
    sole_paths,
)
from osteon.typing import Array
from osteon.values import Motion

GROUND_HEIGHT = 0.025
"""Metres above the floor of that time within which a sole is on the ground though it may slide.
Chosen: soles are told to a centimetre; what swings by as low is told by its speed."""
CARRY_HEIGHT = 0.012
"""Metres above its lowest point at which a point of a sole carries nothing. Chosen: as far as soles
are not flat."""
CARRYING_SHARE, TOUCHING_SHARE = 0.5, 0.05
"""Shares above which a point carries a sole, and above which it touches the ground. Chosen: a
point that stands on another motion's path is found in 170 of 177 stays by the second, in 158 by
the first."""
FLOOR_PERCENTILE = 10
"""Percentile, a share in hundredths, of the heights about that time that is the floor. Chosen: a
runner's foot is down a third of the time, and a heel that goes in deep does not count."""
ODD_FRAMES = 5
"""Count of frames over which one that is wrong, as a first frame in T-pose, is passed over.
Chosen: the median of five stands against two."""
SWING_SHARE = 0.4
"""Share of the body's own speed from which on a low foot is not sliding but swings by. Derived: on
a path scaled by 1.4 soles slide at 0.29 of it, on one by 0.6 at 0.67, and a walker's feet swing at
twice of it."""


@dataclass(frozen=True, eq=False)
class Stance:
    """A step: a sole on the ground, which may slide there."""

    sole: Sole
    frames: tuple[int, int]
    """First and last."""
    shares: Array
    """(n_frames_of_it, n_points) how much each point carries: 1 for the lowest."""

    @property
    def span(self) -> slice:
        return slice(self.frames[0], self.frames[1] + 1)


@dataclass(frozen=True)
class FootSlide:
    """A step in which a sole does not stay where it is."""

    body: str
    frames: tuple[int, int]
    """First and last of the step."""
    length: float
    """Metres along the ground of the point that goes farthest while it touches."""


def find_stances(motion: Motion, standing: Standing) -> list[Stance]:
    """Of every sole the times that it is on the ground."""
    if motion.n_frames < 3 or not standing.soles:
        return []
    paths = [sole_paths(motion, sole) for sole in standing.soles]
    heights = [path[..., 2] - standing.ground.height(path) for path in paths]
    lowest = np.stack([_steady(height.min(axis=1)) for height in heights])
    floors = _floors(lowest, motion.rate)
    if standing.ground.solid:  # toes that dip through it are on no deeper floor
        floors = np.maximum(floors, 0.0)
    # one foot may be told higher than the other; a foot that is held in the air is on no floor
    higher = np.median(floors - floors.min(axis=0), axis=1, keepdims=True)
    level = floors - np.minimum(higher, LOW_HEIGHT)
    low = (lowest < floors + GROUND_HEIGHT) & (level < level.min(axis=0) + LOW_HEIGHT)
    stances = []
    for sole, path, height, down in zip(standing.soles, paths, heights, low, strict=True):
        above = height - height.min(axis=1, keepdims=True)
        shares = np.clip(1.0 - above / CARRY_HEIGHT, 0.0, 1.0)
        slid = slid_by(path[..., :2], shares, standing.ground.belt / motion.rate)
        for first, last in _spans(down & ~_swings(motion, slid), motion.rate):
            stances.append(Stance(sole, (first, last), shares[first : last + 1]))
    return stances


def _floors(lowest: Array, rate: float) -> Array:
    """(n_soles, n_frames) how low each sole gets about that time."""
    from scipy.ndimage import percentile_filter  # slow to load, and solve loads this module

    size = min(max(1, round(NEARBY_TIME * rate)), lowest.shape[1])
    return percentile_filter(lowest, FLOOR_PERCENTILE, (1, size), mode="nearest")


def _spans(down: np.ndarray, rate: float) -> list[tuple[int, int]]:
    """First and last frames of the times that last, short gaps closed."""
    from scipy.ndimage import binary_closing  # slow to load, as above

    shortest = max(1, round(SHORTEST_STAND * rate))
    closed = binary_closing(np.pad(down, shortest), np.ones(shortest, dtype=bool))
    spans = runs(closed[shortest:-shortest] | down)
    return [(first, last) for first, last in spans if last - first + 1 >= shortest]


def slid_by(paths: Array, shares: Array, belt: Array) -> Array:
    """Return (n_frames, 2) how far what carries a sole slides from each frame to the next, metres.

    Parameters
    ----------
    paths : (n_frames, n_points, 2)
        Of the sole's points along the ground.
    shares : (n_frames, n_points)
        How much each carries.
    belt : (2,)
        How far the ground goes from frame to frame.
    """
    both = np.minimum(shares[1:], shares[:-1]) + 1e-9
    moves = np.diff(paths, axis=0) - belt
    slid = np.sum(both[..., None] * moves, axis=1) / both.sum(axis=1, keepdims=True)
    return np.concatenate([slid, slid[-1:]])


def slides_of(motion: Motion, steps: Sequence[Stance], belt: Array) -> Array:
    """Return (n_steps,) how far the sole slides along the ground in each, metres: the steadiest of
    the points that carry it for long, while they do."""
    slides = []
    for step in steps:
        ways = _ways_on_ground(motion, step, belt, CARRYING_SHARE)
        longest = max(len(way) - 1 for way in ways)
        slides.append(min(_extent(way) for way in ways if len(way) - 1 >= 0.5 * longest))
    return np.array(slides)


def farthest_slides(motion: Motion, steps: Sequence[Stance], belt: Array) -> list[FootSlide]:
    """Return how far in each step that point goes along the ground that goes farthest, of those
    that touch it for as long as a stand lasts: a sole that rolls or turns slides in some point."""
    shortest, names = round(SHORTEST_STAND * motion.rate), motion.skeleton.names
    found = []
    for step in steps:
        ways = _ways_on_ground(motion, step, belt, TOUCHING_SHARE)
        far = max((_extent(way) for way in ways if len(way) >= shortest), default=0.0)
        found.append(FootSlide(names[step.sole.body], step.frames, far))
    return found


def _ways_on_ground(motion: Motion, step: Stance, belt: Array, share: float) -> list[Array]:
    """(n_frames_of_it, 2) along the ground of each point, each time that it carries such a share of
    the sole."""
    paths = sole_paths(motion.frames(*step.frames), step.sole)[..., :2]
    paths = paths - np.arange(len(paths))[:, None, None] / motion.rate * belt
    return [
        paths[first : last + 1, point]
        for point, on in enumerate(share < step.shares.T)
        for first, last in runs(on)
    ]


def _extent(way: Array) -> float:
    return float(np.linalg.norm(np.ptp(way, axis=0)))


def _steady(values: Array) -> Array:
    from scipy.ndimage import median_filter  # slow to load, as above

    return median_filter(values, min(ODD_FRAMES, len(values)), mode="reflect")


def _swings(motion: Motion, slid: Array) -> np.ndarray:
    """(n_frames,) whether a foot is too fast to be one that stands and slides."""
    rate = motion.rate
    going = np.gradient(motion.root[:, :2], axis=0) * rate
    sizes = [max(1, round(seconds * rate)) for seconds in (SHORTEST_STAND, NEARBY_TIME)]
    speeds = [np.linalg.norm(moving_mean(going, size), axis=-1) for size in sizes]
    body = np.maximum(*speeds)
    speed = np.linalg.norm(slid, axis=-1) * rate
    return speed > np.maximum(STANDING_SPEED, SWING_SHARE * body)
