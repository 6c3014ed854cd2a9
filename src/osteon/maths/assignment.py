"""Who belongs to whom, at the least sum of costs."""

from osteon.typing import Array, Indices


def assign(costs: Array) -> tuple[Indices, Indices]:
    """Return rows and columns of a table (n, m) that belong together, each at most once."""
    from scipy.optimize import linear_sum_assignment  # slow to load, rarely asked for

    return linear_sum_assignment(costs)
