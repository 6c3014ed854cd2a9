"""Quaternions and vectors one at a time, as tuples: ``quat`` for compiled loops."""

import numpy as np

from osteon.maths.compiled import kernel

OPPOSED = 1e-16
"""Square of the sum of two unit vectors that is rounding rather than a direction."""


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
    if dot(half, half) < OPPOSED:  # every perpendicular axis serves
        half = cross(a, (1.0, 0.0, 0.0) if abs(a[0]) < 0.6 else (0.0, 1.0, 0.0))
    size = np.sqrt(dot(half, half))
    half = (half[0] / size, half[1] / size, half[2] / size)
    axis = cross(a, half)
    return dot(a, half), axis[0], axis[1], axis[2]
