"""What joints and directions are called."""

import numpy as np
import pytest

from osteon.human import direction_word, human, is_along_axis, is_flanked, words_for_joint
from osteon.values import Body, Joint, Marker, Skeleton


def test_every_joint_of_the_template_has_words():
    bodies = human().bodies
    for name, body in bodies.items():
        words = words_for_joint(name)
        if body.parent is None:
            assert words is None
        else:
            assert words is not None and words.motion
            assert bool(words.marker) == bool(body.axis)


def test_sides_are_said():
    left, both = words_for_joint("left_shin"), words_for_joint("left_shin", both=True)
    assert left is not None and both is not None
    assert (left.name, left.motion) == ("left knee", "bend the left knee")
    assert (both.name, both.motion) == ("knees", "bend the knees")
    assert words_for_joint("body_01") is None


@pytest.mark.parametrize(
    ("parent", "direction", "word"),
    [
        ("pelvis", (0.0, -1.0, 0.1), "sideways"),
        ("left_thigh", (0.0, 0.0, 1.0), "up"),
        ("chest", (1.0, 0.0, 0.0), "forwards"),
        ("left_upper_arm", (0.0, 1.0, 0.0), "along the arm"),
        ("left_upper_arm", (0.0, 0.0, 1.0), "across the arm"),
        ("pelvis", (0.7, 0.0, 0.7), ""),
    ],
)
def test_directions_have_words(parent, direction, word):
    assert direction_word(parent, np.array(direction)) == word


def test_axis_of_a_hinge():
    assert is_along_axis("left_shin", np.array([0.0, -1.0, 0.0]))
    assert not is_along_axis("left_shin", np.array([1.0, 0.0, 0.0]))
    assert not is_along_axis("left_thigh", np.array([0.0, 1.0, 0.0]))


@pytest.mark.parametrize(("y", "flanked"), [(-0.05, True), (0.06, False)])
def test_a_knee_is_flanked_by_markers_on_both_sides(y, flanked):
    """The one above the knee does not count, on whichever side it is."""
    places = {"OUT": (0.0, 0.05, -0.4), "UP": (0.0, -0.05, -0.2), "SECOND": (0.0, y, -0.41)}
    markers = tuple(Marker(name, np.array(at)) for name, at in places.items())
    knee = Joint(in_parent=np.array([0.0, 0.0, -0.4]))
    rig = Skeleton(
        (Body("left_thigh", None, markers=markers), Body("left_shin", "left_thigh", knee))
    )
    assert is_flanked(rig, "left_shin", np.array([0.0, 1.0, 0.0])) is flanked
