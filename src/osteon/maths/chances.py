"""What chance alone allows."""

import math
from functools import cache

WIDEST_ODDS = 700.0
"""Ratio, its natural logarithm. Derived: e to a higher power leaves the range of doubles."""


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
    tiny, eps = 1e-300, 1e-16
    value = up = 1.0
    down = 0.0
    k = 0
    while True:
        k += 1
        m = k // 2
        if k % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        down = 1.0 / ((1.0 + term * down) or tiny)
        up = (1.0 + term / up) or tiny
        value *= up * down
        if abs(up * down - 1.0) <= eps:
            return value
