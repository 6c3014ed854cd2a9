"""The normal matrix of a whole clip: frames after one another, banded, and its Cholesky factors.

``band[j, k]`` is the entry of column j that stands k below its diagonal. The matrix is positive
definite. A panel of eight columns is taken off three others at once: what is read and written is
then used 24 times, and memory is what costs. The last seven entries of each column are empty, so
that all eight have the same rows; constant distances between their copies let the compiler prove
that they do not overlap.
"""

import numpy as np

from osteon.maths import FAST_MATH, kernel

U = np.uint64

EMPTY = 7
"""Count of entries at the end of each column that stay zero: derived, one less than a panel."""
PANEL, THREE = U(EMPTY + 1), U(3)
"""Counts of columns that are taken off, and of those that they are taken off, at once. Measured:
four off three took 1.9 times as long, six off three and ten off two 1.5 and 1.2 times."""
ROWS = U(2048)
"""Count of entries of a column that has a place in a panel. Chosen: those of 681 coordinates;
wider bands go column by column."""
CHUNK = 32
"""Count of frames that are filled in at once. Chosen: these stay in the nearer memory, and a
multiple of eight leaves no column without a panel."""
P = tuple(U(p * int(ROWS)) for p in range(EMPTY + 1))


@kernel(fastmath=FAST_MATH)
def factor_clip(path, owner, normal, precision, weight, differences, settled, band):
    """Fill a band with the normal matrix of the markers and of third differences, and factor it.

    Frames are filled in shortly before they are factored, so that they come from near memory.

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
    settled : (n_frames,)
        Added to the diagonal of each frame.
    band : (n_frames · n_dofs, 3 n_dofs + 1 + EMPTY)
        The answer.
    """
    n_frames, n_dofs, filled = len(normal), weight.shape[1], 0
    for first in range(0, n_frames, CHUNK):
        last = min(first + CHUNK, n_frames)
        for frame in range(filled, min(last + len(differences) - 1, n_frames)):
            columns = band[frame * n_dofs : (frame + 1) * n_dofs]
            columns[:] = 0.0
            for entry in range(len(path)):
                column = path[entry]
                columns[column, owner[entry] - column] += precision * normal[frame, entry]
            columns[:, 0] += 1e-9 + settled[frame]
            _add_differences(columns, frame, weight, differences)
            filled = frame + 1
        factor_band(band, U(first * n_dofs), U(last * n_dofs))


@kernel(fastmath=FAST_MATH)
def _add_differences(columns, frame, weight, differences):
    n_dofs, order = weight.shape[1], len(differences) - 1
    for i in range(order + 1):
        about = frame - i
        if about < 0 or about >= len(weight):
            continue
        for lag in range(order + 1 - i):
            share = differences[i] * differences[i + lag]
            for dof in range(n_dofs):
                columns[dof, lag * n_dofs] += share * weight[about, dof]


@kernel(fastmath=FAST_MATH)
def factor_band(band, first, end):
    """Make columns first … end − 1 of a banded matrix (n, width + 1 + EMPTY), those before them
    being done, those of its Cholesky factor, in place."""
    n, size, flat = U(band.shape[0]), U(band.shape[1]), band.reshape(-1)
    panel = np.zeros(PANEL * ROWS)
    done = first
    while done + PANEL <= end and PANEL < size <= ROWS:
        _finish_panel(flat, size, done, panel)
        i, last = PANEL, min(size, n - done)
        while i + THREE <= last:
            _take_off_panel(flat, size, (done + i) * size, i, panel)
            i += THREE
        for rest in range(i, last):
            for p in range(PANEL):
                _take_off(flat, size, done + p, rest - p)
        done += PANEL
    for j in range(done, end):
        _scale_column(flat, size, j)
        for i in range(U(1), min(size, n - j)):
            _take_off(flat, size, j, i)


@kernel(fastmath=FAST_MATH)
def _finish_panel(flat, size, j, panel):
    """Finish the columns of a panel, and copy them beside each other."""
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
def _across(panel, row):
    """A row of the panel."""
    return (
        panel[row],
        panel[row + P[1]],
        panel[row + P[2]],
        panel[row + P[3]],
        panel[row + P[4]],
        panel[row + P[5]],
        panel[row + P[6]],
        panel[row + P[7]],
    )


@kernel(fastmath=FAST_MATH)
def _product(a, b):
    near = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    return near + a[4] * b[4] + a[5] * b[5] + a[6] * b[6] + a[7] * b[7]


@kernel(fastmath=FAST_MATH)
def _take_off_panel(flat, size, target, i, panel):
    """Take a panel off three columns, the first of which stands i after the panel's first."""
    m, r = i + U(1), i + U(2)
    a, b, c = _across(panel, i), _across(panel, m), _across(panel, r)
    flat[target] -= _product(a, a)
    flat[target + U(1)] -= _product(a, b)
    flat[target + size] -= _product(b, b)
    t0, t1, t2 = target + U(2), target + size + U(1), target + U(2) * size
    for k in range(size - r):
        row = _across(panel, r + k)
        flat[t0 + k] -= _product(a, row)
        flat[t1 + k] -= _product(b, row)
        flat[t2 + k] -= _product(c, row)


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
