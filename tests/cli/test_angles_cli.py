"""``osteon angles``: its files say the same, and other programs read them."""

import csv
import json
from dataclasses import replace

import ezc3d
import numpy as np
import pytest

from conftest import assert_close
from osteon import delivery, pipeline, read, synth, write
from osteon.anatomy import CONVENTIONS
from osteon.values import Take


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walk")
    performed = synth.perform(synth.human(), synth.walk(seconds=2), noise=0.0005, seed=3)
    write(Take(recordings=(performed.recording,)), folder / "walk.c3d")
    (solved,) = pipeline.solve(folder / "walk.c3d")
    return folder, solved


def table_of(path):
    with path.open() as file:
        head, *rows = csv.reader(file)
    return head, np.array(rows, dtype=float)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_csv_storage_and_points_tell_the_same_angles(walk, tmp_path, convention):
    _, solved = walk
    angles = pipeline.angles(solved, convention)
    delivery.deliver_angles(solved, angles, tmp_path)
    head, table = table_of(tmp_path / "angles.csv")
    assert head == ["time", *angles.names]
    assert_close(table[:, 1:], np.degrees(angles.values), 1e-6)
    assert_close(table[:, 0], np.arange(len(table)) / solved.motion.rate, 1e-6)

    lines = (tmp_path / "angles.mot").read_text().splitlines()
    start = lines.index("endheader")
    assert lines[start + 1].split("\t") == head
    stored = np.array([line.split("\t") for line in lines[start + 2 :]], dtype=float)
    assert_close(stored, table, 1e-6)

    points = ezc3d.c3d(str(tmp_path / "angles.c3d"))
    labels = points["parameters"]["POINT"]["LABELS"]["value"]
    assert set(points["parameters"]["POINT"]["ANGLES"]["value"]) == set(angles.points)
    for label, names in angles.points.items():
        stored = points["data"]["points"][: len(names), labels.index(label)].T
        wanted = np.degrees(np.stack([angles.of(name) for name in names], axis=-1))
        assert_close(stored, wanted, 1e-4)  # single precision


def test_angles_of_a_recording_with_y_up_are_not_turned_with_its_markers(walk, tmp_path):
    _, solved = walk
    write(Take(recordings=(solved.recording,)), tmp_path / "walk.trc", up="y", unit="m")
    (turned,) = pipeline.solve(tmp_path / "walk.trc")
    angles = pipeline.angles(turned, "pig")
    delivery.deliver_angles(turned, angles, tmp_path)
    points = ezc3d.c3d(str(tmp_path / "angles.c3d"))
    labels = points["parameters"]["POINT"]["LABELS"]["value"]
    knee = points["data"]["points"][0, labels.index("LKneeAngles")]
    assert_close(knee, np.degrees(angles.of("LKneeAngles_X")), 1e-4)


def test_markers_read_again_from_the_written_file_are_no_angles(walk, tmp_path):
    _, solved = walk
    delivery.deliver_angles(solved, pipeline.angles(solved), tmp_path)
    (recording,) = read(tmp_path / "angles.c3d").recordings
    assert set(recording.markers().names) == set(solved.recording.names)


def test_the_verb_writes_and_tells(walk, tmp_path, command):
    folder, _ = walk
    code, out, _ = command("angles", folder / "walk.c3d", "-o", tmp_path / "out", "--json")
    assert code == 0
    first, gait = out.splitlines()
    said, written = json.loads(first), json.loads((tmp_path / "out" / "summary.json").read_text())
    assert said == {key: value for key, value in written.items() if key != "files"}
    assert json.loads(gait) == json.loads((tmp_path / "out" / "gait.json").read_text())
    assert sorted(written["files"]) == sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written["convention"] == "isb"
    thigh = written["frames_of_segments"]["left_thigh"]
    assert thigh["source"] in ("landmarks", "motion", "template") and thigh["from"]
    knee = written["angles"]["left_knee_flexion"]
    assert knee["largest"] - knee["least"] > 30.0 and 0.0 < knee["deviation"] < 10.0


