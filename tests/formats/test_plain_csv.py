"""Plain CSV of the contract."""

import numpy as np
import pytest

from conftest import assert_close
from osteon.errors import BadValue, FormatError
from osteon.formats import read, read_measured, write
from osteon.values import Bodies, Recording


def file_of(tmp_path, text: str):
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_in_any_order_and_missing_rows(tmp_path):
    text = "# rate=50\nframe,marker,x,y,z\n2,B,1,2,3\n0,A,4,5,6\n\n# a remark\n0,B,7,8,9\n"
    recording = read(file_of(tmp_path, text)).recording()
    assert recording.names == ("B", "A") and recording.rate == 50.0
    assert np.array_equal(recording.seen, [[True, True], [False, False], [True, False]])
    assert_close(recording.positions[0], [[7, 8, 9], [4, 5, 6]])


def test_windows_files_and_quoted_names(tmp_path):
    text = '\ufeffframe,marker,x,y,z\r\n0,"Ann, left ""toe""",1,2,3\r\n1, plain ,4,5,6\r\n'
    recording = read(file_of(tmp_path, text)).recording()
    assert recording.names == ('Ann, left "toe"', "plain")
    assert "100 frames per second assumed" in recording.source.problems[0]


def test_spreadsheets_that_write_decimal_commas(tmp_path):
    """Saved again by a German or French program, a table is the same; rows are filled up."""
    text = "# rate=119.88\nframe,marker,x,y,z\n0,Ann,1.25,-2.5,3\n1,Ann,4e-1,5.5,6\n"
    plain = read(file_of(tmp_path, text)).recording()
    rows = text.replace(",", ";").replace(".", ",").splitlines()
    rows[0] += ";;;;"
    again = read(file_of(tmp_path, "\ufeff" + "\r\n".join([*rows, ""]))).recording()
    assert again.names == plain.names and again.rate == plain.rate == 119.88
    assert np.array_equal(again.positions, plain.positions)
    text = "limb;cm\nleft thigh;41,5\n"
    assert read_measured(file_of(tmp_path, text)) == pytest.approx({"left thigh": 0.415})


def test_a_marker_at_exactly_the_origin_was_not_seen_but_a_body_may_be_there(tmp_path):
    text = "# rate=50\nframe,marker,x,y,z\n0,A,1,2,3\n1,A,0,0,0\n0,B,0,0,0\n1,B,-0.0,0,0\n"
    recording = read(file_of(tmp_path, text)).recording()
    assert np.array_equal(recording.seen, [[True, False], [False, False]])
    assert "3 points at exactly 0, 0, 0" in recording.source.problems[0]
    text = "frame,body,x,y,z,qw,qx,qy,qz\n0,A,0,0,0,1,0,0,0\n"
    assert read(file_of(tmp_path, text)).body_poses().seen.all()


@pytest.mark.parametrize("word", ["nan", "NaN", "inf", "-Infinity", "1e999"])
def test_words_for_no_number_are_missing(tmp_path, word):
    path = file_of(tmp_path, f"frame,marker,x,y,z\n0,A,1,2,3\n1,A,1,{word},3\n")
    assert np.array_equal(read(path).recording().seen, [[True], [False]])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("0,A,1,2\n", "line 2: expected frame, name and 3 numbers, got '0,A,1,2'"),
        ("0,A,1,2,3,4\n", "line 2: expected"),
        ("0,A,1,2,3\n1,A,1,,3\n", "line 3: expected"),
        ("1.5,A,1,2,3\n", "line 2: expected"),
        ("-1,A,1,2,3\n", "frames are numbered from 0, got -1"),
        ("0,A,1,2,3\n0,A,1,2,3\n", "frame 0 has two rows for 'A'"),
        ("0,A,1,2,3\n1000000000000000000,A,1,2,3\n", "far beyond what 2 rows can fill"),
        (f"{10**30},A,1,2,3\n", "far beyond what 1 rows can fill"),
        ("", "holds a header but no samples"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, rows, message):
    with pytest.raises(FormatError, match=message):
        read(file_of(tmp_path, "frame,marker,x,y,z\n" + rows))


@pytest.mark.parametrize(
    "entry", ["rate=0", "rate=-5", "rate=nan", "up=w", "frames=-1", "unit=ell"]
)
def test_bad_entries_above_the_header(tmp_path, entry):
    with pytest.raises(FormatError, match=entry.split("=")[0]):
        read(file_of(tmp_path, f"# {entry}\nframe,marker,x,y,z\n0,A,1,2,3\n"))


def test_the_unit_may_be_said(tmp_path):
    text = "# rate=50\n# unit=mm\nframe,marker,x,y,z\n0,A,100,200,1500\n"
    recording = read(file_of(tmp_path, text)).recording()
    assert_close(recording.positions[0, 0], [0.1, 0.2, 1.5])
    assert recording.source.unit == "mm"
    write(recording, tmp_path / "b.csv", unit="cm")
    assert "# unit=cm" in (tmp_path / "b.csv").read_text()
    assert_close(read(tmp_path / "b.csv").recording().positions, recording.positions)


def test_a_take_that_ends_unseen_keeps_its_length(tmp_path, rng):
    positions = rng.normal(size=(9, 2, 3))
    positions[5:] = np.nan
    write(Recording(positions, ("A", "B"), 100.0), tmp_path / "a.csv")
    assert read(tmp_path / "a.csv").recording().n_frames == 9


def test_subjects_become_prefixes_and_return(tmp_path, rng):
    from osteon.values import Take

    two = [Recording(rng.normal(size=(3, 1, 3)), ("A",), 100.0, subject=s) for s in ("Ann", "Bob")]
    write(Take(recordings=tuple(two)), tmp_path / "a.csv")
    assert "Ann:A" in (tmp_path / "a.csv").read_text()
    found = read(tmp_path / "a.csv").recordings
    assert [(each.subject, each.names) for each in found] == [("Ann", ("A",)), ("Bob", ("A",))]
    assert_close(found[1].positions, two[1].positions)


@pytest.mark.parametrize("labels", ["L:KNE R:KNE", "Ann:KNE Ann:TOE", "Ann:KNE *7:KNE"])
def test_sides_and_nobody_are_no_subjects(tmp_path, labels):
    first, second = labels.split()
    text = f"# rate=50\nframe,marker,x,y,z\n0,{first},1,2,3\n0,{second},1,2,4\n"
    assert read(file_of(tmp_path, text)).recording().names == (first, second)


def test_numbers_survive_exactly(tmp_path, rng):
    bodies = Bodies(rng.normal(size=(4, 2, 3)), rng.normal(size=(4, 2, 4)), ("A", "B"), 59.94)
    write(bodies, tmp_path / "a.csv")
    found = read(tmp_path / "a.csv").body_poses()
    assert np.array_equal(found.positions, bodies.positions) and found.rate == 59.94
    assert_close(found.rotations, bodies.rotations, 1e-15)


def test_what_cannot_be_stored(tmp_path):
    for recording in (
        Recording(np.full((2, 1, 3), np.nan), ("A",), 100.0),
        Recording(np.zeros((2, 1, 3)), ("A\nB",), 100.0),
    ):
        with pytest.raises(BadValue):
            write(recording, tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()
