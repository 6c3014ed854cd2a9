"""Rigid fits: the kernel against its reference, truth, and what few markers leave open."""

import numpy as np
import pytest

from conftest import assert_close, assert_rotations_close
from oracles.rigid_oracle import fit_rigid_reference
from osteon.errors import BadValue, NotEnoughData, ShapeError
from osteon.maths import quat, rigid
from osteon.maths.rigid import generalised_procrustes

FITS = [rigid.fit_rigid, fit_rigid_reference]


def moving(rng, template, n_frames=200, noise=0.0, missing=0.0):
    """A template that tumbles about the room; returns rotations, positions and observations."""
    q = quat.normalise(rng.normal(size=(n_frames, 4)))
    p = rng.normal(scale=3.0, size=(n_frames, 3))
    seen = quat.rotate(q[:, None], template) + p[:, None]
    seen = seen + rng.normal(scale=noise, size=seen.shape)
    seen[rng.random(seen.shape[:2]) < missing] = np.nan
    return q, p, seen


def shape(rng, n_markers):
    return rng.normal(scale=0.08, size=(n_markers, 3)) + np.array([0.3, -0.1, 0.05])


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("n_markers", [3, 4, 9])
def test_exact_data_gives_the_pose_back(rng, fit, n_markers):
    template = shape(rng, n_markers)
    q, p, seen = moving(rng, template)
    found = fit(template, seen)
    assert (found.status == rigid.FULL).all()
    assert_rotations_close(found.rotations, q, 1e-12)
    assert_close(found.positions, p, 1e-12)
    assert_close(found.rms, 0.0, 1e-12)
    assert (found.rotations[:, 0] >= 0).all()


