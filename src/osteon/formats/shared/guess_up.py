"""Which axis is up in a file that does not say, judged from how its markers stand on a floor."""

from dataclasses import dataclass

import numpy as np

from osteon.typing import Array

LOOKS = 200
"""Frames that are looked at to judge an axis or a unit."""
FEWEST = 4
"""Markers a frame must show to say anything about a stance."""
TALL = 1.3
"""How many times taller than wide markers must be before they tell which way is up."""


@dataclass(frozen=True)
class MarkerSpread:
    """How markers are spread along each of the file's axes, metres."""

    height: np.ndarray
    """(3,) extent of the markers in a typical frame."""
    floor: np.ndarray
    """(3,) typical place of the lowest markers."""
    unrest: np.ndarray
    """(3,) how much that place changes. Above a floor it does not, while people move about."""

    def up(self) -> str | None:
        """The axis along which the markers stand on a floor near zero, where one stands out."""
        score = self.height - 2.0 * self.unrest
        best = int(np.argmax(score))
        widest = np.delete(self.height, best).max()
        on_floor = -0.2 < self.floor[best] < 0.6
        tall = self.height[best] > 0.6 and score[best] > TALL * widest
        return "xyz"[best] if on_floor and tall else None

    def contradicts(self, axis: int) -> bool:
        """Whether z is both taller and far steadier at its lower end than this axis."""
        steadier = 3.0 * self.unrest[2] < self.unrest[axis]
        return bool(steadier and self.height[2] > self.height[axis])


def stance_of(points: Array) -> MarkerSpread | None:
    """How points (n_frames, n_points, 3), metres, NaN where missing, stand; None if too few."""
    sample = points[:: max(1, len(points) // LOOKS)]
    count = np.isfinite(sample[..., 0]).sum(axis=1)
    sample, count = sample[count >= FEWEST], count[count >= FEWEST]
    if not len(sample):
        return None
    # without the lowest and highest twentieth: stray points are often far away
    ordered = np.sort(sample, axis=1)
    rows, skipped = np.arange(len(ordered)), count // 20
    low, high = ordered[rows, skipped], ordered[rows, count - 1 - skipped]
    return MarkerSpread(np.median(high - low, axis=0), np.median(low, axis=0), np.std(low, axis=0))
