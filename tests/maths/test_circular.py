"""Statistics of angles and robust weights."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from conftest import assert_close
from oracles.angle_oracles import covering_interval
from osteon.maths import circular, robust

angles = st.lists(st.floats(-50, 50), min_size=1, max_size=30)


@given(st.floats(-1e3, 1e3))
def test_wrap_keeps_the_direction(angle):
    wrapped = circular.wrap(np.array(angle))
    assert -np.pi <= wrapped < np.pi
    assert_close(np.exp(1j * wrapped), np.exp(1j * angle), 1e-12)


@given(angles, st.floats(-10, 10))
def test_mean_turns_with_the_samples(samples, turn):
    samples = np.array(samples)
    if circular.resultant_length(samples) < 1e-3:
        return
    moved = circular.mean(samples + turn)
    assert abs(circular.difference(moved, circular.mean(samples) + turn)) < 1e-9


def test_mean_goes_over_the_seam_and_passes_over_gaps():
    samples = np.radians([170.0, -170.0, np.nan, 175.0, -175.0])
    assert abs(circular.difference(circular.mean(samples), np.pi)) < 1e-12
    weighted = circular.mean(np.radians([0.0, 90.0]), weights=np.array([1.0, 0.0]))
    assert_close(weighted, 0.0)
    assert np.isnan(circular.mean(np.array([np.nan])))


def test_axis_picks_the_samples(rng):
    samples = rng.normal(0.5, 0.1, size=(400, 3))
    samples[::7, 1] = np.nan
    means = circular.mean(samples, axis=0)
    assert means.shape == (3,)
    # standard error 0.1 / √343
    assert np.abs(means - 0.5).max() < 0.025


def test_std_of_a_narrow_spread_is_the_usual_one(rng):
    samples = rng.normal(3.1, 0.05, size=20_000)
    assert circular.std(samples) == pytest.approx(0.05, rel=0.02)
    assert circular.resultant_length(np.array([0.0, np.pi])) < 1e-12
    assert circular.std(np.zeros(5)) == 0.0


def test_unwrap_follows_a_spinning_angle_over_gaps():
    truth = np.linspace(0, 30, 200)[:, None] * np.array([1.0, -0.5])
    seen = circular.wrap(truth)
    seen[50:60] = np.nan
    found = circular.unwrap(seen, axis=0)
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


@pytest.mark.parametrize("weigh", [robust.huber])
def test_weights_fall_from_one(weigh):
    residuals = np.array([0.0, 0.5, 1.0, 2.0, 50.0])
    weights = weigh(residuals, 1.0)
    assert weights[0] == 1.0
    assert (np.diff(weights) <= 0).all()
    assert weights[-1] < 0.03
    assert_close(weigh(-residuals, 1.0), weights)
    assert_close(weigh(1e-3 * residuals, 1e-3), weights)
    assert weigh(np.array([np.nan]), 1.0) == 0.0


def test_scale_is_not_moved_by_outliers(rng):
    values = rng.normal(2.0, 0.3, size=(5000, 2))
    values[:1500] = 1e6
    values[::9] = np.nan
    # 30 % far away on one side: the normal law gives a factor of 1.84
    found = robust.mad_scale(values, axis=0)
    assert found == pytest.approx(1.84 * 0.3, rel=0.05)
    assert robust.mad_scale(rng.normal(0, 0.3, 20_000)) == pytest.approx(0.3, rel=0.03)
    assert np.isnan(robust.mad_scale(np.array([np.nan, np.nan])))
