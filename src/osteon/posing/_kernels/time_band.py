"""The normal matrix of a whole clip: frames after one another, banded, and its Cholesky factors.

``band[j, k]`` is the entry of column j that stands k below its diagonal. The matrix is positive
definite. A panel of four columns is taken off three others at once: what is read and written is
then used twelve times, and memory is what costs. The last three entries of each column are empty,
so that all four have the same rows; constant distances between their copies let the compiler prove
that they do not overlap.
"""

import numpy as np

from osteon.maths import FAST_MATH, kernel

U = np.uint64

EMPTY = 3
"""Count of entries at the end of each column that stay zero: derived, one less than a panel."""
PANEL, THREE = U(EMPTY + 1), U(3)
"""Counts of columns that are taken off, and of those that they are taken off, at once. Measured:
one off one took twice as long, four off one half as long again."""
ROWS = U(2048)
"""Count of entries of a column that has a place in a panel. Chosen: those of 681 coordinates;
wider bands go column by column."""
P = tuple(U(p * int(ROWS)) for p in range(4))


@kernel(fastmath=FAST_MATH)
def fill_band(path, owner, normal, precision, weight, differences, band):
    """Write the normal matrix of the markers and of third differences.

    Parameters
    ----------
    path, owner : (n_entries,)
        Column and row of each entry of a frame's own normal matrix.
    normal : (n_frames, n_entries)
    precision
        Of a marker; ``normal`` is for unit noise.
    weight : (n_frames − 3, n_dofs)
        Of each third difference.
    differences : (4,)
        Ratios of four frames in it.
    band : (n_frames · n_dofs, 3 n_dofs + 1 + EMPTY)
    """
    n_frames, n_dofs, order = len(normal), weight.shape[1], len(differences) - 1
    band[:] = 0.0
    for frame in range(n_frames):
        first = frame * n_dofs
        for entry in range(len(path)):
            column = path[entry]
            band[first + column, owner[entry] - column] += precision * normal[frame, entry]
        for dof in range(n_dofs):
            band[first + dof, 0] += 1e-9
        for i in range(order + 1):
            about = frame - i
            if about < 0 or about >= len(weight):
                continue
            for lag in range(order + 1 - i):
                share = differences[i] * differences[i + lag]
                for dof in range(n_dofs):
                    band[first + dof, lag * n_dofs] += share * weight[about, dof]


@kernel(fastmath=FAST_MATH)
def factor_band(band):
    """Make a banded matrix (n, width + 1 + EMPTY) its Cholesky factor, in place."""
    n, size, flat = U(band.shape[0]), U(band.shape[1]), band.reshape(-1)
    panel = np.zeros(PANEL * ROWS)
    done = U(0)
    while done + PANEL <= n and PANEL < size <= ROWS:
        _finish_panel(flat, size, done, panel)
        i, last = PANEL, min(size, n - done)
        while i + THREE <= last:
            _take_off_panel(flat, size, (done + i) * size, i, panel)
            i += THREE
        for rest in range(i, last):
            for p in range(PANEL):
                _take_off(flat, size, done + p, rest - p)
        done += PANEL
    for j in range(done, n):
        _scale_column(flat, size, j)
        for i in range(U(1), min(size, n - j)):
            _take_off(flat, size, j, i)


@kernel(fastmath=FAST_MATH)
def _finish_panel(flat, size, j, panel):
    """Finish four columns, and copy them beside each other."""
    for p in range(PANEL):
        _scale_column(flat, size, j + p)
        for i in range(U(1), PANEL - p):
            _take_off(flat, size, j + p, i)
    for p in range(PANEL):
        for row in range(p, size):
            panel[p * ROWS + row] = flat[(j + p) * size + row - p]


@kernel(fastmath=FAST_MATH)
def _scale_column(flat, size, j):
    scale = 1.0 / np.sqrt(flat[j * size])
    for k in range(size):
        flat[j * size + k] *= scale


@kernel(fastmath=FAST_MATH)
def _take_off(flat, size, j, i):
    """Take column j off the column i after it."""
    share, target, source = flat[j * size + i], (j + i) * size, j * size + i
    for k in range(size - i):
        flat[target + k] -= share * flat[source + k]


@kernel(fastmath=FAST_MATH)
def _take_off_panel(flat, size, target, i, panel):
    """Take a panel off three columns, the first of which stands i after the panel's first."""
    m, r = i + U(1), i + U(2)
    a0, a1, a2, a3 = panel[i], panel[i + P[1]], panel[i + P[2]], panel[i + P[3]]
    b0, b1, b2, b3 = panel[m], panel[m + P[1]], panel[m + P[2]], panel[m + P[3]]
    c0, c1, c2, c3 = panel[r], panel[r + P[1]], panel[r + P[2]], panel[r + P[3]]
    flat[target] -= a0 * a0 + a1 * a1 + a2 * a2 + a3 * a3
    flat[target + U(1)] -= a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3
    flat[target + size] -= b0 * b0 + b1 * b1 + b2 * b2 + b3 * b3
    t0, t1, t2 = target + U(2), target + size + U(1), target + U(2) * size
    for k in range(size - r):
        p0, p1 = panel[r + k], panel[r + P[1] + k]
        p2, p3 = panel[r + P[2] + k], panel[r + P[3] + k]
        flat[t0 + k] -= a0 * p0 + a1 * p1 + a2 * p2 + a3 * p3
        flat[t1 + k] -= b0 * p0 + b1 * p1 + b2 * p2 + b3 * p3
        flat[t2 + k] -= c0 * p0 + c1 * p1 + c2 * p2 + c3 * p3


@kernel(fastmath=FAST_MATH)
def substitute_band(band, right):
    """Solve with the factor of ``factor_band``: ``right`` (n,) becomes the answer."""
    n, size, flat = U(band.shape[0]), U(band.shape[1]), band.reshape(-1)
    for j in range(n):
        column, reach = j * size, min(size, n - j)
        right[j] /= flat[column]
        share = right[j]
        for k in range(U(1), reach):
            right[j + k] -= share * flat[column + k]
    for back in range(U(1), n + U(1)):
        j = n - back
        column, total = j * size, right[j]
        for k in range(U(1), min(size, n - j)):
            total -= flat[column + k] * right[j + k]
        right[j] = total / flat[column]
