"""Limits inside the pose kernels: what lies outside is pulled back by weight · excess².

The pull begins smoothly at the edge. A joint has up to three excesses (swing and twist, or three
angles), each with its exact gradient by a turn of the joint, in the parent's frame; the one excess
of a region also by a turn of the parent.
docs/methods.md §12.
"""

import numpy as np

from osteon.joint_limits import (
    HINGE,
    REGION,
    ZYZ,
    beyond,
    nearest_in_ellipse,
    nearest_in_polygon,
    region_excess,
)
from osteon.maths import FAST_MATH, kernel
from osteon.posing._kernels.lanes import (
    LANES,
    PULL,
    PULL_COST,
    L,
    U,
)
from osteon.posing.rig import IN_BODY

ROWS = 3
"""Count of excesses of a joint, derived: of three angles at most."""
ROW = U(4 * LANES)
ITEM = U(ROWS * 4 * LANES)
POLE_SINE = 1e-3
"""Ratio: sine below which ZYZ angles are too stiff to pull at. Chosen: there a turn of a
milliradian is one of a radian about φ or θ."""


@kernel(fastmath=FAST_MATH)
def pull_inside(model, lanes):
    """Excesses and their gradients; their cost is added to that of the rest prior."""
    bounds, out = model.bounds, lanes.bounds
    for i in range(len(bounds.body)):
        item = U(i) * ITEM
        out[item : item + ITEM] = 0.0
        lanes.active[i] = 0
        if bounds.shape[i] == HINGE:
            _hinge(bounds, i, lanes, item)
        elif bounds.shape[i] == ZYZ:
            _zyz(bounds, i, lanes, item)
        elif bounds.shape[i] == REGION:
            _region(bounds, i, lanes, item)
        else:
            _cone(bounds, i, lanes, item)
        if lanes.active[i] > 0:
            cost = bounds.body[i] * PULL + PULL_COST
            for row in range(U(ROWS)):
                for n in range(L):
                    value = out[item + row * ROW + n]
                    lanes.pull[cost + n] += bounds.weight[0] * value * value


@kernel(fastmath=FAST_MATH)
def _write(out, at, value, gradient):
    """Note an excess and its gradient, by a turn of the joint in the parent's frame."""
    out[at] = value
    out[at + L] = gradient[0]
    out[at + U(2) * L] = gradient[1]
    out[at + U(3) * L] = gradient[2]


@kernel(fastmath=FAST_MATH)
def add_bounds(model, lanes):
    """The pulls' share of the normal matrix and of the gradient."""
    bounds, along = model.bounds, lanes.scratch
    weight = bounds.weight[0]
    for i in range(len(bounds.body)):
        if lanes.active[i] == 0:
            continue
        if bounds.shape[i] == REGION:
            _add_region(model, lanes, i)
            continue
        body = bounds.body[i]
        first, last = model.first_dof[body], model.first_dof[body + U(1)]
        for row in range(U(ROWS)):
            at = U(i) * ITEM + row * ROW
            for dof in range(first, last):
                own = (dof - first) * L
                moving = model.dof_kind[dof] == IN_BODY
                r = U(4) * body * L
                _along(
                    lanes.bounds, at, lanes.rotations, r, model.dof_axis, dof, moving, along, own
                )
                _pull_step(lanes.step, dof * L, lanes.bounds, at, along, own, weight)
                for above in range(first, dof + U(1)):
                    entry = (model.row_start[dof] + model.dof_depth[above]) * L
                    _add_product(lanes.normal, entry, along, own, (above - first) * L, weight)


