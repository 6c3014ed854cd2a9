"""Tracks in pieces, labelled in the studio by mouse: looked at, said by hand, undone, written."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import osteon as ost
from chrome import studio
from osteon import synth
from scattered_tracks import scattered

pytest_plugins = ["browser"]

PATIENCE = 120_000
"""Milliseconds for a labelling on a busy machine that also has to compile its kernels."""


@pytest.fixture(scope="module")
def walk(tmp_path_factory) -> Path:
    """A walk in nameless pieces, with a ghost 4 cm beside the finger's marker: one of them is it,
    and nothing tells which."""
    take = synth.perform(synth.human(), synth.walk(seconds=2), noise=0.001, seed=2).recording
    ghost = take.positions[:, take.index("LFIN")] + [0.0, 0.04, 0.0]
    positions = np.concatenate([take.positions, ghost[:, None]], axis=1)
    both = ost.Recording(positions, (*take.names, "ghost"), take.rate)
    path = tmp_path_factory.mktemp("labels") / "walk.c3d"
    ost.write(scattered(both, seed=1, longest=1.0)[0], path)
    return path


@pytest.fixture(scope="module")
def window(stay, walk) -> Iterator:
    with studio(walk) as address:
        seen = stay(address)
        seen.page.wait_for_selector("body[data-ready]")
        yield seen


def test_labels_are_found_and_what_is_open_is_listed(window):
    page = window.page
    page.get_by_role("tab", name="Labels").click()
    page.get_by_label("worn").select_option("CMU 41")
    page.get_by_role("button", name="Label tracks").click()
    page.get_by_role("button", name="Write labels").wait_for(timeout=PATIENCE)
    assert "by CMU 41" in page.locator(".label-list .hint").inner_text()
    rows = page.locator(".label-list li")
    assert rows.count() > 0
    first = page.evaluate("() => window.osteonStudio.session.labels.rows[0]")
    rows.first.locator(".look").click()
    selected = page.evaluate("() => window.osteonStudio.frames.selection")
    assert selected == {"first": first["first"], "last": first["last"]}


def test_a_label_said_by_hand_counts_can_be_taken_back_and_is_written(window, walk):
    page = window.page
    row = page.evaluate("() => window.osteonStudio.session.labels.rows[0]")
    other = page.locator(".label-list li").first.locator("select")
    other.focus()
    other.select_option("LFIN")
    page.locator(".label-list li.settled", has_text="LFIN").wait_for()
    page.locator(".label-list li.settled").get_by_role("button", name="It is not").click()
    page.locator(".label-list li.settled", has_text="none").wait_for()
    page.get_by_role("button", name="Undo").click()
    page.locator(".label-list li.settled", has_text="LFIN").wait_for()
    page.get_by_role("button", name="Write labels").click()
    page.get_by_text("walk.labels.csv").wait_for(timeout=PATIENCE)
    page.keyboard.press("Escape")
    assert window.errors == [] and not window.strangers
    check_files(walk, row)


def check_files(path: Path, row: dict) -> None:
    """What was said is kept beside the take, and the file written has it; samples are as given."""
    kept = json.loads(path.with_name("walk.edits.json").read_text())
    assert kept["settings"]["label"] and kept["settings"]["template"] == "CMU 41"
    [said] = kept["edits"]
    assert (said["track"], said["label"]) == (row["track"], "LFIN")
    written = ost.read(path.with_name("walk-labelled") / "walk.c3d").recording()
    given = ost.read(path).recording()
    frames = slice(row["first"], row["last"] + 1)
    np.testing.assert_allclose(
        written.positions[frames, written.index("LFIN")],
        given.positions[frames, given.index(row["track"])],
        atol=1e-6,
    )


def test_the_page_with_labels_has_no_serious_fault(window):
    assert window.faults() == []
