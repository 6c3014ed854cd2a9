"""One Gauss–Newton system for 64 frames side by side. docs/methods.md §12.

The frames of a block are the innermost axis of every array, the lanes: each loop over lanes is
straight-line arithmetic that the compiler turns into vector instructions. Arrays are flat, an item
is several quantities one after the other, each ``LANES`` long: ``array[item + K[k] + lane]``.
Constant distances between quantities let the compiler prove that they do not overlap, and unsigned
indices spare it numpy's counting from the end. Views of rows and 32 lanes, whose loops are unrolled
instead, took twice as long together; 8 to 32 lanes alone made the factorisation take twice as long.

The normal matrix is built as the composite-rigid-body algorithm builds a mass matrix: markers are
masses, a degree of freedom d is a screw s_d = (a_d, p_d × a_d), the marker weights below a joint
sum to a spatial inertia 𝓘, and H[d, e] = s_d · 𝓘 s_e for d above e [Featherstone 2008, ch. 6].
``levenberg_marquardt`` solves it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from osteon.joint_limits import Bounds, no_bounds
from osteon.maths import FAST_MATH, kernel
from osteon.posing.rig import IN_BODY, IN_PARENT, TRANSLATION, Rig

LANES = 64
"""Count of frames side by side. Measured: fewer took up to twice as long, see above."""

CACHE_LINE = 64
"""Bytes: defined by processors, x86 as well as most ARM."""

U = np.uint64
L = U(LANES)
K = tuple(U(k * LANES) for k in range(17))

# Sizes of an item, and what its quantities are.
QUATERNION = K[4]
FRAME, PLACE = K[12], K[9]  # a 3×3 rotation row by row, then a place; frame 0 is the world
OBSERVED, SEEN = K[4], K[3]  # place, weight (0: not seen)
POINT, LACK, WEIGHT, COST = K[8], K[3], K[6], K[7]  # place, what it lacks to the observed, …
PULL, IN_BODY_FRAME, PULL_COST = K[7], K[3], K[6]  # rest prior: gradient in the parent's frame, …
# Σw, Σwx, xx yy zz xy xz yz, Σ x×wr, Σwr
MOMENTS, WRENCH = K[16], K[10]
SCREW = K[6]

HELD_STILL = 1e12
"""Ratio to the stiffness of a marker. Chosen: beside it no pull of a marker counts."""

SQUARED, HUBER, GEMAN_MCCLURE = 0, 1, 2
"""Codes of the losses, defined here."""


class PoseModel(NamedTuple):
    """The rig as the kernels see it; see RigTree and Rig."""

    parent_frame: np.ndarray
    """(n_bodies,) the parent's frame: its index plus one, for frame 0 is the world."""
    offsets: np.ndarray
    marker_bodies: np.ndarray
    places: np.ndarray
    dof_body: np.ndarray
    dof_kind: np.ndarray
    dof_axis: np.ndarray
    dof_depth: np.ndarray
    row_start: np.ndarray
    path: np.ndarray
    first_dof: np.ndarray
    rest_weights: np.ndarray
    """(n_bodies,)"""
    stiffness: np.ndarray
    """(n_dofs,) added to the diagonal of the normal matrix; HELD_STILL holds a freedom still."""
    bounds: Bounds


class Lanes(NamedTuple):
    """Working memory of one block; flat arrays of items."""

    rotations: np.ndarray
    """n_bodies QUATERNIONs, local."""
    root: np.ndarray
    """One place, from the lane's reference point."""
    observed: np.ndarray
    """n_markers OBSERVED, from the reference point."""
    rest: np.ndarray
    """n_bodies QUATERNIONs that the rest prior pulls to."""
    frames: np.ndarray
    """n_bodies + 1 FRAMEs."""
    points: np.ndarray
    """n_markers POINTs."""
    pull: np.ndarray
    """n_bodies PULLs."""
    moments: np.ndarray
    """n_bodies MOMENTS."""
    screws: np.ndarray
    """n_dofs SCREWs."""
    scratch: np.ndarray
    """One SCREW."""
    normal: np.ndarray
    """One entry per element of ``path``: the normal matrix, then its factors."""
    step: np.ndarray
    """n_dofs entries: the gradient, then the step."""
    damping: np.ndarray
    """One entry."""
    bounds: np.ndarray
    """Excesses over the joints' limits; see bound_lanes."""
    active: np.ndarray
    """(n_limited,) how many excesses are not zero."""


