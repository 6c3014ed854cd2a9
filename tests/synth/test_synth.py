"""Synthetic performers: the truth is what it says it is."""

import numpy as np
import pytest

from conftest import assert_close, assert_rotations_close, real
from osteon import synth
from osteon.errors import BadValue, OsteonError, UnknownName
from osteon.maths import quat
from osteon.synth import disturb
from osteon.synth.joint_coordinates import to_rotations
from osteon.values import Motion

PERFORMERS = {
    "human": synth.human(),
    "child": synth.human(1.2, variation=0.05, seed=4),
    "linkage": synth.linkage(),
    "hinge": synth.hinge(),
    "ball": synth.ball(),
    "quadruped": synth.quadruped(),
    "hand": synth.hand(),
}
EXERCISES = {
    "in turn": synth.exercise(20.0, rate=60.0),
    "together": synth.exercise(30.0, rate=20.0, together=True),
}
STEPS = {"walk": synth.walk(6.0), "chicken": synth.chicken_walk(6.0), "kicks": synth.kicks(6.0)}


def frames_of(span: tuple[int, int]) -> slice:
    return slice(span[0], span[1] + 1)


def worn_points(motion, bodies, points):
    """(n_frames, n, 3) points of bodies in the world."""
    q_world, p_world = motion.world()
    index = [motion.skeleton.index(name) for name in bodies]
    return p_world[:, index] + quat.rotate(q_world[:, index], np.array(points))


# performers


def test_human_has_17_bodies_and_48_degrees_of_freedom():
    human = synth.human()
    assert len(human.bodies) == 17
    assert 6 + len(synth.dofs(human)) == 48


def test_human_wears_the_markers_of_the_real_set():
    ezc3d = pytest.importorskip("ezc3d")
    file = ezc3d.c3d(str(real("cmu-02/02_01.c3d")))
    labels = {name.split(":")[-1] for name in file["parameters"]["POINT"]["LABELS"]["value"]}
    ours = [marker.name for body in synth.human().bodies for marker in body.markers]
    assert len(ours) == 41
    assert set(ours) == labels


@pytest.mark.parametrize("height", [1.2, 1.75, 2.0])
def test_human_is_as_tall_as_asked(height):
    human = synth.human(height)
    upright = Motion(human, quat.identity((1, 17)), np.zeros((1, 3)), 1.0)
    ends = ["head", "left_foot"]
    top, bottom = worn_points(upright, ends, [human.body(name).tip for name in ends])[0]
    assert_close(top[2] - bottom[2], height)


def test_left_and_right_are_mirror_images():
    human = synth.human(variation=0.1, seed=2)
    for body in human.bodies:
        if body.name.startswith("left_"):
            other = human.body(body.name.replace("left_", "right_"))
            assert_close(other.joint.in_parent, body.joint.in_parent * [-1, 1, 1])
            assert other.length == body.length


def test_varied_people_differ_and_seeds_repeat():
    lengths = [[b.length for b in synth.human(variation=0.05, seed=s).bodies] for s in (1, 1, 2)]
    assert lengths[0] == lengths[1] != lengths[2]


def test_linkage_has_the_lengths_of_table_1():
    rig = synth.linkage()
    motion = synth.act(rig, synth.exercise(3.0, together=True)).motion
    joint = {name: motion.world()[1][:, rig.index(name)] for name in rig.names}
    pairs = {
        "neck–left shoulder": ("head", "left_upper_arm"),
        "neck–right shoulder": ("head", "right_upper_arm"),
        "between shoulders": ("left_upper_arm", "right_upper_arm"),
        "right upper arm": ("right_upper_arm", "right_forearm"),
        "left upper arm": ("left_upper_arm", "left_forearm"),
    }
    assert synth.TABLE_1 == {
        "neck–left shoulder": 0.390,
        "neck–right shoulder": 0.397,
        "between shoulders": 0.343,
        "right upper arm": 0.286,
        "left upper arm": 0.314,
    }
    for name, (a, b) in pairs.items():
        assert_close(np.linalg.norm(joint[a] - joint[b], axis=-1), synth.TABLE_1[name])
    assert [body.joint.kind for body in rig.bodies].count("ball") == 5


