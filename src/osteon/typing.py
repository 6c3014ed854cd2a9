"""Types that every package speaks of."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
"""Real numbers; NaN is missing."""
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]
Say = Callable[[str], object]
"""Whoever wants to hear what is being done."""
