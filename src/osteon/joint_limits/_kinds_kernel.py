"""Turns of many joints at once: about their means, and split into swing and twist; compiled."""

import numpy as np

from osteon.maths import between, cross, dot, exp, kernel, multiply, rotate


@kernel
def find_spreads(q, tolerance, most):
    """Fréchet means of rotations (n_samples, n_joints, 4) and their spread about them.

    Returns
    -------
    mean : (n_joints, 4)
        Settled until a step is below ``tolerance``, radians, or ``most`` steps are done.
    variance : (n_joints, 3)
        Along the principal directions, largest first.
    directions : (n_joints, 3, 3)
        In rows, in the frames of the bodies at the mean.
    turns : (n_samples, n_joints, 3)
        Rotation vectors from the means.
    """
    n_samples, n_joints = q.shape[:2]
    mean, turns = np.empty((n_joints, 4)), np.empty((n_samples, n_joints, 3))
    variance, directions = np.empty((n_joints, 3)), np.empty((n_joints, 3, 3))
    square4, square3 = np.empty((4, 4)), np.empty((3, 3))
    for j in range(n_joints):
        mean[j] = _eigen(_mean_squares(q, j, square4))[1][0]
        _settle(q, j, mean[j], turns, tolerance, most)
        variance[j], directions[j] = _eigen(_mean_squares(turns, j, square3))
    return mean, variance, directions, turns


@kernel
def _mean_squares(vectors, j, squares):
    """(k, k) mean of v vᵀ over vectors (n_samples, n_joints, k) of one joint, NaN passed over."""
    seen = 0
    squares[:] = 0.0
    for i in range(vectors.shape[0]):
        if np.isfinite(vectors[i, j, 0]):
            seen += 1
            for a in range(len(squares)):
                for b in range(len(squares)):
                    squares[a, b] += vectors[i, j, a] * vectors[i, j, b]
    squares /= max(seen, 1)
    return squares


@kernel
def _eigen(matrix):
    """Values, largest first, and vectors in rows, of a symmetric matrix; by Jacobi's rotations."""
    n = len(matrix)
    vectors = np.eye(n)
    total = np.sum(np.abs(matrix))
    for _ in range(30):
        off = 0.0
        for a in range(n):
            for b in range(a):
                off += abs(matrix[a, b])
                if matrix[a, b] != 0.0:
                    _rotate_out(matrix, vectors, a, b)
        if off <= 1e-17 * total:
            break
    values = np.diag(matrix).copy()
    order = np.argsort(-values)
    return values[order], vectors[order]


@kernel
def _rotate_out(matrix, vectors, a, b):
    """Turn a symmetric matrix so that its entry (a, b) vanishes, and the rows of ``vectors``."""
    apart = 0.5 * (matrix[b, b] - matrix[a, a]) / matrix[a, b]
    tangent = (1.0 if apart >= 0.0 else -1.0) / (abs(apart) + np.sqrt(apart * apart + 1.0))
    cosine = 1.0 / np.sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    for k in range(len(matrix)):
        x, y = matrix[k, a], matrix[k, b]
        matrix[k, a], matrix[k, b] = cosine * x - sine * y, sine * x + cosine * y
    for k in range(len(matrix)):
        x, y = matrix[a, k], matrix[b, k]
        matrix[a, k], matrix[b, k] = cosine * x - sine * y, sine * x + cosine * y
        x, y = vectors[a, k], vectors[b, k]
        vectors[a, k], vectors[b, k] = cosine * x - sine * y, sine * x + cosine * y
    matrix[a, b] = matrix[b, a] = 0.0


@kernel
def _settle(q, j, mean, turns, tolerance, most):
    """Step one joint's mean along the mean turn until that vanishes."""
    for _ in range(most):
        x, y, z = _turn_one(mean, q, j, turns)
        if np.sqrt(x * x + y * y + z * z) < tolerance:
            break
        m = multiply(mean, exp((x, y, z)))
        length = np.sqrt(m[0] * m[0] + m[1] * m[1] + m[2] * m[2] + m[3] * m[3])
        for k in range(4):
            mean[k] = m[k] / length


@kernel
def turns_about(mean, q):
    """Rotation vectors (n_samples, n_joints, 3) to rotations from means (n_joints, 4)."""
    turns = np.empty((q.shape[0], q.shape[1], 3))
    for j in range(q.shape[1]):
        _turn_one(mean[j], q, j, turns)
    return turns


