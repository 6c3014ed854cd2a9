"""``osteon field``, and its field taken off by ``joints`` and ``convert``."""

import json

import numpy as np
from click.testing import CliRunner

import osteon as ost
from osteon import synth
from osteon.cli import osteon

IRON = synth.Iron(pull=0.15)


def run(*words: object):
    return CliRunner().invoke(osteon, [str(word) for word in words])


def test_a_field_is_found_and_taken_off(tmp_path) -> None:
    ost.write(IRON.sense(synth.walked_bar(40.0)), tmp_path / "bar.csv")
    told = run("field", tmp_path / "bar.csv", "--distance", 0.565, "-o", tmp_path / "tracker")
    assert told.exit_code == 0, told.output
    assert "scale: 0.9" in told.output
    summary = json.loads((tmp_path / "tracker" / "summary.json").read_text())
    assert abs(summary["scale"] / IRON.scale - 1.0) < 0.02
    picture = (tmp_path / "tracker" / "field.svg").read_text()
    assert picture.startswith("<svg") and "from above" in picture
    take = synth.sense(synth.linkage(), synth.exercise(8, rate=60, together=True), seed=1)
    seen = IRON.sense(take.bodies)
    ost.write(seen, tmp_path / "take.csv")
    field = tmp_path / "tracker" / "field.json"
    told = run("joints", tmp_path / "take.csv", "--field", field, "-o", tmp_path / "rig")
    assert told.exit_code == 0, told.output
    assert "field taken off" in (tmp_path / "rig" / "skeleton.json").read_text()
    told = run("convert", tmp_path / "take.csv", tmp_path / "mended.csv", "--field", field)
    assert told.exit_code == 0, told.output
    mended = ost.read(tmp_path / "mended.csv").body_poses()
    moved = np.linalg.norm(mended.positions - IRON.scale * seen.positions, axis=-1)
    assert 0.0005 < float(np.median(moved)) < 0.1


def test_a_scale_is_given_once(tmp_path) -> None:
    ost.write(IRON.sense(synth.walked_bar(5.0)), tmp_path / "bar.csv")
    (tmp_path / "field.json").write_text("{}")
    known = ("--known-distance", "bar_a", "bar_b", 0.565)
    told = run(
        "joints", tmp_path / "bar.csv", "-o", tmp_path, *known, "--field", tmp_path / "field.json"
    )
    assert told.exit_code == 2 and "--field has the scale" in told.output
