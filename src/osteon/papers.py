"""The papers' own variants, kept to compare with.

[001]: when a direction counts as a joint's freedom, by a fixed eigenvalue; or by shares.
[002] §4.2: main directions of a limb by principal components, and by EM.
[004] §3.3.2: skeleton dividing, chains solved apart and hung together again.
"""

from typing import NamedTuple

import numpy as np

from osteon.maths import quat
from osteon.typing import Array, Indices

HELD_SHARE = 0.95
"""Share of the variance that the free directions hold. Chosen: the usual one of principal
components."""
CELL_ANGLE = np.radians(5.0)
"""Radians (5°): size of the cells on the joint sphere of which each counts once. Chosen: as the
windows of ``joining``."""


def absolute(n_joints: int, eigenvalue: float) -> Array:
    """Return (n_joints,) radians: the vector part of a quaternion is half the turn, to first order.

    ``eigenvalue`` is the mean square of that part along a direction.
    """
    return np.full(n_joints, 2.0 * np.sqrt(eigenvalue))


def variance95(std: Array, minimum: Array) -> Array:
    """Return (n_joints,) radians, below the last of the fewest directions that hold 95 %.

    Parameters
    ----------
    std : (n_joints, 3)
        Spread along each direction, radians, largest first.
    minimum : (n_joints,)
        Spread that never counts.
    """
    held = np.cumsum(std**2, axis=1) / np.maximum((std**2).sum(axis=1), 1e-300)[:, None]
    last = np.argmax(held >= HELD_SHARE, axis=1)
    return np.maximum(minimum, std[np.arange(len(last)), last] * (1.0 - 1e-9))


def pca(points: Array, most: int = 2) -> list[tuple[Array, float]]:
    """Directions of largest variance of evenly thinned points (n, 3): always at right angles.

    Each is an axis (3,) and its part of all variance.
    """
    even = _stratified(points)
    if len(even) < 2:
        return []
    centre = even.mean(axis=0)
    values, vectors = np.linalg.eigh((even - centre).T @ (even - centre))
    axes = quat.normalise(np.cross(centre, vectors[:, ::-1][:, :most].T))
    share = values[::-1][:most] / max(values.sum(), 1e-12)
    return list(zip(axes, share.tolist(), strict=True))


def em(points: Array, most: int = 2) -> list[tuple[Array, float]]:
    """As ``pca``, then in turn: points to their nearest axis plane, planes to their points."""
    even = _stratified(points)
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


def _stratified(points: Array) -> Array:
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


class Links(NamedTuple):
    """A tree cut into chains; where chains meet, each has the joint for itself."""

    columns: Indices
    """(n_split,) joint of the whole tree that each joint of the chains stands for."""
    parents: Indices
    """(n_split,) within the chains, −1 where one begins."""
    own: Indices
    """(n_joints,) the joint in the chain that leads to it."""


def divide(positions: Array, parents: Indices) -> Links:
    """Cut a tree into chains: five for a human, trunk with head, arms and legs.

    Where several bones leave a joint, the one that runs on straightest belongs to the chain that
    came in; each other one begins a chain, and so does every bone of the root.
    """
    straightest = _straightest(positions, parents)
    columns, split_parents, own = [], [], np.zeros(len(parents), dtype=np.int64)
    begun = set()
    for joint, parent in enumerate(parents):
        if parent < 0:
            start = -1
        elif straightest[parent] == joint or (parents[parent] < 0 and parent not in begun):
            start = own[parent]
            begun.add(parent)
        else:
            columns.append(parent)
            split_parents.append(-1)
            start = len(columns) - 1
        own[joint] = len(columns)
        columns.append(joint)
        split_parents.append(start)
    return Links(np.array(columns), np.array(split_parents, dtype=np.int64), own)


def join(apart: Array, links: Links, parents: Indices) -> tuple[Array, float]:
    """Return the chains hung together from the root, and how far they disagreed, RMS, metres."""
    whole = np.zeros((len(apart), len(parents), 3))
    for joint, parent in enumerate(parents):
        own = links.own[joint]
        if parent < 0:
            whole[:, joint] = apart[:, own]
        else:
            bone = apart[:, own] - apart[:, links.parents[own]]
            whole[:, joint] = whole[:, parent] + bone
    doubles = np.setdiff1d(np.arange(len(links.columns)), links.own)
    if not len(doubles):
        return whole, 0.0
    gap = apart[:, doubles] - apart[:, links.own[links.columns[doubles]]]
    return whole, float(np.sqrt(np.mean(np.sum(gap**2, axis=-1))))


def _straightest(positions: Array, parents: Indices) -> Indices:
    """Return (n_joints,) the child whose bone deviates least from the bone that comes in; −1:
    none."""
    best = np.full(len(parents), -1, dtype=np.int64)
    most = np.full(len(parents), -np.inf)
    bones = positions - positions[:, parents]
    for joint, parent in enumerate(parents):
        if parent < 0 or parents[parent] < 0:
            continue
        along = np.sum(bones[:, joint] * bones[:, parent], axis=-1)
        sizes = np.linalg.norm(bones[:, joint], axis=-1) * np.linalg.norm(bones[:, parent], axis=-1)
        seen = np.isfinite(along) & (sizes > 0.0)
        straight = np.mean(along[seen] / sizes[seen]) if seen.any() else -1.0
        if straight > most[parent]:
            best[parent], most[parent] = joint, straight
    return best
