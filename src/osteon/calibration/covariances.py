"""How well joints and marker places of a fit are known."""

import numpy as np

from osteon.calibration.adjustment import Adjustment
from osteon.calibration.guess import Held
from osteon.calibration.scatter import Deviations
from osteon.calibration.subject_model import SubjectModel
from osteon.typing import Array


def covariances_of(
    fit: Adjustment, told: Held | None, girdles: np.ndarray, known: Deviations
) -> tuple[Array, Array]:
    """Return those of joints (n_bodies, 3, 3), root zero, and of marker places (n_markers, 3, 3).

    A body's frame is only a convention; its markers are what can be touched. So a joint is told as
    seen from its parent's markers, and a marker as seen from the others on its body: those are
    held while all else varies. What all frames have ``told`` is known as well as these say.
    """
    rig = fit.rig
    joints, places = np.zeros((rig.n_bodies, 3, 3)), np.zeros((rig.n_markers, 3, 3))
    for body in range(1, rig.n_bodies):
        held = np.flatnonzero(rig.marker_bodies == rig.parents[body])
        joints[body] = _held_covariance(fit, held, rig.joint_columns(body))
    for marker, body in enumerate(rig.marker_bodies):
        others = np.flatnonzero(rig.marker_bodies == body)
        places[marker] = _held_covariance(fit, others[others != marker], rig.marker_columns(marker))
    _add_girdles(joints, rig, girdles, known)
    if told is not None:
        for body, covariance in told.joints.items():
            joints[body] = covariance
        sure = np.isfinite(told.markers)
        places[sure] = told.markers[sure, None, None] ** 2 * np.eye(3)
    return joints, places


def _add_girdles(
    covariances: Array, rig: SubjectModel, girdles: np.ndarray, known: Deviations
) -> None:
    """Add to joints on girdles what these may be turned by: as girdles turn, as far as the marker
    or two on them do not tell it. About the line to its only marker a girdle turns unseen."""
    for body in range(1, rig.n_bodies):
        girdle = rig.parents[body]
        if not girdles[girdle]:
            continue
        told = np.eye(3) / known.girdles[girdle] ** 2
        for marker in np.flatnonzero(rig.marker_bodies == girdle):
            variance = known.skin[girdle] ** 2 + known.noise[marker] ** 2
            told += _across(rig.places[marker]) / variance
        arm = np.cross(rig.offsets[body], np.eye(3))
        covariances[body] += arm.T @ np.linalg.solve(told, arm)


def _across(arm: Array) -> Array:
    """(3, 3) of a turn's squares, those that move the end of an arm, metres² per radian²."""
    return (arm @ arm) * np.eye(3) - np.outer(arm, arm)


def _held_covariance(fit: Adjustment, held: np.ndarray, columns: slice) -> Array:
    """(3, 3) of one point while the markers ``held`` stay where they are."""
    free = np.ones(fit.rig.n_shared, dtype=bool)
    for marker in held:
        free[fit.rig.marker_columns(int(marker))] = False
    place = np.cumsum(free)[columns] - 1
    unit = np.zeros((int(free.sum()), 3))
    unit[place] = np.eye(3)
    return np.linalg.solve(fit.information[np.ix_(free, free)], unit)[place]
