"""Joints, hierarchy and trust, on performers whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest

import osteon as ost
from conftest import assert_close, real
from osteon import synth
from osteon.articulation.body_source import estimate_noise, scale_factor
from osteon.articulation.centre import fit_pairs
from osteon.articulation.find_joints import joints, solve
from osteon.articulation.found_skeleton import limb_table, play_back
from osteon.articulation.hierarchy import CLEAR
from osteon.articulation.statistics import JointStatistics
from osteon.errors import BadValue, NotEnoughData, UnknownName
from osteon.maths import quat
from osteon.values import Bodies, Slip

QUIET = {"noise": 0.001, "orientation_noise": 0.005}
MAGNETIC = {"noise": 0.004, "moving_noise": 0.007, "orientation_noise": np.radians(1.0)}
MOVING = synth.exercise(15, rate=60, together=True)


def edges(skeleton) -> set[frozenset[str]]:
    return {frozenset((body.name, body.parent)) for body in skeleton.bodies if body.parent}


@pytest.fixture(scope="module")
def linkage():
    return synth.sense(synth.linkage(), MOVING, seed=3, **MAGNETIC)


@pytest.fixture(scope="module")
def found(linkage):
    return joints(linkage.bodies)


def sums(statistics: JointStatistics):
    return [statistics.gram, statistics.own, statistics.count]


def test_statistics_of_parts_add_up_to_the_whole(linkage):
    bodies = linkage.bodies
    whole = JointStatistics.of(bodies)
    parts = JointStatistics.empty(bodies.names)
    for part in (slice(0, 300), slice(300, None)):
        piece = JointStatistics.empty(bodies.names)
        piece.accumulate(bodies.positions[part], bodies.rotations[part])
        parts = parts + piece
    for a, b in zip(sums(parts), sums(whole), strict=True):
        assert_close(a, b, 1e-9)


def test_frame_by_frame_equals_the_take_also_when_bodies_are_missing(linkage, rng):
    positions, rotations = linkage.bodies.positions[:80].copy(), linkage.bodies.rotations[:80]
    positions[rng.random((80, 6)) < 0.3] = np.nan
    live = JointStatistics.empty(linkage.bodies.names)
    whole = JointStatistics.empty(linkage.bodies.names)
    whole.accumulate(positions, rotations)
    for p, q in zip(positions, rotations, strict=True):
        live.update(p, q)
    for a, b in zip(sums(live), sums(whole), strict=True):
        assert_close(a, b, 1e-9)


def test_missing_bodies_leave_the_pair_fit_of_the_common_frames(linkage, rng):
    """A pair's fit must be that of the frames showing both, whatever else is missing."""
    bodies = linkage.bodies
    positions = bodies.positions.copy()
    positions[rng.random(positions.shape[:2]) < 0.4] = np.nan
    holed = Bodies(positions, bodies.rotations, bodies.names, bodies.rate)
    both = holed.seen[:, 0] & holed.seen[:, 2]
    alone = Bodies(positions[both][:, [0, 2]], bodies.rotations[both][:, [0, 2]], ("a", "b"), 60)
    expected = fit_pairs(JointStatistics.of(alone)).centres
    assert_close(fit_pairs(JointStatistics.of(holed), pairs=[(0, 2)]).centres, expected, 1e-8)


def test_forgetting_weighs_frames_but_keeps_the_answer(linkage):
    whole = JointStatistics.of(linkage.bodies)
    halved = fit_pairs(whole.scaled(0.5), prior=1e4)
    assert_close(halved.centres, fit_pairs(whole, prior=1e4).centres, 1e-9)


def test_statistics_survive_saving(linkage, tmp_path):
    whole = JointStatistics.of(linkage.bodies)
    whole.save(tmp_path / "take.npz")
    again = JointStatistics.load(tmp_path / "take.npz")
    assert again.names == whole.names
    for a, b in zip(sums(again), sums(whole), strict=True):
        np.testing.assert_array_equal(a, b)


def test_statistics_of_other_bodies_do_not_add():
    with pytest.raises(BadValue, match="same bodies in the same order"):
        JointStatistics.empty(("a", "b")) + JointStatistics.empty(("a", "c"))


