"""One smooth path through pairs of answers, chosen over the whole take. Kernels for numba."""

import numpy as np

from osteon.maths import kernel


@kernel
def smoothest(first, second, chosen):
    """Fill ``chosen`` (n,) with branch 0 or 1 of ``first`` and ``second`` (n, 2), radians.

    Viterbi: the path with the least sum of squared angle steps. NaN frames are passed over, and
    get the branch of the frame before.
    """
    n = len(first)
    came = np.zeros((n, 2), dtype=np.uint8)
    cost = np.zeros(2)
    last = -1
    for i in range(n):
        if np.isnan(first[i, 0] + second[i, 0]):
            came[i, 1] = 1
            continue
        if last >= 0:
            fresh = np.zeros(2)
            for b in range(2):
                stay = cost[0] + _step(first[last, 0], first[i, b], second[last, 0], second[i, b])
                move = cost[1] + _step(first[last, 1], first[i, b], second[last, 1], second[i, b])
                came[i, b] = 0 if stay <= move else 1
                fresh[b] = min(stay, move)
            cost[0], cost[1] = fresh[0], fresh[1]
        else:
            # turns are angles from rest: of two answers the smaller one is the natural start
            came[i, 1] = 1
            for b in range(2):
                cost[b] = 1e-3 * (abs(first[i, b]) + abs(second[i, b]))
        last = i
    branch = 0 if cost[0] <= cost[1] else 1
    for i in range(n - 1, -1, -1):
        chosen[i] = branch
        branch = came[i, branch]


@kernel
def _step(a, b, c, d):
    return _wrapped(b - a) ** 2 + _wrapped(d - c) ** 2


@kernel
def _wrapped(angle):
    return (angle + np.pi) % (2.0 * np.pi) - np.pi
