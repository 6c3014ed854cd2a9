"""What chance alone allows."""

import math
from functools import cache

WIDEST_ODDS = 700.0
"""Ratio, its natural logarithm. Derived: e to a higher power leaves the range of doubles."""
MOST_TERMS = 10_000
"""Count; chosen: terms needed grow with the root of the degrees of freedom, 10 000 do for 10⁷."""
LAST_CHANGE = 4e-16
"""Share; derived from doubles: two steps of rounding, below which the value stands still."""


@cache
def f_quantile(above: float, below: float, chance: float) -> float:
    """Return what the ratio of two mean squares stays under by ``chance``.

    Parameters
    ----------
    above, below
        Degrees of freedom of the two.
    """
    low, high = -WIDEST_ODDS, WIDEST_ODDS
    while low < (middle := 0.5 * (low + high)) < high:
        share, rest = 1.0 / (1.0 + math.exp(-middle)), 1.0 / (1.0 + math.exp(middle))
        if _beta_share(above / 2.0, below / 2.0, share, rest) < chance:
            low = middle
        else:
            high = middle
    return below / above * math.exp(high)


def _beta_share(a: float, b: float, x: float, rest: float) -> float:
    """The regularised incomplete beta function; ``rest`` is 1 − x, known better than by taking."""
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _beta_share(b, a, rest, x)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    logarithm += a * math.log(x) + b * math.log(rest)
    return math.exp(logarithm) / (a * _continued_fraction(a, b, x))


def _continued_fraction(a: float, b: float, x: float) -> float:
    """Its continued fraction, from the front, as Lentz does."""
    tiny = 1e-300  # instead of zero, to divide by
    value = up = 1.0
    down = 0.0
    for k in range(1, MOST_TERMS):
        m = k // 2
        if k % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        down = 1.0 / ((1.0 + term * down) or tiny)
        up = (1.0 + term / up) or tiny
        value *= up * down
        if abs(up * down - 1.0) <= LAST_CHANGE:
            break
    return value
