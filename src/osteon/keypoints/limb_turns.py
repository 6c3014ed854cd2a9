"""How bodies are turned, from joint centres alone: what positions leave open, anatomy decides.

A bone shows where it points, not how it is twisted. Knees and elbows bend about one axis, so a bent
limb shows its twist after all; a straight leg is twisted as its foot and the pelvis are, a straight
arm as one is that was lifted there the shortest way. All of it is one sum of vectors per limb; it
passes from one to the other without a step. Where the spine bends keypoints do not show: pelvis and
chest lean as the line between hips and shoulders does, each turned about it by its own joints.
"""

from dataclasses import dataclass

import numpy as np

from osteon.maths import quat, untwisted_joints
from osteon.typing import Array
from osteon.values import Skeleton

FOOT_SHARE, TRUNK_SHARE = 0.3, 0.2
"""Ratios: how far the foot and the trunk decide a limb's twist, against the sine of its bend.
Chosen: from about 20° of bend on, the limb itself decides."""
LEFT_AXIS, UP_AXIS = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
"""Of bodies at rest: knees bend about the first, elbows of arms that are stretched out sideways
about the second."""
TRUNKS = ("pelvis", "spine", "chest")
SIDES = ("left", "right")
HINGED_LIMBS = {"thigh": ("shin", "foot"), "upper_arm": ("forearm", "hand")}
"""Upper bone of a limb → the bodies whose joints end its two bones."""


def turns_from_joints(
    skeleton: Skeleton, joints: Array, forward: Array, window: float = 0.0
) -> Array:
    """Return local rotations (n_frames, n_bodies, 4) that suit where joints are.

    Where joints are not known, a body is bent as between the frames before and after, else as at
    rest.

    Parameters
    ----------
    joints : (n_frames, n_bodies, 3)
        In the world, metres; NaN where not known.
    forward : (n_frames, n_bodies, 3)
        From a foot's joint towards its toes, in the world; NaN where not known.
    window
        Frames, standard deviation, over which twist is judged; 0: each frame for itself.
    """
    figure = _Figure(skeleton, joints, forward, window)
    local, world = quat.identity(joints.shape[:2]), quat.identity(joints.shape[:2])
    for body, parent in enumerate(skeleton.parents):
        above = quat.identity((len(joints),)) if parent < 0 else world[:, parent]
        found = figure.world_turn(body, above)
        local[:, body] = _carried_over(quat.between(above, found))
        world[:, body] = quat.multiply(above, local[:, body])
    return quat.unroll(local)


@dataclass(frozen=True, eq=False)
class _Figure:
    skeleton: Skeleton
    joints: Array
    forward: Array
    window: float

    def world_turn(self, body: int, above: Array) -> Array:
        """(n_frames, 4) of a body in the world; NaN where its joints are not known."""
        name = self.skeleton.names[body]
        if name in TRUNKS:
            return self._trunk(name)
        side, _, part = name.partition("_")
        for upper, (lower, end) in HINGED_LIMBS.items():
            if part in (upper, lower):
                return self._limb(body, above, [f"{side}_{each}" for each in (upper, lower, end)])
        return above

    def _joint(self, name: str) -> Array:
        return self._column(self.joints, name)

    def _column(self, values: Array, name: str) -> Array:
        """(n_frames, 3) of a body; NaN where it is not known, or there is none."""
        if name not in self.skeleton.names:
            return np.full_like(values[:, 0], np.nan)
        return values[:, self.skeleton.index(name)]

    def _across(self, part: str) -> tuple[Array, Array]:
        """From the right to the left joint of a pair, and their middle."""
        left, right = (self._joint(f"{side}_{part}") for side in SIDES)
        return left - right, 0.5 * (left + right)

    def _trunk(self, name: str) -> Array:
        hips, low = self._across("thigh")
        shoulders, high = self._across("upper_arm")
        upward = np.where(np.isfinite(high - low), high - low, UP_AXIS)
        if name == "pelvis":
            return _turn(LEFT_AXIS, hips, UP_AXIS, upward)
        return _turn(self._rest_upward(), upward, LEFT_AXIS, shoulders)

    def _rest_upward(self) -> Array:
        """From the hips' middle to that of the shoulders, in the rest pose."""
        rest = untwisted_joints(self.skeleton.offsets, self.skeleton.parents)
        middles = [
            np.mean([rest[self.skeleton.index(f"{side}_{part}")] for side in SIDES], axis=0)
            for part in ("thigh", "upper_arm")
            if all(f"{side}_{part}" in self.skeleton.names for side in SIDES)
        ]
        return middles[1] - middles[0] if len(middles) == 2 else UP_AXIS

    def _limb(self, body: int, above: Array, chain: list[str]) -> Array:
        """Of one of the two bones between the joints of ``chain``."""
        hip, knee, ankle = (self._joint(name) for name in chain)
        upper, lower = quat.normalise(knee - hip), quat.normalise(ankle - knee)
        first = self.skeleton.names[body] == chain[0]
        bone = upper if first else lower
        end = chain[1] if first else chain[2]
        if end not in self.skeleton.names:
            return above
        at_rest = self.skeleton.offsets[self.skeleton.index(end)]
        bend = np.nan_to_num(np.cross(upper, lower))
        if chain[0].endswith("thigh"):
            axis = LEFT_AXIS
            toes = quat.normalise(self._column(self.forward, chain[2]))
            ahead = np.nan_to_num(np.cross(toes, upper))
            hint = bend + FOOT_SHARE * ahead + TRUNK_SHARE * quat.rotate(above, axis)
        else:
            axis, sense = UP_AXIS, -1.0 if chain[0].startswith("left") else 1.0
            lifted = quat.multiply(quat.shortest(quat.rotate(above, at_rest), bone), above)
            hint = sense * bend + TRUNK_SHARE * quat.rotate(lifted, axis)
        if self.window:  # a hint as it is around each frame
            known = np.nan_to_num(hint)
            from scipy.ndimage import gaussian_filter1d  # slow to load, rarely asked for

            hint = gaussian_filter1d(known, self.window, axis=0, mode="nearest")
        return _turn(at_rest, bone, axis, hint)


def _turn(first_rest: Array, first: Array, second_rest: Array, second: Array) -> Array:
    """(n_frames, 4) that brings ``first_rest`` onto ``first`` and ``second_rest`` as near to
    ``second`` as that leaves free."""
    there = _triad(first, np.broadcast_to(second, first.shape))
    return quat.from_matrix(there @ _triad(first_rest, second_rest).T)


def _triad(first: Array, second: Array) -> Array:
    """(..., 3, 3) columns: along the first, and square to both."""
    along = quat.normalise(first)
    normal = quat.normalise(np.cross(first, second))
    return np.stack([along, np.cross(normal, along), normal], axis=-1)


def _carried_over(rotations: Array) -> Array:
    """(n_frames, 4) those not known lie between their known neighbours; without any, at rest."""
    known = np.flatnonzero(np.isfinite(rotations[:, 0]))
    if not len(known):
        return quat.identity((len(rotations),))
    return quat.between_known(rotations, known, np.arange(len(rotations)))
