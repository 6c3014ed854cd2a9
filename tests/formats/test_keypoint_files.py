"""Files of programs that find people in videos: names, unit, axes and frames."""

import json

import numpy as np
import pytest

from keypoint_scenes import SETS, scene
from osteon import pipeline
from osteon.errors import FormatError
from osteon.formats import read
from osteon.values import Take

WALK = scene("COCO-17")
BODY = scene("BODY-25")


def same(recording, known, tolerance=1e-6):
    """The same up to a turn about the upright: distances and heights."""
    points, truth = recording.positions, known.points
    assert points.shape == truth.shape
    assert np.allclose(
        np.ptp(points[..., 2], axis=1), np.ptp(truth[..., 2], axis=1), atol=tolerance
    )
    apart = np.linalg.norm(points[:, :1] - points, axis=-1)
    assert np.allclose(apart, np.linalg.norm(truth[:, :1] - truth, axis=-1), atol=tolerance)
    # no mirror image: the same sense of three points
    sense = [np.linalg.det(each[0, [5, 11, 12]] - each[0, 0]) for each in (points, truth)]
    assert sense[0] == pytest.approx(sense[1], abs=1e-4)


CAMERA = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
"""From our world to a camera's that looks forward: x right, y down."""


@pytest.mark.parametrize("unit", [1.0, 100.0, 1000.0])
@pytest.mark.parametrize("axes", [np.eye(3), CAMERA], ids=["z up", "camera"])
def test_npy_by_count_size_and_stance(tmp_path, unit, axes):
    np.save(tmp_path / "pose.npy", unit * WALK.points @ axes.T)
    recording = read(tmp_path / "pose.npy").recording()
    assert recording.names == WALK.names and recording.rate == 30.0
    same(recording, WALK)


def test_seventeen_points_with_their_root_first_are_human36m(tmp_path):
    known = scene("Human3.6M-17")
    np.save(tmp_path / "h36m.npy", known.points.astype(np.float32))
    assert read(tmp_path / "h36m.npy").recording().names == known.names


def test_another_set_can_be_asked_for(tmp_path):
    np.save(tmp_path / "pose.npy", WALK.points)
    options = pipeline.SolveOptions(template="Human3.6M-17")
    own = read(tmp_path / "pose.npy")
    (solved,) = pipeline.solve(own, options=options)
    assert solved.recording.names == tuple(SETS["Human3.6M-17"].markers)


def test_no_confidence_is_a_gap(tmp_path):
    values = np.concatenate([WALK.points, np.ones((*WALK.points.shape[:2], 1))], axis=2)
    values[7, 3, 3] = 0.0
    np.save(tmp_path / "pose.npy", values)
    seen = read(tmp_path / "pose.npy").recording().seen
    assert not seen[7, 3] and seen.sum() == seen.size - 1


def test_people_of_an_array_are_apart(tmp_path):
    both = np.stack([WALK.points, WALK.points + 1.0], axis=1)
    np.save(tmp_path / "two.npy", both)
    assert [each.subject for each in read(tmp_path / "two.npy").recordings] == [
        "person 1",
        "person 2",
    ]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (np.zeros((5, 19, 3)) + np.arange(19)[:, None], "19 points without names"),
        (np.random.default_rng(0).uniform(0, 20, (5, 17, 3)), "no person's size"),
        (np.zeros((5, 17)), "expected numbers"),
        (np.array([["a"]]), "expected numbers"),
    ],
)
def test_arrays_that_are_no_keypoints_say_why(tmp_path, values, problem):
    np.save(tmp_path / "odd.npy", values)
    with pytest.raises(FormatError, match=problem):
        read(tmp_path / "odd.npy")


def test_a_cut_array_is_refused(tmp_path):
    np.save(tmp_path / "pose.npy", WALK.points)
    whole = (tmp_path / "pose.npy").read_bytes()
    (tmp_path / "pose.npy").write_bytes(whole[:-100])
    with pytest.raises(FormatError, match="cut short"):
        read(tmp_path / "pose.npy")


def test_wide_csv(tmp_path):
    header = ",".join(f"{name}_{axis}" for name in WALK.names for axis in "xyz")
    rows = [",".join(f"{1e3 * x:.6f}" for x in frame.ravel()) for frame in WALK.points]
    rows[4] = ",".join(["", "", "", *rows[4].split(",")[3:]])
    (tmp_path / "body_3d_xyz.csv").write_text("\n".join([header, *rows]) + "\n")
    recording = read(tmp_path / "body_3d_xyz.csv").recording()
    assert recording.names == WALK.names and recording.source.unit == "mm"
    assert not recording.seen[4, 0] and recording.seen.sum() == recording.seen.size - 1


