"""Angles about successive axes."""

from itertools import permutations

import numpy as np
import pytest

from conftest import assert_rotations_close
from osteon.maths import euler, quat

ORDERS = ["".join(order) for order in permutations("xyz")]


@pytest.mark.parametrize("order", [*ORDERS, "x", "zy", "xyx", ""])
@pytest.mark.parametrize("batch", [(), (4,), (3, 1, 2)])
def test_angles_compose_left_to_right(order, batch, rng):
    angles = rng.uniform(-7, 7, size=(*batch, len(order)))
    expected = quat.identity(batch)
    for slot, axis in enumerate(order):
        unit = np.eye(3)["xyz".index(axis)]
        expected = quat.multiply(expected, quat.from_axis_angle(unit, angles[..., slot]))
    assert_rotations_close(euler.to_quat(angles, order), expected)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("batch", [(1,), (5,), (40, 3), (7, 2, 2)])
def test_rotations_come_back(order, batch, rng):
    q = quat.normalise(rng.normal(size=(*batch, 4)))
    # the sine of an angle near gimbal lock is lost to rounding: 1e-8 is what is promised
    assert_rotations_close(euler.to_quat(euler.from_quat(q, order), order), q, 2e-8)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_path_through_gimbal_lock_stays_smooth(order, sign):
    """The middle angle goes twice round, frames 0, 90°, 180° … exactly on the lock."""
    turn = np.linspace(0, sign * 4 * np.pi, 145)
    angles = np.stack([0.3 + 0.1 * turn, turn, -0.2 - 0.05 * turn], axis=-1)
    found = euler.from_quat(euler.to_quat(angles, order), order)
    step = np.abs(np.diff(angles, axis=0)).max()
    # held angles may lag by the two steps around the lock
    assert np.abs(np.diff(found, axis=0)).max() < 3 * step
    assert_rotations_close(euler.to_quat(found, order), euler.to_quat(angles, order), 2e-8)


def test_a_spin_adds_up_over_turns():
    spin = np.linspace(0, 20 * np.pi, 400)
    angles = np.stack([spin, 0.2 * np.sin(spin), 0 * spin], axis=-1)
    np.testing.assert_allclose(
        euler.from_quat(euler.to_quat(angles, "zxy"), "zxy"), angles, atol=1e-9
    )


def test_a_turn_about_one_axis_uses_that_axis_alone():
    """Also beyond 90° on the middle axis, where the other set of angles has two half turns."""
    for axis in range(3):
        angles = np.zeros((50, 3))
        angles[:, axis] = np.linspace(1.6, 2.9, 50)
        found = euler.from_quat(euler.to_quat(angles, "zyx"), "zyx")
        np.testing.assert_allclose(found, angles, atol=1e-9)
