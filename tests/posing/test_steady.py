"""Limbs do not jump where markers do not: what frames alone leave open, time decides."""

import numpy as np
import pytest

from conftest import real
from osteon import pipeline, synth
from osteon.formats import read
from osteon.maths import quat, read_only
from osteon.pipeline.solve_notes import sudden
from osteon.posing._kernels.led_limbs import find_jumps, find_leaps
from osteon.posing.per_frame import PoseOptions, PoseProblem, solve_frames
from osteon.posing.rig import compile_rig
from osteon.posing.solve_poses import SUDDEN_TURN, limbs_of, steady, sudden_turns
from osteon.posing.stream import Follower
from osteon.values import Motion, Take
from pose_rigs import figure, motion_of, performance, row_of_balls


def fastest(rotations, rate: float = 120.0) -> float:
    """The largest turn from one frame to the next, degrees per 1/120 s."""
    turns = quat.angle(quat.between(rotations[:-1], rotations[1:]))
    return float(np.degrees(turns.max()) * rate / 120.0)


@pytest.fixture(scope="module")
def walked():
    """A walk: straight arms, one marker on each collar bone, skin that slides, gaps."""
    return synth.perform(
        synth.human(), synth.walk(seconds=3), noise=0.001, skin=1.0, gaps=0.05, seed=1
    )


@pytest.fixture(scope="module")
def solved(walked):
    return pipeline.solve(Take(recordings=(walked.recording,)))[0]


def test_arms_swing_and_do_not_jump(walked, solved):
    assert fastest(walked.truth.motion.rotations) < 5.0
    assert fastest(solved.motion.rotations) < 15.0
    assert fastest(solved.motion.world()[0]) < 15.0
    assert not any("turns" in warning for warning in solved.warnings)


def test_a_stream_does_not_jump_either(solved):
    follower = Follower(solved.skeleton, solved.recording.names)
    poses = [follower.follow(frame) for frame in solved.recording.positions]
    assert fastest(np.array([pose.rotations for pose in poses if pose])) < 15.0


def test_poses_that_do_not_jump_are_left_alone(rng):
    rig, *_, observed = performance(100, rng, noise=0.001)
    problem = PoseProblem(rig, observed)
    poses = solve_frames(problem)
    assert steady(problem, poses, rate=120.0) is poses


def test_jumps_are_turns_per_frame_between_in_limbs_without_a_leap(rng):
    turns = np.cumsum(rng.normal(scale=0.05, size=(60, 4, 3)), axis=0)
    rotations, frames = quat.exp(turns), np.array([0, 1, 2, 5, 9, 10, 40, 41, 59])
    leaps, limit = rng.random((60, 4)) < 0.3, 0.08
    for order in (frames, frames[::-1].copy()):
        jumps = find_jumps(read_only(rotations), order, leaps, limit)
        turned = quat.angle(quat.between(rotations[order[:-1], 1:], rotations[order[1:], 1:]))
        most = limit * np.abs(np.diff(order))[:, None]
        fast = (turned > most) & ~leaps[np.maximum(order[:-1], order[1:]), 1:]
        assert jumps.tolist() == [False, *fast.any(axis=1).tolist()]
        assert jumps.any() and not jumps[1:].all()


def test_a_marker_leaps_that_moves_unlike_both_steps_beside():
    observed = np.cumsum(np.full((9, 2, 3), 0.01), axis=0)
    observed[4:, 1] += 0.3  # from frame 3 to frame 4, and stays
    observed[7, 0] += 0.3  # there and back again: unlike the steps before and after as well
    leaps = find_leaps(observed, np.array([1, 2]), np.array([0, 1, 1]), 0.05)
    assert np.argwhere(leaps[:, 1] & leaps[:, 2]).ravel().tolist() == [4, 7]
    assert not leaps[:, 0].any() and leaps.sum() == 4


def test_a_jump_that_markers_show_stays(rng):
    """A thigh with three markers and a shin below it turn by 40° from one frame to the next."""
    rig = figure()
    rotations, root = motion_of(rig, 120, rng, size=0.1)
    jump = quat.from_axis_angle(np.array([0.0, 1, 0]), np.radians(40.0))
    rotations[60:, 9] = quat.multiply(rotations[60:, 9], jump)
    observed = rig.markers(rotations, root)
    problem = PoseProblem(rig, observed)
    found = steady(problem, solve_frames(problem), rate=120.0)
    turn = quat.angle(quat.between(found.rotations[59, 9], found.rotations[60, 9]))
    assert np.degrees(turn) > 35.0
    assert np.nanmax(found.marker_error) < 1e-4


def test_exchanged_labels_spoil_no_frame_beside_them(rng):
    """A collar bone follows its one marker to where another was, and back, at once."""
    rig = row_of_balls(rng, 4, 1, 2)
    rotations, root = motion_of(rig, 60, rng, size=0.1)
    observed = rig.markers(rotations, root)
    observed[20:40, 4] += (0.1, 0.1, 0.0)
    problem = PoseProblem(rig, observed)
    alone = solve_frames(problem)
    found = steady(problem, alone, rate=120.0)
    assert fastest(alone.rotations) > 15.0
    beside = [*range(14, 20), *range(40, 46)]
    np.testing.assert_array_equal(found.rotations[beside], alone.rotations[beside])


