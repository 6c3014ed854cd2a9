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
"""Shares of the body's mass, men [de Leva 1996]; one limb of each pair."""
BODY_MASS_INDEX = 23.0
"""Kilograms per square metre of height: what a figure weighs where nobody says."""
LEG_SHARE = 0.47
"""Length of thigh and shin as a share of the height."""
DENSITY = 1000.0
"""Kilograms per cubic metre, for skeletons that are no people."""
LEAST = 0.01
"""Kilograms; a body without mass cannot be simulated."""


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
    ends = map(skeleton.bone_ends, range(len(skeleton.bodies)))
    return np.array([max([0.0, *(float(np.linalg.norm(end)) for end in own)]) for own in ends])


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
