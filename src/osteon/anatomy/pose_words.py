"""Poses changed by meaning: "lift the left arm sideways by 20°". [002] §5."""

from collections.abc import Mapping

import numpy as np

from osteon.errors import BadValue
from osteon.typing import Array
from osteon.values import CompactMotion


def edited(
    compact: CompactMotion,
    changes: Mapping[str, float | Array],
    *,
    frames: slice | int = slice(None),
    relative: bool = False,
) -> CompactMotion:
    """The motion with some parameters changed; all limbs that hang below follow.

    ``edited(compact, {"left_upper_arm.sideways": 0.35}).motion()`` gives the poses.

    Parameters
    ----------
    changes
        Parameter name → new angle, radians; one number, or one for each of ``frames``.
    frames
        Which frames; all of them by default.
    relative
        Add to the angles that are there instead of replacing them.
    """
    where = slice(frames, frames + 1 or None) if isinstance(frames, int) else frames
    angles = compact.angles.copy()
    for name, value in changes.items():
        column = compact.index(name)
        value = np.asarray(value, dtype=float)
        if value.ndim > 1 or (value.ndim == 1 and len(value) != len(angles[where])):
            raise BadValue(
                f"{name} needs one angle, or one for each of {len(angles[where])} frames, "
                f"got shape {value.shape}"
            )
        angles[where, column] = angles[where, column] + value if relative else value
    return compact.with_angles(angles)
