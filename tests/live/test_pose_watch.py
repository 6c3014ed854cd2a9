"""Improbable poses told while they happen, and angles sent out."""

import socket

import numpy as np
import pytest

from osteon import synth
from osteon.live import AngleSender, PoseWatch, angles_of
from osteon.live.osc import messages_of
from osteon.live.performance import LivePose
from osteon.maths import quat
from osteon.values import Motion


@pytest.fixture(scope="module")
def motion() -> Motion:
    return synth.act(synth.human(), synth.walk(6.0, rate=60), seed=1).motion


def poses_of(motion: Motion, rotations=None) -> list[LivePose]:
    world, joints = motion.world()
    turned = motion.rotations if rotations is None else rotations
    rows = zip(turned, world, joints, strict=True)
    return [LivePose(n, motion.skeleton, *row, rms=0.001) for n, row in enumerate(rows)]


def test_a_forearm_that_jumps_away_is_told_once_with_its_frame(motion: Motion) -> None:
    rotations = np.array(motion.rotations)
    body = motion.skeleton.index("left_forearm")
    away = quat.exp(np.array([0.0, 1.5, 0.0]))
    rotations[200:206, body] = quat.multiply(rotations[200:206, body], away)
    said: list[str] = []
    watch = PoseWatch(motion, motion.rate, said.append)
    for pose in poses_of(motion, rotations):
        watch.look(pose)
    assert [name for name, _, _ in watch.spans] == ["left_forearm"]
    assert 199 <= watch.spans[0][1] <= 203
    assert len(said) == 1 and "left_forearm" in said[0]


def test_the_clean_motion_itself_is_not_improbable(motion: Motion) -> None:
    watch = PoseWatch(motion, motion.rate)
    for pose in poses_of(motion):
        watch.look(pose)
    assert watch.spans == []


def test_another_skeleton_is_told_once(motion: Motion) -> None:
    other = synth.act(synth.quadruped(), synth.walk(1.0, rate=60), seed=1).motion
    said: list[str] = []
    watch = PoseWatch(motion, 60.0, said.append)
    for pose in poses_of(other):
        watch.look(pose)
    assert said == ["poses are not watched: the clean motion is of another skeleton"]


def test_angles_arrive_as_they_are(motion: Motion) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(5.0)
        sender = AngleSender("127.0.0.1", receiver.getsockname()[1])
        pose = poses_of(motion)[7]
        sender.send(pose)
        packet = receiver.recv(65536)
        sender.close()
    ((address, values),) = messages_of(packet)
    assert address == "/osteon/angles" and values[0] == 7
    names, angles = angles_of(motion.skeleton, pose.rotations)
    assert values[1::2] == names
    np.testing.assert_allclose(np.array(values[2::2], dtype=float), np.degrees(angles), atol=1e-3)
