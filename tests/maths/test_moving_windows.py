"""Moving windows against their definition, frame by frame."""

from collections.abc import Callable

import numpy as np
import pytest

from osteon.maths import moving_least, moving_mean
from osteon.typing import Array


def by_definition(tracks: Array, window: int, what: Callable[[Array], Array]) -> Array:
    """One frame after the other; the last values stand for what is beyond the ends."""
    frames = np.arange(len(tracks))
    around = np.arange(window) - window // 2
    return np.stack([what(tracks[np.clip(f + around, 0, len(tracks) - 1)]) for f in frames])


@pytest.mark.parametrize("n_frames", [1, 2, 7, 60])
@pytest.mark.parametrize("window", [1, 2, 5, 8, 13])
def test_windows_are_what_they_are_called(n_frames: int, window: int) -> None:
    tracks = np.random.default_rng(n_frames).normal(size=(n_frames, 3))
    least = by_definition(tracks, window, lambda values: values.min(axis=0))
    np.testing.assert_array_equal(moving_least(tracks, window), least)
    mean = by_definition(tracks, window, lambda values: values.mean(axis=0))
    # each of the sums along the track rounds once, by half a unit in the last place of some units
    np.testing.assert_allclose(moving_mean(tracks, window), mean, atol=n_frames * 4 * 2.3e-16)
