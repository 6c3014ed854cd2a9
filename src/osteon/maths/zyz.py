"""ZYZ angles: R = Rz(φ)·Ry(ψ)·Rz(θ) with ψ in [0, π]. [001] appendix A, with both poles.

At ψ = 0 only φ + θ means anything, at ψ = π only φ − θ. There θ is set to zero, as the paper does
at the first pole. No arc cosine: ψ keeps its digits at both ends.
"""

import numpy as np

from osteon.maths.circular import wrap
from osteon.typing import Array

LOCKED_ANGLE = 1e-4
"""Radians from a pole below which the two outer angles are no longer told apart."""


def from_quat(q: Array, locked: float = LOCKED_ANGLE) -> Array:
    """Angles (..., 3) φ, ψ, θ of rotations (..., 4); φ and θ in [−π, π)."""
    w, x, y, z = np.moveaxis(np.asarray(q), -1, 0)
    cos_half, sin_half = np.hypot(w, z), np.hypot(x, y)
    psi = 2.0 * np.arctan2(sin_half, cos_half)
    half_sum, half_difference = np.arctan2(z, w), np.arctan2(-x, y)
    half_difference = np.where(psi < locked, half_sum, half_difference)
    half_sum = np.where(psi > np.pi - locked, half_difference, half_sum)
    phi, theta = half_sum + half_difference, half_sum - half_difference
    return np.stack([wrap(phi), psi, wrap(theta)], axis=-1)


def to_quat(angles: Array) -> Array:
    """Rotations (..., 4) of ZYZ angles (..., 3)."""
    phi, psi, theta = np.moveaxis(0.5 * np.asarray(angles), -1, 0)
    cos, sin = np.cos(psi), np.sin(psi)
    return np.stack(
        [
            cos * np.cos(phi + theta),
            -sin * np.sin(phi - theta),
            sin * np.cos(phi - theta),
            cos * np.sin(phi + theta),
        ],
        axis=-1,
    )
