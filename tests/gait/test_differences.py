"""Two sessions compared cycle by cycle: told where they differ, silent where they do not."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from osteon.delivery.gait_files import differing
from osteon.gait import comparable_sides, differences_between
from osteon.pipeline import GaitComparison

POINTS = np.linspace(0.0, 1.0, 101)
KEY = ("knee flexion", "left")


def session(rng: np.random.Generator, n_cycles: int, shift: float | np.ndarray = 0.0) -> Any:
    """Cycles that scatter by 2°, each by an offset and a sine of its own."""
    offsets = rng.normal(size=(n_cycles, 1))
    waves = rng.normal(size=(n_cycles, 1)) * np.sin(2 * np.pi * POINTS + rng.uniform(0, 6))
    curves = np.radians(60 * np.sin(np.pi * POINTS) + 1.6 * offsets + 1.6 * waves) + shift
    return [SimpleNamespace(curves={KEY: curves})]


def test_a_bump_is_told_where_it_is() -> None:
    rng = np.random.default_rng(1)
    bump = np.radians(12.0) * np.exp(-0.5 * ((POINTS - 0.5) / 0.08) ** 2)
    (found,) = differences_between(session(rng, 8, bump), session(rng, 8))
    assert (found.channel, found.side) == KEY
    assert 30 <= found.part[0] < 50 < found.part[1] <= 70
    assert np.degrees(found.most) == pytest.approx(12.0, abs=3.0)  # the mean of 8 is known to 0.8°
    assert "knee flexion, left" in str(found) and "more than the other" in str(found)


def test_one_person_hardly_differs_from_herself() -> None:
    """Simulated 0.8 % of curves at most; of 60 none or few."""
    rng = np.random.default_rng(2)
    shown = [bool(differences_between(session(rng, 6), session(rng, 6))) for _ in range(60)]
    assert sum(shown) <= 3


def test_two_cycles_are_not_compared() -> None:
    rng = np.random.default_rng(3)
    assert differences_between(session(rng, 2, 1.0), session(rng, 8)) == ()


def test_what_cannot_be_compared_is_not_said_to_be_alike() -> None:
    rng = np.random.default_rng(4)
    few, many = session(rng, 2, 1.0), session(rng, 8)
    assert comparable_sides(many, session(rng, 3)) == ("left",)
    assert comparable_sides(few, many) == ()
    (told,) = differing(few, GaitComparison(tuple(many), "before"))
    assert "cannot be told" in told and "left and right" in told
