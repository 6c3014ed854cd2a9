"""osteon demo: generates, solves, and comes close to the truth."""

import json

from click.testing import CliRunner

from osteon.cli import osteon
from osteon.formats import read


def test_demo_solves_its_own_performance(tmp_path):
    result = CliRunner().invoke(osteon, ["demo", "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "41 markers" in result.output
    assert "report.html" in result.output
    markers = read(tmp_path / "out" / "take.c3d").recording()
    truth = read(tmp_path / "out" / "truth.bvh").motion()
    motion = read(tmp_path / "out" / "motion.bvh").motion()
    assert truth.n_frames == motion.n_frames == markers.n_frames
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    # skin slides by 2 to 9 mm rms, and half of it is common to a body's markers: a rigid model is
    # nearer than that, not exact
    assert 1.0 < summary["marker_rms_mm"] < 5.0
