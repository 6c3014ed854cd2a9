"""What segments weigh, where their centres of mass lie, and how they resist turning.

Masses are those of ``human``; centres and radii of gyration are de Leva's [de Leva 1996], as shares
of the bone's length from its joint.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from osteon.human import body_masses, bone_lengths
from osteon.typing import Array
from osteon.values import Skeleton

CENTRE_SHARES = {
    "upper_arm": 0.577,
    "forearm": 0.457,
    "hand": 0.790,
    "thigh": 0.410,
    "shin": 0.446,
    "foot": 0.5,
}
"""Shares of the bone's length at which the centre of mass lies, men [de Leva 1996]; the foot's,
whose bone begins at the ankle instead of the heel, is chosen: its middle."""
ACROSS_SHARES = {
    "upper_arm": 0.277,
    "forearm": 0.270,
    "hand": 0.571,
    "thigh": 0.329,
    "shin": 0.252,
    "foot": 0.251,
}
"""Shares of the bone's length: radius of gyration across it, the mean of both [de Leva 1996]."""
ALONG_SHARES = {
    "upper_arm": 0.158,
    "forearm": 0.121,
    "hand": 0.401,
    "thigh": 0.149,
    "shin": 0.103,
    "foot": 0.124,
}
"""Shares of the bone's length: radius of gyration about the bone itself [de Leva 1996]."""
OTHER_SHARES = (0.5, 0.35, 0.2)
"""Shares of the bone's length for trunk and head: centre, radii across and along. Chosen: between
those of the trunk's parts."""


@dataclass(frozen=True, eq=False)
class Inertias:
    """Per body of a skeleton, in its own frame."""

    masses: Array
    """(n_bodies,) kilograms."""
    centres: Array
    """(n_bodies, 3) centres of mass, metres."""
    tensors: Array
    """(n_bodies, 3, 3) about the centre of mass, kg m²."""


def segment_inertias(
    skeleton: Skeleton, parts: Mapping[str, str], mass: float | None = None
) -> Inertias:
    """Return the inertias of a human rig.

    Parameters
    ----------
    parts
        Human part → body, as ``name_parts`` gives it.
    mass
        Of the whole body, kilograms; by its height where not given.
    """
    masses = body_masses(skeleton, parts, mass)
    lengths = bone_lengths(skeleton)
    limbs = {body: part.partition("_")[2] for part, body in parts.items()}
    centres, tensors = np.zeros((len(masses), 3)), np.zeros((len(masses), 3, 3))
    for index, body in enumerate(skeleton.names):
        ends = skeleton.bone_ends(index)
        if not len(ends):
            continue
        limb = limbs.get(body, "")
        usual = OTHER_SHARES
        shares = [
            table.get(limb, other)
            for table, other in zip(
                (CENTRE_SHARES, ACROSS_SHARES, ALONG_SHARES), usual, strict=True
            )
        ]
        end = np.mean(np.asarray(ends, dtype=float), axis=0)
        bone = end / max(float(np.linalg.norm(end)), 1e-9)
        centres[index] = shares[0] * end
        across, along = (masses[index] * (share * lengths[index]) ** 2 for share in shares[1:])
        tensors[index] = across * np.eye(3) + (along - across) * np.outer(bone, bone)
    return Inertias(masses, centres, tensors)
