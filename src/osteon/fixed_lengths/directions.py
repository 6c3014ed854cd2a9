"""Bodies turned so that their bones point where their children are."""

from collections.abc import Sequence

import numpy as np

from osteon.maths import quat
from osteon.typing import Array

FAINT_WEIGHT = 1e-9
"""Ratio: weight of a body's expected turn beside its children. Chosen: decides only what they leave
open."""


def children_of(parents: Sequence[int]) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in parents]
    for joint, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(joint)
    return children


def turned_to(start: Array, bones: Array, wanted: Array) -> Array:
    """World rotations (n_frames, 4) near ``start`` that bring ``bones`` (n, 3) to ``wanted``."""
    long = np.linalg.norm(bones, axis=-1) > 0.0
    bones, wanted = bones[long], wanted[:, long]
    if len(bones) == 0:
        return start
    if len(bones) == 1:
        turn = quat.shortest(quat.rotate(start, bones[0]), wanted[:, 0])
        turn = np.where(np.isfinite(turn), turn, quat.identity())
        return quat.multiply(turn, start)
    scale = FAINT_WEIGHT * np.sum(bones**2)
    pull = np.einsum("fci,cj->fij", wanted, bones) + scale * quat.to_matrix(start)
    return quat.from_matrix(quat.nearest_matrix(pull))
