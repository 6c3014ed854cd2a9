"""Sudden turns that pins leave open are solved again from between their neighbours."""

import numpy as np
import pytest

from osteon.maths import quat
from osteon.posing import PoseProblem, compile_rig
from osteon.retargeting.flips import Rested, without_flips
from rigs import human

RATE, N_FRAMES, FLIPPED = 120.0, 60, slice(30, 33)
BODY = 3


@pytest.fixture
def pulls() -> PoseProblem:
    rig = compile_rig(human(), [])
    return PoseProblem(rig, np.zeros((N_FRAMES, rig.tree.n_markers, 3)))


def poses(turn: float) -> Rested:
    """All still, but for one body that is turned over in three frames."""
    rotations = np.zeros((N_FRAMES, len(human().bodies), 4))
    rotations[..., 0] = 1.0
    rotations[FLIPPED, BODY] = quat.from_axis_angle(np.array([1.0, 0.0, 0.0]), np.array(turn))
    return Rested(rotations, np.zeros((N_FRAMES, 3)), (7,))


def as_begun(pulls, start=None, *, yields=None) -> Rested:
    """A model that rests wherever it begins."""
    return Rested(*start, ())


def test_a_flip_is_solved_from_its_neighbours(pulls):
    given, flipped = poses(0.0).rotations, poses(1.2)
    found = without_flips(pulls, as_begun, flipped, given, RATE)
    turns = quat.angle(quat.between(found.rotations[:-1], found.rotations[1:]))
    assert turns.max() < np.radians(1.0) and found.held == (7,)
    far = np.r_[0:20, 43:N_FRAMES]
    np.testing.assert_array_equal(found.rotations[far], flipped.rotations[far])


def test_turns_that_are_given_stay(pulls):
    flipped = poses(1.2)
    found = without_flips(pulls, as_begun, flipped, flipped.rotations, RATE)
    np.testing.assert_array_equal(found.rotations, flipped.rotations)


def test_slow_turns_stay(pulls):
    slow = poses(np.radians(14.0))
    found = without_flips(pulls, as_begun, slow, poses(0.0).rotations, RATE)
    np.testing.assert_array_equal(found.rotations, slow.rotations)


def test_what_flips_again_stays(pulls):
    given, flipped = poses(0.0).rotations, poses(1.2)

    def insists(pulls, start=None, *, yields=None) -> Rested:
        again = np.array(start[0])
        again[len(again) // 2, BODY] = [0.0, 1.0, 0.0, 0.0]
        return Rested(again, start[1], ())

    found = without_flips(pulls, insists, flipped, given, RATE)
    np.testing.assert_array_equal(found.rotations, flipped.rotations)


def test_a_flip_at_an_end_stays(pulls):
    """Nothing comes after it that could say."""
    given, flipped = poses(0.0).rotations, poses(0.0)
    flipped.rotations[-1, BODY] = quat.from_axis_angle(np.array([1.0, 0.0, 0.0]), np.array(1.2))
    found = without_flips(pulls, as_begun, flipped, given, RATE)
    assert len(found.rotations) == N_FRAMES
    np.testing.assert_array_equal(found.rotations[-1], flipped.rotations[-1])


def test_a_take_of_few_frames(pulls):
    few, given = poses(1.2), poses(0.0)
    short = Rested(few.rotations[28:35], few.root[28:35], ())
    cut = PoseProblem(pulls.rig, pulls.targets[28:35])
    found = without_flips(cut, as_begun, short, given.rotations[28:35], RATE)
    turns = quat.angle(quat.between(found.rotations[:-1], found.rotations[1:]))
    assert turns.max() < np.radians(1.0)