@kernel(fastmath=FAST_MATH)
def _add_region(model, lanes, i):
    """One excess that two joints share: the first row holds it with the joint's own gradient, the
    second the parent's."""
    bounds, along = model.bounds, lanes.scratch
    weight, body, at = bounds.weight[0], bounds.body[i], U(i) * ITEM
    n_turns = U(0)
    for row in range(U(2) if bounds.seen.parent[i] >= 0 else U(1)):
        carrier = body if row == U(0) else U(bounds.seen.parent[i])
        for dof in range(model.first_dof[carrier], model.first_dof[carrier + U(1)]):
            r, moving = U(4) * carrier * L, model.dof_kind[dof] == IN_BODY
            source = at + row * ROW
            _along(
                lanes.bounds,
                source,
                lanes.rotations,
                r,
                model.dof_axis,
                dof,
                moving,
                along,
                n_turns * L,
            )
            _pull_step(lanes.step, dof * L, lanes.bounds, at, along, n_turns * L, weight)
            n_turns += U(1)
    own = model.first_dof[body + U(1)] - model.first_dof[body]
    for a in range(n_turns):
        for b in range(a, n_turns):
            low, high = _dof_at(model, bounds, i, a, own), _dof_at(model, bounds, i, b, own)
            # a parent's freedom stands above its child's
            below, above = max(low, high), min(low, high)
            entry = (model.row_start[below] + model.dof_depth[above]) * L
            _add_product(lanes.normal, entry, along, a * L, b * L, weight)


@kernel(fastmath=FAST_MATH)
def _dof_at(model, bounds, i, turn, own):
    """Which freedom a turn is: the joint's own come first, then its parent's."""
    if turn < own:
        return model.first_dof[bounds.body[i]] + turn
    return model.first_dof[U(bounds.seen.parent[i])] + turn - own


@kernel(fastmath=FAST_MATH)
def _along(gradient, at, q, r, axes, dof, moving, along, own):
    """The gradient's part along a degree of freedom, whose axis may move with the body."""
    axis = (axes[dof, 0], axes[dof, 1], axes[dof, 2])
    for n in range(L):
        x, y, z = _rotate(_turn_at(q, r + n), axis) if moving else axis
        a = gradient[at + L + n] * x + gradient[at + U(2) * L + n] * y
        along[own + n] = a + gradient[at + U(3) * L + n] * z


@kernel(fastmath=FAST_MATH)
def _pull_step(step, s, excess, at, along, own, weight):
    for n in range(L):
        step[s + n] -= weight * excess[at + n] * along[own + n]


@kernel(fastmath=FAST_MATH)
def _add_product(normal, entry, along, own, other, weight):
    for n in range(L):
        normal[entry + n] += weight * along[own + n] * along[other + n]


@kernel(fastmath=FAST_MATH)
def _hinge(bounds, i, lanes, item):
    f, x = bounds.frame, bounds.axes
    back = (f[i, 0], -f[i, 1], -f[i, 2], -f[i, 3])
    axis = (x[i, 0, 0], x[i, 0, 1], x[i, 0, 2])
    low, high = bounds.ranges[i, 0, 0], bounds.ranges[i, 0, 1]
    q, r, out = lanes.rotations, U(4) * bounds.body[i] * L, lanes.bounds
    for n in range(L):
        turn = _multiply(_turn_at(q, r + n), back)
        along = turn[1] * axis[0] + turn[2] * axis[1] + turn[3] * axis[2]
        value = beyond(2.0 * np.arctan2(along, turn[0]), low, high)
        if value != 0.0:
            _write(out, item + n, value, axis)
            lanes.active[i] += 1


