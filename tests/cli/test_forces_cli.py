"""``osteon forces``: it says no without plates, and agrees with what Plug-in Gait stored."""

from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import osteon as ost
from conftest import real
from osteon import delivery, kinetics, pipeline
from osteon.cli import osteon
from samples import some_markers


def test_without_plates_it_says_no_in_one_sentence(tmp_path, rng):
    ost.write(some_markers(rng), tmp_path / "walk.trc")
    asked = ["forces", str(tmp_path / "walk.trc"), "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(osteon, asked)
    assert done.exit_code != 0 and not (tmp_path / "out").exists()
    assert "there are no force plates" in str(done.exception)


def test_of_several_people_one_has_to_be_chosen(tmp_path, rng, monkeypatch):
    ost.write(some_markers(rng), tmp_path / "two.trc")
    both = [SimpleNamespace(recording=SimpleNamespace(subject=name)) for name in ("Ann", "Bob")]
    monkeypatch.setattr(kinetics, "check_loaded", lambda _: None)
    monkeypatch.setattr(pipeline, "solve", lambda *_, **__: both)
    asked = ["forces", str(tmp_path / "two.trc"), "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(osteon, asked)
    assert "holds several people, Ann, Bob: choose one by --subject" in str(done.exception)


@pytest.mark.slow
def test_moments_of_a_child_go_as_plug_in_gait_has_them(tmp_path):
    """Ankle and hip flexion over the steps on five plates; its signs are the other way round."""
    path = real("clinical-gait-auckland/RCH/dynamic/RCH.08.c3d")
    static = real("clinical-gait-auckland/RCH/static/RCH.01.c3d")
    [solved] = pipeline.solve(path, static=(static,))
    found = pipeline.moments(solved, pipeline.angles(solved, "pig"))
    assert len(found.steps) == 5 and abs(found.mass / 48.8 - 1.0) < 0.06  # by its own scales
    stored = ost.read(path).recording()
    for joint, alike in (("Ankle", 0.99), ("Hip", 0.95)):
        for side in "LR":
            theirs = stored.positions[:, stored.index(f"{side}{joint}Moment"), 0]
            ours = found.moments[:, found.names.index(f"{side}{joint}Angles_X")]
            both = np.isfinite(ours) & np.isfinite(theirs) & (theirs != 0.0)
            assert -np.corrcoef(ours[both], theirs[both])[0, 1] > alike
    delivery.deliver_forces(solved, found, tmp_path)
    table = np.genfromtxt(tmp_path / "moments.csv", delimiter=",", names=True)
    np.testing.assert_allclose(table["LKneeAngles_X"], found.moments[:, 6], atol=1e-5)
    forces = np.genfromtxt(tmp_path / "forces.csv", delimiter=",", names=True)
    assert len(forces) == len(solved.recording.ground_reactions()[0].force)
