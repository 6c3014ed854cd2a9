"""Which feet stand, on what ground, and since when.

Points under the sole are watched. One stands while it is slow and low, with hysteresis, for some
time at least; its stay is then widened or narrowed to the frames that are as still as its middle.
On a treadmill a standing foot goes with the belt: the speed that low points usually have is taken
off first. The ground is the plane that standing points agree on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.errors import BadValue, NotEnoughData
from osteon.human import StandingFigure, figure_at_rest
from osteon.maths import moving_least, moving_mean, quat, runs
from osteon.typing import Array, Indices
from osteon.values import Motion

FEET = ("left_foot", "right_foot")
STANDING_SPEED, STANDSTILL_SPEED = 0.35, 0.15
"""Metres per second: a standing point is slower than the first and was slower than the second.
Chosen."""
LOW_HEIGHT = 0.05
"""Metres above the lowest place that the point has about that time. Chosen."""
LOW_SHARE = 0.1
"""Share of its frames in which the end of a limb is lower than what it comes down to. Chosen: feet
stand far longer."""
NEARBY_TIME = 1.2
"""Seconds that count as about that time. Chosen: longer than a step, and uphill the ground
rises."""
GROUND_DISTANCE = 0.03
"""Metres from the ground at which a plant is on something else. Chosen."""
SHORTEST_STAND = 0.10
"""Seconds that a foot stands at least. Chosen."""
BELT_SPEED = 0.25
"""Metres per second above which low points are taken to stand on a moving belt. Chosen."""
STRAY_SPREADS = 2.5
"""Standard deviations from its middle place that a standing point may be. Chosen."""
TOUCH_HEIGHT, ROLL_SPEED = 0.004, 0.6
"""Metres above the ground and metres per second below which a foot that has stood, or is about to,
touches it. Chosen."""
THROUGH_DEPTH, THROUGH_SHARE = 0.02, 0.1
"""Where soles are deeper than this, metres, in a greater share of frames, there is no ground.
Chosen."""
ELSEWHERE_SHARE = 0.25
"""Where a greater share of plants is on something else, there is no ground either. Chosen."""
PLACE_RMS = 0.008
"""Metres about its middle that a standing point may wander. Chosen."""
BURST_FACTOR = 3.0
"""Ratio: times its usual speed that a point reaches where it moves from one place to the next.
Chosen."""
TOE_LENGTH = 0.02
"""Metres; tips that are nearer to the joint of their toes are the foot's. Chosen: shorter toes
would spin as their tip is moved by millimetres."""
TIP_AHEAD, TIP_BELOW = 0.22, 0.08
"""Of a leg's length, how far the tip of the toes is ahead of the ankle and below it: ankles are at
0.039 and feet 0.152 of a body's height, of which thigh and shin are 0.49 [Drillis 1966]."""
HEEL, TIP = 0, 3
"""Points of a sole."""
ZERO_HEIGHT = 0.06
"""Metres from z = 0 within which the ground is taken to be there. Chosen; see
``calibration.soles``."""
HILL_SLOPE, FLAT_DISTANCE = 0.06, 0.03
"""Ratio of rise to way from which on the ground is a hill, and metres that no point of a sole
usually stands from it. Chosen: up to there places are low enough as on the level; on stairs soles
do not lie along the slope, and their ends are 7 cm off."""
FLOOR_SLOPE, HILL_SPREAD = 0.01, 1.0
"""Ratios of rise to way: standard deviations of the slopes that floors and hills have. Chosen."""


@dataclass(frozen=True)
class Plant:
    """A point of the sole that stays on the ground."""

    body: str
    point: int
    """Which point of the sole."""
    frames: tuple[int, int]
    """First and last."""
    place: tuple[float, float, float]
    """Where it stays, in the world, metres."""


@dataclass(frozen=True)
class Contact:
    """A foot on the ground with any of its points."""

    body: str
    frames: tuple[int, int]
    """First and last."""


@dataclass(frozen=True, eq=False)
class GroundPlane:
    """height = offset + slope · (x, y); ``belt`` is the speed of a treadmill."""

    offset: float
    slope: Array
    """(2,)"""
    belt: Array
    """(2,) metres per second."""
    solid: bool = True
    """Whether the feet stay above it; over stairs, or in the air, there is no such plane."""

    def height(self, points: Array) -> Array:
        """Return (...) of the ground below points (..., 3), metres."""
        return self.offset + points[..., :2] @ self.slope

    def bears(self, place: tuple[float, float, float]) -> bool:
        """Return whether a plant at this place is on the ground, not on something else."""
        return self.solid and abs(place[2] - float(self.height(np.array(place)))) < GROUND_DISTANCE


