"""Two axes that explain a joint: the pair a (in the parent), b (in the body) with a·Rb constant.

Whatever a universal joint does, the angle between its two axes stays. ERRATA 2.7.
"""

import numpy as np

from ossature.maths import quat, swing_twist
from ossature.maths.quat import Array

STARTS = 6
ROUNDS = 12
MOST_OBLIQUE = 1.0
"""Cotangent of the least angle between the axes: nearer than 45° they count as one that wobbles."""


def fit_axes(turns: Array) -> tuple[Array, Array, Array]:
    """Best pair of axes for rotation matrices (n_samples, n_joints, 3, 3) about their mean.

    The matrices must stand in principal coordinates, widest direction first. The axes start in the
    plane of the two widest directions; each in turn is then the best for the other.

    Returns
    -------
    outer, inner : (n_joints, 3)
        Unit axes: ``outer`` stays where it is, ``inner`` turns along.
    off : (n_joints,)
        Standard deviation of the turn out of the surface that the pair allows, radians.
    """
    flat = turns.reshape(*turns.shape[:2], 9)
    flat = np.swapaxes(flat - flat.mean(axis=0), 0, 1)
    moments = (np.swapaxes(flat, 1, 2) @ flat / len(turns)).reshape(-1, 3, 3, 3, 3)
    for_outer = np.einsum("nabcd->nbdac", moments).reshape(-1, 9, 9)
    for_inner = np.einsum("nabcd->nacbd", moments).reshape(-1, 9, 9)
    angles = np.pi * np.arange(STARTS) / STARTS
    start = np.stack([np.cos(angles), np.sin(angles), np.zeros(STARTS)], axis=-1)
    inner = outer = np.broadcast_to(start, (len(moments), STARTS, 3))
    variance = np.zeros((len(moments), STARTS))
    for _ in range(ROUNDS):
        outer, variance = _best_partner(for_outer, inner)
        inner, variance = _best_partner(for_inner, outer)
    joints, best = np.arange(len(moments)), np.argmin(variance, axis=1)
    off = np.sqrt(np.maximum(variance[joints, best], 0.0))
    return outer[joints, best], inner[joints, best], off


def _best_partner(moments: Array, held: Array) -> tuple[Array, Array]:
    """The axis that keeps its angle to ``held`` best, and the variance of the turn it forbids.

    With the axis u + t·held, u a unit vector across ``held``, that variance is a quadratic form.
    """
    pairs = (held[..., :, None] * held[..., None, :]).reshape(*held.shape[:-1], 9)
    form = (pairs @ moments).reshape(*held.shape, 3)
    along = (form @ held[..., None])[..., 0]
    own = np.sum(along * held, axis=-1)[..., None, None] + 1e-300
    across = swing_twist.directions_across(held)
    mixed = across @ along[..., None]
    reduced = across @ form @ np.swapaxes(across, -1, -2) - mixed @ np.swapaxes(mixed, -1, -2) / own
    xx, xy, yy = reduced[..., 0, 0], reduced[..., 0, 1], reduced[..., 1, 1]
    narrow = 0.5 * np.arctan2(2.0 * xy, xx - yy) + 0.5 * np.pi
    weights = np.stack([np.cos(narrow), np.sin(narrow)], axis=-1)[..., None, :]
    u = (weights @ across)[..., 0, :]
    t = np.clip(-np.sum(along * u, axis=-1) / own[..., 0, 0], -MOST_OBLIQUE, MOST_OBLIQUE)
    axis = u + t[..., None] * held
    variance = (axis[..., None, :] @ form @ axis[..., None])[..., 0, 0]
    return quat.normalise(axis), variance
