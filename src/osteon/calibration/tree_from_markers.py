"""Who hangs on whom: a tree that grows from all bodies at once.

Of all pairs of bodies that are not yet on one tree, the one that turns most cleanly about a common
point is joined next (Kruskal). That point counts as a marker of a body that has too few for a frame
(docs/methods.md §3). A body without a frame carries joints all the same, on the line through its
two points or on its only one: were it passed over, what hangs on it would be hung elsewhere.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from osteon.calibration.frame_choice import MOST_FRAMES_SHARE
from osteon.errors import NotEnoughData
from osteon.maths import FULL, generalised_procrustes, quat
from osteon.typing import Array, Share, unheard

NEARNESS_RATIO = 0.02
"""Ratio by which the distance between a joint and its bodies' markers counts as misfit: chosen,
half a metre is worth a centimetre."""
POSED_SHARE = 0.2
"""Share of the frames that must show a body's pose for it to have a frame: chosen."""
NO_JOINT_RATIO = 8.0
"""Ratio to the usual cost of a take's joints from which two bodies share none. Measured: joints
stay below 4, but for one of 7; free props and other people begin at 6, most lie beyond 10."""
UNUSUAL_RATIO = 2.0
"""Ratio to the usual misfit of a take's joints from which a body is looked for between two: chosen,
most joints stay below, and looking does no harm."""
LINK_RATIO = 0.5
"""Ratio that a link's two joints must stay below, to the misfit of the joint that they replace.
Measured: 0.1 to 0.25 of six bare upper arms; 0.7 and more where a pair is no link."""
FEWEST_PARTED = 4
"""Count of markers of a body that may be parted: defined, two and two."""
FEWEST_FRAMES = 30
"""Frames that must show both bodies: chosen, a quarter of a second."""
PIVOT_PULL = 0.01
"""Ratio of misfit to the distance of a pivot from the bodies' nearest markers: chosen so small that
it decides where motion leaves the pivot open, and nowhere else."""
NEWTON_STEPS = 20
"""Count of steps at most: chosen, three times what takes need."""
INDEPENDENT_FRAMES = 25
"""Frames in a take that tell something new: chosen, two postures a second over a dozen seconds."""
OVERHANG_RATIO = 0.5
"""Ratio by which a line may carry its pivot past its two points, to its length: chosen, markers sit
on the bone between its joints."""
STEADIEST_DISTANCE = 0.001
"""Metres. No distance on skin is taken to be steadier: chosen, less than any skin does."""


class Pivot(NamedTuple):
    """A joint candidate in the frame of the body that carries it."""

    point: Array
    """(3,); on a line (1,), the share of the way from its start to its end."""
    misfit: float
    """RMS deviation of the markers' distances to it, metres."""
    reach: float
    """How far the nearest markers of both bodies are from it, metres."""
    sigma: float
    """Standard deviation in the direction that motion tells least about, metres."""
    turned: float
    """How far the other body mostly swings to either side of its middle, radians."""


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
        return self.pivot.misfit + NEARNESS_RATIO * self.pivot.reach


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


def with_missing_links(bodies: list[Group], edges: list[Edge]) -> list[Group]:
    """Return bodies, those parted of which two markers ride on a body that has no others.

    Markers by an elbow are steady against the forearm, and are the only ones of an upper arm that
    wears none. Forearm and chest then share no joint, but the two share one with either.
    """
    usual = float(np.median([edge.pivot.misfit for edge in edges])) if edges else 0.0
    parted: dict[int, tuple[Group, Group]] = {}
    for edge in edges:
        if edge.pivot.misfit > UNUSUAL_RATIO * usual and not {edge.on, edge.body} & parted.keys():
            ways = [(edge.on, edge.body), (edge.body, edge.on)]
            links = [(link, far) for near, far in ways if (link := _link(bodies, edge, near, far))]
            for (_, parts), far in sorted(links, key=lambda found: found[0][0])[:1]:
                parted[far] = parts
    return [part for place, body in enumerate(bodies) for part in parted.get(place, (body,))]


