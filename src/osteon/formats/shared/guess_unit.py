"""Unit and up axis of a file that names neither, judged from the figure it holds.

Unit, from the longest chain of bones between the root and a tip (about 1.3 m in a human):
below 10 metres; below 500 centimetres; else millimetres. The CMU archive's own unit (an inch
divided by 0.45) is recognised by both its bone names and its size.

Up, over frames spread through the take: the axis along which the figure stands above its feet,
where bones are named so; else z if the lowest point of a figure that travels along y keeps its z.
Without evidence z for files in metres, as Blender writes them, and y for all others.
"""

import re
from collections.abc import Sequence

import numpy as np

from osteon.typing import Array

CMU_UNIT = "in/0.45"
CMU_NAMES = {"lhipjoint", "rhipjoint", "lowerback", "lthumb", "rthumb"}
CMU_REACH = (14.0, 34.0)
FEET = re.compile(r"foot|feet|toe|ankle|paw|hoof", re.IGNORECASE)
CLEAR = 0.8
"""Share of the way from the feet to the middle that must lie along one axis."""
STEADY, TRAVELS = 0.05, 0.5
"""Standard deviation of the lowest point, in figure sizes, on a floor and along a path."""


def judge_unit(names: Sequence[str], offsets: Array, tips: Array, parents: Sequence[int]) -> str:
    """Unit of length from bone vectors (n_joints, 3) and (n_joints, 3), NaN without a tip."""
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
    """Up axis and the reason, from joints (n_frames, n_joints, 3) in the file's world."""
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
    return "xyz"[best] if mean[best] > CLEAR else None


def _on_floor(positions: Array) -> bool:
    size = np.median(np.linalg.norm(np.ptp(positions, axis=1), axis=-1))
    if not size > 0.0:
        return False
    _, along_y, along_z = np.std(positions.min(axis=1), axis=0) / size
    return bool(along_z < STEADY and along_y > TRAVELS)