def test_exact_data_gives_exact_joints():
    worn = synth.sense(synth.human(), MOVING, seed=1)
    skeleton = joints(worn.bodies, root="pelvis").skeleton()
    assert edges(skeleton) == edges(worn.truth.skeleton)
    place = worn.truth.placement
    for body in skeleton.bodies[1:]:
        if body.joint.kind != "ball":
            continue
        truth = worn.truth.skeleton.body(body.name)
        index = worn.truth.skeleton.index(body.name)
        away = truth.joint.in_body - place.positions[index]
        expected = quat.rotate(quat.inverse(place.rotations[index]), away)
        np.testing.assert_allclose(body.joint.in_body, expected, atol=1e-9)


def test_lengths_of_the_linkage_are_those_of_table_1(found):
    """300 lengths of 60 such takes: median 0.4 mm, 95th percentile 1.2 mm, worst 1.7 mm."""
    measured = {
        "torso:head:left_upper_arm": 0.390,
        "torso:left_upper_arm:right_upper_arm": 0.343,
        "right_upper_arm": 0.286,
    }
    differences = [limb.difference for limb in limb_table(found, measured) if limb.measured]
    assert len(differences) == 3
    assert np.abs(differences).max() < 0.006


def test_a_limb_that_is_not_there_is_named(found):
    with pytest.raises(UnknownName, match="no limb named 'left_uper_arm'; did you mean"):
        limb_table(found, {"left_uper_arm": 0.3})


def test_deviations_are_honest(found, linkage):
    """z of single coordinates; 60 takes gave an rms of 0.99, one take of 30 scatters more."""
    place, skeleton = linkage.truth.placement, linkage.truth.skeleton
    scores = []
    for link in found.connections:
        index = skeleton.index(link.child)
        truth = skeleton.body(link.child)
        assert truth.parent == link.parent
        away = truth.joint.in_body - place.positions[index]
        error = link.in_child - quat.rotate(quat.inverse(place.rotations[index]), away)
        scores.append(error @ np.linalg.solve(link.covariance[:3, :3], error) / 3.0)
    assert 0.3 < np.sqrt(np.mean(scores)) < 1.8


def test_noise_is_read_from_the_trajectories():
    worn = synth.sense(
        synth.linkage(), MOVING, seed=5, noise=0.004, orientation_noise=np.radians(1.0)
    )
    noise = estimate_noise(worn.bodies)
    assert_close(noise.position, 0.004, 0.0006)
    assert_close(np.degrees(np.sqrt(noise.rotation[:, 0, 0])), 1.0, 0.15)


def test_noise_correction_removes_the_pull_towards_the_sensors():
    """Sensors on one side of a ball joint of ±20°, 2° orientation noise: bias shrinks."""
    script = synth.exercise(20, rate=100, together=True)
    worn_on_skin = synth.Placement([[0.06, 0.0, -0.1], [0.06, 0.0, 0.1]], quat.identity((2,)))
    plain, corrected = [], []
    for seed in range(4):
        worn = synth.sense(
            synth.ball(np.radians(20)), script, seed=seed, worn=worn_on_skin,
            noise=0.002, orientation_noise=np.radians(2.0),
        )  # fmt: skip
        statistics = JointStatistics.of(worn.bodies)
        away = worn.truth.skeleton.bodies[1].joint.in_body - worn_on_skin.positions[1]
        plain.append(fit_pairs(statistics).centres[0, 3:] - away)
        noise = estimate_noise(worn.bodies)
        corrected.append(fit_pairs(statistics, noise).centres[0, 3:] - away)
    before, after = (np.linalg.norm(np.mean(errors, axis=0)) for errors in (plain, corrected))
    assert after < 0.5 * before


def test_hinge_axis_is_found_in_both_frames():
    worn = synth.sense(synth.hinge(), MOVING, seed=2, **QUIET)
    link = joints(worn.bodies).connections[0]
    assert link.kind == "hinge"
    place = worn.truth.placement
    for name, axis in ((link.parent, link.axis_in_parent), (link.child, link.axis_in_child)):
        turn = place.rotations[worn.truth.skeleton.index(name)]
        cosine = abs(quat.rotate(turn, np.asarray(axis))[0])
        # 40 draws with marker clusters: 95th percentile 0.23°
        assert np.degrees(np.arccos(min(cosine, 1.0))) < 0.5


def test_the_loose_pelvis_does_not_turn_the_tree():
    """The walk of [000] that hung a thigh on the other: 8 mm / 3° and 8° off axis."""
    performer = synth.human()
    loose = {name: (0.002, np.radians(1.0)) for name in performer.names}
    loose["pelvis"] = (0.008, np.radians(3.0))
    script = synth.swing_walk(25, off_axis=np.radians(8), rate=60)
    worn = synth.sense(performer, script, seed=4, wobble=loose, **QUIET)
    order = solve(worn.bodies).order
    names = worn.bodies.names
    assert {frozenset((names[a], names[b])) for a, b, _ in order} == edges(performer)


