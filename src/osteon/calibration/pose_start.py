"""First poses for the fit: every frame on its own, from the root outwards, in closed form."""

import numpy as np

from osteon.calibration.adjustment import FramePoses
from osteon.calibration.subject_model import SubjectModel
from osteon.maths import AXIS, FULL, RigidFit, fit_rigid, quat
from osteon.typing import Array

PARENT_SIGMA = 0.02
"""Metres. A body follows its parent as if markers this far out said so: decides the turn that its
own markers leave open. Chosen: weaker than markers on skin."""
SHOWN_SHARE = 0.5
"""Share of the markers' second moment about the joint that must be seen for a body's turn to count
as shown. Chosen: two of three markers mostly are enough, one is not."""
ROOTED_SHARE = 0.4
"""Share of the frames that fix the root from which the others are not worth their guessed root:
chosen."""
OUTWARD_RATIO = 1e-4
"""Ratio of the weight of a marker one joint further out, which turns the root where its own leave
that open: chosen, too small to matter elsewhere."""


def start_poses(rig: SubjectModel, observed: Array) -> FramePoses:
    """FramePoses near enough for the fit; frames that show too little of the root are NaN.

    Where a gap leaves a body's turn open it is bent as between the frames before and after.

    Parameters
    ----------
    observed : (n_frames, n_markers, 3)
        Metres; NaN where not seen.
    """
    fit = _root_poses(rig, observed)
    rotations = np.full((len(observed), rig.n_bodies, 3, 3), np.nan)
    joints = np.full((len(observed), rig.n_bodies, 3), np.nan)
    rotations[:, 0], joints[:, 0] = quat.to_matrix(fit.rotations), fit.positions
    fixed = np.isfinite(fit.positions[:, 0])
    frames = observed[fixed]
    shown = shown_turns(rig, frames)
    for body in range(1, rig.n_bodies):
        parent = rig.parents[body]
        above = rotations[fixed, parent]
        joint = joints[fixed, parent] + above @ rig.offsets[body]
        turned = _turn(rig, frames, body, joint, above)
        told = shown[:, body] & shown[:, parent]
        if told.any() and not told.all():
            bends = _carried_over(np.swapaxes(above, -1, -2) @ turned, told)
            again = _turn(rig, frames, body, joint, above @ bends)
            turned = np.where(told[:, None, None], turned, again)
        rotations[fixed, body] = turned
        joints[fixed, body] = joint
    return FramePoses(rotations, joints)


def shown_turns(rig: SubjectModel, observed: Array) -> np.ndarray:
    """(n_frames, n_bodies) whether a frame shows enough of a body to say how it is turned.

    Measured against what the body shows at its best: a body of one marker is shown by that one.
    """
    shown = np.zeros((len(observed), rig.n_bodies), dtype=bool)
    for body in range(rig.n_bodies):
        own = np.flatnonzero(rig.marker_bodies == body)
        places, seen = rig.places[own], np.isfinite(observed[:, own, 0])
        best = np.einsum("m,mi,mj->ij", seen.any(axis=0), places, places)
        here = np.einsum("fm,mi,mj->fij", seen, places, places)
        least = SHOWN_SHARE * np.linalg.eigvalsh(best)[1:] - 1e-12
        shown[:, body] = (np.linalg.eigvalsh(here)[:, 1:] >= least).all(axis=1)
    return shown


def _carried_over(rotations: Array, known: np.ndarray) -> Array:
    """(n_frames, 3, 3) those not ``known`` lie between their known neighbours."""
    turns, frames = quat.from_matrix(rotations), np.arange(len(rotations))
    return quat.to_matrix(quat.between_known(turns, np.flatnonzero(known), frames))


def _root_poses(rig: SubjectModel, observed: Array) -> RigidFit:
    """Of the root by its own markers; where most frames show but two of them, by those and the
    bodies around it, as if at rest."""
    own = np.flatnonzero(rig.marker_bodies == 0)
    fit = fit_rigid(rig.places[own], observed[:, own])
    loose = np.flatnonzero(fit.status == AXIS)
    full = np.count_nonzero(fit.status == FULL)
    if not len(loose) or full >= ROOTED_SHARE * (full + len(loose)):
        return fit
    joints, steps = np.zeros((rig.n_bodies, 3)), np.zeros(rig.n_bodies)
    for body in range(1, rig.n_bodies):
        joints[body] = joints[rig.parents[body]] + rig.offsets[body]
        steps[body] = steps[rig.parents[body]] + 1
    at_rest = joints[rig.marker_bodies] + rig.places
    weights = OUTWARD_RATIO ** steps[rig.marker_bodies]
    guessed = fit_rigid(at_rest, observed[loose], weights, straight=0.1 * np.sqrt(OUTWARD_RATIO))
    fit.rotations[loose], fit.positions[loose] = guessed.rotations, guessed.positions
    return fit


def _turn(rig: SubjectModel, observed: Array, body: int, joint: Array, above: Array) -> Array:
    """The rotation about its joint that suits a body's markers best, and its parent a little."""
    own = np.flatnonzero(rig.marker_bodies == body)
    points, places = observed[:, own], rig.places[own]
    if not np.isfinite(points).any():
        points, places = _ends_of_bones(rig, observed, body)
    arms = points - joint[:, None]
    arms = np.where(np.isfinite(arms), arms, 0.0)
    moment = np.einsum("fmi,mj->fij", arms, places) + PARENT_SIGMA**2 * above
    return quat.nearest_matrix(moment)


def _ends_of_bones(rig: SubjectModel, observed: Array, body: int) -> tuple[Array, Array]:
    """Joints of the bodies that hang on one without markers, (n_frames, n, 3) where their own
    markers have them and (n, 3) on the body: so an arm points at its forearm."""
    below = [child for child, parent in enumerate(rig.parents) if parent == body]
    ends = np.full((len(observed), len(below), 3), np.nan)
    for column, child in enumerate(below):
        own = np.flatnonzero(rig.marker_bodies == child)
        fit = fit_rigid(rig.places[own], observed[:, own])
        shown = fit.status == FULL
        ends[shown, column] = fit.positions[shown]
    return ends, rig.offsets[below]
