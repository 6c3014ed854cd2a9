"""The scale of a tracker, from two sensors whose distance is known: paper 000 finds 0.94."""

from dataclasses import replace

import numpy as np

from ossature.errors import BadValue, NotEnoughData
from ossature.values import Bodies


def scale_factor(bodies: Bodies, first: str, second: str, distance: float) -> float:
    """Metres per unit that the tracker reports; ``distance`` in metres between rigid sensors."""
    if not distance > 0.0:
        raise BadValue(f"the distance of two sensors must be positive, got {distance}")
    apart = bodies.positions[:, bodies.index(first)] - bodies.positions[:, bodies.index(second)]
    lengths = np.linalg.norm(apart, axis=-1)
    lengths = lengths[np.isfinite(lengths)]
    if len(lengths) == 0 or lengths.mean() < 1e-6:
        raise NotEnoughData(f"{first} and {second} are never seen apart from each other")
    # noise lengthens distances: E d² = D² + the variance of the difference
    noise = np.nanvar(np.diff(lengths)) / 2.0
    return float(distance / np.sqrt(max(np.mean(lengths**2) - 2.0 * noise, 1e-12)))


def rescaled(bodies: Bodies, factor: float) -> Bodies:
    """Positions multiplied by ``factor``; orientations have no scale."""
    did = f"scaled by {factor:.4g}"
    return replace(bodies, positions=bodies.positions * factor, history=(*bodies.history, did))