# motions


@pytest.mark.parametrize("name", PERFORMERS)
@pytest.mark.parametrize("script", EXERCISES)
def test_exercise_stays_within_range_and_uses_it(name, script):
    performer = PERFORMERS[name]
    angles = synth.joint_angles(synth.act(performer, EXERCISES[script], seed=1).motion)
    low, high = np.array([(dof.low, dof.high) for dof in synth.dofs(performer)]).T
    assert (angles > low - 1e-9).all() and (angles < high + 1e-9).all()
    # in turn every joint goes to both ends; together, sums of sines come near them
    used = np.ptp(angles, axis=0) / (high - low)
    assert used.min() > (0.8 if script == "in turn" else 0.5)


def test_in_turn_means_one_after_another():
    human = synth.human()
    angles = synth.joint_angles(synth.act(human, synth.exercise(42.0, rate=60.0)).motion)
    speed = np.abs(np.diff(angles, axis=0)) * 60.0
    # at 60 Hz all but the wander (0.02 rad below 0.6 Hz, 0.08 rad/s) is one joint's
    assert (np.sum(speed > 0.1, axis=1) <= 1).all()


@pytest.mark.parametrize("name", PERFORMERS)
def test_joint_angles_undo_rotations(name):
    performer = PERFORMERS[name]
    motion = synth.act(performer, EXERCISES["together"], seed=3).motion
    again = to_rotations(performer, synth.joint_angles(motion))
    assert_rotations_close(again[:, 1:], motion.rotations[:, 1:])


@pytest.mark.parametrize("script", STEPS)
@pytest.mark.parametrize("name", ["human", "child"])
def test_feet_are_planted(name, script):
    act = synth.act(PERFORMERS[name], STEPS[script], seed=5)
    q_world, p_world = act.motion.world()
    assert {contact.body for contact in act.contacts} == {"left_foot", "right_foot"}
    for contact in act.contacts:
        foot, frames = act.motion.skeleton.index(contact.body), frames_of(contact.frames)
        assert np.ptp(p_world[frames, foot], axis=0).max() < 1e-12
        assert np.ptp(q_world[frames, foot], axis=0).max() < 1e-12


def test_contacts_are_all_frames_in_which_a_foot_stands():
    act = synth.act(synth.human(), synth.walk(6.0))
    toes = worn_points(act.motion, ["left_foot"], [synth.human().body("left_foot").tip])[:, 0]
    still = np.zeros(act.motion.n_frames, dtype=bool)
    for contact in act.contacts:
        if contact.body == "left_foot":
            still[frames_of(contact.frames)] = True
    assert still.mean() == pytest.approx(0.5, abs=0.05)
    moved = np.linalg.norm(np.diff(toes, axis=0), axis=-1)
    assert (moved[~still[1:] & ~still[:-1]] > 1e-9).all()


@pytest.mark.parametrize("script", STEPS)
def test_nothing_goes_through_the_ground_and_knees_bend_back(script):
    human = synth.human()
    act = synth.act(human, STEPS[script], seed=2)
    assert synth.markers(act.motion).positions[..., 2].min() > 0.01
    angles = synth.joint_angles(act.motion)
    for column, dof in enumerate(synth.dofs(human)):
        assert angles[:, column].min() > dof.low - 0.01, dof
        assert angles[:, column].max() < dof.high + 0.01, dof


def test_kicks_straighten_the_leg():
    human = synth.human()
    angles = synth.joint_angles(synth.act(human, synth.kicks(8.0)).motion)
    for column, dof in enumerate(synth.dofs(human)):
        if dof.body.endswith("shin") and dof.label == "x":
            assert angles[:, column].max() > -np.radians(6.0)


def test_quadruped_walks_on_four_planted_feet():
    act = synth.act(synth.quadruped(), synth.walk(4.0))
    p_world = act.motion.world()[1]
    feet = {"left_foot", "right_foot", "left_hand", "right_hand"}
    assert {contact.body for contact in act.contacts} == feet
    for contact in act.contacts:
        foot = act.motion.skeleton.index(contact.body)
        assert np.ptp(p_world[frames_of(contact.frames), foot], axis=0).max() < 1e-12


