"""TRC: the strict form out, malformed files in."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conftest import assert_close, real
from osteon.errors import FormatError
from osteon.formats import read, write
from osteon.values import Recording, Source, Take
from samples import some_markers

HEADER = (
    "PathFileType\t4\t(X/Y/Z)\ta.trc\n"
    "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\t"
    "OrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n"
    "100\t100\t{frames}\t2\tmm\t100\t1\t{frames}\n"
    "Frame#\tTime\tA\t\t\tB\t\t\t\n"
    "\t\tX1\tY1\tZ1\tX2\tY2\tZ2\t\n"
)


def file_of(tmp_path, rows: list[str], frames: int | None = None, ending: str = "\n"):
    path = tmp_path / "a.trc"
    text = HEADER.format(frames=len(rows) if frames is None else frames) + "\n" + "\n".join(rows)
    path.write_bytes((text + "\n").replace("\n", ending).encode())
    return path


def test_the_strict_form(tmp_path, rng):
    path = tmp_path / "a.trc"
    write(some_markers(rng, n_frames=6), path)
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines[0].startswith("PathFileType\t4\t(X/Y/Z)\t")
    assert len(lines[1].split("\t")) == len(lines[2].split("\t")) == 8
    assert lines[2].split("\t")[2:5] == ["6", "4", "mm"]
    assert lines[3].split("\t")[:6] == ["Frame#", "Time", "LASI", "", "", "RASI"]
    assert lines[4].split("\t") == ["", "", *(f"{a}{i}" for i in range(1, 5) for a in "XYZ")]
    assert lines[5] == "" and lines[-1] == ""
    rows = [line.split("\t") for line in lines[6:-1]]
    assert [row[0] for row in rows] == list("123456")
    assert all(len(row) == 14 and "" not in row for row in rows)
    assert rows[3][5:8] == ["NaN"] * 3


def test_y_is_up_unless_asked(tmp_path):
    recording = Recording(np.array([[[0.1, 0.2, 0.3]]]), ("A",), 100.0)
    path = tmp_path / "a.trc"
    for up, numbers in ((None, "100.0\t300.0\t-200.0"), ("z", "100.0\t200.0\t300.0")):
        write(recording, path, up=up)
        assert path.read_text().splitlines()[-1] == f"1\t0.0\t{numbers}"


def test_a_file_keeps_its_unit_and_axes(tmp_path, rng):
    source = Source(file="b.trc", format="TRC", unit="m", up="z")
    recording = replace(some_markers(rng), source=source)
    write(recording, tmp_path / "a.trc")
    values = np.loadtxt(tmp_path / "a.trc", skiprows=6, delimiter="\t", encoding="utf-8")
    assert_close(values[:, 2:5], recording.positions[:, 0], 1e-11)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("blank", ["\t\t", "NaN\tnan\tNAN", "  NaN\t nan \tnaN", " \t \t "])
def test_missing_in_every_spelling(tmp_path, blank, ending):
    path = file_of(
        tmp_path, [f"1\t0.0\t{blank}\t1\t2\t3", "2\t0.01\t4\t5\t6\t7\t8\t9\t"], 2, ending
    )
    recording = read(path).recording()
    assert np.array_equal(recording.seen, [[False, True], [True, True]])
    assert_close(recording.positions[1, 0], [0.004, -0.006, 0.005])


def test_exponents_and_spaces_for_tabs(tmp_path):
    path = file_of(tmp_path, ["1  0.0  1.5E+01 -2e1 3 4 5 6.0E-03"])
    assert_close(read(path).recording().positions[0, 0], [0.015, -0.003, -0.02])


def test_zeros_are_gaps(tmp_path):
    path = file_of(tmp_path, ["1\t0\t0\t0\t0\t1\t2\t3", "2\t0.01\t4\t5\t6\t0\t0\t1"])
    recording = read(path).recording()
    assert np.array_equal(recording.seen, [[False, True], [True, True]])
    assert any("1 points at exactly 0, 0, 0" in problem for problem in recording.source.problems)


def test_a_file_shortened_by_rows_is_read_and_says_so(tmp_path):
    recording = read(file_of(tmp_path, ["1\t0\t1\t2\t3\t4\t5\t6"], frames=7)).recording()
    assert recording.n_frames == 1
    assert "the header promises 7 frames, 1 are there" in recording.source.problems


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("2\t0.01\t4\t5\t6\t7\t8\t9", "2\t0.01\t4\t5"),
            "line 8: expected 8 columns.*1 whole.*of 2",
        ),
        (("2\t0.01\t4", "2\t0.01\tfour"), "line 8: expected numbers"),
        (("\t2\tmm", "\t3\tmm"), "promises 3 markers, found 2 names"),
        (("\tmm\t", "\tparsec\t"), "unknown unit 'parsec'"),
        (("100\t100\t2", "0\t100\t2"), "DataRate must be a positive number"),
        (("NumFrames", "Frames"), "lacks NumFrames"),
        (("\n1\t0\t1\t2\t3\t4\t5\t6\n2\t0.01\t4\t5\t6\t7\t8\t9", ""), "no frames"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, change, message):
    path = file_of(tmp_path, ["1\t0\t1\t2\t3\t4\t5\t6", "2\t0.01\t4\t5\t6\t7\t8\t9"])
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(FormatError, match=message):
        read(path)


def test_repeated_names_get_a_number(tmp_path):
    path = file_of(tmp_path, ["1\t0\t1\t2\t3\t4\t5\t6"])
    path.write_text(path.read_text().replace("B\t\t\t\n", "A\t\t\t\n"))
    recording = read(path).recording()
    assert recording.names == ("A", "A_2")
    assert any("repeated names" in problem for problem in recording.source.problems)


@pytest.mark.parametrize("walk", ["walking2", "walking5"])
def test_reference_decodes_of_c3d_files(walk):
    """Every tenth frame and the last one, printed to 0.1 mm."""
    c3d = read(real(f"opensim-core/{walk}.c3d")).recording()
    trc = read(real(f"opensim-core/std_{walk}_markers.trc")).recording()
    rows = [*range(0, c3d.n_frames - 1, 10), c3d.n_frames - 1]
    assert trc.names == c3d.names and trc.rate == 25.0
    np.testing.assert_allclose(trc.positions, c3d.positions[rows], atol=5.1e-5)


@pytest.mark.parametrize(
    ("file", "frames", "markers", "up", "missing"),
    [
        ("biobuddy/static.trc", 138, 49, "z", 0),
        ("nimble-opencap-s4/squats1.trc", 1346, 51, "y", 0),
        ("opensim-core/abdbonepin.trc", 1991, 11, "y", 0),
        ("opensim-core/dataWithEformat.trc", 5, 14, "y", 0),
        ("opensim-core/dataWithNaNsOfDifferentCases.trc", 5, 14, "y", 5),
        ("opensim-core/exampleFormat.trc", 5, 3, "y", 2),
        ("opensim-core/gait10dof18musc_walk_CRLF_line_ending.trc", 10, 41, "y", 0),
    ],
)
def test_real_files(file, frames, markers, up, missing):
    recording = read(real(file)).recording()
    assert (recording.n_frames, recording.n_markers) == (frames, markers)
    assert recording.source.up == up
    assert (~recording.seen).sum() == missing


OPENSIM = """
import sys, opensim
table = opensim.TimeSeriesTableVec3(sys.argv[1])
print(table.getNumRows(), ",".join(table.getColumnLabels()), table.getRowAtIndex(0)[0][1])
"""


@pytest.mark.slow
def test_opensim_reads_it(tmp_path, rng):
    pytest.importorskip("opensim", reason="OpenSim's own reader is not installed")
    recording = some_markers(rng)
    write(recording, tmp_path / "a.trc")
    command = [sys.executable, "-c", OPENSIM, str(Path(tmp_path / "a.trc"))]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert shown[:2] == ["12", ",".join(recording.names)]
    assert float(shown[2]) == pytest.approx(1e3 * recording.positions[0, 0, 2])


def test_several_people_return_as_subjects(tmp_path, rng):
    """What ``write`` joins under prefixes, ``read`` parts again; nobody's markers stay nobody's."""
    people = [replace(some_markers(rng), subject=name) for name in ("Ann", "Bob", "")]
    write(Take(recordings=tuple(people)), tmp_path / "a.trc")
    found = read(tmp_path / "a.trc").recordings
    assert [each.subject for each in found] == ["Ann", "Bob", ""]
    for one, wanted in zip(found, people, strict=True):
        assert one.names == wanted.names
        assert_close(one.positions, wanted.positions)


def test_two_players_stay_two(tmp_path):
    pair = read(real("kineticstoolkit/kinematics_tennis_serve_2players.c3d"))
    write(pair, tmp_path / "a.trc")
    found = {each.subject: each for each in read(tmp_path / "a.trc").recordings}
    for player in pair.recordings:
        assert found[player.subject].names == player.names
