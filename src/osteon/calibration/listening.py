"""How a calibration says how far it is."""

from osteon.typing import Share


def part(progress: Share, start: float, end: float) -> Share:
    """Return the listener of a step that is the work from one share to another."""
    return lambda share: progress(start + share * (end - start))
