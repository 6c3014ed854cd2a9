"""osteon label: what it writes, prints and refuses."""

import json

import numpy as np

from keypoint_scenes import scene
from osteon import synth
from osteon.formats import read, write
from osteon.values import Recording


def test_a_take_without_labels_gets_them_back(tmp_path, command) -> None:
    person = synth.human()
    take = synth.perform(person, synth.walk(seconds=3), noise=0.001, gaps=0.01, seed=1).recording
    nameless = take.select(take.names)
    names = tuple(f"*{number}" for number in range(take.n_markers))
    write(type(take)(nameless.positions, names, take.rate), tmp_path / "walk.trc")
    write(person, tmp_path / "skeleton.json")
    code, out, _ = command(
        "label",
        tmp_path / "walk.trc",
        "-o",
        tmp_path / "out",
        "--skeleton",
        tmp_path / "skeleton.json",
    )
    assert code == 0
    assert "under 41 labels by skeleton" in out
    for name in ("walk.c3d", "walk.trc"):
        found = read(tmp_path / "out" / name).recording()
        assert set(found.names) == set(take.names)
        again = found.select(take.names).positions
        np.testing.assert_allclose(again, take.positions, atol=2e-5)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["takes"]["walk.trc"]["labelled"] == 1.0
    table = (tmp_path / "out" / "walk.labels.csv").read_text().splitlines()
    assert len(table) == 1 + summary["takes"]["walk.trc"]["pieces"]


def test_who_it_is_is_said_once_and_inputs_are_spared(tmp_path, command) -> None:
    write(synth.perform(synth.human(), synth.walk(seconds=1)).recording, tmp_path / "walk.c3d")
    write(synth.human(), tmp_path / "one.json")
    walk, one = tmp_path / "walk.c3d", tmp_path / "one.json"
    code, _, told = command(
        "label", walk, "-o", tmp_path / "o", "--skeleton", one, "--passport", one
    )
    assert code == 2
    assert "give one of them" in told
    code, _, told = command("label", walk, "-o", tmp_path)
    assert code == 1
    assert "would be overwritten" in told
    code, _, told = command("label", walk, walk, "-o", tmp_path / "o")
    assert code == 1
    assert "different folders" in told


def test_which_of_several_files_cannot_be_labelled_is_said(tmp_path, command) -> None:
    walk = synth.perform(synth.human(), synth.walk(seconds=1)).recording
    hidden = walk.with_positions(np.full_like(walk.positions, np.nan), "hidden")
    write(walk, tmp_path / "walk.c3d")
    write(hidden, tmp_path / "hidden.c3d")
    files = (tmp_path / "walk.c3d", tmp_path / "hidden.c3d")
    code, _, told = command("label", *files, "-o", tmp_path / "out", "--set", "none")
    assert code != 0
    assert "hidden.c3d: none of the" in told


def test_keypoints_are_told_that_they_have_their_names(tmp_path, command) -> None:
    """It said that no frame shows two markers of the pelvis."""
    known = scene("COCO-17")
    write(Recording(known.points, known.names, 30.0), tmp_path / "walk.trc")
    code, _, told = command("label", tmp_path / "walk.trc", "-o", tmp_path / "o")
    assert code == 1 and "these are keypoints (COCO-17)" in told and "--set none" in told
