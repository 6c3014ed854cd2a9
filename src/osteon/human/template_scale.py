"""How large a person is against the template."""

import numpy as np

from osteon.human.marker_sets import Landmark
from osteon.typing import Array

STEADY = 0.06
"""Pairs of markers whose distance varies by less than this share measure the subject's size."""


def scale_of(found: dict[str, Landmark], observed: dict[str, Array]) -> float:
    """The subject's size: distances that hardly vary, against the template's."""
    labels = [label for label, landmark in found.items() if landmark.at is not None]
    if len(labels) < 2:
        return 1.0
    template = np.stack([np.asarray(found[label].at) for label in labels])
    points = np.stack([observed[label] for label in labels], axis=1)
    first, second = np.triu_indices(len(labels), 1)
    wanted = np.linalg.norm(template[first] - template[second], axis=-1)
    gaps = np.linalg.norm(points[:, first] - points[:, second], axis=-1)
    count = np.isfinite(gaps).sum(axis=0)
    total = np.where(np.isfinite(gaps), gaps, 0.0).sum(axis=0)
    mean = total / np.maximum(count, 1)
    off = np.where(np.isfinite(gaps), gaps - mean, 0.0)
    spread = np.sqrt((off**2).sum(axis=0) / np.maximum(count, 1))
    steady = (count > 10) & (spread < STEADY * mean) & (wanted > 0.08)
    if not steady.any():
        return 1.0
    return _weighted_median(mean[steady] / wanted[steady], wanted[steady])


def _weighted_median(values: Array, weights: Array) -> float:
    order = np.argsort(values)
    share = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(share, 0.5 * share[-1])])
