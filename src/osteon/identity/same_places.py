"""Whether two recordings show the same markers on the same places: by distances on one body, which
change with the person, and with markers that were taken off and put on again."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from osteon.values import Recording, Skeleton

SAME_PLACES_RMS = 0.008
"""Metres, rms of the changes of distances on one body, from which markers are elsewhere. Measured:
0.3 to 5.2 mm in twelve pairs of takes of one session; 7.6 to 146 mm, median 40, in 161 pairs of
takes of two people, two of them below 8."""
FEWEST_PAIRS = 5
"""Count of distances from which their rms is told; chosen: of fewer one marker decides."""
FEWEST_SAMPLES = 10
"""Count of frames in which both markers of a distance are seen; chosen: fewer may be one moment."""


@dataclass(frozen=True)
class PlaceChange:
    """How distances between markers differ in two recordings."""

    rms: float
    """Metres, of the medians of all."""
    farthest: tuple[str, str]
    """The two markers whose distance differs most."""
    known: float
    new: float
    """Metres, that distance in both."""


def compare_places(known: Recording, new: Recording, skeleton: Skeleton) -> PlaceChange | None:
    """Return how far markers of one body are from each other in two recordings; None where too few
    are in both."""
    found = []
    for body in skeleton.bodies:
        names = [mark.name for mark in body.markers]
        shared = [name for name in names if name in known.names and name in new.names]
        for pair in combinations(shared, 2):
            both = [_distance(each, *pair) for each in (known, new)]
            if np.isfinite(both).all():
                found.append((pair, *both))
    if len(found) < FEWEST_PAIRS:
        return None
    changes = np.array([new - known for _, known, new in found])
    pair, before, now = found[int(np.argmax(np.abs(changes)))]
    return PlaceChange(float(np.sqrt(np.mean(changes**2))), pair, before, now)


def _distance(recording: Recording, one: str, other: str) -> float:
    """Return the median distance between two markers, metres; NaN where hardly both were seen."""
    places = [recording.index(name) for name in (one, other)]
    both = recording.measured[:, places].all(axis=1)
    if both.sum() < FEWEST_SAMPLES:
        return float("nan")
    ends = recording.positions[both][:, places]
    return float(np.median(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=-1)))