@dataclass(frozen=True, eq=False)
class Sole:
    """Points under a foot."""

    body: int
    points: Array
    """(n_points, 3) heel, inner and outer ball, tip of the toes, or whatever ends the limb has,
    each in its carrier's frame from its joint."""
    carriers: Indices
    """(n_points,) the body that carries each: the foot, and the toes their tip where they move by
    themselves."""


@dataclass(frozen=True, eq=False)
class Standing:
    """All that is known of feet and ground."""

    soles: tuple[Sole, ...]
    plants: tuple[Plant, ...]
    ground: GroundPlane
    contacts: tuple[Contact, ...] = ()
    """Feet on the ground, from the first touch to the last: longer than the sole stands."""

    def stays(self, body: str, point: int) -> list[tuple[int, int]]:
        """First and last frames in which a point of a sole stands."""
        return [p.frames for p in self.plants if (p.body, p.point) == (body, point)]


def find_soles(figure: StandingFigure) -> tuple[Sole, ...]:
    """Points spread under the feet of a figure at rest."""
    soles = []
    for side in ("left", "right"):
        part = f"{side}_foot"
        if part not in figure.parts:
            continue
        end = figure.end(part)
        if end is None:
            end = _usual_tip(figure, side)
        sole = figure.sole(side)
        up = figure.axes()[:, 2] if sole is None else sole[:, 2]
        ankle, body = figure.joint(part), figure.skeleton.index(figure.parts[part])
        toes = figure.skeleton.index(figure.parts.get(f"{side}_toes", figure.parts[part]))
        if np.linalg.norm(end - figure.joints[toes]) < TOE_LENGTH:
            toes = body
        along = (end - ankle) - ((end - ankle) @ up) * up
        across = 0.25 * np.cross(up, along)
        heel = end - 1.3 * along
        ball = end - 0.3 * along
        carriers = np.array([body, body, body, toes])
        places = np.stack([heel, ball + across, ball - across, end]) - figure.joints[carriers]
        points = quat.rotate(quat.inverse(figure.rotations[carriers]), places)
        soles.append(Sole(body, points, carriers))
    return tuple(soles)


def ends_on_ground(motion: Motion) -> tuple[Sole, ...]:
    """Return what any creature stands on: the ends of its limbs that come down as far as the lowest
    does."""
    skeleton, soles = motion.skeleton, []
    for body in sorted(set(range(len(skeleton.bodies))) - set(skeleton.parents)):
        points = np.array(skeleton.bone_ends(body) or [np.zeros(3)])
        soles.append(Sole(body, points, np.full(len(points), body)))
    low = [np.quantile(sole_paths(motion, sole)[..., 2], LOW_SHARE, axis=0) for sole in soles]
    down = [each < np.concatenate(low).min() + LOW_HEIGHT for each in low]
    return tuple(
        Sole(sole.body, sole.points[own], sole.carriers[own])
        for sole, own in zip(soles, down, strict=True)
        if own.any()
    )


def _usual_tip(figure: StandingFigure, side: str) -> Array:
    """Return (3,) the tip of a foot of which only the ankle is known, as long as on such legs."""
    forward, _, up = figure.axes().T
    leg = 0.5 * figure.size()
    return figure.joint(f"{side}_foot") + leg * (TIP_AHEAD * forward - TIP_BELOW * up)


def feet_without_length(figure: StandingFigure) -> list[str]:
    """Feet of which only the ankle is known."""
    return [figure.parts[p] for p in FEET if p in figure.parts and figure.end(p) is None]


def contacts_of(motion: Motion) -> tuple[Contact, ...]:
    """Feet on the ground; none where the skeleton's parts have no human names."""
    return standing_of(motion).contacts


def standing_of(motion: Motion) -> Standing:
    """Feet and ground; nothing stands where the skeleton's parts have no human names."""
    try:
        soles = find_soles(figure_at_rest(motion.skeleton))
    except (NotEnoughData, BadValue):
        soles = ()
    return find_standing(motion, soles)


