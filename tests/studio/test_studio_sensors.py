"""A take of sensors in the studio: looked at, edited, its joints found, exported."""

import json
from pathlib import Path

import numpy as np
import pytest

import osteon as ost
from osteon import synth
from osteon.edits import Edits, Fill, RecordingId, SetParent, SetRoot, Settings, SwapLabels
from osteon.edits.recording_edits import Cut
from osteon.edits.sensor_edits import edit_sensors, find_sensor_joints, solve_sensors
from osteon.errors import BadValue, NotEnoughData
from osteon.studio.document import OpenTake, Revisions
from osteon.studio.jobs import solve_snapshot, take_snapshot, write_snapshot
from osteon.studio.messages import Export
from osteon.studio.replies import Asked, answer, markers_of, say_opened
from osteon.typing import unheard
from osteon.values import Bodies


@pytest.fixture(scope="module")
def sensors() -> Bodies:
    script = synth.exercise(seconds=5, rate=60)
    return synth.sense(synth.linkage(), script, noise=0.002, orientation_noise=0.01, seed=1).bodies


@pytest.fixture
def take(sensors, tmp_path) -> OpenTake:
    ost.write(sensors, tmp_path / "sensors.csv")
    return OpenTake(tmp_path / "sensors.csv", "sensors.csv", "", Revisions())


def solve(take: OpenTake) -> None:
    solved, _ = solve_snapshot(take_snapshot(take), unheard)
    take.install(solved, take.key())


def test_sensors_are_opened_with_their_places_and_turns(take, sensors):
    opened = say_opened(take)
    assert opened.kinds == ("sensors",) and opened.rig is None
    assert [row.name for row in opened.markers] == list(sensors.names)
    turns = answer(Asked("sensors"), take)
    assert turns.headers["X-Shape"] == f"{sensors.n_frames},{sensors.n_bodies},4"
    # written with the digits that a table has, sent with single precision
    sent = np.frombuffer(turns.body, "<f4").reshape(sensors.rotations.shape)
    np.testing.assert_allclose(np.abs(np.sum(sent * sensors.rotations, axis=-1)), 1.0, atol=1e-5)


def test_a_solve_finds_what_joints_finds(take, sensors):
    solve(take)
    assert take.solved is not None and not take.stale
    found = ost.joints(sensors)
    parents = {body.name: body.parent for body in take.solved.skeleton.bodies}
    assert parents == {body.name: body.parent for body in found.skeleton().bodies}
    rows = {row.name: row for row in markers_of(take)}
    for body in take.solved.skeleton.bodies:
        row = rows[body.name]
        assert take.solved.skeleton.names[row.body] == body.name
        np.testing.assert_allclose(row.place, -body.joint.in_body, atol=1e-12)


def test_a_cut_and_an_exchange_are_of_place_and_turn(sensors):
    a, b = sensors.names[:2]
    edited = edit_sensors(sensors, [Cut((a,), 5, 9), SwapLabels(a, b, 20, 29)])
    assert not edited.seen[5:10, 0].any() and edited.seen[10:, 0].all()
    np.testing.assert_array_equal(edited.rotations[20:30, 0], sensors.rotations[20:30, 1])
    np.testing.assert_array_equal(edited.positions[20:30, 1], sensors.positions[20:30, 0])
    np.testing.assert_array_equal(edited.rotations[30:], sensors.rotations[30:])


def test_what_is_for_markers_is_refused(take, sensors):
    with pytest.raises(BadValue, match="that is for markers"):
        take.make(Fill((sensors.names[0],), 5, 9), take.revisions.current)
    take.make(Cut((sensors.names[0],), 5, 9), take.revisions.current)
    assert not take.seen[5:10, 0].any()


def test_a_sensor_that_is_there_twice_is_left_out_by_cutting_it(sensors):
    one = sensors.names[0]
    positions = np.concatenate([sensors.positions, sensors.positions[:, :1]], axis=1)
    rotations = np.concatenate([sensors.rotations, sensors.rotations[:, :1]], axis=1)
    twice = Bodies(positions, rotations, (*sensors.names, "twin"), sensors.rate)
    with pytest.raises(NotEnoughData, match=f"'{one}' and 'twin'.*by cutting it in all frames"):
        find_sensor_joints(twice, [])
    edited, found = find_sensor_joints(twice, [Cut(("twin",), 0, sensors.n_frames - 1)])
    assert edited.names == sensors.names and "twin" not in found.names


def test_root_and_parent_are_as_said(sensors):
    plain = ost.joints(sensors)
    end = plain.connections[-1].child
    _, rooted = find_sensor_joints(sensors, [SetRoot(end)])
    assert rooted.root == end
    other = next(name for name in plain.names if name not in (end, plain.connections[-1].parent))
    _, hung = find_sensor_joints(sensors, [SetParent(end, other)])
    assert {link.child: link.parent for link in hung.connections}[end] == other


def test_the_export_is_that_of_joints(take, sensors, tmp_path: Path):
    solve(take)
    assert take.solved is not None
    shot = take_snapshot(take)
    write_snapshot(take.solved, shot, take.path, tmp_path / "rig", Export(("amc",)))
    files = {file.name for file in (tmp_path / "rig").iterdir()}
    assert {"skeleton.json", "summary.json", "report.html", "motion.bvh", "motion.glb"} <= files
    assert "motion.amc" in files
    summary = json.loads((tmp_path / "rig" / "summary.json").read_text())
    assert summary["root"] == take.solved.skeleton.names[0]
    assert set(summary["joints"]) == set(sensors.names) - {summary["root"]}


def test_limits_are_found_on_sensors_too(sensors):
    edits = Edits(RecordingId("", ""), settings=Settings(limits=True))
    solved = solve_sensors(sensors, edits.edits, edits.settings)
    assert any(body.joint.limits is not None for body in solved.skeleton.bodies)
