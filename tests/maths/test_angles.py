"""Statistics of angles, and scales that outliers cannot move."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from conftest import assert_close
from oracles.angle_oracles import covering_interval
from osteon.maths import mad_scale, rotations

angles = st.lists(st.floats(-50, 50), min_size=1, max_size=30)


@given(st.floats(-1e3, 1e3))
def test_wrap_keeps_the_direction(angle):
    wrapped = rotations.wrap(np.array(angle))
    assert -np.pi <= wrapped < np.pi
    assert_close(np.exp(1j * wrapped), np.exp(1j * angle), 1e-12)


def test_resultant_is_one_where_all_agree_and_nothing_where_they_cancel():
    samples = np.array([[0.3, 0.0], [0.3 + 2 * np.pi, np.pi], [np.nan, np.nan]])
    assert_close(rotations.resultant_length(samples, axis=0), [1.0, 0.0], 1e-12)
    assert np.isnan(rotations.resultant_length(np.array([np.nan])))


def test_unwrap_follows_a_spinning_angle_over_gaps():
    truth = np.linspace(0, 30, 200)[:, None] * np.array([1.0, -0.5])
    seen = rotations.wrap(truth)
    seen[50:60] = np.nan
    found = rotations.unwrap(seen, axis=0)
    assert np.isnan(found[50:60]).all()
    kept = np.isfinite(found)
    assert_close(found[kept] - truth[kept], 0.0, 1e-12)


@given(angles)
def test_interval_holds_every_sample_and_no_shorter_one_does(samples):
    samples = np.array(samples)
    low, high, gap = covering_interval(samples)
    assert -np.pi <= low < np.pi
    assert high - low == pytest.approx(2 * np.pi - gap)
    reach = (samples - low) % (2 * np.pi)
    inside = (reach <= high - low + 1e-9) | (reach >= 2 * np.pi - 1e-9)
    assert inside.all()
    # brute force: starting at any sample, how far round is the last one?
    shortest = min(((samples - start) % (2 * np.pi)).max() for start in samples)
    assert high - low <= shortest + 1e-9


def test_interval_counts_the_gap_over_the_seam():
    low, high, gap = covering_interval(np.radians([170.0, -170.0, 175.0, np.nan]))
    assert np.degrees([low, high, gap]) == pytest.approx([170.0, 190.0, 340.0])
    assert covering_interval(np.array([1.0])) == pytest.approx((1.0, 1.0, 2 * np.pi))
    assert np.isnan(covering_interval(np.array([]))).all()


def test_scale_is_not_moved_by_outliers(rng):
    values = rng.normal(2.0, 0.3, size=(5000, 2))
    values[:1500] = 1e6
    values[::9] = np.nan
    # 30 % far away on one side: the normal law gives a factor of 1.84
    found = mad_scale(values, axis=0)
    assert found == pytest.approx(1.84 * 0.3, rel=0.05)
    assert mad_scale(rng.normal(0, 0.3, 20_000)) == pytest.approx(0.3, rel=0.03)
    assert np.isnan(mad_scale(np.array([np.nan, np.nan])))
