"""A limb that is moved along known axes, one after the other, as in a calibration phase."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from osteon.maths import quat


class Swept(NamedTuple):
    rotations: np.ndarray
    """(n, 4) to the parent's frame."""
    direction: np.ndarray
    """(3,) the limb in its own frame."""
    axes: np.ndarray
    """(2, 3) the true axes in the parent's frame."""
    angles: np.ndarray
    """(n, 3) about both axes, and the twist."""
    rest: np.ndarray
    """(4,)"""


def line_angle(a, b) -> float:
    """Degrees between two lines."""
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b)), abs(a @ b))))


def worst_angle(found, axes) -> float:
    """Degrees by which the worse of two axes is missed, whatever their order."""
    if len(found) < 2:
        return 90.0
    f, g = (direction.axis for direction in found[:2])
    straight = max(line_angle(f, axes[0]), line_angle(g, axes[1]))
    crossed = max(line_angle(g, axes[0]), line_angle(f, axes[1]))
    return min(straight, crossed)


def swept(
    rng: np.random.Generator,
    *,
    apart: float = 90.0,
    cone: float = 90.0,
    reach=((-50, 70), (-20, 60)),
    times=(3, 3),
    noise: float = 0.0,
    skin: float = 0.0,
    twist: float = 0.0,
    rate: int = 50,
) -> Swept:
    """Sweeps along two axes ``apart`` degrees apart; the limb stands ``cone`` degrees from both.

    Parameters
    ----------
    reach, times
        Degrees to both sides of rest, and how often, for each axis.
    noise
        White, degrees per axis.
    skin
        Most by which a sensor turns on its limb as a smooth function of the angles, degrees.
    twist
        Amplitude of a twist that goes on all the time, degrees.
    """
    turn = quat.normalise(rng.normal(size=4))
    first = np.array([1.0, 0.0, 0.0])
    second = np.array([np.cos(np.radians(apart)), np.sin(np.radians(apart)), 0.0])
    # a direction at the same angle from both axes
    middle = quat.normalise(first + second)
    along = np.cos(np.radians(cone)) / (middle @ first)
    start = along * middle + np.sqrt(1.0 - along**2) * np.array([0.0, 0.0, -1.0])
    tracks = []
    for axis in (0, 1):
        low, high = reach[axis]
        stops = [0.0, *[high, low] * times[axis], 0.0]
        for a, b in pairwise(stops):
            n = max(int(abs(b - a) / 60.0 * rate), 2)
            path = np.zeros((n, 2))
            path[:, axis] = a + (b - a) * (0.5 - 0.5 * np.cos(np.pi * np.arange(n) / n))
            tracks.append(path)
        tracks.append(np.zeros((2 * rate, 2)))
    angles = np.radians(np.concatenate(tracks))
    n = len(angles)
    spin = np.radians(twist) * np.sin(np.linspace(0.0, 9.0, n))
    turned = quat.multiply(
        quat.from_axis_angle(first, angles[:, 0]), quat.from_axis_angle(second, angles[:, 1])
    )
    turned = quat.multiply(turned, quat.from_axis_angle(start, spin))
    slide = np.radians(skin) * np.sin(angles @ rng.normal(size=(2, 3)) * 2.0)
    shaken = np.radians(noise) * rng.normal(size=(n, 3))
    rest = quat.normalise(rng.normal(size=4))
    q = quat.multiply(quat.multiply(turn, quat.multiply(turned, rest)), quat.exp(slide + shaken))
    direction = quat.rotate(quat.inverse(rest), start)
    axes = quat.rotate(turn, np.stack([first, second]))
    rest = quat.multiply(turn, rest)
    return Swept(q, direction, axes, np.column_stack([angles, spin]), rest)
