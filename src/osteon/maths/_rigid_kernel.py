"""The compiled part of :mod:`osteon.maths.rigid`: QCP on blocks of 64 frames.

Theobald's quaternion characteristic polynomial: the best rotation is the eigenvector of Horn's 4×4
matrix with the largest eigenvalue, found by Newton from above and read from the adjugate
[Theobald 2005, Horn 1987]. Frames lie side by side in lanes (structure of arrays), so each loop
over lanes is plain arithmetic that vectorises. Where the largest eigenvalue is not well apart from
the next (markers almost in a line, a poor fit), the adjugate loses digits; those lanes go through
Jacobi rotations instead.
"""

import math

import numpy as np

from osteon.maths.compiled import kernel
from osteon.maths.rigid import AXIS, FULL, NONE, POINT

LANES = 64
"""Count of frames side by side, chosen: loops of that length vectorise."""
_SAFE_GAPS = 0.02
"""Ratio: product of the eigenvalue gaps, the largest eigenvalue scaled to 1. Chosen: below it
Newton's method and the adjugate lose digits."""


@kernel
def fit_bodies(observed, columns, starts, template, weights, straight, q, p, rms, status):
    """Fill q, p, rms, status of every frame and body; ``columns[starts[b]:starts[b+1]]`` is b's."""
    most = 0
    for body in range(len(starts) - 1):
        most = max(most, starts[body + 1] - starts[body])
    world, body_frame = np.empty((most, 3, LANES)), np.empty((most, 3, LANES))
    weight = np.empty((most, LANES))
    centres, total = np.empty((6, LANES)), np.empty(LANES)
    key, size, ratio = np.empty((10, LANES)), np.empty(LANES), np.empty(LANES)
    quaternion = np.empty((4, LANES))
    for body in range(len(starts) - 1):
        first, last = starts[body], starts[body + 1]
        n_markers = last - first
        for start in range(0, len(observed), LANES):
            n = min(LANES, len(observed) - start)
            _gather(observed, columns[first:last], weights[first:last], start, n, world, weight)
            _centre(template[first:last], n_markers, world, body_frame, weight, centres, total)
            _correlate(n_markers, world, body_frame, weight, key, size, ratio)
            _rotate_best(key, size, quaternion)
            _finish(n_markers, n, world, body_frame, weight, centres, total, size, quaternion)
            for lane in range(n):
                frame = start + lane
                state = _determined(weight, n_markers, lane, ratio[lane], straight)
                status[frame, body] = state
                full = state == FULL
                for k in range(4):
                    q[frame, body, k] = quaternion[k, lane] if full else np.nan
                for k in range(3):
                    p[frame, body, k] = centres[k, lane] if full else np.nan
                rms[frame, body] = size[lane] if full else np.nan


@kernel
def _gather(observed, columns, weights, start, n, world, weight):
    """Markers of one block of frames into lanes; what is missing gets weight 0."""
    for m in range(len(columns)):
        column = columns[m]
        for lane in range(LANES):
            # lanes past the end of the take repeat its last frame; nobody reads them
            frame = start + min(lane, n - 1)
            x, y, z = (
                observed[frame, column, 0],
                observed[frame, column, 1],
                observed[frame, column, 2],
            )
            seen = math.isfinite(x + y + z)
            world[m, 0, lane] = x if seen else 0.0
            world[m, 1, lane] = y if seen else 0.0
            world[m, 2, lane] = z if seen else 0.0
            weight[m, lane] = weights[m] if seen else 0.0


@kernel
def _centre(template, n_markers, world, body_frame, weight, centres, total):
    """Subtract from both sets the centre of what is seen; rows of ``centres``: world, body."""
    centres[:] = 0.0
    total[:] = 0.0
    for m in range(n_markers):
        for lane in range(LANES):
            total[lane] += weight[m, lane]
        for k in range(3):
            place = template[m, k]
            for lane in range(LANES):
                centres[k, lane] += weight[m, lane] * world[m, k, lane]
                centres[3 + k, lane] += weight[m, lane] * place
    for k in range(6):
        for lane in range(LANES):
            centres[k, lane] /= total[lane] if total[lane] > 0.0 else 1.0
    for m in range(n_markers):
        for k in range(3):
            place = template[m, k]
            for lane in range(LANES):
                world[m, k, lane] -= centres[k, lane]
                body_frame[m, k, lane] = place - centres[3 + k, lane]


