"""Labels that a stream exchanges are put right, whatever else happens then."""

import numpy as np

from osteon.live.label_watch import Courses

RATE = 100.0


def moving(n_frames: int, n: int = 5) -> np.ndarray:
    """(n_frames, n, 3) markers about 10 cm apart, in a straight line at 1 m/s."""
    rng = np.random.default_rng(4)
    places = rng.uniform(-0.05, 0.05, (n, 3)) + np.arange(n)[:, None] * [0.08, 0.0, 0.0]
    return places + np.arange(n_frames)[:, None, None] * [0.01, 0.0, 0.0]


def sorted_out(paths: np.ndarray, order: np.ndarray, places: np.ndarray | None = None):
    courses = Courses(RATE)
    told = [
        courses.sort_out(number, path[which], None if places is None else places[number])[0]
        for number, (path, which) in enumerate(zip(paths, order, strict=True))
    ]
    return np.array(told)


def test_exchanges_that_overlap_are_all_put_right() -> None:
    """Three labels go round, and come back in another order than they went."""
    paths = moving(60)
    order = np.tile(np.arange(5), (60, 1))
    for first, pair in ((10, [0, 1]), (20, [1, 2]), (30, [0, 1]), (40, [0, 2])):
        order[first:, pair] = order[first:, pair[::-1]]
    np.testing.assert_array_equal(sorted_out(paths, order), paths)


def test_exchanged_while_the_limb_is_thrown() -> None:
    """All markers are 6 cm off their courses in the frame of the exchange."""
    paths, order = moving(30), np.tile(np.arange(5), (30, 1))
    paths[15:] += [0.0, 0.06, 0.0]
    order[15:, [1, 3]] = [3, 1]
    np.testing.assert_array_equal(sorted_out(paths, order), paths)


def test_a_limb_that_is_thrown_alone_exchanges_nothing() -> None:
    paths, order = moving(30), np.tile(np.arange(5), (30, 1))
    paths[15:] += [0.0, 0.06, 0.0]
    np.testing.assert_array_equal(sorted_out(paths, order), paths)


def test_exchanged_while_hidden_is_told_by_the_pose() -> None:
    """Courses have ended by the time the two come back; where the person has them has not."""
    paths, order = moving(40), np.tile(np.arange(5), (40, 1))
    shown = paths.copy()
    shown[10:25, [0, 2]] = np.nan
    order[10:, [0, 2]] = [2, 0]
    told = sorted_out(shown, order, places=paths + 0.005)
    np.testing.assert_array_equal(told[25:], paths[25:])
    np.testing.assert_array_equal(sorted_out(shown, order)[25:, 0], paths[25:, 2])
