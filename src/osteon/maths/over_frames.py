"""Runs of neighbouring frames, and banded systems over them.

The systems are positive definite. LAPACK's own wait for threads that have nothing to do here.
"""

import numpy as np

from osteon.maths.compiled import FAST_MATH, kernel

U = np.uint64


def runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each run of True in a (n_frames,) mask."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


@kernel(fastmath=FAST_MATH)
def solve_banded(band, right):
    """Solve in place: ``band`` becomes its Cholesky factor, ``right`` the answer.

    Parameters
    ----------
    band : (n, width + 1)
        ``band[j, k]`` is the entry of column j that stands k below the diagonal.
    right : (n,)
    """
    n, size = U(band.shape[0]), U(band.shape[1])
    flat = band.reshape(-1)
    for j in range(n):
        column, reach = j * size, min(size, n - j)
        scale = 1.0 / np.sqrt(flat[column])
        for k in range(reach):
            flat[column + k] *= scale
        right[j] *= scale
        for i in range(U(1), reach):
            share, target, source = flat[column + i], (j + i) * size, column + i
            for k in range(reach - i):
                flat[target + k] -= share * flat[source + k]
            right[j + i] -= share * right[j]
    for back in range(U(1), n + U(1)):
        j = n - back
        column, total = j * size, right[j]
        for k in range(U(1), min(size, n - j)):
            total -= flat[column + k] * right[j + k]
        right[j] = total / flat[column]
