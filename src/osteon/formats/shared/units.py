"""Units and axes of files: turned to metres and z up, turned back, and guessed where no file says.

Unit, from the longest chain of bones between the root and a tip (about 1.3 m in a human):
below 10 metres; below 500 centimetres; else millimetres. The CMU archive's own unit (an inch
divided by 0.45) is recognised by both its bone names and its size.

Up, of a skeleton, over frames spread through the take: the axis along which it stands above its
feet, where bones are named so; else z if the lowest point of one that travels along y keeps its z.
Without evidence z for files in metres, as Blender writes them, and y for all others. Of markers:
the axis along which they stand on a floor.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.errors import BadValue
from osteon.maths import quat
from osteon.typing import Array

METRES = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "in": 0.0254, "ft": 0.3048}
"""Metres in each unit, by which they are defined."""

_ROOT_HALF = np.sqrt(0.5)
"""Ratio, derived: sine and cosine of half a right angle."""
TO_Z_UP = {
    "z": np.array([1.0, 0.0, 0.0, 0.0]),
    # (x, y, z) → (x, −z, y): what Blender does with y-up files
    "y": np.array([_ROOT_HALF, _ROOT_HALF, 0.0, 0.0]),
    # (x, y, z) → (−z, y, x)
    "x": np.array([_ROOT_HALF, 0.0, -_ROOT_HALF, 0.0]),
}
"""Rotation to our world (z up) from a file's."""

CYCLIC_TO_Z_UP = np.array([0.5, 0.5, 0.5, 0.5])
"""(x, y, z) → (z, x, y), a rotation by 120°, derived from how the CMU archive's ASF/AMC files, y
up, lie beside its C3D files."""
CMU_UNIT = "in/0.45"
CMU_NAMES = {"lhipjoint", "rhipjoint", "lowerback", "lthumb", "rthumb"}
CMU_REACH = (14.0, 34.0)
"""Reach, in its unit, of a skeleton of the CMU archive: 0.8 to 1.9 metres, chosen about 1.3."""
FEET = re.compile(r"foot|feet|toe|ankle|paw|hoof", re.IGNORECASE)
CLEAR_SHARE = 0.8
"""Share of the way from feet to middle along the up axis; chosen: within 37° only one has it."""
STEADY_SHARE, TRAVEL_SHARE = 0.05, 0.5
"""Standard deviations of the lowest point, as shares of the skeleton's size, on a floor and along a
path; chosen: ten times apart, steps being higher than a twentieth, walks longer than half a
body."""
LOOKS = 200
"""Count of frames looked at to judge axis or unit; chosen: spread out, they tell it like all."""
FEWEST_MARKERS = 4
"""Count of markers that tell of a stance; chosen: fewer have no extent along three axes."""
TALL_RATIO = 1.3
"""Ratio of height to width from which markers tell which way is up; chosen: people who stand are
taller, those who lie or spread their arms are not."""


def metres_per(unit: str) -> float:
    """Return metres in a unit; ``in/0.45`` is an inch divided by 0.45, as ASF files count."""
    name, _, divisor = unit.partition("/")
    if name not in METRES:
        raise BadValue(f"unknown unit {unit!r}; known: {', '.join(METRES)}")
    try:
        return METRES[name] / float(divisor or 1.0)
    except (ValueError, ZeroDivisionError):
        raise BadValue(f"unit {unit!r} must be divided by a number such as in 'in/0.45'") from None


def turn_points(points: Array, q: Array) -> Array:
    """Return points in another world. The turns above only exchange axes, so no digit is lost."""
    matrix = np.rint(quat.to_matrix(q))
    columns = np.argmax(np.abs(matrix), axis=1)
    return points[..., columns] * matrix[np.arange(3), columns]


def turn_rotations(rotations: Array, q: Array) -> Array:
    """Return world rotations (..., 4) of bodies, in another world."""
    return quat.multiply(q, rotations)


def turn_local(rotations: Array, q: Array) -> Array:
    """Return rotations (..., 4) between bodies whose frames turn along with the world."""
    return np.concatenate([rotations[..., :1], turn_points(rotations[..., 1:], q)], axis=-1)