@pytest.mark.parametrize("off_axis", [0.05, 0.14, 0.26])
def test_swing_walk_leaves_the_plane_by_as_much_as_asked(off_axis):
    human = synth.human()
    angles = synth.joint_angles(synth.act(human, synth.swing_walk(20.0, off_axis=off_axis)).motion)
    for column, dof in enumerate(synth.dofs(human)):
        if dof.body.endswith("thigh") and dof.label != "x":
            assert np.abs(angles[:, column]).max() == pytest.approx(off_axis, rel=0.01)


@pytest.mark.parametrize("script", [*STEPS.values(), synth.exercise(60.0)])
def test_motion_is_smooth(script):
    positions = synth.markers(synth.act(synth.human(), script, seed=3).motion).positions
    acceleration = np.diff(positions, 2, axis=0) * 120.0**2
    assert np.abs(acceleration).max() < 150.0  # m/s²; a jump of 1 cm in one frame would be 144


def test_sequence_passes_smoothly_and_claims_only_true_contacts():
    both = synth.sequence(synth.walk(4.0), synth.kicks(4.0), seconds=0.5)
    act = synth.act(synth.human(), both, seed=1)
    assert act.motion.n_frames == 8 * 120 - 60
    p_world = act.motion.world()[1]
    for contact in act.contacts:
        foot = act.motion.skeleton.index(contact.body)
        assert np.ptp(p_world[frames_of(contact.frames), foot], axis=0).max() < 1e-12
    acceleration = np.diff(synth.markers(act.motion).positions, 2, axis=0) * 120.0**2
    assert np.abs(acceleration).max() < 150.0


# instruments


@pytest.mark.parametrize("name", PERFORMERS)
def test_bones_keep_their_length_and_markers_their_distances(name):
    take = synth.perform(PERFORMERS[name], EXERCISES["together"], seed=1)
    skeleton, joints = take.truth.skeleton, take.truth.joints
    for index, parent in enumerate(skeleton.parents):
        if parent >= 0:
            length = np.linalg.norm(joints[:, index] - joints[:, parent], axis=-1)
            assert_close(length, np.linalg.norm(skeleton.offsets[index]))
    for body in skeleton.bodies:
        columns = [take.recording.index(marker.name) for marker in body.markers]
        own = take.recording.positions[:, columns]
        distance = np.linalg.norm(own[:, :, None] - own[:, None], axis=-1)
        assert np.ptp(distance, axis=0).max(initial=0.0) < 1e-12


def test_markers_are_where_the_contract_puts_them():
    motion = synth.act(synth.human(), synth.walk(1.0)).motion
    recording = synth.markers(motion)
    for body in motion.skeleton.bodies:
        for marker in body.markers:
            expected = worn_points(motion, [body.name], [marker.position - body.joint.in_body])
            assert_close(recording.positions[:, recording.index(marker.name)], expected[:, 0])


def test_sensor_poses_and_placement_give_back_the_bodies():
    take = synth.sense(synth.linkage(), EXERCISES["together"], seed=2)
    worn, bodies = take.truth.placement, take.bodies
    q_world, p_world = take.truth.motion.world()
    q_body = quat.multiply(bodies.rotations, quat.inverse(worn.rotations))
    assert_rotations_close(q_body, q_world)
    assert_close(bodies.positions - quat.rotate(q_body, worn.positions), p_world)


def test_sensors_are_worn_at_different_places_unless_told():
    first, second = (synth.sense(synth.ball(), EXERCISES["together"], seed=s) for s in (1, 2))
    assert not np.allclose(first.truth.placement.positions, second.truth.placement.positions)
    third = synth.sense(synth.ball(), EXERCISES["together"], seed=3, worn=first.truth.placement)
    assert third.truth.placement is first.truth.placement


# troubles