def test_a_hand_is_ready_when_its_markers_come_back(rng):
    """Unseen for a third of a second, it turns 60° meanwhile: on the way, not at the end."""
    rig, n_frames = row_of_balls(rng, 4, 4, 3), 120
    rotations, root = motion_of(rig, n_frames, rng, size=0.05)
    turn = np.radians(60.0) * np.clip((np.arange(n_frames) - 40) / 40.0, 0.0, 1.0)
    swing = quat.from_axis_angle(np.array([0.0, 1, 0]), turn)
    rotations[:, 2] = quat.multiply(rotations[:, 2], swing)
    observed = rig.markers(rotations, root)
    observed[40:80, 8:] = np.nan
    problem = PoseProblem(rig, observed)
    alone = solve_frames(problem)
    found = steady(problem, alone, rate=120.0)
    assert fastest(alone.rotations) > 30.0
    assert fastest(found.rotations) < 10.0
    # frames beside the gap may give way a little; the others are as the markers say
    calm = np.delete(np.arange(n_frames), np.arange(38, 82))
    assert np.nanmax(found.marker_error[calm]) < 1e-4


def test_a_marker_without_weight_says_nothing(rng):
    rig = row_of_balls(rng, 4, 3, 1)
    rotations, root = motion_of(rig, 60, rng, size=0.3)
    rotations[30:, 1] = quat.multiply(rotations[30:, 1], quat.exp(np.array([0.0, 0.5, 0.0])))
    observed = rig.markers(rotations, root)
    weights = np.ones(8)
    weights[5] = 0.0
    blind = observed.copy()
    blind[:, 5] = np.nan
    weighed, without = PoseProblem(rig, observed, weights), PoseProblem(rig, blind)
    a = steady(weighed, solve_frames(weighed), rate=120.0)
    b = steady(without, solve_frames(without), rate=120.0)
    assert a is not weighed
    np.testing.assert_allclose(a.rotations, b.rotations, atol=1e-9)


def test_frames_without_evidence_still_repeat_their_neighbour(rng):
    rig = row_of_balls(rng, 4, 3, 1)
    rotations, root = motion_of(rig, 60, rng, size=0.3)
    rotations[31:, 1] = quat.multiply(rotations[31:, 1], quat.exp(np.array([0.0, 0.9, 0.0])))
    observed = rig.markers(rotations, root)
    observed[28:31] = np.nan
    problem = PoseProblem(rig, observed)
    found = steady(problem, solve_frames(problem), rate=120.0)
    assert found.held == (28, 29, 30)
    for held, source in ((28, 27), (29, 27), (30, 31)):
        np.testing.assert_array_equal(
            np.abs(found.rotations[held]), np.abs(found.rotations[source])
        )


def test_limbs_end_where_the_tree_branches():
    #         pelvis, spine, chest, head, arm, hand, leg, foot
    parents = [-1, 0, 1, 2, 2, 4, 0, 6]
    assert limbs_of(parents).tolist() == [0, 1, 1, 3, 4, 4, 6, 6]


def test_what_remains_is_told():
    performance = synth.perform(synth.human(), synth.walk(seconds=1), seed=1)
    motion = performance.truth.motion
    assert sudden_turns(motion) == [] and sudden(motion) == ()
    rotations = motion.rotations.copy()
    body = motion.skeleton.names.index("left_upper_arm")
    rotations[50:, body] = quat.multiply(
        rotations[50:, body], quat.exp(np.array([np.radians(40.0), 0, 0]))
    )
    jumping = Motion(motion.skeleton, rotations, motion.root, motion.rate)
    [(name, frame, angle)] = sudden_turns(jumping)
    assert (name, frame) == ("left_upper_arm", 50) and angle > SUDDEN_TURN
    assert "left_upper_arm turns 4" in sudden(jumping)[0] and "frame 50" in sudden(jumping)[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cmu-01/01_01.c3d", "cmu-02/02_01.c3d"])
def test_real_arms_do_not_jump(name):
    recording = read(real(name)).recording()
    solved = pipeline.solve(real(name))[0]
    assert fastest(solved.motion.rotations, recording.rate) < 15.0
    assert fastest(solved.motion.world()[0], recording.rate) < 15.0
    follower = Follower(solved.skeleton, solved.recording.names)
    poses = [follower.follow(frame) for frame in solved.recording.positions]
    followed = np.array([pose.rotations for pose in poses if pose])
    assert fastest(followed, recording.rate) < 15.0
    names = [name for name in solved.recording.names if name in solved.skeleton.marker_names]
    rig, seen = compile_rig(solved.skeleton, names), solved.recording.select(names).positions
    alone = solve_frames(PoseProblem(rig, seen), options=PoseOptions(loss="geman-mcclure"))
    assert solved.rms < 1.02 * alone.rms
