"""Toes without markers are bent by the ground, and by nothing else."""

from dataclasses import replace

import numpy as np
import pytest

import osteon as ost
from osteon import synth
from osteon.maths import quat
from osteon.pipeline.solve_take import solve
from osteon.posing.toes_on_ground import FASTEST_BEND, bend_toes
from osteon.values import Marker, Motion

RATE = 120.0
SIDE = np.array([0.0, 1.0, 0.0])


@pytest.fixture(scope="module")
def skeleton():
    take = synth.perform(synth.human(), synth.walk(2.0), noise=0.001, seed=4)
    return solve(ost.Take(recordings=(take.recording,)))[0].skeleton


def standing(skeleton) -> Motion:
    """One frame at rest, soles on z = 0."""
    motion = Motion(skeleton, skeleton.rest[None], np.zeros((1, 3)), RATE)
    return replace(motion, root=np.array([[0.0, 0.0, -float(tips(motion)[0, 0, 2])]]))


def tips(motion: Motion) -> np.ndarray:
    """(n_frames, 2, 3) of the toes."""
    names = ("left_toes", "right_toes")
    places = np.array([motion.skeleton.body(name).tip for name in names])
    return motion.points([motion.skeleton.index(name) for name in names], places)


def bends(motion: Motion) -> np.ndarray:
    """(n_frames, 2) radians."""
    toes = [motion.skeleton.index(name) for name in ("left_toes", "right_toes")]
    return quat.angle(motion.rotations[:, toes])


def tipping(skeleton, angles: np.ndarray, lift: np.ndarray | float = 0.0) -> Motion:
    """A stiff figure that tips forward over the balls of its feet, some metres above the floor."""
    start = standing(skeleton)
    ball = start.world()[1][0, skeleton.index("left_toes")] * [1.0, 0.0, 0.0]
    turn = quat.from_axis_angle(SIDE, angles)
    rotations = np.repeat(start.rotations, len(angles), axis=0)
    rotations[:, 0] = quat.multiply(turn, rotations[:, 0])
    root = ball + quat.rotate(turn, start.root - ball)
    root[:, 2] += lift
    return Motion(skeleton, rotations, root, RATE)


def swaying() -> np.ndarray:
    """Radians: a second of standing, up to 40° and back, a second of standing."""
    up = np.radians(40.0) * np.sin(np.linspace(0.0, np.pi, 120)) ** 2
    return np.concatenate([np.zeros(120), up, np.zeros(120)])


def test_toes_begin_at_the_ball_and_say_how_unsure_that_is(skeleton):
    foot, toes = skeleton.body("left_foot"), skeleton.body("left_toes")
    assert (toes.parent, toes.joint.kind, toes.markers) == ("left_foot", "hinge", ())
    ball, end = toes.joint.in_parent, toes.joint.in_parent + toes.tip
    assert foot.length == pytest.approx(np.linalg.norm(ball))
    assert 0.04 < end[0] - ball[0] < 0.09  # toes of grown people
    assert 0.015 < ball[2] - end[2] < 0.035  # above the sole
    assert np.sqrt(np.linalg.eigvalsh(toes.joint.covariance)).min() >= 0.02  # the template's
    assert toes.joint.axes[0] @ [0.0, -1.0, 0.0] > 0.9  # positive: tip up


def test_toes_stay_level_under_a_rising_heel(skeleton):
    angles = swaying()
    motion = bend_toes(tipping(skeleton, angles))
    assert np.abs(bends(motion)[angles == 0.0]).max() < np.radians(3.0)
    steep = angles > np.radians(10.0)
    # 25 mm above the ball the joint sinks by 6 mm as the foot tips, toes of 54 mm rise by as much
    assert np.abs(bends(motion)[steep] - angles[steep, None]).max() < 0.12
    assert np.abs(tips(motion)[steep, :, 2]).max() < 0.003
    assert tips(tipping(skeleton, angles))[..., 2].min() < -0.03  # they would dip


def test_toes_straighten_as_they_leave_the_ground(skeleton):
    angles = swaying()
    lift = np.where(np.arange(len(angles)) > 180, 0.003 * (np.arange(len(angles)) - 180.0), 0.0)
    motion = bend_toes(tipping(skeleton, angles, lift))
    assert np.abs(bends(motion)[lift > 0.08]).max() == 0.0
    assert np.abs(np.diff(bends(motion), axis=0)).max() < FASTEST_BEND / RATE


def test_toes_lift_in_time_for_a_landing(skeleton):
    """Down at 4 m/s on tiptoe: 40° within two frames would be a pop."""
    angles = np.concatenate([np.full(90, np.radians(40.0)), np.radians(np.linspace(40, 0, 60)),
                             np.zeros(120)])  # fmt: skip
    lift = np.maximum(0.0, (60 - np.arange(len(angles))) * 4.0 / RATE)
    motion = bend_toes(tipping(skeleton, angles, lift))
    assert np.abs(np.diff(bends(motion), axis=0)).max() < FASTEST_BEND / RATE + 1e-9
    assert np.radians(15.0) > FASTEST_BEND / RATE  # what counts as a jump
    assert tips(motion)[..., 2].min() > -0.003


def test_a_raised_floor_is_a_floor_too(skeleton):
    """Half the time on a box: there is no one plane, but what the foot stands on."""
    angles, box = np.tile(swaying(), 2), np.repeat([0.0, 0.3], 360)
    above = tips(bend_toes(tipping(skeleton, angles, box)))[..., 2] - box[:, None]
    assert above.min() > -0.006


def test_toes_that_markers_show_are_left_alone(skeleton):
    toes = skeleton.body("left_toes")
    worn = skeleton.replacing("left_toes", markers=(Marker("LHLX", toes.tip),))
    motion = bend_toes(tipping(worn, swaying()))
    assert bends(motion)[:, 0].max() == 0.0
    assert bends(motion)[:, 1].max() > 0.5
