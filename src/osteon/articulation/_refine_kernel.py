"""Kernels: residuals of a joint between two noisy bodies, in units of their own noise."""

import numpy as np

from osteon.maths import kernel, times


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
def whitened_hinge_residuals(turns, gaps, centres, axes, across, place, first, second, out):
    """The same for a hinge, whose axis both bodies carry as well: five rows a frame.

    A turn of a body moves its idea of the joint and of the axis at once, so what the axes show of
    it is known of the joint, too.

    Parameters
    ----------
    axes : (2, 3)
        The axis in the first frame and in the second, unit.
    across : (2, 3)
        Unit directions of the first frame square to the axis and to each other.
    out : (n_frames, 5)
        Of the joint, then of the axis along ``across``.
    """
    arms = np.zeros((5, 3))
    arms[:3] = _cross(centres[:3])
    arms[3:] = across @ _cross(axes[0])
    near = arms @ first @ arms.T
    root = np.linalg.cholesky(second)
    point, line = _cross(centres[3:]) @ root, _cross(axes[1]) @ root
    rows, cov = np.zeros((5, 3)), np.zeros((5, 5))
    for k in range(turns.shape[0]):
        rows[:3] = turns[k]
        times(across, turns[k], rows[3:])
        times(rows[:3], point, arms[:3])
        times(rows[3:], line, arms[3:])
        for a in range(5):
            for b in range(a + 1):
                total = near[a, b]
                for p in range(3):
                    total += arms[a, p] * arms[b, p]
                cov[a, b] = total
        for a in range(3):
            cov[a, a] += place
            out[k, a] = centres[a] + gaps[k, a]
            for p in range(3):
                out[k, a] -= rows[a, p] * centres[3 + p]
        for a in range(2):
            out[k, 3 + a] = 0.0
            for p in range(3):
                out[k, 3 + a] += across[a, p] * axes[0, p] - rows[3 + a, p] * axes[1, p]
        _solve_lower(cov, out[k])


@kernel
def _cross(arm):
    """The matrix of ``arm ×``."""
    return np.array([[0.0, -arm[2], arm[1]], [arm[2], 0.0, -arm[0]], [-arm[1], arm[0], 0.0]])


@kernel
def _swept(arm, turning):
    """Covariance of the end of an arm whose body turns: ``[arm]× Σ [arm]×ᵀ``."""
    cross = _cross(arm)
    return cross @ turning @ cross.T


@kernel
def _solve_lower(cov, vector):
    """Cholesky of the lower half of ``cov`` and forward substitution, both in place."""
    for a in range(len(vector)):
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
