"""[001]'s formulas as printed, beside ours: each of its mistakes fails here. docs/methods.md E2."""

import numpy as np
import pytest

from oracles.angle_oracles import (
    covering_interval,
    directions_across,
    quaternion_rank,
    swing_and_twist,
)
from osteon.joint_limits.kinds import KindOptions, find_kinds
from osteon.joint_limits.ranges import RangeOptions, find_arc
from osteon.maths import euler, quat, rotations

AXIS = quat.normalise(np.array([1.0, 2.0, -0.5]))


def paper_axis(q):
    """Eq. 8: the normalised sum of the vector parts."""
    total = q[:, 1:].sum(axis=0)
    return total / np.linalg.norm(total)


def paper_angle(q):
    """Eq. 11: 2 atan2(s, ‖v‖)."""
    return 2.0 * np.arctan2(q[:, 0], np.linalg.norm(q[:, 1:], axis=-1))


def paper_eigenvalues(q):
    """Eq. 4–7: PPᵀ of the vector parts about their mean, not divided by N."""
    centred = q[:, 1:] - q[:, 1:].mean(axis=0)
    return np.linalg.eigvalsh(centred.T @ centred)[::-1]


def paper_zyz(q, epsilon=1e-6):
    """Appendix A: arc cosine for ψ, and only the pole at ψ = 0."""
    u = quat.rotate(q, np.array([0.0, 0.0, 1.0]))
    w = quat.rotate(q, np.array([1.0, 0.0, 0.0]))
    psi = np.arccos(np.clip(u[:, 2], -1.0, 1.0))
    locked = psi < epsilon
    phi = np.where(locked, np.arctan2(w[:, 1], w[:, 0]), np.arctan2(u[:, 1], u[:, 0]))
    psi = np.where(locked, 0.0, psi)
    first = euler.zyz_to_quat(np.stack([phi, psi, np.zeros_like(phi)], axis=-1))
    rest = quat.between(first, q)
    theta = 2.0 * np.arctan2(rest[:, 3], rest[:, 0])
    return np.stack([phi, psi, np.where(locked, 0.0, theta)], axis=-1)


def degrees_between_axes(a, b):
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b)), abs(a @ b)))


def hinge(angles_deg, rest=(1.0, 0.0, 0.0, 0.0)):
    return quat.multiply(quat.from_axis_angle(AXIS, np.radians(angles_deg)), np.array(rest))


def noisy(rng, q, degrees=0.5):
    return quat.multiply(q, quat.exp(np.radians(degrees) * rng.normal(size=(len(q), 3))))


@pytest.mark.parametrize("signs", ["angles of both signs", "quaternions of both signs"])
def test_the_axis_does_not_cancel(rng, signs):
    """Eq. 8: v flips with the angle and with the quaternion's sign, and the sum is chance."""
    worst_paper, worst_ours = 0.0, 0.0
    for _ in range(40):
        if signs == "angles of both signs":
            q = noisy(rng, hinge(rng.permutation(np.linspace(-60, 60, 100))))
        else:
            q = noisy(rng, hinge(np.linspace(0, 120, 100)))
            q *= rng.choice([-1.0, 1.0], size=100)[:, None]
        ours = find_kinds(q[:, None]).axes[0][0]
        worst_paper = max(worst_paper, degrees_between_axes(paper_axis(q), AXIS))
        worst_ours = max(worst_ours, degrees_between_axes(ours, AXIS))
    assert worst_ours < 0.6  # 200 draws: worst 0.3°
    assert worst_paper > 10.0


def test_the_angle_keeps_its_sign_and_its_zero():
    """Eq. 9–12: atan2 has its arguments swapped and the sign is lost: π − |θ|."""
    degrees = np.array([-30.0, 0.0, 30.0, 100.0])
    np.testing.assert_allclose(np.degrees(paper_angle(hinge(degrees))), [150, 180, 150, 80])
    ours = rotations.twist_angle(hinge(degrees), AXIS)
    np.testing.assert_allclose(np.degrees(ours), degrees, atol=1e-12)
    np.testing.assert_allclose(rotations.twist_angle(-hinge(degrees), AXIS), ours, atol=1e-12)


