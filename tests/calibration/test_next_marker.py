"""Where the next marker goes: foretold from a take without it, and true when it is put on."""

from dataclasses import replace

import numpy as np
import pytest

from osteon import synth
from osteon.calibration import NextMarker
from osteon.human import known_sets, landmark_names, words_for_spot
from osteon.pipeline import Solved, SolveOptions, solve
from osteon.values import Recording, Take

REGION_RATIO = 2.796


@pytest.fixture(scope="module")
def take() -> Recording:
    return synth.perform(
        synth.human(), synth.exercise(12, rate=60, together=True), noise=0.0005, skin=0.004, seed=2
    ).recording


def solved_without(take: Recording, *labels: str) -> Solved:
    worn = take.select([name for name in take.names if name not in labels])
    (solved,) = solve(Take(recordings=(worn,)))
    return solved


def radius(solved: Solved, body: str) -> float:
    covariance = solved.skeleton.body(body).joint.covariance
    assert covariance is not None
    return REGION_RATIO * float(np.sqrt(np.linalg.eigvalsh(covariance)[-1]))


def told_for(solved: Solved, joint: str) -> NextMarker:
    (told,) = [each for each in solved.next_markers if each.joint == joint]
    return told


def test_knees_without_a_marker_beside_them_ask_for_one(take: Recording) -> None:
    """The region that is foretold is the one that a knee marker brings, to a quarter."""
    bare, whole = solved_without(take, "LKNE", "RKNE"), solved_without(take)
    told = told_for(bare, "knees")
    assert "knee" in told.marker and len(told.landmarks) == 2
    before = max(radius(bare, f"{side}_shin") for side in ("left", "right"))
    after = max(radius(whole, f"{side}_shin") for side in ("left", "right"))
    assert told.before == pytest.approx(before, rel=0.1)
    assert told.after == pytest.approx(after, rel=0.25)
    assert str(told).startswith("next marker: one on ") and "would bring the knees from ±" in str(
        told
    )


def test_a_label_may_have_the_name_of_a_landmark_that_is_bare(take: Recording, tmp_path) -> None:
    """A thigh's marker that somebody called as the knee's inner side is."""
    names = {"LTHI": "left_knee_medial", "RTHI": "right_knee_medial"}
    worn = take.select([name for name in take.names if name not in ("LKNE", "RKNE")])
    worn = replace(worn, names=tuple(names.get(name, name) for name in worn.names))
    (known,) = [each for each in known_sets() if each.name == "CMU 41"]
    spots = {names.get(each, each): spot for each, spot in landmark_names(known.markers).items()}
    lines = [f'{label} = "{spots[label]}"' for label in worn.names if label in spots]
    (tmp_path / "own.toml").write_text("\n".join(['name = "own"', "[markers]", *lines]))
    options = SolveOptions(own_set=tmp_path / "own.toml")
    (solved,) = solve(Take(recordings=(worn,)), options=options)
    assert told_for(solved, "knees").landmarks == ("left_knee_lateral", "right_knee_lateral")


def test_what_is_known_asks_for_nothing(take: Recording) -> None:
    assert not [told for told in solved_without(take).next_markers if told.joint == "knees"]


def test_spots_have_words() -> None:
    assert words_for_spot("left_knee_medial") == "the inner side of the left knee"
    assert words_for_spot("left_knee_medial", both=True) == "the inner side of each knee"
    assert words_for_spot("left_eye") is None
