"""Turns of many joints at once: about their means, and split into swing and twist; compiled."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def turns_about(mean, q, out):
    """Rotation vectors (n_samples, n_joints, 3) to rotations from means (n_joints, 4)."""
    for i in range(q.shape[0]):
        for j in range(q.shape[1]):
            d = _between(mean[j], q[i, j])
            scale = _angle_per_sine(d)
            out[i, j, 0], out[i, j, 1], out[i, j, 2] = scale * d[1], scale * d[2], scale * d[3]


@njit(cache=True, nogil=True)
def settle_means(q, mean, tolerance, most):
    """Step means (n_joints, 4) along the mean turn until it vanishes: Fréchet means, in place."""
    for j in range(q.shape[1]):
        for _ in range(most):
            x, y, z, seen = 0.0, 0.0, 0.0, 0
            for i in range(q.shape[0]):
                d = _between(mean[j], q[i, j])
                if np.isfinite(d[0] + d[1] + d[2] + d[3]):
                    scale = _angle_per_sine(d)
                    x, y, z = x + scale * d[1], y + scale * d[2], z + scale * d[3]
                    seen += 1
            step = np.sqrt(x * x + y * y + z * z) / max(seen, 1)
            share = np.sin(0.5 * step) / (step * max(seen, 1)) if step > 0.0 else 0.0
            turn = (np.cos(0.5 * step), share * x, share * y, share * z)
            m = _multiply((mean[j, 0], mean[j, 1], mean[j, 2], mean[j, 3]), turn)
            length = np.sqrt(m[0] * m[0] + m[1] * m[1] + m[2] * m[2] + m[3] * m[3])
            for k in range(4):
                mean[j, k] = m[k] / length
            if step < tolerance:
                break


@njit(cache=True, nogil=True)
def turn_moments(mean, directions, q, moments):
    """Covariance (n_joints, 9, 9) of the turns about means as matrices along ``directions``."""
    n_samples = q.shape[0]
    flat = np.empty((n_samples, 9))
    for j in range(q.shape[1]):
        seen = 0
        # rows that make a left-handed frame turn the other way
        hand = np.sign(np.linalg.det(directions[j]))
        for i in range(n_samples):
            d = _between(mean[j], q[i, j])
            if np.isfinite(d[0] + d[1] + d[2] + d[3]):
                _turn_along((hand * d[0], d[1], d[2], d[3]), directions[j], flat[seen])
                seen += 1
        for k in range(9):
            flat[:seen, k] -= np.mean(flat[:seen, k])
        for k in range(9):
            for m in range(k + 1):
                total = 0.0
                for i in range(seen):
                    total += flat[i, k] * flat[i, m]
                moments[j, k, m] = moments[j, m, k] = total / max(seen, 1)


@njit(cache=True, nogil=True)
def _turn_along(d, directions, out):
    """The matrix of a quaternion in the coordinates of the rows of ``directions``, flat."""
    v = (
        directions[0, 0] * d[1] + directions[0, 1] * d[2] + directions[0, 2] * d[3],
        directions[1, 0] * d[1] + directions[1, 1] * d[2] + directions[1, 2] * d[3],
        directions[2, 0] * d[1] + directions[2, 1] * d[2] + directions[2, 2] * d[3],
    )
    w = d[0]
    for a in range(3):
        for b in range(3):
            out[3 * a + b] = 2.0 * v[a] * v[b]
        out[4 * a] += 2.0 * w * w - 1.0
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        out[3 * b + a] += 2.0 * w * v[c]
        out[3 * a + b] -= 2.0 * w * v[c]


@njit(cache=True, nogil=True)
def split_turns(q, centre, axes, across, swing, twist):
    """Swings (n_samples, n_joints, 2) along ``across`` and twists about ``axes``, from centres."""
    for i in range(q.shape[0]):
        for j in range(q.shape[1]):
            d = _between(centre[j], q[i, j])
            if d[0] < 0.0:
                d = (-d[0], -d[1], -d[2], -d[3])
            a = axes[j]
            along = d[1] * a[0] + d[2] * a[1] + d[3] * a[2]
            length = np.sqrt(d[0] * d[0] + along * along)
            cosine, sine = (d[0] / length, along / length) if length > 0.0 else (1.0, 0.0)
            s = _multiply(d, (cosine, -sine * a[0], -sine * a[1], -sine * a[2]))
            scale = _angle_per_sine(s)
            twist[i, j] = 2.0 * np.arctan2(along, d[0])
            for k in range(2):
                u = across[j, k]
                swing[i, j, k] = scale * (s[1] * u[0] + s[2] * u[1] + s[3] * u[2])


@njit(cache=True, nogil=True)
def swing_moments(swing):
    """(3, n_joints) sums xx, xy, yy about the mean of swings (n_samples, n_joints, 2)."""
    moments = np.zeros((3, swing.shape[1]))
    for j in range(swing.shape[1]):
        x, y, xx, xy, yy, seen = 0.0, 0.0, 0.0, 0.0, 0.0, 0
        for i in range(swing.shape[0]):
            a, b = swing[i, j, 0], swing[i, j, 1]
            if np.isfinite(a):
                x, y, seen = x + a, y + b, seen + 1
                xx, xy, yy = xx + a * a, xy + a * b, yy + b * b
        n = max(seen, 1)
        moments[:, j] = xx - x * x / n, xy - x * y / n, yy - y * y / n
    return moments


@njit(cache=True, nogil=True)
def middles(swing, turn):
    """(n_joints, 2) midway between the ends of swings along the rows of ``turn``."""
    found = np.zeros((swing.shape[1], 2))
    for j in range(swing.shape[1]):
        for k in range(2):
            low, high = np.inf, -np.inf
            for i in range(swing.shape[0]):
                value = turn[j, k, 0] * swing[i, j, 0] + turn[j, k, 1] * swing[i, j, 1]
                if np.isfinite(value):
                    low, high = min(low, value), max(high, value)
            found[j, k] = 0.5 * (low + high)
    return found


@njit(cache=True, nogil=True)
def _between(a, b):
    return _multiply((a[0], -a[1], -a[2], -a[3]), (b[0], b[1], b[2], b[3]))


@njit(cache=True, nogil=True)
def _multiply(a, b):
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@njit(cache=True, nogil=True)
def _angle_per_sine(d):
    """What makes the vector part of a quaternion its rotation vector, the shorter way round."""
    sine = np.sqrt(d[1] * d[1] + d[2] * d[2] + d[3] * d[3])
    if sine == 0.0:
        return 2.0
    angle = 2.0 * np.arctan2(sine, abs(d[0])) / sine
    return -angle if d[0] < 0.0 else angle
