"""Unit quaternions, stored (..., 4) as w, x, y, z. Every function broadcasts over leading axes.

A quaternion and its negative are the same rotation; functions that need one of the two say which.
The answer has the widest dtype among the inputs: float32 stays float32, with float32's precision;
a Python number counts as float64.
"""

import numpy as np

from osteon.typing import Array


def identity(shape: tuple[int, ...] = ()) -> Array:
    """Rotations that turn nothing, (*shape, 4)."""
    q = np.zeros((*shape, 4))
    q[..., 0] = 1.0
    return q


def multiply(a: Array, b: Array) -> Array:
    """Compose rotations: first ``b``, then ``a``."""
    aw, ax, ay, az = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bw, bx, by, bz = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def inverse(q: Array) -> Array:
    """Return the rotation that undoes ``q``."""
    return q * np.array([1.0, -1.0, -1.0, -1.0], dtype=q.dtype)


def between(a: Array, b: Array) -> Array:
    """Return the rotation to ``a`` from ``b``: ``inverse(a) * b``; the outer names cancel."""
    return multiply(inverse(a), b)


def rotate(q: Array, v: Array) -> Array:
    """Rotate vectors (..., 3) by quaternions (..., 4)."""
    # written out: np.cross takes two to four times as long, for one vector and for a million
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    a, b, c = v[..., 0], v[..., 1], v[..., 2]
    s, t, u = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return np.stack(
        [a + w * s + (y * u - z * t), b + w * t + (z * s - x * u), c + w * u + (x * t - y * s)],
        axis=-1,
    )


def normalise(q: Array) -> Array:
    """Scale quaternions (or vectors) to unit length. Zero becomes NaN: it names no rotation."""
    length = np.linalg.norm(q, axis=-1, keepdims=True)
    return q / np.where(length > 0.0, length, np.nan)


def exp(rotvec: Array) -> Array:
    """Quaternion of a rotation vector (..., 3), radians."""
    half = 0.5 * np.linalg.norm(rotvec, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * rotvec], axis=-1)


def log(q: Array) -> Array:
    """Rotation vector (..., 3) of a quaternion, radians, the shorter way round."""
    q = np.where(q[..., :1] < 0.0, -q, q)
    sin_half = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sin_half, q[..., :1])
    # the ratio first, and its limit at zero: tiny rotations must not underflow
    return q[..., 1:] * np.where(sin_half > 0.0, angle / np.where(sin_half > 0.0, sin_half, 1), 2)


def angle(q: Array) -> Array:
    """Return how far a rotation turns, (...), radians in [0, π]."""
    return 2.0 * np.arctan2(np.linalg.norm(q[..., 1:], axis=-1), np.abs(q[..., 0]))


def from_axis_angle(axis: Array, angle: Array) -> Array:
    """Rotation by ``angle`` (...), radians, about unit vectors ``axis`` (..., 3)."""
    half = 0.5 * np.asarray(angle)[..., None]
    xyz = np.sin(half) * axis
    w = np.broadcast_to(np.cos(half), (*xyz.shape[:-1], 1))
    return np.concatenate([w, xyz], axis=-1)