def make_model(
    rig: Rig, rest_weights: ArrayLike, bounds: Bounds | None = None, *, root_held: bool = False
) -> PoseModel:
    """Return the rig as kernels walk over it; ``rest_weights`` are one number or (n_bodies,)."""
    tree = rig.tree
    pulls = np.array(np.broadcast_to(rest_weights, tree.n_bodies), dtype=np.float64)
    pulls[0] = 0.0  # a root has no rest: the world has no front
    stiffness = np.zeros(tree.n_dofs)
    stiffness[:6] = HELD_STILL if root_held else 0.0
    return PoseModel(
        (tree.parents + 1).astype(U),
        np.array(rig.offsets),
        tree.marker_bodies.astype(U),
        np.array(rig.places),
        tree.dof_body.astype(U),
        tree.dof_kind,
        tree.dof_axis,
        tree.dof_depth.astype(U),
        tree.row_start.astype(U),
        tree.path.astype(U),
        tree.first_dof.astype(U),
        pulls,
        stiffness,
        no_bounds() if bounds is None else bounds,
    )


def make_lanes(model: PoseModel) -> Lanes:
    n_bodies, n_markers = len(model.parent_frame), len(model.marker_bodies)
    n_dofs = len(model.dof_body)
    lanes = Lanes(
        rotations=_zeros(n_bodies * QUATERNION),
        root=_zeros(K[3]),
        observed=_zeros(n_markers * OBSERVED),
        rest=_zeros(n_bodies * QUATERNION),
        frames=_zeros((n_bodies + 1) * FRAME),
        points=_zeros(n_markers * POINT),
        pull=_zeros(n_bodies * PULL),
        moments=_zeros(n_bodies * MOMENTS),
        screws=_zeros(n_dofs * SCREW),
        scratch=_zeros(SCREW),
        normal=_zeros(len(model.path) * L),
        step=_zeros(n_dofs * L),
        damping=_zeros(L),
        bounds=np.zeros(len(model.bounds.body) * 12 * LANES),
        active=np.zeros(len(model.bounds.body), dtype=np.int64),
    )
    lanes.rotations.reshape(n_bodies, 4, LANES)[:, 0] = 1.0
    lanes.rest.reshape(n_bodies, 4, LANES)[:, 0] = 1.0
    lanes.frames.reshape(-1, 12, LANES)[0, [0, 4, 8]] = 1.0
    lanes.screws.reshape(n_dofs, 6, LANES)[[0, 1, 2], [3, 4, 5]] = 1.0  # the root's translations
    return lanes


