"""Keypoints over time: how noisy each is, which samples are jumps, and its path without either.

A network finds its points in every picture anew: they tremble by a centimetre or two, and now and
then lie on something else for a few pictures. Both are told by the take alone. A point's path is
driven by random jerk and seen through white noise; the noise is read off its third differences by
their median, the jerk by how likely a filter finds each next sample. The filter passes over what
lies impossibly far off, so that jumps decide neither. What remains is one banded system per point.
"""

from dataclasses import dataclass

import numpy as np

from osteon.maths import kernel, white_noise
from osteon.typing import Array, Mask

JERK_GRID = 10.0 ** np.arange(1.5, 5.1, 0.25)
"""Standard deviations of the jerk that are tried, metres per second³. Chosen: from somebody who
stands to a kick, four to a decade."""
LEAST_NOISE = 0.0005
"""Metres per axis. Chosen: no network is better, and files that were filtered show no noise."""
JUMP_GATE = 30.0
"""Ratio: squared distance, in squared deviations of three coordinates, from which a sample counts
as a jump. Derived: χ² of three is beyond once in a million."""
PATIENCE_SECONDS = 0.25
"""Seconds that a point is taken to be elsewhere before it is believed. Chosen: networks mistake a
limb for some pictures, and nobody stays away longer without being seen there."""
WINDOW_SECONDS = 0.2
"""Seconds over which jerk is judged, standard deviation. Chosen: half a step."""
BRIDGED_SECONDS = 0.2
"""Seconds of a gap that the path is carried across. Chosen: as long a limb keeps its course."""
ROBUST_RATIO, ROBUST_ROUNDS = 4.0, 4
"""Ratio of the residual to its deviation from which a sample loses weight, and count of rounds in
which it does. Chosen: an honest one is beyond once in a thousand."""
THIRD_WEIGHTS = (-1.0, 3.0, -3.0, 1.0)
"""Ratios of four frames in a third difference, defined."""
UNKNOWN_VARIANCE = 1.0
"""Square metres, of a place of which nothing is known yet. Chosen: larger than any room needs."""
SETTLING_COUNT = 6
"""Count of samples until a filter that starts knowing nothing says something. Chosen: twice its
states."""


@dataclass(frozen=True, eq=False)
class Tracks:
    """Paths of keypoints, freed of noise and jumps as far as time can tell."""

    positions: Array
    """(n_frames, n_points, 3) metres; NaN in gaps too long to bridge."""
    noise: Array
    """(n_points,) white, metres per axis."""
    jumps: Mask
    """(n_frames, n_points) samples that were left out."""


def steady_tracks(positions: Array, rate: float) -> Tracks:
    """Take noise and jumps out of keypoints (n_frames, n_points, 3), metres, NaN where not seen."""
    noise = np.maximum(white_noise(positions), LEAST_NOISE)
    smooth = np.full_like(positions, np.nan)
    jumps = np.zeros(positions.shape[:2], dtype=bool)
    for point, deviation in enumerate(noise):
        path = np.ascontiguousarray(positions[:, point])
        seen = np.isfinite(path[:, 0])
        if seen.sum() <= len(THIRD_WEIGHTS):
            smooth[:, point] = path
            continue
        process = _process(path, deviation, rate)
        jumped = _jumps(path, deviation, process, rate)
        smooth[:, point], jumps[:, point] = _smoothed(path, seen & ~jumped, deviation, process)
        jumps[:, point] = seen & (jumped | jumps[:, point])
        smooth[_far_from(seen & ~jumps[:, point], rate), point] = np.nan
    return Tracks(smooth, noise, jumps)


def _process(path: Array, noise: float, rate: float) -> Array:
    """(n_frames,) the variance of the third difference that suits each moment best."""
    n_frames = len(path)
    likelihood = np.zeros((len(JERK_GRID), n_frames))
    passed, patience = np.zeros(n_frames, dtype=bool), PATIENCE_SECONDS * rate
    for row, jerk in zip(likelihood, JERK_GRID, strict=True):
        process = np.full(n_frames, (jerk / rate**3) ** 2)
        filter_points(path, noise**2, process, JUMP_GATE, patience, row, passed)
    window = WINDOW_SECONDS * rate
    from scipy import ndimage  # slow to load, rarely asked for

    likelihood = ndimage.gaussian_filter1d(likelihood, window, axis=1, mode="nearest")
    best = JERK_GRID[np.argmax(likelihood, axis=0)] / rate**3
    # a start or a stop stays sharp: around it the larger jerk counts, not the mean
    return ndimage.maximum_filter1d(best, 1 + 2 * round(window), mode="nearest") ** 2


