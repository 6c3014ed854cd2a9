"""Hip centres by regression, against figures worked out by hand."""

import numpy as np
import pytest

from conftest import assert_close
from osteon.errors import BadValue
from osteon.human.anthropometry import HIP_METHODS, hip_centres
from osteon.maths import quat

# a pelvis 240 mm wide and 180 mm deep that stands level, x forward, y left, z up
LEFT, RIGHT, BACK = np.array([[0.1, 0.12, 1.0], [0.1, -0.12, 1.0], [-0.08, 0.0, 1.0]])

BY_HAND = {
    # -0.24 · 180 - 9.9 = -53.1; -0.30 · 240 - 10.9 = -82.9; 0.33 · 240 + 7.3 = 86.5 mm
    "harrington": (-0.0531, -0.0829, 0.0865),
    # leg 0.9 m: c = 0.115 · 900 - 15.3 = 88.2; back = 0.1288 · 900 - 48.56 + 7 = 74.36 mm
    # -74.36 cos 18° + 88.2 cos 28.4° sin 18° = -46.7455
    # -74.36 sin 18° - 88.2 cos 28.4° cos 18° = -96.7662; 120 - 88.2 sin 28.4° = 78.0499
    "davis": (-0.0467455, -0.0967662, 0.0780499),
    # -0.34 · 180 = -61.2; -0.79 · 0.44 · 240 = -83.424; 120 - 0.14 · 240 = 86.4 mm
    "seidel": (-0.0612, -0.083424, 0.0864),
}


@pytest.mark.parametrize("method", HIP_METHODS)
def test_centres_are_where_the_published_formula_puts_them(method):
    forward, up, out = BY_HAND[method]
    left, right = hip_centres(LEFT, RIGHT, BACK, 0.9, method)
    assert_close(left, [0.1 + forward, out, 1.0 + up], 1e-6)
    assert_close(right, [0.1 + forward, -out, 1.0 + up], 1e-6)


@pytest.mark.parametrize("method", HIP_METHODS)
def test_centres_turn_with_the_pelvis(method, rng):
    turn, shift = quat.normalise(rng.normal(size=4)), rng.normal(size=3)

    def moved(point):
        return quat.rotate(turn, point) + shift

    straight = hip_centres(LEFT, RIGHT, BACK, 0.9, method)
    turned = hip_centres(moved(LEFT), moved(RIGHT), moved(BACK), 0.9, method)
    assert_close(np.array(turned), moved(np.array(straight)), 1e-12)


def test_a_sacrum_beside_the_middle_leaves_the_hips_level():
    """Only the part of the back marker's place that lies in the middle plane counts."""
    askew = hip_centres(LEFT, RIGHT, BACK + [0.0, 0.03, 0.0], 0.9)
    assert_close(np.array(askew), np.array(hip_centres(LEFT, RIGHT, BACK, 0.9)), 1e-12)


def test_an_unknown_method_is_refused_by_name():
    with pytest.raises(BadValue, match="harrington, davis, seidel, got 'bell'"):
        hip_centres(LEFT, RIGHT, BACK, 0.9, "bell")
