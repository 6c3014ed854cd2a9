"""Mokka's CSV: points, angles, events and channels, as the Biomechanical ToolKit writes them."""

import numpy as np

import osteon as ost
from osteon.formats import FORMATS
from samples import make_seed


def test_all_that_mokka_exports(tmp_path, rng):
    form = next(each for each in FORMATS if each.name == "Mokka CSV")
    found = ost.read(make_seed(form, tmp_path, rng)).recording()
    assert found.names == ("LASI", "RASI", "LKneeAngles") and found.outputs == {"LKneeAngles"}
    assert (found.n_frames, found.rate, found.source.first_frame) == (6, 100.0, 11)
    assert [(mark.label, mark.context) for mark in found.marks] == [
        ("Foot Strike", "Left"),
        ("Event", "General"),
        ("Foot Strike", "Left"),
    ]
    np.testing.assert_allclose([mark.time for mark in found.marks], [0.02, 0.03, 0.04], atol=1e-9)
    assert found.analog is not None and found.analog.values.shape == (12, 2)
    assert (found.analog.names, found.analog.rate) == (("Fx1", "Fz1"), 200.0)
    first = (tmp_path / "sample.csv").read_text().splitlines()[10].split(",")[1:4]
    np.testing.assert_allclose(1e3 * found.positions[0, 0], np.array(first, float), rtol=1e-9)


def test_semicolons_and_gaps(tmp_path):
    lines = ["Frame number;3", "First frame;1", "Point frequency;50", "Analog frequency;0", ""]
    lines += ["Time;A;;", "s;m;m;m", "0;1;2;3", "0.02;0;0;0", "0.04;1;2;4", ""]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    found = ost.read(tmp_path / "a.csv").recording()
    assert found.seen[:, 0].tolist() == [True, False, True] and found.analog is None
