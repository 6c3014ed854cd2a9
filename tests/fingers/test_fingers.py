"""Fingers against hands whose joints are known. Bounds: twice the medians of docs/numbers/hands.md,
whose hands are others."""

import numpy as np
import pytest

from conftest import real
from osteon import formats, pipeline, synth
from osteon.fingers.finger_model import FINGER_HABITS, FingerModel
from osteon.fingers.finger_poses import find_angles, without_fingers
from osteon.human import FINGERS, human, recognise
from osteon.values import Recording, Take


def solved_of(recording: Recording) -> pipeline.Solved:
    return pipeline.solve(Take(recordings=(recording,)))[0]


def a_finger() -> FingerModel:
    """The average left index with markers over its second joint and on its nail."""
    known = human()
    finger = known.fingers["left_index"]
    axis = np.cross(finger.along, finger.curl)
    places = [known.hand_landmarks[f"left_index_{joint}"].at for joint in ("pip", "tip")]
    starts = finger.at + np.outer([0.0, finger.lengths[:2].sum()], finger.along)
    return FingerModel(
        "left_index",
        np.zeros(3),
        np.outer(finger.lengths[:2], finger.along),
        np.stack([np.cross(finger.along, axis), axis]),
        np.array([0, 2]),
        np.array(places) - starts,
    )


def some_angles(n_frames: int) -> np.ndarray:
    times = np.linspace(0.0, 6.0, n_frames)
    bend = 0.6 + 0.5 * np.sin(times)
    return np.stack([0.1 * np.sin(2.0 * times), 0.8 * bend, bend, 2.0 / 3.0 * bend], axis=1)


def test_slopes_are_those_of_the_markers():
    model, angles = a_finger(), some_angles(5)
    _, slopes, _ = model.slopes(angles)
    for k in range(4):
        little = 1e-6 * np.eye(4)[k]
        moved = (model.markers(angles + little) - model.markers(angles - little)) / 2e-6
        np.testing.assert_allclose(slopes[..., k], moved, atol=1e-8)


def test_bending_curls_towards_the_palm():
    model = a_finger()
    straight, bent = model.markers(np.zeros((1, 4))), model.markers(np.array([[0, 0.3, 0.3, 0.2]]))
    assert (bent - straight)[0, 1] @ human().fingers["left_index"].curl > 0.01


def test_angles_of_exact_markers_come_back():
    model, angles = a_finger(), some_angles(200)
    found = find_angles(model, model.markers(angles), np.full(2, 1e-4), 120.0)
    assert np.abs(found - angles).max() < np.radians(1.5)


def test_a_gap_is_carried_across_and_a_hidden_finger_rests():
    model, angles = a_finger(), some_angles(600)
    seen = model.markers(angles)
    seen[300:330] = np.nan
    found = find_angles(model, seen, np.full(2, 1e-3), 120.0)
    assert np.abs(found - angles)[300:330].max() < np.radians(15.0)
    hidden = find_angles(model, np.full_like(seen, np.nan), np.full(2, 1e-3), 120.0)
    np.testing.assert_allclose(hidden, np.tile(FINGER_HABITS.usual, (600, 1)))


@pytest.mark.parametrize(("count", "most"), [(5, 0.012), (10, 0.0065), (20, 0.005)])
def test_fingers_of_a_hand_alone(count: int, most: float):
    done = synth.perform(
        synth.glove(count, seed=4), synth.grasps(seconds=8.0), noise=5e-4, skin=1.0, seed=4
    )
    solved = solved_of(done.recording)
    assert solved.marker_set == "Fingers"
    assert solved.skeleton.names[0] == "left_hand"
    names = [f"left_{finger}_{bone}" for finger in FINGERS for bone in (1, 2, 3)]
    ours = solved.motion.world()[1][:, [solved.skeleton.index(name) for name in names]]
    truth = done.truth.joints[:, [done.truth.skeleton.index(name) for name in names]]
    assert np.median(np.linalg.norm(ours - truth, axis=-1)) < most
    kinds = [solved.skeleton.body(name).joint.kind for name in names[3:6]]
    assert kinds == ["universal", "hinge", "hinge"]


@pytest.mark.parametrize("subject", ["", "ann"])
def test_two_hands_without_a_body_are_two_subjects(subject: str):
    left = synth.perform(synth.glove(10, seed=4), synth.grasps(seconds=2.0), seed=4).recording
    mirrored = left.positions * [1.0, -1.0, 1.0] - [0.0, 0.4, 0.0]
    names = (*left.names, *("R" + name[1:] for name in left.names))
    both = Recording(np.concatenate([left.positions, mirrored], axis=1), names, left.rate, subject)
    hands = pipeline.solve(Take(recordings=(both,)))
    prefix = f"{subject}_" if subject else ""
    for found, side in zip(hands, ("left", "right"), strict=True):
        assert found.recording.subject == f"{prefix}{side}_hand"
        assert found.skeleton.names[0] == f"{side}_hand"
        assert {name[0] for name in found.recording.names} == {side[0].upper()}
    tips = [found.motion.world()[1] for found in hands]
    np.testing.assert_allclose(tips[1], tips[0] * [1.0, -1.0, 1.0] - [0.0, 0.4, 0.0], atol=1e-3)


def test_a_body_is_solved_as_without_its_fingers():
    performer = synth.with_gloves(synth.human(), 10)
    script = synth.grasps(synth.exercise(6.0, together=True))
    whole = synth.perform(performer, script, noise=5e-4, seed=3).recording
    known = recognise(whole.names)
    assert known is not None and known[0].name == "CMU 41 + Fingers"
    bare = whole.select([name for name in whole.names if name in known[1]])
    with_fingers, without = solved_of(whole), solved_of(bare)
    skeleton = without_fingers(with_fingers.skeleton)
    assert len(with_fingers.skeleton.bodies) == len(skeleton.bodies) + 30
    order = [with_fingers.skeleton.index(name) for name in without.skeleton.names]
    np.testing.assert_array_equal(with_fingers.motion.rotations[:, order], without.motion.rotations)


def test_a_real_glove():
    solved = solved_of(real_hand())
    assert solved.marker_set == "Glove 13"
    assert len(solved.skeleton.bodies) == 16
    rms = [m.rms or 0.0 for body in solved.skeleton.bodies for m in body.markers]
    assert max(rms) < 0.006


def real_hand() -> Recording:
    recording = formats.read(real("hand-dfki/recording.tsv")).recordings[0]
    kept = recording.select(recording.names[:13])
    return Recording(kept.positions[:1500], kept.names, kept.rate)
