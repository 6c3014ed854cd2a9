"""Smoothing in time. Never needed to solve a rig; for those who want calm curves."""

import numpy as np

from osteon.cleaning.seen_runs import runs
from osteon.errors import BadValue
from osteon.typing import Array
from osteon.values import Recording

METHODS = ("butterworth", "spline")
LOWEST_CUTOFF = 0.01
"""Hz: a cut-off that leaves hardly more than a straight line of a take."""


def smooth(recording: Recording, cutoff: float = 6.0, method: str = "butterworth") -> Recording:
    """Low-pass every marker without lag; gaps stay gaps, and stretches between them are separate.

    Parameters
    ----------
    cutoff
        Frequency in Hz at which half of the power is left.
    method
        ``butterworth`` runs a second-order filter forwards and backwards; ``spline`` is the cubic
        smoothing spline with the same cut-off, gentler at the ends of a stretch.
    """
    if method not in METHODS:
        raise BadValue(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if not LOWEST_CUTOFF <= cutoff < 0.5 * recording.rate:
        raise BadValue(
            f"cutoff must lie between {LOWEST_CUTOFF} Hz and half the frame rate "
            f"({0.5 * recording.rate:g} Hz), got {cutoff:g} Hz"
        )
    apply = _butterworth if method == "butterworth" else _spline
    positions = recording.positions.copy()
    for run in runs(recording.seen):
        if recording.names[run.marker] not in recording.outputs:
            frames = slice(run.first, run.last + 1)
            positions[frames, run.marker] = apply(
                positions[frames, run.marker], cutoff, recording.rate
            )
    return recording.with_positions(positions, f"smooth(cutoff={cutoff:g} Hz, method={method})")


def _butterworth(path: Array, cutoff: float, rate: float) -> Array:
    """Second order, there and back: fourth order without lag, its cut-off set for both passes."""
    if len(path) < 4:
        return path
    both_ways = (np.sqrt(2.0) - 1.0) ** 0.25
    warped = np.tan(np.pi * cutoff / rate) / both_ways
    single = np.arctan(warped) * rate / np.pi
    from scipy.signal import butter, sosfiltfilt  # slow to load, rarely asked for

    sections = butter(2, single, fs=rate, output="sos")
    # a reflected second at each end lets the filter settle before the data begins
    return sosfiltfilt(sections, path, axis=0, padlen=min(round(rate), len(path) - 1))


def _spline(path: Array, cutoff: float, rate: float) -> Array:
    """The smoothing spline passes 1 / (1 + λω⁴ / rate) of an oscillation."""
    if len(path) < 5:
        return path
    stiffness = (np.sqrt(2.0) - 1.0) * rate / (2.0 * np.pi * cutoff) ** 4
    times = np.arange(len(path)) / rate
    from scipy.interpolate import make_smoothing_spline  # slow to load, rarely asked for

    return make_smoothing_spline(times, path, lam=stiffness, axis=0)(times)
