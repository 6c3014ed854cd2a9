"""A human known by shape and motion: performers of known truth under labels that say nothing."""

from dataclasses import replace

import numpy as np
import pytest

from conftest import real
from osteon import synth
from osteon.formats import read
from osteon.human import Recognition, Unlike, human, parse_set, recognise, recognise_shape
from osteon.human.jointed_figure import Figure, figure_from, tree
from osteon.human.landmark_fit import fit_landmarks
from osteon.human.posed_template import skin_landmarks
from osteon.human.recognised_set import MOST_DOUBT, TOLD_DOUBT
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Marker, Recording, Skeleton

ORDINARY = 0.95
"""Share of markers on their body that is asked for."""


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


def test_joint_centres_that_were_computed_are_not_worn(walk, found):
    """Points inside of limbs under the names that laboratories give them change nothing."""
    strange, given = under_nonsense(walk)
    place = {label: strange.names.index(q) for q, label in given.items()}
    inside = [
        0.5 * (strange.positions[:, place[one]] + strange.positions[:, place[other]])
        for one, other in (("LKNE", "RKNE"), ("LANK", "RANK"), ("LFWT", "RFWT"))
    ]
    both = np.concatenate([strange.positions, np.stack(inside, axis=1)], axis=1)
    names = (*strange.names, "LKJC", "R_AJC", "LHJC2")
    again = recognise_shape(replace(strange, positions=both, names=names))
    assert isinstance(again, Recognition) and again.words == found[0].words


@pytest.mark.parametrize("figure", [synth.quadruped, synth.hand, synth.linkage])
def test_what_is_no_human_is_not_called_one(figure):
    recording = performed(figure(), synth.exercise(seconds=4))
    found = recognise_shape(under_nonsense(recording)[0])
    assert isinstance(found, Unlike) and found.reason


def test_doubtful_landmarks_are_told_or_left_open(found):
    recognition = found[0]
    kept = recognition.marker_set()[1]
    assert all(mark.doubt == recognition.doubts[label] for label, mark in kept.items())
    assert max(recognition.doubts.values()) < MOST_DOUBT
    told = [line for line in recognition.toml().splitlines() if "or another" in line]
    assert len(told) == sum(doubt > TOLD_DOUBT for doubt in recognition.doubts.values()) > 0


FEW = (
    *("LFWT", "RFWT", "LBWT", "RBWT", "C7", "CLAV", "LFHD", "RFHD", "LBHD", "RBHD"),
    *(f"{side}{at}" for side in "LR" for at in ("SHO", "ELB", "WRA", "WRB")),
    *(f"{side}{at}" for side in "LR" for at in ("KNE", "ANK", "HEE", "TOE")),
)


def test_hands_that_hang_beside_thighs_are_hands(worn):
    """Each joint moves for a second of forty: mostly wrists are where a thigh's markers would be,
    and thighs have none but at the knee."""
    take = performed(synth.human(), synth.exercise(seconds=40, rate=60)).select(FEW)
    strange, given = under_nonsense(take)
    found = recognise_shape(strange)
    assert isinstance(found, Recognition)
    assert share_right(found, given, worn) > ORDINARY


ON_LEGS = {
    "pelvis": {"ASIS": (-0.13, 0.06, 0.045), "PSIS": (-0.048, -0.135, 0.055)},
    "thigh": {
        "GTR": (-0.09, -0.01, -0.01),
        "TH1": (-0.08, 0.03, -0.18),
        "TH2": (-0.085, 0.03, -0.23),
    },
    "shin": {
        "TUB": (0.0, 0.055, -0.06),
        "SHN": (-0.05, 0.02, -0.17),
        "ANK": (-0.042, -0.01, -0.402),
    },
    "foot": {"HEE": (0.0, -0.065, -0.04), "TOE": (0.005, 0.13, -0.05)},
}
"""Places on the left of ``synth.human``, metres; no marker at the knee."""


SIDES_OF = {"left": (("L", 1.0),), "right": (("R", -1.0),), "": (("L", 1.0), ("R", -1.0))}


def on_legs_alone(height: float) -> Skeleton:
    bodies = []
    for body in synth.human(height).bodies:
        side, _, part = body.name.rpartition("_")
        markers = tuple(
            Marker(f"{letter}{name}", np.array(at) * [sign, 1.0, 1.0] * (height / 1.75))
            for letter, sign in SIDES_OF.get(side, ())
            for name, at in ON_LEGS.get(part, {}).items()
        )
        bodies.append(replace(body, markers=markers))
    return Skeleton(tuple(bodies))


