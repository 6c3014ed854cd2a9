"""The surface on which a field sampled on a grid is zero: surface nets [Gibson 1998]."""

import numpy as np

from osteon.maths import kernel
from osteon.typing import Array

CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
EDGES = np.array([[a, b] for a in range(8) for b in range(a + 1, 8) if bin(a ^ b).count("1") == 1])
"""(12, 2) corners of a cell that an edge joins."""


def surface_nets(field: Array) -> tuple[Array, np.ndarray]:
    """Return places (n, 3) in cells of the grid and quadrilaterals (m, 4), anticlockwise from
    outside.

    Every cell with corners on both sides has one vertex, at the middle of where its edges cross;
    every edge that crosses joins the four cells around it.

    Parameters
    ----------
    field : (n_x, n_y, n_z)
        Negative inside; the outermost samples must lie outside.
    """
    field = np.ascontiguousarray(field, dtype=np.float64)
    numbers = np.full(np.array(field.shape) - 1, -1)
    vertices = np.empty((_count_cells(field, numbers), 3))
    _fill_vertices(field, numbers, CORNERS, EDGES, vertices)
    quads = np.empty((_quads(field, numbers, np.empty((0, 4), np.int64)), 4), np.int64)
    _quads(field, numbers, quads)
    return vertices, quads


def triangles_of(vertices: Array, quads: np.ndarray) -> np.ndarray:
    """Return quadrilaterals (m, 4) cut along their shorter diagonal, (2 m, 3)."""
    corners = vertices[quads]
    first = np.linalg.norm(corners[:, 0] - corners[:, 2], axis=-1)
    second = np.linalg.norm(corners[:, 1] - corners[:, 3], axis=-1)
    turned = np.where((first <= second)[:, None], quads, np.roll(quads, -1, axis=1))
    return np.concatenate([turned[:, [0, 1, 2]], turned[:, [0, 2, 3]]])


@kernel
def _count_cells(field, numbers):
    """Number the cells that the surface passes through, from 0; return how many there are."""
    count = 0
    for i in range(numbers.shape[0]):
        for j in range(numbers.shape[1]):
            for k in range(numbers.shape[2]):
                inside = 0
                for corner in range(8):
                    x, y, z = i + (corner >> 2), j + ((corner >> 1) & 1), k + (corner & 1)
                    inside += field[x, y, z] < 0.0
                if 0 < inside < 8:
                    numbers[i, j, k] = count
                    count += 1
    return count


@kernel
def _fill_vertices(field, numbers, corners, edges, vertices):
    for i in range(numbers.shape[0]):
        for j in range(numbers.shape[1]):
            for k in range(numbers.shape[2]):
                if numbers[i, j, k] >= 0:
                    place = vertices[numbers[i, j, k]]
                    place[:] = 0.0
                    crossings = 0
                    for edge in range(12):
                        a, b = corners[edges[edge, 0]], corners[edges[edge, 1]]
                        low = field[i + a[0], j + a[1], k + a[2]]
                        high = field[i + b[0], j + b[1], k + b[2]]
                        if (low < 0.0) != (high < 0.0):
                            share = low / (low - high)
                            crossings += 1
                            for axis in range(3):
                                place[axis] += a[axis] + share * (b[axis] - a[axis])
                    place /= crossings
                    place[0] += i
                    place[1] += j
                    place[2] += k


@kernel
def _quads(field, numbers, quads):
    """Fill in the cells around every crossing edge, as far as there is room; returns their count.

    Around an edge along x lie the cells before and after in y and z, and so on in turn.
    """
    count = 0
    at = np.zeros(3, np.int64)
    step = np.zeros(3, np.int64)
    for i in range(1, field.shape[0] - 1):
        for j in range(1, field.shape[1] - 1):
            for k in range(1, field.shape[2] - 1):
                here = field[i, j, k] < 0.0
                at[0], at[1], at[2] = i, j, k
                for axis in range(3):
                    step[:] = at
                    step[axis] += 1
                    if here == (field[step[0], step[1], step[2]] < 0.0):
                        continue
                    if count < len(quads):
                        _around(numbers, at, axis, here, quads[count])
                    count += 1
    return count


@kernel
def _around(numbers, at, axis, here, quad):
    u, v = (axis + 1) % 3, (axis + 2) % 3
    cell = np.empty(3, np.int64)
    for corner in range(4):
        cell[:] = at
        # anticlockwise as seen from the edge's far end
        if corner == 0 or corner == 3:
            cell[u] -= 1
        if corner < 2:
            cell[v] -= 1
        quad[corner if here else 3 - corner] = numbers[cell[0], cell[1], cell[2]]
