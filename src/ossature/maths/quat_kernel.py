"""Quaternions and vectors one at a time, as tuples: ``quat`` for compiled loops."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True, nogil=True)
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@njit(cache=True, nogil=True)
def rotate(q, v):
    u = (q[1], q[2], q[3])
    t = cross(u, v)
    t = (2.0 * t[0], 2.0 * t[1], 2.0 * t[2])
    s = cross(u, t)
    return v[0] + q[0] * t[0] + s[0], v[1] + q[0] * t[1] + s[1], v[2] + q[0] * t[2] + s[2]


@njit(cache=True, nogil=True)
def inverse(q):
    return q[0], -q[1], -q[2], -q[3]


@njit(cache=True, nogil=True)
def multiply(a, b):
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@njit(cache=True, nogil=True)
def between(a, b):
    return multiply(inverse(a), b)


@njit(cache=True, nogil=True)
def exp(v):
    """Quaternion of a rotation vector."""
    half = 0.5 * np.sqrt(dot(v, v))
    share = 0.5 * np.sin(half) / half if half > 0.0 else 0.5
    return np.cos(half), share * v[0], share * v[1], share * v[2]
