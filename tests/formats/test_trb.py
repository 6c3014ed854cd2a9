"""TRB: binary tracks of Motion Analysis, built by hand."""

import numpy as np
import pytest

import osteon as ost
from osteon.errors import FormatError
from osteon.formats import FORMATS
from samples import make_seed


def test_markers_gaps_and_residuals(tmp_path, rng):
    form = next(each for each in FORMATS if each.name == "TRB")
    truth = np.random.default_rng(3).uniform(100.0, 900.0, (8, 3)).astype("f4")
    path = make_seed(form, tmp_path, np.random.default_rng(3))
    found = ost.read(path).recording()
    assert found.names == ("LASI", "RASI", "SACR") and found.rate == 120.0
    assert found.source.first_frame == 31 and "neither unit nor up" in found.source.problems[0]
    order = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 2), (2, 1), (2, 0)]
    for (frame, marker), place in zip(order, truth, strict=True):
        np.testing.assert_allclose(1e3 * found.positions[frame, marker], place, rtol=1e-6)
    assert np.isnan(found.positions[1, 1]).all()
    assert found.residuals is not None
    np.testing.assert_allclose(np.nanmax(found.residuals), 0.5e-3)


def test_a_cut_file_says_which_frame(tmp_path, rng):
    form = next(each for each in FORMATS if each.name == "TRB")
    path = make_seed(form, tmp_path, rng)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FormatError, match="frame 3 is damaged or cut short"):
        ost.read(path)
