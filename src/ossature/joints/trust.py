"""How well a joint is known: noise that averages out, and skin that does not.

Under white noise the covariance is that of least squares. Frames whose errors go together, as
those of loose straps do, count as fewer. Skin moves with the posture, frame after frame alike:
what it may have done to the joint is ``skin.py``'s, and is added here.
"""

import numpy as np

from ossature.joints.centre import PRIOR
from ossature.joints.refine import RefinedJoint
from ossature.joints.skin import SkinView
from ossature.values.arrays import Array

REST = 1.0
"""Radians: how far the take's mean posture may lie from the one in which the skin is at rest. By
so much skin a sensor may sit elsewhere than where it was put, all the time."""
LEVEL = 0.015
"""Share to which the level of orientation noise is known; it draws joints to the sensors."""
LEVER = 0.25
"""Metres: skin that moves a sensor by this much turns it by one radian."""
ARM = 0.1
"""Metres: usual distance of a joint from its sensors, one coordinate of it."""


def covariance_of(fit: RefinedJoint, view: SkinView, gain: float) -> Array:
    """(6, 6) of the joint's place; ``gain`` is its skin's, square metres per rad².

    Doubt is said, and moves nothing. Directions that were not fitted are known as the prior has it.
    """
    n_free = fit.free.shape[1]
    skin = gain * (view.moved @ view.moved.T + REST**2 * np.eye(n_free))
    silent = np.eye(6) - fit.free @ fit.free.T
    return fit.free @ (noise_covariance(fit) + skin) @ fit.free.T + PRIOR**2 * silent


def turned_by_skin(gain: float, view: SkinView) -> float:
    """Mean square by which skin turns two sensors against each other, rad²."""
    return 2.0 * gain * view.bent / LEVER**2


def drawn(fit: RefinedJoint, turned: float) -> Array:
    """(6, 6) how far sensors that turn by themselves draw the joint to them; covariance.

    ``turned`` is the mean square of what they turn, rad². Of the curvature along a direction, a
    share that is no motion of the joint shortens its arm by that share.
    """
    curvatures, ways = np.linalg.eigh(fit.hessian)
    feigned = turned * len(fit.frames) / fit.unit**2
    true = np.maximum(curvatures - fit.feigned, 0.05 * curvatures)
    share = np.minimum(feigned / true, 0.999)
    shift = fit.free @ ways * np.minimum(ARM * share / (1.0 - share), PRIOR)
    return shift @ shift.T


def noise_covariance(fit: RefinedJoint) -> Array:
    """(n_free, n_free) covariance of the estimate from the scatter of its own equations.

    The scatter is summed over lags up to where the residuals forget each other.
    """
    scores = np.einsum("kia,ki->ka", fit.slopes, fit.residuals)
    n_lags = _memory(fit.residuals)
    scatter = scores.T @ scores
    for lag in range(1, n_lags + 1):
        share = scores[lag:].T @ scores[:-lag]
        scatter += (1.0 - lag / (n_lags + 1)) * (share + share.T)
    # where the prior decides, the data's scatter is zero and the prior's own spread remains
    scatter += fit.ridge * np.eye(len(scatter))
    hessian = fit.hessian
    inverse = np.linalg.inv(hessian)
    return inverse @ scatter @ inverse + _misjudged_noise(fit, hessian)


def _misjudged_noise(fit: RefinedJoint, hessian: Array) -> Array:
    """(n_free, n_free) what an error of the noise level does: it moves the joint along its arms."""
    curvatures, ways = np.linalg.eigh(hessian)
    share = np.minimum(fit.feigned / curvatures, 1.0)
    arm = float(fit.centres @ fit.centres) / 2.0
    return arm * (ways * (LEVEL * share) ** 2) @ ways.T


def _memory(residuals: Array) -> int:
    """Frames after which residuals are no longer alike; 0 for white noise."""
    centred = residuals - residuals.mean(axis=0)
    power = np.sum(centred**2)
    limit = max(0.1, 3.0 / np.sqrt(centred.size))
    for lag in range(1, len(centred) // 10):
        if np.sum(centred[lag:] * centred[:-lag]) < limit * power:
            return 2 * (lag - 1)
    return len(centred) // 10
