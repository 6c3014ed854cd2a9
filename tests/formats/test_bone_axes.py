"""Bones point from joint to joint in files whose readers know no other direction of a bone."""

from dataclasses import replace

import numpy as np
import pytest

from osteon.formats.shared.bone_axes import bone_axes, reframe
from osteon.formats.shared.standing_pose import standing_pose
from osteon.maths import forward_kinematics, quat
from osteon.values import Skeleton
from rigs import human, move


def bone_turns(skeleton: Skeleton) -> dict[str, np.ndarray]:
    """World axes (columns) of all bones in the standing pose."""
    pose = standing_pose(skeleton, None)
    turns = quat.multiply(pose.rotations, bone_axes(skeleton, pose.rotations))
    return dict(zip(skeleton.names, quat.to_matrix(turns), strict=True))


def test_y_goes_on_to_the_next_joint_and_z_to_the_front():
    skeleton = human()
    turns = bone_turns(skeleton)
    for name, child in {"left_thigh": "left_shin", "left_clavicle": "left_upper_arm",
                        "chest": "neck", "pelvis": "spine"}.items():  # fmt: skip
        way = skeleton.offsets[skeleton.index(child)]
        forward = np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]])  # ours looks along x
        np.testing.assert_allclose(
            turns[name][:, 1], forward @ way / np.linalg.norm(way), atol=1e-9
        )
        assert turns[name][:, 2] @ [0, -1, 0] > 0.95, name
    np.testing.assert_allclose(turns["left_foot"][:, 1:].T, [[0, -1, 0], [0, 0, 1]], atol=1e-9)


def test_both_sides_are_mirror_images():
    turns = bone_turns(human())
    for name in ("thigh", "shin", "foot", "upper_arm"):
        left, right = turns[f"left_{name}"], turns[f"right_{name}"]
        np.testing.assert_allclose(left[:, 1:] * [[-1], [1], [1]], right[:, 1:], atol=1e-9)


def test_a_bone_without_an_end_goes_on_like_its_parent():
    bodies = [replace(body, tip=None) for body in human().bodies]
    turns = bone_turns(Skeleton(tuple(bodies)))
    np.testing.assert_allclose(turns["right_foot"], turns["right_shin"], atol=1e-9)


def test_joints_stay_and_the_way_back_is_exact():
    motion = move(human(), 5)
    axes = bone_axes(motion.skeleton, quat.identity((len(motion.skeleton.bodies),)))
    parents, places = motion.skeleton.parents, motion.in_parents()
    turned = reframe(axes, parents, motion.rotations, places)
    joints = forward_kinematics(*turned, parents)[1]
    np.testing.assert_allclose(joints, motion.world()[1], atol=1e-12)
    back = reframe(quat.inverse(axes), parents, *turned)
    np.testing.assert_allclose(back[1], places, atol=1e-12)
    assert quat.angle(quat.between(back[0], motion.rotations)).max() < 1e-7


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_rig_drawn_along_an_axis_keeps_its_axes(axis):
    skeleton = drawn_along(human(), axis)
    axes = bone_axes(skeleton, standing_pose(skeleton, None).rotations)
    np.testing.assert_array_equal(axes, quat.identity((len(axes),)))


def drawn_along(skeleton: Skeleton, axis: int) -> Skeleton:
    """The same joints, frames turned such that bones lie along one axis of theirs."""
    own = bone_axes(skeleton, quat.identity((len(skeleton.bodies),)))
    to_axis = quat.shortest(np.eye(3)[axis], np.array([0.0, 1.0, 0.0]))
    own = quat.multiply(own, to_axis)
    rests, offsets = reframe(own, skeleton.parents, skeleton.rest, skeleton.offsets)
    bodies = []
    for index, body in enumerate(skeleton.bodies):
        tip = body.tip_from_joint
        tip = None if tip is None else quat.rotate(quat.inverse(own[index]), tip)
        joint = replace(body.joint, kind="ball" if body.parent else "free", axes=(), limits=None,
                        in_parent=offsets[index], in_body=(0, 0, 0), rest=rests[index])  # fmt: skip
        bodies.append(replace(body, joint=joint, tip=tip, markers=()))
    return Skeleton(tuple(bodies))