def _link(
    bodies: list[Group], edge: Edge, near: int, far: int
) -> tuple[float, tuple[Group, Group]] | None:
    """The pair of the far body's markers that links the rest to the near one best, and its cost."""
    body, best = bodies[far], None
    n_markers = len(body.markers)
    for pair in combinations(range(n_markers), 2) if n_markers >= FEWEST_PARTED else ():
        rest = [column for column in range(n_markers) if column not in pair]
        link, end = (_part(body, columns) for columns in (list(pair), rest))
        first = joint([bodies[near], link], 0, 1)
        if first is None:
            continue
        link = _with_joint(link, first.path)  # which shows its frame
        second = joint([link, end], 0, 1)
        if second is None:
            continue
        cost = first.cost + second.cost
        steady = max(first.pivot.misfit, second.pivot.misfit) < LINK_RATIO * edge.pivot.misfit
        if steady and cost < (edge.cost if best is None else best[0]):
            best = cost, (link, end)
    return best


def _part(body: Group, columns: list[int]) -> Group:
    points = body.points[:, columns]
    return Group(body.markers[columns], points, _poses(points))


def shares_no_joint(edges: list[Edge]) -> list[Edge]:
    """Edges that hold a tree together only because something must."""
    usual = float(np.median([edge.cost for edge in edges])) if edges else 0.0
    return [edge for edge in edges if edge.cost > NO_JOINT_RATIO * usual]


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
    fixed = (fit.status == FULL).sum() > POSED_SHARE * len(points)
    return (fit.rotations, fit.positions) if fixed else None


def find_pivot(own: Array, other: Array) -> Pivot | None:
    """Fit concentric spheres, one per marker of the other body.

    Parameters
    ----------
    own : (n_frames, n, 3)
        Markers of the body whose frame this is.
    other : (n_frames, m, 3)
        Markers of the other body in that frame; NaN where not seen.
    """
    shown = _seen_together(other)
    if shown is None:
        return None
    other, seen = shown, np.isfinite(shown[..., 0])
    middle = _mean(other)
    home = _mean(own)
    guess = _between(home, middle)
    point = guess.copy()
    for _ in range(NEWTON_STEPS):
        slope, residual = _linearised(point, other, seen)
        pull = seen.sum() * PIVOT_PULL**2
        normal = slope.T @ slope + pull * np.eye(3)
        step = -np.linalg.solve(normal, slope.T @ residual + pull * (point - guess))
        point = point + step
        if np.linalg.norm(step) < 1e-6:
            break
    misfit, radius = _steadiness(point, other, seen)
    reach = np.min(np.linalg.norm(home - point, axis=-1)) + radius
    slope, _ = _linearised(point, other, seen)
    told = np.linalg.eigvalsh(slope.T @ slope)[0] * min(1.0, INDEPENDENT_FRAMES / len(other))
    sigma = max(misfit, STEADIEST_DISTANCE) / np.sqrt(max(told, 1e-12))
    return Pivot(point, misfit, float(reach), float(sigma), _turned(other - point))


