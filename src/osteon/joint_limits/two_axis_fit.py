"""Two axes that explain a joint: the pair a (in the parent), b (in the body) with a·Rb constant.

Whatever a universal joint does, the angle between its two axes stays. docs/methods.md E2.7.
"""

import numpy as np

from osteon.joint_limits._kinds_kernel import frame_across, mix, turn_moments
from osteon.maths import dot, kernel
from osteon.typing import Array

N_STARTS = 12
"""Count of directions that the first axis is tried from. Chosen."""
FIRST_ROUNDS, MOST_ROUNDS = 3, 80
"""Rounds from every start, and from the ``N_FOLLOWED`` best of them until they settle."""
N_FOLLOWED = 3
"""Count of best starts that are followed until they settle. Chosen."""
SETTLED_SHARE = 1e-7
"""Share of the variance by which a round must better it to be followed by another. Chosen."""
MOST_OBLIQUE = 1.0
"""Cotangent of the least angle between the axes: nearer than 45° they count as one that wobbles."""
PAIRS = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])
"""Places of the products of two parts of a vector: xx, yy, zz, xy, xz, yz."""


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
    for_outer, for_inner = _packed(moments)
    angles = np.pi * np.arange(N_STARTS) / N_STARTS
    starts = np.stack([np.cos(angles), np.sin(angles), np.zeros(N_STARTS)], axis=-1)
    outer, inner = np.zeros((n_joints, 3)), np.zeros((n_joints, 3))
    variance = np.full(n_joints, np.inf)
    _search(for_outer, for_inner, starts, outer, inner, variance)
    return outer, inner, np.sqrt(np.maximum(variance, 0.0))


@kernel
def _search(for_outer, for_inner, starts, outer, inner, variance):
    """A few rounds from every start, then the best few until they settle; the best is kept."""
    seconds, lefts = np.empty((len(starts), 3)), np.empty(len(starts))
    for joint in range(len(for_outer)):
        for start in range(len(starts)):
            two = (starts[start, 0], starts[start, 1], starts[start, 2])
            _, two, lefts[start] = _alternate(for_outer[joint], for_inner[joint], two, FIRST_ROUNDS)
            seconds[start, 0], seconds[start, 1], seconds[start, 2] = two
        for start in np.argsort(lefts)[:N_FOLLOWED]:
            two = (seconds[start, 0], seconds[start, 1], seconds[start, 2])
            one, two, left = _alternate(for_outer[joint], for_inner[joint], two, MOST_ROUNDS)
            if left < variance[joint]:
                variance[joint] = left
                for k in range(3):
                    outer[joint, k], inner[joint, k] = one[k], two[k]


@kernel
def _alternate(for_outer, for_inner, two, rounds):
    """Each axis in turn the best for the other; the pair and the variance it leaves."""
    one, left = two, np.inf
    for _ in range(rounds):
        before = left
        one, _ = _best_partner(for_outer, two)
        two, left = _best_partner(for_inner, one)
        if before - left <= SETTLED_SHARE * left:
            break
    return one, two, left


@kernel
def _best_partner(moments, held):
    """The axis that keeps its angle to ``held`` best, and the variance of the turn it forbids.

    With the axis u + t·held, u a unit vector across ``held``, that variance is a quadratic form.
    """
    form = _form(moments, held)
    along = _times(form, held)
    own = dot(along, held) + 1e-300
    first, second = frame_across(held)
    x, y = dot(along, first), dot(along, second)
    xx = dot(first, _times(form, first)) - x * x / own
    xy = dot(first, _times(form, second)) - x * y / own
    yy = dot(second, _times(form, second)) - y * y / own
    cosine, sine = _narrow(xx - yy, 2.0 * xy)
    u = mix(cosine, first, sine, second)
    t = min(max(-dot(along, u) / own, -MOST_OBLIQUE), MOST_OBLIQUE)
    axis = mix(1.0, u, t, held)
    length = np.sqrt(dot(axis, axis))
    return mix(1.0 / length, axis, 0.0, axis), dot(axis, _times(form, axis))


@kernel
def _narrow(x, y):
    """Cosine and sine of a right angle and half the angle of (x, y), without an arc tangent."""
    length = np.sqrt(x * x + y * y)
    if length == 0.0:
        return 0.0, 1.0
    if x >= 0.0:
        cosine = np.sqrt(0.5 * (1.0 + x / length))
        return -0.5 * y / (length * cosine), cosine
    sine = np.sqrt(0.5 * (1.0 - x / length))
    return -sine, 0.5 * y / (length * sine)


@kernel
def _packed(moments):
    """For either axis (n_joints, 6, 6): the form of one per product of two parts of the other.

    Entry (3a + b, 3c + d) of ``moments`` is what the parts a, c of the outer axis and b, d of the
    inner share; pairs of parts are counted once, see ``PAIRS``.
    """
    for_outer, for_inner = np.zeros((len(moments), 6, 6)), np.zeros((len(moments), 6, 6))
    for n in range(len(moments)):
        for a in range(3):
            for b in range(3):
                for c in range(3):
                    for d in range(3):
                        share = moments[n, 3 * a + b, 3 * c + d]
                        for_outer[n, PAIRS[b, d], PAIRS[a, c]] += share
                        for_inner[n, PAIRS[a, c], PAIRS[b, d]] += share
    for_outer[:, :, 3:] *= 0.5
    for_inner[:, :, 3:] *= 0.5
    return for_outer, for_inner


@kernel
def _form(moments, v):
    """The symmetric matrix Σ v_a v_b · moments[pair ab] as xx, yy, zz, xy, xz, yz."""
    m, w = moments, (v[0] * v[0], v[1] * v[1], v[2] * v[2], v[0] * v[1], v[0] * v[2], v[1] * v[2])
    return (
        _row(m, w, 0),
        _row(m, w, 1),
        _row(m, w, 2),
        _row(m, w, 3),
        _row(m, w, 4),
        _row(m, w, 5),
    )


@kernel
def _row(m, w, k):
    return (
        w[0] * m[0, k]
        + w[1] * m[1, k]
        + w[2] * m[2, k]
        + w[3] * m[3, k]
        + w[4] * m[4, k]
        + w[5] * m[5, k]
    )


@kernel
def _times(form, v):
    return (
        form[0] * v[0] + form[3] * v[1] + form[4] * v[2],
        form[3] * v[0] + form[1] * v[1] + form[5] * v[2],
        form[4] * v[0] + form[5] * v[1] + form[2] * v[2],
    )
