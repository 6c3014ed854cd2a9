"""Fixtures and comparisons shared by all tests."""

import gc
import os
import sys
from pathlib import Path

import numpy as np
import pytest

gc.set_threshold(50_000)  # looking for rings of dead objects took a tenth of the tests' time

DATA = Path(os.environ.get("OSTEON_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260101)


def real(name: str) -> Path:
    """A real recording by its path below the data folder; skips where it is absent."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not here: set OSTEON_DATA to the folder of real recordings")
    return path


def assert_close(actual, expected, tolerance: float = 1e-12) -> None:
    """Equal to rounding; NaN only where both are."""
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def assert_rotations_close(actual, expected, tolerance: float = 1e-12) -> None:
    """Same rotations: a quaternion equals its negative; NaN is refused."""
    actual, expected = np.broadcast_arrays(actual, expected)
    assert np.isfinite(actual).all() and np.isfinite(expected).all()
    sign = np.where(np.sum(actual * expected, axis=-1, keepdims=True) < 0, -1.0, 1.0)
    np.testing.assert_allclose(actual, sign * expected, atol=tolerance)


def run(*args, monkeypatch, capsys) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the whole program."""
    from osteon.cli import main

    monkeypatch.setattr(sys, "argv", ["osteon", *map(str, args)])
    with pytest.raises(SystemExit) as stop:
        main()
    captured = capsys.readouterr()
    return int(stop.value.code or 0), captured.out, captured.err


@pytest.fixture
def command(monkeypatch, capsys):
    return lambda *args: run(*args, monkeypatch=monkeypatch, capsys=capsys)
