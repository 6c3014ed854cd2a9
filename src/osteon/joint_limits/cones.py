"""Swing–twist limits: where bones may point and how far they may twist. docs/methods.md §8."""

import numpy as np

from osteon.joint_limits._clamp_kernel import draw_into_polygons
from osteon.joint_limits._kinds_kernel import split_turns
from osteon.joint_limits._ranges_kernel import close_polygons
from osteon.joint_limits.ranges import Arc, RangeOptions, find_arcs, highest
from osteon.maths import quat
from osteon.typing import Array, Indices
from osteon.values import Cone, Skeleton, in_rows, read_only

N_SIDES = 16
"""Sides of the spherical polygon."""

NARROWEST = np.radians(0.01)
"""Radius of an ellipse or polygon that would otherwise have no inside."""


def bone_axes(skeleton: Skeleton) -> Array:
    """(n_bodies, 3) unit vectors along the bones, each in its body's frame."""
    ends = [_bone_end(skeleton, index) for index in range(len(skeleton.bodies))]
    return quat.normalise(np.array(ends))


def _bone_end(skeleton: Skeleton, index: int) -> Array:
    """(3,) along the bone: to the next joint, else to the tip.

    A body that has neither continues the direction it hangs in; a body at its parent's joint: z.
    """
    length, ends = skeleton.bodies[index].length, skeleton.bone_ends(index)
    if length is not None:
        n_joints = len(skeleton.children_of(index))
        joints = sorted(ends[:n_joints], key=lambda end: abs(float(np.linalg.norm(end)) - length))
        ends = [*joints, *ends[n_joints:]]
    for end in (*ends, skeleton.offsets[index]):
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
    centre, across, swing, twist = split_turns(samples, mean, axes)
    arcs = find_arcs(twist, motion_of, options)
    # one product of matrices: over the samples numpy would make many small ones
    along = (swing.reshape(-1, 2) @ _normals().T).reshape(*swing.shape[:2], N_SIDES)
    polygons = convex_polygons(highest(along, motion_of, options))
    radii = _radii(swing, motion_of, options)
    columns = map(read_only, (centre, axes, across, radii, polygons))
    cones = in_rows(Cone, *columns, ((arc.low, arc.high) for arc in arcs))
    return cones, arcs


def _radii(swing: Array, motion_of: Indices, options: RangeOptions) -> Array:
    """(n_joints, 2) half axes: the proportions of the box, the size that holds the samples."""
    plain = RangeOptions(options.quantile, 0.0, options.combine)
    half = np.maximum(highest(np.abs(swing), motion_of, plain), NARROWEST)
    size = highest(np.hypot(*np.moveaxis(swing / half, -1, 0)), motion_of, plain)
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
    corners = close_polygons(reach.reshape(-1, n_sides), NARROWEST)
    return corners.reshape(*reach.shape, 2)


def nearest_in_polygon(points: Array, polygon: Array) -> Array:
    """The points (..., 2) of convex polygons (..., n_corners, 2) nearest to ``points`` (..., 2)."""
    near = np.array(points)
    shape = polygon.shape[-2:]
    each = np.ascontiguousarray(np.broadcast_to(polygon, (*near.shape[:-1], *shape)))
    draw_into_polygons(near.reshape(-1, 2), each.reshape(-1, *shape))
    return near
