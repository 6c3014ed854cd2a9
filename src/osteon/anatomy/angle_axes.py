"""About which axis of the world each named angle turns, frame by frame.

What a moment does about such an axis is what it does to the angle: their products add up to the
joint's power, also where the axes are not square to each other.
"""

import numpy as np

from osteon.anatomy.clinical_angles import (
    HINGES,
    ClinicalAngles,
    JointRow,
    named_rows,
)
from osteon.maths import quat
from osteon.typing import Array

BODIES = {"trunk": "chest", "malleoli": "shin"}
"""Segments that are called otherwise than the rig's bodies."""


def joint_axes(angles: ClinicalAngles) -> dict[str, tuple[str, str, Array]]:
    """Return by angle: the joint's label, the body below it, and the axis (n_frames, 3), such that
    turning the body about it makes the angle larger. Angles from the world are left out."""
    found = {}
    for label, row, side in named_rows(angles.convention):
        parent = next((p for p in row.parents if row.segment(p, side) in angles.segments), None)
        if label not in angles.points or parent is None:
            continue
        upper = angles.segments[row.segment(parent, side)].rotations
        lower = angles.segments[row.segment(row.child, side)].rotations
        axes = _axes(row, side, upper, lower)
        body = row.segment(BODIES.get(row.child, row.child), side)
        for name, column in zip(angles.points[label], row.columns, strict=True):
            found[name] = label, body, column.sign * axes[column.slot]
    return found


def _axes(row: JointRow, side: str, upper: Array, lower: Array) -> list[Array]:
    """The three successive axes in the world; a left limb's are mirrored as its angles are."""
    mirror = np.array([-1.0, -1.0, 1.0]) if side == "left" else np.ones(3)
    if row.order in HINGES:
        first, second = np.array(HINGES[row.order])
        outer, inner = quat.rotate(upper, mirror * first), quat.rotate(lower, mirror * second)
        return [outer, inner, np.zeros_like(outer)]
    first, middle, last = (np.eye(3)["xyz".index(letter)] for letter in row.order)
    outer, inner = quat.rotate(upper, mirror * first), quat.rotate(lower, mirror * last)
    # an axis that comes back, as in the shoulder's order, has its middle angle below zero
    sign = np.cross(last, first) @ middle or 1.0
    return [outer, sign * quat.normalise(np.cross(inner, outer)), inner]
