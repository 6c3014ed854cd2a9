"""Pieces of one marker: where tracks are cut, and which go on from which by their own course."""

import numpy as np
import pytest

from osteon.labelling import label
from osteon.labelling.pieces import jumps
from osteon.values import Recording


def swing(rate: float, speed: float) -> np.ndarray:
    """A hand on an arm of 0.7 m that speeds up to ``speed`` metres per second and slows down."""
    time = np.arange(0.0, 1.0, 1.0 / rate)
    pace = speed / 0.7 * np.exp(-(((time - 0.5) / 0.12) ** 2))
    angle = np.cumsum(pace) / rate
    return 0.7 * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)


def test_a_hard_swing_is_no_jump() -> None:
    """A racket hand at 50 frames per second; 12 m/s are a quarter of a metre a frame."""
    path = swing(50.0, 12.0)
    assert np.linalg.norm(np.diff(path, axis=0), axis=-1).max() > 0.2
    assert len(jumps(path, 50.0)) == 0


@pytest.mark.parametrize("speed", [0.0, 1.0])
def test_another_marker_beside_is_a_jump(speed: float) -> None:
    path = swing(50.0, speed)
    path[25:] += [0.0, 0.0, 0.08]
    assert jumps(path, 50.0).tolist() == [25]


def test_a_single_sample_goes_on_as_its_partners_do() -> None:
    """At 3 m/s a marker is seen, lost for two frames, seen once, lost for two, and seen again."""
    rate, n = 100.0, 100
    path = np.zeros((n, 3))
    path[:, 0] = 3.0 * np.arange(n) / rate
    shown = [slice(0, 41), slice(43, 44), slice(46, n)]
    positions = np.full((n, 5, 3), np.nan)
    for column, frames in enumerate(shown):
        positions[frames, column] = path[frames]
    positions[:, 3:] = [[1.0, 1.0, 0.0], [1.0, 2.0, 0.0]]
    found = label(Recording(positions, tuple(f"*{i}" for i in range(5)), rate), marker_set="none")
    assert len({piece.label for piece in found.pieces if piece.track in ("*0", "*1", "*2")}) == 1
    assert found.recording.n_markers == 3


@pytest.mark.parametrize(("others", "names"), [((), 1), ((0.09,), 3)])
def test_who_comes_near_alone_goes_on(others: tuple[float, ...], names: int) -> None:
    """After a tenth of a second a marker comes out 65 mm off its course, where 50 are expected at
    most: it is the same if nobody else comes, and may be either if somebody does."""
    positions = np.full((200, 2 + len(others), 3), np.nan)
    positions[:90, 0] = 0.0
    for column, off in enumerate((0.065, *others), 1):
        positions[100:, column] = [0.0, off, 0.0]
    tracks = tuple(f"*{i}" for i in range(positions.shape[1]))
    found = label(Recording(positions, tracks, 100.0), marker_set="none")
    assert found.recording.n_markers == names


@pytest.mark.parametrize("n_frames", [1, 5])
def test_short_takes_keep_their_markers(n_frames: int) -> None:
    """Of a take shorter than any reflection nothing is known but what it shows throughout."""
    positions = np.random.default_rng(0).uniform(0.0, 1.0, (1, 6, 3)).repeat(n_frames, axis=0)
    positions[1:, 5] = np.nan
    found = label(Recording(positions, tuple("abcdef"), 120.0), marker_set="none")
    assert found.recording.n_markers == (6 if n_frames == 1 else 5)
