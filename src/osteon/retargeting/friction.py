"""Feet on the ground within the simulation: pushed out of it, and held by friction. [003].

Points of a sole that hardly move in the simulation without a ground are planted: those that touch
it stick to where they touch, and slide when what pulls them along exceeds friction. The ground only
pushes. What loads a foot is not known, for springs carry the body; it is taken as what its springs
pull when they are stretched by ``LOAD_STRETCH``, and on a slope a part of that pulls downhill.
"""

from dataclasses import dataclass

import numpy as np

from osteon.posing import GroundPlane, PoseProblem, Standing
from osteon.retargeting.pins import EASE_SECONDS, GROUND_STIFFNESS, PIN_STIFFNESS
from osteon.typing import Array
from osteon.values import Skeleton

FRICTION_RATIO = 0.8
"""Ratio of friction to load. Chosen: rubber on a dry floor."""
LOAD_STRETCH = 0.05
"""Metres. Chosen: twice what a pin allows, for markers that stray farther from a planted foot know
better."""
PLANTED_SPEED = 0.2
"""Metres per second of a point of the sole below which it is planted. Chosen: feet that swing are
ten times as fast."""
TOUCH_DISTANCE = 0.008
"""Metres above the ground within which a point touches it. Chosen: what soles give."""


@dataclass(frozen=True, eq=False)
class Feet:
    """Points that may touch the ground, and whose they are."""

    bodies: np.ndarray
    """(n_points,) the body that carries each."""
    places: Array
    """(n_points, 3) in its frame, from its joint."""
    foot: np.ndarray
    """(n_points,) number of the foot that each belongs to."""
    ground: GroundPlane


def feet_of_soles(standing: Standing) -> Feet:
    """The soles of a figure whose feet are known."""
    counts = [len(sole.points) for sole in standing.soles]
    return Feet(
        np.array([body for sole in standing.soles for body in sole.carriers], dtype=int),
        np.concatenate([sole.points for sole in standing.soles] or [np.zeros((0, 3))]),
        np.repeat(np.arange(len(counts)), counts),
        standing.ground,
    )


def feet_of_ends(skeleton: Skeleton, ends: Array) -> Feet:
    """The ends of all limbs of any creature; the ground is level, where the lowest of them stay.

    Parameters
    ----------
    ends : (n_frames, n_limbs, 3)
        Where they are over a motion, in the order of ``limb_ends``.
    """
    limbs = limb_ends(skeleton)
    low = float(np.percentile(ends[..., 2].min(axis=1), 20.0))
    ground = GroundPlane(low, np.zeros(2), np.zeros(2))
    bodies = np.array([body for body, _ in limbs], dtype=int)
    return Feet(bodies, np.array([end for _, end in limbs]), np.arange(len(limbs)), ground)


def limb_ends(skeleton: Skeleton) -> list[tuple[int, Array]]:
    """Bodies that carry no other, and where their bones end, from their joints."""
    parents = set(skeleton.parents)
    leaves = [body for body in range(len(skeleton.bodies)) if body not in parents]
    return [(body, end) for body in leaves for end in skeleton.bone_ends(body)]


class Soles:
    """What the ground does to the feet, from frame to frame."""

    def __init__(self, feet: Feet, pulls: PoseProblem, rate: float) -> None:
        n_points = len(feet.bodies)
        self._feet, self._rate = feet, rate
        self._anchors = np.full((n_points, 3), np.nan)
        self._shares = np.zeros(n_points)
        self._before = np.full((n_points, 3), np.nan)
        carriers = pulls.rig.tree.marker_bodies
        worn = [
            np.isin(carriers, feet.bodies[feet.foot == foot])
            for foot in range(int(feet.foot.max(initial=-1)) + 1)
        ]
        slope = np.array([*feet.ground.slope, -1.0])
        self._normal = -slope / np.linalg.norm(slope)
        self._load = np.array([pulls.weights[:, own].sum(axis=1).max() for own in worn])

    def begin(self, places: Array) -> None:
        """Tell where the points (n_points, 3) come to rest in this frame without a ground: who
        hardly moves on it is planted."""
        ground, ease = self._feet.ground, 1.0 / max(EASE_SECONDS * self._rate, 1.0)
        belt = np.array([*ground.belt, 0.0]) / self._rate
        speeds = np.linalg.norm(places - self._before - belt, axis=1) * self._rate
        near = places[:, 2] - ground.height(places) < 2.0 * TOUCH_DISTANCE
        planted = near & ~(speeds > PLANTED_SPEED)
        self._shares = np.clip(self._shares + np.where(planted, ease, -2.0 * ease), 0.0, 1.0)
        self._before = np.array(places)
        self._anchors += belt

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
        self._slide(places, held)
        below = ~held & (height < 0.0)
        targets = np.where(held[:, None], self._anchors, on_ground)
        firm = PIN_STIFFNESS * 1e-3 ** (1.0 - self._shares)
        return targets, np.where(held, firm, np.where(below, GROUND_STIFFNESS, 0.0))

    def _slide(self, places: Array, held: np.ndarray) -> None:
        """Move anchors that are pulled along the ground by more than friction holds."""
        firm = PIN_STIFFNESS * 1e-3 ** (1.0 - self._shares)
        for foot in range(len(self._load)):
            own = np.flatnonzero(held & (self._feet.foot == foot))
            if not len(own):
                continue
            away = places[own] - self._anchors[own]
            along = away - (away @ self._normal)[:, None] * self._normal
            # a load on a slope presses less, and pulls downhill
            load = LOAD_STRETCH * self._load[foot] / len(own)
            steep = float(np.sqrt(max(1.0 - self._normal[2] ** 2, 0.0)))
            most = load * max(FRICTION_RATIO * float(self._normal[2]) - steep, 0.0)
            pull = firm[own] * np.linalg.norm(along, axis=1)
            share = np.clip(1.0 - most / np.maximum(pull, 1e-12), 0.0, 1.0)
            self._anchors[own] += share[:, None] * along
