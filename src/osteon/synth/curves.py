"""Smooth curves over time, and random streams that do not disturb one another."""

import zlib

import numpy as np
from numpy.typing import ArrayLike

from osteon.typing import Array


def stream(seed: int, purpose: str) -> np.random.Generator:
    """Random numbers of their own for every purpose.

    So switching one disturbance on or off leaves all others as they were, to the bit.
    """
    return np.random.default_rng([seed, zlib.crc32(purpose.encode())])


def ease(s: ArrayLike) -> Array:
    """From 0 to 1 while ``s`` goes from 0 to 1, starting and ending at rest (minimum jerk)."""
    s = np.clip(s, 0.0, 1.0)
    return s**3 * (10.0 + s * (6.0 * s - 15.0))


def bump(s: ArrayLike) -> Array:
    """From 0 up to 1 and back while ``s`` goes from 0 to 1; at rest at both ends."""
    s = np.clip(s, 0.0, 1.0)
    return 64.0 * (s * (1.0 - s)) ** 3


def through(s: Array, keys: Array) -> Array:
    """From key to key (n_keys, ...) while ``s`` (n,) goes from 0 to 1, resting at each."""
    place = np.clip(s, 0.0, 1.0) * (len(keys) - 1)
    start = np.minimum(place.astype(int), len(keys) - 2)
    share = ease(place - start).reshape(-1, *([1] * (np.ndim(keys) - 1)))
    return keys[start] + share * (keys[start + 1] - keys[start])


def waves(rng: np.random.Generator, times: Array, n: int, slowest: float, fastest: float) -> Array:
    """(n_times, n) sums of four sines between two frequencies (Hz), never beyond ±1.

    Each sine has a quarter of the band, so that no two can cancel for long.
    """
    total = np.zeros((len(times), n))
    edges = np.linspace(slowest, fastest, 5)
    for weight, low, high in zip((0.4, 0.3, 0.2, 0.1), edges[:-1], edges[1:], strict=True):
        frequency, phase = rng.uniform(low, high, n), rng.uniform(0.0, 2.0 * np.pi, n)
        total += weight * np.sin(2.0 * np.pi * frequency * times[:, None] + phase)
    return total


def smooth_noise(
    rng: np.random.Generator, shape: tuple[int, ...], rate: float, seconds: float = 0.07
) -> Array:
    """Noise of unit variance, correlated along the first axis over about ``seconds``."""
    white = rng.standard_normal(shape)
    frequency = np.fft.fftfreq(shape[0], 1.0 / rate)
    gain = np.exp(-2.0 * (np.pi * seconds * frequency) ** 2)  # a Gaussian window over time
    gain /= np.sqrt(np.mean(gain**2))
    spectrum = np.fft.fft(white, axis=0) * gain.reshape(-1, *([1] * (len(shape) - 1)))
    return np.fft.ifft(spectrum, axis=0).real
