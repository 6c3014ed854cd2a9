"""One Gauss–Newton system for 64 frames side by side. docs/methods.md §12.

The normal matrix is built as the composite-rigid-body algorithm builds a mass matrix: markers are
masses, a degree of freedom d is a screw s_d = (a_d, p_d × a_d), the marker weights below a joint
sum to a spatial inertia 𝓘, and H[d, e] = s_d · 𝓘 s_e for d above e [Featherstone 2008, ch. 6].
``levenberg_marquardt`` solves it.
"""

import numpy as np

from osteon.maths import FAST_MATH, kernel
from osteon.posing._kernels.lanes import (
    COST,
    FRAME,
    IN_BODY_FRAME,
    LACK,
    MOMENTS,
    OBSERVED,
    PLACE,
    POINT,
    PULL,
    PULL_COST,
    QUATERNION,
    SCREW,
    SEEN,
    WEIGHT,
    WRENCH,
    K,
    L,
    U,
)
from osteon.posing.rig import IN_BODY, TRANSLATION

SQUARED, HUBER, GEMAN_MCCLURE = 0, 1, 2
"""Codes of the losses, defined here."""


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
