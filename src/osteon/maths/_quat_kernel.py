"""Quaternions, vectors and poses one at a time: ``quat`` and ``chain`` for compiled loops.

What numpy's calls would cost is the whole budget there.
"""

import numpy as np

from osteon.maths.compiled import kernel, read_only
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
    places = offsets.copy()
    places[0] = root
    world, placed = np.empty((1, *rotations.shape)), np.empty((1, *offsets.shape))
    forward_frames(read_only(rotations[None]), read_only(places[None]), parents, world, placed)
    return world[0], placed[0]


@kernel
def forward_frames(rotations, places, parents, world, placed):
    """World rotations and joint places of many poses; see ``chain.forward_kinematics``.

    Parameters
    ----------
    rotations, places : (n_frames, n_bodies, 4), (n_frames, n_bodies, 3)
        In the parent's frame; of a root, in the world.
    world, placed
        Of the same shapes: the answer.
    """
    for frame in range(len(rotations)):
        for body in range(len(parents)):
            q, p, parent = rotations[frame, body], places[frame, body], parents[body]
            turned, at = (q[0], q[1], q[2], q[3]), (p[0], p[1], p[2])
            if parent >= 0:
                a, b = world[frame, parent], placed[frame, parent]
                above = a[0], a[1], a[2], a[3]
                arm = rotate(above, at)
                turned, at = multiply(above, turned), (b[0] + arm[0], b[1] + arm[1], b[2] + arm[2])
            for k in range(4):
                world[frame, body, k] = turned[k]
            for k in range(3):
                placed[frame, body, k] = at[k]
