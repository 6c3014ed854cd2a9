"""Least squares without negative numbers, against scipy."""

import numpy as np
import pytest
from scipy.optimize import nnls

from osteon.maths import non_negative


@pytest.mark.parametrize("seed", range(20))
def test_the_least_squares_are_those_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    system, target = rng.normal(size=(30, 8)), rng.normal(size=30)
    np.testing.assert_allclose(non_negative(system, target), nnls(system, target)[0], atol=1e-12)


def test_nothing_is_gained_by_any_other_number() -> None:
    rng = np.random.default_rng(3)
    system, target = np.abs(rng.normal(size=(12, 5))), rng.normal(size=12)
    found = non_negative(system, target)
    slope = system.T @ (target - system @ found)
    assert (found >= 0.0).all() and (slope <= 1e-9).all()
    np.testing.assert_allclose(slope[found > 0.0], 0.0, atol=1e-9)


def test_columns_that_say_the_same_share() -> None:
    system = np.ones((4, 2))
    assert (system @ non_negative(system, np.full(4, 3.0))).tolist() == pytest.approx([3.0] * 4)
