"""The compiled part of :mod:`osteon.skinning.body_skin`: how far a place is from the flesh.

A piece of flesh is a row of numbers: start (0–2), axis (3–5), length (6), side (7–9), front
(10–12), rounding of both ends (13, 14), its box (15–20), steps from the root (21); then half
widths, half depths and shifts at five stations each (22–36).
"""

import math

import numpy as np

from osteon.maths import kernel

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
