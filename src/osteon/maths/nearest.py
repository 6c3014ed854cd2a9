"""Those of many points that are nearest to others."""

import math

import numpy as np

from osteon.maths.compiled import kernel
from osteon.typing import Array

LEAF_COUNT = 16
"""Count of points in the smallest boxes, at most. Chosen: as quick to look through as another pair
of boxes."""


class Nearest:
    """Points (n, d) in boxes within boxes, so that those near others are found quickly.

    Boxes are numbered as in a heap: those within box k are 2 k + 1 and 2 k + 2.
    """

    def __init__(self, points: Array) -> None:
        self._points = np.array(points, dtype=float, order="C")
        levels = max(0, math.ceil(math.log2(max(len(points), 1) / LEAF_COUNT)))
        n_boxes = (2 << levels) - 1
        self._ends = np.zeros((n_boxes, 2), dtype=np.int64)
        self._ends[0, 1] = len(points)
        self._low, self._high = np.full((2, n_boxes, points.shape[1]), np.inf)
        _pack(self._points, self._ends, self._low, self._high)

    def distances(self, points: Array, count: int = 1) -> Array:
        """Return (m, count) distances of points (m, d) from the nearest, nearest first."""
        squares = np.full((len(points), min(count, len(self._points))), np.inf)
        points = np.ascontiguousarray(points, dtype=float)
        if squares.size:
            _find_nearest(self._points, self._ends, self._low, self._high, points, squares)
        return np.sqrt(squares)


@kernel
def _pack(points, ends, low, high):
    """Order points by halves of boxes, across their widest side, and fill where boxes lie."""
    n_boxes, n_axes = low.shape
    for box in range(n_boxes):
        start, stop = ends[box]
        widest = 0
        for axis in range(n_axes):
            high[box, axis] = -np.inf
            for i in range(start, stop):
                low[box, axis] = min(low[box, axis], points[i, axis])
                high[box, axis] = max(high[box, axis], points[i, axis])
            if high[box, axis] - low[box, axis] > high[box, widest] - low[box, widest]:
                widest = axis
        if box < n_boxes // 2:
            middle = (start + stop) // 2
            _halve(points, start, stop, middle, widest)
            ends[2 * box + 1, 0], ends[2 * box + 1, 1] = start, middle
            ends[2 * box + 2, 0], ends[2 * box + 2, 1] = middle, stop


@kernel
def _halve(points, start, stop, middle, axis):
    """Exchange points until none before the middle is beyond one after it: Hoare's selection."""
    first, last = start, stop - 1
    while first < last:
        pivot = points[(first + last) // 2, axis]
        i, j = first, last
        while i <= j:
            while points[i, axis] < pivot:
                i += 1
            while points[j, axis] > pivot:
                j -= 1
            if i <= j:
                for k in range(points.shape[1]):
                    points[i, k], points[j, k] = points[j, k], points[i, k]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            return


@kernel
def _find_nearest(known, ends, low, high, points, squares):
    first_leaf, last = len(low) // 2, squares.shape[1] - 1
    waiting, far = np.empty(64, dtype=np.int64), np.empty(64)
    for i in range(len(points)):
        n_waiting = 1
        waiting[0], far[0] = 0, 0.0
        while n_waiting > 0:
            n_waiting -= 1
            box = waiting[n_waiting]
            if far[n_waiting] >= squares[i, last]:
                continue
            if box >= first_leaf:
                for j in range(ends[box, 0], ends[box, 1]):
                    _keep_nearer(_square(known, j, points, i), squares, i)
                continue
            near, other = 2 * box + 1, 2 * box + 2
            to_near = _square_to_box(low, high, near, points, i)
            to_other = _square_to_box(low, high, other, points, i)
            if to_other < to_near:
                near, other, to_near, to_other = other, near, to_other, to_near
            waiting[n_waiting], far[n_waiting] = other, to_other
            waiting[n_waiting + 1], far[n_waiting + 1] = near, to_near
            n_waiting += 2


@kernel
def _square(known, j, points, i):
    square = 0.0
    for axis in range(points.shape[1]):
        square += (points[i, axis] - known[j, axis]) ** 2
    return square


@kernel
def _square_to_box(low, high, box, points, i):
    square = 0.0
    for axis in range(points.shape[1]):
        below, above = low[box, axis] - points[i, axis], points[i, axis] - high[box, axis]
        if below > 0.0:
            square += below * below
        elif above > 0.0:
            square += above * above
    return square


@kernel
def _keep_nearer(square, squares, i):
    """Put a squared distance in its place among a row of the least ones, if it belongs there."""
    place = squares.shape[1] - 1
    if not square < squares[i, place]:
        return
    while place > 0 and squares[i, place - 1] > square:
        squares[i, place] = squares[i, place - 1]
        place -= 1
    squares[i, place] = square