TROUBLES = {
    "noise": 0.001,
    "skin": 1.0,
    "gaps": 0.05,
    "swaps": 5,
    "outliers": 0.01,
    "scale": 0.94,
    "slips": (synth.Slipped("LTHI", 100, (0.02, 0.0, 0.01)),),
    "clasp": (200, 300),
}


def test_same_seed_same_bits():
    def positions(seed):
        take = synth.perform(synth.human(), synth.walk(4.0), seed=seed, **TROUBLES)
        return take.recording.positions.tobytes()

    assert positions(3) == positions(3) != positions(4)


def test_same_seed_same_bits_of_sensors():
    def bits(seed):
        take = synth.sense(
            synth.human(),
            synth.walk(4.0),
            seed=seed,
            noise=0.004,
            orientation_noise=0.02,
            skin=1.0,
            wobble={"pelvis": (0.008, 0.05)},
            jumps=2,
            gaps=0.05,
        )
        return take.bodies.positions.tobytes() + take.bodies.rotations.tobytes()

    assert bits(3) == bits(3) != bits(4)


def undisturbed(**troubles):
    """The same take without and with troubles."""
    clean = synth.perform(synth.human(), synth.walk(5.0), seed=7)
    return clean, synth.perform(synth.human(), synth.walk(5.0), seed=7, **troubles)


def test_no_trouble_is_none():
    clean, _ = undisturbed()
    assert_close(clean.recording.positions, synth.markers(clean.truth.motion).positions, 0.0)


def test_noise_has_its_size():
    clean, noisy = undisturbed(noise=0.003)
    error = noisy.recording.positions - clean.recording.positions
    # 73 800 samples: the deviation of their standard deviation is 0.26 %
    assert error.std() == pytest.approx(0.003, rel=0.015)
    assert np.abs(error.mean()) < 5e-5


def test_troubles_do_not_disturb_one_another():
    _, noisy = undisturbed(noise=0.003)
    _, both = undisturbed(noise=0.003, gaps=0.1)
    seen = both.recording.seen
    assert_close(both.recording.positions[seen], noisy.recording.positions[seen], 0.0)


def test_gaps_are_exactly_what_is_missing():
    _, gappy = undisturbed(gaps=0.07)
    assert (gappy.recording.seen == ~gappy.truth.missing).all()
    assert gappy.truth.missing.mean() == pytest.approx(0.07, abs=1e-4)


def test_swaps_undo_themselves():
    clean, swapped = undisturbed(swaps=12)
    assert len(swapped.truth.swaps) == 12
    positions = swapped.recording.positions.copy()
    changed = np.zeros(positions.shape[:2], dtype=bool)
    for swap in swapped.truth.swaps:
        pair, frames = [clean.recording.index(n) for n in swap.markers], frames_of(swap.frames)
        positions[frames, pair] = swapped.recording.positions[frames, pair[::-1]]
        assert not changed[frames, pair].any()  # nobody swaps twice at once
        changed[frames, pair] = True
    assert_close(positions, clean.recording.positions, 0.0)
    differs = (swapped.recording.positions != clean.recording.positions).any(-1)
    assert (differs == changed).all()


def test_gaps_keep_clear_of_swaps():
    _, both = undisturbed(swaps=12, gaps=0.3)
    for swap in both.truth.swaps:
        pair = [both.recording.index(name) for name in swap.markers]
        assert both.recording.seen[frames_of(swap.frames), pair].all()


def test_a_slip_moves_one_marker_from_its_frame_on():
    clean, slipped = undisturbed(slips=[synth.Slipped("LTHI", 100, (0.012, 0.016, 0.0))])
    moved = np.linalg.norm(slipped.recording.positions - clean.recording.positions, axis=-1)
    column = clean.recording.index("LTHI")
    assert_close(moved[100:, column], 0.020)
    moved[100:, column] = 0.0
    assert not moved.any()


def test_outliers_are_where_the_truth_says():
    clean, astray = undisturbed(outliers=0.02)
    shift = astray.recording.positions - clean.recording.positions
    assert_close(shift, astray.truth.outliers)
    out = np.linalg.norm(astray.truth.outliers, axis=-1)
    assert (out > 0).mean() == pytest.approx(0.02, abs=0.003)
    assert out[out > 0].min() >= 0.05 - 1e-12 and out.max() <= 0.5 + 1e-12


