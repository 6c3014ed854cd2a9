"""Kernel: residuals of a joint between two noisy bodies, in units of their own noise."""

import numpy as np

from osteon.maths import kernel


@kernel
def whitened_residuals(turns, gaps, centres, place, first, second, out):
    """Residuals ``L⁻¹ r`` with ``L Lᵀ`` the covariance that pose noise gives ``r``.

    Parameters
    ----------
    turns : (n_frames, 3, 3)
        Rotation to the first body's frame from the second's.
    gaps : (n_frames, 3)
        The first body's origin minus the second's, in the first body's frame.
    centres : (6,)
        The joint in the first frame and in the second.
    place : float
        Variance of the two places together, per axis.
    first, second : (3, 3)
        Covariance of small turns of each body, in its own frame.
    out : (n_frames, 3)
    """
    near = _swept(centres[:3], first)
    far = _swept(centres[3:], second)
    cov = np.zeros((3, 3))
    for k in range(turns.shape[0]):
        turn = turns[k]
        for a in range(3):
            for b in range(a + 1):
                total = near[a, b]
                for p in range(3):
                    for q in range(3):
                        total += turn[a, p] * far[p, q] * turn[b, q]
                cov[a, b] = total
            cov[a, a] += place
        for a in range(3):
            value = centres[a] + gaps[k, a]
            for b in range(3):
                value -= turn[a, b] * centres[3 + b]
            out[k, a] = value
        _solve_lower(cov, out[k])


@kernel
def _swept(arm, turning):
    """Covariance of the end of an arm whose body turns: ``[arm]× Σ [arm]×ᵀ``."""
    cross = np.array([[0.0, -arm[2], arm[1]], [arm[2], 0.0, -arm[0]], [-arm[1], arm[0], 0.0]])
    return cross @ turning @ cross.T


@kernel
def _solve_lower(cov, vector):
    """Cholesky of the lower half of ``cov`` and forward substitution, both in place."""
    for a in range(3):
        for b in range(a + 1):
            total = cov[a, b]
            for p in range(b):
                total -= cov[a, p] * cov[b, p]
            if a == b:
                cov[a, a] = np.sqrt(total)
            else:
                cov[a, b] = total / cov[b, b]
        value = vector[a]
        for b in range(a):
            value -= cov[a, b] * vector[b]
        vector[a] = value / cov[a, a]
