"""Main directions of a limb as [002] §4.2 compares them: by principal components, and by EM."""

import numpy as np

from osteon.maths import quat
from osteon.typing import Array

CELL_ANGLE = np.radians(5.0)
"""Radians (5°): size of the cells on the joint sphere of which each counts once. Chosen: as the
windows of ``joining``."""


def pca(points: Array, most: int = 2) -> list[tuple[Array, float]]:
    """Directions of largest variance of evenly thinned points (n, 3): always at right angles.

    Each is an axis (3,) and its part of all variance.
    """
    even = stratified(points)
    if len(even) < 2:
        return []
    centre = even.mean(axis=0)
    values, vectors = np.linalg.eigh((even - centre).T @ (even - centre))
    axes = quat.normalise(np.cross(centre, vectors[:, ::-1][:, :most].T))
    share = values[::-1][:most] / max(values.sum(), 1e-12)
    return list(zip(axes, share.tolist(), strict=True))


def em(points: Array, most: int = 2) -> list[tuple[Array, float]]:
    """As ``pca``, then in turn: points to their nearest axis plane, planes to their points."""
    even = stratified(points)
    start = pca(points, most)
    if len(start) < 2:
        return start
    axes = np.stack([axis for axis, _ in start])
    nearest = np.full(len(even), -1)
    for _ in range(50):
        closer = np.argmin(np.abs(even @ axes.T), axis=1)
        if (closer == nearest).all():
            break
        nearest = closer
        for plane in range(len(axes)):
            mine = even[nearest == plane]
            if len(mine) > 2:
                axes[plane] = np.linalg.eigh(mine.T @ mine)[1][:, 0]
    counts = np.bincount(nearest, minlength=len(axes)) / len(even)
    return sorted(zip(axes, counts.tolist(), strict=True), key=lambda found: -found[1])


def stratified(points: Array) -> Array:
    """One point (n_cells, 3) for each cell of the sphere that holds any, about 5° wide."""
    points = points[np.isfinite(points).all(axis=-1)]
    if not len(points):
        return points
    side = np.argmax(np.abs(points), axis=-1)
    lead = np.take_along_axis(points, side[:, None], axis=-1)
    # angles on the face of a cube: cells of nearly one size
    cell = np.floor(np.arctan2(points, np.abs(lead)) / CELL_ANGLE).astype(int)
    cell = np.concatenate([cell, side[:, None]], axis=-1)
    _, label = np.unique(cell, axis=0, return_inverse=True)
    sums = [np.bincount(label.ravel(), column) for column in points.T]
    return quat.normalise(np.stack(sums, axis=-1).astype(float))
