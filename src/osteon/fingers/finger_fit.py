"""A finger's bones, the plane in which it bends and its markers' places, fitted to frames at once.

Numbers that all frames share stand in one row: the first joint (3), the lengths of the bones (3),
the roll of the plane about the finger, and the markers' places (3 each). Each frame's angles are
eliminated, as they stand where they fit best.
"""

from dataclasses import dataclass, replace

import numpy as np

from osteon.fingers.finger_model import FingerModel
from osteon.fingers.finger_poses import MARKER_SIGMA, angle_equations, find_angles
from osteon.maths import quat
from osteon.typing import Array

POSTURE_COUNT = 15.0
"""Count of frames that are worth as much as all: skin follows posture, and says the same again.
Chosen: a finger's four angles have few that differ."""
FIT_ROUNDS, ROUND_STEPS = 2, 8
"""Counts of fits, each weighed by what the one before left, and of steps in each; chosen, more
change nothing."""
SHARPEST_SIGMA, BLUNTEST_SIGMA = 0.001, 0.006
"""Metres per axis between which a marker is taken to be off. Chosen: a hand's frame is no better
known, and more is no skin."""
SETTLED_STEP = 1e-4
"""Metres or radians below which a step is the last of its round; chosen, far below any marker."""
SMALL_CHANGE = 1e-4
"""Metres or radians by which slopes are taken. Chosen: far above rounding, far below a bone."""
BASE, LENGTHS, ROLL, PLACES = slice(0, 3), slice(3, 6), 6, 7
"""Codes: where in the row of numbers what stands; defined here."""


@dataclass(frozen=True, eq=False)
class FingerStart:
    """A finger before its fit, and how unsure it is."""

    model: FingerModel
    lengths: Array
    """(3,) metres."""
    sigmas: Array
    """(n_numbers,) metres and radians."""
    labels: tuple[str, ...]
    on_knuckle: bool
    """Whether a marker shows its first joint."""

    def changed(self, numbers: Array) -> tuple[FingerModel, Array]:
        """Return the finger and its lengths with numbers added."""
        model, lengths = self.model, self.lengths + numbers[LENGTHS]
        along = quat.normalise(model.bones[0])
        changed = replace(
            model,
            base=model.base + numbers[BASE],
            bones=np.outer(lengths[:2], along),
            axes=quat.rotate(quat.exp(numbers[ROLL] * along), model.axes),
            places=model.places + numbers[PLACES:].reshape(-1, 3),
        )
        return changed, lengths


@dataclass(frozen=True, eq=False)
class FittedFinger:
    """A finger as markers show it."""

    model: FingerModel
    lengths: Array
    """(3,) metres."""
    covariance: Array
    """(n_numbers, n_numbers)"""
    joints: Array
    """(3, 3, 3) covariances of joints as posed in the hand, in the frames of the bones before."""
    labels: tuple[str, ...]
    on_knuckle: bool
    rms: Array
    """(n_markers,) metres."""


def fit_finger(start: FingerStart, seen: Array) -> FittedFinger:
    """Fit a finger to frames (n_frames, n_markers, 3) in its hand's frame, NaN where not seen."""
    n_markers = len(start.labels)
    rms, sigmas = np.zeros(n_markers), np.full(n_markers, MARKER_SIGMA)
    if not len(seen):  # as it is before: one posture without markers
        seen = np.full((1, n_markers, 3), np.nan)
    # frames count together as often as there are postures, and so does what hands mostly do
    habit = min(POSTURE_COUNT / len(seen), 1.0)
    fit = _Fit(start, seen, sigmas / np.sqrt(habit), habit)
    numbers = np.zeros(len(start.sigmas))
    for _ in range(FIT_ROUNDS):
        for _ in range(ROUND_STEPS):
            step, angles = fit.step(numbers)
            numbers, fit = numbers + step, replace(fit, near=angles)
            if np.abs(step).max() < SETTLED_STEP:
                break
        off = fit.distances(numbers)
        squares = np.where(np.isfinite(off), off**2, 0.0).sum(axis=0)
        rms = np.sqrt(squares / np.maximum(np.isfinite(off).sum(axis=0), 1))
        sigmas = np.clip(rms / np.sqrt(3.0), SHARPEST_SIGMA, BLUNTEST_SIGMA)
        fit = replace(fit, sigmas=sigmas / np.sqrt(habit))
    model, lengths = start.changed(numbers)
    covariance, joints = fit.covariances(numbers)
    return FittedFinger(model, lengths, covariance, joints, start.labels, start.on_knuckle, rms)


@dataclass(frozen=True, eq=False)
class _Equations:
    """Of a frame's angles (n_frames, 4, 4), between them and the numbers, and of the numbers."""

    angles: Array
    cross: Array
    """(n_frames, 4, n_numbers)"""
    numbers: Array
    """(n_numbers, n_numbers) with the angles eliminated."""
    wanted: Array
    """(n_numbers,) what they shall give."""


