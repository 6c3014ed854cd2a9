"""Distances between points, and the nearest of them, against scipy."""

import numpy as np
import pytest
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist

from osteon.maths import Nearest, distances_between


@pytest.mark.parametrize("n_known", [1, 2, 16, 17, 500])
@pytest.mark.parametrize("count", [1, 3])
def test_the_nearest_are_those_of_a_k_d_tree(n_known: int, count: int) -> None:
    rng = np.random.default_rng(n_known)
    known, points = rng.normal(size=(n_known, 6)), rng.normal(size=(40, 6))
    count = min(count, n_known)
    expected = np.reshape(KDTree(known).query(points, k=count)[0], (40, count))
    np.testing.assert_allclose(Nearest(known).distances(points, count), expected, rtol=1e-14)


def test_points_at_one_place_are_found_one_by_one() -> None:
    known = np.concatenate([np.zeros((40, 3)), np.ones((2, 3))])
    found = Nearest(known).distances(np.ones((1, 3)), 3)
    np.testing.assert_allclose(found, [[0.0, 0.0, np.sqrt(3.0)]])


def test_fewer_points_than_asked_for_give_fewer_distances() -> None:
    assert Nearest(np.zeros((2, 3))).distances(np.ones((5, 3)), 3).shape == (5, 2)
    assert Nearest(np.zeros((0, 3))).distances(np.ones((5, 3)), 3).shape == (5, 0)


def test_known_points_stay_as_they_were() -> None:
    known = np.random.default_rng(1).normal(size=(100, 3))
    before = known.copy()
    Nearest(known)
    np.testing.assert_array_equal(known, before)


def test_distances_are_those_of_scipy() -> None:
    rng = np.random.default_rng(2)
    some, others = rng.normal(size=(7, 3)), rng.normal(size=(11, 3))
    some[3, 1] = np.nan
    np.testing.assert_allclose(distances_between(some, others), cdist(some, others), rtol=1e-15)