def test_wrong_scale_multiplies_every_coordinate():
    clean, small = undisturbed(scale=0.94)
    assert_close(small.recording.positions, 0.94 * clean.recording.positions)


def test_skin_is_bounded_and_recorded():
    clean, soft = undisturbed(skin=1.0)
    moved = np.linalg.norm(soft.recording.positions - clean.recording.positions, axis=-1)
    assert_close(moved, np.linalg.norm(soft.truth.displaced, axis=-1))
    assert 0.009 < moved.max() < disturb.SKIN_LIMIT * 0.009


def skin_rms(script, parts, seeds=range(10)):
    """Rms over each take of how far the markers of some bodies slide, one number a marker."""
    found = []
    for seed in seeds:
        truth = synth.perform(synth.human(), script, skin=1.0, seed=seed).truth
        worn = [b.name.partition("_")[2] in parts for b in truth.skeleton.bodies for _ in b.markers]
        slid = truth.displaced[:, worn] - truth.displaced[:, worn].mean(axis=0)
        found.append(np.sqrt((slid**2).sum(axis=-1).mean(axis=0)))
    return np.concatenate(found)


@pytest.mark.parametrize(
    ("part", "median", "least", "most"), [("thigh", 9, 4, 26), ("shin", 4, 1, 12)]
)
def test_skin_of_a_walk_has_the_size_that_bone_pins_show(part, median, least, most):
    """[Cereatti 2017], millimetres. Of ten people the rms varies by 4 % from group to group (12
    groups); 20 % are five deviations."""
    found = 1e3 * skin_rms(synth.walk(4.0, rate=60.0), [part])
    assert np.sqrt(np.mean(found**2)) == pytest.approx(median, rel=0.2)
    assert np.mean((found > least) & (found < most)) > 0.9


def test_half_of_the_skin_is_common_to_a_bodys_markers():
    """Two markers of a thigh, 40 thighs, slow enough that flesh does not swing: the correlation
    varies by 0.04 from group to group (12 groups)."""
    correlated = []
    for seed in range(20):
        truth = synth.perform(
            synth.human(), synth.exercise(20.0, rate=30.0, together=True), skin=1.0, seed=seed
        ).truth
        names = [mark.name for body in truth.skeleton.bodies for mark in body.markers]
        for pair in (("LTHI", "LKNE"), ("RTHI", "RKNE")):
            first, second = (truth.displaced[:, names.index(name)] for name in pair)
            first, second = first - first.mean(axis=0), second - second.mean(axis=0)
            correlated.append([np.sum(first * second), np.sum(first**2), np.sum(second**2)])
    both, one, other = np.sum(correlated, axis=0)
    assert both / np.sqrt(one * other) == pytest.approx(0.5, abs=0.15)


def played(motion):
    return lambda skeleton, rng: synth.Act(motion)


def test_skin_follows_posture_and_acceleration():
    """Where a motion goes back as it came, so does the skin; who does not move has none."""
    human = synth.human()
    there = synth.act(human, synth.exercise(5.0, rate=60.0, together=True), seed=1).motion
    back = Motion(human, there.rotations[::-1], there.root[::-1], there.rate)
    forth, home = (
        synth.perform(human, played(motion), skin=1.0, seed=1).truth.displaced
        for motion in (there, back)
    )
    assert_close(forth, home[::-1])
    still = Motion(human, quat.identity((2, 17)), np.zeros((2, 3)), 60.0)
    assert not synth.perform(human, played(still), skin=1.0).truth.displaced.any()


def test_flesh_stays_behind_as_a_bone_speeds_up():
    """Stiff joints, all of the body thrown forwards at 10 m/s²: flesh goes back, more where there
    is more of it. Gradients of a parabola are exact two frames from the ends."""
    human, times = synth.human(), np.arange(20) / 60.0
    root = np.stack([0.0 * times, 5.0 * times**2, 0.0 * times], axis=-1)
    thrown = Motion(human, quat.identity((20, 17)), root, 60.0)
    truth = synth.perform(human, played(thrown), skin=1.0).truth
    back = dict(zip(synth.markers(thrown).names, truth.displaced[10], strict=True))
    shift = 10.0 / disturb.WOBBLE_ACCELERATION
    assert_close(back["LTHI"], [0.0, -0.009 * shift, 0.0], 1e-5)
    assert_close(back["LSHN"], [0.0, -0.004 * shift, 0.0], 1e-5)