def soles_off(standing: Standing) -> dict[str, float]:
    """Foot → metres that its heel or its tip, whichever is worse, usually stands above the ground,
    or above z = 0 where that is as good as the ground; below is negative."""
    base = standing.ground
    if not base.solid:
        return {}
    if abs(base.offset) < ZERO_HEIGHT:
        base = replace(base, offset=0.0)
    heights: dict[str, dict[int, list[float]]] = {}
    for plant in standing.plants:
        if plant.point in (HEEL, TIP):
            above = plant.place[2] - float(base.height(np.array(plant.place)))
            heights.setdefault(plant.body, {}).setdefault(plant.point, []).append(above)
    usual = {body: [float(np.median(p)) for p in each.values()] for body, each in heights.items()}
    return {body: max(each, key=abs) for body, each in usual.items()}


@dataclass(frozen=True, eq=False)
class _Feet:
    """Where the bodies under a figure's soles are in the world: looked up once, used often."""

    motion: Motion
    turned: dict[int, Array]
    """(n_frames, 4) of each body that carries a point."""
    joints: dict[int, Array]
    """(n_frames, 3)"""

    @classmethod
    def of(cls, motion: Motion, soles: Sequence[Sole]) -> "_Feet":
        bodies = list(dict.fromkeys(body for sole in soles for body in sole.carriers.tolist()))
        turned, joints = (np.moveaxis(each, 1, 0).copy() for each in motion.world_of(bodies))
        pairs = (dict(zip(bodies, each, strict=True)) for each in (turned, joints))
        return cls(motion, *pairs)

    def paths(self, sole: Sole) -> Array:
        """Return (n_frames, n_points, 3) of a sole's points in the world."""
        pairs = zip(sole.carriers.tolist(), sole.points, strict=True)
        paths = [self.joints[b] + quat.rotate(self.turned[b], point) for b, point in pairs]
        return np.stack(paths, axis=1)


def find_standing(motion: Motion, soles: Sequence[Sole], like: Standing | None = None) -> Standing:
    """Foot plants of a motion, and the ground they are on.

    Parameters
    ----------
    like
        Of the motion that this one was made from, its bodies called as here: feet stand when they
        stand there, though legs of other lengths have made them slide since.
    """
    flat = GroundPlane(0.0, np.zeros(2), np.zeros(2))
    if not soles or motion.n_frames < 3:
        return Standing(tuple(soles), (), flat)
    feet = _Feet.of(motion, soles)
    paths = [feet.paths(sole) for sole in soles]
    belt = _belt(paths, motion)
    drift = np.zeros((motion.n_frames, 3))
    drift[:, :2] = np.arange(motion.n_frames)[:, None] / motion.rate * belt
    plants, slope = [], _hillside([path - drift[:, None] for path in paths], motion.rate)
    for sole, path in zip(soles, paths, strict=True):
        name = motion.skeleton.names[sole.body]
        for point in range(len(sole.points)):
            still = path[:, point] - drift
            stays = _stays(still, motion.rate, slope) if like is None else like.stays(name, point)
            for first, last in stays:
                x, y, z = np.median(still[first : last + 1], axis=0).tolist()
                plants.append(Plant(name, point, (first, last), (x, y, z)))
    ground = replace(_fit_ground(plants, slope), belt=belt)
    soles = _level(feet, soles, plants, ground)
    paths = [feet.paths(sole) for sole in soles]
    deep = [(ground.height(path) - path[..., 2]).max(axis=1) for path in paths]
    deep = np.max(deep, axis=0) > THROUGH_DEPTH
    solid = bool(deep.mean() < THROUGH_SHARE) and _agree(plants, ground)
    ground = replace(ground, solid=solid and (like is None or like.ground.solid))
    return Standing(soles, tuple(plants), ground, _touching(feet, soles, plants, ground))


def _agree(plants: Sequence[Plant], ground: GroundPlane) -> bool:
    """Return whether nearly every point stands as high above the ground as it usually does."""
    above: dict[tuple[str, int], list[float]] = {}
    for plant in plants:
        height = plant.place[2] - float(ground.height(np.array(plant.place)))
        above.setdefault((plant.body, plant.point), []).append(height)
    off = [abs(height - np.median(each)) for each in above.values() for height in each]
    return bool(np.mean(np.array([*off, 0.0]) > GROUND_DISTANCE) < ELSEWHERE_SHARE)


def _touching(
    feet: _Feet, soles: Sequence[Sole], plants: Sequence[Plant], ground: GroundPlane
) -> tuple[Contact, ...]:
    """By foot: while any point of its sole stands, and before and after that while one rolls over
    the ground."""
    found = []
    for sole in soles:
        name = feet.motion.skeleton.names[sole.body]
        on = np.zeros(feet.motion.n_frames, dtype=bool)
        for plant in plants:
            if plant.body == name:
                on[plant.frames[0] : plant.frames[1] + 1] = True
        touches = on | _rolls(feet, sole, ground) if ground.solid else on
        spans = [span for span in runs(touches) if on[span[0] : span[1] + 1].any()]
        found += [Contact(name, span) for span in spans]
    return tuple(sorted(found, key=lambda contact: contact.frames))


