"""How far an angle goes: the arc outside the largest gap, per motion, then joined."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from osteon.errors import BadValue
from osteon.joint_limits._ranges_kernel import measure_arcs
from osteon.maths import TURN
from osteon.typing import Array, Indices

CELL = np.radians(5.0)
COMBINATIONS = ("general", "specific")


@dataclass(frozen=True, slots=True)
class RangeOptions:
    """How tight limits are drawn about the samples."""

    quantile: float = 1.0
    """Share of the samples, about the middle, that each limit keeps; 1: all."""
    margin: float = 0.0
    """Added at every end, degrees; negative makes limits tighter."""
    combine: str = "general"
    """Of several motions, ``general`` allows what any of them does, ``specific`` what all do."""

    def __post_init__(self) -> None:
        if not 0.0 < self.quantile <= 1.0:
            raise BadValue(f"quantile must lie above 0 and at most at 1, got {self.quantile}")
        if not abs(self.margin) <= 180.0:
            raise BadValue(f"margin must be between −180 and 180 degrees, got {self.margin}")
        if self.combine not in COMBINATIONS:
            raise BadValue(
                f"combine must be one of {', '.join(COMBINATIONS)}, got {self.combine!r}"
            )

    @property
    def tail(self) -> float:
        """Share of the samples cut off at each end."""
        return 0.5 * (1.0 - self.quantile)


class Arc(NamedTuple):
    """The range of an angle and what it rests on. Radians."""

    low: float
    high: float
    gap: float
    """Largest arc without samples."""
    coverage: float
    """Share of the 5° cells between low and high that hold a sample."""


NO_ARC = Arc(np.nan, np.nan, TURN, 0.0)


def find_arc(angles: Array, motion_of: Indices, options: RangeOptions) -> Arc:
    """The range of angles (n_samples,), of which ``motion_of`` (n_samples,) tells the motion."""
    return find_arcs(angles[:, None], motion_of, options)[0]


def find_arcs(angles: Array, motion_of: Indices, options: RangeOptions) -> list[Arc]:
    """The ranges of n angles (n_samples, n); NaN is passed over."""
    above, start, width, coverage, n_seen = measure_arcs(angles, CELL)
    low = -highest(-above, motion_of, options)
    high = highest(above, motion_of, options)
    # nothing that all motions share, or a negative margin: the middle is left
    middle = 0.5 * (low + high)
    low, high = np.where(low > high, middle, low), np.where(low > high, middle, high)
    high = np.minimum(high, low + TURN)
    columns = (start + low, start + high, TURN - width, coverage)
    arcs = map(Arc, *(column.tolist() for column in columns))
    return [arc if n else NO_ARC for arc, n in zip(arcs, n_seen.tolist(), strict=True)]


def highest(values: Array, motion_of: Indices, options: RangeOptions) -> Array:
    """Upper end (...) of values (n_samples, ...), quantile, margin and combination applied."""
    n_motions = motion_of[-1] + 1
    if n_motions == 1:
        end = _upper(values, options)
    else:
        ends = [_upper(values[motion_of == motion], options) for motion in range(n_motions)]
        end = np.max(ends, axis=0) if options.combine == "general" else np.min(ends, axis=0)
    return end + np.radians(options.margin)


def _upper(values: Array, options: RangeOptions) -> Array:
    if options.tail == 0.0:
        return np.fmax.reduce(values, axis=0, initial=-np.inf)
    return np.nanquantile(values, 1.0 - options.tail, axis=0)