@kernel
def _turn_one(mean, q, j, turns):
    """Turns of one joint about ``mean``, and the mean of those that are seen."""
    x, y, z, seen = 0.0, 0.0, 0.0, 0
    for i in range(q.shape[0]):
        d = between(mean, q[i, j])
        scale = angle_per_sine(d)
        a, b, c = scale * d[1], scale * d[2], scale * d[3]
        turns[i, j, 0], turns[i, j, 1], turns[i, j, 2] = a, b, c
        if np.isfinite(a + b + c):
            x, y, z, seen = x + a, y + b, z + c, seen + 1
    n = max(seen, 1)
    return x / n, y / n, z / n


@kernel
def turn_moments(mean, directions, q, moments):
    """Covariance (n_joints, 9, 9) of the turns about means as matrices along ``directions``."""
    n_samples = q.shape[0]
    flat = np.empty((n_samples, 9))
    for j in range(q.shape[1]):
        seen = 0
        # rows that make a left-handed frame turn the other way
        hand = np.sign(dot(cross(directions[j, 0], directions[j, 1]), directions[j, 2]))
        for i in range(n_samples):
            d = between(mean[j], q[i, j])
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


@kernel
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


@kernel
def split_turns(q, mean, axes):
    """Swings and twists of rotations (n_samples, n_joints, 4), bones along ``axes`` (n_joints, 3).

    About ``mean`` the directions in which swings are widest and narrowest are found and the middle
    of both; about that middle rotations are split.

    Returns
    -------
    centre : (n_joints, 4)
        The middle.
    across : (n_joints, 2, 3)
        Those directions.
    swing : (n_samples, n_joints, 2)
    twist : (n_samples, n_joints)
    """
    n_samples, n_joints = q.shape[:2]
    centre, across = np.empty((n_joints, 4)), np.empty((n_joints, 2, 3))
    swing, twist = np.empty((n_samples, n_joints, 2)), np.empty((n_samples, n_joints))
    for j in range(n_joints):
        axis = (axes[j, 0], axes[j, 1], axes[j, 2])
        first, second = frame_across(axis)
        _swings(q, j, mean[j], axis, first, second, swing)
        angle = _widest(swing, j)
        cosine, sine = np.cos(angle), np.sin(angle)
        x, y = _middle(swing, j, cosine, sine), _middle(swing, j, -sine, cosine)
        one, two = mix(cosine, first, sine, second), mix(-sine, first, cosine, second)
        m = multiply(mean[j], exp(mix(x, one, y, two)))
        centre[j, 0], centre[j, 1], centre[j, 2], centre[j, 3] = m
        for k in range(3):
            across[j, 0, k], across[j, 1, k] = one[k], two[k]
        _swings(q, j, centre[j], axis, one, two, swing)
        for i in range(n_samples):
            twist[i, j] = twist_of(between(centre[j], q[i, j]), axis)
    return centre, across, swing, twist


@kernel
def _swings(q, j, centre, axis, first, second, swing):
    """Swings of all samples of one joint, from ``centre``."""
    for i in range(q.shape[0]):
        d = between(centre, q[i, j])
        swing[i, j, 0], swing[i, j, 1] = swing_of(d, axis, first, second)


@kernel
def swing_of(d, axis, first, second):
    """What a rotation is beside its twist about ``axis``, along two directions."""
    along = d[1] * axis[0] + d[2] * axis[1] + d[3] * axis[2]
    length = np.sqrt(d[0] * d[0] + along * along)
    cosine, sine = (d[0] / length, along / length) if length > 0.0 else (1.0, 0.0)
    s = multiply(d, (cosine, -sine * axis[0], -sine * axis[1], -sine * axis[2]))
    scale = angle_per_sine(s)
    x = scale * (s[1] * first[0] + s[2] * first[1] + s[3] * first[2])
    y = scale * (s[1] * second[0] + s[2] * second[1] + s[3] * second[2])
    return x, y


@kernel
def twist_of(d, axis):
    """Signed angle of a rotation about ``axis``, in [−π, π]."""
    along = d[1] * axis[0] + d[2] * axis[1] + d[3] * axis[2]
    return 2.0 * np.arctan2(-along if d[0] < 0.0 else along, abs(d[0]))


@kernel
def hinge_angles(q, rest, axis):
    """(n_samples, n_hinges) angles of rotations (n_samples, n_hinges, 4) from their rests."""
    angles = np.empty(q.shape[:2])
    for i in range(q.shape[0]):
        for j in range(q.shape[1]):
            back = (rest[j, 0], -rest[j, 1], -rest[j, 2], -rest[j, 3])
            angles[i, j] = twist_of(multiply(q[i, j], back), axis[j])
    return angles