def _jumps(path: Array, noise: float, process: Array, rate: float) -> Mask:
    """(n_frames,) samples off the path, whether one comes from before or from after."""
    found = []
    for step in (1, -1):
        passed, likelihood = np.zeros(len(path), dtype=bool), np.zeros(len(path))
        there, moving = np.ascontiguousarray(path[::step]), np.ascontiguousarray(process[::step])
        patience = PATIENCE_SECONDS * rate
        filter_points(there, noise**2, moving, JUMP_GATE, patience, likelihood, passed)
        found.append(passed[::step])
    return found[0] & found[1]


def _smoothed(path: Array, used: Mask, noise: float, process: Array) -> tuple[Array, Mask]:
    """The likeliest path (n_frames, 3), and which samples are too far from it to be honest."""
    given = np.where(used[:, None], path, 0.0)
    weights, smooth, off = used.astype(float), path, np.zeros(len(path))
    for _ in range(ROBUST_ROUNDS):
        smooth = _penalised(given, weights / noise**2, process)
        off = np.sum((given - smooth) ** 2, axis=-1) / (3.0 * noise**2)
        # Geman–McClure: quadratic for honest samples, flat for impossible ones
        weights = used / (1.0 + off / ROBUST_RATIO**2) ** 2
    return smooth, used & (off > ROBUST_RATIO**2)


def _penalised(given: Array, weights: Array, process: Array) -> Array:
    """Least Σ w‖x − given‖² + Σ‖third difference‖² / process, (n_frames, 3)."""
    from scipy.linalg import solveh_banded  # slow to load, rarely asked for

    n_frames = len(given)
    stiffness = 1.0 / process[3:]
    band = np.zeros((len(THIRD_WEIGHTS), n_frames))
    for lag in range(len(THIRD_WEIGHTS)):
        for i in range(len(THIRD_WEIGHTS) - lag):
            share = THIRD_WEIGHTS[i] * THIRD_WEIGHTS[i + lag]
            band[lag, i : i + len(stiffness)] += share * stiffness
    band[0] += weights
    return solveh_banded(band, weights[:, None] * given, lower=True)


def _far_from(used: Mask, rate: float) -> Mask:
    """(n_frames,) whether a frame lies in a gap that is too long to bridge."""
    if not used.any():
        return np.ones(len(used), dtype=bool)
    from scipy import ndimage  # slow to load, rarely asked for

    away = ndimage.distance_transform_edt(~used)
    return np.asarray(away) > 0.5 * BRIDGED_SECONDS * rate


@kernel
def filter_points(points, variance, process, gate, patience, likelihood, passed):
    """Log-likelihood (n_frames,) of each sample given those before it, and whether it was passed
    over; x₊ = 3x − 3x₋ + x₋₋ + noise, alike in all directions.

    ``points`` (n_frames, 3), NaN where not seen; ``process`` (n_frames,) variance of the third
    difference. Farther off than ``gate`` deviations squared a sample counts as a jump; after
    ``patience`` of them in a row, the jump is where the point is.
    """
    now, before, earlier = np.zeros(3), np.zeros(3), np.zeros(3)
    pxx = pyy = pzz = UNKNOWN_VARIANCE
    pxy = pxz = pyz = 0.0
    known, waiting = 0, 0
    for frame in range(len(points)):
        for i in range(3):
            ahead = 3.0 * now[i] - 3.0 * before[i] + earlier[i]
            earlier[i], before[i], now[i] = before[i], now[i], ahead
        to_x = 3.0 * pxx - 3.0 * pxy + pxz
        to_y = 3.0 * pxy - 3.0 * pyy + pyz
        to_z = 3.0 * pxz - 3.0 * pyz + pzz
        first = 3.0 * to_x - 3.0 * to_y + to_z + process[frame]
        pzz, pyz, pyy = pyy, pxy, pxx
        pxx, pxy, pxz = first, to_x, to_y
        if np.isnan(points[frame, 0]):
            continue
        if known == 0 or waiting > patience:
            now[:], before[:], earlier[:] = points[frame], points[frame], points[frame]
            pxx, pyy, pzz = variance, UNKNOWN_VARIANCE, UNKNOWN_VARIANCE
            pxy = pxz = pyz = 0.0
            known, waiting = 1, 0
            continue
        total = pxx + variance
        miss = 0.0
        for i in range(3):
            miss += (points[frame, i] - now[i]) ** 2 / total
        far = known > SETTLING_COUNT and miss > gate
        likelihood[frame] = -0.5 * (min(miss, gate) + 3.0 * np.log(total))
        passed[frame] = far
        if far:
            waiting += 1
            continue
        known, waiting = known + 1, 0
        gx, gy, gz = pxx / total, pxy / total, pxz / total
        for i in range(3):
            off = points[frame, i] - now[i]
            now[i] += gx * off
            before[i] += gy * off
            earlier[i] += gz * off
        pzz, pyz, pyy = pzz - gz * pxz, pyz - gy * pxz, pyy - gy * pxy
        pxz, pxy, pxx = pxz - gx * pxz, pxy - gx * pxy, pxx - gx * pxx
