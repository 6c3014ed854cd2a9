"""Hip centres by regression from the pelvis's bony points.

All are given from the middle of the front spines (ASIS): forward, up, and outward to each side,
metres. Against bones the default misses by 13 ± 7 mm [Fiorentino 2016].
"""

from collections.abc import Callable

import numpy as np

from osteon.errors import BadValue
from osteon.typing import Array

MARKER_RADIUS = 0.007
"""Metres. Markers of 14 mm, as Plug-in Gait takes them to be."""
PUBIS_DEPTH = 0.44
"""Height of the pelvis by its width where the pubis carries no marker (Seidel needs it). Chosen:
hips of a pelvis 0.24 m wide then lie as deep as [Harrington 2007] has them."""


def _harrington(width: float, depth: float, leg: float) -> tuple[float, float, float]:
    """[Harrington 2007], the regressions with one variable each."""
    return -0.24 * depth - 0.0099, -0.30 * width - 0.0109, 0.33 * width + 0.0073


def _davis(width: float, depth: float, leg: float) -> tuple[float, float, float]:
    """[Davis 1991], the pelvis tilted forwards by β as its first author corrected Figure 3. How far
    the trochanter is behind the spine was measured there; here it follows from the leg, as in
    Plug-in Gait (0.1288 leg − 48.56 mm)."""
    theta, beta = np.radians(28.4), np.radians(18.0)
    c = 0.115 * leg - 0.0153
    back = -(0.1288 * leg - 0.04856) - MARKER_RADIUS
    forward = back * np.cos(beta) + c * np.cos(theta) * np.sin(beta)
    up = back * np.sin(beta) - c * np.cos(theta) * np.cos(beta)
    return forward, up, 0.5 * width - c * np.sin(theta)


def _seidel(width: float, depth: float, leg: float) -> tuple[float, float, float]:
    """[Seidel 1995]: 14 % of the width inward, 34 % of the depth back, 79 % of the height down."""
    return -0.34 * depth, -0.79 * PUBIS_DEPTH * width, 0.5 * width - 0.14 * width


HIP_METHODS: dict[str, Callable[[float, float, float], tuple[float, float, float]]] = {
    "harrington": _harrington,
    "davis": _davis,
    "seidel": _seidel,
}
"""By name: pelvis width, depth and leg length → forward, up, outward."""


def hip_centres(
    left_asis: Array, right_asis: Array, back: Array, leg: float, method: str = "harrington"
) -> tuple[Array, Array]:
    """Left and right hip centre (3,) in the frame the points are given in.

    Parameters
    ----------
    back : (3,)
        Middle of the back spines (PSIS), or the sacrum marker.
    leg
        Length of the leg from ASIS to ankle, metres; Davis uses it.
    """
    if method not in HIP_METHODS:
        raise BadValue(f"hip method must be one of {', '.join(HIP_METHODS)}, got {method!r}")
    middle = 0.5 * (left_asis + right_asis)
    left = left_asis - right_asis
    width = float(np.linalg.norm(left))
    left = left / width
    front = middle - back
    front = front - (front @ left) * left
    depth = float(np.linalg.norm(front))
    front = front / depth
    up = np.cross(front, left)
    forward, upward, outward = HIP_METHODS[method](width, depth, leg)
    centre = middle + forward * front + upward * up
    return centre + outward * left, centre - outward * left