def to_z_up(up: str) -> Array:
    """Return the rotation to our world from one whose ``up`` axis points up."""
    if up not in TO_Z_UP:
        raise BadValue(f"the up axis must be x, y or z, got {up!r}")
    return TO_Z_UP[up]


def judge_unit(names: Sequence[str], offsets: Array, tips: Array, parents: Sequence[int]) -> str:
    """Return the unit of length from bone vectors (n_joints, 3), NaN of those without a tip."""
    to_tip = np.nan_to_num(np.linalg.norm(tips, axis=-1))
    along = np.zeros(len(names))
    for joint, parent in enumerate(parents):
        if parent >= 0:
            along[joint] = along[parent] + np.linalg.norm(offsets[joint])
    reach = float(np.max(along + to_tip))
    known = {name.lower() for name in names}
    if known >= CMU_NAMES and CMU_REACH[0] < reach < CMU_REACH[1]:
        return CMU_UNIT
    return "m" if reach < 10.0 else "cm" if reach < 500.0 else "mm"


def judge_up(names: Sequence[str], positions: Array, unit: str) -> tuple[str, str]:
    """Return the up axis and the reason, from joints (n_frames, n_joints, 3) of the file."""
    axis = _from_feet_up(names, positions)
    if axis is not None:
        return axis, "the figure stands above its feet"
    if _on_floor(positions):
        return "z", "the lowest point keeps its z"
    return "z" if unit == "m" else "y", f"as most files in {unit}"


def _from_feet_up(names: Sequence[str], positions: Array) -> str | None:
    feet = [index for index, name in enumerate(names) if FEET.search(name)]
    if not feet:
        return None
    way = positions.mean(axis=1) - positions[:, feet].mean(axis=1)
    length = np.linalg.norm(way, axis=-1, keepdims=True)
    mean = np.mean(way / np.where(length > 0.0, length, 1.0), axis=0)
    best = int(np.argmax(mean))
    return "xyz"[best] if mean[best] > CLEAR_SHARE else None


def _on_floor(positions: Array) -> bool:
    size = np.median(np.linalg.norm(np.ptp(positions, axis=1), axis=-1))
    if not size > 0.0:
        return False
    _, along_y, along_z = np.std(positions.min(axis=1), axis=0) / size
    return bool(along_z < STEADY_SHARE and along_y > TRAVEL_SHARE)


@dataclass(frozen=True)
class MarkerSpread:
    """How markers are spread along each of the file's axes, metres."""

    height: np.ndarray
    """(3,) extent of the markers in a typical frame."""
    floor: np.ndarray
    """(3,) typical place of the lowest markers."""
    unrest: np.ndarray
    """(3,) how much that place changes. Above a floor it does not, while people move about."""

    def up(self) -> str | None:
        """Return the axis along which markers stand on a floor near zero, if one stands out."""
        score = self.height - 2.0 * self.unrest
        best = int(np.argmax(score))
        widest = np.delete(self.height, best).max()
        on_floor = -0.2 < self.floor[best] < 0.6
        tall = self.height[best] > 0.6 and score[best] > TALL_RATIO * widest
        return "xyz"[best] if on_floor and tall else None

    def contradicts(self, axis: int) -> bool:
        """Return whether z is both taller and far steadier at its lower end than this axis."""
        steadier = 3.0 * self.unrest[2] < self.unrest[axis]
        return bool(steadier and self.height[2] > self.height[axis])


def stance_of(points: Array) -> MarkerSpread | None:
    """Return how points (n_frames, n_points, 3), metres, NaN = missing, stand; None if too few."""
    sample = points[:: max(1, len(points) // LOOKS)]
    count = np.isfinite(sample[..., 0]).sum(axis=1)
    sample, count = sample[count >= FEWEST_MARKERS], count[count >= FEWEST_MARKERS]
    if not len(sample):
        return None
    # without the lowest and highest twentieth: stray points are often far away
    ordered = np.sort(sample, axis=1)
    rows, skipped = np.arange(len(ordered)), count // 20
    low, high = ordered[rows, skipped], ordered[rows, count - 1 - skipped]
    return MarkerSpread(np.median(high - low, axis=0), np.median(low, axis=0), np.std(low, axis=0))
