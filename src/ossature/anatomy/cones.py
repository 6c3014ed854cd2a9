"""Swing–twist limits: where bones may point and how far they may twist. METHODS §8."""

import numpy as np
from numpy.typing import NDArray

from ossature.anatomy.limit_kernel import middles, split_turns, swing_moments
from ossature.anatomy.ranges import Arc, Indices, RangeOptions, find_arcs, highest
from ossature.maths import quat, swing_twist
from ossature.values import Body, Cone, Skeleton
from ossature.values.arrays import Array, read_only

N_SIDES = 16
"""Sides of the spherical polygon."""

NARROWEST = np.radians(0.01)
"""Radius of an ellipse or polygon that would otherwise have no inside."""


def bone_axes(skeleton: Skeleton) -> Array:
    """(n_bodies, 3) unit vectors along the bones, each in its body's frame."""
    ends: list[list[Array]] = [[] for _ in skeleton.bodies]
    for body, parent in zip(skeleton.bodies, skeleton.parents, strict=True):
        if parent >= 0:
            ends[parent].append(body.joint.in_parent - skeleton.bodies[parent].joint.in_body)
    rows = zip(skeleton.bodies, ends, skeleton.offsets, strict=True)
    return quat.normalise(np.stack([_bone_end(body, own, hung) for body, own, hung in rows]))


def _bone_end(body: Body, ends: list[Array], hung: Array) -> Array:
    """(3,) along the bone: to the next joint, else to the tip.

    A body that has neither continues the direction it hangs in; a body at its parent's joint: z.
    """
    if body.length is not None:
        ends.sort(key=lambda end: abs(float(np.linalg.norm(end)) - (body.length or 0.0)))
    if body.tip is not None:
        ends.append(body.tip - body.joint.in_body)
    for end in (*ends, hung):
        if end @ end > 1e-18:
            return end
    return np.array([0.0, 0.0, 1.0])


def find_cones(
    samples: Array, mean: Array, axes: Array, motion_of: Indices, options: RangeOptions
) -> tuple[list[Cone], list[Arc]]:
    """Cones of n joints, and the evidence of their twist.

    Parameters
    ----------
    samples : (n_samples, n_joints, 4)
    mean : (n_joints, 4)
        Rotation in the midst of the samples: swing and twist are told apart about it first.
    axes : (n_joints, 3)
        The bones, in their own frames.
    """
    across = swing_twist.directions_across(axes)
    swing, _ = _split(samples, mean, axes, across)
    turn = _principal(swing)
    across = turn @ across
    middle = middles(swing, turn)
    centre = quat.multiply(mean, quat.exp(np.einsum("ji,jik->jk", middle, across)))
    swing, twist = _split(samples, centre, axes, across)
    arcs = find_arcs(twist, motion_of, options)
    polygons = convex_polygons(highest(swing @ _normals().T, motion_of, options))
    radii = _radii(swing, motion_of, options)
    centre, axes, across, radii, polygons = map(read_only, (centre, axes, across, radii, polygons))
    cones = [
        Cone(centre[j], axes[j], across[j], radii[j], polygons[j], (arc.low, arc.high))
        for j, arc in enumerate(arcs)
    ]
    return cones, arcs


def _split(samples: Array, centre: Array, axes: Array, across: Array) -> tuple[Array, Array]:
    swing, twist = np.empty((*samples.shape[:2], 2)), np.empty(samples.shape[:2])
    split_turns(samples, centre, axes, across, swing, twist)
    return swing, twist


def _principal(swing: Array) -> Array:
    """(n_joints, 2, 2) rows are the directions in which the swings are widest and narrowest."""
    xx, xy, yy = swing_moments(swing)
    angle = 0.5 * np.arctan2(2.0 * xy, xx - yy)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([cos, sin, -sin, cos], axis=-1).reshape(-1, 2, 2)


def _radii(swing: Array, motion_of: Indices, options: RangeOptions) -> Array:
    """(n_joints, 2) half axes: the proportions of the box, the size that holds the samples."""
    plain = RangeOptions(options.quantile, 0.0, options.combine)
    half = np.maximum(highest(np.abs(swing), motion_of, plain), NARROWEST)
    size = highest(np.linalg.norm(swing / half, axis=-1), motion_of, plain)
    return np.maximum(half * size[:, None] + np.radians(options.margin), NARROWEST)


def _normals() -> Array:
    angles = 2.0 * np.pi * np.arange(N_SIDES) / N_SIDES
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def convex_polygons(reach: Array) -> Array:
    """Corners (..., n_sides, 2) of the polygons n·x ≤ reach for evenly turned normals n.

    A side that others make idle is drawn in until it touches; sides that exclude each other
    (a negative margin on a narrow range) meet in a point.
    """
    n_sides = reach.shape[-1]
    step = 2.0 * np.pi / n_sides
    after = np.arange(1, n_sides + 1) % n_sides
    before = np.arange(-1, n_sides - 1)
    opposite = np.roll(reach, n_sides // 2, axis=-1)
    reach = np.where(reach + opposite < 0.0, 0.5 * (reach - opposite), reach) + NARROWEST
    for _ in range(n_sides // 2):
        neighbours = reach[..., before] + reach[..., after]
        reach = np.minimum(reach, neighbours / (2.0 * np.cos(step)))
    normals = _normals()
    tangents = np.stack([-normals[:, 1], normals[:, 0]], axis=-1)
    along = (reach[..., after] - reach * np.cos(step)) / np.sin(step)
    return reach[..., None] * normals + along[..., None] * tangents


def inside_polygon(points: Array, polygon: Array) -> NDArray[np.bool_]:
    """Whether points (..., 2) lie in convex polygons (..., n_corners, 2), their edges included."""
    edges = np.roll(polygon, -1, axis=-2) - polygon
    away = points[..., None, :] - polygon
    cross = edges[..., 0] * away[..., 1] - edges[..., 1] * away[..., 0]
    return np.all(cross >= -1e-12, axis=-1)


def nearest_in_polygon(points: Array, polygon: Array) -> Array:
    """The points (..., 2) of convex polygons (..., n_corners, 2) nearest to ``points`` (..., 2)."""
    near = np.array(points)
    outside = ~inside_polygon(near, polygon)
    polygon = np.broadcast_to(polygon, (*near.shape[:-1], *polygon.shape[-2:]))
    near[outside] = _nearest_on_edges(near[outside], polygon[outside])
    return near


def _nearest_on_edges(points: Array, polygon: Array) -> Array:
    """The same for points (n, 2) outside, each of its polygon (n, n_corners, 2)."""
    edges = np.roll(polygon, -1, axis=1) - polygon
    length = np.maximum(np.sum(edges**2, axis=-1), 1e-300)
    away = points[:, None] - polygon
    share = np.clip(np.sum(away * edges, axis=-1) / length, 0.0, 1.0)
    feet = polygon + share[..., None] * edges
    best = np.argmin(np.sum((points[:, None] - feet) ** 2, axis=-1), axis=-1)
    return feet[np.arange(len(points)), best]
