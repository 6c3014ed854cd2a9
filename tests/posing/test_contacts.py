"""Feet on the ground: found, pinned, and no deeper than it."""

from dataclasses import replace

import numpy as np
import pytest

from osteon import synth
from osteon.human.standing_figure import figure_at_rest
from osteon.maths import quat
from osteon.posing.contacts import Plant, _fit_ground, _hillside, find_soles, find_standing, runs


def frames_of(contacts, body, n_frames):
    stood = np.zeros(n_frames, dtype=bool)
    for contact in contacts:
        if contact.body == body:
            stood[contact.frames[0] : contact.frames[1] + 1] = True
    return stood


def f1_score(truth, found, n_frames, tolerance=2):
    """Of frames in contact; frames within ``tolerance`` of a true edge do not count."""
    hits = misses = 0
    for body in {contact.body for contact in truth}:
        true, said = frames_of(truth, body, n_frames), frames_of(found, body, n_frames)
        judged = np.ones(n_frames, dtype=bool)
        for edge in np.flatnonzero(np.diff(true.astype(int))):
            judged[max(edge - tolerance + 1, 0) : edge + tolerance + 1] = False
        hits += (true & said & judged).sum()
        misses += ((true ^ said) & judged).sum()
    return 2 * hits / (2 * hits + misses)


@pytest.fixture(scope="module")
def walked():
    return synth.act(synth.human(), synth.walk(4.0), seed=2)


def stand(motion):
    return find_standing(motion, find_soles(figure_at_rest(motion.skeleton)))


def shaken(motion, size, seed=0):
    """The root trembles: white noise, standard deviation per axis in metres."""
    noise = size * np.random.default_rng(seed).standard_normal(motion.root.shape)
    return replace(motion, root=motion.root + noise)


@pytest.mark.parametrize(("noise", "least"), [(0.0, 0.99), (0.0005, 0.98), (0.001, 0.97)])
def test_planted_feet_are_found_to_two_frames(walked, noise, least):
    # 10 seeds: 1.000 without noise, 0.997–0.998 at 0.5 mm, 0.983–0.989 at 1 mm
    standing = stand(shaken(walked.motion, noise))
    score = f1_score(walked.contacts, standing.contacts, walked.motion.n_frames)
    assert score >= least


@pytest.mark.parametrize("rate", [0.01, 1.0, 5.0])
def test_cameras_slower_than_a_step_end_in_no_error(walked, rate):
    """Stays last less than a frame, and all points seem to creep."""
    stand(replace(shaken(walked.motion, 0.01), rate=rate))


def test_the_ground_is_where_the_soles_stand(walked):
    raised = replace(walked.motion, root=walked.motion.root + [0.0, 0.0, 0.31])
    low, high = stand(walked.motion).ground, stand(raised).ground
    assert high.offset - low.offset == pytest.approx(0.31, abs=1e-6)
    assert np.abs(low.slope).max() < 0.005


def test_a_slope_is_found(walked):
    """The whole world tilted by 3° about x: the walk along y goes uphill."""
    tilt = quat.from_axis_angle(np.array([1.0, 0.0, 0.0]), np.radians(3.0))
    rotations = np.array(walked.motion.rotations)
    rotations[:, 0] = quat.multiply(tilt, rotations[:, 0])
    uphill = replace(walked.motion, rotations=rotations, root=quat.rotate(tilt, walked.motion.root))
    # the prior for level floors takes 3 % of it over these four metres
    assert stand(uphill).ground.slope == pytest.approx([0.0, np.tan(np.radians(3.0))], abs=2e-3)


def test_on_a_treadmill_feet_stand_on_the_belt(walked):
    motion = walked.motion
    belt = np.array([0.0, -1.1, 0.0])
    times = np.arange(motion.n_frames)[:, None] / motion.rate
    standing = stand(replace(motion, root=motion.root + times * belt))
    assert standing.ground.belt == pytest.approx(belt[:2], abs=0.02)
    assert f1_score(walked.contacts, standing.contacts, motion.n_frames) > 0.97


def test_who_falls_does_not_stand(walked):
    fall = np.arange(walked.motion.n_frames)[:, None] * [0.0, 0.0, -0.03]  # 3.6 m/s
    motion = replace(walked.motion, root=walked.motion.root + fall)
    assert stand(motion).contacts == ()


