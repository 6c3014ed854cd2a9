"""Rotations of joints at even times, how much they shake, and how they are without it.

The largest of many noisy angles lies several times the noise beyond where the joint went. Tracks
are smoothed by making their fourth differences small, as stiffly as brings them nearest to the
motion without noise: but for a constant, that error is what is taken away plus twice the noise that
so free a track keeps [Mallows 1973]. To ask that as much be taken away as there is noise would
hang on the noise's last per cent. Third differences blunt the turning points of a motion, where its
limits are; fifth ones do no better on real motions with noise added.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from osteon.errors import BadValue, NotEnoughData, counted
from osteon.joint_limits.ranges import shake
from osteon.maths import blocks, kernel, noise_gain, quat
from osteon.typing import Array
from osteon.values import Motion

SAMPLE_RATE = 50.0
"""Samples per second: the 100 for two seconds of [001] §3."""

SLOWEST_RATE = 1.0
"""Frames per second below which no more samples are laid between frames. Chosen: those know
nothing."""

JUMP_MEDIANS = 4.5
"""Ratio of a third difference to their median from which it is no noise. Derived: three standard
deviations of a normal law."""

FEWEST_FRAMES = 9
"""Count of frames below which there is no motion to speak of. Derived: of fewer, fourth differences
cannot tell noise from motion; [001] §3 makes do with 4 to 6."""

MOST_NOISE = np.radians(4.0)
"""Radians. Chosen: whatever shakes more is movement, as samples in no order look like nothing but
noise."""
LEAST_NOISE = np.radians(0.05)
"""Radians that are left alone. Chosen."""
SMOOTHING_ORDER = 4
"""Count: order of the differences made small. Measured: see above."""
DIFFERENCE_WEIGHTS = (1.0, -4.0, 6.0, -4.0, 1.0)
"""Ratios of five frames in a fourth difference: defined by it."""
FIRST_POWER, LAST_POWER, POWER_STEP = -2, 10, 4
"""Decimal exponents of the stiffness tried first; their distance is then halved twice about the
best. Chosen: from none to stiffer than any motion."""
ALL_POWERS = np.arange(FIRST_POWER - POWER_STEP + 1, LAST_POWER + POWER_STEP)
"""Every decimal power that halving can come to."""
DIFFERENCE_EIGENVALUES = (2.0 * np.sin(0.5 * np.pi * (np.arange(500) + 0.5) / 500)) ** (
    2 * SMOOTHING_ORDER
)
"""Of squared differences of a long track, at 500 frequencies."""
FREEDOM_SHARE = np.mean(1.0 / (1.0 + 10.0 ** ALL_POWERS[:, None] * DIFFERENCE_EIGENVALUES), axis=1)
"""That the stiffness leaves to a long track; the ends of a short one add ``OWN_FREEDOM``."""
OWN_FREEDOM = 2.0
"""Count of numbers that the ends add. Derived: half of the four of a cubic."""
UNSEEN_GAIN = 1e4
"""How much more freely than seen frames missing ones give way. Chosen."""


def joint_rotations(motion: Motion, exclude: Iterable[Sequence[int]] = ()) -> Array:
    """Return (n_frames, n_bodies, 4) rotations that count: NaN where held or excluded.

    Parameters
    ----------
    exclude : pairs
        First and last frame of stretches to leave out, both included.
    """
    rotations = np.array(motion.rotations)
    rotations[list(motion.held)] = np.nan
    for first, last in exclude:
        if not 0 <= first <= last:
            raise BadValue(
                f"frames to exclude must be FIRST:LAST with 0 ≤ FIRST ≤ LAST, got {first}:{last}"
            )
        rotations[first : last + 1] = np.nan
    left = int(np.isfinite(rotations[..., 0]).any(axis=1).sum())
    if left < FEWEST_FRAMES:
        raise NotEnoughData(
            f"{motion.source.file or 'the motion'}: {counted(left, 'frame')} with a pose tell "
            "where joints were, not how far they go; types and limits need "
            f"{FEWEST_FRAMES} frames or more: give a longer motion"
        )
    return rotations


def resample(rotations: Array, n_samples: int) -> Array:
    """Rotations (n_samples, ..., 4) at even times from the first frame to the last, by slerp.

    A sample beside a missing frame is missing.
    """
    if n_samples < 2:
        raise BadValue(f"samples must be 2 or more, got {n_samples}")
    if n_samples == len(rotations):
        return rotations
    times = np.linspace(0.0, len(rotations) - 1, n_samples)
    before = np.minimum(times.astype(int), len(rotations) - 2)
    share = (times - before).reshape(-1, *[1] * (rotations.ndim - 2))
    samples = np.empty((n_samples, *rotations.shape[1:]))
    for part in blocks(n_samples, rotations[0].size):
        at = before[part]
        samples[part] = quat.slerp(rotations[at], rotations[at + 1], share[part])
    return samples


def default_samples(motion: Motion) -> int:
    return max(FEWEST_FRAMES, round(SAMPLE_RATE * motion.n_frames / max(motion.rate, SLOWEST_RATE)))


def measure_shaking(tracks: Array) -> Array:
    """Standard deviation (...) of white noise on smooth tracks (n_frames, ...), NaN passed over.

    From third differences, in which smooth motion all but vanishes. Those beyond
    ``JUMP_MEDIANS`` medians are jumps, not shaking.
    """
    square = np.empty(tracks.shape[1:])
    shake(tracks.reshape(len(tracks), -1), JUMP_MEDIANS, square.reshape(-1))
    return np.sqrt(square / noise_gain(3))


def denoise(frames: Array, noise: Array) -> Array:
    """Rotations (n_frames, n_joints, 4) without noise (n_joints,), radians; NaN stays.

    Joints that shake as much as ``MOST_NOISE`` are left alone: their frames are in no order.
    """
    joints = np.flatnonzero((noise > LEAST_NOISE) & (noise < MOST_NOISE))
    if len(frames) <= 2 * SMOOTHING_ORDER or not len(joints):
        return frames
    denoised = np.array(frames)
    # a turn is twice the vector part of its quaternion; of the four parts three can shake
    _denoise(denoised, joints, 0.75 * noise[joints] ** 2)
    return denoised


@kernel
def _denoise(frames, joints, square):
    """Smooth joints of frames (n, n_joints, 4) with noise of mean squares ``square`` in place."""
    n = len(frames)
    track, gains, bends = np.empty((n, 4)), np.empty(n), np.empty((n - SMOOTHING_ORDER, 4))
    bands, factors = (
        np.empty((n - SMOOTHING_ORDER, SMOOTHING_ORDER + 1)),
        np.zeros((n + SMOOTHING_ORDER, SMOOTHING_ORDER + 1)),
    )
    forces, taken, best = np.zeros((n + SMOOTHING_ORDER, 4)), np.empty((n, 4)), np.empty((n, 4))
    for at in range(len(joints)):
        n_seen = _unroll(frames, joints[at], track, gains)
        if n_seen <= 2 * SMOOTHING_ORDER:
            continue
        _bend(track, gains, bends, bands)
        least, middle, step = np.inf, 0, POWER_STEP
        while step > 0:
            first, last = (
                (FIRST_POWER, LAST_POWER) if step == POWER_STEP else (middle - step, middle + step)
            )
            for power in range(first, last + 1, POWER_STEP if step == POWER_STEP else 2 * step):
                left = _draw(bends, bands, gains, 10.0**-power, factors, forces, taken) / n_seen
                free = FREEDOM_SHARE[power - ALL_POWERS[0]] + OWN_FREEDOM / n_seen
                wrong = left + 2.0 * min(max(free, SMOOTHING_ORDER / n_seen), 1.0) * square[at]
                if wrong < least:
                    least, middle = wrong, power
                    best[:] = taken
            step //= 2
        for i in range(n):
            if gains[i] == 1.0:
                smooth = track[i] - best[i]
                frames[i, joints[at]] = smooth / np.sqrt(np.sum(smooth**2))


@kernel
def _unroll(frames, joint, track, gains):
    """One joint's rotations, neighbours in one hemisphere, those missing as the last; how many are.

    ``gains`` become 1 where seen.
    """
    n_seen, last = 0, 0
    while last < len(frames) - 1 and not np.isfinite(frames[last, joint, 0]):
        last += 1
    for i in range(len(frames)):
        seen = np.isfinite(frames[i, joint, 0])
        last = i if seen else last
        track[i] = frames[last, joint]
        if i > 0 and np.sum(track[i] * track[i - 1]) < 0.0:
            track[i] = -track[i]
        gains[i] = 1.0 if seen else UNSEEN_GAIN
        n_seen += seen
    return n_seen


@kernel
def _bend(track, gains, bends, bands):
    """Differences D y of a track, and entries (i, i − k) of D·diag(gains)·Dᵀ at ``bands[i, k]``."""
    for i in range(len(bends)):
        for c in range(4):
            bends[i, c] = 0.0
            for a in range(SMOOTHING_ORDER + 1):
                bends[i, c] += DIFFERENCE_WEIGHTS[a] * track[i + a, c]
        for k in range(SMOOTHING_ORDER + 1):
            bands[i, k] = 0.0
            for a in range(SMOOTHING_ORDER + 1 - k if k <= i else 0):
                bands[i, k] += DIFFERENCE_WEIGHTS[a] * DIFFERENCE_WEIGHTS[a + k] * gains[i + a]


@kernel
def _draw(bends, bands, gains, give, factors, forces, taken):
    """What is taken from a track, G Dᵀ u with (give + D G Dᵀ) u = D y; the square of it where seen.

    ``give`` is one over the stiffness. In this form rounding errs by a share of what is taken, not
    of the track, which matters where stiffness is 10¹⁰. By L·diag(d)·Lᵀ: ``factors`` holds 1/d and
    the four entries of L beside its diagonal. They and the forces u have
    ``SMOOTHING_ORDER`` rows of nothing before and after.
    """
    f, u = factors, forces
    for i in range(len(bends)):
        at = i + SMOOTHING_ORDER
        v4 = bands[i, 4]
        v3 = bands[i, 3] - v4 * f[at - 3, 1]
        v2 = bands[i, 2] - v4 * f[at - 2, 2] - v3 * f[at - 2, 1]
        v1 = bands[i, 1] - v4 * f[at - 1, 3] - v3 * f[at - 1, 2] - v2 * f[at - 1, 1]
        l1, l2, l3, l4 = v1 * f[at - 1, 0], v2 * f[at - 2, 0], v3 * f[at - 3, 0], v4 * f[i, 0]
        own = bands[i, 0] + give - v4 * l4 - v3 * l3 - v2 * l2 - v1 * l1
        f[at, 0] = 1.0 / max(own, give)
        f[at, 1], f[at, 2], f[at, 3], f[at, 4] = l1, l2, l3, l4
        for c in range(4):
            before = l1 * u[at - 1, c] + l2 * u[at - 2, c] + l3 * u[at - 3, c] + l4 * u[i, c]
            u[at, c] = bends[i, c] - before
    return _take(gains, f, u, taken)


@kernel
def _take(gains, f, u, taken):
    """The second half of ``_draw``: back along the factors, and G Dᵀ u."""
    n, total = len(gains), 0.0
    for at in range(n - 1, SMOOTHING_ORDER - 1, -1):
        for c in range(4):
            after = f[at + 1, 1] * u[at + 1, c] + f[at + 2, 2] * u[at + 2, c]
            after += f[at + 3, 3] * u[at + 3, c] + f[at + 4, 4] * u[at + 4, c]
            u[at, c] = u[at, c] * f[at, 0] - after
    for i in range(n):
        for c in range(4):
            pull = u[i + 4, c] - 4.0 * (u[i + 3, c] + u[i + 1, c]) + 6.0 * u[i + 2, c] + u[i, c]
            taken[i, c] = gains[i] * pull
            total += taken[i, c] ** 2 if gains[i] == 1.0 else 0.0
    return total
