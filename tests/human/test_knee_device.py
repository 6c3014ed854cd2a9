"""A knee's device: where its stems meet, and what becomes of its markers."""

from dataclasses import replace

import numpy as np
import pytest

from conftest import assert_close, real
from osteon.formats import read
from osteon.human import with_knee_markers
from osteon.maths import quat
from osteon.values import Recording

STEM = 0.102
OTHERS = ("LASI", "RASI", "LANK", "RANK")


def standing(rng, side: str, *, marked: bool = False) -> tuple[Recording, np.ndarray]:
    """Somebody who sways, with a device on one knee turned anyhow; where its stems meet."""
    outward = 1.0 if side == "L" else -1.0
    knee = np.array([0.0, 0.1 * outward, 0.5]) + 0.01 * rng.normal(size=(20, 3))
    turn = quat.exp(np.array([0.2, -0.1, 0.3]))
    stems = [[0.0, outward, 0.0], [0.6, 0.0, 0.8], [0.8, 0.0, -0.6]]
    ends = [knee + STEM * quat.rotate(turn, np.array(stem)) for stem in stems]
    body = [[0.1, 0.12, 1.0], [0.1, -0.12, 1.0], [-0.05, 0.1, 0.1], [-0.05, -0.1, 0.1]]
    names = [*OTHERS, f"{side}KAX", f"{side}KD1", f"{side}KD2"]
    paths = [*(np.tile(place, (20, 1)) for place in body), *ends]
    if marked:
        names, paths = [*names, f"{side}KNE"], [*paths, knee + 0.5]
    residuals = np.zeros((20, len(names)))
    return Recording(np.stack(paths, axis=1), tuple(names), 100.0, residuals=residuals), knee


@pytest.mark.parametrize("side", ["L", "R"])
def test_the_stems_meet_where_the_marker_would_be(rng, side):
    recording, knee = standing(rng, side)
    found = with_knee_markers(recording)
    assert found.names == (*OTHERS, f"{side}KNE")
    assert_close(found.positions[:, 4], knee, 1e-12)
    assert found.measured.all()  # no residual tells them apart


def test_a_marker_that_is_there_is_kept_and_the_device_left_out(rng):
    recording, knee = standing(rng, "R", marked=True)
    found = with_knee_markers(recording)
    assert found.names == (*OTHERS, "RKNE")
    assert_close(found.positions[:, 4], knee + 0.5, 1e-12)


def test_without_a_device_nothing_changes(rng):
    recording, _ = standing(rng, "L")
    plain = recording.select(["LASI", "LKAX"])
    assert with_knee_markers(plain) is plain
    unseen = np.where(np.arange(recording.n_markers)[:, None] < 4, recording.positions, np.nan)
    listed = replace(recording, positions=unseen)
    assert with_knee_markers(listed) is listed


def test_a_hospitals_device_gives_the_point_that_its_own_model_found():
    take = read(real("clinical-gait-auckland/RCH/static/RCH.01.c3d")).recordings[0]
    found = with_knee_markers(take.markers())
    for knee in ("LKNE", "RKNE"):
        off = found.positions[:, found.index(knee)] - take.positions[:, take.index(knee)]
        assert np.nanmax(np.linalg.norm(off, axis=-1)) < 1e-4
