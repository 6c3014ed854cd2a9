"""Knees and elbows that bend as much as the performer's do.

A limb that is nearly straight grows hardly shorter when it bends: markers on bones that are some
millimetres longer than the performer's would bend it by ten degrees. So a spring says how much a
knee or an elbow bends. In which plane, and how the limb turns about itself, markers tell.
"""

from dataclasses import dataclass

import numpy as np

from osteon.maths import quat
from osteon.typing import Array, Indices

BEND = 0.3
"""Stiffness of these springs against a marker's, square metres per square radian."""
PLANE = 0.1
"""What the performer's plane of bending counts against the character's own, of which a straight
limb has none."""


@dataclass(frozen=True, eq=False)
class Bends:
    """Knees and elbows of a character, and the performer's pose there."""

    bodies: Indices
    """(n_bends,) the bodies below these joints."""
    upper: Array
    """(n_bends, 3) along the bone above the joint, in the parent's frame, unit length."""
    lower: Array
    """(n_bends, 3) along the bone below it, in the body's frame."""
    performers: Array
    """(n_frames, n_bends, 3) the lower bone's direction in the performer's pose, in the parent's
    frame."""


def bent_posture(
    bends: Bends, rotations: Array, rest: Array, weights: Array
) -> tuple[Array, Array]:
    """A rest pose in which these joints bend as the performer's, else as in ``rotations``.

    Parameters
    ----------
    rotations : (n_frames, n_bodies, 4)
        Local; where markers alone have the character.
    rest : (n_bodies, 4) or (n_frames, n_bodies, 4)
        The rest pose of all other joints.
    weights : (n_bodies,)
        Stiffness of the pull to it.

    Returns
    -------
    (n_frames, n_bodies, 4) and (n_bodies,)
    """
    own = rotations[:, bends.bodies]
    lower = quat.rotate(own, bends.lower)
    more = _angle(bends.upper, bends.performers) - _angle(bends.upper, lower)
    across = np.cross(bends.upper, lower + PLANE * bends.performers)
    length = np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-12)
    posture = np.array(np.broadcast_to(rest, rotations.shape))
    posture[:, bends.bodies] = quat.multiply(quat.from_axis_angle(across / length, more), own)
    firmer = np.array(weights)
    firmer[bends.bodies] = BEND
    return posture, firmer


def _angle(one: Array, other: Array) -> Array:
    return np.arccos(np.clip(np.sum(one * other, axis=-1), -1.0, 1.0))