@kernel
def cosines(q, joints, outer, inner):
    """(n_samples, n) between ``outer`` in the parents and ``inner`` in the bodies of joints."""
    found = np.empty((q.shape[0], len(joints)))
    for i in range(q.shape[0]):
        for k in range(len(joints)):
            j = joints[k]
            found[i, k] = dot(rotate(q[i, j], inner[j]), outer[j])
    return found


@kernel
def rest_about(mean, axis):
    """Of the poses R(axis, angle)·mean the one that turns least."""
    angle = -twist_of(mean, axis)
    return multiply(exp(mix(angle, axis, 0.0, axis)), mean)


@kernel
def rest_about_two(mean, outer, inner):
    """Of the poses R(outer, α)·mean·R(inner, β) the one that turns least.

    Its w is bilinear in the half angles' (cos, sin): a sum of two waves, in a − b and a + b.
    """
    before, after = (0.0, outer[0], outer[1], outer[2]), (0.0, inner[0], inner[1], inner[2])
    turned = multiply(before, mean)
    cc, cs = mean[0], multiply(mean, after)[0]
    sc, ss = turned[0], multiply(turned, after)[0]
    apart, together = np.arctan2(sc - cs, cc + ss), np.arctan2(cs + sc, cc - ss)
    a, b = 0.5 * (together + apart), 0.5 * (together - apart)
    first = (np.cos(a), np.sin(a) * outer[0], np.sin(a) * outer[1], np.sin(a) * outer[2])
    last = (np.cos(b), np.sin(b) * inner[0], np.sin(b) * inner[1], np.sin(b) * inner[2])
    return multiply(multiply(first, mean), last)


@kernel
def find_rests(mean, n_free, first, outer, inner):
    """(n_joints, 4) of all poses that joints of 0, 1, 2 or 3 axes allow the nearest to zero."""
    rests = np.empty(mean.shape)
    for j in range(len(mean)):
        rest = (1.0, 0.0, 0.0, 0.0)
        if n_free[j] == 0:
            rest = (mean[j, 0], mean[j, 1], mean[j, 2], mean[j, 3])
        elif n_free[j] == 1:
            rest = rest_about(mean[j], first[j])
        elif n_free[j] == 2:
            rest = rest_about_two(mean[j], outer[j], inner[j])
        rests[j, 0], rests[j, 1], rests[j, 2], rests[j, 3] = rest
    return rests


@kernel
def _widest(swing, j):
    """Angle of the direction in which a joint's swings spread most."""
    x, y, xx, xy, yy, seen = 0.0, 0.0, 0.0, 0.0, 0.0, 0
    for i in range(swing.shape[0]):
        a, b = swing[i, j, 0], swing[i, j, 1]
        if np.isfinite(a):
            x, y, seen = x + a, y + b, seen + 1
            xx, xy, yy = xx + a * a, xy + a * b, yy + b * b
    n = max(seen, 1)
    return 0.5 * np.arctan2(2.0 * (xy - x * y / n), (xx - x * x / n) - (yy - y * y / n))


@kernel
def _middle(swing, j, cosine, sine):
    """Midway between the ends of a joint's swings along a direction."""
    low, high = np.inf, -np.inf
    for i in range(swing.shape[0]):
        value = cosine * swing[i, j, 0] + sine * swing[i, j, 1]
        if np.isfinite(value):
            low, high = min(low, value), max(high, value)
    return 0.5 * (low + high)


@kernel
def frame_across(v):
    """Two unit vectors that make a right-handed frame with unit ``v`` as third."""
    x, y, z = abs(v[0]), abs(v[1]), abs(v[2])
    if x <= y and x <= z:
        first = (0.0, -v[2], v[1])
    elif y <= z:
        first = (v[2], 0.0, -v[0])
    else:
        first = (-v[1], v[0], 0.0)
    first = mix(1.0 / np.sqrt(dot(first, first)), first, 0.0, first)
    second = (
        v[1] * first[2] - v[2] * first[1],
        v[2] * first[0] - v[0] * first[2],
        v[0] * first[1] - v[1] * first[0],
    )
    return first, second


@kernel
def mix(a, v, b, w):
    return (a * v[0] + b * w[0], a * v[1] + b * w[1], a * v[2] + b * w[2])


@kernel
def angle_per_sine(d):
    """What makes the vector part of a quaternion its rotation vector, the shorter way round."""
    sine = np.sqrt(d[1] * d[1] + d[2] * d[2] + d[3] * d[3])
    if sine == 0.0:
        return 2.0
    angle = 2.0 * np.arctan2(sine, abs(d[0])) / sine
    return -angle if d[0] < 0.0 else angle
