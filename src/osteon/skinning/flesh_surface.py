"""The field of distances from flesh, and the surface on which it is zero; compiled.

A piece of flesh is a row of numbers: start (0–2), axis (3–5), length (6), side (7–9), front
(10–12), rounding of both ends (13, 14), its box (15–20), steps from the root (21); then half
widths, half depths and shifts at five stations each (22–36). The surface is found by surface nets
[Gibson 1998].
"""

import math

import numpy as np

from osteon.maths import kernel
from osteon.typing import Array

LOW_COLUMN, HIGH_COLUMN, DEPTH_COLUMN, WIDE_COLUMN, DEEP_COLUMN, SHIFT_COLUMN = (
    15,
    18,
    21,
    22,
    27,
    32,
)
"""Count of numbers before each in a row, defined above: the box's corners, steps, widths, depths,
shifts."""
FAR_DISTANCE = 1e3
"""Metres, for flesh that is out of reach; chosen: far beyond any body."""
APART_FROM, APART_OVER = 0.25, 0.3
"""Shares of the way along a limb from which, and over which, it parts from near relatives; chosen:
relatives touch near their joint, not further out."""
CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
EDGES = np.array([[a, b] for a in range(8) for b in range(a + 1, 8) if bin(a ^ b).count("1") == 1])
"""(12, 2) corners of a cell that an edge joins."""


@kernel
def field_at(points, flesh, kin, reach, blend, gap, field):
    """Fill ``field`` (n,), negative inside the flesh; beyond ``reach`` metres it is not worked out.

    Pieces of one limb and its neighbours melt together over ``blend`` metres; strangers (kin 2)
    keep ``gap`` metres apart, near relatives (kin 1) do so away from their joint.
    """
    n_pieces = len(flesh)
    away, along = np.empty(n_pieces), np.empty(n_pieces)
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        best = -1
        for j in range(n_pieces):
            away[j] = FAR_DISTANCE
            if (
                flesh[j, LOW_COLUMN] - reach < x < flesh[j, HIGH_COLUMN] + reach
                and flesh[j, LOW_COLUMN + 1] - reach < y < flesh[j, HIGH_COLUMN + 1] + reach
                and flesh[j, LOW_COLUMN + 2] - reach < z < flesh[j, HIGH_COLUMN + 2] + reach
            ):
                away[j], along[j] = _piece(flesh, j, x, y, z)
                if best < 0 or away[j] < away[best]:
                    best = j
        field[i] = reach if best < 0 else _melt(flesh, away, along, kin, best, blend, gap)


@kernel
def carriers_at(points, flesh, kin, bodies, shares):
    """Fill how much each body has to say at each point, ``shares`` (n, n_bodies); the nearest 1.

    It falls with the distance of a body's flesh beyond the nearest one's, over half that one's
    radius, and is nothing for strangers.
    """
    n_pieces = len(flesh)
    away, along = np.empty(n_pieces), np.empty(n_pieces)
    for i in range(len(points)):
        best = 0
        for j in range(n_pieces):
            away[j], along[j] = _piece(flesh, j, points[i, 0], points[i, 1], points[i, 2])
            if away[j] < away[best]:
                best = j
        wide, deep = (
            _station(flesh, best, WIDE_COLUMN, along[best]),
            _station(flesh, best, DEEP_COLUMN, along[best]),
        )
        soft = 0.5 * min(wide, deep)
        for j in range(n_pieces):
            share = 1.0 - _strange(flesh, along, kin, best, j)
            share *= math.exp((away[best] - away[j]) / soft)
            shares[i, bodies[j]] = max(shares[i, bodies[j]], share)


@kernel
def _strange(flesh, along, kin, one, other):
    """Return how much two pieces are strangers at a place, 0 to 1."""
    if kin[one, other] != 1:
        return 0.0 if kin[one, other] == 0 else 1.0
    if flesh[one, DEPTH_COLUMN] == flesh[other, DEPTH_COLUMN]:
        way = min(along[one], along[other])
    else:
        way = along[one] if flesh[one, DEPTH_COLUMN] > flesh[other, DEPTH_COLUMN] else along[other]
    share = min(max((way - APART_FROM) / APART_OVER, 0.0), 1.0)
    return share * share * (3.0 - 2.0 * share)


@kernel
def _melt(flesh, away, along, kin, best, blend, gap):
    total = 0.0
    slit = -FAR_DISTANCE
    for j in range(len(away)):
        if away[j] < FAR_DISTANCE:
            strange = _strange(flesh, along, kin, best, j)
            total += (1.0 - strange) * math.exp((away[best] - away[j]) / blend)
            if strange > 0.0:
                slit = max(slit, gap * (5.0 * strange - 4.0) - (away[j] - away[best]))
    return max(away[best] - blend * math.log(total), slit)


@kernel
def _piece(flesh, j, x, y, z):
    """Return the signed distance to first order, and the share of the way from start to end."""
    x, y, z = x - flesh[j, 0], y - flesh[j, 1], z - flesh[j, 2]
    height = x * flesh[j, 3] + y * flesh[j, 4] + z * flesh[j, 5]
    share = min(max(height / flesh[j, 6], 0.0), 1.0)
    over = height - share * flesh[j, 6]
    cap = flesh[j, 13] if over < 0.0 else flesh[j, 14]
    wide, deep = _station(flesh, j, WIDE_COLUMN, share), _station(flesh, j, DEEP_COLUMN, share)
    u = (x * flesh[j, 7] + y * flesh[j, 8] + z * flesh[j, 9]) / wide
    v = x * flesh[j, 10] + y * flesh[j, 11] + z * flesh[j, 12]
    v = (v - _station(flesh, j, SHIFT_COLUMN, share)) / deep
    w = over / cap
    k0 = math.sqrt(u * u + v * v + w * w)
    k1 = math.sqrt((u / wide) ** 2 + (v / deep) ** 2 + (w / cap) ** 2)
    if k1 < 1e-9:
        return -min(wide, deep), share
    return k0 * (k0 - 1.0) / k1, share


@kernel
def _station(flesh, j, column, share):
    """Return a smooth curve through the five stations (Catmull–Rom)."""
    i = min(int(share * 4.0), 3)
    t = share * 4.0 - i
    b, c = flesh[j, column + i], flesh[j, column + i + 1]
    a = flesh[j, column + i - 1] if i > 0 else b
    d = flesh[j, column + i + 2] if i < 3 else c
    return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))


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
