"""A finger in its hand's frame: four angles → where its joints and markers are.

The first joint spreads and bends, the two after it bend, all about one axis: fingers are flat. The
thumb's first joint is the one at the wrist, and the same holds of it as far as markers show.
"""

from dataclasses import dataclass

import numpy as np

from osteon.maths import quat
from osteon.typing import Array, Indices
from osteon.values import Skeleton

ANGLE_COUNT = 4
"""Count of a finger's angles: spread, and the bends of its three joints. Defined here."""
TIP_COUPLING = 2.0 / 3.0
"""Ratio of the last joint's bend to that of the one before, in fingers: one tendon bends both
[Rijpkema 1991]."""


@dataclass(frozen=True)
class Habits:
    """What angles of a finger are like before any marker tells: radians, spread first."""

    usual: Array
    """(4,) where they mostly are."""
    deviations: Array
    """(4,) how far they mostly are from there; of the last joint from what couples it."""
    coupling: float
    """How far the last joint bends with the one before."""
    lowest: Array
    highest: Array
    """(4,) how far joints go."""

    def precision(self) -> Array:
        """(4, 4) of angles about the usual ones."""
        rows = np.diag(1.0 / self.deviations)
        rows[3, 2] = -self.coupling / self.deviations[3]
        return rows.T @ rows


FINGER_HABITS = Habits(
    np.radians([0.0, 25.0, 35.0, 35.0 * TIP_COUPLING]),
    np.radians([8.0, 30.0, 35.0, 10.0]),
    TIP_COUPLING,
    np.radians([-25.0, -30.0, -10.0, -15.0]),
    np.radians([25.0, 95.0, 115.0, 90.0]),
)
"""Degrees, as clinics measure them: a joint on the hand spreads 20 to 25° and bends to 90°, the
middle one to 110°, the last to 80–90°. How they mostly are is chosen: a hand at rest, give or take
half of what it can."""
THUMB_HABITS = Habits(
    np.radians([0.0, 10.0, 15.0, 15.0]),
    np.radians([20.0, 25.0, 20.0, 25.0]),
    0.0,
    np.radians([-45.0, -40.0, -20.0, -25.0]),
    np.radians([45.0, 55.0, 70.0, 90.0]),
)
"""Degrees. Chosen as the fingers', wider where its first joint also turns about itself."""


@dataclass(frozen=True, eq=False)
class FingerModel:
    """A finger with the markers on it, in its hand's frame; straight, its bones' frames are the
    hand's."""

    name: str
    base: Array
    """(3,) its joint on the hand, metres."""
    bones: Array
    """(2, 3) from the first joint to the second, and on to the third."""
    axes: Array
    """(2, 3) unit: what it spreads about, and what it bends about."""
    carriers: Indices
    """(n_markers,) 0, 1 or 2: the bone that carries each marker."""
    places: Array
    """(n_markers, 3) from the joint that the bone hangs on."""

    @property
    def habits(self) -> Habits:
        return THUMB_HABITS if self.name.endswith("thumb") else FINGER_HABITS

    def turns(self, angles: Array) -> Array:
        """(n_frames, 3, 3, 3) matrices of the bones to the hand's frame."""
        spread = quat.to_matrix(quat.exp(angles[:, :1, None] * self.axes[0]))
        bend = quat.to_matrix(quat.exp(np.cumsum(angles[:, 1:], axis=1)[..., None] * self.axes[1]))
        return spread @ bend

    def joints(self, turns: Array) -> Array:
        """(n_frames, 3, 3) where the bones begin."""
        steps = np.einsum("fkij,kj->fki", turns[:, :2], self.bones)
        start = np.broadcast_to(self.base, (len(turns), 1, 3))
        return np.concatenate([start, self.base + np.cumsum(steps, axis=1)], axis=1)

    def markers(self, angles: Array) -> Array:
        """(n_frames, n_markers, 3)"""
        turns = self.turns(angles)
        away = np.einsum("fmij,mj->fmi", turns[:, self.carriers], self.places)
        return self.joints(turns)[:, self.carriers] + away

    def slopes(self, angles: Array) -> tuple[Array, Array, Array]:
        """Return markers (n_frames, n_markers, 3), how they move with the angles (n_frames,
        n_markers, 3, 4), and the bones' turns."""
        turns = self.turns(angles)
        joints = self.joints(turns)
        away = np.einsum("fmij,mj->fmi", turns[:, self.carriers], self.places)
        points = joints[:, self.carriers] + away
        bend = np.einsum("fij,j->fi", turns[:, 0], self.axes[1])
        slopes = np.zeros((*points.shape, ANGLE_COUNT))
        slopes[..., 0] = np.cross(self.axes[0], points - self.base)
        for joint in range(3):
            moved = np.cross(bend[:, None], points - joints[:, joint, None])
            slopes[..., joint + 1] = moved * (self.carriers >= joint)[:, None]
        return points, slopes, turns

    def local_turns(self, angles: Array) -> Array:
        """(n_frames, 3, 4) of each bone against the one before, the first against the hand."""
        bends = quat.exp(angles[:, 1:, None] * self.axes[1])
        spread = quat.exp(angles[:, :1] * self.axes[0])
        bends[:, 0] = quat.multiply(spread, bends[:, 0])
        return bends


def finger_of(skeleton: Skeleton, name: str) -> tuple[FingerModel, tuple[str, ...]] | None:
    """Return a skeleton's finger and the names of its markers; None where its joints are not those
    of one."""
    bodies = [skeleton.body(f"{name}_{number}") for number in (1, 2, 3)]
    if [body.joint.kind for body in bodies] != ["universal", "hinge", "hinge"]:
        return None
    worn = [(k, marker) for k, body in enumerate(bodies) for marker in body.markers]
    model = FingerModel(
        name,
        bodies[0].joint.in_parent,
        np.stack([body.joint.in_parent for body in bodies[1:]]),
        bodies[0].joint.axes,
        np.array([k for k, _ in worn], dtype=int),
        np.array([marker.position for _, marker in worn]).reshape(-1, 3),
    )
    return model, tuple(marker.name for _, marker in worn)
