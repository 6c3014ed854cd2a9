"""Who holds whom is told in a solve where a file has several subjects, or a thing."""

import numpy as np
import pytest

from osteon import synth
from osteon.pipeline.held_together import tell_holds
from osteon.pipeline.solved import Solved
from osteon.values import Recording

HELD = (80, 200)


def exercise():
    return synth.exercise(9, rate=30, together=True)


def solved_as_they_are(scene: synth.PlayedScene, recording: Recording) -> list[Solved]:
    """The people of a scene where they truly are, each with its own markers and nobody's."""
    people = [act.motion for act in scene.acts if len(act.motion.skeleton.bodies) > 1]
    worn = [motion.skeleton.marker_names for motion in people]
    found = []
    for motion, own in zip(people, worn, strict=True):
        others = set().union(*worn) - own
        left = recording.select([name for name in recording.names if name not in others])
        errors = np.zeros(left.positions.shape[:2])
        found.append(Solved(left, motion, errors, ""))
    return found


def frames_told(solved: Solved, words: str) -> tuple[int, int]:
    (note,) = solved.warnings
    assert note.startswith(words)
    first, last = note.rsplit(" ", 3)[-3::2]
    return int(first), int(last)


def test_partners_who_hold_hands_are_told_in_both_solves():
    scene = synth.partners(exercise(), HELD, seed=3)
    recording = synth.perform_scene(scene, seed=3, noise=0.0005)
    for solved, own, other in zip(
        tell_holds(solved_as_they_are(scene, recording)), ("a:left", "b:right"), ("b:r", "a:l"),
        strict=True,
    ):  # fmt: skip
        frames = frames_told(solved, f"{own}_hand and {other}")
        assert frames == pytest.approx(HELD, abs=5)  # the bound


def test_a_thing_in_a_hand_is_told():
    person = synth.act(synth.human(), exercise(), seed=3)
    scene = synth.with_racket(person, HELD, seed=3)
    recording = synth.perform_scene(scene, seed=3, noise=0.0005)
    (solved,) = tell_holds(solved_as_they_are(scene, recording))
    assert frames_told(solved, "right_hand and RKT") == pytest.approx(HELD, abs=5)


def test_people_side_by_side_hold_nothing():
    scene = synth.crowd(exercise(), 2, seed=1)
    recording = synth.perform_scene(scene, seed=1, noise=0.0005)
    solved = tell_holds(solved_as_they_are(scene, recording))
    assert [each.warnings for each in solved] == [(), ()]
