"""Few frames that stand for a take, so that a subject's memory does not grow with its takes."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.calibration import farthest_frames, spread_frames
from osteon.typing import Array
from osteon.values import Recording

PER_TAKE = 128
"""Frames that stand for one take; the calibration itself looks at 80 of all."""
PER_SUBJECT = 4096
"""Frames that stand for a subject, however many takes there are: 4 MB of 41 markers."""
LANDMARKS = 40
"""Markers whose mutual distances tell poses apart."""


def sample_frames(recording: Recording, n: int = PER_TAKE) -> Recording:
    """Up to ``n`` frames: half spread evenly, half where markers stand most differently."""
    candidates = spread_frames(recording.measured, 4 * n)
    chosen = candidates[farthest_frames(_shape(recording.positions[candidates]), n)]
    return replace(
        recording,
        positions=recording.positions[chosen],
        residuals=None if recording.residuals is None else recording.residuals[chosen],
        marks=(),
        analog=None,
        history=(*recording.history, f"{len(chosen)} of {recording.n_frames} frames chosen"),
    )


def share_of(n_takes: int) -> tuple[int, int]:
    """Every how many-th take of a subject is looked at, and how many frames of it."""
    stride = -(-n_takes // PER_SUBJECT)
    return stride, max(1, min(PER_TAKE, PER_SUBJECT * stride // max(n_takes, 1)))


def joined(samples: Sequence[Recording]) -> Recording:
    """The samples of a subject as one recording of all its markers."""
    names = tuple(dict.fromkeys(name for sample in samples for name in sample.names))
    n_frames = sum(sample.n_frames for sample in samples)
    positions = np.full((n_frames, len(names), 3), np.nan)
    start = 0
    for sample in samples:
        columns = [names.index(name) for name in sample.names]
        evidence = np.where(sample.measured[..., None], sample.positions, np.nan)
        positions[start : start + sample.n_frames, columns] = evidence
        start += sample.n_frames
    first = samples[0]
    return Recording(positions, names, first.rate, first.subject, source=first.source)


def _shape(positions: Array) -> Array:
    """(n_frames, n_pairs) distances between markers, which no walking about changes.

    A missing one takes its mean: what is not seen does not make a frame special.
    """
    markers = np.unique(np.linspace(0, positions.shape[1] - 1, LANDMARKS).astype(int))
    first, second = np.triu_indices(len(markers), 1)
    gaps = np.linalg.norm(positions[:, markers[first]] - positions[:, markers[second]], axis=-1)
    seen = np.isfinite(gaps)
    mean = np.where(seen, gaps, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    return np.where(seen, gaps, mean)
