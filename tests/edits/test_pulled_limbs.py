"""Poses by pulling: which joints turn, and what is pinned."""

from dataclasses import replace

import numpy as np
import pytest

from osteon import synth
from osteon.anatomy import axes
from osteon.edits import MotionDraft, SetPose, compact_of, pose_at
from osteon.errors import UnknownName
from osteon.maths import quat
from osteon.values import Motion

FRAME = 60
ARM = {"left_clavicle", "left_upper_arm", "left_forearm", "left_hand"}
LEGS = {"left_thigh", "left_shin", "left_foot", "right_thigh", "right_shin", "right_foot"}
FEET = ("left_foot", "right_foot")
STILL = 1e-6
"""Radians: what rounding turns."""


@pytest.fixture(scope="module")
def motion() -> Motion:
    return synth.perform(synth.human(), synth.walk(seconds=1), seed=1).truth.motion


def place(motion: Motion, body: str, frame: int = FRAME) -> np.ndarray:
    return motion.world()[1][frame, motion.skeleton.index(body)]


def turned(before: Motion, after: Motion) -> set[str]:
    angles = quat.angle(quat.between(before.rotations[0], after.rotations[0]))
    return {
        name for name, angle in zip(before.skeleton.names, angles, strict=True) if angle > STILL
    }


def target(motion: Motion, body: str, *by: float) -> dict[str, tuple[float, float, float]]:
    x, y, z = (place(motion, body) + by).tolist()
    return {body: (x, y, z)}


@pytest.mark.parametrize(
    ("body", "by", "limb"),
    [
        ("left_hand", (0.05, 0.1, 0.2), ARM - {"left_hand"}),
        ("left_foot", (0.05, 0.0, 0.1), {"left_thigh", "left_shin"}),
        ("left_upper_arm", (0.0, 0.0, 0.02), {"left_clavicle"}),
        (
            "left_clavicle",
            (0.03, 0.0, 0.0),
            {"chest"},
        ),  # where a limb begins, what carries it turns
    ],
)
def test_only_the_limb_turns_that_is_pulled(motion, body, by, limb):
    now = motion.frames(FRAME, FRAME)
    after, _ = pose_at(now, SetPose(FRAME, target(motion, body, *by), limb=True))
    assert turned(now, after) == limb


def test_a_hand_within_reach_gets_there_by_its_arm_alone(motion):
    now, wanted = motion.frames(FRAME, FRAME), target(motion, "left_hand", 0.05, 0.1, 0.2)
    after, left = pose_at(now, SetPose(FRAME, wanted, limb=True))
    np.testing.assert_allclose(place(after, "left_hand", 0), wanted["left_hand"], atol=1e-3)
    assert left is not None and left < 1e-3  # the tolerance of `reach`
    # an edit of before, which says nothing of limbs, bends the trunk as ever
    assert "chest" in turned(now, pose_at(now, SetPose(FRAME, wanted))[0])


def test_a_pulled_root_takes_the_figure_along_and_does_not_turn(motion):
    now = motion.frames(FRAME, FRAME)
    after, _ = pose_at(now, SetPose(FRAME, target(motion, "pelvis", 0.0, 0.1, 0.0), limb=True))
    shift = after.world()[1][0] - now.world()[1][0]
    np.testing.assert_allclose(shift, np.broadcast_to([0.0, 0.1, 0.0], shift.shape), atol=1e-3)


def test_pinned_feet_stay_in_every_frame_that_follows(motion):
    pull = SetPose(FRAME, target(motion, "pelvis", 0.0, 0.0, -0.12), limb=True, pins=FEET)
    draft = MotionDraft(motion)
    patch = draft.apply(pull)
    after = draft.motion()
    assert place(motion, "pelvis")[2] - place(after, "pelvis")[2] == pytest.approx(0.12, abs=1e-3)
    feet = [motion.skeleton.index(foot) for foot in FEET]
    moved = after.world()[1][:, feet] - motion.world()[1][:, feet]
    assert np.abs(moved).max() < 1e-3  # the tolerance of `reach`
    soles = quat.angle(quat.between(motion.world()[0][:, feet], after.world()[0][:, feet]))
    assert np.degrees(soles).max() < 0.6  # 1 mm at 10 cm, where points hold it
    others = [i for i, name in enumerate(motion.skeleton.names) if name not in {*LEGS, "pelvis"}]
    np.testing.assert_allclose(after.rotations[:, others], motion.rotations[:, others], atol=1e-6)
    outside = [f for f in range(motion.n_frames) if not patch.first <= f <= patch.last]
    assert np.array_equal(after.rotations[outside], motion.rotations[outside])


def test_without_pins_the_feet_go_along(motion):
    now = motion.frames(FRAME, FRAME)
    after, _ = pose_at(now, SetPose(FRAME, target(motion, "pelvis", 0.0, 0.0, -0.12), limb=True))
    assert place(motion, "left_foot")[2] - place(after, "left_foot", 0)[2] > 0.1


def test_a_slider_leaves_what_is_pinned(motion):
    known = replace(motion, skeleton=axes(motion).motion.skeleton)
    now = known.frames(FRAME, FRAME)
    name = next(n for n in compact_of(now).names if n.startswith("left_upper_arm."))
    bent = SetPose(FRAME, parameters={name: 0.6}, pins=("left_hand",))
    free, _ = pose_at(now, SetPose(FRAME, parameters=bent.parameters))
    held, _ = pose_at(now, bent)
    assert np.linalg.norm(place(free, "left_hand", 0) - place(known, "left_hand")) > 0.02
    np.testing.assert_allclose(place(held, "left_hand", 0), place(known, "left_hand"), atol=1e-3)


def test_a_pin_on_nothing_is_told(motion):
    pull = SetPose(FRAME, target(motion, "left_hand", 0.0, 0.0, 0.1), limb=True, pins=("tail",))
    with pytest.raises(UnknownName, match="tail"):
        pose_at(motion.frames(FRAME, FRAME), pull)