def test_too_little_off_axis_motion_is_called_ambiguous():
    performer = synth.human()
    loose = {name: (0.002, np.radians(1.0)) for name in performer.names}
    loose["pelvis"] = (0.015, np.radians(6.0))
    script = synth.swing_walk(25, off_axis=np.radians(3), rate=60)
    found = joints(synth.sense(performer, script, seed=4, wobble=loose, **QUIET).bodies)
    assert found.ambiguous
    assert any(warning.startswith("ambiguous") for warning in found.warnings)


def test_a_slip_is_named_and_undone():
    slipped = (synth.Slipped("left_upper_arm", 500, (0.012, 0.0, 0.016)),)
    worn = synth.sense(synth.linkage(), MOVING, seed=6, slips=slipped, **QUIET)
    found = joints(worn.bodies)
    (event,) = found.events
    assert isinstance(event, Slip)
    assert event.body == "left_upper_arm"
    assert abs(event.frame - 500) <= 5
    assert abs(event.size - 0.02) < 0.002
    assert max(link.rms for link in found.connections) < 0.008


@pytest.mark.parametrize(("seed", "size"), [(1, 0.02), (2, 0.02), (3, 0.0)])
def test_a_slip_is_found_in_the_noise_of_a_magnetic_tracker(seed, size):
    """4 to 7 mm and 1°. Of 40 slips of a whole human 40 were found, 39 within 4 frames; none in 40
    clean takes."""
    slipped = (synth.Slipped("left_upper_arm", 500, (0.6 * size, 0.0, 0.8 * size)),)
    noise = {"noise": 0.004, "moving_noise": 0.007, "orientation_noise": np.radians(1.0)}
    events = joints(synth.sense(synth.human(), MOVING, seed=seed, slips=slipped, **noise).bodies)
    told = [(event.body, event.frame) for event in events.events if isinstance(event, Slip)]
    assert [body for body, _ in told] == (["left_upper_arm"] if size else [])
    assert all(abs(frame - 500) <= 15 for _, frame in told)


def test_a_clean_take_has_no_events(found):
    assert found.events == ()
    assert found.loops == ()
    assert not found.ambiguous


def test_a_hemisphere_flip_does_not_move_the_joints():
    worn = synth.sense(synth.linkage(), MOVING, seed=7, jumps=2, **QUIET)
    clean = synth.sense(synth.linkage(), MOVING, seed=7, **QUIET)
    found, expected = joints(worn.bodies), joints(clean.bodies)
    there = {link.child: link for link in expected.connections}
    assert edges(found.skeleton()) == edges(worn.truth.skeleton)
    for link in found.connections:
        assert np.abs(link.in_child - there[link.child].in_child).max() < 0.002


@pytest.mark.slow
def test_hands_clasped_throughout_are_the_loop_of_the_ring():
    """The ring of arms is cut between the hands: 37 of 40 seeds, the others at a stiff wrist."""
    script = synth.exercise(20, rate=60, together=True)
    worn = synth.sense(synth.human(), script, seed=0, clasp=(0, 1199), **QUIET)
    found = joints(worn.bodies)
    (loop,) = found.loops
    assert set(loop.bodies) == {"left_hand", "right_hand"}
    assert edges(found.skeleton()) == edges(worn.truth.skeleton)


def test_a_loose_pelvis_leaves_no_doubt_when_the_hips_turn():
    """±15° off axis, 15 mm / 6°: 100 seeds gave 100 right trees, 83 without any doubt."""
    performer = synth.human()
    script = synth.swing_walk(25, off_axis=np.radians(15), rate=60)
    loose = {"pelvis": (0.015, np.radians(6.0))}
    worn = synth.sense(performer, script, seed=0, wobble=loose, **QUIET)
    names, solution = worn.bodies.names, solve(worn.bodies)
    found = {frozenset((names[a], names[b])) for a, b, _ in solution.order}
    assert found == edges(performer)
    assert solution.tree.margins.min() > CLEAR


def test_playback_keeps_joints_together_and_stays_with_the_sensors(found, linkage):
    motion = play_back(linkage.bodies, found)
    _, places = motion.world()
    bones = np.linalg.norm(
        places[:, 1:] - places[:, [p for p in motion.skeleton.parents[1:]]], axis=-1
    )
    assert np.ptp(bones, axis=0).max() < 1e-9
    index = motion.skeleton.index("head")
    truth = linkage.truth.joints[:, linkage.truth.skeleton.index("head")]
    away = np.linalg.norm(places[:, index] - truth, axis=-1)
    # 7 mm sensors, averaged over six
    assert np.sqrt(np.mean(away**2)) < 0.012


