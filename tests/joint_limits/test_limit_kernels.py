"""The compiled ways of limits against the plain ones of ``maths``, on random joints with gaps."""

import numpy as np
import pytest

from limit_joints import some_joint
from oracles.angle_oracles import covering_interval, plain_clamp, spread, swing_and_twist
from osteon.errors import ShapeError
from osteon.joint_limits._kinds_kernel import find_rests, find_spreads, hinge_angles, split_turns
from osteon.joint_limits.find_limits import LimitOptions, limits
from osteon.joint_limits.ranges import measure_arcs
from osteon.joint_limits.sampling import _bend, _draw, measure_shaking
from osteon.joint_limits.within_limits import clamp_each
from osteon.maths import quat, rotations
from osteon.values import Body, Cone, Joint, Motion, Skeleton
from osteon.values.array_checks import in_rows, read_only, with_columns


@pytest.fixture
def samples(rng):
    """(90, 12, 4) rotations of joints of every kind, one in ten missing."""
    kinds = ("fixed", "hinge", "universal", "ball")
    made = [some_joint(rng, kind, 90, 1.0)[0] for _ in range(3) for kind in kinds]
    q = np.stack(made, axis=1)
    q[rng.random(q.shape[:2]) < 0.1] = np.nan
    return q


def test_spreads_about_the_mean(samples):
    mean, variance, directions, turns = find_spreads(samples, 1e-10, 50)
    for j in range(samples.shape[1]):
        plain = spread(samples[:, j])
        assert quat.angle(quat.between(plain.mean, mean[j])) < 1e-7
        np.testing.assert_allclose(np.sqrt(variance[j]), plain.std, atol=1e-7)
        assert np.abs(np.sum(directions[j] * plain.directions, axis=-1)).min() > 1.0 - 1e-6
        logs = quat.log(quat.between(mean[j], samples[:, j]))
        np.testing.assert_allclose(turns[:, j], logs, atol=1e-12)


def test_swings_and_twists(samples, rng):
    mean = find_spreads(samples, 1e-7, 50)[0]
    axes = quat.normalise(rng.normal(size=(samples.shape[1], 3)))
    centre, across, swing, twist = split_turns(samples, mean, axes)
    away = quat.between(centre, samples)
    plain = swing_and_twist(away, axes, across)
    np.testing.assert_allclose(swing, plain[0], atol=1e-12)
    np.testing.assert_allclose(twist, plain[1], atol=1e-12)
    # along the directions the middle lies midway, but for what turning the frame there bends
    moving = np.arange(samples.shape[1]) % 4 > 0
    ends = np.nanmax(swing, axis=0) + np.nanmin(swing, axis=0)
    assert np.abs(ends[moving]).max() < 0.2 * np.ptp(np.nan_to_num(swing))


def test_hinge_angles_and_rests(samples, rng):
    n = samples.shape[1]
    rest, axes = quat.normalise(rng.normal(size=(n, 4))), quat.normalise(rng.normal(size=(n, 3)))
    plain = rotations.twist_angle(quat.multiply(samples, quat.inverse(rest)), axes)
    np.testing.assert_allclose(hinge_angles(samples, rest, axes), plain, atol=1e-12)
    inner = quat.normalise(rng.normal(size=(n, 3)))
    alpha, beta = rng.uniform(-np.pi, np.pi, size=(2, 300, n))
    once = quat.multiply(quat.from_axis_angle(axes, alpha), rest)
    twice = quat.multiply(once, quat.from_axis_angle(inner, beta))
    for n_free, allowed in ((1, once), (2, twice)):
        found = find_rests(rest, np.full(n, n_free), axes, axes, inner)
        assert np.all(quat.angle(found) <= quat.angle(allowed).min(axis=0) + 1e-9)


