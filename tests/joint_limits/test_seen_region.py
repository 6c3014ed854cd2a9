"""Regions of poses that were seen: twist by swing, joints by their parents."""

from dataclasses import replace

import numpy as np
import pytest

from osteon.errors import NotEnoughData
from osteon.formats import read, write
from osteon.joint_limits import (
    LimitOptions,
    RangeOptions,
    apply_edits,
    clamp,
    draw_poses,
    hold_within,
    limits,
    limits_toml,
    make_bounds,
    region_excess,
)
from osteon.maths import quat
from osteon.values import Body, Joint, Motion, Skeleton

X, Y, Z = np.eye(3)
N_FRAMES = 300


def coupled_motion(n: int = N_FRAMES) -> Motion:
    """A thigh that twists as it swings, and a shin that bends as the thigh does; a ball each."""
    time = np.linspace(0.0, 12.0, n)
    swing, side = 0.6 * np.sin(time), 0.3 * np.sin(1.7 * time)
    twist = quat.from_axis_angle(Z, swing)  # as far as it swings
    thigh = quat.multiply(quat.exp(np.outer(swing, X) + np.outer(side, Y)), twist)
    shin = quat.multiply(
        quat.exp(np.outer(swing, X) + np.outer(0.2 * np.sin(9 * time), Y)),
        quat.from_axis_angle(Z, 0.2 * np.cos(5 * time)),
    )
    bodies = (
        Body("root", None, Joint("free")),
        Body("thigh", "root", tip=-Z),
        Body("shin", "thigh", Joint(in_parent=-Z), tip=-Z),
    )
    q = np.stack([np.broadcast_to(quat.identity(), (n, 4)), thigh, shin], axis=1)
    return Motion(Skeleton(bodies), q, np.zeros((n, 3)), 50.0)


@pytest.fixture(scope="module")
def known() -> Skeleton:
    return limits(coupled_motion(), options=LimitOptions(samples=N_FRAMES))


def off(a, b):
    return np.degrees(quat.angle(quat.between(a, b)))


def test_every_sample_is_inside(known):
    poses = coupled_motion().rotations
    assert off(hold_within(known, poses), poses).max() < 0.01


def test_a_pose_of_one_frame_is_inside():
    """At 200 frames a second; 50 samples a second would pass it over."""
    motion = replace(coupled_motion(2001), rate=200.0)
    poses = np.array(motion.rotations)
    poses[1004, 2] = quat.multiply(quat.exp(np.array([0.0, 0.9, 0.0])), poses[1004, 2])
    motion = replace(motion, rotations=poses)
    assert off(hold_within(limits(motion), poses), poses).max() < 0.01


def test_twist_depends_on_swing(known):
    """Swung forwards the thigh was twisted that way only; the cone allows both."""
    joint = known.body("thigh").joint
    swung = quat.from_axis_angle(X, np.array(0.5))
    for sense, allowed in ((1.0, True), (-1.0, False)):
        pose = quat.multiply(swung, quat.from_axis_angle(Z, np.array(0.5 * sense)))
        assert off(clamp(pose, joint, "cone"), pose) < 5.0
        assert (off(clamp(pose, joint), pose) < 5.0) == allowed


def test_a_joint_depends_on_its_parent(known):
    """The shin bent forwards belongs to a thigh that swings forwards."""
    poses = np.array(coupled_motion().rotations)
    forth, back = np.argmax(poses[:, 1, 1]), np.argmin(poses[:, 1, 1])
    mixed = poses[[forth, forth]]
    mixed[1, 2] = poses[back, 2]
    held = hold_within(known, mixed)
    assert off(held[0, 2], mixed[0, 2]) < 0.01
    assert off(held[1, 2], mixed[1, 2]) > 20.0
    assert off(held[1, 1], mixed[1, 1]) < 0.01


def test_poses_are_held_inside_and_near_what_was_seen(known, rng):
    seen = coupled_motion().rotations
    held = hold_within(known, quat.normalise(rng.normal(size=(200, 3, 4))))
    assert off(hold_within(known, held), held).max() < 1e-3
    for body in (1, 2):
        nearest = off(held[:, None, body], seen[None, :, body]).min(axis=1)
        assert nearest.max() < 5.0