def _rolls(feet: _Feet, sole: Sole, ground: GroundPlane) -> np.ndarray:
    """Return (n_frames,) whether the sole turns about a point of its own that is at the ground."""
    paths = feet.paths(sole)
    belt = np.arange(feet.motion.n_frames)[:, None, None] / feet.motion.rate * ground.belt
    still = np.concatenate([paths[..., :2] - belt, paths[..., 2:]], axis=-1)
    points = range(len(sole.points))
    speed = np.stack([_speed(still[:, point], feet.motion.rate) for point in points], axis=-1)
    low = paths[..., 2] - ground.height(paths) < TOUCH_HEIGHT
    pivots = speed < np.minimum(ROLL_SPEED, 0.5 * speed.max(axis=-1, keepdims=True))
    return np.any(low & pivots, axis=-1)


def sole_paths(motion: Motion, sole: Sole) -> Array:
    """Return (n_frames, n_points, 3) of a sole's points in the world."""
    return motion.points(sole.carriers, sole.points)


def _speed(path: Array, rate: float) -> Array:
    """Return the speed (n_frames,) over a twentieth of a second, metres per second."""
    half = max(1, round(0.025 * rate))
    padded = np.concatenate([path[:1].repeat(half, 0), path, path[-1:].repeat(half, 0)])
    span = np.minimum(np.arange(len(path)) + half, len(path) - 1)
    span = span - np.maximum(np.arange(len(path)) - half, 0)
    return np.linalg.norm(padded[2 * half :] - padded[: -2 * half], axis=-1) * rate / span


def _belt(paths: Sequence[Array], motion: Motion) -> Array:
    """Return (2,) velocity that low points usually have; zero where they stand, and where the
    figure goes along with them: who walks on a belt stays, whose feet slide gets on."""
    rate = motion.rate
    velocities = []
    for path in np.concatenate(list(paths), axis=1).swapaxes(0, 1):
        low = path[1:, 2] < np.quantile(path[:, 2], 0.1) + 0.02
        velocities.append((np.diff(path[:, :2], axis=0) * rate)[low])
    usual = np.median(np.concatenate(velocities), axis=0)
    going = (motion.root[-1] - motion.root[0])[:2] * rate / (motion.n_frames - 1)
    speed = np.linalg.norm(usual)
    return usual if speed > BELT_SPEED and going @ usual < 0.5 * speed**2 else np.zeros(2)


def _hillside(paths: Sequence[Array], rate: float) -> Array:
    """Return (2,) the slope of a hill that soles stand flat on; zero on floors, and on stairs."""
    found, whose = [], []
    for point, path in enumerate(np.concatenate(list(paths), axis=1).swapaxes(0, 1)):
        still = runs(_speed(path, rate) < STANDSTILL_SPEED)
        long = [span for span in still if span[1] - span[0] >= SHORTEST_STAND * rate]
        found += [np.median(path[first : last + 1], axis=0) for first, last in long]
        whose += [point] * len(long)
    level = np.zeros(2)
    if not found:
        return level
    places, points = np.array(found), np.array(whose)
    plane = _plane(places, level, HILL_SPREAD)
    for _ in range(5):
        off = np.abs(places[:, 2] - plane.height(places))
        kept = off <= max(GROUND_DISTANCE, float(np.median(off)))
        plane = _plane(places[kept], level, HILL_SPREAD)
    above = places[:, 2] - plane.height(places)
    flat = max(abs(np.median(above[points == point])) for point in set(whose)) < FLAT_DISTANCE
    return plane.slope if flat and np.linalg.norm(plane.slope) > HILL_SLOPE else level


def _stays(path: Array, rate: float, slope: Array) -> list[tuple[int, int]]:
    """First and last frames in which a point stands."""
    speed = _speed(path, rate)
    slow = speed < STANDING_SPEED
    if not slow.any():
        return []
    height = path[:, 2] - path[:, :2] @ slope
    low = height < moving_least(height, max(1, round(NEARBY_TIME * rate))) + LOW_HEIGHT
    stays, smooth = [], moving_mean(path, max(1, round(0.04 * rate)))
    for first, last in runs(slow & low):
        if speed[first : last + 1].min() < STANDSTILL_SPEED:
            stays += _places(smooth, speed, first, last, round(SHORTEST_STAND * rate))
    return stays