def test_arcs(rng):
    angles = rng.normal(size=(60, 200)) * rng.uniform(0.01, 3.0, 200) + rng.uniform(-9, 9, 200)
    angles[rng.random(angles.shape) < 0.2] = np.nan
    angles[:, 0], angles[1:, 1] = np.nan, np.nan
    above, start, width, _, n_seen = measure_arcs(angles, 0.1)
    for j in range(1, 200):
        plain = covering_interval(angles[:, j])
        assert abs(rotations.wrap(start[j : j + 1] - plain.low)[0]) < 1e-9
        assert width[j] == pytest.approx(plain.high - plain.low, abs=1e-9)
    np.testing.assert_array_equal(n_seen, np.isfinite(angles).sum(axis=0))
    assert n_seen[0] == 0 and np.isnan(above[:, 0]).all()


def test_shaking_passes_over_gaps_and_jumps(rng):
    tracks = np.sin(np.linspace(0, 3, 4000))[:, None] + 0.01 * rng.normal(size=(4000, 3))
    tracks[500:520, 1], tracks[700:, 2] = np.nan, tracks[700:, 2] + 1.0
    np.testing.assert_allclose(measure_shaking(tracks), 0.01, rtol=0.05)


@pytest.mark.parametrize("shape", ["cone", "polygon", "ellipse"])
def test_joints_are_clamped_as_the_plain_formulas_do(samples, rng, shape):
    bodies = [Body("root", None, Joint("free"))]
    bodies += [Body(f"b{j}", "root", tip=rng.normal(size=3)) for j in range(samples.shape[1])]
    q = np.concatenate([np.broadcast_to(quat.identity(), (90, 1, 4)), samples], axis=1)
    motion = Motion(Skeleton(tuple(bodies)), q, np.zeros((90, 3)), 50.0)
    joints = [b.joint for b in limits(motion, options=LimitOptions(samples=90)).bodies[1:]]
    assert {joint.kind for joint in joints} == {"fixed", "hinge", "universal", "ball"}
    anywhere = quat.normalise(rng.normal(size=(len(joints), 4)))
    near = 1e-3 if shape == "ellipse" else 1e-7  # half axes are up to 3 radians
    pairs = zip(anywhere, joints, strict=True)
    plain = np.stack([plain_clamp(one, joint, shape) for one, joint in pairs])
    assert quat.angle(quat.between(plain, clamp_each(anywhere, joints, shape))).max() < near


@pytest.mark.parametrize("power", [-2, 3, 8])
def test_smoothing_solves_its_equations(rng, power):
    y = np.sin(np.linspace(0, 9, 80))[:, None] + 0.1 * rng.normal(size=(80, 4))
    gains, bends, bands = np.ones(80), np.empty((76, 4)), np.empty((76, 5))
    _bend(y, gains, bends, bands)
    taken = np.empty((80, 4))
    total = _draw(bends, bands, gains, 10.0**-power, np.zeros((84, 5)), np.zeros((84, 4)), taken)
    differences = np.diff(np.eye(80), n=4, axis=0)
    smooth = np.linalg.solve(np.eye(80) + 10.0**power * differences.T @ differences, y)
    np.testing.assert_allclose(y - taken, smooth, atol=1e-5)
    assert total == pytest.approx(np.sum(taken**2))


def test_values_in_rows(rng):
    stacks = [
        read_only(rng.normal(size=(3, *shape))) for shape in ((4,), (3,), (2, 3), (2,), (5, 2))
    ]
    cones = in_rows(Cone, *stacks, [(-1.0, 1.0)] * 3)
    np.testing.assert_array_equal(cones[2].polygon, stacks[4][2])
    assert not cones[2].polygon.flags.writeable and cones[1].twist == (-1.0, 1.0)
    turned = with_columns(cones, twist=[(0.0, float(j)) for j in range(3)])
    assert turned[2].twist == (0.0, 2.0) and turned[2].centre is cones[2].centre
    with pytest.raises(ShapeError, match="centre must have shape"):
        in_rows(Cone, *stacks[1:], stacks[0], [(-1.0, 1.0)] * 3)
