"""What the parts of a body weigh."""

from collections.abc import Mapping

import numpy as np

from osteon.human.parts import chain_between
from osteon.typing import Array
from osteon.values import Skeleton

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
"""Kilograms per square metre of height: what a figure weighs where nobody says. Chosen: inside the
18.5 to 25 that count as normal."""
LEG_SHARE = 0.49
"""Length of thigh and shin as a share of the height: 0.530 less 0.039 [Drillis 1966], 0.2425 and
0.2493 [de Leva 1996]."""
DENSITY = 1000.0
"""Kilograms per cubic metre, for skeletons that are no people. Chosen: that of water."""
LEAST = 0.01
"""Kilograms. Chosen: a body without mass cannot be simulated."""


def body_masses(
    skeleton: Skeleton, parts: Mapping[str, str] | None, mass: float | None = None
) -> Array:
    """(n_bodies,) kilograms.

    Parameters
    ----------
    parts
        Human part → body, as ``name_parts`` gives it; None for a skeleton that is no person.
    mass
        Of the whole figure; by its height where not given.
    """
    lengths = bone_lengths(skeleton)
    if parts is None:
        return np.maximum(DENSITY * np.pi * (0.12 * lengths) ** 2 * lengths, LEAST)
    if mass is None:
        mass = BODY_MASS_INDEX * standing_height(skeleton, parts) ** 2
    masses = np.full(len(skeleton.bodies), LEAST)
    for share, owners in _owners(skeleton, parts):
        index = [skeleton.index(name) for name in owners]
        size = lengths[index] + 1e-3
        masses[index] += share * mass * size / size.sum()
    return masses


def standing_height(skeleton: Skeleton, parts: Mapping[str, str]) -> float:
    """Height of a person with these legs, metres."""
    offsets = skeleton.offsets
    legs = [
        float(np.linalg.norm(offsets[skeleton.index(parts[part])]))
        for part in ("left_shin", "right_shin", "left_foot", "right_foot")
        if part in parts
    ]
    return 2.0 * sum(legs) / max(len(legs), 1) / LEG_SHARE


def bone_lengths(skeleton: Skeleton) -> Array:
    """(n_bodies,) from each joint to the farthest end of its bones, metres."""
    lengths = np.zeros(len(skeleton.bodies))
    for offset, parent in zip(skeleton.offsets, skeleton.parents, strict=True):
        if parent >= 0:
            lengths[parent] = max(lengths[parent], float(np.linalg.norm(offset)))
    for index, body in enumerate(skeleton.bodies):
        if body.tip is not None:
            tip = float(np.linalg.norm(body.tip - body.joint.in_body))
            lengths[index] = max(lengths[index], tip)
    return lengths


def _owners(skeleton: Skeleton, parts: Mapping[str, str]) -> list[tuple[float, list[str]]]:
    """Shares, each with the bodies that divide it."""
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