def to_matrix(q: Array) -> Array:
    """Rotation matrices (..., 3, 3)."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(m: Array) -> Array:
    """Quaternions of rotation matrices (..., 3, 3), w ≥ 0.

    The largest of the four squared components leads, so no division is ever by a small number.
    """
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    squares = np.stack(
        [1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz], axis=-1
    )
    a, b, c = (
        m[..., 2, 1] - m[..., 1, 2],
        m[..., 0, 2] - m[..., 2, 0],
        m[..., 1, 0] - m[..., 0, 1],
    )
    d, e, f = (
        m[..., 1, 0] + m[..., 0, 1],
        m[..., 0, 2] + m[..., 2, 0],
        m[..., 2, 1] + m[..., 1, 2],
    )
    candidates = np.stack(
        [
            np.stack([squares[..., 0], a, b, c], axis=-1),
            np.stack([a, squares[..., 1], d, e], axis=-1),
            np.stack([b, d, squares[..., 2], f], axis=-1),
            np.stack([c, e, f, squares[..., 3]], axis=-1),
        ],
        axis=-2,
    )
    # argmax of NaN is 0: a missing rotation stays NaN without a special case
    best = np.argmax(squares, axis=-1)[..., None, None]
    q = normalise(np.take_along_axis(candidates, best, axis=-2)[..., 0, :])
    return np.where(q[..., :1] < 0.0, -q, q)


def shortest(a: Array, b: Array) -> Array:
    """Return the smallest rotation turning vectors ``a`` (..., 3) to the direction of ``b``.

    Exact at 0 and near π; at π, where every perpendicular axis serves, one is chosen. A vector of
    length zero has no direction: NaN. docs/methods.md §6.
    """
    a, b = np.broadcast_arrays(normalise(a), normalise(b))
    half = a + b
    along = normalise(np.where(np.sum(a * b, axis=-1, keepdims=True) < 0.0, a - b, 0.0))
    along = np.where(np.isfinite(along), along, 0.0)
    least = np.eye(3, dtype=a.dtype)[np.argmin(np.abs(a), axis=-1)]
    opposed = np.linalg.norm(half, axis=-1, keepdims=True) < 8.0 * np.finfo(a.dtype).eps
    half = np.where(opposed, np.cross(a, least), half)
    # near π the sum is mostly rounding: only its part across a − b means anything
    half = half - np.sum(half * along, axis=-1, keepdims=True) * along
    half = normalise(half)
    return np.concatenate([np.sum(a * half, axis=-1, keepdims=True), np.cross(a, half)], axis=-1)


def unroll(q: Array, axis: int = 0) -> Array:
    """Choose signs so that neighbours along ``axis`` lie in one hemisphere; NaN is passed over."""
    q = np.moveaxis(np.array(q), axis, 0)
    if len(q) < 2:
        return np.moveaxis(q, 0, axis)
    filled = q if np.isfinite(q).all() else _hold(q)
    flips = np.einsum("...i,...i->...", filled[1:], filled[:-1]) < 0.0
    if flips.any():
        turned = np.logical_xor.accumulate(flips, axis=0)
        np.negative(q[1:], out=q[1:], where=turned[..., None])
    return np.moveaxis(q, 0, axis)


def slerp(a: Array, b: Array, t: Array) -> Array:
    """Rotation a share ``t`` (...) of the way from ``a`` to ``b``, the shorter way round."""
    step = log(between(a, b))
    return multiply(a, exp(np.asarray(t)[..., None] * step))


def between_known(q: Array, known: np.ndarray, frames: np.ndarray) -> Array:
    """Rotations (n, 4) at ``frames``, by slerp between the nearest of (n_frames, 4) that are known.

    ``known`` are frames in order, one at least; before the first and after the last these stay.
    """
    before = known[np.maximum(np.searchsorted(known, frames, side="right") - 1, 0)]
    after = known[np.minimum(np.searchsorted(known, frames), len(known) - 1)]
    share = np.clip((frames - before) / np.maximum(after - before, 1), 0.0, 1.0)
    return slerp(q[before], q[after], share)


def nearest_matrix(m: Array) -> Array:
    """Return the rotation matrices R (..., 3, 3) that maximise tr(RᵀM): Wahba's problem."""
    u, _, vt = np.linalg.svd(m)
    u[..., -1] *= np.linalg.det(u @ vt)[..., None]  # no mirror images
    return u @ vt


def _hold(q: Array) -> Array:
    """Carry the last seen rotation over missing ones along the first axis."""
    seen = np.isfinite(q).all(axis=-1)
    index = np.where(seen, np.arange(len(q)).reshape(-1, *[1] * (q.ndim - 2)), 0)
    index = np.maximum.accumulate(index, axis=0)
    held = np.take_along_axis(q, index[..., None], axis=0)
    return np.where(np.isfinite(held), held, 0.0)