def _places(
    path: Array, speed: Array, first: int, last: int, shortest: int
) -> list[tuple[int, int]]:
    """Return the stays within a run of slow frames: one, several with quick moves between them, or
    none where the point drifts all the time and stands nowhere."""
    if last - first + 1 < max(shortest, 1):
        return []
    quarter = (last - first + 1) // 4
    if _spread(path[first + quarter : last - quarter + 1]) < PLACE_RMS:
        first, last = _as_still_as_its_middle(path, first, last)
        return [(first, last)] if last - first + 1 >= shortest else []
    inner = speed[first + 1 : last]
    if not len(inner):  # two frames, as slow cameras have, at two places
        return []
    move = first + 1 + int(np.argmax(inner))
    if speed[move] < BURST_FACTOR * np.median(inner):
        return []
    before = _places(path, speed, first, move - 1, shortest)
    return before + _places(path, speed, move + 1, last, shortest)


def _spread(path: Array) -> float:
    """Distance from the median place, rms, metres."""
    return float(np.sqrt(np.mean(np.sum((path - np.median(path, axis=0)) ** 2, axis=-1))))


def _as_still_as_its_middle(path: Array, first: int, last: int) -> tuple[int, int]:
    own = path[first : last + 1]  # a stay costs its own frames, not those of the take
    quarter = len(own) // 4
    middle = own[quarter : len(own) - quarter]
    away = np.linalg.norm(own - np.median(middle, axis=0), axis=-1)
    near = away < STRAY_SPREADS * _spread(middle) + 0.0003
    begin, end, inner = 0, len(own) - 1, (first + last) // 2 - first
    while begin < inner and not near[begin : begin + 2].all():
        begin += 1
    while end > inner and not near[end - 1 : end + 1].all():
        end -= 1
    return first + begin, first + end


def _fit_ground(plants: Sequence[Plant], slope: Array) -> GroundPlane:
    """Return the plane through the plants, of this slope unless they say otherwise. How high each
    point of a sole stands above it is found along with it."""
    if not plants:
        return GroundPlane(0.0, np.zeros(2), np.zeros(2))
    places = np.array([plant.place for plant in plants])
    points = sorted({(plant.body, plant.point) for plant in plants})
    whose = np.array([points.index((plant.body, plant.point)) for plant in plants])
    ground = _plane(places, slope, FLOOR_SLOPE)
    for _ in range(5):
        above = places[:, 2] - ground.height(places)
        kept = np.abs(above) <= max(
            GROUND_DISTANCE, float(np.median(np.abs(above)))
        )  # half at least
        level = places.copy()
        for point in range(len(points)):
            if (own := kept & (whose == point)).any():
                level[own, 2] -= np.median(above[own])
        ground = _plane(level[kept], slope, FLOOR_SLOPE)
    return ground


def _plane(places: Array, usual: Array, spread: float) -> GroundPlane:
    """Least squares, drawn towards the usual slope, at the height of most: heels and balls that are
    held still in the air stand nowhere."""
    centre = places.mean(axis=0)
    arms = places[:, :2] - centre[:2]
    rise = places[:, 2] - centre[2] - arms @ usual
    noise = 0.01**2 / spread**2
    slope = usual + np.linalg.solve(arms.T @ arms + noise * np.eye(2), arms.T @ rise)
    offset = float(np.median(places[:, 2] - places[:, :2] @ slope))
    return GroundPlane(offset, slope, np.zeros(2))


def _level(
    feet: _Feet, soles: Sequence[Sole], plants: Sequence[Plant], ground: GroundPlane
) -> tuple[Sole, ...]:
    """Soles whose points lie on the ground where they stand: nobody says how thick they are."""
    levelled = []
    for sole in soles:
        points = np.array(sole.points)
        name = feet.motion.skeleton.names[sole.body]
        for point in range(len(points)):
            own = [plant for plant in plants if (plant.body, plant.point) == (name, point)]
            own = [plant for plant in own if ground.bears(plant.place)]
            if not own:
                continue
            lift = np.median([p.place[2] - ground.height(np.array(p.place)) for p in own])
            frames = [f for p in own for f in range(p.frames[0], p.frames[1] + 1)]
            carrier = feet.turned[sole.carriers[point]][frames]
            down = quat.rotate(quat.inverse(carrier), np.array([0.0, 0.0, -1.0]))
            points[point] += lift * np.median(down, axis=0)
        levelled.append(replace(sole, points=points))
    return tuple(levelled)
