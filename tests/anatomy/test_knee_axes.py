"""What tells a knee's axis counts by its certainty."""

import numpy as np
import pytest

from conftest import assert_close
from osteon.anatomy.frame_recipes import FrameInput
from osteon.anatomy.knee_axes import Axis, together


def axis(source: str, degrees: float, sigma: float) -> Axis:
    turn = np.radians(degrees)
    way = np.array([[np.cos(turn), np.sin(turn), 0.0]])
    shown = FrameInput(way, np.radians(sigma))
    return Axis(source, f"by {source}", shown, swings=source == "motion")


def turned(found: FrameInput) -> float:
    return float(np.degrees(np.arctan2(found.over_time[0, 1], found.over_time[0, 0])))


def test_motion_and_epicondyles_count_together_and_the_template_does_not():
    axes = [axis("template", 40.0, 10.0), axis("landmarks", 0.0, 4.0), axis("motion", 6.0, 4.0)]
    (_, told, found, _), share = together(axes)
    assert_close([turned(found), np.degrees(found.sigma)], [3.0, 4.0 / np.sqrt(2.0)], 1e-6)
    assert share == pytest.approx(0.5)
    assert "by landmarks" in told and "by motion" in told and "template" not in told


def test_a_template_that_is_surest_does_not_silence_the_motion():
    (source, _, found, _), share = together(
        [axis("template", 0.0, 10.0), axis("motion", 10.0, 20.0)]
    )
    assert source == "template"
    # the mean of directions is within a thousandth of a degree of that of angles here
    assert_close([turned(found), share], [2.0, 0.2], 0.02)


def test_one_that_is_sure_by_far_stands_almost_alone():
    (source, told, found, _), _ = together(
        [axis("landmarks", 20.0, 12.0), axis("motion", 0.0, 3.0)]
    )
    assert source == "motion" and told == "by motion"
    assert abs(turned(found)) < 1.3
