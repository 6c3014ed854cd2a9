"""Legs and arms bent so that their end is exactly where it should be."""

import numpy as np

from osteon.errors import BadValue
from osteon.maths import quat
from osteon.typing import Array

X = np.array([1.0, 0.0, 0.0])


def reach(
    to_target: Array, upper: float, lower: float, towards: Array, bend: float
) -> tuple[Array, Array]:
    """Two bones that hang straight down at rest, from their upper joint to a target.

    Parameters
    ----------
    to_target : (n_frames, 3)
        From the upper joint to the wanted end, in the world.
    upper, lower : float
        Lengths of the two bones.
    towards : (n_frames, 3)
        The side on which the front of the limb lies: forward for legs.
    bend : float
        +1 where the lower bone bends forward (elbow), −1 where it bends back (knee).

    Returns
    -------
    q_world_upper : (n_frames, 4)
    angle : (n_frames,)
        Of the middle joint about x, radians, with the sign of ``bend``.
    """
    distance = np.linalg.norm(to_target, axis=-1)
    furthest = float(np.max(distance))
    if furthest > upper + lower or float(np.min(distance)) < abs(upper - lower):
        raise BadValue(
            f"a limb of {upper + lower:.3f} m cannot reach {furthest:.3f} m; use smaller steps"
        )
    cosine = (distance**2 - upper**2 - lower**2) / (2.0 * upper * lower)
    angle = bend * np.arccos(np.clip(cosine, -1.0, 1.0))
    # the limb's own line from joint to end leans in the plane of bending
    lean = np.arctan2(lower * np.sin(angle), upper + lower * np.cos(angle))
    up = -to_target / distance[:, None]
    right = np.cross(towards, up)
    right /= np.linalg.norm(right, axis=-1, keepdims=True)
    frame = quat.from_matrix(np.stack([right, np.cross(up, right), up], axis=-1))
    return quat.multiply(frame, quat.from_axis_angle(X, -lean)), angle
