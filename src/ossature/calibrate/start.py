"""First poses for the fit: every frame on its own, from the root outwards, in closed form."""

import numpy as np

from ossature.calibrate.adjust import Poses
from ossature.calibrate.rig import Rig
from ossature.maths import quat
from ossature.maths.quat import Array
from ossature.maths.rigid import AXIS, RigidFit, fit_rigid

LOYALTY = 0.02
"""Metres. A body follows its parent as if markers this far out said so: decides the turn that its
own markers leave open."""
OUTWARD = 1e-4
"""Weight of a marker one joint further out, which turns the root where its own leave that open."""


def start_poses(rig: Rig, observed: Array) -> Poses:
    """Poses near enough for the fit; frames that show fewer than two of the root's markers are NaN.

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
    for body in range(1, rig.n_bodies):
        parent = rig.parents[body]
        above = rotations[fixed, parent]
        joint = joints[fixed, parent] + above @ rig.offsets[body]
        rotations[fixed, body] = _turn(rig, observed[fixed], body, joint, above)
        joints[fixed, body] = joint
    return Poses(rotations, joints[:, 0])


def _root_poses(rig: Rig, observed: Array) -> RigidFit:
    """Of the root by its own markers; by two of them and the bodies around it, as if at rest."""
    own = np.flatnonzero(rig.marker_bodies == 0)
    fit = fit_rigid(rig.places[own], observed[:, own])
    loose = np.flatnonzero(fit.status == AXIS)
    if not len(loose):
        return fit
    joints, steps = np.zeros((rig.n_bodies, 3)), np.zeros(rig.n_bodies)
    for body in range(1, rig.n_bodies):
        joints[body] = joints[rig.parents[body]] + rig.offsets[body]
        steps[body] = steps[rig.parents[body]] + 1
    at_rest = joints[rig.marker_bodies] + rig.places
    weights = OUTWARD ** steps[rig.marker_bodies]
    guessed = fit_rigid(at_rest, observed[loose], weights, straight=0.1 * np.sqrt(OUTWARD))
    fit.rotations[loose], fit.positions[loose] = guessed.rotations, guessed.positions
    return fit


def _turn(rig: Rig, observed: Array, body: int, joint: Array, above: Array) -> Array:
    """The rotation about its joint that suits a body's markers best, and its parent a little."""
    own = np.flatnonzero(rig.marker_bodies == body)
    arms = observed[:, own] - joint[:, None]
    arms = np.where(np.isfinite(arms), arms, 0.0)
    moment = np.einsum("fmi,mj->fij", arms, rig.places[own]) + LOYALTY**2 * above
    u, _, vt = np.linalg.svd(moment)
    u[..., -1] *= np.linalg.det(u @ vt)[:, None]
    return u @ vt