@pytest.mark.parametrize(("rate", "digits"), [(60, 4), (120, 3), (29.97, 6)])
def test_rounded_times_tell_the_rate_that_was_meant(tmp_path, rate, digits):
    header = ",".join(f"{name}_{axis}" for name in WALK.names for axis in "xyz") + ",time"
    times = np.delete(np.arange(200), [50, 51]) / rate  # two frames lost
    place = ",".join(f"{1e3 * x:.3f}" for x in WALK.points[0].ravel())
    rows = [f"{place},{time:.{digits}f}" for time in times]
    (tmp_path / "timed.csv").write_text("\n".join([header, *rows]) + "\n")
    tolerance = 2e-7 if rate == round(rate) else 1e-4
    assert read(tmp_path / "timed.csv").recording().rate == pytest.approx(rate, rel=tolerance)


def test_freemocap_by_frame(tmp_path):
    known = scene("FreeMoCap")
    lines = ["frame,timestamp,timestamp_by_camera,model,keypoint,x,y,z,reprojection_error"]
    for frame, points in enumerate(known.points[:20]):
        for name, (x, y, z) in zip(known.names, 1e3 * points, strict=True):
            cameras = f"\"{{'a': {frame}, 'b': {frame}}}\""
            lines.append(f"{frame},{frame / 50},{cameras},mediapipe_body,{name},{x},{y},{z},0.5")
        lines.append(f"{frame},{frame / 50},{{}},mediapipe_face,0001,1,2,3,0.5")
    (tmp_path / "take_by_frame.csv").write_text("\n".join(lines) + "\n")
    recording = read(tmp_path / "take_by_frame.csv").recording()
    assert recording.names == known.names and recording.rate == pytest.approx(50.0)
    assert any("face" in told for told in recording.source.problems)


def deeplabcut(points, names, axes="xyz", individuals=()):
    """The table of points (n_frames, n_points, 3), all individuals' one behind the other."""
    own = [f"{name}{axis}" for name in names for axis in axes]
    parts, coords = [cell[:-1] for cell in own], [cell[-1] for cell in own]
    rows = [["scorer", *["net"] * len(own)], ["bodyparts", *parts], ["coords", *coords]]
    if individuals:
        share = len(own) // len(individuals)
        rows.insert(1, ["individuals", *(each for each in individuals for _ in range(share))])
    flat = points[..., : len(axes)].reshape(len(points), -1)
    numbers = [[str(k), *(f"{x:.6f}" for x in row)] for k, row in enumerate(flat)]
    return "\n".join(",".join(row) for row in [*rows, *numbers]) + "\n"


def test_deeplabcut_has_headings_in_rows(tmp_path):
    file = tmp_path / "walkDLC_3D.csv"
    file.write_text(deeplabcut(WALK.points, WALK.names))
    recording = read(file).recording()
    assert recording.names == WALK.names
    same(recording, WALK, tolerance=2e-6)


def test_deeplabcut_tells_individuals_apart(tmp_path):
    file = tmp_path / "twoDLC_3D.csv"
    both = np.concatenate([WALK.points, WALK.points + 1.0], axis=1)
    file.write_text(deeplabcut(both, WALK.names * 2, individuals=("ann", "ben")))
    ann, ben = read(file).recordings
    assert (ann.subject, ben.subject) == ("ann", "ben")
    same(ben, WALK, tolerance=2e-6)


@pytest.mark.parametrize(
    ("cut", "problem"),
    [
        (lambda text: deeplabcut(WALK.points, WALK.names, axes="xy"), "one camera sees"),
        (lambda text: text.replace("coords,x,", "coords,"), "do not match"),
        (lambda text: text[: text.index("\n0,") + 1], "no frames"),
        (lambda text: text.replace("\n4,", "\n4,img,"), "cells, expected"),
    ],
    ids=["two dimensions", "headings", "no frames", "torn row"],
)
def test_deeplabcut_that_cannot_be_read_says_why(tmp_path, cut, problem):
    file = tmp_path / "bad.csv"
    file.write_text(cut(deeplabcut(WALK.points, WALK.names)))
    with pytest.raises(FormatError, match=problem):
        read(file)


@pytest.mark.parametrize(("written", "unit"), [(1.0, "m"), (1000.0, "mm")])
def test_animals_have_any_size(tmp_path, written, unit):
    """A rat 0.2 m long was taken for a person in cm, ten times its size."""
    rat = {"snout": (0.2, 0.0, 0.03), "withers": (0.1, 0.0, 0.05), "tail_base": (0.0, 0.0, 0.04)}
    points = written * np.tile(list(rat.values()), (5, 1, 1))
    file = tmp_path / "ratDLC_3D.csv"
    file.write_text(deeplabcut(points, tuple(rat)))
    recording = read(file).recording()
    assert recording.source.unit == unit
    assert np.ptp(recording.positions[0], axis=0).max() == pytest.approx(0.2)
    assert any("--scale" in told for told in recording.source.problems)


