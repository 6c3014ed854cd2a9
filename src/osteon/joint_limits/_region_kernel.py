"""How far a rotation lies beyond a region of rotations that were seen, and which way out it is.

A rotation q is near a pose s by (q·s)², the squared cosine of half the angle between them: blind to
the signs of quaternions. High powers of it, summed over all poses, are a smooth largest one.
docs/methods.md §8.
"""

from typing import NamedTuple

import numpy as np

from osteon.maths import FAST_MATH, kernel

FADING_EXPONENT = 40.0
"""Of e: poses that count for less are passed over. Derived: e⁻⁴⁰ is below what a sum of doubles
shows."""
FEWEST_NEARNESS = 1e-30
"""Ratio: (q·s)⁸ at half a turn, where there is no way out. Chosen: above zero."""
SPARE_SINE = 1e-9
"""Ratio: sine of half an angle that directions are divided by at least. Chosen."""


class SeenPoses(NamedTuple):
    """Regions of n joints, their poses in one list."""

    poses: np.ndarray
    """(n_poses, 4)"""
    beside: np.ndarray
    """(n_poses, 4) of the parent; zeros where it does not matter."""
    first: np.ndarray
    """(n + 1,) where the poses of each region begin."""
    parent: np.ndarray
    """(n,) body of the parent joint, −1 where it does not matter."""
    radius: np.ndarray
    """(n,) radians."""
    doublings: np.ndarray
    """(n,) how often nearness is squared before it is summed."""


@kernel(fastmath=FAST_MATH)
def nearness(a, b):
    """Squared cosine of half the angle between rotations."""
    cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    return cosine * cosine


@kernel(fastmath=FAST_MATH)
def nearest_pose(seen, i, q, p, enough):
    """The pose of region i nearest to q given the parent p: which, (q·s)⁸ with what the parent
    takes off, and which pose and nearness is the parent's own best.

    Ends at the first pose that is ``enough``: what a parent takes off is at most its own distance.
    """
    best, most, parent_best, parent_most = 0, -1.0, 0, 1.0
    coupled = seen.parent[i] >= 0
    if coupled:
        parent_most = FEWEST_NEARNESS
    for k in range(seen.first[i], seen.first[i + 1]):
        g = nearness(q, seen.poses[k]) ** 4
        if coupled:
            b = nearness(p, seen.beside[k])
            g *= b
            if b > parent_most:
                parent_best, parent_most = k, b
        if g > most:
            best, most = k, g
            if g >= enough:
                break
    return best, max(most / parent_most, FEWEST_NEARNESS), parent_best, parent_most


@kernel(fastmath=FAST_MATH)
def region_excess(seen, i, q, p):
    """Radians beyond region i, and the gradients by a turn of the joint and of its parent."""
    none = (0.0, 0.0, 0.0)
    inner = np.cos(0.5 * seen.radius[i]) ** 2
    _, most, parent_best, parent_most = nearest_pose(seen, i, q, p, inner**4)
    if most >= inner**4:
        return 0.0, none, none
    power = 1 << seen.doublings[i]
    coupled, least = seen.parent[i] >= 0, 1.0 - FADING_EXPONENT / power
    total, x, y, z, u, v, w = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(seen.first[i], seen.first[i + 1]):
        share = nearness(q, seen.poses[k]) ** 4 / most
        if coupled:
            share *= nearness(p, seen.beside[k]) / parent_most
        if share < least:
            continue
        for _ in range(seen.doublings[i]):
            share *= share
        total += share
        a = way_to(q, seen.poses[k])
        x, y, z = x + share * a[0], y + share * a[1], z + share * a[2]
        if coupled:
            a = way_to(p, seen.beside[k])
            u, v, w = u + share * a[0], v + share * a[1], w + share * a[2]
    near = most**0.25 * total ** (0.25 / power)
    if near >= inner:
        return 0.0, none, none
    slope = -np.sqrt(near / (1.0 - near)) / total
    gradient = (slope * x, slope * y, slope * z)
    excess = 2.0 * np.arccos(np.sqrt(near)) - seen.radius[i]
    if not coupled:
        return excess, gradient, none
    a, quarter = way_to(p, seen.beside[parent_best]), 0.25 * slope
    turn = (
        quarter * (u - total * a[0]),
        quarter * (v - total * a[1]),
        quarter * (w - total * a[2]),
    )
    return excess, gradient, turn


@kernel(fastmath=FAST_MATH)
def way_to(q, s):
    """tan(angle / 2) · axis of the turn, in the parent's frame, that leads from q to s."""
    w = q[0] * s[0] + q[1] * s[1] + q[2] * s[2] + q[3] * s[3]
    scale = 1.0 / w if abs(w) > SPARE_SINE else 1.0 / SPARE_SINE
    return (
        scale * (s[1] * q[0] - s[0] * q[1] - s[2] * q[3] + s[3] * q[2]),
        scale * (s[2] * q[0] - s[0] * q[2] - s[3] * q[1] + s[1] * q[3]),
        scale * (s[3] * q[0] - s[0] * q[3] - s[1] * q[2] + s[2] * q[1]),
    )


@kernel
def spread_out(q, weights, chosen, n_chosen, near):
    """Choose samples (n_samples, n_joints, 4) as far from each other as can be.

    Parameters
    ----------
    weights : (n_joints,)
        Of sin²(angle / 2) of each joint in the square of a distance.
    chosen : (n_most,)
        Indices; the first ``n_chosen`` are given, the others are filled in.
    near
        Squared distance that a sample may be from the nearest chosen one: then it is enough.

    Returns
    -------
    n_chosen, gap
        How many are chosen, and the largest squared distance left.
    """
    n = len(q)
    apart = np.full(n, np.inf)
    for i in range(n):
        if not np.isfinite(q[i, :, 0]).all():
            apart[i] = -1.0
    done = 0
    while True:
        for c in range(done, n_chosen):
            for i in range(n):
                if apart[i] > 0.0:
                    apart[i] = min(apart[i], _squared_distance(q, i, chosen[c], weights))
        done = n_chosen
        farthest = np.argmax(apart)
        gap = apart[farthest]
        if gap <= near or n_chosen == len(chosen):
            return n_chosen, max(gap, 0.0)
        chosen[n_chosen] = farthest
        n_chosen += 1


@kernel(fastmath=FAST_MATH)
def _squared_distance(q, i, k, weights):
    total = 0.0
    for j in range(q.shape[1]):
        total += weights[j] * (1.0 - nearness(q[i, j], q[k, j]))
    return max(total, 0.0)
