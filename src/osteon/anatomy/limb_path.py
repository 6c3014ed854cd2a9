"""A limb's path: when it moves, and without the shaking that would pass for movement.

When a limb moves and when it only stands: the valley of its speed histogram. [002] §4.1.

Every frame of a solved motion is found by itself, so what few markers leave open shakes from frame
to frame, and by more than the limb may move. About a fixed axis a mean over time keeps the axis:
it may be as long as the shaking asks for, as long as it is short against a movement.
"""

import numpy as np

from osteon.maths import kernel, noise_of_differences, quat
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
MOVING_SHARE = 0.01
"""Share of all samples that must lie behind the valley; chosen: fewer are no movement."""
QUIET_ANGLE = np.radians(0.1)
"""Radians (0.1°) of shaking that are left alone; chosen: below what axes are found to
(docs/guide/axes.md)."""
LONGEST_REACH = 0.125
"""Seconds that the mean reaches to either side; chosen: short against a movement."""
LOOK_COUNT = 3000
"""Count of samples that shaking is judged by; chosen: time, a median needs no more."""


def moving_samples(directions: Array, rate: float) -> np.ndarray:
    """Return which samples (n,) of unit directions (n, 3) are on the move; NaN is not."""
    speed = measure_speeds(directions, rate)
    seen = np.isfinite(directions[:, 0])
    known = np.isfinite(speed)
    if not known.any():
        return seen
    return seen & known & (speed >= find_threshold_speed(speed[known]))


def measure_speeds(directions: Array, rate: float) -> Array:
    """Return (n,) radians per second, from the sample before and to the one after."""
    if len(directions) < 2:
        return np.full(len(directions), np.nan)
    steps = np.linalg.norm(np.diff(directions, axis=0), axis=-1) * rate
    both = np.stack([np.append(steps[:1], steps), np.append(steps, steps[-1:])])
    return np.where(
        np.isfinite(both).all(axis=0), both.mean(axis=0), np.nanmax(both, axis=0, initial=-1.0)
    )


def find_threshold_speed(speed: Array) -> float:
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
        enough = counts[lowest:].sum() >= MOVING_SHARE * len(speed)
        if lowest > peak and enough and smooth[bar] >= RISE_RATIO * smooth[lowest] + 3.0:
            return float(edges[lowest])
    return 0.0


def _first_peak(counts: Array) -> int:
    """Return the first bar that is higher than the next ones and not a mere ripple."""
    for bar in range(len(counts) - 1):
        if counts[bar] >= 0.2 * counts.max() and counts[bar] > counts[bar + 1]:
            return bar
    return int(np.argmax(counts))


def measure_jitter(tracks: Array) -> Array:
    """Return (k,) deviation of white noise on smooth tracks (n, k): second differences show it."""
    at = np.arange(1, len(tracks) - 1, max(1, len(tracks) // LOOK_COUNT))
    bends = tracks[at + 1] - 2.0 * tracks[at] + tracks[at - 1]
    return noise_of_differences(bends[..., None], order=2)


def smooth_path(tracks: Array, rate: float) -> Array:
    """Unrolled rotations (n, 4) or directions (n, 3), averaged over as much time as they shake."""
    rotations = tracks.shape[1] == 4
    # a turn moves a quaternion by half its angle, and in three directions; a direction in two
    noise = np.linalg.norm(measure_jitter(tracks)) * (
        2.0 / np.sqrt(3.0) if rotations else np.sqrt(0.5)
    )
    half = int(min(LONGEST_REACH * rate, 0.75 * (noise / QUIET_ANGLE) ** 2))
    if half < 1:
        return tracks
    weights = np.cos(0.5 * np.pi * np.arange(half + 1) / (half + 1)) ** 2
    means = np.empty(tracks.shape)
    weighted_means(np.ascontiguousarray(tracks), weights, means)
    return quat.normalise(means)


@kernel
def weighted_means(tracks, weights, means):
    """Fill ``means`` (n, k) with sums of tracks (n, k) about each sample, NaN passed over.

    ``weights`` (h + 1,) are those of a sample itself and of its neighbours 1 … h samples away.
    Missing samples stay missing.
    """
    n, half = len(tracks), len(weights) - 1
    for i in range(n):
        for k in range(tracks.shape[1]):
            means[i, k] = weights[0] * tracks[i, k]
        for j in range(max(i - half, 0), min(i + half + 1, n)):
            if j != i and np.isfinite(tracks[j, 0]):
                weight = weights[abs(j - i)]
                for k in range(tracks.shape[1]):
                    means[i, k] += weight * tracks[j, k]
