"""When a limb moves and when it only stands: the valley of its speed histogram. [002] §4.1."""

import numpy as np

from osteon.typing import Array

BIN_COUNT = 100
"""Count of the histogram's bars; chosen: [002] §4.1 found that it matters little."""
FASTEST_SHARE = 0.995
"""Share of samples that are slower than the histogram's end; chosen: one wild sample must not
squeeze it into one bar."""
SLOW_SHARE = 0.2
"""Share of the histogram in which the peak of standing still must lie; chosen: a peak further up is
a movement."""
RISE_RATIO = 2.0
"""Ratio by which the histogram must rise again behind a valley; chosen: ripples do not part it
(docs/guide/axes.md)."""
REST_SHARE = 0.01
"""Share of all samples that must lie behind the valley; chosen: fewer are no movement."""


def moving_samples(directions: Array, rate: float) -> np.ndarray:
    """Which samples (n,) of unit directions (n, 3) are on the move; NaN is not."""
    speed = speeds(directions, rate)
    seen = np.isfinite(directions[:, 0])
    known = np.isfinite(speed)
    if not known.any():
        return seen
    return seen & known & (speed >= threshold_speed(speed[known]))


def speeds(directions: Array, rate: float) -> Array:
    """(n,) radians per second, from the sample before and to the one after."""
    if len(directions) < 2:
        return np.full(len(directions), np.nan)
    steps = np.linalg.norm(np.diff(directions, axis=0), axis=-1) * rate
    both = np.stack([np.append(steps[:1], steps), np.append(steps, steps[-1:])])
    return np.where(
        np.isfinite(both).all(axis=0), both.mean(axis=0), np.nanmax(both, axis=0, initial=-1.0)
    )


def threshold_speed(speed: Array) -> float:
    """Speed in the valley behind the first peak of the histogram; 0 where there is none.

    The valley is the lowest place between the peak of standing still and the first rise behind it
    that stands out: ripples do not part a histogram, whatever the number of bins.
    """
    top = float(np.quantile(speed, FASTEST_SHARE))
    if top <= 0.0:
        return 0.0
    counts, edges = np.histogram(speed, bins=BIN_COUNT, range=(0.0, top))
    smooth = np.convolve(np.pad(counts, 2, mode="edge"), np.ones(5) / 5, mode="valid")
    peak = _first_peak(smooth)
    if peak >= SLOW_SHARE * BIN_COUNT:
        return 0.0
    lowest = peak
    for bar in range(peak + 1, BIN_COUNT):
        if smooth[bar] < smooth[lowest]:
            lowest = bar
        enough = counts[lowest:].sum() >= REST_SHARE * len(speed)
        if lowest > peak and enough and smooth[bar] >= RISE_RATIO * smooth[lowest] + 3.0:
            return float(edges[lowest])
    return 0.0


def _first_peak(counts: Array) -> int:
    """The first bar that is higher than the next ones and not a mere ripple."""
    for bar in range(len(counts) - 1):
        if counts[bar] >= 0.2 * counts.max() and counts[bar] > counts[bar + 1]:
            return bar
    return int(np.argmax(counts))
