"""OptiTrack Motive CSV in its versions."""

import numpy as np
import pytest

from conftest import assert_close, assert_rotations_close, real
from osteon.errors import FormatError, WrongContent
from osteon.formats import read
from osteon.formats.shared.units import TO_Z_UP
from osteon.maths import quat

POSE = "0.0,0.6,0.0,0.8,1.0,2.0,3.0"
"""A turn about y (x, y, z, w) and a place."""


def file_of(tmp_path, header_rows: list[str], rows: list[str], facts: str = ""):
    first = f"Format Version,1.23,Take Name,t,Export Frame Rate,120.0{facts}"
    path = tmp_path / "a.csv"
    path.write_text("\n".join([first, "", *header_rows, *rows]) + "\n")
    return path


def bodies_file(tmp_path, kind: str, name: str, rows=(f"0,0.0,{POSE}",), facts=""):
    header = [
        ",," + ",".join([kind] * 7),
        ",," + ",".join([name] * 7),
        ",," + ",".join(["17"] * 7),
        ",,Rotation,Rotation,Rotation,Rotation,Position,Position,Position",
        "Frame,Time (Seconds),X,Y,Z,W,X,Y,Z",
    ]
    return file_of(tmp_path, header, list(rows), facts)


def test_rigid_bodies_are_turned_to_z_up(tmp_path):
    bodies = read(bodies_file(tmp_path, "Rigid Body", "club")).body_poses()
    assert (bodies.names, bodies.subject, bodies.rate) == (("club",), "", 120.0)
    assert_close(bodies.positions[0, 0], [1.0, -3.0, 2.0])
    expected = quat.multiply(TO_Z_UP["y"], np.array([0.8, 0.0, 0.6, 0.0]))
    assert_rotations_close(bodies.rotations[0, 0], expected)


def test_bones_carry_their_subject(tmp_path):
    bodies = read(bodies_file(tmp_path, "Bone", "Ann:Hip", facts=",Length Units,Millimeters"))
    bodies = bodies.body_poses("Ann")
    assert bodies.names == ("Hip",)
    assert_close(bodies.positions[0, 0], [1e-3, -3e-3, 2e-3])
    assert bodies.source.up_known and bodies.source.unit == "mm"


def test_blank_is_missing(tmp_path):
    rows = [f"0,0.0,{POSE}", "1,0.008,,,,,,,"]
    assert np.array_equal(
        read(bodies_file(tmp_path, "Rigid Body", "club", rows)).body_poses().seen, [[True], [False]]
    )


MARKERS = [
    ",Type,,Rigid Body Marker,Rigid Body Marker,Rigid Body Marker,Marker,Marker,Marker",
    ",Name,,club:1,club:1,club:1,club:1,club:1,club:1",
    ",ID,,a,a,a,b,b,b",
    ",Parent,,a,a,a,b,b,b",
    ",,,Position,Position,Position,Position,Position,Position",
    "Frame,Time (Seconds),TimeCode,X,Y,Z,X,Y,Z",
]


def test_measured_markers_are_preferred_and_time_codes_skipped(tmp_path):
    path = file_of(tmp_path, MARKERS, ["0,0.0,15:26:46:12.02,9,9,9,1,2,3"])
    recording = read(path).recording()
    assert_close(recording.positions[0], [[1, -3, 2]])
    assert any("left out 1 markers" in problem for problem in recording.source.problems)


def test_computed_markers_are_read_where_there_are_no_others(tmp_path):
    rows = [row.replace(",Marker,Marker,Marker", ",X,X,X") for row in MARKERS]
    recording = read(file_of(tmp_path, rows, ["0,0.0,15:26:46:12.02,9,8,7,1,2,3"])).recording()
    assert_close(recording.positions[0], [[9, -7, 8]])
    assert any("not measured" in problem for problem in recording.source.problems)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (",Rotation Type,XYZ", "rotations are 'XYZ'; export again"),
        (",Coordinate Space,Local", "relative to their parents"),
        (",Length Units,Furlongs", "unknown length unit 'Furlongs'"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path, facts, message):
    with pytest.raises(FormatError, match=message):
        read(bodies_file(tmp_path, "Bone", "Ann:Hip", facts=facts))


def test_a_row_cut_short(tmp_path):
    rows = [f"0,0.0,{POSE}", "1,0.008,0.1,0.2"]
    path = bodies_file(tmp_path, "Bone", "Ann:Hip", rows, ",Total Exported Frames,9")
    with pytest.raises(FormatError, match=r"line 9: expected 9 columns, found 4; 1 whole.*of 9"):
        read(path)


def test_columns_of_other_kinds_alone(tmp_path):
    with pytest.raises(WrongContent, match="neither markers nor rigid bodies"):
        read(bodies_file(tmp_path, "Force Plate", "plate"))


def test_a_real_skeleton():
    take = read(real("optitrack-gaga/example.csv"))
    bodies, markers = take.body_poses(), take.recording()
    assert (bodies.n_frames, bodies.n_bodies, bodies.subject) == (32, 51, "763")
    assert bodies.seen.all() and markers.subject == "763"
    # a standing person: the head 0.5 to 0.8 m above the hips, and all bones above the floor
    above = bodies.positions[:, bodies.index("Head"), 2] - bodies.positions[:, 0, 2]
    assert np.all((above > 0.5) & (above < 0.8))
    assert bodies.positions[..., 2].min() > -0.1
    # the neck turns by some degrees, and the head's place on it does not move: the order of the
    # quaternions' parts and the turn to z up are right
    neck, head = bodies.index("Neck"), bodies.index("Head")
    way = bodies.positions[:, head] - bodies.positions[:, neck]
    on_neck = quat.rotate(quat.inverse(bodies.rotations[:, neck]), way)
    assert np.ptp(on_neck, axis=0).max() < 2e-4
    assert any("promises 17263 frames, 32" in problem for problem in bodies.source.problems)