@kernel
def _correlate(n_markers, world, body_frame, weight, key, size, ratio):
    """Horn's symmetric matrix (10 rows), scaled so that a perfect fit has the eigenvalue 1."""
    for lane in range(LANES):
        xx = xy = xz = yx = yy = yz = zx = zy = zz = power = 0.0
        for m in range(n_markers):
            w = weight[m, lane]
            ax, ay, az = body_frame[m, 0, lane], body_frame[m, 1, lane], body_frame[m, 2, lane]
            bx, by, bz = world[m, 0, lane], world[m, 1, lane], world[m, 2, lane]
            power += w * (ax * ax + ay * ay + az * az + bx * bx + by * by + bz * bz)
            ax, ay, az = w * ax, w * ay, w * az
            xx, xy, xz = xx + ax * bx, xy + ax * by, xz + ax * bz
            yx, yy, yz = yx + ay * bx, yy + ay * by, yz + ay * bz
            zx, zy, zz = zx + az * bx, zy + az * by, zz + az * bz
        scale = 2.0 / power if power > 0.0 else 0.0
        xx, xy, xz, yx, yy = xx * scale, xy * scale, xz * scale, yx * scale, yy * scale
        yz, zx, zy, zz = yz * scale, zx * scale, zy * scale, zz * scale
        size[lane] = power
        ratio[lane] = _straightness(xx, xy, xz, yx, yy, yz, zx, zy, zz)
        key[0, lane] = xx + yy + zz
        key[1, lane] = yz - zy
        key[2, lane] = zx - xz
        key[3, lane] = xy - yx
        key[4, lane] = xx - yy - zz
        key[5, lane] = xy + yx
        key[6, lane] = zx + xz
        key[7, lane] = yy - xx - zz
        key[8, lane] = yz + zy
        key[9, lane] = zz - xx - yy


@kernel
def _straightness(xx, xy, xz, yx, yy, yz, zx, zy, zz):
    """Second by first singular value, nearly: ‖adjugate‖ / ‖matrix‖²; 0 for points on a line."""
    norm = xx * xx + xy * xy + xz * xz + yx * yx + yy * yy + yz * yz + zx * zx + zy * zy + zz * zz
    a, b, c = yy * zz - yz * zy, yx * zz - yz * zx, yx * zy - yy * zx
    d, e, f = xy * zz - xz * zy, xx * zz - xz * zx, xx * zy - xy * zx
    g, h, i = xy * yz - xz * yy, xx * yz - xz * yx, xx * yy - xy * yx
    adjugate = a * a + b * b + c * c + d * d + e * e + f * f + g * g + h * h + i * i
    return math.sqrt(adjugate) / norm if norm > 0.0 else 0.0


@kernel
def _rotate_best(key, size, quaternion):
    """The eigenvector of the largest eigenvalue in every lane."""
    for lane in range(LANES):
        quaternion[0, lane], quaternion[1, lane], quaternion[2, lane], quaternion[3, lane], gaps = (
            _newton_adjugate(
                key[0, lane],
                key[1, lane],
                key[2, lane],
                key[3, lane],
                key[4, lane],
                key[5, lane],
                key[6, lane],
                key[7, lane],
                key[8, lane],
                key[9, lane],
            )
        )
        if not gaps > _SAFE_GAPS and size[lane] > 0.0:
            _jacobi(key, lane, quaternion)


@kernel
def _newton_adjugate(a, b, c, d, e, f, g, h, i, j):
    """Best quaternion of [[a b c d] [b e f g] [c f h i] [d g i j]] and the product of gaps."""
    # characteristic polynomial x⁴ + c2 x² + c1 x + c0: the trace is zero
    he_ff, hj_ii = e * h - f * f, h * j - i * i
    c2 = a * (e + h + j) + e * h + e * j + h * j - b * b - c * c - d * d - f * f - g * g - i * i
    det_lower = e * hj_ii - f * (f * j - i * g) + g * (f * i - h * g)
    m_acd = a * hj_ii - c * (c * j - i * d) + d * (c * i - h * d)
    m_abd = a * (e * j - g * g) - b * (b * j - g * d) + d * (b * g - e * d)
    m_abc = a * he_ff - b * (b * h - f * c) + c * (b * f - e * c)
    c1 = -(det_lower + m_acd + m_abd + m_abc)
    q0, q1, q2, q3 = _adjugate_row(a, b, c, d, e, f, g, h, i, j)
    c0 = a * q0 + b * q1 + c * q2 + d * q3
    x = 1.0
    for _ in range(20):
        slope = (4.0 * x * x + 2.0 * c2) * x + c1
        value = ((x * x + c2) * x + c1) * x + c0
        if slope <= 1e-6:
            return 1.0, 0.0, 0.0, 0.0, 0.0
        step = value / slope
        x -= step
        if abs(step) < 1e-15:
            break
    gaps = (4.0 * x * x + 2.0 * c2) * x + c1
    a, e, h, j = a - x, e - x, h - x, j - x
    # diagonal of the adjugate: squares of the components; the largest gives the steadiest row
    hj_ii, ej_gg, eh_ff = h * j - i * i, e * j - g * g, e * h - f * f
    ww = abs(e * hj_ii - f * (f * j - i * g) + g * (f * i - h * g))
    xx = abs(a * hj_ii - c * (c * j - i * d) + d * (c * i - h * d))
    yy = abs(a * ej_gg - b * (b * j - g * d) + d * (b * g - e * d))
    zz = abs(a * eh_ff - b * (b * h - f * c) + c * (b * f - e * c))
    if ww >= xx and ww >= yy and ww >= zz:
        q0, q1, q2, q3 = _adjugate_row(a, b, c, d, e, f, g, h, i, j)
    elif xx >= yy and xx >= zz:
        q1, q0, q2, q3 = _adjugate_row(e, b, f, g, a, c, d, h, i, j)
    elif yy >= zz:
        q2, q1, q0, q3 = _adjugate_row(h, f, c, i, e, b, g, a, d, j)
    else:
        q3, q1, q2, q0 = _adjugate_row(j, g, i, d, e, f, b, h, c, a)
    norm = math.sqrt(q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3)
    norm = (norm if q0 >= 0.0 else -norm) if norm > 0.0 else 1.0
    return q0 / norm, q1 / norm, q2 / norm, q3 / norm, gaps