def test_legs_alone_are_not_taken_for_larger_with_arms_on_the_pelvis():
    figure = on_legs_alone(1.6)
    strange, given = under_nonsense(performed(figure, synth.walk(seconds=4)))
    found = recognise_shape(strange)
    assert isinstance(found, Recognition)
    assert {body_of(word).rpartition("_")[2] for word in found.words.values()} <= ON_LEGS.keys()
    worn = {mark.name: body.name for body in figure.bodies for mark in body.markers}
    wrong = {given[q] for q, word in found.words.items() if body_of(word) != worn[given[q]]}
    assert wrong <= {"LTUB", "RTUB"}  # 6 cm below the knee, where nothing else is


def test_the_file_says_what_was_found(found):
    recognition = found[0]
    read = parse_set(recognition.toml(), "markers.toml")
    kept = recognition.marker_set()[1]
    assert all(read.markers[label].at is mark.at for label, mark in kept.items())
    assert {label: mark.body for label, mark in kept.items()} == {
        label: read.markers[label].body for label in kept
    }


def test_markers_sit_on_skin_not_where_markerless_systems_put_points():
    words = skin_landmarks()
    assert {"left_asis", "c7", "right_heel", "left_olecranon"} <= words.keys()
    assert not {"left_knee_centre", "nose", "left_eye", "left_thumb_knuckle"} & words.keys()


WORN = {
    word: mark
    for word, (mark, rarity) in skin_landmarks().items()
    if rarity < 0.7 and not word.startswith("t10")
}
"""Landmarks that a third of all marker sets have."""
SIGNS = (("left", 1.0), ("right", -1.0))


def rotated(axis: int, angle: float) -> Array:
    return quat.to_matrix(quat.exp(angle * np.eye(3)[axis]))


def markers_of(figure: Figure) -> Array:
    linear, shifts = figure.stands()
    bodies = [tree().names.index(mark.body) for mark in WORN.values()]
    at = np.array([mark.at for mark in WORN.values()])
    return np.einsum("mij,mj->mi", linear[bodies], at) + shifts[bodies]


def test_a_figure_is_drawn_to_its_markers():
    """From a straight one to one that bends knees and elbows, turns its feet out and is larger."""
    posed = figure_from({})
    bent = np.random.default_rng(5).normal(size=len(posed.values)) * 0.5 * tree().sigmas
    points = markers_of(replace(posed, values=bent))
    bodies = np.array([tree().names.index(mark.body) for mark in WORN.values()])
    at = np.array([mark.at for mark in WORN.values()])
    drawn = posed
    for _ in range(10):
        drawn = drawn.drawn(points, bodies, at, np.full(len(points), 1e3))
    assert np.abs(markers_of(drawn) - points).max() < 0.002  # the prior keeps a little


def test_markers_find_their_landmarks_from_a_figure_that_stands_otherwise():
    """Feet turned out by 0.4 rad, knees by 0.3, arms by 0.4, the trunk leaning by 0.2."""
    turns = {f"{side}_foot": rotated(2, sign * 0.4) for side, sign in SIGNS}
    turns |= {f"{side}_shin": rotated(1, 0.3) for side, _ in SIGNS}
    for side, sign in SIGNS:
        arm = rotated(0, -sign * 0.4)
        turns |= {f"{side}_{part}": arm for part in ("upper_arm", "forearm", "hand")}
    turns |= {name: rotated(1, 0.2) for name in ("spine", "chest", "neck", "head")}
    points = markers_of(figure_from(turns))
    nothing = np.zeros((len(points), len(points)))
    start = np.zeros(len(points), dtype=int)
    found = fit_landmarks(points, 1.0, nothing, start, figure_from({}))
    right = np.mean([word == known for word, known in zip(found.words, WORN, strict=True)])
    assert right > ORDINARY
    assert found.doubts[list(WORN).index("c7")] < found.doubts[list(WORN).index("left_toe")]


def test_legs_that_cross_in_running_keep_their_sides():
    (recording,) = read(real("anatomical-truth/hamner-03-run400/markers.trc")).recordings
    chosen = recognise(recording.names)
    assert chosen is not None
    strange, given = under_nonsense(recording.select(list(chosen[1])))
    found = recognise_shape(strange)
    assert isinstance(found, Recognition)
    worn = {label: mark.body for label, mark in chosen[1].items()}
    assert share_right(found, given, worn) > ORDINARY
