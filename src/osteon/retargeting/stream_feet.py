"""Feet that stand while frames come in: what ``find_standing`` and ``pins`` do, looking back only.

A point of the performer's sole stands from when it is nearly still and low until it is quick or
leaves the ground. Meanwhile the character's point is pinned where it was then.
"""

from collections import deque

import numpy as np

from osteon.posing import GROUND_DISTANCE, LOW_HEIGHT, NEARBY_TIME, STANDING_SPEED, STANDSTILL_SPEED
from osteon.retargeting.pins import (
    DEEP_DISTANCE,
    EASE_SECONDS,
    GROUND_STIFFNESS,
    LOOSE_DISTANCE,
    ease,
    firm,
)
from osteon.typing import Array

SPEED_SECONDS = 0.05
"""Seconds back over which a speed is told. Chosen: as ``find_standing`` does with whole takes."""
PAUSE_SECONDS = 0.25
"""Seconds without a pose after which nothing is known of who stands. Chosen: shorter than a
step."""
SETTLE_SECONDS = 0.5
"""Seconds over which the height of ground and soles settles. Chosen: soles stand a little higher or
lower with every step, and a figure must not hop for it."""


class FootWatch:
    """Which points stand, frame by frame."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._seen: deque[tuple[int, Array]] = deque(maxlen=max(2, round(NEARBY_TIME * rate)))
        self.stands = np.zeros(0, dtype=bool)
        self.leaves = np.zeros(0)
        """(n_points,) from 0, at a standstill, to 1, where a point that stood is let go."""

    def look(self, number: int, points: Array) -> np.ndarray:
        """Return (n_points,) who of the points (n_points, 3) of frame ``number`` stands."""
        if self._seen and not 0 < number - self._seen[-1][0] <= PAUSE_SECONDS * self._rate:
            self._seen.clear()
        if not self._seen:
            self.stands, self.leaves = np.zeros(len(points), dtype=bool), np.zeros(len(points))
        self._seen.append((number, points))
        frames = max(1, round(SPEED_SECONDS * self._rate))
        before, earlier = next(
            (seen for seen in reversed(self._seen) if number - seen[0] >= frames), self._seen[0]
        )
        if before == number:
            return self.stands
        speed = np.linalg.norm(points - earlier, axis=1) * self._rate / (number - before)
        span = STANDING_SPEED - STANDSTILL_SPEED
        self.leaves = np.clip((speed - STANDSTILL_SPEED) / span, 0.0, 1.0)
        lowest = np.min([seen[:, 2] for _, seen in self._seen], axis=0)
        slow = speed < np.where(self.stands, STANDING_SPEED, STANDSTILL_SPEED)
        self.stands = slow & (points[:, 2] < lowest + LOW_HEIGHT)
        return self.stands


class StreamGround:
    """How high the ground is that is stood on, in the performer's world."""

    def __init__(self, rate: float) -> None:
        self._share = 1.0 / max(1.0, SETTLE_SECONDS * rate)
        self.height = np.nan

    def bears(self, stands: np.ndarray, heights: Array) -> np.ndarray:
        """Return (n_points,) which points stand on the ground, and not on a box or a stair."""
        if stands.any():
            lowest = heights[stands].min()
            if not self.height <= lowest + GROUND_DISTANCE:  # not known yet, or stepped down
                self.height = lowest
        on = stands & (np.abs(heights - self.height) < GROUND_DISTANCE)
        if on.any():
            self.height += self._share * (heights[on].mean() - self.height)
        return on


class SolePins:
    """The character's points held where they stand, and above the ground.

    ``lift`` is what the character is raised by so that its soles are usually on the ground: they
    may be thicker than the performer's.
    """

    def __init__(self, n_points: int, rate: float) -> None:
        self._step = 1.0 / max(1.0, EASE_SECONDS * rate)
        self._settle = 1.0 / max(1.0, SETTLE_SECONDS * rate)
        self._held = np.zeros(n_points)
        self._places, self._apart, self._led = np.zeros((3, n_points, 3))
        self._stood = np.zeros(n_points, dtype=bool)
        self.lift = 0.0

    def raise_by(self, bears: np.ndarray, lacking: Array) -> float:
        """Return how much to raise the figure: what standing points lack to the ground."""
        if bears.any():
            lack = float(lacking[bears].mean())
            self.lift += self._settle * (lack - self.lift)
        return self.lift

    def pins(
        self, watch: FootWatch, bears: np.ndarray, led: Array, shown: Array, ground: float
    ) -> tuple[Array, Array]:
        """Return targets (n_points, 3) and weights (n_points,).

        A place goes along with a point that gets quick, so that nothing jerks when it is let go.

        Parameters
        ----------
        led, shown : (n_points, 3)
            Where the performer's pose has the points, and where they were shown last.
        """
        stands = watch.stands
        begins = stands & ~self._stood
        self._places += watch.leaves[:, None] * (led - self._led)
        self._led = led.copy()
        self._places[begins] = shown[begins]
        self._places[begins & bears, 2] = ground
        self._stood = stands.copy()
        self._apart[stands] = (self._places - led)[stands]
        self._held = np.clip(self._held + np.where(stands, self._step, -self._step), 0.0, 1.0)
        share = ease(self._held)
        loose = np.clip(2.0 - np.linalg.norm(self._apart, axis=1) / LOOSE_DISTANCE, 0.0, 1.0)
        targets, weights = led + share[:, None] * self._apart, firm(share) * loose
        return push_out(targets, weights, led, ground)


def push_out(targets: Array, weights: Array, points: Array, ground: float) -> tuple[Array, Array]:
    """Return the same pulls, none below the ground, and points that are below it pushed out."""
    if not np.isfinite(ground):
        return targets, weights
    depth = ground - points[:, 2]
    push = GROUND_STIFFNESS * np.clip(2.0 - depth / DEEP_DISTANCE, 0.0, 1.0) * (depth > 0.0)
    pushed = push > weights
    targets = np.where(pushed[:, None], points, targets)
    targets[:, 2] = np.maximum(targets[:, 2], ground)
    return targets, np.where(pushed, push, weights)