@pytest.mark.parametrize("script", STEPS)
def test_clasped_hands_share_a_point(script):
    take = synth.perform(synth.human(), STEPS[script], seed=1, clasp=(150, 400))
    (held,) = take.truth.clasps
    palms = worn_points(take.truth.motion, held.bodies, [held.in_first, held.in_second])
    apart = np.linalg.norm(palms[:, 0] - palms[:, 1], axis=-1)
    assert apart[frames_of(held.frames)].max() < 1e-12
    assert apart[:60].min() > 0.1 and apart[-60:].min() > 0.1
    free = synth.act(synth.human(), STEPS[script], seed=1).motion
    assert (take.truth.motion.rotations[:60] == free.rotations[:60]).all()
    acceleration = np.diff(take.recording.positions, 2, axis=0) * 120.0**2
    assert np.abs(acceleration).max() < 150.0


def sensed(**troubles):
    clean = synth.sense(synth.human(), synth.chicken_walk(8.0), seed=2)
    return clean, synth.sense(synth.human(), synth.chicken_walk(8.0), seed=2, **troubles)


def turns(a, b):
    """Rotation vectors of one set of sensors seen from another."""
    return quat.log(quat.between(a.bodies.rotations, b.bodies.rotations))


def test_orientation_noise_has_its_size_and_leaves_positions():
    clean, noisy = sensed(orientation_noise=np.radians(1.0))
    # 48 960 samples: the deviation of their standard deviation is 0.32 %
    assert turns(clean, noisy).std() == pytest.approx(np.radians(1.0), rel=0.02)
    assert_close(noisy.bodies.positions, clean.bodies.positions, 0.0)


def test_noise_grows_with_speed():
    clean, noisy = sensed(noise=0.004, moving_noise=0.007)
    error = noisy.bodies.positions - clean.bodies.positions
    speed = np.linalg.norm(np.gradient(clean.bodies.positions, 1 / 120.0, axis=0), axis=-1)
    assert error[speed > 0.5].std() == pytest.approx(0.007, rel=0.03)
    assert error[speed < 0.05].std() == pytest.approx(0.004, rel=0.12)


def test_wobble_is_smooth_and_only_on_the_loose_sensor():
    clean, loose = sensed(wobble={"pelvis": (0.008, np.radians(3.0))})
    moved = loose.bodies.positions - clean.bodies.positions
    turned = turns(clean, loose)
    assert not moved[:, 1:].any() and np.abs(turned[:, 1:]).max() < 1e-12
    # about 30 independent stretches in 8 s: ±25 % covers three deviations of three axes together
    assert moved[:, 0].std() == pytest.approx(0.008, rel=0.25)
    assert turned[:, 0].std() == pytest.approx(np.radians(3.0), rel=0.25)
    assert np.abs(np.diff(moved[:, 0], axis=0)).max() < 0.5 * 0.008


def test_displacement_and_turn_explain_disturbed_sensors():
    _, soft = sensed(skin=1.0, wobble={"head": (0.01, 0.1)})
    truth = soft.truth
    q_world, p_world = truth.motion.world()
    q_sensor = quat.multiply(q_world, quat.multiply(truth.turned, truth.placement.rotations))
    assert_rotations_close(soft.bodies.rotations, q_sensor)
    place = p_world + quat.rotate(q_world, truth.placement.positions + truth.displaced)
    assert_close(soft.bodies.positions, place)


