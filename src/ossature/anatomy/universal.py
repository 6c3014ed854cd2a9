"""Two axes that explain a joint: the pair a (in the parent), b (in the body) with a·Rb constant.

Whatever a universal joint does, the angle between its two axes stays. ERRATA 2.7.
"""

import numpy as np
from numba import njit

from ossature.anatomy.limit_kernel import turn_moments
from ossature.maths.quat import Array

STARTS = 12
FIRST_ROUNDS, MOST_ROUNDS = 3, 80
"""Rounds from every start, and from the ``FOLLOWED`` best of them until they settle."""
FOLLOWED = 3
SETTLED = 1e-7
"""Share of the variance by which a round must better it to be followed by another."""
MOST_OBLIQUE = 1.0
"""Cotangent of the least angle between the axes: nearer than 45° they count as one that wobbles."""


def fit_axes(mean: Array, directions: Array, samples: Array) -> tuple[Array, Array, Array]:
    """Best pair of axes for rotations (n_samples, n_joints, 4) about their means (n_joints, 4).

    In principal coordinates ``directions`` (n_joints, 3, 3), widest first, the axes start in the
    plane of the two widest directions; each in turn is then the best for the other.

    Returns
    -------
    outer, inner : (n_joints, 3)
        Unit axes in principal coordinates: ``outer`` stays where it is, ``inner`` turns along.
    off : (n_joints,)
        Standard deviation of the turn out of the surface that the pair allows, radians.
    """
    n_joints = len(mean)
    moments = np.zeros((n_joints, 9, 9))
    turn_moments(mean, directions, samples, moments)
    moments = moments.reshape(-1, 3, 3, 3, 3)
    for_outer = np.einsum("nabcd->nbdac", moments).reshape(-1, 9, 9)
    for_inner = np.einsum("nabcd->nacbd", moments).reshape(-1, 9, 9)
    angles = np.pi * np.arange(STARTS) / STARTS
    starts = np.stack([np.cos(angles), np.sin(angles), np.zeros(STARTS)], axis=-1)
    outer, inner = np.zeros((n_joints, 3)), np.zeros((n_joints, 3))
    variance = np.full(n_joints, np.inf)
    _search(for_outer, for_inner, starts, outer, inner, variance)
    return outer, inner, np.sqrt(np.maximum(variance, 0.0))


@njit(cache=True, nogil=True)
def _search(for_outer, for_inner, starts, outer, inner, variance):
    """A few rounds from every start, then the best few until they settle; the best is kept."""
    seconds, lefts = np.empty((len(starts), 3)), np.empty(len(starts))
    for joint in range(len(for_outer)):
        for start in range(len(starts)):
            two = (starts[start, 0], starts[start, 1], starts[start, 2])
            _, two, lefts[start] = _alternate(for_outer[joint], for_inner[joint], two, FIRST_ROUNDS)
            seconds[start, 0], seconds[start, 1], seconds[start, 2] = two
        for start in np.argsort(lefts)[:FOLLOWED]:
            two = (seconds[start, 0], seconds[start, 1], seconds[start, 2])
            one, two, left = _alternate(for_outer[joint], for_inner[joint], two, MOST_ROUNDS)
            if left < variance[joint]:
                variance[joint] = left
                for k in range(3):
                    outer[joint, k], inner[joint, k] = one[k], two[k]


@njit(cache=True, nogil=True)
def _alternate(for_outer, for_inner, two, rounds):
    """Each axis in turn the best for the other; the pair and the variance it leaves."""
    one, left = two, np.inf
    for _ in range(rounds):
        before = left
        one, _ = _best_partner(for_outer, two)
        two, left = _best_partner(for_inner, one)
        if before - left <= SETTLED * left:
            break
    return one, two, left


@njit(cache=True, nogil=True)
def _best_partner(moments, held):
    """The axis that keeps its angle to ``held`` best, and the variance of the turn it forbids.

    With the axis u + t·held, u a unit vector across ``held``, that variance is a quadratic form.
    """
    form = _form(moments, held)
    along = _times(form, held)
    own = _dot(along, held) + 1e-300
    first, second = _across(held)
    x, y = _dot(along, first), _dot(along, second)
    xx = _dot(first, _times(form, first)) - x * x / own
    xy = _dot(first, _times(form, second)) - x * y / own
    yy = _dot(second, _times(form, second)) - y * y / own
    narrow = 0.5 * np.arctan2(2.0 * xy, xx - yy) + 0.5 * np.pi
    u = _mix(np.cos(narrow), first, np.sin(narrow), second)
    t = min(max(-_dot(along, u) / own, -MOST_OBLIQUE), MOST_OBLIQUE)
    axis = _mix(1.0, u, t, held)
    length = np.sqrt(_dot(axis, axis))
    return _mix(1.0 / length, axis, 0.0, axis), _dot(axis, _times(form, axis))


@njit(cache=True, nogil=True)
def _form(moments, v):
    """The nine entries of the matrix Σ v_a v_b · moments[3a + b]."""
    form = np.zeros(9)
    for a in range(3):
        for b in range(3):
            for k in range(9):
                form[k] += v[a] * v[b] * moments[3 * a + b, k]
    return form


@njit(cache=True, nogil=True)
def _times(form, v):
    return (
        form[0] * v[0] + form[1] * v[1] + form[2] * v[2],
        form[3] * v[0] + form[4] * v[1] + form[5] * v[2],
        form[6] * v[0] + form[7] * v[1] + form[8] * v[2],
    )


@njit(cache=True, nogil=True)
def _across(v):
    """Two unit vectors that make a right-handed frame with unit ``v`` as third."""
    x, y, z = abs(v[0]), abs(v[1]), abs(v[2])
    if x <= y and x <= z:
        first = (0.0, -v[2], v[1])
    elif y <= z:
        first = (v[2], 0.0, -v[0])
    else:
        first = (-v[1], v[0], 0.0)
    first = _mix(1.0 / np.sqrt(_dot(first, first)), first, 0.0, first)
    second = (
        v[1] * first[2] - v[2] * first[1],
        v[2] * first[0] - v[0] * first[2],
        v[0] * first[1] - v[1] * first[0],
    )
    return first, second


@njit(cache=True, nogil=True)
def _mix(a, v, b, w):
    return (a * v[0] + b * w[0], a * v[1] + b * w[1], a * v[2] + b * w[2])


@njit(cache=True, nogil=True)
def _dot(v, w):
    return v[0] * w[0] + v[1] * w[1] + v[2] * w[2]