def test_a_rest_offset_leaves_a_hinge_a_hinge(rng):
    """§2.1: the vector parts lie on a line only where the rest is identity."""
    rest = quat.exp(np.radians(60.0) * quat.normalise(np.cross(AXIS, [0, 0, 1.0])))
    q = hinge(np.linspace(-50, 50, 200), rest)
    values = paper_eigenvalues(q) / len(q)
    assert values[1] > 1e-4  # noise-free, the paper's samples already spread in two dimensions
    assert find_kinds(q[:, None]).spread.std[0, 1] < 1e-8
    assert degrees_between_axes(paper_axis(q), AXIS) > 20.0
    found = find_kinds(noisy(rng, q, 0.1)[:, None])
    assert found.kinds == ("hinge",)
    assert degrees_between_axes(found.axes[0][0], AXIS) < 0.2
    assert quaternion_rank(q[:, None], 1e-3).tolist() == [2]


def test_the_threshold_does_not_grow_with_the_take(rng):
    """C = PPᵀ is not divided by N: ten times the samples, ten times the eigenvalues."""
    short, long = (noisy(rng, hinge(np.zeros(n)), 1.0) for n in (100, 1000))
    ratio = paper_eigenvalues(long)[0] / paper_eigenvalues(short)[0]
    assert 6.0 < ratio < 14.0  # 200 draws: 6.8 to 11.4
    threshold = 0.03  # between the two: the paper finds the same still joint fixed, then moving
    assert paper_eigenvalues(short)[0] < threshold < paper_eigenvalues(long)[0]
    absolute = KindOptions(threshold="absolute")
    for q in (short, long):
        assert find_kinds(q[:, None], absolute).kinds == ("fixed",)
        assert find_kinds(q[:, None]).kinds == ("fixed",)


def test_small_motions_about_rest_have_small_limits(rng):
    """ZYZ is singular at the identity: ±15° of motion fill two circles. Swing–twist does not."""
    q = quat.exp(np.radians(rng.uniform(-15, 15, size=(2000, 3))))
    phi, _, theta = euler.zyz_from_quat(q).T
    assert all(np.ptp(angle) > np.radians(350) for angle in (phi, theta))
    axis = np.array([0.0, 0.0, 1.0])
    swing, twist = swing_and_twist(q, axis, directions_across(axis))
    assert np.degrees(np.linalg.norm(swing, axis=-1).max()) < 23  # 15·√2 and a little
    assert np.degrees(np.abs(twist).max()) < 17


def test_both_poles_hold_still(rng):
    """Appendix A knows the pole at ψ = 0; at ψ = π its φ is the direction of rounding errors."""
    turns = np.radians(np.linspace(-20, 20, 50))
    for psi in (0.0, np.pi):
        angles = np.stack([turns, np.full(50, psi), np.zeros(50)], axis=-1)
        q = quat.multiply(euler.zyz_to_quat(angles), quat.exp(1e-9 * rng.normal(size=(50, 3))))
        ours = euler.zyz_from_quat(q)
        np.testing.assert_allclose(ours[:, 0], turns, atol=1e-6)
        assert covering_interval(ours[:, 0]).high < np.radians(21)
    paper = paper_zyz(q)
    assert covering_interval(paper[:, 0]).gap < np.radians(90)


def test_psi_keeps_its_digits_near_the_poles():
    """acos(uz) near ±1 loses half the digits."""
    for psi in (1e-8, np.pi - 1e-8):
        q = euler.zyz_to_quat(np.array([[0.3, psi, 0.2]]))
        paper = paper_zyz(q, epsilon=0.0)[0, 1]
        assert abs(euler.zyz_from_quat(q, locked=1e-10)[0, 1] - psi) < 1e-14
        assert abs(paper - psi) > 1e-9


def test_zyz_angles_give_the_rotation_back(rng):
    q = quat.normalise(rng.normal(size=(500, 4)))
    back = euler.zyz_to_quat(euler.zyz_from_quat(q))
    np.testing.assert_allclose(quat.angle(quat.between(q, back)), 0.0, atol=1e-7)


def test_ranges_across_the_seam_stay_whole():
    """Eq. 12 and 15 take minimum and maximum; the motion from 170° to 190° becomes −170°…170°."""
    angles = np.radians(np.arange(170, 191.0))
    wrapped = (angles + np.pi) % (2 * np.pi) - np.pi
    assert np.ptp(wrapped) > np.radians(340)
    arc = find_arc(wrapped, np.zeros(len(angles), dtype=int), RangeOptions())
    np.testing.assert_allclose(arc.high - arc.low, np.radians(20), atol=1e-9)
    assert arc.coverage == 1.0