@kernel(fastmath=FAST_MATH)
def _cone(bounds, i, lanes, item):
    f, x = bounds.frame, bounds.axes
    back = (f[i, 0], -f[i, 1], -f[i, 2], -f[i, 3])
    axis = (x[i, 0, 0], x[i, 0, 1], x[i, 0, 2])
    one, two = (x[i, 1, 0], x[i, 1, 1], x[i, 1, 2]), (x[i, 2, 0], x[i, 2, 1], x[i, 2, 2])
    low, high = bounds.ranges[i, 0, 0], bounds.ranges[i, 0, 1]
    q, r, out, turn = lanes.rotations, U(4) * bounds.body[i] * L, lanes.bounds, bounds.turn
    # an ellipse is a polygon without corners
    corners, n_corners = bounds.corners, bounds.n_corners[i]
    radii = (bounds.radii[i, 0], bounds.radii[i, 1])
    for n in range(L):
        d = _multiply(back, _turn_at(q, r + n))
        if abs(d[0]) >= bounds.safe[i]:
            continue
        value, gradient = _twist_row(d, axis, low, high)
        if value != 0.0:
            _write(out, item + n, value, _apply(turn, i, gradient))
            lanes.active[i] += 1
        value, gradient = _swing_row(d, axis, one, two, corners, i, n_corners, radii)
        if value != 0.0:
            _write(out, item + ROW + n, value, _apply(turn, i, gradient))
            lanes.active[i] += 1


@kernel(fastmath=FAST_MATH)
def _region(bounds, i, lanes, item):
    """Most lanes are inside: all are held against the nearest pose at once, the others one by
    one."""
    seen, q, out, near = bounds.seen, lanes.rotations, lanes.bounds, lanes.scratch
    r, p = U(4) * bounds.body[i] * L, U(4) * U(max(seen.parent[i], 0)) * L
    _near_poses(seen, i, q, r, p, near)
    inner = np.cos(0.5 * seen.radius[i]) ** 8
    for n in range(L):
        if near[n] >= inner:
            continue
        value, own, above = region_excess(seen, i, _turn_at(q, r + n), _turn_at(q, p + n))
        if value != 0.0:
            _write(out, item + n, value, own)
            _write(out, item + ROW + n, 0.0, above)
            lanes.active[i] += 1


@kernel(fastmath=FAST_MATH)
def _near_poses(seen, i, q, r, p, near):
    """What ``nearest_pose`` calls most, in every lane."""
    best = L
    near[: U(2) * L] = 0.0
    first, last = U(seen.first[i]), U(seen.first[i + 1])
    coupled = seen.parent[i] >= 0
    for k in range(first, last):
        a, b, c, d = seen.poses[k, 0], seen.poses[k, 1], seen.poses[k, 2], seen.poses[k, 3]
        e, f, g, h = seen.beside[k, 0], seen.beside[k, 1], seen.beside[k, 2], seen.beside[k, 3]
        for n in range(L):
            cosine = a * q[r + n] + b * q[r + L + n]
            cosine += c * q[r + U(2) * L + n] + d * q[r + U(3) * L + n]
            square = cosine * cosine
            square *= square
            square *= square
            if coupled:
                cosine = e * q[p + n] + f * q[p + L + n]
                cosine += g * q[p + U(2) * L + n] + h * q[p + U(3) * L + n]
                square *= cosine * cosine
                near[best + n] = max(near[best + n], cosine * cosine)
            near[n] = max(near[n], square)
    if coupled:
        for n in range(L):
            near[n] /= max(near[best + n], 1e-30)


@kernel(fastmath=FAST_MATH)
def _turn_at(q, r):
    return q[r], q[r + L], q[r + U(2) * L], q[r + U(3) * L]


@kernel(fastmath=FAST_MATH)
def _twist_row(d, axis, low, high):
    """Excess of the twist angle 2·atan2(v·axis, w) and its gradient."""
    w, v = d[0], (d[1], d[2], d[3])
    along = _dot(v, axis)
    value = beyond(2.0 * np.arctan2(along, w), low, high)
    if value == 0.0:
        return 0.0, (0.0, 0.0, 0.0)
    across = _cross(v, axis)
    scale = 1.0 / max(w * w + along * along, 1e-12)
    gradient = (
        scale * (w * (w * axis[0] + across[0]) + along * v[0]),
        scale * (w * (w * axis[1] + across[1]) + along * v[1]),
        scale * (w * (w * axis[2] + across[2]) + along * v[2]),
    )
    return value, gradient


