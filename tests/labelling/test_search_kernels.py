"""The compiled parts of labelling agree with what plain numpy says."""

from itertools import product

import numpy as np
import pytest

from osteon.labelling._figure_search_kernel import share_points_out, take_turns_away
from osteon.labelling.following import unrest_of


def test_ways_to_share_points_out_are_the_best_of_all() -> None:
    rng = np.random.default_rng(0)
    n_answers, n_labels, n_points, most = 3, 3, 5, 40
    unary = rng.normal(1.0, 1.0, (n_answers, n_labels, n_points))
    unary[rng.random(unary.shape) < 0.3] = -np.inf
    terms = rng.normal(0.0, 1.0, (n_labels, n_labels, n_points, n_points))
    terms[..., np.arange(n_points), np.arange(n_points)] = -np.inf
    given = np.full((n_answers, most, n_labels), -1)
    score = np.full((n_answers, most), -np.inf)

    # enough ways that none is dropped before the last label
    assert (n_points + 1) ** (n_labels - 1) <= most
    share_points_out(unary, terms, given, score)

    for answer in range(n_answers):
        worth = {
            way: _worth(way, unary[answer], terms)
            for way in product(range(-1, n_points), repeat=n_labels)
        }
        best = sorted((each for each in worth.values() if each > -np.inf), reverse=True)[:most]
        np.testing.assert_allclose(score[answer, : len(best)], best)
        assert (score[answer, len(best) :] == -np.inf).all()
        for way, told in zip(given[answer, : len(best)].tolist(), score[answer], strict=False):
            assert worth[tuple(way)] == pytest.approx(told)


def _worth(way: tuple[int, ...], unary: np.ndarray, terms: np.ndarray) -> float:
    alone = sum(unary[label, point] for label, point in enumerate(way) if point >= 0)
    pairs = sum(
        terms[one, other, way[one], way[other]]
        for other in range(len(way))
        for one in range(other)
        if way[one] >= 0 and way[other] >= 0
    )
    return float(alone + pairs)


def test_turns_away_are_what_rotation_vectors_say() -> None:
    rng = np.random.default_rng(1)
    arms, away = rng.normal(size=(2, 3)), rng.normal(size=(4, 6, 3))
    frame = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    usual = rng.uniform(0.1, 1.0, (2, 3))
    odds = np.zeros((4, 2, 6))
    odds[0, 0, 0] = -np.inf

    take_turns_away(arms, away, frame, usual, odds)

    across = np.cross(arms[:, None], away[:, None])
    cosine = np.einsum("li,api->alp", arms, away)
    cosine /= np.linalg.norm(arms, axis=-1)[:, None] * np.linalg.norm(away, axis=-1)[:, None]
    turns = across / np.linalg.norm(across, axis=-1, keepdims=True) * np.arccos(cosine)[..., None]
    expected = -0.5 * ((turns @ frame) ** 2 / usual[:, None]).sum(axis=-1)
    expected[0, 0, 0] = -np.inf
    np.testing.assert_allclose(odds, expected)


def test_unrest_is_the_spread_of_distances() -> None:
    rng = np.random.default_rng(2)
    places = rng.normal(size=(9, 4, 3))
    places[:3, 0] = np.nan
    places[:, 3] = np.nan
    apart = np.linalg.norm(places[:, :3, None] - places[:, None, :3], axis=-1)

    unrest = unrest_of(places)

    np.testing.assert_allclose(unrest[:3, :3], np.nanstd(apart, axis=0), atol=1e-12)
    assert (unrest[3] == 0.0).all()
