"""Fingers in files: sets and keypoint files that bring them, and formats that carry them on."""

import json
from pathlib import Path

import numpy as np
import pytest

from conftest import real
from osteon import fixed_lengths, formats, pipeline, synth
from osteon.errors import OsteonError
from osteon.human import FINGERS, human, known_sets, recognise
from osteon.live.vmc import bone_name
from osteon.skinning import make_skin
from osteon.values import Recording, Take

HAND_21 = next(each for each in known_sets() if each.name == "Hand-21")


@pytest.fixture(scope="module")
def solved() -> pipeline.Solved:
    done = synth.perform(synth.glove(20, seed=5), synth.grasps(seconds=4.0), noise=5e-4, seed=5)
    return pipeline.solve(Take(recordings=(done.recording,)))[0]


def hand_points(side: str) -> tuple[tuple[str, ...], np.ndarray]:
    """Hand-21's labels of a side, and where the average human has them."""
    marks = {name: mark for name, mark in HAND_21.markers.items() if name.startswith(side)}
    return tuple(marks), np.stack([np.asarray(mark.at) for mark in marks.values()])


@pytest.mark.parametrize("suffix", [".bvh", ".glb", ".usda", ".osim", ".xml", ".json"])
def test_files_carry_fingers(solved, suffix, tmp_path):
    path = tmp_path / f"hand{suffix}"
    given = Take(motions=(solved.motion,))
    if suffix in (".osim", ".xml", ".json"):
        given = Take(skeletons=(solved.skeleton,))
    formats.write(given, path)
    text = path.read_bytes().decode("latin-1")
    assert all(f"left_{finger}_{bone}" in text for finger in FINGERS for bone in (1, 2, 3))


def test_bvh_moves_fingers_as_they_were(solved, tmp_path):
    formats.write(Take(motions=(solved.motion,)), tmp_path / "hand.bvh")
    back = formats.read(tmp_path / "hand.bvh").motion()
    ours, theirs = solved.motion.world()[1], back.world()[1]
    order = [back.skeleton.index(name) for name in solved.skeleton.names]
    np.testing.assert_allclose(theirs[:, order], ours, atol=1e-4)


def test_a_hand_has_a_skin_with_fingers(solved):
    skin = make_skin(solved.skeleton)
    assert 2000 < len(skin.triangles) <= 6000
    tips = [solved.skeleton.index(f"left_{finger}_3") for finger in FINGERS]
    for tip in tips:
        carried = skin.weights[skin.bodies == tip]
        assert (carried > 0.5).sum() > 20


def test_sets_of_hands_stand_beside_those_of_bodies():
    body = next(each for each in known_sets() if each.name == "Vicon 53")
    fingers = [f"{s}{f}6" for s in "LR" for f in ("THM", "IDX", "MID", "RNG", "PNK")]
    known = recognise([*body.markers, *fingers])
    assert known is not None and known[0].name == "Vicon 53 + Vicon fingers"
    assert len(known[0].match_fingers(fingers)) == 10
    assert set(known[1]) == set(body.markers)
    alone = recognise(body.markers)
    assert alone is not None and alone[0].name == "Vicon 53"


@pytest.mark.parametrize("spelling", ["LIndexTip", "left_index_tip", "LeftIndexTip"])
def test_sides_are_spelt_in_many_ways(spelling):
    labels = [spelling.replace("Index", f).replace("index", f.lower()) for f in
              ("Thumb", "Index", "Middle", "Ring", "Pinky")]  # fmt: skip
    known = recognise([*labels, "LHandWrist", "LHandIn", "LHandOut"])
    assert known is not None and known[0].name == "Fingers"
    assert len(known[0].match_fingers(labels)) == 5


def test_no_animal_is_called_a_hand():
    for file in ("mouse-oist", "rodent-stac"):
        for path in sorted(real(file).iterdir()):
            try:
                take = formats.read(path)
            except OsteonError:
                continue
            for each in take.recordings:
                known = recognise(each.names)
                assert known is None or not known[0].of_hands


def test_bones_add_up_to_a_hand():
    """A hand has 0.108 of the height [Drillis 1966], 10 mm of it before the wrist's joint."""
    figure = human()
    finger = figure.fingers["left_middle"]
    wrist = figure.bodies["left_hand"].at
    length = np.linalg.norm(finger.at - wrist) + finger.lengths.sum() + 0.010
    assert abs(length / figure.height - 0.108) < 0.005


@pytest.mark.parametrize(("count", "set_name"), [(133, "BODY-25"), (67, "BODY-25"), (75, "")])
def test_arrays_with_hands_are_named(count, set_name, tmp_path):
    rng = np.random.default_rng(count)
    np.save(tmp_path / "points.npy", rng.uniform(-0.5, 0.5, (20, count, 3)))
    take = formats.read(tmp_path / "points.npy")
    known = recognise(take.recordings[0].names)
    assert known is not None and known[0].name.endswith(" + Hand-21")
    assert known[0].name.startswith(set_name)
    assert len(known[0].match_fingers(take.recordings[0].names)) == 30


def test_openpose_writes_hands_beside_bodies(tmp_path: Path):
    rng = np.random.default_rng(1)

    def points(count: int) -> list[float]:
        return (
            np.column_stack([rng.uniform(-0.5, 0.5, (count, 3)), np.ones(count)]).ravel().tolist()
        )

    for frame in range(3):
        person = {
            "pose_keypoints_3d": points(25),
            "hand_left_keypoints_3d": points(21),
            "hand_right_keypoints_3d": points(21),
        }
        (tmp_path / f"k_{frame:03d}.json").write_text(json.dumps({"people": [person]}))
    recording = formats.read(tmp_path / "k_000.json").recordings[0]
    assert recording.n_markers == 67
    assert "left_hand_pinky_tip" in recording.names


def test_keypoints_of_a_hand_alone(tmp_path):
    done = synth.act(synth.glove(20, seed=6), synth.grasps(seconds=5.0, rate=30.0), seed=6)
    turns, joints = done.motion.world()
    skeleton = done.motion.skeleton
    paths = [joints[:, 0]]
    for finger in FINGERS:
        order = [skeleton.index(f"left_{finger}_{bone}") for bone in (1, 2, 3)]
        last = skeleton.bodies[order[-1]]
        paths += [joints[:, body] for body in order]
        paths.append(done.motion.points(np.array([order[-1]]), np.array([last.tip]))[:, 0])
    labels, _ = hand_points("left")
    noise = 0.003 * np.random.default_rng(2).normal(size=(len(turns), 21, 3))
    recording = Recording(np.stack(paths, axis=1) + noise, labels, 30.0)
    (found,) = pipeline.solve(Take(recordings=(recording,)))
    assert found.marker_set == "Hand-21" and found.keypoints
    for finger in FINGERS:
        for bone in (1, 2, 3):
            name = f"left_{finger}_{bone}"
            off = found.motion.world()[1][:, found.skeleton.index(name)]
            off = off - joints[:, skeleton.index(name)]
            # 3 mm of noise per axis is 5 mm in space
            assert np.median(np.linalg.norm(off, axis=-1)) < 0.005
    tree = fixed_lengths.fit(recording).motion.skeleton
    assert tree.body("left_hand_index_finger_dip").parent == "left_hand_index_finger_pip"


def test_avatars_know_the_bones():
    assert bone_name("left_index_2") == "LeftIndexIntermediate"
    assert bone_name("right_thumb_1") == "RightThumbMetacarpal"
