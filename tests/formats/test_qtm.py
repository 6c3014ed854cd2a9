"""Qualisys TSV and MATLAB files."""

import numpy as np
import pytest
from scipy.io import savemat

from conftest import assert_close, assert_rotations_close, real
from osteon.errors import FormatError, WrongContent
from osteon.formats import read
from osteon.maths import quat
from samples import random_rotations

HEADER = "NO_OF_FRAMES\t2\nNO_OF_MARKERS\t2\nFREQUENCY\t100\nDATA_INCLUDED\t3D\n"
NAMES = "MARKER_NAMES\ttop\tleft\n"
ROWS = "1\t0.0\t100\t200\t300\t0\t0\t0\n2\t0.01\t1\t2\t3\t4\t5\t6\n"


def file_of(tmp_path, text: str):
    path = tmp_path / "a.tsv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "titles", ["", "Frame\tTime\ttop X\ttop Y\ttop Z\tleft X\tleft Y\tleft Z\n"]
)
def test_markers(tmp_path, titles):
    recording = read(file_of(tmp_path, HEADER + NAMES + titles + ROWS)).recording()
    assert (recording.names, recording.rate) == (("top", "left"), 100.0)
    assert np.array_equal(recording.seen, [[True, False], [True, True]])
    assert_close(recording.positions[0, 0], [0.1, 0.2, 0.3])


def test_events(tmp_path):
    text = HEADER + "EVENT\tstart\t2\t0.01\n" + NAMES + ROWS
    (mark,) = read(file_of(tmp_path, text)).recording().marks
    assert (mark.label, mark.time) == ("start", 0.01)


def test_rows_without_frame_and_time(tmp_path):
    rows = "100\t200\t300\t1\t1\t1\n1\t2\t3\t4\t5\t6\n"
    assert_close(
        read(file_of(tmp_path, HEADER + NAMES + rows)).recording().positions[1, 1, 2], 6e-3
    )


def test_bodies_have_their_matrices_column_by_column(tmp_path, rng):
    rotations = random_rotations(rng, 2)
    header = (
        "NO_OF_FRAMES\t2\nNO_OF_BODIES\t1\nFREQUENCY\t50\nDATA_INCLUDED\t6D\nBODY_NAMES\tclub\n"
    )
    rows = [[10.0, 20.0, 30.0, 0.0, 0.0, 0.0, 0.5, *quat.to_matrix(q).T.ravel()] for q in rotations]
    rows.append([0.0] * 16)
    text = "".join("\t".join(f"{x:.9f}" for x in row) + "\n" for row in rows)
    bodies = read(file_of(tmp_path, header.replace("S\t2", "S\t3") + text)).body_poses()
    assert np.array_equal(bodies.seen, [[True], [True], [False]])
    assert_rotations_close(bodies.rotations[:2, 0], rotations, 1e-8)
    assert_close(bodies.positions[0, 0], [0.01, 0.02, 0.03])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("3D", "2D"), "holds 2D data"),
        (("NO_OF_MARKERS\t2", "NO_OF_MARKERS\t3"), "NO_OF_MARKERS is 3, but MARKER_NAMES lists 2"),
        (("FREQUENCY\t100", "FREQUENCY\tEXT"), "FREQUENCY must be a positive number, got 'EXT'"),
        (("FREQUENCY\t100\n", ""), "the header lacks FREQUENCY"),
        (("4\t5\t6\n", "4\t5"), "expected 8 columns, found 7; 1 whole frames before it of 2"),
        ((ROWS, ""), "no frames"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, change, message):
    with pytest.raises(FormatError, match=message):
        read(file_of(tmp_path, (HEADER + NAMES + ROWS).replace(*change)))


def test_a_real_hand():
    recording = read(real("hand-dfki/recording.tsv")).recording()
    assert (recording.n_frames, recording.n_markers, recording.rate) == (6000, 21, 100.0)
    assert_close(recording.positions[-1, 0], [0.305536, 0.206987, 0.279865])


def matlab_take(data: np.ndarray, **labelled) -> dict:
    labels = np.array([f"m{i}" for i in range(len(data))], dtype=object)
    inner = {"Count": len(data), "Labels": labels, "Data": data, **labelled}
    return {"Frames": data.shape[2], "FrameRate": 300, "Trajectories": {"Labeled": inner}}


@pytest.mark.parametrize("shape", [(1, 4, 1), (1, 4, 5), (3, 4, 1), (3, 4, 5)])
def test_matlab_of_any_size(tmp_path, rng, shape):
    """MATLAB drops last sizes of one, and a list of one label is still a list."""
    data = rng.uniform(1.0, 9.0, size=shape)
    savemat(tmp_path / "a.mat", {"take": matlab_take(data)})
    recording = read(tmp_path / "a.mat").recording()
    assert_close(recording.positions, np.moveaxis(data[:, :3], -1, 0) * 1e-3)
    assert_close(recording.residuals, data[:, 3].T * 1e-3)


def test_filled_points_have_no_residual(tmp_path, rng):
    data = rng.uniform(1.0, 9.0, size=(1, 4, 3))
    savemat(tmp_path / "a.mat", {"take": matlab_take(data, Type=np.array([[1, 2, 4]], np.uint8))})
    assert np.array_equal(read(tmp_path / "a.mat").recording().measured, [[True], [False], [False]])


def test_other_matlab_files_are_refused(tmp_path, rng):
    savemat(tmp_path / "a.mat", {"pred": rng.normal(size=(3, 3))})
    with pytest.raises(WrongContent, match=r"QTM did not write.*holds .pred.\)"):
        read(tmp_path / "a.mat")


def test_a_broken_promise(tmp_path, rng):
    take = {**matlab_take(rng.uniform(size=(2, 4, 3))), "Frames": 9}
    savemat(tmp_path / "a.mat", {"take": take})
    with pytest.raises(FormatError, match="promises 9 frames, found 3"):
        read(tmp_path / "a.mat")


def test_a_real_mouse():
    path = real("mouse-oist/MOS1aD_S15_M5_MC2_T2_TRM_15MMIN_B.mat")
    recording = read(path).recording()
    assert (recording.n_frames, recording.n_markers, recording.rate) == (10500, 11, 300.0)
    assert recording.names[0] == "left_hip"
    assert 1.0 - recording.seen.mean() == pytest.approx(0.26, abs=0.005)
    assert (recording.seen & ~recording.measured).sum() == 2548
