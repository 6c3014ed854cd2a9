"""Products of small matrices, compiled: a library's call takes longer than the sums."""

from osteon.maths._quat_kernel import dot
from osteon.maths.compiled import FAST_MATH, kernel


@kernel(fastmath=FAST_MATH)
def times(a, b, product):
    """Fill in the product of two matrices."""
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            product[i, j] = total


@kernel
def turned(turn, vector):
    return dot(turn[0], vector), dot(turn[1], vector), dot(turn[2], vector)


@kernel
def invert_lower(factor, inverse):
    """Fill in the inverse of a lower triangle."""
    n = len(factor)
    for j in range(n):
        for i in range(n):
            inverse[i, j] = 0.0
        inverse[j, j] = 1.0 / factor[j, j]
        for i in range(j + 1, n):
            total = 0.0
            for k in range(j, i):
                total += factor[i, k] * inverse[k, j]
            inverse[i, j] = -total / factor[i, i]