def openpose(points):
    flat = np.concatenate([points, np.ones((len(points), 1))], axis=1).ravel().tolist()
    return {"version": 1.3, "people": [{"person_id": [-1], "pose_keypoints_3d": flat}]}


def easymocap(points):
    return [{"id": 0, "keypoints3d": np.concatenate([points, np.ones((25, 1))], axis=1).tolist()}]


@pytest.mark.parametrize("frame", [openpose, easymocap])
def test_one_file_per_frame(tmp_path, frame):
    for index, points in enumerate(BODY.points[:12]):
        (tmp_path / f"cam_{index:06d}_keypoints.json").write_text(json.dumps(frame(points)))
    (tmp_path / "other.json").write_text("{}")
    recording = read(tmp_path / "cam_000003_keypoints.json").recording()
    assert recording.names == BODY.names and recording.n_frames == 12
    same(recording, BODY._replace(points=BODY.points[:12]))


def test_a_frame_in_which_nobody_was_found_is_a_gap(tmp_path):
    for index, points in enumerate(BODY.points[:12]):
        frame = [] if index == 7 else easymocap(points)
        (tmp_path / f"{index:06d}.json").write_text(json.dumps(frame))
    recording = read(tmp_path / "000000.json").recording()
    assert recording.n_frames == 12
    assert np.flatnonzero(~recording.seen.any(axis=1)).tolist() == [7]


def mmpose(frames, scores):
    """As its demonstrations write predictions."""
    people = [
        [{"keypoints": frame, "keypoint_scores": own}]
        for frame, own in zip(frames, scores, strict=True)
    ]
    numbered = {str(place): name for place, name in enumerate(WALK.names)}
    return {
        "meta_info": {"dataset_name": "coco", "keypoint_id2name": numbered},
        "instance_info": [{"frame_id": i, "instances": own} for i, own in enumerate(people)],
    }


def test_mmpose_with_scores_beside_the_points(tmp_path):
    scores = np.ones(WALK.points.shape[:2])
    scores[3, 5] = 0.0
    written = mmpose(WALK.points.tolist(), scores.tolist())
    (tmp_path / "results.json").write_text(json.dumps(written))
    recording = read(tmp_path / "results.json").recording()
    assert recording.names == WALK.names
    assert np.argwhere(~recording.seen).tolist() == [[3, 5]]


@pytest.mark.parametrize("flat", [False, True], ids=["MMPose", "AlphaPose"])
def test_points_in_two_dimensions_are_told(tmp_path, flat):
    written = mmpose(WALK.points[..., :2].tolist(), [None] * len(WALK.points))
    if flat:  # x, y and a confidence in one row
        rows = WALK.points.reshape(len(WALK.points), -1).tolist()
        written = [{"image_id": f"{i}.jpg", "keypoints": row} for i, row in enumerate(rows)]
    (tmp_path / "flat.json").write_text(json.dumps(written))
    with pytest.raises(FormatError, match="2D"):
        read(tmp_path / "flat.json")


def points_by_name(frame):
    return {"keypoints": dict(zip(WALK.names, frame, strict=True))}


def landmarks(frame):
    return {"landmarks": [dict(zip("xyz", point, strict=True)) for point in frame]}


SHAPES = {
    "bare": lambda frames: frames,
    "frames": lambda frames: {"fps": 25, "frames": frames},
    "named": lambda frames: {
        "fps": 25,
        "names": list(WALK.names),
        "frames": [{"keypoints": frame} for frame in frames],
    },
    "one array": lambda frames: {"keypoints": frames, "fps": 25},
    "points by name": lambda frames: {"frames": [points_by_name(frame) for frame in frames]},
    "landmarks": lambda frames: {"frames": [landmarks(frame) for frame in frames]},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_all_frames_in_one_file(tmp_path, shape):
    written = SHAPES[shape](WALK.points.tolist())
    (tmp_path / "pose.json").write_text(json.dumps(written))
    recording = read(tmp_path / "pose.json").recording()
    assert recording.names == WALK.names
    assert recording.rate == (25.0 if "fps" in written else 30.0)
    same(recording, WALK)


def test_what_was_read_is_solved(tmp_path):
    np.save(tmp_path / "pose.npy", scene("HALPE-26").seen(0.005).positions)
    take = read(tmp_path / "pose.npy")
    assert isinstance(take, Take)
    (solved,) = pipeline.solve(take)
    assert solved.marker_set == "HALPE-26" and solved.rms < 0.015