@pytest.mark.parametrize("n_markers", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("noise", [0.0, 1e-3, 2e-2])
@pytest.mark.parametrize("n_frames", [0, 1, 63, 64, 65, 300])
def test_kernel_equals_reference(rng, n_markers, noise, n_frames):
    template, weights = shape(rng, n_markers), rng.uniform(0.2, 5.0, n_markers)
    _, _, seen = moving(rng, template, n_frames, noise, missing=0.2)
    ours = rigid.fit_rigid(template, seen, weights)
    theirs = fit_rigid_reference(template, seen, weights)
    np.testing.assert_array_equal(ours.status, theirs.status)
    full = ours.status == rigid.FULL
    # the width of what is seen amplifies rounding by up to 1 / straight²
    assert_rotations_close(ours.rotations[full], theirs.rotations[full], 1e-10)
    assert_close(ours.positions, theirs.positions, 1e-10)
    assert_close(ours.rms, theirs.rms, 1e-12)


def test_markers_almost_in_a_line_keep_their_digits(rng):
    """Width 1 % of the length: the fallback branch; Newton alone would lose half the digits."""
    template = np.array([[0, 0, 0], [0.1, 0.003, 0], [0.2, 0, 0], [0.3, 0.001, 0.002]])
    q, p, seen = moving(rng, template)
    found = rigid.fit_rigid(template, seen, straight=1e-3)
    assert_rotations_close(found.rotations, q, 1e-10)
    assert_close(found.positions, p, 1e-10)


def test_mirrored_markers_are_not_matched_by_a_mirror(rng):
    template = shape(rng, 5)
    _, _, seen = moving(rng, template * np.array([1, 1, -1]))
    for fit in FITS:
        found = fit(template, seen)
        assert (found.rms > 0.01).all()
        assert_close(np.linalg.norm(found.rotations, axis=-1), 1.0)
    assert_close(
        rigid.fit_rigid(template, seen).rms, fit_rigid_reference(template, seen).rms, 1e-10
    )


@pytest.mark.parametrize("fit", FITS)
def test_status_says_what_is_fixed(rng, fit):
    line = np.array([[0.0, 0, 0], [0.1, 0, 0], [0.3, 0, 0]])
    template = np.concatenate([line, [[0.0, 0.2, 0]]])
    _, _, seen = moving(rng, template, n_frames=5)
    seen[1, 3] = np.nan  # three in a line
    seen[2, [0, 3]] = np.nan  # two
    seen[3, [0, 1, 2]] = np.nan  # one
    seen[4] = np.nan
    found = fit(template, seen)
    assert found.status.tolist() == [rigid.FULL, rigid.AXIS, rigid.AXIS, rigid.POINT, rigid.NONE]
    for values in (found.rotations, found.positions, found.rms):
        assert np.isfinite(values[0]).all()
        assert np.isnan(values[1:]).all()


@pytest.mark.parametrize("fit", FITS)
def test_weight_zero_leaves_a_marker_out(rng, fit):
    template = shape(rng, 5)
    q, p, seen = moving(rng, template)
    seen[:, 2] += 0.5
    found = fit(template, seen, np.array([1.0, 1, 0, 1, 1]))
    assert_rotations_close(found.rotations, q, 1e-12)
    assert_close(found.positions, p, 1e-12)
    few = fit(template, seen, np.array([1.0, 1, 0, 0, 0]))
    assert (few.status == rigid.AXIS).all()


def test_many_bodies_are_the_single_ones(rng):
    templates = [shape(rng, n) for n in (4, 1, 3, 6)]
    columns = [[0, 2, 4, 6], [1], [3, 5, 7], [8, 9, 10, 11, 12, 13]]
    observed = np.zeros((150, 14, 3))
    for template, body in zip(templates, columns, strict=True):
        observed[:, body] = moving(rng, template, 150, 1e-3, 0.1)[2]
    together = rigid.fit_bodies(templates, columns, observed)
    assert together.rotations.shape == (150, 4, 4)
    for b, (template, body) in enumerate(zip(templates, columns, strict=True)):
        alone = rigid.fit_rigid(template, observed[:, body])
        for whole, single in zip(together, alone, strict=True):
            np.testing.assert_array_equal(whole[:, b], single)


def test_far_from_the_origin_nothing_is_lost(rng):
    template = shape(rng, 4)
    q, _, seen = moving(rng, template)
    found = rigid.fit_rigid(template, seen + 1e4)
    # coordinates of 1e4 m carry 2e-12 m, a lever of 0.1 m
    assert_rotations_close(found.rotations, q, 5e-10)


def test_float32_markers_are_fitted_in_float64(rng):
    template = shape(rng, 4)
    _, _, seen = moving(rng, template)
    seen = seen.astype(np.float32)
    found = rigid.fit_rigid(template.astype(np.float32), seen)
    assert found.rotations.dtype == np.float64
    again = rigid.fit_rigid(template.astype(np.float32).astype(float), seen.astype(float))
    np.testing.assert_array_equal(found.rotations, again.rotations)


def test_wrong_shapes_are_named():
    with pytest.raises(ShapeError, match=r"observed must have shape \(n_frames, 4, 3\), got"):
        rigid.fit_rigid(np.zeros((4, 3)), np.zeros((10, 5, 3)))
    with pytest.raises(BadValue, match="weights must be 4 numbers ≥ 0"):
        rigid.fit_rigid(np.zeros((4, 3)), np.zeros((10, 4, 3)), np.array([1.0, 1, 1, -1]))
    with pytest.raises(BadValue, match="columns must lie in 0…3, got 4"):
        rigid.fit_bodies([np.zeros((2, 3))], [[3, 4]], np.zeros((10, 4, 3)))


def distances(points):
    return np.linalg.norm(points[:, None] - points, axis=-1)


@pytest.mark.parametrize("n_markers", [3, 4, 8])
def test_procrustes_finds_the_shape(rng, n_markers):
    """Noise 1 mm, 20 % missing, 400 frames: 1/√320 of the noise is left of it."""
    template = shape(rng, n_markers)
    _, _, seen = moving(rng, template, 400, noise=1e-3, missing=0.2)
    found = generalised_procrustes(seen)
    # 40 draws: worst distance off by 0.31 mm
    assert np.abs(distances(found.template) - distances(template)).max() < 5e-4
    assert found.iterations < 20
    assert np.nanmedian(found.fit.rms) < 1.5e-3


def test_procrustes_keeps_left_and_right(rng):
    template = shape(rng, 5)
    _, _, seen = moving(rng, template, 60)
    found = generalised_procrustes(seen)
    assert_close(found.fit.rms, 0.0, 1e-9)


def test_procrustes_trusts_the_rigid_markers(rng):
    """One marker of six wobbles by 10 mm, the others by 0.5 mm."""
    template = shape(rng, 6)
    q, _, seen = moving(rng, template, 500, noise=5e-4)
    seen[:, 4] += rng.normal(scale=1e-2, size=(500, 3))
    found = generalised_procrustes(seen)
    assert np.argmax(found.marker_rms) == 4
    assert found.marker_rms[4] > 5 * np.delete(found.marker_rms, 4).max()
    plain = rigid.fit_rigid(found.template, seen)

    # both frames differ by one constant turn: compare how much that turn seems to change
    def wander(fit):
        turn = quat.unroll(quat.multiply(quat.inverse(q), fit.rotations))
        return quat.angle(quat.between(quat.normalise(turn.mean(axis=0)), turn)).mean()

    assert wander(found.fit) < 0.5 * wander(plain)


def test_pairs_never_seen_together_are_bridged(rng):
    template = shape(rng, 6)
    _, _, seen = moving(rng, template, 400, noise=1e-4)
    seen[:200, 0] = np.nan
    seen[200:, 1] = np.nan
    found = generalised_procrustes(seen)
    assert np.abs(distances(found.template) - distances(template)).max() < 5e-4


def test_one_and_two_markers_have_a_shape_but_no_pose(rng):
    for n_markers in (1, 2):
        template = shape(rng, n_markers)
        _, _, seen = moving(rng, template, 20)
        found = generalised_procrustes(seen)
        assert_close(distances(found.template), distances(template), 1e-9)
        assert np.isnan(found.fit.rms).all()


def test_a_marker_never_seen_is_refused():
    seen = np.zeros((10, 3, 3))
    seen[:, 1] = np.nan
    with pytest.raises(NotEnoughData, match="never seen"):
        generalised_procrustes(seen)