def test_scale_from_two_sensors_at_a_known_distance():
    worn = synth.sense(synth.linkage(), MOVING, seed=1, scale=1 / 0.94, noise=0.004)
    bodies = worn.bodies
    rotations, positions = bodies.rotations[:, 0], bodies.positions[:, 0]
    rng = np.random.default_rng(0)
    bar = positions + quat.rotate(rotations, np.array([0.565, 0.0, 0.0]) / 0.94)
    bar = bar + rng.normal(size=bar.shape) * 0.004
    pair = Bodies(np.stack([positions, bar], 1), np.stack([rotations] * 2, 1), ("a", "b"), 60)
    # 900 frames of 7 mm: the mean is good to 0.03 %
    assert abs(scale_factor(pair, "a", "b", 0.565) - 0.94) < 0.002
    limbs = pair.positions * np.linspace([[[1.0]]], [[[1.6]]], pair.n_frames)[:, 0]
    with pytest.raises(BadValue, match="no rigid bar"):
        scale_factor(replace(pair, positions=limbs), "a", "b", 0.565)


def test_known_hierarchy_is_kept(linkage):
    parents = {name: "torso" for name in linkage.bodies.names if name != "torso"}
    assert joints(linkage.bodies, parents=parents).root == "torso"
    with pytest.raises(BadValue, match="has 5 joints, got 1"):
        joints(linkage.bodies, parents={"head": "torso"})


def test_coach_says_what_a_hinge_lacks():
    """Where along its axis the joint lies, a hinge never shows; any other turn would."""
    worn = synth.sense(synth.hinge(), MOVING, seed=2, **QUIET)
    (advice,) = joints(worn.bodies).advice
    assert advice.deviation > 0.1
    assert advice.reachable < 0.005
    assert "would bring ±" in advice.text


def still(n_bodies: int, n_frames: int = 50) -> Bodies:
    positions = np.tile(np.arange(n_bodies)[:, None] * np.ones(3), (n_frames, 1, 1))
    names = tuple(f"b{i}" for i in range(n_bodies))
    return Bodies(positions, quat.identity((n_frames, n_bodies)), names, 60)


@pytest.mark.parametrize(
    ("bodies", "says"),
    [
        (still(1), "at least two are needed, got b0"),
        (still(3), "nothing moves"),
        (
            Bodies(np.full((50, 2, 3), np.nan), quat.identity((50, 2)), ("a", "b"), 60),
            "hardly seen",
        ),
        (Bodies(np.zeros((50, 2, 3)), quat.identity((50, 2)), ("a", "b"), 60), "no positions"),
    ],
)
def test_what_a_take_lacks_is_said_in_a_sentence(bodies, says):
    with pytest.raises(NotEnoughData, match=says):
        joints(bodies)


def test_the_same_sensor_twice_is_noticed(linkage):
    bodies = linkage.bodies
    worn = [0, 1, 1, 0, 1]
    twice = Bodies(bodies.positions[:, worn], bodies.rotations[:, worn], tuple("abcde"), 60)
    with pytest.raises(
        NotEnoughData, match=r"'b' and 'c'.* `exclude='d'` `exclude='c'` `exclude='e'`$"
    ):
        joints(twice)


def test_an_unknown_root_is_named(linkage):
    with pytest.raises(UnknownName, match="no body named 'tors'; did you mean 'torso'"):
        joints(linkage.bodies, root="tors")


def test_public_name():
    assert ost.joints is joints


def test_art_human_as_bodies():
    take = ost.read(real("c3d-org/sample_37/ART-Human_2persons_integer.c3d"))
    found = ost.joints(take.body_poses("Human1"), root="PELV")
    chains = ["PELV LLSP ULSP LTSP UTSP NECK HEAD", "UTSP LSHO LUAR LLAR LHAN"]
    chains += ["UTSP RSHO RUAR RLAR RHAN", "PELV LULE LLLE LFOO", "PELV RULE RLLE RFOO"]
    expected = {
        frozenset(pair)
        for chain in chains
        for pair in zip(chain.split(), chain.split()[1:], strict=False)
    }
    assert edges(found.skeleton()) == expected
    assert max(link.rms for link in found.connections) < 0.001
