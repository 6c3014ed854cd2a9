"""Types that every package speaks of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
"""Real numbers; NaN is missing."""
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]
Share = Callable[[float], object]
"""Is told which share of the work is done, 0 to 1."""


def part(progress: Share, start: float, end: float) -> Share:
    """Return the listener of a step that is the work from one share to another."""
    return lambda share: progress(start + share * (end - start))


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a longer job, told when it begins and, if it takes its time, as it goes on.

    Printed it is its sentence.
    """

    id: str
    """Which step: ``read``, ``clean``, ``calibrate``, ``solve`` …"""
    saying: str
    share: float | None = None
    """How much of it is done, 0 to 1; None where it begins."""

    def __str__(self) -> str:
        return self.saying if self.share is None else f"{self.saying}, {100.0 * self.share:.0f} %"


Progress = Callable[[Step], object]
"""Whoever wants to follow the steps."""


def unheard(_told: object) -> None:
    """Take what nobody asked to hear."""
