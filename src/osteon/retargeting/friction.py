"""Feet on the ground within the simulation: pushed out of it, and held by friction. [003].

Points of a sole that hardly move in the simulation without a ground are planted: those that touch
it stick to where they touch, and slide when what pulls them along exceeds friction. The ground only
pushes. What loads a foot is not known, for springs carry the body; it is taken as what they pull
when they are stretched by ``LOAD_STRETCH``, and on a slope a part of that pulls downhill.
"""

from dataclasses import dataclass

import numpy as np

from osteon.posing import GroundPlane, Standing
from osteon.retargeting.pins import EASE_SECONDS, GROUND_STIFFNESS, PIN_STIFFNESS
from osteon.typing import Array
from osteon.values import Motion

FRICTION_RATIO = 0.8
"""Ratio of friction to load. Chosen: rubber on a dry floor."""
LOAD_STRETCH = 0.05
"""Metres. Chosen: twice what a pin allows, for markers that stray farther from a planted foot know
better."""
PLANTED_SPEED = 0.2
"""Metres per second of a point of the sole below which it is planted. Chosen: feet that swing are
ten times as fast."""
SPEED_SECONDS = 0.1
"""Seconds over which that speed is told. Chosen: noise of millimetres is none, and steps are
longer."""
TOUCH_DISTANCE = 0.008
"""Metres above the ground within which a point touches it. Chosen: what soles give."""


@dataclass(frozen=True, eq=False)
class Feet:
    """Points that may touch the ground."""

    bodies: np.ndarray
    """(n_points,) the body that carries each."""
    places: Array
    """(n_points, 3) in its frame, from its joint."""
    paths: Array
    """(n_frames, n_points, 3) where they come to rest without a ground."""
    ground: GroundPlane


def feet_of_soles(motion: Motion, standing: Standing) -> Feet | None:
    """The soles of a figure whose feet are known; None where there is no ground for them."""
    if not standing.soles or not standing.ground.solid:
        return None
    bodies = np.array([body for sole in standing.soles for body in sole.carriers], dtype=int)
    places = np.concatenate([sole.points for sole in standing.soles])
    return Feet(bodies, places, motion.points(bodies, places), standing.ground)


def feet_of_ends(motion: Motion) -> Feet | None:
    """The ends of all limbs of any creature; the ground is level, where the lowest of them stay.
    None where its limbs have no ends."""
    skeleton, parents = motion.skeleton, set(motion.skeleton.parents)
    leaves = [body for body in range(len(skeleton.bodies)) if body not in parents]
    ends = [(body, end) for body in leaves for end in skeleton.bone_ends(body)]
    if not ends:
        return None
    bodies, places = np.array([body for body, _ in ends]), np.array([end for _, end in ends])
    paths = motion.points(bodies, places)
    low = float(np.median(paths[..., 2].min(axis=1)))
    return Feet(bodies, places, paths, GroundPlane(low, np.zeros(2), np.zeros(2)))


class Soles:
    """What the ground does to the feet, from frame to frame."""

    def __init__(self, feet: Feet, rate: float) -> None:
        n_points = len(feet.bodies)
        self._feet, self._rate = feet, rate
        self._anchors = np.full((n_points, 3), np.nan)
        self._shares = np.zeros(n_points)
        self._wanted = feet.paths[0]
        self._planted = _planted(feet, rate)
        slope = np.array([*feet.ground.slope, -1.0])
        self._normal = -slope / np.linalg.norm(slope)

    def begin(self, frame: int) -> None:
        """Go on to a frame: who hardly moves on the ground is planted."""
        ease = 1.0 / max(EASE_SECONDS * self._rate, 1.0)
        step = np.where(self._planted[frame], ease, -2.0 * ease)
        self._shares = np.clip(self._shares + step, 0.0, 1.0)
        self._wanted = self._feet.paths[frame]
        self._anchors += np.array([*self._feet.ground.belt, 0.0]) / self._rate

    def react(self, places: Array) -> tuple[Array, Array]:
        """Return what pulls the points (n_points, 3) and how stiffly, at ``places`` of theirs."""
        ground = self._feet.ground
        height = (places[:, 2] - ground.height(places)) * self._normal[2]
        stuck = np.isfinite(self._anchors[:, 0])
        touching = (height < TOUCH_DISTANCE) & (self._shares > 0.0)
        stuck &= (self._shares > 0.0) & (height < 2.0 * TOUCH_DISTANCE)  # the ground only pushes
        fresh = touching & ~stuck
        on_ground = places - height[:, None] * self._normal
        self._anchors[fresh] = on_ground[fresh]
        self._anchors[~(stuck | fresh)] = np.nan
        held = stuck | fresh
        self._slide(held)
        below = ~held & (height < 0.0)
        targets = np.where(held[:, None], self._anchors, on_ground)
        firm = PIN_STIFFNESS * 1e-3 ** (1.0 - self._shares)
        return targets, np.where(held, firm, np.where(below, GROUND_STIFFNESS, 0.0))

    def _slide(self, held: np.ndarray) -> None:
        """Move anchors from which springs pull farther along the ground than friction holds.

        Their pull is told by where they would have the point without a ground. A load on a slope
        presses less, and pulls downhill.
        """
        away = (self._wanted - self._anchors)[held]
        along = away - (away @ self._normal)[:, None] * self._normal
        upright = float(self._normal[2])
        steep = float(np.sqrt(max(1.0 - upright**2, 0.0)))
        most = LOAD_STRETCH * max(FRICTION_RATIO * upright - steep, 0.0)
        size = np.linalg.norm(along, axis=1)
        share = np.clip(1.0 - most / np.maximum(size, 1e-12), 0.0, 1.0)
        self._anchors[held] += share[:, None] * along


def _planted(feet: Feet, rate: float) -> np.ndarray:
    """(n_frames, n_points) which points hardly move near the ground."""
    paths, ground = feet.paths, feet.ground
    half = max(round(0.5 * SPEED_SECONDS * rate), 1)
    frames = np.arange(len(paths))
    first, last = np.maximum(frames - half, 0), np.minimum(frames + half, len(paths) - 1)
    seconds = np.maximum(last - first, 1)[:, None] / rate
    belt = np.array([*ground.belt, 0.0])
    speeds = np.linalg.norm((paths[last] - paths[first]) / seconds[..., None] - belt, axis=-1)
    near = paths[..., 2] - ground.height(paths) < 2.0 * TOUCH_DISTANCE
    return near & (speeds < PLANTED_SPEED)