@dataclass(frozen=True, eq=False)
class _Fit:
    start: FingerStart
    seen: Array
    sigmas: Array
    """(n_markers,) metres per axis, as frames count."""
    habit: float
    near: Array | None = None
    """(n_frames, 4) angles of the step before."""

    def angles(self, model: FingerModel) -> Array:
        return find_angles(model, self.seen, self.sigmas, 0.0, self.habit, self.near)

    def distances(self, numbers: Array) -> Array:
        """(n_frames, n_markers) metres; NaN where not seen."""
        model, _ = self.start.changed(numbers)
        return np.linalg.norm(model.markers(self.angles(model)) - self.seen, axis=-1)

    def step(self, numbers: Array) -> tuple[Array, Array]:
        """Return what to add to the numbers, and the angles (n_frames, 4) that suit them."""
        model, _ = self.start.changed(numbers)
        angles = self.angles(model)
        found = self._equations(model, angles, numbers)
        return np.linalg.solve(found.numbers, found.wanted), angles

    def _equations(self, model: FingerModel, angles: Array, numbers: Array) -> _Equations:
        matrix, wish = angle_equations(model, self.seen, self.sigmas, angles, self.habit)
        points, slopes, turns = model.slopes(angles)
        off = np.where(np.isfinite(self.seen), self.seen - points, 0.0)
        doubts = (1.0 + np.sum(off**2, axis=-1) / (4.0 * MARKER_SIGMA) ** 2) ** 2
        weights = np.isfinite(self.seen[..., 0]) / self.sigmas**2 / doubts
        own = self._slopes(model, angles, turns, numbers)
        cross = np.einsum("fm,fmia,fmis->fas", weights, slopes, own)
        follow = np.linalg.solve(matrix, cross)
        held = 1.0 / self.start.sigmas**2
        both = np.einsum("fm,fmis,fmit->st", weights, own, own) + np.diag(held)
        both -= np.einsum("fas,fat->st", cross, follow)
        wanted = np.einsum("fm,fmis,fmi->s", weights, own, off) - held * numbers
        return _Equations(matrix, cross, both, wanted - np.einsum("fas,fa->s", follow, wish))

    def _slopes(self, model: FingerModel, angles: Array, turns: Array, numbers: Array) -> Array:
        """(n_frames, n_markers, 3, n_numbers) how markers move with the numbers."""
        slopes = np.zeros((len(angles), len(model.carriers), 3, len(numbers)))
        slopes[..., range(3), range(3)] = 1.0
        along = quat.normalise(model.bones[0])
        for bone in range(2):
            farther = (model.carriers > bone)[:, None]
            slopes[..., 3 + bone] = (turns[:, bone] @ along)[:, None] * farther
        ahead, behind = self._beside(numbers, ROLL)
        slopes[..., ROLL] = (ahead.markers(angles) - behind.markers(angles)) / (2.0 * SMALL_CHANGE)
        for marker, bone in enumerate(model.carriers):
            own = PLACES + 3 * marker
            slopes[:, marker, :, own : own + 3] = turns[:, bone]
        return slopes

    def _beside(self, numbers: Array, which: int) -> list[FingerModel]:
        """The finger with one number a little larger, and a little smaller."""
        little = np.zeros(len(numbers))
        little[which] = SMALL_CHANGE
        return [self.start.changed(numbers + little)[0], self.start.changed(numbers - little)[0]]

    def covariances(self, numbers: Array) -> tuple[Array, Array]:
        """Return those of the numbers, and of the joints (3, 3, 3): what numbers and each frame's
        angles leave open, in the frames of the bones before them, mean over the frames."""
        model, _ = self.start.changed(numbers)
        angles = self.angles(model)
        turns, found = model.turns(angles), self._equations(model, angles, numbers)
        covariance = np.linalg.inv(found.numbers)
        ends = replace(model, carriers=np.array([0, 1]), places=model.bones)
        _, by_angle, _ = ends.slopes(angles)
        by_number = np.zeros((len(angles), 2, 3, len(numbers)))
        for which in range(PLACES):
            there = [one.joints(one.turns(angles))[:, 1:] for one in self._beside(numbers, which)]
            by_number[..., which] = (there[0] - there[1]) / (2.0 * SMALL_CHANGE)
        follow = np.linalg.solve(found.angles, found.cross)
        by_number -= np.einsum("fkia,fas->fkis", by_angle, follow)
        spread = np.einsum("fkis,st,fkjt->fkij", by_number, covariance, by_number)
        left_open = np.linalg.inv(found.angles)
        spread += np.einsum("fkia,fab,fkjb->fkij", by_angle, left_open, by_angle)
        before = turns[:, :2]
        local = np.einsum("fkji,fkjl,fklm->kim", before, spread, before) / len(angles)
        return covariance, np.concatenate([covariance[None, BASE, BASE], local])
