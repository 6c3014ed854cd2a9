"""Mean and spread of rotations."""

import numpy as np
import pytest

from conftest import assert_close, assert_rotations_close
from oracles.angle_oracles import spread
from osteon.maths import quat, rotations


def cloud(rng, batch=(), n=400, std=(0.5, 0.2, 0.05)):
    """Rotations about a random centre, symmetrical, so that the centre is the exact mean."""
    centre = quat.normalise(rng.normal(size=(*batch, 4)))
    turns = rng.normal(size=(n // 2, *batch, 3)) * np.array(std)
    q = quat.multiply(centre, quat.exp(np.concatenate([turns, -turns])))
    return centre, q * rng.choice([-1.0, 1.0], size=(*q.shape[:-1], 1))


@pytest.mark.parametrize("batch", [(), (1,), (5,), (2, 3)])
def test_mean_is_the_centre_of_a_symmetrical_cloud(rng, batch):
    centre, q = cloud(rng, batch)
    assert_rotations_close(rotations.frechet_mean(q), centre, 1e-10)


def test_mean_moves_with_the_samples(rng):
    q = quat.exp(rng.normal(scale=0.7, size=(50, 3)))
    a, b = quat.normalise(rng.normal(size=(2, 4)))
    moved = rotations.frechet_mean(quat.multiply(quat.multiply(a, q), b))
    expected = quat.multiply(quat.multiply(a, rotations.frechet_mean(q)), b)
    assert_rotations_close(moved, expected, 1e-9)


def test_mean_makes_the_squared_angles_least(rng):
    q = quat.exp(rng.normal(scale=0.6, size=(40, 3)))
    mean = rotations.frechet_mean(q)

    def cost(centre):
        return np.sum(quat.angle(quat.between(centre, q)) ** 2)

    for step in 1e-3 * np.concatenate([np.eye(3), -np.eye(3)]):
        assert cost(quat.multiply(mean, quat.exp(step))) > cost(mean)


def test_missing_samples_do_not_count(rng):
    q = quat.exp(rng.normal(scale=0.6, size=(30, 3)))
    expected = rotations.frechet_mean(q[:20])
    q[20:] = np.nan
    assert_rotations_close(rotations.frechet_mean(q), expected, 1e-12)
    assert np.isnan(rotations.frechet_mean(q[20:])).all()
    assert np.isnan(spread(q[20:]).std).all()


def test_spread_finds_the_directions_and_sizes(rng):
    """20 000 samples: the standard deviations are good to 1 / √40 000 = 0.5 %."""
    centre, q = cloud(rng, n=20_000)
    found = spread(q)
    assert_rotations_close(found.mean, centre, 1e-9)
    assert found.std == pytest.approx([0.5, 0.2, 0.05], rel=0.03)
    assert_close(np.abs(found.directions), np.eye(3), 0.03)
    assert_close(found.directions @ found.directions.T, np.eye(3), 1e-12)


def test_a_hinge_far_from_identity_spreads_along_one_direction(rng):
    axis = quat.normalise(rng.normal(size=3))
    rest = quat.exp(np.array([1.5, -2.0, 0.5]))
    q = quat.multiply(rest, quat.exp(np.linspace(-1.4, 1.4, 101)[:, None] * axis))
    found = spread(q)
    # the root of a variance that is zero to rounding
    assert_close(found.std[1:], 0.0, 1e-7)
    assert abs(found.directions[0] @ axis) == pytest.approx(1.0, abs=1e-12)
