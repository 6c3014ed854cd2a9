"""A human known by shape and motion: performers of known truth under labels that say nothing."""

from dataclasses import replace

import numpy as np
import pytest

from osteon import synth
from osteon.human import Recognition, Unlike, human, parse_set, recognise_shape
from osteon.human.posed_template import skin_landmarks
from osteon.values import Recording

ORDINARY = 0.85
"""Share of markers on their body: seeds 1 to 3 reach 0.95, 0.95 and 0.90."""


def performed(figure, motion) -> Recording:
    return synth.perform(figure, motion, noise=0.001, seed=3).recording


def under_nonsense(recording: Recording) -> tuple[Recording, dict[str, str]]:
    """Shuffled, and renamed; with it come the true labels by the new ones."""
    order = np.random.default_rng(0).permutation(recording.names).tolist()
    given = {f"Q{place}": label for place, label in enumerate(order)}
    return replace(recording.select(order), names=tuple(given)), given


def body_of(word: str) -> str:
    mark = human().landmarks.get(word)
    return word if mark is None else mark.body


@pytest.fixture(scope="module")
def walk() -> Recording:
    return performed(synth.human(), synth.walk(seconds=4))


@pytest.fixture(scope="module")
def worn() -> dict[str, str]:
    """The body of each label."""
    return {mark.name: body.name for body in synth.human().bodies for mark in body.markers}


@pytest.fixture(scope="module")
def found(walk) -> tuple[Recognition, dict[str, str]]:
    strange, given = under_nonsense(walk)
    found = recognise_shape(strange)
    assert isinstance(found, Recognition)
    return found, given


def share_right(found: Recognition, given: dict[str, str], worn: dict[str, str]) -> float:
    return float(np.mean([body_of(word) == worn[given[q]] for q, word in found.words.items()]))


def test_bodies_and_sides_are_found(found, worn):
    recognition, given = found
    assert recognition.confidence > 0.8
    assert share_right(recognition, given, worn) > ORDINARY


def test_a_mirror_image_has_its_sides_exchanged(walk, worn):
    """Shape decides, whatever labels say: the left of a mirrored person is a right."""
    image = replace(walk, positions=walk.positions * [1.0, -1.0, 1.0])
    found = recognise_shape(under_nonsense(image)[0])
    plain = recognise_shape(under_nonsense(walk)[0])
    assert isinstance(found, Recognition) and isinstance(plain, Recognition)
    turned = {
        label: word.replace("left_", "~").replace("right_", "left_").replace("~", "right_")
        for label, word in plain.words.items()
    }
    alike = [body_of(found.words[label]) == body_of(word) for label, word in turned.items()]
    assert np.mean(alike) > ORDINARY


def test_it_does_not_matter_which_way_one_walks(walk, found):
    angle = 2.0
    turn = np.array(
        [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
    )
    strange, _ = under_nonsense(replace(walk, positions=walk.positions @ turn.T + [5.0, -3.0, 0]))
    turned = recognise_shape(strange)
    assert isinstance(turned, Recognition)
    alike = [turned.words[label] == word for label, word in found[0].words.items()]
    assert np.mean(alike) > ORDINARY


@pytest.mark.parametrize("figure", [synth.quadruped, synth.hand, synth.linkage])
def test_what_is_no_human_is_not_called_one(figure):
    recording = performed(figure(), synth.exercise(seconds=4))
    found = recognise_shape(under_nonsense(recording)[0])
    assert isinstance(found, Unlike) and found.reason


def test_the_file_says_what_was_found(found):
    recognition = found[0]
    read = parse_set(recognition.toml(), "markers.toml")
    kept = recognition.marker_set()[1]
    assert all(read.markers[label] is mark or mark.at is None for label, mark in kept.items())
    assert {label: mark.body for label, mark in kept.items()} == {
        label: read.markers[label].body for label in kept
    }


def test_markers_sit_on_skin_not_where_markerless_systems_put_points():
    words = skin_landmarks()
    assert {"left_asis", "c7", "right_heel", "left_olecranon"} <= words.keys()
    assert not {"left_knee_centre", "nose", "left_eye", "left_thumb_knuckle"} & words.keys()
