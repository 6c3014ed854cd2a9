"""Takes whose tracks have no labels, break, or are labelled in part are labelled, then solved."""

from dataclasses import replace

import numpy as np
import pytest

from conftest import real
from osteon import synth
from osteon.formats import read
from osteon.pipeline import SolveOptions, missing_labels, solve
from osteon.pipeline.missing_labels import labelled_take, lacks_labels
from osteon.values import Recording, Skeleton, Take
from scattered_tracks import scattered

AUTO = SolveOptions()


@pytest.fixture(scope="module")
def walk() -> tuple[Recording, Skeleton]:
    person = synth.human()
    one = synth.perform(person, synth.walk(seconds=4), noise=0.001, gaps=0.005, seed=5)
    return one.recording, person


@pytest.fixture(scope="module")
def cut(walk) -> Recording:
    return scattered(walk[0], seed=1)[0]


def joints_of(motion) -> np.ndarray:
    return motion.world()[1]


def test_a_known_skeleton_labels_pieces_first(walk, cut) -> None:
    """Before, none of the skeleton's markers was there and nothing could be posed."""
    recording, person = walk
    asked = SolveOptions(skeleton=person)
    plain = solve(Take(recordings=(recording,)), options=asked)[0]
    found = solve(Take(recordings=(cut,)), options=asked)[0]
    off = np.linalg.norm(joints_of(plain.motion) - joints_of(found.motion), axis=-1)
    assert np.median(off) < 0.002
    (told,) = [text for text in found.warnings if "labels were missing" in text]
    assert "labelled by the skeleton" in told
    assert "doubtful" in told and "left open" in told
    assert "labelling" not in " ".join(plain.warnings)


def test_labels_that_are_fine_are_not_looked_for(walk, monkeypatch) -> None:
    recording, person = walk
    monkeypatch.setattr(missing_labels, "label", None)  # whoever calls it fails
    for asked in (AUTO, SolveOptions(skeleton=person)):
        assert not lacks_labels(recording, asked)
        assert labelled_take(recording, asked) is recording


def test_what_lacks_labels(walk, cut) -> None:
    recording, person = walk
    numbered = replace(recording, names=tuple(f"*{i}" for i in range(recording.n_markers)))
    assert lacks_labels(cut, AUTO)
    assert lacks_labels(cut, SolveOptions(template="none"))
    assert not lacks_labels(numbered, AUTO)  # whole tracks: shape and motion tell
    assert lacks_labels(numbered, SolveOptions(skeleton=person))
    assert lacks_labels(numbered, SolveOptions(template="CMU 41"))
    lettered = replace(recording, names=tuple(f"{name}x" for name in recording.names))
    assert not lacks_labels(lettered, SolveOptions(template="CMU 41"))  # the user's mistake
    assert not lacks_labels(cut, SolveOptions(template="COCO-17"))


def test_numbered_tracks_that_change_markers_are_joined_first(walk) -> None:
    """Every fifth pair of neighbours exchange their tracks for the middle third."""
    recording, _ = walk
    positions, n = recording.positions.copy(), recording.n_frames
    middle = slice(n // 3, 2 * n // 3)
    for one in range(0, recording.n_markers - 1, 5):
        positions[middle, [one, one + 1]] = recording.positions[middle, [one + 1, one]]
    numbered = Recording(positions, tuple(map(str, range(recording.n_markers))), recording.rate)
    assert lacks_labels(numbered, AUTO)
    named = replace(numbered, names=tuple(f"{name}x" for name in recording.names))
    assert not lacks_labels(named, AUTO)  # names that mean something are put back as swaps


def test_gaps_of_labels_are_filled_from_tracks_without_name(walk) -> None:
    """A third of every fourth marker's time is under a number; a marker beside the set stays."""
    recording, _ = walk
    positions, n = recording.positions.copy(), recording.n_frames
    lost = np.full((n, 0, 3), np.nan)
    for column in range(0, recording.n_markers, 4):
        piece = np.full((n, 1, 3), np.nan)
        piece[n // 3 : 2 * n // 3, 0] = positions[n // 3 : 2 * n // 3, column]
        positions[n // 3 : 2 * n // 3, column] = np.nan
        lost = np.concatenate([lost, piece], axis=1)
    badge = recording.positions[:, [recording.index("STRN")]] + [0.0, 0.0, 0.04]
    names = (*recording.names, "BADGE", *(f"*{100 + i}" for i in range(lost.shape[1])))
    broken = Recording(np.concatenate([positions, badge, lost], axis=1), names, recording.rate)
    assert lacks_labels(broken, AUTO)
    whole = labelled_take(broken, AUTO)
    assert set(whole.names) == {*recording.names, "BADGE"}
    mended = whole.select(recording.names)
    assert mended.seen.sum() > 0.99 * recording.seen.sum()
    both = mended.seen & recording.seen
    assert (mended.positions[both] == recording.positions[both]).all(axis=-1).mean() > 0.995


def test_two_without_labels_become_two_subjects() -> None:
    tall, small = (
        synth.perform(synth.human(height), synth.walk(seconds=1.5), noise=0.001, seed=8).recording
        for height in (1.8, 1.68)
    )
    moved = small.positions + [0.0, 1.5, 0.0]
    cloud = np.concatenate([tall.positions, moved], axis=1)
    names = tuple(f"*{i}" for i in range(cloud.shape[1]))
    solved = solve(
        Take(recordings=(Recording(cloud, names, tall.rate),)),
        options=SolveOptions(template="CMU 41"),
    )
    assert [one.recording.subject for one in solved] == ["person_1", "person_2"]
    assert all(one.rms < 0.01 for one in solved)
    assert all(any("of 2 people" in text for text in one.warnings) for one in solved)


@pytest.mark.parametrize("template", ["CMU 41", "auto"])
def test_a_real_walk_in_pieces(template) -> None:
    """02_01 of CMU without labels: by its set as with labels; from nothing, a human."""
    take = read(real("cmu-02/02_01.c3d")).recordings[0].markers()
    pieces, _ = scattered(take, seed=0, gap=0.05, longest=1.0)
    assert pieces.n_markers > 4 * take.n_markers
    found = solve(Take(recordings=(pieces,)), options=SolveOptions(template=template))[0]
    assert any("labels were missing" in text for text in found.warnings)
    assert found.rms < 0.005
    if template == "auto":
        assert found.recognition is not None
        assert {"left_thigh", "right_shin", "head"} <= set(found.skeleton.names)
        return
    plain = solve(Take(recordings=(take,)), options=SolveOptions(template=template))[0]
    assert plain.skeleton.names == found.skeleton.names
    off = np.linalg.norm(joints_of(plain.motion) - joints_of(found.motion), axis=-1)
    assert np.median(off) < 0.002
