"""The take tells passing errors of keypoints from lasting ones."""

import numpy as np
import pytest

from keypoint_scenes import SETS, scene
from osteon.keypoints import calibrate_keypoints
from osteon.keypoints.lasting_errors import DEEP_ERROR, SYSTEMATIC_ERROR
from osteon.values import Recording

WALK = scene("OpenCap-20")
KNOWN = SETS["OpenCap-20"].match(WALK.names)
SIZES = [DEEP_ERROR if name.endswith(("Hip", "Knee")) else SYSTEMATIC_ERROR for name in WALK.names]


def off(way: str, seed: int) -> np.ndarray:
    """(n_points, 3) metres; who walks ahead along x has the room's axes."""
    rng = np.random.default_rng([seed, 7])
    away = np.array(SIZES)[:, None] * rng.normal(size=(len(SIZES), 3))
    if way == "alike":
        for column, name in enumerate(WALK.names):
            if name.startswith("R"):
                away[column] = away[WALK.names.index("L" + name[1:])] * [1.0, -1.0, 1.0]
    return away


def share(away: np.ndarray | float, seed: int, jumped: float = 0.0) -> float:
    """Of the deviation that others have measured, stated of an ankle."""
    seen = WALK.seen(0.015, jumped, seed)
    worn = Recording(seen.positions + away, seen.names, seen.rate)
    deviation = calibrate_keypoints([worn], KNOWN).skeleton.body("left_foot").joint.deviation
    assert deviation is not None
    return deviation / SYSTEMATIC_ERROR


@pytest.mark.parametrize("jumped", [0.0, 0.03])
def test_noise_and_jumps_pass(jumped):
    """Joints are 1 to 2 mm off in the mean of such a take; 13 were stated."""
    assert share(0.0, 0, jumped) < 0.3


@pytest.mark.parametrize("way", ["each", "alike"])
def test_what_lasts_is_told(way):
    """As large as it was drawn, within a factor of two (of 16 draws one was below 0.5)."""
    found = [share(off(way, seed), seed) for seed in range(3)]
    assert 0.5 < np.sqrt(np.mean(np.square(found))) < 2.0


def test_without_time_it_is_as_others_have_measured():
    found = calibrate_keypoints([WALK.seen(0.015)], KNOWN, in_order=False).skeleton
    assert found.body("left_thigh").joint.covariance[0, 0] > DEEP_ERROR**2
    assert found.body("left_foot").joint.covariance[0, 0] > SYSTEMATIC_ERROR**2


def test_one_side_alone_tells_nothing():
    left = [name for name in WALK.names if not name.startswith("R")]
    found = calibrate_keypoints([WALK.seen(0.015).select(left)], KNOWN).skeleton
    assert found.body("left_shin").joint.covariance[0, 0] > DEEP_ERROR**2
