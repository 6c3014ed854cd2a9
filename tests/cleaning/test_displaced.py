"""A sample that is off its body is left out, and its companions stay."""

import numpy as np
import pytest

from osteon.articulation.segmentation import segment
from osteon.cleaning import without_displaced
from osteon.maths import quat
from osteon.values import Recording

SHAPE = np.array(
    [[0.03, 0.06, 0.02], [0.12, -0.05, 0.04], [0.02, 0.09, -0.07], [-0.04, -0.03, 0.1]]
)

SWING = 0.1
"""Radians."""


def turning(rng, n_frames: int, at) -> np.ndarray:
    """(n_frames, 4, 3) a rigid cluster that turns by SWING to either side, and less across."""
    time = np.linspace(0.0, 12.0, n_frames)
    way = np.stack([np.sin(time), 0.7 * np.cos(1.3 * time), 0.4 * np.sin(0.7 * time)], axis=-1)
    way = SWING * way
    points = quat.rotate(quat.exp(way)[:, None], SHAPE) + at
    return points + 0.0005 * rng.normal(size=points.shape)


@pytest.fixture
def two():
    rng = np.random.default_rng(2)
    one = turning(rng, 400, np.zeros(3))
    other = turning(rng, 400, np.array([0.4, 0.0, 0.0]))[::-1] + [0.4, 0.0, 0.0]
    names = tuple(f"{body}{k}" for body in "ab" for k in range(4))
    return Recording(np.concatenate([one, other], axis=1), names, 60.0)


@pytest.mark.parametrize("n_seen", [4, 3])
def test_the_one_that_is_off_is_named(two, n_seen):
    positions = two.positions.copy()
    positions[:, n_seen:4] = np.nan
    positions[100:130, 1] += [0.05, 0.03, 0.02]
    recording = two.with_positions(positions, "displaced")
    left = without_displaced(recording, [two.names[:n_seen], two.names[4:]])
    gone = recording.seen & ~left.seen
    assert gone[100:130, 1].all()
    assert gone.sum() == 30


def test_of_two_neither_is_believed(two):
    positions = two.positions.copy()
    positions[100:130, 1] += [0.15, 0.0, 0.0]
    left = without_displaced(two.with_positions(positions, "displaced"), [two.names[:2]])
    gone = ~left.seen
    assert (gone[:, 0] == gone[:, 1]).all()
    assert gone[100:130, 0].mean() > 0.5


def test_a_clean_body_is_left_as_it_is(two):
    assert without_displaced(two, [two.names[:4], two.names[4:]]) is two


@pytest.mark.parametrize("seed", [7, 8, 9, 10])
def test_bursts_do_not_part_or_join_bodies(two, seed):
    """Five frames, up to 17 cm, 3 % of the samples, as cleaning leaves them: they are no noise of
    the distances, in which 6° of bending would hide."""
    rng = np.random.default_rng(seed)
    positions = two.positions.copy()
    for first in range(8, 390, 20):
        way = rng.normal(size=3)
        size = rng.uniform(0.02, 0.17) / np.linalg.norm(way)
        positions[first : first + 5, rng.integers(8)] += size * way
    groups = segment(two.with_positions(positions, "displaced"))
    assert {frozenset(group) for group in groups} == {
        frozenset(two.names[:4]),
        frozenset(two.names[4:]),
    }
