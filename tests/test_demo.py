"""ossature demo: files that can be read back."""

from click.testing import CliRunner

from ossature.cli import ossature
from ossature.formats import read


def test_demo_writes_a_take_and_its_truth(tmp_path):
    result = CliRunner().invoke(ossature, ["demo", "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "41 markers" in result.output
    markers = read(tmp_path / "out" / "take.c3d").recording()
    truth = read(tmp_path / "out" / "truth.bvh").motion()
    assert markers.n_markers == 41
    assert truth.n_frames == markers.n_frames
    assert set(truth.skeleton.names) >= {"pelvis", "chest", "head", "left_thigh"}
