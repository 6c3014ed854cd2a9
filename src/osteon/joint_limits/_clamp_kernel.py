"""One rotation for each of many joints, drawn to the nearest that its limits allow; compiled."""

import numpy as np

from osteon.joint_limits._kinds_kernel import mix, swing_of, twist_of
from osteon.maths import between, exp, kernel, multiply

TURN = 2.0 * np.pi


@kernel
def clamp_hinges(q, rest, axis, ends):
    """Rotations (n, 4) within intervals (n, 2) about axes (n, 3), from rests (n, 4)."""
    held = np.empty(q.shape)
    for i in range(len(q)):
        back = (rest[i, 0], -rest[i, 1], -rest[i, 2], -rest[i, 3])
        angle = twist_of(multiply(q[i], back), axis[i])
        turn = exp(mix(_into(angle, ends[i]), axis[i], 0.0, axis[i]))
        held[i, 0], held[i, 1], held[i, 2], held[i, 3] = multiply(turn, rest[i])
    return held


@kernel
def clamp_cones(q, centre, axis, across, polygon, ends):
    """Rotations (n, 4) within the polygons (n, n_corners, 2) and twists (n, 2) of cones."""
    held = np.empty(q.shape)
    for i in range(len(q)):
        away = between(centre[i], q[i])
        x, y = _nearest(*swing_of(away, axis[i], across[i, 0], across[i, 1]), polygon[i])
        twist = twist_of(away, axis[i])
        swing = exp(mix(x, across[i, 0], y, across[i, 1]))
        turn = multiply(swing, exp(mix(_into(twist, ends[i]), axis[i], 0.0, axis[i])))
        held[i, 0], held[i, 1], held[i, 2], held[i, 3] = multiply(centre[i], turn)
    return held


@kernel
def draw_into_polygons(points, polygons):
    """Move points (n, 2) outside convex polygons (n, n_corners, 2) to the nearest on the edge."""
    for i in range(len(points)):
        points[i, 0], points[i, 1] = _nearest(points[i, 0], points[i, 1], polygons[i])


@kernel
def _nearest(x, y, polygon):
    near_x, near_y, least, outside = x, y, np.inf, False
    for k in range(len(polygon)):
        after = (k + 1) % len(polygon)
        a, b = polygon[k, 0], polygon[k, 1]
        u, v = polygon[after, 0] - a, polygon[after, 1] - b
        outside = outside or u * (y - b) - v * (x - a) < -1e-12
        share = ((x - a) * u + (y - b) * v) / max(u * u + v * v, 1e-300)
        share = min(max(share, 0.0), 1.0)
        away = (x - a - share * u) ** 2 + (y - b - share * v) ** 2
        if away < least:
            least, near_x, near_y = away, a + share * u, b + share * v
    return (near_x, near_y) if outside else (x, y)


@kernel
def _into(angle, ends):
    """The angle between two ends nearest to ``angle`` on the circle."""
    low, high = ends[0], ends[1]
    if np.isfinite(low) and np.isfinite(high):
        if high - low >= TURN:
            return angle
        middle = 0.5 * (low + high)
        angle = middle + (angle - middle + np.pi) % TURN - np.pi
    return min(max(angle, low), high)
