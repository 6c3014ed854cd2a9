"""Quaternions, vectors and poses one at a time: ``quat`` and ``chain`` for compiled loops.

What numpy's calls would cost is the whole budget there.
"""

import numpy as np

from osteon.maths.compiled import kernel
from osteon.typing import Array

OPPOSED_SQUARE = 1e-16
"""Ratio: square of the sum of two unit vectors. Derived: below it the sum is rounding, 1e-8 of
their length, rather than a direction."""


@kernel
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def rotate(q, v):
    u = (q[1], q[2], q[3])
    t = cross(u, v)
    t = (2.0 * t[0], 2.0 * t[1], 2.0 * t[2])
    s = cross(u, t)
    return v[0] + q[0] * t[0] + s[0], v[1] + q[0] * t[1] + s[1], v[2] + q[0] * t[2] + s[2]


@kernel
def inverse(q):
    return q[0], -q[1], -q[2], -q[3]


@kernel
def multiply(a, b):
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@kernel
def between(a, b):
    return multiply(inverse(a), b)


@kernel
def exp(v):
    """Quaternion of a rotation vector."""
    half = 0.5 * np.sqrt(dot(v, v))
    share = 0.5 * np.sin(half) / half if half > 0.0 else 0.5
    return np.cos(half), share * v[0], share * v[1], share * v[2]


@kernel
def shortest(a, b):
    """The smallest rotation turning ``a`` to the direction of ``b``; neither may be zero."""
    size, other = np.sqrt(dot(a, a)), np.sqrt(dot(b, b))
    a = (a[0] / size, a[1] / size, a[2] / size)
    half = (a[0] + b[0] / other, a[1] + b[1] / other, a[2] + b[2] / other)
    if dot(half, half) < OPPOSED_SQUARE:  # every perpendicular axis serves
        half = cross(a, (1.0, 0.0, 0.0) if abs(a[0]) < 0.6 else (0.0, 1.0, 0.0))
    size = np.sqrt(dot(half, half))
    half = (half[0] / size, half[1] / size, half[2] / size)
    axis = cross(a, half)
    return dot(a, half), axis[0], axis[1], axis[2]


def forward_pose(rotations: Array, root: Array, offsets: Array, parents) -> tuple[Array, Array]:
    """World rotations (n_bodies, 4) and joint places (n_bodies, 3) of one pose.

    Parameters
    ----------
    rotations : (n_bodies, 4)
        To the parent's frame; root: to the world.
    root : (3,)
    offsets : (n_bodies, 3)
        Joints from their parent's joint, in the parent's frame; the root's is not used.
    parents : (n_bodies,) of int64
        −1 for the root.
    """
    world, places = np.zeros_like(rotations), np.zeros_like(offsets)
    _forward(rotations, root, offsets, parents, world, places)
    return world, places


@kernel
def _forward(rotations, root, offsets, parents, world, places):
    for body in range(len(parents)):
        parent = parents[body]
        if parent < 0:
            world[body] = rotations[body]
            places[body] = root
            continue
        aw, ax, ay, az = world[parent]
        bw, bx, by, bz = rotations[body]
        world[body, 0] = aw * bw - ax * bx - ay * by - az * bz
        world[body, 1] = aw * bx + ax * bw + ay * bz - az * by
        world[body, 2] = aw * by - ax * bz + ay * bw + az * bx
        world[body, 3] = aw * bz + ax * by - ay * bx + az * bw
        a, b, c = offsets[body]
        s = 2.0 * (ay * c - az * b)
        t = 2.0 * (az * a - ax * c)
        u = 2.0 * (ax * b - ay * a)
        places[body, 0] = places[parent, 0] + a + aw * s + (ay * u - az * t)
        places[body, 1] = places[parent, 1] + b + aw * t + (az * s - ax * u)
        places[body, 2] = places[parent, 2] + c + aw * u + (ax * t - ay * s)