def test_two_takes_of_one_person_stand_together_and_against_another_session(
    walk, tmp_path, command
):
    folder, solved = walk
    again = tmp_path / "again.c3d"
    write(Take(recordings=(solved.recording,)), again)
    other = ("--against", folder / "walk.c3d", "--controls", folder)
    code, out, _ = command("angles", folder / "walk.c3d", again, "-o", tmp_path / "out", *other)
    assert code == 0 and "right other" in out and "usual" in out
    facts = json.loads((tmp_path / "out" / "gait.json").read_text())
    assert [take["name"] for take in facts["takes"]] == ["walk.c3d", "again.c3d"]
    assert facts["controls"]["people"] == 1
    assert (tmp_path / "out" / "again" / "angles.csv").exists()
    # the same recording twice: nothing lies between the takes
    assert max(facts["between_takes_deg"]["right"].values()) < 0.05
    top = json.loads((tmp_path / "out" / "summary.json").read_text())
    files = {path.name for path in (tmp_path / "out").iterdir() if path.is_file()}
    assert files == set(top["files"]) == {*delivery.GAIT_FILES, "summary.json"}
    assert sorted(top["takes"]) == ["again", "walk"]


def test_gait_of_an_earlier_run_gives_way(walk, tmp_path, command):
    """Two takes too short for a cycle, in the folder of a walk."""
    _, solved = walk
    out = tmp_path / "out"
    out.mkdir()
    for name in delivery.GAIT_FILES:
        (out / name).write_text("of an earlier run")
    (out / "notes.txt").write_text("the user's own")
    listed = [*delivery.GAIT_FILES, "summary.json", "notes.txt"]
    (out / "summary.json").write_text(json.dumps({"files": listed}))
    short = replace(
        solved.recording,
        positions=solved.recording.positions[:40],
        residuals=None if solved.recording.residuals is None else solved.recording.residuals[:40],
    )
    for name in ("one.c3d", "two.c3d"):
        write(Take(recordings=(short,)), tmp_path / name)
    code, _, told = command("angles", tmp_path / "one.c3d", tmp_path / "two.c3d", "-o", out)
    assert code == 0 and "removed what an earlier run had written" in told
    assert {path.name for path in out.iterdir()} == {"one", "two", "notes.txt", "summary.json"}


def test_controls_without_a_walk_are_refused_in_one_line(walk, tmp_path, command):
    folder, _ = walk
    (tmp_path / "controls").mkdir()
    (tmp_path / "controls" / "letter.txt").write_text("no recording")
    asked = ("--controls", tmp_path / "controls", "-o", tmp_path / "out")
    code, _, told = command("angles", folder / "walk.c3d", *asked)
    assert code == 1 and "no take with a gait cycle" in told


def test_solve_writes_angles_among_its_formats(walk, tmp_path, command):
    folder, solved = walk
    asked = ("--formats", "angles,osim")
    code, _, _ = command("solve", folder / "walk.c3d", "-o", tmp_path / "out", *asked)
    assert code == 0
    head, table = table_of(tmp_path / "out" / "angles.csv")
    angles = pipeline.angles(solved)
    assert_close(table[:, 1:], np.degrees(angles.values), 1e-6)
    # the storage beside the model moves it: every column is one of its coordinates
    model = (tmp_path / "out" / "motion.osim").read_text()
    lines = (tmp_path / "out" / "motion.mot").read_text().splitlines()
    columns = lines[lines.index("endheader") + 1].split("\t")[1:]
    assert columns and all(f'<Coordinate name="{name}">' in model for name in columns)
    assert head[0] == "time"


def test_what_is_no_human_has_no_clinical_names(tmp_path, command):
    rng = np.random.default_rng(0)
    points = np.cumsum(rng.normal(scale=0.001, size=(40, 12, 3)), axis=0) + rng.normal(size=(12, 3))
    rows = [
        f"{frame},m{marker},{x},{y},{z}"
        for frame, each in enumerate(points.tolist())
        for marker, (x, y, z) in enumerate(each)
    ]
    text = "\n".join(["# rate=100", "frame,marker,x,y,z", *rows, ""])
    (tmp_path / "cloud.csv").write_text(text)
    code, _, told = command("angles", tmp_path / "cloud.csv", "-o", tmp_path / "out")
    assert code == 1 and "human" in told
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())
