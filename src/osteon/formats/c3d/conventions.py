"""A file's unit, rate and upward axis, as it states them or as its numbers show them."""

import re

import numpy as np

from osteon.formats.c3d.data import Points
from osteon.formats.c3d.header import Header
from osteon.formats.c3d.parameters import C3dParameters
from osteon.formats.shared.units import LOOKS, stance_of

UNITS = (
    ("mm", re.compile(r"mm|milli", re.IGNORECASE)),
    ("cm", re.compile(r"cm|centi", re.IGNORECASE)),
    ("in", re.compile(r"in(ch|$)", re.IGNORECASE)),
    ("ft", re.compile(r"ft|f[oe]+t", re.IGNORECASE)),
    ("m", re.compile(r"m$|met", re.IGNORECASE)),
)
METRE_SIZE = 10.0
"""Coordinates below are metres, others millimetres; chosen: between the order of 1 and of 1000 that
those of a person have in either."""
DEFAULT_RATE = 100.0
"""Frames per second where the file does not say; chosen: a usual one, and the user is told."""


def find_rate(header: Header, parameters: C3dParameters, problems: list[str]) -> float:
    given = (parameters.number("POINT", "RATE"), header.rate, parameters.number("ROTATION", "RATE"))
    for rate in given:
        if rate is not None and np.isfinite(rate) and 1e-6 < rate < 1e9:
            return float(rate)
    problems.append(f"no frame rate given; {DEFAULT_RATE:g} frames per second assumed")
    return DEFAULT_RATE


def find_unit(parameters: C3dParameters, points: Points, problems: list[str]) -> str:
    said = parameters.text("POINT", "UNITS")
    for unit, pattern in UNITS:
        if pattern.match(said):
            return unit
    typical = _typical_size(points)
    unit = "m" if typical < METRE_SIZE else "mm"
    what = f"unit {said!r} is unknown" if said else "no unit given"
    if points.seen.any():
        problems.append(f"{what}; {unit} judged from coordinates of about {typical:.3g}")
    return unit


def find_up(
    parameters: C3dParameters, points: Points, metres: float, problems: list[str]
) -> tuple[str, bool]:
    """The upward axis and whether the file states it.

    The file states how it wants to be drawn: ``Y_SCREEN`` is the axis drawn upwards. Z there is
    believed, with either sign (QTM writes −Z for upright people). Another axis may mean a view
    from above (ART-Human draws X and Y), so there the coordinates may object.
    """
    said = parameters.text("POINT", "Y_SCREEN").strip("+- ").lower()[:1]
    if said == "z":
        return "z", True
    stance = stance_of(_sample(points)[0] * metres)
    judged = stance.up() if stance else None
    if said in ("x", "y"):
        if stance is None or not (judged == "z" or stance.contradicts("xy".index(said))):
            return said, True
        problems.append(f"{said} is drawn upwards, but the markers stand along z: z taken as up")
        return "z", False
    if judged in (None, "z"):
        return "z", False
    problems.append(f"no upward axis given; {judged} judged from how the markers stand")
    return judged, False


def _sample(points: Points) -> tuple[np.ndarray, np.ndarray]:
    step = max(1, len(points.seen) // LOOKS)
    seen = points.seen[::step]
    return np.where(seen[..., None], points.raw[::step] * points.factor, np.nan), seen


def _typical_size(points: Points) -> float:
    sample, seen = _sample(points)
    return float(np.median(np.abs(sample[seen]).max(axis=-1))) if seen.any() else 0.0
