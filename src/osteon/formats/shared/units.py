"""Files whose up axis is not z, and lengths that are not metres: turned here, turned back here."""

import numpy as np

from osteon.errors import BadValue
from osteon.maths import quat
from osteon.typing import Array

METRES = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "in": 0.0254, "ft": 0.3048}
"""Length of a unit in metres."""

_HALF = np.sqrt(0.5)
TO_Z_UP = {
    "z": np.array([1.0, 0.0, 0.0, 0.0]),
    # (x, y, z) → (x, −z, y): what Blender does with y-up files
    "y": np.array([_HALF, _HALF, 0.0, 0.0]),
    # (x, y, z) → (−z, y, x)
    "x": np.array([_HALF, 0.0, -_HALF, 0.0]),
}
"""Rotation to our world (z up) from a file's."""

CYCLIC_TO_Z_UP = np.array([0.5, 0.5, 0.5, 0.5])
"""(x, y, z) → (z, x, y): y up as the CMU archive's ASF/AMC files lie beside its C3D files."""


def metres_per(unit: str) -> float:
    """Length of a unit in metres; ``in/0.45`` is an inch divided by 0.45, as ASF files count."""
    name, _, divisor = unit.partition("/")
    if name not in METRES:
        raise BadValue(f"unknown unit {unit!r}; known: {', '.join(METRES)}")
    try:
        return METRES[name] / float(divisor or 1.0)
    except (ValueError, ZeroDivisionError):
        raise BadValue(f"unit {unit!r} must be divided by a number such as in 'in/0.45'") from None


def turn_points(points: Array, q: Array) -> Array:
    """Points in another world. The turns above only exchange axes, so no digit is lost."""
    matrix = np.rint(quat.to_matrix(q))
    columns = np.argmax(np.abs(matrix), axis=1)
    return points[..., columns] * matrix[np.arange(3), columns]


def turn_rotations(rotations: Array, q: Array) -> Array:
    """World rotations (..., 4) of bodies, in another world."""
    return quat.multiply(q, rotations)


def turn_local(rotations: Array, q: Array) -> Array:
    """Rotations (..., 4) between bodies whose frames turn along with the world."""
    return np.concatenate([rotations[..., :1], turn_points(rotations[..., 1:], q)], axis=-1)


def to_z_up(up: str) -> Array:
    """Rotation to our world from one whose ``up`` axis points up."""
    if up not in TO_Z_UP:
        raise BadValue(f"the up axis must be x, y or z, got {up!r}")
    return TO_Z_UP[up]
