"""What is known of all people: hip centres by regression, and what the parts of a body weigh.

Hips are given from the middle of the front spines (ASIS): forward, up, and outward to each side,
metres. Against bones the default misses by 13 ± 7 mm [Fiorentino 2016].
"""

from collections.abc import Callable, Mapping

import numpy as np

from osteon.errors import BadValue
from osteon.human.parts import chain_between
from osteon.typing import Array
from osteon.values import Skeleton

MARKER_RADIUS = 0.007
"""Metres; chosen: markers of 14 mm, as Plug-in Gait takes them to be. [Davis 1991] counts from
their middle."""
MARKER_STANDOFF = 0.013
"""Metres that a marker on the front spine stands before, above and outside of the point of the bone
that regressions start from: skin, fat, its own radius. Measured on four people with known hips,
where the regression of [Harrington 2007] from markers is 13 mm off in each of the three; four
others agree to 6 mm (docs/numbers/anatomy.md)."""
PELVIS_HEIGHT = 0.44
"""Ratio of the pelvis's height to its width where the pubis carries no marker ([Seidel 1995] needs
it). Chosen: hips of a pelvis 0.24 m wide then lie as deep as [Harrington 2007] has them."""
SHARES = {
    "head": 0.069,
    "trunk": 0.435,
    "upper_arm": 0.027,
    "forearm": 0.016,
    "hand": 0.006,
    "thigh": 0.142,
    "shin": 0.043,
    "foot": 0.014,
}
"""Shares of the body's mass, men [de Leva 1996], rounded to a thousandth; one limb of each pair."""
BODY_MASS_INDEX = 23.0
"""Kilograms per square metre of height: what a person weighs where nobody says. Chosen within 18.5
to 25, which count as normal."""
LEG_SHARE = 0.49
"""Share of the height that thigh and shin have: 0.530 less 0.039 [Drillis 1966], 0.2425 and 0.2493
[de Leva 1996]."""
BODY_DENSITY = 1000.0
"""Kilograms per cubic metre, for skeletons that are no people; chosen: water's."""
LEAST_MASS = 0.01
"""Kilograms; chosen: a body without mass cannot be moved by forces, and this hardly weighs."""


def _harrington(width: float, depth: float, leg: float) -> tuple[float, float, float]:
    """Return the regressions of [Harrington 2007] with one variable each."""
    return -0.24 * depth - 0.0099, -0.30 * width - 0.0109, 0.33 * width + 0.0073


def _davis(width: float, depth: float, leg: float) -> tuple[float, float, float]:
    return davis_hip(width, leg)


def davis_hip(
    width: float, leg: float, trochanter: float | None = None
) -> tuple[float, float, float]:
    """Return forward, up and outward of [Davis 1991], the pelvis tilted forwards by β as its first
    author corrected Figure 3.

    Parameters
    ----------
    trochanter
        How far it is behind the front spine, metres; where nobody measured it, it follows from the
        leg as in Plug-in Gait (0.1288 leg − 48.56 mm).
    """
    theta, beta = np.radians(28.4), np.radians(18.0)
    c = 0.115 * leg - 0.0153
    behind = 0.1288 * leg - 0.04856 if trochanter is None else trochanter
    back = -behind - MARKER_RADIUS
    forward = back * np.cos(beta) + c * np.cos(theta) * np.sin(beta)
    up = back * np.sin(beta) - c * np.cos(theta) * np.cos(beta)
    return forward, up, 0.5 * width - c * np.sin(theta)


def _seidel(width: float, depth: float, leg: float) -> tuple[float, float, float]:
    """Return what [Seidel 1995] has: 14 % of the width inward, 34 % of the depth back, 79 % of the
    height down."""
    return -0.34 * depth, -0.79 * PELVIS_HEIGHT * width, 0.5 * width - 0.14 * width


HIP_METHODS: dict[str, Callable[[float, float, float], tuple[float, float, float]]] = {
    "harrington": _harrington,
    "davis": _davis,
    "seidel": _seidel,
}
"""By name: pelvis width, depth and leg length → forward, up, outward."""


def hip_centres(
    left_asis: Array,
    right_asis: Array,
    back: Array,
    leg: float,
    method: str = "harrington",
    standoff: float = 0.0,
) -> tuple[Array, Array]:
    """Return left and right hip centre (3,) in the frame the points are given in.

    Parameters
    ----------
    back : (3,)
        Middle of the back spines (PSIS), or the sacrum marker.
    leg
        Length of the leg from ASIS to ankle, metres; Davis uses it.
    standoff
        How far the points stand before, above and outside of the bone, metres.
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
    centre = middle + (forward - standoff) * front + (upward - standoff) * up
    return centre + (outward - standoff) * left, centre - (outward - standoff) * left


def body_masses(
    skeleton: Skeleton, parts: Mapping[str, str] | None, mass: float | None = None
) -> Array:
    """Return (n_bodies,) kilograms.

    Parameters
    ----------
    parts
        Human part → body, as ``name_parts`` gives it; None for a skeleton that is no person.
    mass
        Of the whole body; by its height where not given.
    """
    lengths = bone_lengths(skeleton)
    if parts is None:
        return np.maximum(BODY_DENSITY * np.pi * (0.12 * lengths) ** 2 * lengths, LEAST_MASS)
    if mass is None:
        mass = BODY_MASS_INDEX * standing_height(skeleton, parts) ** 2
    masses = np.full(len(skeleton.bodies), LEAST_MASS)
    for share, owners in _owners(skeleton, parts):
        index = [skeleton.index(name) for name in owners]
        size = lengths[index] + 1e-3
        masses[index] += share * mass * size / size.sum()
    return masses


def standing_height(skeleton: Skeleton, parts: Mapping[str, str]) -> float:
    """Return the height of a person with these legs, metres."""
    offsets = skeleton.offsets
    legs = [
        float(np.linalg.norm(offsets[skeleton.index(parts[part])]))
        for part in ("left_shin", "right_shin", "left_foot", "right_foot")
        if part in parts
    ]
    return 2.0 * sum(legs) / max(len(legs), 1) / LEG_SHARE


def bone_lengths(skeleton: Skeleton) -> Array:
    """Return (n_bodies,) from each joint to the farthest end of its bones, metres."""
    ends = map(skeleton.bone_ends, range(len(skeleton.bodies)))
    return np.array([max([0.0, *(float(np.linalg.norm(end)) for end in own)]) for own in ends])


def _owners(skeleton: Skeleton, parts: Mapping[str, str]) -> list[tuple[float, list[str]]]:
    """Return shares, each with the bodies that divide it."""
    pelvis, chest = parts["pelvis"], parts.get("chest", parts["pelvis"])
    trunk = chain_between(skeleton, pelvis, chest) if chest != pelvis else []
    owners = [(SHARES["trunk"], [*trunk, chest])]
    if "head" in parts:
        owners.append((SHARES["head"], [parts["head"]]))
    for part, body in parts.items():
        limb = part.partition("_")[2]
        if limb in SHARES:
            owners.append((SHARES[limb], [body]))
    return owners
