"""Who hangs on whom: a tree that grows from all bodies at once.

Of all pairs of bodies that are not yet on one tree, the one that turns most cleanly about a common
point is joined next (Kruskal). That point counts as a marker of a body that has too few for a frame
(docs/methods.md §3). A body without a frame carries joints all the same, on the line through its
two points or on its only one: were it passed over, what hangs on it would be hung elsewhere.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from osteon.calibration.pivot import Pivot, find_pivot, find_pivot_on_line
from osteon.errors import NotEnoughData
from osteon.maths import FULL, generalised_procrustes, quat
from osteon.typing import Array, Share, unheard

NEARNESS = 0.02
"""Metres of misfit that one metre between a joint and its bodies' markers counts as."""
ENOUGH = 0.2
"""Share of the frames that must show a body's pose for it to have a frame."""
NO_JOINT = 8.0
"""Times the usual cost of a take's joints from which two bodies share none. On real takes joints
stay below 4, but for one of 7; free props and other people begin at 6, most lie beyond 10."""


@dataclass(frozen=True)
class Group:
    """A body while the tree grows."""

    markers: np.ndarray
    """(n,) columns."""
    points: Array
    """(n_frames, n or n + 1, 3) its markers, then a joint where they alone show no frame."""
    poses: tuple[Array, Array] | None
    """(n_frames, 4) and (n_frames, 3), NaN where not fixed; None while nothing fixes a frame."""


@dataclass(frozen=True, eq=False)
class Edge:
    """A joint: the body that carries it, the body that hangs there, and where it is."""

    on: int
    body: int
    pivot: Pivot
    path: Array
    """(n_frames, 3) the joint in the world, metres; NaN where not known."""

    @property
    def cost(self) -> float:
        """Metres: how much there is against this joint."""
        return self.pivot.misfit + NEARNESS * self.pivot.reach


def group(observed: Array, markers: np.ndarray) -> Group:
    """The body of these columns of ``observed`` (n_frames, n_markers, 3)."""
    points = observed[:, markers]
    return Group(markers, points, _poses(points))


def grow(bodies: list[Group], progress: Share = unheard) -> list[Edge]:
    """Edges of the tree in the order they were found; ``bodies`` gain frames on the way."""
    n_pairs, n_looked = len(bodies) * (len(bodies) - 1) / 2, 0
    tree = np.arange(len(bodies))
    found: dict[tuple[int, int], Edge | None] = {}
    edges: list[Edge] = []
    while len(edges) < len(bodies) - 1:
        apart = [(i, j) for i, j in combinations(range(len(bodies)), 2) if tree[i] != tree[j]]
        for new in set(apart) - found.keys():
            found[new] = joint(bodies, *new)
            n_looked += 1
            progress(min(1.0, n_looked / n_pairs))
        options = [edge for pair in apart if (edge := found[pair]) is not None]
        if not options:
            break  # what is left is never seen together with the others
        best = min(options, key=lambda edge: edge.cost)
        edges.append(best)
        tree[tree == tree[best.body]] = tree[best.on]
        hanging = bodies[best.body]
        if hanging.poses is None and hanging.points.shape[1] < 3:
            bodies[best.body] = _with_joint(hanging, best.path)
            found = {pair: edge for pair, edge in found.items() if best.body not in pair}
    return edges


def joint(bodies: list[Group], one: int, other: int) -> Edge | None:
    """The point that two bodies turn about; a body with a frame carries it where there is one."""
    ways = [(one, other), (other, one)]
    framed = [way for way in ways if bodies[way[0]].poses is not None]
    found = [edge for way in framed or ways if (edge := _carried(bodies, *way)) is not None]
    return min(found, key=lambda edge: edge.cost, default=None)


def _carried(bodies: list[Group], on: int, body: int) -> Edge | None:
    """The point of one body that all points of the other keep their distance to."""
    carrier, other = bodies[on], bodies[body].points
    if carrier.poses is not None:
        own = in_frame(carrier.poses, carrier.points[:, : len(carrier.markers)])
        pivot = find_pivot(own, in_frame(carrier.poses, other))
        path = None if pivot is None else _in_world(carrier.poses, pivot.point)
    else:
        start, end = carrier.points[:, 0], carrier.points[:, -1]
        pivot = find_pivot_on_line(start, end, other)
        path = None if pivot is None else start + pivot.point[0] * (end - start)
    return None if pivot is None or path is None else Edge(on, body, pivot, path)


def shares_no_joint(edges: list[Edge]) -> list[Edge]:
    """Edges that hold a tree together only because something must."""
    usual = float(np.median([edge.cost for edge in edges])) if edges else 0.0
    return [edge for edge in edges if edge.cost > NO_JOINT * usual]


def alone(edges: list[Edge]) -> set[int]:
    """Bodies that share a joint with nothing: props that stand about or move freely."""
    loose = shares_no_joint(edges)
    held = {body for edge in edges if edge not in loose for body in (edge.on, edge.body)}
    return {body for edge in loose for body in (edge.on, edge.body)} - held


def in_frame(poses: tuple[Array, Array], points: Array) -> Array:
    """Points (n_frames, n, 3) of the world in a body's frame."""
    rotations, positions = poses
    return quat.rotate(quat.inverse(rotations)[:, None], points - positions[:, None])


def _in_world(poses: tuple[Array, Array], point: Array) -> Array:
    rotations, positions = poses
    return positions + quat.rotate(rotations, point)


def _with_joint(body: Group, path: Array) -> Group:
    points = np.concatenate([body.points, path[:, None]], axis=1)
    return Group(body.markers, points, _poses(points))


def _poses(points: Array) -> tuple[Array, Array] | None:
    """The frame that three points or more show, if they do."""
    if points.shape[1] < 3:
        return None
    try:
        fit = generalised_procrustes(points).fit
    except NotEnoughData:
        return None
    fixed = (fit.status == FULL).sum() > ENOUGH * len(points)
    return (fit.rotations, fit.positions) if fixed else None
