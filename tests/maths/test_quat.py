"""Laws of rotations, over batch shapes, dtypes and samplers (far, near identity, near π)."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from conftest import assert_close, assert_rotations_close
from osteon.maths import _quat_kernel as quat_kernel, quat

BATCHES = [(), (1,), (5,), (3, 1, 2)]
SAMPLERS = ["any", "near_identity", "near_half_turn"]

# rounding of a few products of numbers near 1
TOLERANCE = {np.float32: 2e-6, np.float64: 4e-15}


def sample(rng, sampler, batch, dtype):
    if sampler == "any":
        return quat.normalise(rng.normal(size=(*batch, 4))).astype(dtype)
    axis = quat.normalise(rng.normal(size=(*batch, 3)))
    size = rng.uniform(0.0, 1e-7, size=(*batch, 1))
    turn = size if sampler == "near_identity" else np.pi - size
    return quat.exp(turn * axis).astype(dtype)


@pytest.fixture(params=[(b, s, d) for b in BATCHES for s in SAMPLERS for d in TOLERANCE], ids=str)
def setting(request, rng):
    batch, sampler, dtype = request.param
    a, b, c = (sample(rng, sampler, batch, dtype) for _ in range(3))
    v = rng.normal(size=(*batch, 3)).astype(dtype)
    return a, b, c, v, TOLERANCE[dtype]


def test_group_laws(setting):
    a, b, c, _, tolerance = setting
    one = quat.identity(a.shape[:-1])
    assert_close(quat.multiply(a, one), a, tolerance)
    assert_rotations_close(quat.multiply(a, quat.inverse(a)), one, tolerance)
    left = quat.multiply(quat.multiply(a, b), c)
    assert_close(left, quat.multiply(a, quat.multiply(b, c)), tolerance)
    assert_close(quat.between(a, b), quat.multiply(quat.inverse(a), b), tolerance)


def test_rotation_composes_and_keeps_lengths(setting):
    a, b, _, v, tolerance = setting
    turned = quat.rotate(a, quat.rotate(b, v))
    assert_close(quat.rotate(quat.multiply(a, b), v), turned, 10 * tolerance)
    assert_close(np.linalg.norm(turned, axis=-1), np.linalg.norm(v, axis=-1), 10 * tolerance)


def test_matrix_is_the_same_rotation(setting):
    a, _, _, v, tolerance = setting
    matrix = quat.to_matrix(a)
    assert_close((matrix @ v[..., None])[..., 0], quat.rotate(a, v), 10 * tolerance)
    assert_rotations_close(quat.from_matrix(matrix), a, 10 * tolerance)
    assert (quat.from_matrix(matrix)[..., 0] >= 0).all()


def test_log_undoes_exp(setting):
    a, *_, tolerance = setting
    rotvec = quat.log(a)
    assert_rotations_close(quat.exp(rotvec), a, 10 * tolerance)
    assert_close(np.linalg.norm(rotvec, axis=-1), quat.angle(a), 10 * tolerance)
    assert (quat.angle(a) <= np.pi * (1 + tolerance)).all()


def test_slerp_meets_its_ends_and_halves_the_angle(setting):
    a, b, *_, tolerance = setting
    assert_rotations_close(quat.slerp(a, b, 0.0), a, 10 * tolerance)
    assert_rotations_close(quat.slerp(a, b, 1.0), b, 10 * tolerance)
    half = quat.between(a, quat.slerp(a, b, 0.5))
    assert_close(2 * quat.angle(half), quat.angle(quat.between(a, b)), 40 * tolerance)


def test_dtype_is_the_widest_of_the_inputs(setting):
    a, b, _, v, _ = setting
    for result in (
        quat.multiply(a, b),
        quat.rotate(a, v),
        quat.log(a),
        quat.exp(v),
        quat.to_matrix(a),
        quat.from_matrix(quat.to_matrix(a)),
        quat.shortest(v, v[..., ::-1]),
        quat.normalise(a),
    ):
        assert result.dtype == a.dtype
    assert quat.multiply(a, b.astype(np.float64)).dtype == np.float64


@pytest.mark.parametrize("length", [0.0, 1e-300, 1e-12, 1e-3, 1.0, 3.1])
def test_log_of_exp_has_no_threshold(length):
    rotvec = length * np.array([0.6, 0.0, -0.8])
    np.testing.assert_allclose(quat.log(quat.exp(rotvec)), rotvec, rtol=1e-14)


def test_axis_and_angle_agree_with_exp(rng):
    axis, angle = quat.normalise(rng.normal(size=(7, 3))), rng.uniform(-3, 3, 7)
    assert_close(quat.from_axis_angle(axis, angle), quat.exp(angle[:, None] * axis), 1e-15)


@pytest.mark.parametrize("off", [0.0, 1e-16, 1e-12, 1e-9, 1e-6, 1e-2, 1.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_shortest_turns_one_vector_to_the_other(rng, off, sign):
    a = quat.normalise(rng.normal(size=(50, 3)))
    b = quat.normalise(sign * a + off * rng.normal(size=(50, 3)))
    q = quat.shortest(2.0 * a, 0.1 * b)
    assert_close(np.linalg.norm(q, axis=-1), 1.0, 1e-14)
    assert_close(quat.rotate(q, a), b, 1e-14)
    expected = np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), np.sum(a * b, axis=-1))
    assert_close(quat.angle(q), expected, 1e-7 if off < 1e-6 else 1e-12)


@pytest.mark.parametrize("off", [0.0, 1e-9, 1e-6, 1e-2, 1.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_compiled_shortest_turns_likewise(rng, off, sign):
    a = quat.normalise(rng.normal(size=(50, 3)))
    b = quat.normalise(sign * a + off * rng.normal(size=(50, 3)))
    q = np.array([quat_kernel.shortest(*pair) for pair in zip(2.0 * a, 0.1 * b, strict=True)])
    assert_close(np.linalg.norm(q, axis=-1), 1.0, 1e-14)
    # near π the sum of both is mostly rounding, down to 1e-8 of their length
    assert_close(quat.rotate(q, a), b, 1e-14 if sign > 0.0 or off == 1.0 else 1e-7)


def test_a_vector_without_length_has_no_direction():
    assert np.isnan(quat.shortest(np.zeros(3), np.array([1.0, 0, 0]))).all()
    assert np.isnan(quat.normalise(np.zeros((2, 4)))).all()


def test_missing_stays_missing(rng):
    q = quat.normalise(rng.normal(size=(4, 4)))
    q[1] = np.nan
    for result in (quat.log(q), quat.from_matrix(quat.to_matrix(q)), quat.multiply(q, q)):
        assert np.isnan(result[1]).all()
        assert np.isfinite(result[[0, 2, 3]]).all()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_unroll_leaves_no_jump_and_passes_over_gaps(rng, axis, dtype):
    smooth = quat.exp(np.linspace(0, 9, 200)[:, None, None] * rng.normal(size=(1, 3, 3)) * 0.3)
    if axis == 1:
        smooth = np.swapaxes(smooth, 0, 1)
    flipped = (smooth * rng.choice([-1.0, 1.0], size=(*smooth.shape[:-1], 1))).astype(dtype)
    gap = [slice(None), slice(None)]
    gap[axis] = slice(50, 53)
    flipped[tuple(gap)] = np.nan
    found = np.moveaxis(quat.unroll(flipped, axis=axis), axis, 0)
    assert found.dtype == dtype
    seen = np.delete(found, range(50, 53), axis=0)
    assert np.isnan(found[50:53]).all()
    assert (np.sum(seen[1:] * seen[:-1], axis=-1) > 0).all()
    assert_rotations_close(seen, np.delete(np.moveaxis(smooth, axis, 0), range(50, 53), 0), 1e-6)


components = st.floats(-1e3, 1e3, allow_subnormal=False)


@given(arrays(float, (2, 4), elements=components), arrays(float, 3, elements=components))
def test_any_quaternion_rotates_rigidly(pair, v):
    norms = np.linalg.norm(pair, axis=-1)
    if (norms < 1e-100).any():
        assert np.isnan(quat.normalise(pair)[norms == 0]).all()
        return
    a, b = quat.normalise(pair)
    scale = 1.0 + np.abs(v).max()
    assert_close(quat.rotate(quat.inverse(a), quat.rotate(a, v)), v, 1e-13 * scale)
    there = quat.rotate(quat.multiply(a, b), v)
    assert_close(there, quat.rotate(a, quat.rotate(b, v)), 1e-13 * scale)