def test_skin_turns_sensors_as_clusters_turn_on_bones():
    """Clusters on thigh and shank misjudge a knee by 1.9–9.6° rms [Cereatti 2017]; 100 people had
    2.5–7.8°."""
    turned = []
    for seed in range(10):
        truth = synth.sense(synth.human(), synth.walk(4.0, rate=60.0), skin=1.0, seed=seed).truth
        legs = [truth.skeleton.index(name) for name in ("left_thigh", "left_shin")]
        vectors = quat.log(truth.turned[:, legs])
        vectors = vectors - vectors.mean(axis=0)
        turned.append(np.degrees(np.sqrt((vectors**2).sum(axis=(1, 2)).mean())))
    assert min(turned) > 1.9 and max(turned) < 9.6


def test_a_slipped_sensor_is_named_by_its_body():
    clean, slipped = sensed(slips=[synth.Slipped("left_shin", 400, (0.0, 0.02, 0.0))])
    moved = np.linalg.norm(slipped.bodies.positions - clean.bodies.positions, axis=-1)
    shin = clean.bodies.index("left_shin")
    assert_close(moved[400:, shin], 0.02)
    moved[400:, shin] = 0.0
    assert not moved.any()


def test_jumps_go_and_come_back():
    clean, flipped = sensed(jumps=3)
    moved = flipped.bodies.positions - clean.bodies.positions
    for jump in flipped.truth.jumps:
        assert np.linalg.norm(jump.shift) == pytest.approx(0.64)
        moved[frames_of(jump.frames), clean.bodies.index(jump.name)] -= jump.shift
    assert len(flipped.truth.jumps) == 3
    assert np.abs(moved).max() < 1e-12


# bad input


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: synth.human(17.5), BadValue, "height must be between"),
        (lambda: synth.act(synth.hinge(), synth.walk()), BadValue, "no legs to stand on"),
        (lambda: synth.act(synth.hinge(), synth.exercise(0.0)), BadValue, "fewer than two frames"),
        (lambda: undisturbed(noise=-1.0), BadValue, "noise must be"),
        (lambda: undisturbed(gaps=1.5), BadValue, "missing samples"),
        (lambda: undisturbed(outliers=2.0), BadValue, "outliers"),
        (lambda: undisturbed(swaps=5000), BadValue, "swaps do not fit"),
        (lambda: undisturbed(clasp=(0, 9999)), BadValue, "clasp frames"),
        (lambda: undisturbed(slips=[synth.Slipped("XXX", 3, (0, 0, 0))]), UnknownName, "marker"),
        (lambda: sensed(slips=[synth.Slipped("XXX", 3, (0, 0, 0))]), UnknownName, "body"),
        (lambda: sensed(wobble={"tail": (0.1, 0.1)}), UnknownName, "body"),
    ],
)
def test_bad_requests_are_refused_in_one_line(call, error, says):
    with pytest.raises(error, match=says) as caught:
        call()
    assert isinstance(caught.value, OsteonError)
    assert "\n" not in str(caught.value)


def test_clasping_needs_hands():
    with pytest.raises(OsteonError):
        synth.perform(synth.hinge(), synth.exercise(2.0), clasp=(0, 10))


@pytest.mark.parametrize("name", ["human", "linkage", "quadruped"])
def test_every_joint_can_be_found_from_an_exercise(name):
    """No joint is a line of centres: [000]'s Eq. (2) has one answer, and it is the truth."""
    take = synth.sense(PERFORMERS[name], synth.exercise(30.0, rate=30.0), seed=1)
    turns, places = quat.to_matrix(take.bodies.rotations), take.bodies.positions
    worn = take.truth.placement
    for child, parent in enumerate(take.truth.skeleton.parents):
        if parent < 0:
            continue
        both = np.concatenate([turns[:, child], -turns[:, parent]], axis=-1).reshape(-1, 6)
        apart = (places[:, parent] - places[:, child]).reshape(-1)
        found = np.linalg.lstsq(both, apart, rcond=None)[0]
        true = quat.rotate(quat.inverse(worn.rotations[child]), -worn.positions[child])
        assert_close(found[:3], true, 1e-10)


def test_truth_cannot_be_changed():
    take = synth.perform(synth.hinge(), synth.exercise(2.0), gaps=0.1)
    for array in (take.truth.displaced, take.truth.missing, take.truth.outliers):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
