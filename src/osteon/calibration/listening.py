"""How a calibration says how far it is."""

from collections.abc import Callable

Share = Callable[[float], None]
"""Is told which share of the work is done, 0 to 1."""


def unheard(_share: float) -> None:
    """For those who do not ask."""


def part(progress: Share, start: float, end: float) -> Share:
    """Of a step that is the work from one share to another."""
    return lambda share: progress(start + share * (end - start))
