"""Rotations of joints at even times, and how much they shake."""

from collections.abc import Iterable, Sequence

import numpy as np

from osteon.errors import BadValue, NotEnoughData, counted
from osteon.joint_limits._ranges_kernel import shake
from osteon.maths import noise_gain, quat
from osteon.typing import Array
from osteon.values import Motion

DENSITY = 50.0
"""Samples per second: the 100 for two seconds of [001] §3."""

SLOWEST = 1.0
"""Frames per second below which no more samples are laid between frames: those know nothing."""

JUMP = 4.5
"""Third difference, in medians, that is no longer noise: three standard deviations."""

FEWEST = 4
"""Below this many frames there is no motion to speak of ([001] §3: 4 to 6)."""


def joint_rotations(motion: Motion, exclude: Iterable[Sequence[int]] = ()) -> Array:
    """(n_frames, n_bodies, 4) rotations that count: NaN where held or excluded.

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
    if left < FEWEST:
        raise NotEnoughData(
            f"{motion.source.file or 'the motion'}: {counted(left, 'frame')} with a pose; joint "
            f"types and limits need {FEWEST} or more"
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
    return quat.slerp(rotations[before], rotations[before + 1], share)


def default_samples(motion: Motion) -> int:
    return max(FEWEST, round(DENSITY * motion.n_frames / max(motion.rate, SLOWEST)))


def shaking(tracks: Array) -> Array:
    """Standard deviation (...) of white noise on smooth tracks (n_frames, ...), NaN passed over.

    From third differences, in which smooth motion all but vanishes. Those beyond ``JUMP`` medians
    are jumps, not shaking.
    """
    square = np.empty(tracks.shape[1:])
    shake(tracks.reshape(len(tracks), -1), JUMP, square.reshape(-1))
    return np.sqrt(square / noise_gain(3))
