"""Groups that are one body after all, and groups that are not."""

import numpy as np
import pytest

from osteon.articulation.body_evidence import join_by_evidence
from osteon.maths import quat

SKIN, NOISE = 0.007, 0.0005
HALVES = [[0, 1, 2], [3, 4, 5]]


def limb(rng, turn: np.ndarray) -> np.ndarray:
    """(n_frames, 6, 3) a thigh's length with 6 mm of skin that follows two slow angles, each marker
    its own way; its lower half turned by ``turn`` (n_frames,) radians about its middle."""
    time = np.linspace(0.0, 6.0, len(turn))
    drive = np.stack([np.sin(2.1 * time), np.sin(3.4 * time + 1.0)], axis=-1)
    places = rng.uniform(-0.06, 0.06, size=(6, 3)) + np.outer(
        np.linspace(-0.15, 0.15, 6), [0, 0, 1]
    )
    points = np.tile(places, (len(turn), 1, 1))
    about = turn[:, None] * np.array([1.0, 0.0, 0.0])
    points[:, 3:] = quat.rotate(quat.exp(about)[:, None], points[:, 3:])
    skin = np.einsum("fd,dmk->fmk", drive, rng.normal(size=(2, 6, 3)))
    points += 0.006 / np.sqrt(3.0) * skin + rng.normal(0.0, NOISE, points.shape)
    swing = quat.exp(np.stack([0.5 * np.sin(time), 0.2 * np.cos(time), 0.1 * time], axis=-1))
    return quat.rotate(swing[:, None], points) + np.stack([time, 0 * time, 0 * time], -1)[:, None]


def joined(points: np.ndarray, groups=HALVES, *, near: bool = True) -> int:
    everywhere = np.full((points.shape[1],) * 2, near)
    return len(join_by_evidence(points, groups, SKIN, NOISE, everywhere))


@pytest.mark.parametrize("seed", range(8))
def test_halves_of_a_thigh_in_real_skin_are_one_body(seed):
    """It moves them by no more than skin does at most."""
    assert joined(limb(np.random.default_rng(seed), np.zeros(300))) == 1


@pytest.mark.parametrize("seed", range(8))
def test_a_joint_stays_in_the_same_skin(seed):
    """A joint of ± 20 degrees moves markers together, which skin does not."""
    turn = np.radians(20.0) * np.sin(np.linspace(0.0, 9.0, 300))
    assert joined(limb(np.random.default_rng(seed), turn)) == 2


def test_a_joint_that_bends_for_a_moment_stays(rng):
    turn = np.zeros(300)
    turn[100:112] = np.radians(60.0)
    assert joined(limb(rng, turn)) == 2


def test_a_lone_marker_finds_its_body_and_what_is_far_does_not(rng):
    points = limb(rng, np.zeros(300))
    assert joined(points, [[0, 1, 2, 3, 4], [5]]) == 1
    assert joined(points, near=False) == 2


def test_samples_not_seen_or_displaced_do_not_keep_a_body_apart(rng):
    points = limb(rng, np.zeros(300))
    points[rng.random((300, 6)) < 0.1] = np.nan
    points[::60, 1] += 0.15
    assert joined(points) == 1
