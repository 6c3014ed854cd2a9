"""Which joints are told as uncertain, and in what words."""

from dataclasses import replace

import numpy as np
import pytest

from conftest import real
from osteon import formats, synth
from osteon.calibration import calibrate
from osteon.calibration.joint_findings import JointMotion
from osteon.calibration.uncertain_joints import NOTED_RADIUS, find_uncertain, tell_uncertain
from osteon.human import recognise
from osteon.values import Body, Joint, Recording, Skeleton

WELL = 0.005**2 * np.eye(3)
NONE, ACROSS = np.zeros(3), np.array([0.0, 1.0, 0.0])
MOVED, STILL = JointMotion(4, NONE), JointMotion(1, NONE)


def person(**covariances: np.ndarray) -> Skeleton:
    """Pelvis and legs whose joints are well known but for those given."""
    limbs = [("thigh", "pelvis"), ("shin", "thigh")]
    bodies = [Body("pelvis", None)]
    for side in ("left", "right"):
        for limb, above in limbs:
            name = f"{side}_{limb}"
            parent = above if above == "pelvis" else f"{side}_{above}"
            joint = Joint(covariance=covariances.get(name, WELL))
            bodies.append(Body(name, parent, joint))
    return Skeleton(tuple(bodies))


def motions(**given: JointMotion) -> dict[str, JointMotion]:
    knees = {f"{side}_shin": replace(MOVED, axis=ACROSS) for side in ("left", "right")}
    hips = {f"{side}_thigh": MOVED for side in ("left", "right")}
    return hips | knees | given


def wide(*deviations: float) -> np.ndarray:
    return np.diag(np.square(deviations))


def test_who_is_well_known_gets_no_word():
    assert tell_uncertain(person(), motions()) == ()


def test_along_its_axis_a_marker_is_asked_for():
    knees = wide(0.004, 0.025, 0.004)
    (told,) = tell_uncertain(person(left_shin=knees, right_shin=knees), motions())
    assert "knees ± 70 mm along the axis" in told
    assert "a marker on the inner side of the knee" in told
    assert "hip" not in told


def test_a_joint_that_hardly_turns_asks_for_motion():
    rig = person(left_thigh=wide(0.005, 0.02, 0.005))
    (told,) = tell_uncertain(rig, motions(left_thigh=STILL))
    assert "left hip ± 56 mm sideways" in told
    assert "circle the left leg" in told


def test_a_joint_that_turned_asks_for_markers():
    (told,) = tell_uncertain(person(left_thigh=wide(0.02, 0.02, 0.02)), motions())
    assert "left hip ± 56 mm (95 %)" in told
    assert "more of them on bone" in told


def test_the_worse_side_is_told_for_both():
    rig = person(left_thigh=wide(0.02, 0.02, 0.02), right_thigh=wide(0.03, 0.03, 0.03))
    (told,) = tell_uncertain(rig, motions(left_thigh=STILL, right_thigh=STILL))
    assert "hips ± 84 mm" in told


def test_along_and_across_of_one_knee_are_not_two_knees():
    wide_all_round = wide(0.02, 0.03, 0.02)
    told = tell_uncertain(person(left_shin=wide_all_round), motions())
    assert len(told) == 2 and all("left knee" in each for each in told)


def test_bodies_of_no_person_have_no_words():
    rig = Skeleton((Body("body_01", None), Body("body_02", "body_01", Joint(covariance=np.eye(3)))))
    assert tell_uncertain(rig, {"body_02": MOVED}) == ()


def test_a_performer_who_exercises_everything_gets_two_sentences_at_most():
    take = synth.perform(synth.human(), synth.exercise(20.0, rate=60.0), noise=0.001, seed=5)
    known = recognise(take.recording.names)
    assert known is not None
    told = calibrate([take.recording], known[1]).doubts
    assert len([each for each in told if "uncertain" in each]) <= 2


@pytest.mark.parametrize("seconds", [1.0, 2.0])
def test_knees_without_inner_markers_are_told_however_short_the_take(seconds):
    (recording,) = formats.read(real("anatomical-truth/hamner-02-run200/markers.trc")).recordings
    n_frames = int(seconds * recording.rate)
    cut = Recording(recording.positions[:n_frames], recording.names, recording.rate)
    known = recognise(cut.names)
    assert known is not None
    found = calibrate([cut], known[1])
    assert any("knees" in told and "inner side of the knee" in told for told in found.doubts)
    assert all(
        joint.radius > NOTED_RADIUS for joint in find_uncertain(found.skeleton, found.motions)
    )
