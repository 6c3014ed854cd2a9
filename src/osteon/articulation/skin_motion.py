"""Skin: what moves with the posture, and what it may do to a joint.

The flesh that carries a sensor slides as the joints beside it bend. Take it as a random smooth
function of their angles with an unknown *gain*, metres of skin per radian. As far as another place
of the joint would explain it, the fit takes that place, and no residual shows it; the rest of the
same function stays in the residuals and shows how large the gain is. So the likelihood of the
residuals gives the gain, and the gain how far the joint may be off. Joints of one person have
similar skin: they tell one another its usual gain, which helps those that show little themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.articulation.refine import RefinedJoint
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Bodies

GAINS = np.geomspace(1e-8, 0.1, 161)
"""Gains that are tried, metres per radian. Bones show thighs whose skin moves by 4–26 mm rms as
they swing [Cereatti 2017]: some 70 mm per radian at worst."""
ALIKE = 0.5
"""Standard deviation of ln gain between the joints of one take."""
ASIDE = 2
"""Frames between a residual and the postures that may explain it: a frame's own posture shares its
noise with the residual."""
FEWEST = 3
"""Frames per term below which residuals are not asked."""


@dataclass(frozen=True, slots=True, eq=False)
class SkinView:
    """What one joint's residuals say about its skin."""

    likelihood: Array
    """(n_gains,) ln likelihood of every gain, up to a constant."""
    moved: Array
    """(n_free, n_terms) metres by which a unit gain of each term moves the joint, times rad."""
    bent: float
    """Mean square of all angles beside the joint together, about their means, rad²."""


def postures(bodies: Bodies, ends: Sequence[tuple[int, int]], still: Sequence[float]) -> Array:
    """(n_frames, n_joints, 3) rotation vectors of joints about their means; NaN if not seen.

    ``still`` (n_joints,) is the mean square angle, rad², below which a turn is no posture: a sensor
    that turns on its body turns the joint and moves it alike, and no skin slides so far.
    """
    turns = [quat.between(bodies.rotations[:, i], bodies.rotations[:, j]) for i, j in ends]
    return np.stack(
        [_above(_about_mean(turn), least) for turn, least in zip(turns, still, strict=True)], axis=1
    )


def _about_mean(turns: Array) -> Array:
    known = turns[np.isfinite(turns).all(axis=-1)]
    # the first eigenvector is the mean whatever the signs of the quaternions
    mean = np.linalg.eigh(known.T @ known)[1][:, -1]
    return quat.log(quat.between(mean, turns))


def _above(angles: Array, least: float) -> Array:
    """Rotation vectors without the axes about which they turn less than that, mean square."""
    known = angles[np.isfinite(angles).all(axis=-1)]
    squares, axes = np.linalg.eigh(known.T @ known / len(known))
    kept = axes[:, squares > least]
    return angles @ kept @ kept.T


def angles_beside(
    bent: Array, ends: Sequence[tuple[int, int]], joint: int, frames: np.ndarray
) -> Array:
    """(n_frames, 3 n_near) postures of a joint, first, and of all others of its two bodies."""
    near = [joint] + [
        other for other, pair in enumerate(ends) if other != joint and set(pair) & set(ends[joint])
    ]
    before, after = np.maximum(frames - ASIDE, 0), np.minimum(frames + ASIDE, len(bent) - 1)
    around = 0.5 * (bent[before][:, near] + bent[after][:, near])
    return np.nan_to_num(around).reshape(len(frames), -1)


def view_skin(fit: RefinedJoint, angles: Array) -> SkinView:
    """What a joint's residuals say of its skin; ``angles`` (n_frames, n) as ``angles_beside``.

    The part of each term that the joint's place explains is taken out of it (restricted maximum
    likelihood); along the eigenvectors of what is left, residuals are independent.
    """
    terms = fit.weights[:, None] * _terms(angles)
    pull = np.einsum("kia,kf->aif", fit.slopes, terms).reshape(fit.free.shape[1], -1)
    moved = np.linalg.solve(fit.hessian, pull)
    bent = float(np.sum(np.var(angles, axis=0)))
    if len(terms) < FEWEST * terms.shape[1]:
        return SkinView(np.zeros(len(GAINS)), moved / fit.unit, bent)
    left = np.kron(np.eye(fit.residuals.shape[1]), terms.T @ terms) - pull.T @ moved
    sizes, ways = np.linalg.eigh(left)
    shown = sizes > 1e-6 * np.sum(terms**2)
    power = (ways.T @ (fit.residuals.T @ terms).reshape(-1))[shown] ** 2 / sizes[shown]
    gains = (GAINS / fit.unit) ** 2
    variance = _slow_variance(fit.residuals, terms) + np.multiply.outer(gains, sizes[shown])
    likelihood = -0.5 * np.sum(np.log(variance) + power / variance, axis=1)
    return SkinView(likelihood, moved / fit.unit, bent)


def _terms(angles: Array) -> Array:
    """(n_frames, n_terms) functions of the posture: all angles, and squares of the joint's own."""
    first, second = np.triu_indices(3)
    terms = np.concatenate([angles, angles[:, first] * angles[:, second]], axis=1)
    return terms - terms.mean(axis=0)


def _slow_variance(residuals: Array, terms: Array) -> float:
    """Variance that slow functions see in what the posture leaves unexplained of the residuals.

    Slow noise is as few independent frames as it has memory: of them, one per term was explained.
    """
    rest = residuals - terms @ np.linalg.lstsq(terms, residuals, rcond=1e-6)[0]
    power = float(np.sum(rest**2))
    limit = max(0.1, 3.0 / np.sqrt(rest.size))
    total = 1.0
    for lag in range(1, len(rest) // 10):
        alike = float(np.sum(rest[lag:] * rest[:-lag])) / max(power, 1e-300)
        if alike < limit:
            break
        total += 2.0 * alike
    left = max(1.0 - total * np.linalg.matrix_rank(terms, rtol=1e-3) / len(rest), 0.1)
    return max(total * power / (left * rest.size), 1e-300)


def mean_square_gains(views: Sequence[SkinView | None]) -> Array:
    """(n_joints,) expected square of each joint's gain, metres² per rad²; None: no view of it."""
    seen = [view.likelihood for view in views if view is not None]
    if not seen:
        return np.zeros(len(views))
    scale = np.log(GAINS)
    usual = -0.5 * ((scale - scale[:, None]) / ALIKE) ** 2
    usual -= np.logaddexp.reduce(usual, axis=1, keepdims=True)
    # rows: the usual gain of the take; it is chosen by what all joints say together
    together = [np.logaddexp.reduce(usual + likelihood, axis=1) for likelihood in seen]
    prior = usual[int(np.argmax(np.sum(together, axis=0)))]
    return np.array([_expected(prior if v is None else prior + v.likelihood) for v in views])


def _expected(log_weights: Array) -> float:
    weights = np.exp(log_weights - log_weights.max())
    return float(weights @ GAINS**2 / weights.sum())
