"""Skin, straps and stiff wrists: what a joint's deviation says, and which joint is whose."""

import numpy as np
import pytest

from osteon import synth
from osteon.articulation import finish as skin
from osteon.articulation.find_joints import joints, solve
from osteon.articulation.finish import covariance_of, finish_joints, noise_covariance
from osteon.articulation.refine import refine_joint
from osteon.maths import quat
from osteon.synth.curves import waves
from osteon.values import Bodies

MOVING = synth.exercise(20, rate=60, together=True)
QUIET = {"noise": 0.001, "orientation_noise": np.radians(0.3)}


def sensed(size: float, seed: int) -> synth.SensorPerformance:
    return synth.sense(synth.linkage(), MOVING, seed=seed, skin=size, **QUIET)


def gains_of(bodies: Bodies) -> np.ndarray:
    """Root mean square gain of every joint, metres per radian."""
    solution = solve(bodies)
    ends = [(child, parent) for parent, child, _ in solution.order]
    bent = skin.postures(bodies, ends, [0.0] * len(ends))
    views = []
    for place, pair in enumerate(ends):
        start = solution.fits.centres[solution.order[place][2]]
        first = int(solution.fits.first[solution.order[place][2]])
        start = start if first == pair[0] else np.roll(start, 3)
        fit = refine_joint(bodies, pair, start, solution.noise)
        assert fit is not None
        views.append(skin.view_skin(fit, skin.angles_beside(bent, ends, place, fit.frames)))
    return np.sqrt(skin.mean_square_gains(views))


def test_gain_of_skin_is_seen():
    """10 mm of skin: 4 seeds gave medians of 12–14 mm per radian, without skin 0.02."""
    assert 0.006 < np.median(gains_of(sensed(1.0, 1).bodies)) < 0.03
    assert np.median(gains_of(sensed(0.0, 1).bodies)) < 0.0005


@pytest.mark.parametrize("size", [0.5, 2.0])
def test_deviations_grow_with_the_skin(size):
    """z of 4 takes of 5 joints: rms 0.5–0.9; it was above 10 when skin was taken for noise."""
    scores = []
    for seed in range(4):
        worn = sensed(size, seed)
        skeleton, place = worn.truth.skeleton, worn.truth.placement
        assert place is not None
        for link in joints(worn.bodies, root="torso").connections:
            index = skeleton.index(link.child)
            away = skeleton.body(link.child).joint.in_body - place.positions[index]
            truth = quat.rotate(quat.inverse(place.rotations[index]), away)
            error = link.in_child - truth
            scores.append(error @ np.linalg.solve(link.covariance[:3, :3], error) / 3.0)
    assert 0.2 < np.sqrt(np.mean(scores)) < 1.3


def test_without_skin_the_covariance_is_that_of_the_noise():
    bodies = sensed(0.0, 2).bodies
    solution = solve(bodies)
    parent, child, row = solution.order[0]
    start = solution.fits.centres[row]
    start = start if int(solution.fits.first[row]) == child else np.roll(start, 3)
    fit = refine_joint(bodies, (child, parent), start, solution.noise)
    assert fit is not None
    view = skin.SkinView(np.zeros(len(skin.GAINS)), np.ones((6, 4)), 0.1)
    np.testing.assert_allclose(covariance_of(fit, view, 0.0, 0.0), noise_covariance(fit), rtol=1e-9)


def test_missing_bodies_and_short_takes_still_have_deviations(rng):
    bodies = sensed(0.5, 3).bodies
    positions = bodies.positions.copy()
    positions[rng.random(positions.shape[:2]) < 0.3] = np.nan
    holed = Bodies(positions, bodies.rotations, bodies.names, bodies.rate)
    few = Bodies(bodies.positions[:40], bodies.rotations[:40], bodies.names, bodies.rate)
    for take in (holed, few):
        solution = solve(take)
        for joint in finish_joints(take, solution.noise, solution.fits, solution.order):
            assert np.linalg.eigvalsh(joint.covariance).min() > 0.0


def test_a_stiff_wrist_leaves_the_elbow_to_the_forearm(rng):
    """Forearm and hand move as one: the elbow goes to the sensor that is nearer."""
    n_frames = 600
    turns = quat.exp(waves(rng, np.arange(n_frames) / 60, 3, 0.1, 0.5) * 0.8)
    upper = quat.exp(waves(rng, np.arange(n_frames) / 60, 3, 0.1, 0.4) * 0.3)
    lower = quat.multiply(upper, turns)
    elbow = quat.rotate(upper, np.array([0.0, 0.0, -0.2]))
    forearm = elbow + quat.rotate(lower, np.array([0.03, 0.0, -0.08]))
    hand = elbow + quat.rotate(lower, np.array([0.02, 0.01, -0.33]))
    positions = np.stack([hand, np.zeros_like(hand), forearm], axis=1)
    positions = positions + 0.001 * rng.standard_normal(positions.shape)
    rotations = np.stack([lower, upper, lower], axis=1)
    rotations = quat.multiply(rotations, quat.exp(0.003 * rng.standard_normal((n_frames, 3, 3))))
    found = joints(Bodies(positions, rotations, ("hand", "upper", "forearm"), 60), root="upper")
    assert {link.child: link.parent for link in found.connections} == {
        "forearm": "upper",
        "hand": "forearm",
    }