def test_gradients_are_exact_by_joint_and_parent(known, rng):
    seen = make_bounds(known).seen
    which = int(np.flatnonzero(seen.parent >= 0)[0])
    moved = coupled_motion().rotations[rng.integers(N_FRAMES, size=40), 1:]
    moved = quat.multiply(quat.exp(rng.normal(scale=0.3, size=(40, 2, 3))), moved)
    step, n_outside = 1e-6, 0
    for parent, child in moved:
        excess, own, above = region_excess(seen, which, tuple(child), tuple(parent))
        n_outside += excess > 0.0
        for axis in range(3):
            turn = quat.exp(step * np.eye(3)[axis])
            for slopes, at in ((own, 0), (above, 1)):
                ends = []
                for each in (turn, quat.inverse(turn)):
                    pair = [child, parent]
                    pair[at] = quat.multiply(each, pair[at])
                    ends.append(region_excess(seen, which, tuple(pair[0]), tuple(pair[1]))[0])
                assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(slopes[axis], abs=1e-3)
    assert n_outside > 20


def test_drawn_poses_lie_within_the_limits_and_near_what_was_seen(known, rng):
    seen, drawn = coupled_motion().rotations, draw_poses(known, 400, rng)
    assert off(hold_within(known, drawn), drawn).max() < 0.01
    for body in (1, 2):  # 3°, and 7 % more where poses that stand for samples lie close
        assert off(drawn[:, None, body], seen[None, :, body]).min(axis=1).max() < 3.3
    # the shin belongs to the thigh: both near one and the same frame, but for 5°
    apart = off(drawn[:, None, 1:], seen[None, :, 1:]).max(axis=-1).min(axis=1)
    assert np.mean(apart < 8.0) > 0.95
    shuffled = drawn.copy()
    shuffled[:, 2] = rng.permutation(drawn[:, 2])
    apart = off(shuffled[:, None, 1:], seen[None, :, 1:]).max(axis=-1).min(axis=1)
    assert np.mean(apart < 8.0) < 0.7


def test_poses_are_drawn_as_often_as_they_were_seen(rng):
    """Nine tenths of the time an arm hangs, one tenth it is lifted by 60°."""
    motion = coupled_motion(1000)
    poses = np.array(motion.rotations)
    lift = np.where(np.arange(1000) % 100 < 10, 1.0, 0.0)[:, None] * X
    poses[:, 1] = quat.exp(lift + rng.normal(scale=0.03, size=(1000, 3)))
    known = limits(replace(motion, rotations=poses), options=LimitOptions(denoise=False))
    lifted = quat.angle(draw_poses(known, 2000, rng)[:, 1]) > 0.5
    # 2000 draws of a tenth: ± 0.7 %
    assert np.mean(lifted) == pytest.approx(0.1, abs=0.03)


def test_signs_of_quaternions_do_not_matter(known, rng):
    poses = quat.normalise(rng.normal(size=(50, 3, 4)))
    flipped = poses * rng.choice([-1.0, 1.0], size=(50, 3, 1))
    assert off(hold_within(known, poses), hold_within(known, flipped)).max() < 1e-6


def test_a_file_keeps_regions(known, tmp_path):
    write(known, tmp_path / "skeleton.json")
    again = read(tmp_path / "skeleton.json").skeleton()
    for body, other in zip(known.bodies[1:], again.bodies[1:], strict=True):
        np.testing.assert_array_equal(
            body.joint.limits.region.poses, other.joint.limits.region.poses
        )
        np.testing.assert_array_equal(
            body.joint.limits.region.shares, other.joint.limits.region.shares
        )
        assert body.joint.limits.region.radius == other.joint.limits.region.radius


def test_what_is_said_by_hand_takes_the_place_of_a_region(known, tmp_path):
    limits_toml.write_edits(known, tmp_path / "limits.toml")
    same = apply_edits(known, limits_toml.read_edits(tmp_path / "limits.toml"))
    assert same.body("thigh").joint.limits.region is not None
    wider = apply_edits(known, {"thigh": limits_toml.Edit(twist=(-90.0, 90.0))})
    assert wider.body("thigh").joint.limits.region is None
    assert wider.body("shin").joint.limits.region is not None


def test_a_margin_widens_the_region(known):
    wide = limits(
        coupled_motion(),
        options=LimitOptions(samples=N_FRAMES, ranges=RangeOptions(margin=10.0)),
    )
    radii = [each.body("thigh").joint.limits.region.radius for each in (known, wide)]
    assert radii[1] - radii[0] == pytest.approx(np.radians(10.0))


def test_poses_are_few_however_long_the_motion():
    short, long = (limits(coupled_motion(n)) for n in (2000, 8000))
    for skeleton in (short, long):
        assert all(len(body.joint.limits.region.poses) <= 256 for body in skeleton.bodies[1:])


def test_five_frames_are_not_enough():
    motion = coupled_motion()
    five = replace(motion, rotations=motion.rotations[:5], root=motion.root[:5])
    with pytest.raises(NotEnoughData, match="5 frames with a pose tell where joints were"):
        limits(five)