@kernel
def _adjugate_row(a, b, c, d, e, f, g, h, i, j):
    """First row of the adjugate of the symmetric 4×4 matrix a…j (upper triangle by rows)."""
    hj_ii, fj_gi, fi_gh = h * j - i * i, f * j - g * i, f * i - g * h
    cj_di, ci_dh, cg_df = c * j - d * i, c * i - d * h, c * g - d * f
    q0 = e * hj_ii - f * fj_gi + g * fi_gh
    q1 = -(b * hj_ii - f * cj_di + g * ci_dh)
    q2 = b * fj_gi - e * cj_di + g * cg_df
    q3 = -(b * fi_gh - e * ci_dh + f * cg_df)
    return q0, q1, q2, q3


@kernel
def _jacobi(key, lane, quaternion):
    """Eigenvector of the largest eigenvalue of one lane by Jacobi rotations: slow and safe."""
    m, v = np.empty((4, 4)), np.eye(4)
    k = 0
    for r in range(4):
        for s in range(r, 4):
            m[r, s] = m[s, r] = key[k, lane]
            k += 1
    for _ in range(30):
        off = 0.0
        for r in range(3):
            for s in range(r + 1, 4):
                off += m[r, s] * m[r, s]
                if m[r, s] != 0.0:
                    _jacobi_turn(m, v, r, s)
        if off < 1e-34:
            break
    best = 0
    for r in range(1, 4):
        if m[r, r] > m[best, best]:
            best = r
    sign = -1.0 if v[0, best] < 0.0 else 1.0
    for r in range(4):
        quaternion[r, lane] = sign * v[r, best]


@kernel
def _jacobi_turn(m, v, r, s):
    """Make m[r, s] zero by a rotation in that plane, and carry the rotation into v."""
    theta = (m[s, s] - m[r, r]) / (2.0 * m[r, s])
    t = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
    t = -t if theta < 0.0 else t
    cos = 1.0 / math.sqrt(t * t + 1.0)
    sin = t * cos
    for k in range(4):
        m[k, r], m[k, s] = cos * m[k, r] - sin * m[k, s], sin * m[k, r] + cos * m[k, s]
    for k in range(4):
        m[r, k], m[s, k] = cos * m[r, k] - sin * m[s, k], sin * m[r, k] + cos * m[s, k]
        v[k, r], v[k, s] = cos * v[k, r] - sin * v[k, s], sin * v[k, r] + cos * v[k, s]


@kernel
def _finish(n_markers, n, world, body_frame, weight, centres, total, size, quaternion):
    """Turn centres into body origins (rows 0–2) and put the exact weighted RMS into ``size``."""
    for lane in range(n):
        w, x, y, z = (
            quaternion[0, lane],
            quaternion[1, lane],
            quaternion[2, lane],
            quaternion[3, lane],
        )
        r00, r01, r02 = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
        r10, r11, r12 = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
        r20, r21, r22 = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)
        error = 0.0
        for m in range(n_markers):
            a, b, c = body_frame[m, 0, lane], body_frame[m, 1, lane], body_frame[m, 2, lane]
            dx = world[m, 0, lane] - (r00 * a + r01 * b + r02 * c)
            dy = world[m, 1, lane] - (r10 * a + r11 * b + r12 * c)
            dz = world[m, 2, lane] - (r20 * a + r21 * b + r22 * c)
            error += weight[m, lane] * (dx * dx + dy * dy + dz * dz)
        a, b, c = centres[3, lane], centres[4, lane], centres[5, lane]
        centres[0, lane] -= r00 * a + r01 * b + r02 * c
        centres[1, lane] -= r10 * a + r11 * b + r12 * c
        centres[2, lane] -= r20 * a + r21 * b + r22 * c
        size[lane] = math.sqrt(error / total[lane]) if total[lane] > 0.0 else 0.0


@kernel
def _determined(weight, n_markers, lane, ratio, straight):
    """How much of the pose the seen markers fix: nothing, a point, an axis, or all."""
    seen = 0
    for m in range(n_markers):
        if weight[m, lane] > 0.0:
            seen += 1
    if seen >= 3 and ratio > straight * straight:
        return FULL
    if seen >= 2:
        return AXIS
    return POINT if seen == 1 else NONE
