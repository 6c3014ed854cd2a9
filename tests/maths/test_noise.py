"""White noise is found beside motion, whatever the order of the differences."""

import numpy as np
import pytest

from osteon.maths import noise_gain, white_noise


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_differencing_enlarges_white_noise_by_its_gain(order, rng):
    """50 000 independent samples: the variance of differences is known to 2 %."""
    differences = np.diff(rng.standard_normal((50_000, 4)), n=order, axis=0)
    assert np.var(differences) == pytest.approx(noise_gain(order), rel=0.02)


def test_noise_is_told_from_motion_and_jumps(rng):
    """20 000 samples: the median is known to 1 %. A point hardly seen counts as noiseless."""
    time = np.arange(20_000)[:, None, None] / 100.0
    paths = np.sin(2.0 * np.pi * time + np.arange(3)) + np.zeros((1, 3, 1))
    paths += rng.normal(scale=[[0.001], [0.004], [0.002]], size=paths.shape)
    paths[::500, 0] += 0.3
    paths[12:, 2] = np.nan
    found = white_noise(paths)
    assert found[:2] == pytest.approx([0.001, 0.004], rel=0.05)
    assert found[2] == 0.0