@kernel(fastmath=FAST_MATH)
def _swing_row(d, axis, one, two, corners, i, n_corners, radii):
    """Distance of the swing from the polygon or ellipse, and its gradient."""
    bone = _rotate(d, axis)
    hinge = _cross(axis, bone)
    sine = np.sqrt(_dot(hinge, hinge))
    angle = np.arctan2(sine, _dot(axis, bone))
    ratio = angle / sine if sine > 1e-9 else 1.0
    x, y = ratio * _dot(hinge, one), ratio * _dot(hinge, two)
    if n_corners == 0:
        u, v = nearest_in_ellipse(x, y, radii[0], radii[1])
    else:
        u, v = nearest_in_polygon(x, y, corners, i, n_corners)
    value = np.hypot(x - u, y - v)
    if value == 0.0:
        return 0.0, (0.0, 0.0, 0.0)
    a, b = (x - u) / value, (y - v) / value
    normal = (
        a * one[0] + b * two[0],
        a * one[1] + b * two[1],
        a * one[2] + b * two[2],
    )
    if sine <= 1e-9:
        return value, normal
    k = (hinge[0] / sine, hinge[1] / sine, hinge[2] / sine)
    radial, around = _dot(k, normal), ratio * _dot(_cross(axis, k), normal)
    side = _cross(bone, k)
    gradient = (
        radial * k[0] + around * side[0],
        radial * k[1] + around * side[1],
        radial * k[2] + around * side[2],
    )
    return value, gradient


@kernel(fastmath=FAST_MATH)
def _zyz(bounds, i, lanes, item):
    """Excesses of φ, ψ, θ. The turn ω gives φ̇ z + ψ̇ k + θ̇ u with u the turned z axis."""
    ranges, up, out = bounds.ranges, (0.0, 0.0, 1.0), lanes.bounds
    r = U(4) * bounds.body[i] * L
    for n in range(L):
        q = _turn_at(lanes.rotations, r + n)
        w, x, y, z = q
        psi = 2.0 * np.arctan2(np.hypot(x, y), np.hypot(w, z))
        half_sum, half_difference = np.arctan2(z, w), np.arctan2(-x, y)
        phi, theta = half_sum + half_difference, half_sum - half_difference
        k = (-np.sin(phi), np.cos(phi), 0.0)
        excess = beyond(psi, ranges[i, 1, 0], ranges[i, 1, 1])
        _write(out, item + ROW + n, excess, k)
        sine = np.sin(psi)
        if sine > POLE_SINE:
            first = _over(_cross(_rotate(q, up), k), sine)
            last = _over(_cross(k, up), sine)
            _write(out, item + n, beyond(phi, ranges[i, 0, 0], ranges[i, 0, 1]), first)
            excess = beyond(theta, ranges[i, 2, 0], ranges[i, 2, 1])
            _write(out, item + U(2) * ROW + n, excess, last)
    lanes.active[i] = 1


@kernel(fastmath=FAST_MATH)
def _multiply(p, q):
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@kernel(fastmath=FAST_MATH)
def _rotate(q, v):
    u = (q[1], q[2], q[3])
    t = _cross(u, v)
    t = (2.0 * t[0], 2.0 * t[1], 2.0 * t[2])
    s = _cross(u, t)
    return v[0] + q[0] * t[0] + s[0], v[1] + q[0] * t[1] + s[1], v[2] + q[0] * t[2] + s[2]


@kernel(fastmath=FAST_MATH)
def _cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel(fastmath=FAST_MATH)
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel(fastmath=FAST_MATH)
def _over(v, size):
    return v[0] / size, v[1] / size, v[2] / size


@kernel(fastmath=FAST_MATH)
def _apply(m, i, v):
    return (
        m[i, 0, 0] * v[0] + m[i, 0, 1] * v[1] + m[i, 0, 2] * v[2],
        m[i, 1, 0] * v[0] + m[i, 1, 1] * v[1] + m[i, 1, 2] * v[2],
        m[i, 2, 0] * v[0] + m[i, 2, 1] * v[1] + m[i, 2, 2] * v[2],
    )