def find_pivot_on_line(start: Array, end: Array, other: Array) -> Pivot | None:
    """The same for a body without a frame: somewhere on the line through two of its points.

    Parameters
    ----------
    start, end : (n_frames, 3)
        The two points; one given twice is the pivot itself.
    other : (n_frames, m, 3)
        Markers of the other body, in the world as the line is; NaN where not seen.
    """
    along = (end - start)[:, None]
    shown = _seen_together(np.where(np.isfinite(along[..., :1]), other, np.nan))
    if shown is None:
        return None
    other, seen = shown, np.isfinite(shown[..., 0])
    length = float(np.nanmean(np.linalg.norm(along, axis=-1)))
    pull = seen.sum() * (PIVOT_PULL * length) ** 2 + 1e-12
    share, slope = 0.5, np.zeros(seen.size)
    for _ in range(NEWTON_STEPS):
        slopes, residual = _linearised(start[:, None] + share * along, other, seen, along)
        slope = slopes[:, 0]
        step = -(slope @ residual + pull * (share - 0.5)) / (slope @ slope + pull)
        share = float(np.clip(share + step, -OVERHANG_RATIO, 1.0 + OVERHANG_RATIO))
        if abs(step) < 1e-6:
            break
    misfit, radius = _steadiness(start[:, None] + share * along, other, seen)
    reach = min(abs(share), abs(1.0 - share)) * length + radius
    told = slope @ slope * min(1.0, INDEPENDENT_FRAMES / len(other))
    sigma = length * max(misfit, STEADIEST_DISTANCE) / np.sqrt(max(told, 1e-12))
    # of a body without a frame only the angle to its line is known: as an arm in one plane
    arms = other - (start[:, None] + share * along)
    lifted = np.sum(arms * along, axis=-1) / np.maximum(np.linalg.norm(along, axis=-1), 1e-12)
    flat = np.sqrt(np.maximum(np.sum(arms**2, axis=-1) - lifted**2, 0.0))
    planar = np.stack([lifted, flat, np.zeros_like(flat)], axis=-1)
    return Pivot(np.array([share]), misfit, float(reach), float(sigma), _turned(planar))


def _seen_together(other: Array) -> Array | None:
    """The markers (n_frames, m, 3) that are seen in enough frames, if there are two or all."""
    shown = np.isfinite(other[..., 0]).sum(axis=0) >= FEWEST_FRAMES
    return other[:, shown] if shown.sum() >= min(2, len(shown)) else None


def _turned(arms: Array) -> float:
    """How far the longest of ``arms`` (n_frames, m, 3) is from its middle in nine frames of ten."""
    lengths = np.linalg.norm(arms, axis=-1)
    longest = int(np.argmax(np.nansum(lengths, axis=0) / np.isfinite(lengths).sum(axis=0)))
    seen = lengths[:, longest] > 0.0
    ways = arms[seen, longest] / lengths[seen, longest, None]
    middle = ways.mean(axis=0)
    cosines = ways @ middle / max(float(np.linalg.norm(middle)), 1e-12)
    return float(np.quantile(np.arccos(np.clip(cosines, -1.0, 1.0)), MOST_FRAMES_SHARE))


def _steadiness(point: Array, other: Array, seen: np.ndarray) -> tuple[float, float]:
    """RMS deviation of the distances from their means, and the smallest of these; metres."""
    distance = np.linalg.norm(other - point, axis=-1)
    radius = np.nansum(distance, axis=0) / seen.sum(axis=0)
    misfit = float(np.sqrt(np.nansum((distance - radius) ** 2) / seen.sum()))
    return misfit, float(np.min(radius))


def _linearised(
    point: Array, other: Array, seen: np.ndarray, along: Array | None = None
) -> tuple[Array, Array]:
    """The distances' deviations from their means, and how the point changes them.

    The point moves freely, or in each frame ``along`` (n_frames, 1, 3) only.
    """
    away = np.where(seen[..., None], point - other, 0.0)
    distance = np.linalg.norm(away, axis=-1)
    count = seen.sum(axis=0)
    direction = away / np.where(distance > 0.0, distance, 1.0)[..., None]
    if along is not None:
        direction = np.sum(np.where(seen[..., None], direction * along, 0.0), axis=-1)[..., None]
    slope = direction - direction.sum(axis=0) / count[:, None]
    residual = distance - distance.sum(axis=0) / count
    slope = np.where(seen[..., None], slope, 0.0).reshape(-1, slope.shape[-1])
    return slope, np.where(seen, residual, 0.0).reshape(-1)


def _between(home: Array, middle: Array) -> Array:
    """Halfway between the two nearest markers."""
    gaps = np.linalg.norm(home[:, None] - middle[None], axis=-1)
    first, second = np.unravel_index(np.argmin(gaps), gaps.shape)
    return 0.5 * (home[first] + middle[second])


def _mean(points: Array) -> Array:
    seen = np.isfinite(points[..., :1])
    total = np.where(seen, points, 0.0).sum(axis=0)
    return total / np.maximum(seen.sum(axis=0), 1)