def test_what_drifts_does_not_stand(walked):
    """Feet that slide slowly all the time, as of somebody who hangs in the air, stand nowhere."""
    still = walked.motion
    frames = np.zeros(still.n_frames, dtype=int)
    sway = 0.05 * np.sin(np.arange(still.n_frames) / 60.0)[:, None] * [1.0, 0.7, 0.0]
    hung = replace(still, rotations=still.rotations[frames], root=still.root[frames] + sway)
    assert stand(hung).plants == ()


@pytest.mark.parametrize("drop", [-0.3, -0.1])
def test_over_a_step_there_is_no_one_ground(walked, drop):
    """Half-way through the floor is lower: feet stand on both, and no plane bears them."""
    assert stand(walked.motion).ground.solid
    lower = np.where(np.arange(walked.motion.n_frames) > 240, drop, 0.0)[:, None] * [0.0, 0.0, 1.0]
    standing = stand(replace(walked.motion, root=walked.motion.root + lower))
    assert not standing.ground.solid
    assert len(standing.plants) >= 16  # eight steps, their points about four each


def test_a_rolling_foot_touches_longer_than_it_stands(walked):
    """Contacts hold every plant of their foot."""
    standing = stand(walked.motion)
    for plant in standing.plants:
        spans = [c.frames for c in standing.contacts if c.body == plant.body]
        assert any(first <= plant.frames[0] and plant.frames[1] <= last for first, last in spans)


def test_stairs_are_no_hill():
    """Soles lie level on each of 17 cm by 28 cm, as high as the step; nothing is sloped."""
    steps = np.repeat(np.arange(6), 30)[:, None]
    sole = np.array([[-0.05, 0.0, 0.0], [0.15, 0.04, 0.0], [0.15, -0.04, 0.0], [0.2, 0.0, 0.0]])
    paths = steps[:, :, None] * np.array([0.28, 0.0, 0.17]) + sole
    assert _hillside([paths], 60.0).tolist() == [0.0, 0.0]
    tilt = quat.from_axis_angle(np.array([0.0, 1.0, 0.0]), -np.radians(20.0))
    uphill = quat.rotate(tilt, steps[:, :, None] * np.array([0.28, 0.0, 0.0]) + sole)
    assert _hillside([uphill], 60.0) == pytest.approx([np.tan(np.radians(20.0)), 0.0], abs=1e-2)


def test_runs_have_first_and_last():
    assert runs(np.array([True, False, True, True])) == [(0, 0), (2, 3)]


def test_two_plants_that_disagree_still_have_a_plane():
    """Both are as far from the plane between them: neither may drop out, or nothing is left."""
    plants = [
        Plant(f"{side}_foot", 3, (0, 9), (0.0, 0.0, z)) for side, z in (("a", 0.0), ("b", 0.1))
    ]
    ground = _fit_ground(plants, np.zeros(2))
    assert np.isfinite([ground.offset, *ground.slope]).all()


def ankles_only(motion):
    """The same motion on feet that end at their ankles, as in files with ``End Site 0 0 0``."""
    bodies = [
        replace(body, tip=body.joint.in_body) if body.name.endswith("_foot") else body
        for body in motion.skeleton.bodies
    ]
    return replace(motion, skeleton=replace(motion.skeleton, bodies=tuple(bodies)))


def test_points_held_still_in_the_air_do_not_lift_the_ground():
    """Who stands on tiptoe for a while holds his heels still: no ground is under them."""
    flat = [Plant("left_foot", point, (0, 20), (0.1 * k, 0.1 * point, 0.0))
            for point in range(3) for k in range(4)]  # fmt: skip
    tiptoe = [Plant("left_foot", 0, (50, 90), (0.1 * k, 0.0, 0.06)) for k in range(5)]
    assert _fit_ground([*flat, *tiptoe], np.zeros(2)).offset == pytest.approx(0.0, abs=0.002)


def test_feet_of_which_only_the_ankle_is_known_stand_all_the_same(walked):
    standing = stand(ankles_only(walked.motion))
    assert np.isfinite(standing.ground.offset)
    # ankles roll less than toes do, so contacts are a little shorter
    assert f1_score(walked.contacts, standing.contacts, walked.motion.n_frames) > 0.9