def _zeros(size: np.unsignedinteger) -> np.ndarray:
    """Zeros that begin where a line of the cache does: else each vector would lie on two."""
    room = np.zeros(int(size) + CACHE_LINE // 8)
    begin = -room.ctypes.data % CACHE_LINE // 8
    return room[begin : begin + int(size)]


@kernel(fastmath=FAST_MATH)
def forward(model, lanes):
    """Local quaternions to world frames."""
    q, frames = lanes.rotations, lanes.frames
    for body in range(U(len(model.parent_frame))):
        r, p, c = body * QUATERNION, model.parent_frame[body] * FRAME, (body + U(1)) * FRAME
        ox, oy, oz = model.offsets[body, 0], model.offsets[body, 1], model.offsets[body, 2]
        for n in range(L):
            w, x, y, z = q[r + n], q[r + K[1] + n], q[r + K[2] + n], q[r + K[3] + n]
            m00 = 1 - 2 * (y * y + z * z)
            m11 = 1 - 2 * (x * x + z * z)
            m22 = 1 - 2 * (x * x + y * y)
            m01, m10 = 2 * (x * y - w * z), 2 * (x * y + w * z)
            m02, m20 = 2 * (x * z + w * y), 2 * (x * z - w * y)
            m12, m21 = 2 * (y * z - w * x), 2 * (y * z + w * x)
            for i in range(U(3)):
                row = p + U(3) * i * L + n
                a, b, d = frames[row], frames[row + K[1]], frames[row + K[2]]
                out = c + U(3) * i * L + n
                frames[out] = a * m00 + b * m10 + d * m20
                frames[out + K[1]] = a * m01 + b * m11 + d * m21
                frames[out + K[2]] = a * m02 + b * m12 + d * m22
                at = frames[p + PLACE + i * L + n]
                frames[c + PLACE + i * L + n] = at + a * ox + b * oy + d * oz
        if body == 0:
            for n in range(K[3]):
                frames[c + PLACE + n] = lanes.root[n]


@kernel(fastmath=FAST_MATH)
def place_markers(model, lanes):
    """World places of the markers and what they lack to the observed ones."""
    frames, observed, points = lanes.frames, lanes.observed, lanes.points
    for marker in range(U(len(model.marker_bodies))):
        f = (model.marker_bodies[marker] + U(1)) * FRAME
        o, p = marker * OBSERVED, marker * POINT
        x, y, z = model.places[marker, 0], model.places[marker, 1], model.places[marker, 2]
        for n in range(L):
            square = 0.0
            for i in range(U(3)):
                row = f + U(3) * i * L + n
                at = frames[f + PLACE + i * L + n]
                at += frames[row] * x + frames[row + K[1]] * y + frames[row + K[2]] * z
                lack = observed[o + i * L + n] - at
                points[p + i * L + n] = at
                points[p + LACK + i * L + n] = lack
                square += lack * lack
            weight = observed[o + SEEN + n]
            points[p + WEIGHT + n] = weight
            points[p + COST + n] = weight * square


@kernel(fastmath=FAST_MATH)
def reweight(lanes, loss, scale):
    """Robust loss: less weight for far markers (iteratively reweighted least squares)."""
    points = lanes.points
    for marker in range(U(len(points)) // POINT):
        p = marker * POINT
        for n in range(L):
            weight, cost = points[p + WEIGHT + n], points[p + COST + n]
            square = cost / max(weight, 1e-300)
            if loss == HUBER:
                share = min(1.0, scale / np.sqrt(square + 1e-300))
                points[p + COST + n] = cost * share * (2.0 - share)
            else:
                keep = scale * scale / (scale * scale + square)
                share = keep * keep
                points[p + COST + n] = cost * keep
            points[p + WEIGHT + n] = weight * share


@kernel(fastmath=FAST_MATH)
def pull_to_rest(model, lanes):
    """Gradient and cost of weight · 4 sin²(angle / 2) between each joint and its rest.

    Equal to weight · angle² where the angle is small, and smooth at half a turn. The error is taken
    in the parent's frame (of q rest⁻¹) and in the body's (of rest⁻¹ q).
    """
    q, rest, pull = lanes.rotations, lanes.rest, lanes.pull
    for body in range(U(len(model.parent_frame))):
        weight = model.rest_weights[body]
        r, p = body * QUATERNION, body * PULL
        for n in range(L):
            w, x, y, z = q[r + n], q[r + K[1] + n], q[r + K[2] + n], q[r + K[3] + n]
            a, b, c, d = rest[r + n], rest[r + K[1] + n], rest[r + K[2] + n], rest[r + K[3] + n]
            u0, u1, u2 = a * x - w * b, a * y - w * c, a * z - w * d
            v0, v1, v2 = y * d - z * c, z * b - x * d, x * c - y * b
            slope = -2.0 * weight * (w * a + x * b + y * c + z * d)
            pull[p + n] = slope * (u0 - v0)
            pull[p + K[1] + n] = slope * (u1 - v1)
            pull[p + K[2] + n] = slope * (u2 - v2)
            pull[p + K[3] + n] = slope * (u0 + v0)
            pull[p + K[4] + n] = slope * (u1 + v1)
            pull[p + K[5] + n] = slope * (u2 + v2)
            sine = (u0 - v0) ** 2 + (u1 - v1) ** 2 + (u2 - v2) ** 2
            pull[p + PULL_COST + n] = 4.0 * weight * sine


@kernel(fastmath=FAST_MATH)
def total_cost(lanes, cost):
    cost[:] = 0.0
    points, pull = lanes.points, lanes.pull
    for marker in range(U(len(points)) // POINT):
        p = marker * POINT + COST
        for n in range(L):
            cost[n] += points[p + n]
    for body in range(U(len(pull)) // PULL):
        p = body * PULL + PULL_COST
        for n in range(L):
            cost[n] += pull[p + n]


@kernel(fastmath=FAST_MATH)
def gather_moments(model, lanes):
    """Moments of every body's own markers, summed from the leaves to the root."""
    points, moments = lanes.points, lanes.moments
    moments[:] = 0.0
    for marker in range(U(len(model.marker_bodies))):
        p, m = marker * POINT, model.marker_bodies[marker] * MOMENTS
        for n in range(L):
            x, y, z = points[p + n], points[p + K[1] + n], points[p + K[2] + n]
            w = points[p + WEIGHT + n]
            fx, fy, fz = (
                w * points[p + LACK + n],
                w * points[p + K[4] + n],
                w * points[p + K[5] + n],
            )
            wx, wy, wz = w * x, w * y, w * z
            moments[m + n] += w
            moments[m + K[1] + n] += wx
            moments[m + K[2] + n] += wy
            moments[m + K[3] + n] += wz
            moments[m + K[4] + n] += wy * y + wz * z
            moments[m + K[5] + n] += wx * x + wz * z
            moments[m + K[6] + n] += wx * x + wy * y
            moments[m + K[7] + n] -= wx * y
            moments[m + K[8] + n] -= wx * z
            moments[m + K[9] + n] -= wy * z
            moments[m + K[10] + n] += y * fz - z * fy
            moments[m + K[11] + n] += z * fx - x * fz
            moments[m + K[12] + n] += x * fy - y * fx
            moments[m + K[13] + n] += fx
            moments[m + K[14] + n] += fy
            moments[m + K[15] + n] += fz
    for up in range(U(1), U(len(model.parent_frame))):
        body = U(len(model.parent_frame)) - up
        below, above = body * MOMENTS, (model.parent_frame[body] - U(1)) * MOMENTS
        for n in range(MOMENTS):
            moments[above + n] += moments[below + n]


@kernel(fastmath=FAST_MATH)
def place_screws(model, lanes):
    """World screws (axis, place × axis) of the rotations."""
    frames, screws = lanes.frames, lanes.screws
    for dof in range(U(3), U(len(model.dof_body))):
        body = model.dof_body[dof]
        carrier = body + U(1) if model.dof_kind[dof] == IN_BODY else model.parent_frame[body]
        f, p, s = carrier * FRAME, (body + U(1)) * FRAME + PLACE, dof * SCREW
        ux, uy, uz = model.dof_axis[dof, 0], model.dof_axis[dof, 1], model.dof_axis[dof, 2]
        for n in range(L):
            g = f + n
            a = frames[g] * ux + frames[g + K[1]] * uy + frames[g + K[2]] * uz
            b = frames[g + K[3]] * ux + frames[g + K[4]] * uy + frames[g + K[5]] * uz
            c = frames[g + K[6]] * ux + frames[g + K[7]] * uy + frames[g + K[8]] * uz
            x, y, z = frames[p + n], frames[p + K[1] + n], frames[p + K[2] + n]
            screws[s + n] = a
            screws[s + K[1] + n] = b
            screws[s + K[2] + n] = c
            screws[s + K[3] + n] = y * c - z * b
            screws[s + K[4] + n] = z * a - x * c
            screws[s + K[5] + n] = x * b - y * a


@kernel(fastmath=FAST_MATH)
def _inertia_times_screw(moments, m, screws, s, wrench):
    for n in range(L):
        a, b, c = screws[s + n], screws[s + K[1] + n], screws[s + K[2] + n]
        u, v, w = screws[s + K[3] + n], screws[s + K[4] + n], screws[s + K[5] + n]
        mass, x = moments[m + n], moments[m + K[1] + n]
        y, z = moments[m + K[2] + n], moments[m + K[3] + n]
        ixx, iyy, izz = moments[m + K[4] + n], moments[m + K[5] + n], moments[m + K[6] + n]
        ixy, ixz, iyz = moments[m + K[7] + n], moments[m + K[8] + n], moments[m + K[9] + n]
        wrench[n] = ixx * a + ixy * b + ixz * c + y * w - z * v
        wrench[K[1] + n] = ixy * a + iyy * b + iyz * c + z * u - x * w
        wrench[K[2] + n] = ixz * a + iyz * b + izz * c + x * v - y * u
        wrench[K[3] + n] = mass * u + b * z - c * y
        wrench[K[4] + n] = mass * v + c * x - a * z
        wrench[K[5] + n] = mass * w + a * y - b * x


@kernel(fastmath=FAST_MATH)
def _product(screws, s, wrenches, w, out, o):
    """Spatial dot product."""
    for n in range(L):
        out[o + n] = (
            screws[s + n] * wrenches[w + n]
            + screws[s + K[1] + n] * wrenches[w + K[1] + n]
            + screws[s + K[2] + n] * wrenches[w + K[2] + n]
            + screws[s + K[3] + n] * wrenches[w + K[3] + n]
            + screws[s + K[4] + n] * wrenches[w + K[4] + n]
            + screws[s + K[5] + n] * wrenches[w + K[5] + n]
        )


@kernel(fastmath=FAST_MATH)
def _three_products(screws, s, wrench, out, o):
    """Of three screws after one another with one wrench, which is then read once."""
    for n in range(L):
        a, b, c = wrench[n], wrench[K[1] + n], wrench[K[2] + n]
        u, v, w = wrench[K[3] + n], wrench[K[4] + n], wrench[K[5] + n]
        for i in range(U(3)):
            t = s + i * SCREW + n
            out[o + i * L + n] = (
                screws[t] * a
                + screws[t + K[1]] * b
                + screws[t + K[2]] * c
                + screws[t + K[3]] * u
                + screws[t + K[4]] * v
                + screws[t + K[5]] * w
            )


@kernel(fastmath=FAST_MATH)
def build_normal(model, lanes):
    """Normal matrix along each path, and the gradient."""
    screws, moments, wrench = lanes.screws, lanes.moments, lanes.scratch
    for dof in range(U(len(model.dof_body))):
        m, start = model.dof_body[dof] * MOMENTS, model.row_start[dof]
        _product(screws, dof * SCREW, moments, m + WRENCH, lanes.step, dof * L)
        _inertia_times_screw(moments, m, screws, dof * SCREW, wrench)
        entry, end = start, start + model.dof_depth[dof] + U(1)
        while entry < end:
            above = model.path[entry]
            if entry + U(2) < end and model.path[entry + U(2)] == above + U(2):
                _three_products(screws, above * SCREW, wrench, lanes.normal, entry * L)
                entry += U(3)
            else:
                _product(screws, above * SCREW, wrench, U(0), lanes.normal, entry * L)
                entry += U(1)
        if model.dof_kind[dof] != TRANSLATION:
            _add_pull(model, lanes, dof)


@kernel(fastmath=FAST_MATH)
def _add_pull(model, lanes, dof):
    body, pull, gradient, normal = model.dof_body[dof], lanes.pull, lanes.step, lanes.normal
    p = body * PULL + (IN_BODY_FRAME if model.dof_kind[dof] == IN_BODY else U(0))
    g, diagonal = dof * L, (model.row_start[dof] + model.dof_depth[dof]) * L
    x, y, z = model.dof_axis[dof, 0], model.dof_axis[dof, 1], model.dof_axis[dof, 2]
    weight = model.rest_weights[body]
    for n in range(L):
        gradient[g + n] += pull[p + n] * x + pull[p + K[1] + n] * y + pull[p + K[2] + n] * z
        normal[diagonal + n] += weight


@kernel(fastmath=FAST_MATH)
def take_step(model, lanes, go):
    """Move along the step in the lanes that ``go`` (1 or 0), staying on every joint's manifold."""
    root, step, turn = lanes.root, lanes.step, lanes.scratch
    for n in range(K[3]):
        root[n] += go[n % L] * step[n]
    for body in range(U(len(model.parent_frame))):
        for kind in (IN_PARENT, IN_BODY):
            turn[:] = 0.0
            n_turns = 0
            for dof in range(model.first_dof[body], model.first_dof[body + U(1)]):
                if model.dof_kind[dof] == kind:
                    _add_turn(step, dof * L, go, model.dof_axis, dof, turn)
                    n_turns += 1
            if n_turns > 0:
                side = 1.0 if kind == IN_PARENT else -1.0
                _turn(lanes.rotations, body * QUATERNION, turn, side)


@kernel(fastmath=FAST_MATH)
def _add_turn(step, s, go, axes, dof, turn):
    x, y, z = 0.5 * axes[dof, 0], 0.5 * axes[dof, 1], 0.5 * axes[dof, 2]
    for n in range(L):
        angle = go[n] * step[s + n]
        turn[n] += angle * x
        turn[K[1] + n] += angle * y
        turn[K[2] + n] += angle * z


@kernel(fastmath=FAST_MATH)
def _turn(q, r, turn, side):
    """Multiply by the rotation (1, turn), made unit, from the left (side 1) or the right (−1).

    It agrees with the exponential to second order, needs no sine, and cannot pass half a turn.
    """
    for n in range(L):
        a, b, c = turn[n], turn[K[1] + n], turn[K[2] + n]
        w, x, y, z = q[r + n], q[r + K[1] + n], q[r + K[2] + n], q[r + K[3] + n]
        nw = w - a * x - b * y - c * z
        nx = x + a * w + side * (b * z - c * y)
        ny = y + b * w + side * (c * x - a * z)
        nz = z + c * w + side * (a * y - b * x)
        scale = 1.0 / np.sqrt(nw * nw + nx * nx + ny * ny + nz * nz)
        q[r + n] = nw * scale
        q[r + K[1] + n] = nx * scale
        q[r + K[2] + n] = ny * scale
        q[r + K[3] + n] = nz * scale
