"""What a tracker reports in each place of its volume, against what is there.

A true place is ``scale · p + bend(p)``, with ``p`` as reported and ``bend`` smooth: products of
Legendre polynomials in the coordinates of the box that was walked through. Outside the box the bend
stays what it is at the box's side.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.polynomial.legendre import legval

from osteon.errors import BadValue, ShapeError
from osteon.typing import Array
from osteon.values.array_checks import frozen, settle
from osteon.values.recording import Bodies, Recording

MOST_DEGREE = 12
"""Count: degree of a field at most. Chosen: bounds memory; finer ones no bar could show."""


@cache
def _powers(degree: int) -> np.ndarray:
    """(n_terms, 3) degrees in x, y and z of all products up to ``degree``, the constant first."""
    each = np.indices((degree + 1,) * 3).reshape(3, -1).T
    each = each[each.sum(axis=1) <= degree]
    return each[np.lexsort((*each.T, each.sum(axis=1)))]


def term_degrees(degree: int) -> np.ndarray:
    """(n_terms,) degree of each term up to ``degree``."""
    return _powers(degree).sum(axis=1)


def smooth_terms(places: Array, degree: int) -> Array:
    """(..., n_terms) products of Legendre polynomials at ``places`` (..., 3) within ±1."""
    held = np.clip(places, -1.0, 1.0)
    single = np.stack([legval(held, unit) for unit in np.eye(degree + 1)], axis=-1)
    powers = _powers(degree)
    x, y, z = (single[..., axis, :][..., powers[:, axis]] for axis in range(3))
    return x * y * z


@dataclass(frozen=True, slots=True, eq=False)
class TrackerField:
    """Scale, distortion and noise of a tracker over its volume."""

    distance: float
    """Metres between both sensors of the bar."""
    scale: float
    """Metres per metre that the tracker reports."""
    centre: Array
    """(3,) middle of the box that was walked through, as reported, metres."""
    reach: Array
    """(3,) half its sides, metres."""
    bends: Array
    """(n_terms, 3) metres that each term moves a place by, the constant being none."""
    bend_degree: int
    noises: Array
    """(n_terms,) logarithm of the noise's variance per axis, square metres."""
    noise_degree: int

    def __post_init__(self) -> None:
        for degree in (self.bend_degree, self.noise_degree):
            if not 0 <= degree <= MOST_DEGREE:
                raise BadValue(f"the degree of a field must be 0 to {MOST_DEGREE}, got {degree}")
        n_bends, n_noises = len(_powers(self.bend_degree)), len(_powers(self.noise_degree))
        settle(self, centre=frozen(self.centre, (3,), "centre"))
        settle(self, reach=frozen(self.reach, (3,), "reach"))
        settle(self, bends=frozen(self.bends, (n_bends, 3), "bends"))
        settle(self, noises=frozen(self.noises, (n_noises,), "noises"))
        if not (self.reach > 0.0).all():
            raise ShapeError(f"reach must be three positive lengths, got {self.reach.tolist()}")

    def in_box(self, points: Array) -> Array:
        """Reported places (..., 3) in coordinates of the box, within ±1 inside."""
        return (points - self.centre) / self.reach

    def corrected(self, points: Array) -> Array:
        """(..., 3) where reported places are, metres; NaN where not seen."""
        return self.scale * points + self.bend(points)

    def bend(self, points: Array) -> Array:
        """(..., 3) by how much reported places are moved besides their scale, metres."""
        return smooth_terms(self.in_box(points), self.bend_degree) @ self.bends

    def noise(self, points: Array) -> Array:
        """(...,) standard deviation per axis of what is left at reported places, metres."""
        return np.exp(0.5 * (smooth_terms(self.in_box(points), self.noise_degree) @ self.noises))

    def outside(self, points: Array) -> np.ndarray:
        """(...,) which reported places lie outside the box."""
        return np.asarray((np.abs(self.in_box(points)) > 1.0).any(axis=-1))

    def correct_bodies(self, bodies: Bodies) -> Bodies:
        """Bodies where they are; their orientations stay as reported."""
        return replace(
            bodies,
            positions=self.corrected(bodies.positions),
            history=(*bodies.history, self._told),
        )

    def correct_recording(self, recording: Recording) -> Recording:
        """Markers where they are."""
        return replace(
            recording,
            positions=self.corrected(recording.positions),
            history=(*recording.history, self._told),
        )

    @property
    def _told(self) -> str:
        return f"tracker's field taken off, scale {self.scale:.4g}"
