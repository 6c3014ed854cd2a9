"""Motions told by fewer angles, and by the axes of the person."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from osteon import synth
from osteon.anatomy import axes, fewer_angles
from osteon.errors import NotEnoughData
from osteon.formats import read_passport, write, write_passport
from osteon.maths import quat
from osteon.pipeline import keep_axes, person_with_axes
from osteon.values import Motion, Passport

X = np.array([1.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def exercise() -> Motion:
    return synth.act(synth.human(), synth.exercise(20), seed=1).motion


def test_a_body_that_moves_by_two_angles_is_told_by_two():
    """A thigh and a shin turn about one axis each, all else stands still."""
    person, time = synth.human(), np.linspace(0.0, 9.0, 200)
    poses = quat.identity((200, len(person.bodies)))
    for name, angle in (("left_thigh", 0.8 * np.sin(time)), ("left_shin", np.cos(1.7 * time) - 1)):
        poses[:, person.index(name)] = quat.from_axis_angle(X, angle)
    (two,) = fewer_angles(axes(Motion(person, poses, np.zeros((200, 3)), 50.0)), [8])
    assert two.error < 1e-4
    assert {name.split(".")[0] for name in two.names} == {"left_thigh", "left_shin"}


def test_more_numbers_never_tell_worse(exercise):
    found = fewer_angles(axes(exercise))
    errors = [each.error for each in found]
    assert len(found) > 4
    # the order of angles is chosen one by one, so a step may gain nothing
    assert all(after < before + 1e-4 for before, after in pairwise(errors))
    assert errors[-1] < 0.2 * errors[0]
    assert all(len(each.names) + 6 == each.numbers for each in found)


def test_axes_of_the_person_are_used_for_every_take(exercise):
    person = axes(exercise).compact.skeleton
    walk = synth.act(synth.human(), synth.walk(4), seed=2).motion
    told = axes(walk, known=person)
    for own, taken in zip(person.bodies[1:], told.compact.skeleton.bodies[1:], strict=True):
        np.testing.assert_array_equal(own.movement.axes, taken.movement.axes)
        assert own.movement.labels == taken.movement.labels
    apart = told.compact.motion().world()[1] - walk.world()[1]
    assert np.linalg.norm(apart, axis=-1).mean() < 0.005


def test_a_passport_keeps_axes(exercise, tmp_path):
    found = axes(exercise).compact.skeleton
    write_passport(tmp_path / "plain.json", Passport(exercise.skeleton, (), 0.001))
    with pytest.raises(NotEnoughData, match=r"plain.json: no body has movement axes"):
        person_with_axes(tmp_path / "plain.json")
    keep_axes(tmp_path / "plain.json", found, tmp_path)
    kept = read_passport(tmp_path / "passport.json").skeleton
    np.testing.assert_allclose(
        kept.body("left_shin").movement.axes, found.body("left_shin").movement.axes
    )
    assert person_with_axes(tmp_path / "passport.json").body("left_shin").movement is not None
    write(found, tmp_path / "skeleton.json")
    assert person_with_axes(tmp_path / "skeleton.json").body("left_shin").movement is not None
    other = replace(exercise.skeleton, bodies=exercise.skeleton.bodies[:1])
    with pytest.raises(NotEnoughData, match="is of another skeleton"):
        keep_axes(tmp_path / "plain.json", other, tmp_path)
