"""Fixed-length trees through joint positions, one frame after another, for numba.

A frame's unknowns are its root and the direction of every bone; lengths are given, so every state
keeps them and nothing needs projecting. Newton's step solves the saddle system of
docs/methods.md §5 by elimination from the leaves to the root. The multiplier of a bone, times its
length, is what its subtree pulls along it, so the multipliers go first, in closed form:

    pull     G_j = w_j (p_j − q_j) + Σ_children G_c
    tension  λ_j = −G_j · u_j / l_j                        the constraint's multiplier
    block    B_j = E_jᵀ A_j E_j + λ_j 1                    2 × 2, E_j spans what is across u_j
    passed   P_j = A_j − A_j E_j B_j⁻¹ E_jᵀ A_j,           A_j = w_j 1 + Σ_children P_c

The reduced Hessian is positive definite exactly when every B_j and the root's A are, so lifting
the blocks that are not makes each step point downhill.
"""

import numpy as np

from osteon.maths import dot, kernel

SUFFICIENT_SHARE = 1e-4
"""Share of the promised decrease that a step must keep: usual for a line search. Chosen."""
FIRST_STEPS, FAR_PULL = 3, 0.02
"""Steps at most, and metres of pull at least, for which a frame counts as far from its answer.
Chosen."""
LEAST_EIGENVALUE = 1e-7
"""Of a block, as a share of the stiffness that it rests on. Chosen: it can then be inverted."""
ROUNDING_ERROR = 1e-14
"""Metres: coordinates of a stage are no finer, so a cost is not known better than this times its
root, and smaller differences mean nothing. Derived: 2⁻⁵² of some 50 m."""


@kernel
def place_frames(q, w, parents, lengths, tolerance, most, p, settled):
    """Move ``p`` (n_frames, n_joints, 3) to the least Σ w ‖p − q‖² with these bone lengths.

    ``p`` is the start on entry: only its root and its directions are used.
    """
    n = len(parents)
    u, basis, tried = np.zeros((n, 3)), np.zeros((n, 2, 3)), np.zeros((n, 3))
    A, P, B = np.zeros((n, 3, 3)), np.zeros((n, 3, 3)), np.zeros((n, 3))
    pull, force, step = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3))
    for f in range(len(q)):
        _directions(p[f], parents, u)
        _chain(p[f], u, parents, lengths, p[f])
        cost = _cost(p[f], q[f], w[f])
        settled[f] = False
        for iteration in range(most):
            _bases(u, basis)
            worst = _pulls(p[f], q[f], w[f], parents, lengths, basis, pull)
            if worst <= tolerance:
                settled[f] = True
                break
            # far away, leaving the curvature out (Gauss–Newton) takes the longer steps
            curved = 0.0 if iteration < FIRST_STEPS and worst > FAR_PULL else 1.0
            _eliminate(w[f], parents, lengths, u, basis, pull, curved, A, P, B)
            slope = _newton_step(p[f], q[f], w[f], parents, basis, A, B, force, step, tried)
            size, cost_tried = 1.0, cost
            while size > 1e-9:
                _moved(p[f], u, step, size, parents, lengths, pull, tried)
                cost_tried = _cost(tried, q[f], w[f])
                if cost_tried <= cost + SUFFICIENT_SHARE * size * slope + ROUNDING_ERROR * np.sqrt(
                    cost
                ):
                    break
                size *= 0.5
            if size <= 1e-9:
                break
            cost = cost_tried
            p[f] = tried
            u[:] = pull  # _moved leaves the new directions there


@kernel
def length_system(q, w, parents, starts, below, lengths, p, gradients, hessian):
    """How the least cost ½ Σ w ‖p − q‖² changes with the lengths, at placed frames ``p``.

    Fills ``gradients`` (n_frames, n_joints) and adds the curvature of all frames to ``hessian``
    (n_joints, n_joints): the Schur complement that the lengths see. Returns the cost. The joints
    below joint j are ``below[starts[j] : starts[j + 1]]``.
    """
    n = len(parents)
    u, basis, pull = np.zeros((n, 3)), np.zeros((n, 2, 3)), np.zeros((n, 3))
    A, P, B = np.zeros((n, 3, 3)), np.zeros((n, 3, 3)), np.zeros((n, 3))
    bond, answer = np.zeros((n, 3)), np.zeros((n, 3))
    total = 0.0
    for f in range(len(q)):
        _directions(p[f], parents, u)
        _bases(u, basis)
        _pulls(p[f], q[f], w[f], parents, lengths, basis, pull)
        _eliminate(w[f], parents, lengths, u, basis, pull, 1.0, A, P, B)
        for j in range(n):
            gradients[f, j] = dot(pull[j], u[j]) if parents[j] >= 0 else 0.0
        _add_curvature(parents, starts, below, u, basis, A, P, B, bond, answer, hessian)
        total += _cost(p[f], q[f], w[f])
    return total


@kernel
def _directions(p, parents, u):
    """Unit bone directions; a bone of no length points up."""
    for j in range(len(parents)):
        u[j, 0], u[j, 1], u[j, 2] = 0.0, 0.0, 1.0
        if parents[j] < 0:
            continue
        x, y, z = (
            p[j, 0] - p[parents[j], 0],
            p[j, 1] - p[parents[j], 1],
            p[j, 2] - p[parents[j], 2],
        )
        length = np.sqrt(x * x + y * y + z * z)
        if length > 0.0:
            u[j, 0], u[j, 1], u[j, 2] = x / length, y / length, z / length


@kernel
def _chain(start, u, parents, lengths, p):
    """Joints of bones with these directions and lengths on the roots of ``start``."""
    for j in range(len(parents)):
        for i in range(3):
            if parents[j] < 0:
                p[j, i] = start[j, i]
            else:
                p[j, i] = p[parents[j], i] + lengths[j] * u[j, i]


@kernel
def _cost(p, q, w):
    total = 0.0
    for j in range(len(w)):
        x, y, z = p[j, 0] - q[j, 0], p[j, 1] - q[j, 1], p[j, 2] - q[j, 2]
        total += w[j] * (x * x + y * y + z * z)
    return 0.5 * total


@kernel
def _bases(u, basis):
    """Two unit vectors across each direction, without a branch near any axis."""
    for j in range(len(u)):
        x, y, z = u[j, 0], u[j, 1], u[j, 2]
        sign = 1.0 if z >= 0.0 else -1.0
        a = -1.0 / (sign + z)
        b = x * y * a
        basis[j, 0, 0], basis[j, 0, 1], basis[j, 0, 2] = 1.0 + sign * x * x * a, sign * b, -sign * x
        basis[j, 1, 0], basis[j, 1, 1], basis[j, 1, 2] = b, sign + y * y * a, -y


@kernel
def _pulls(p, q, w, parents, lengths, basis, pull):
    """Gradients of whole subtrees, and the largest that a freedom of the frame feels."""
    worst = 0.0
    for j in range(len(parents)):
        for i in range(3):
            pull[j, i] = w[j] * (p[j, i] - q[j, i])
    for j in range(len(parents) - 1, -1, -1):
        if parents[j] < 0:
            worst = max(worst, np.sqrt(dot(pull[j], pull[j])))
            continue
        if lengths[j] > 0.0:
            worst = max(worst, abs(dot(basis[j, 0], pull[j])), abs(dot(basis[j, 1], pull[j])))
        for i in range(3):
            pull[parents[j], i] += pull[j, i]
    return worst


@kernel
def _eliminate(w, parents, lengths, u, basis, pull, curved, A, P, B):
    """Stiffness ``A`` of every subtree at its joint, ``P`` at the parent's, inverse blocks ``B``.

    ``curved`` is 1, or 0 to leave the tensions out. ``B`` holds the entries 00, 01, 11 of the
    inverse; zero where a bone has no length and therefore no direction to turn.
    """
    for j in range(len(parents)):
        for a in range(3):
            for b in range(3):
                A[j, a, b] = w[j] if a == b else 0.0
    for j in range(len(parents) - 1, -1, -1):
        if parents[j] < 0:
            _lift(A[j])
            continue
        B[j] = 0.0
        if lengths[j] > 0.0:
            _block(A[j], basis[j], -curved * dot(pull[j], u[j]) / lengths[j], B[j])
        _pass_on(A[j], basis[j], B[j], P[j])
        for a in range(3):
            for b in range(3):
                A[parents[j], a, b] += P[j, a, b]


@kernel
def _block(A, basis, tension, inverse):
    """Inverse of EᵀAE + λ, lifted where it is not positive."""
    s00, s01 = _form(A, basis[0], basis[0]), _form(A, basis[0], basis[1])
    s11 = _form(A, basis[1], basis[1])
    least = LEAST_EIGENVALUE * 0.5 * (abs(s00) + abs(s11)) + 1e-12
    s00 += tension
    s11 += tension
    half = 0.5 * (s00 - s11)
    smallest = 0.5 * (s00 + s11) - np.sqrt(half * half + s01 * s01)
    if smallest < least:
        lift = max(least - smallest, -2.0 * smallest)
        s00 += lift
        s11 += lift
    determinant = s00 * s11 - s01 * s01
    inverse[0], inverse[1], inverse[2] = s11 / determinant, -s01 / determinant, s00 / determinant


@kernel
def _lift(A):
    """Add to the diagonal until the matrix is positive definite."""
    size = abs(A[0, 0]) + abs(A[1, 1]) + abs(A[2, 2]) + 1e-12
    least, lift = LEAST_EIGENVALUE * size, LEAST_EIGENVALUE * size
    while True:
        minor = A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
        determinant = (
            A[2, 2] * minor
            - A[1, 2] * (A[0, 0] * A[2, 1] - A[0, 1] * A[2, 0])
            + A[0, 2] * (A[1, 0] * A[2, 1] - A[1, 1] * A[2, 0])
        )
        if A[0, 0] > least and minor > least * A[0, 0] and determinant > least * minor:
            return
        for i in range(3):
            A[i, i] += lift
        lift *= 2.0


@kernel
def _form(A, a, b):
    """aᵀ A b."""
    total = 0.0
    for i in range(3):
        total += a[i] * (A[i, 0] * b[0] + A[i, 1] * b[1] + A[i, 2] * b[2])
    return total


@kernel
def _pass_on(A, basis, B, P):
    """P = A − A E B⁻¹ Eᵀ A."""
    for i in range(3):
        s, t = dot(A[i], basis[0]), dot(A[i], basis[1])
        x, y = B[0] * s + B[1] * t, B[1] * s + B[2] * t
        for k in range(3):
            P[i, k] = A[i, k] - x * dot(A[k], basis[0]) - y * dot(A[k], basis[1])


@kernel
def _newton_step(p, q, w, parents, basis, A, B, force, step, moved):
    """Newton's ``step``: of roots a shift, of bones the move of their end against their start.

    Returns the slope of the cost along it.
    """
    for j in range(len(parents)):
        for i in range(3):
            force[j, i] = w[j] * (p[j, i] - q[j, i])
    for j in range(len(parents) - 1, -1, -1):
        if parents[j] < 0:
            continue
        x, y = _turn(force[j], basis[j], B[j])
        for i in range(3):
            along = x * dot(A[j, i], basis[j, 0]) + y * dot(A[j, i], basis[j, 1])
            force[parents[j], i] += force[j, i] + along
    return _substitute(p, q, w, parents, basis, A, B, force, step, moved)


@kernel
def _turn(force, basis, B):
    """−B⁻¹ Eᵀ force: how the bone's end answers."""
    s, t = dot(basis[0], force), dot(basis[1], force)
    return -(B[0] * s + B[1] * t), -(B[1] * s + B[2] * t)


@kernel
def _substitute(p, q, w, parents, basis, A, B, force, step, moved):
    """Root to leaves: answers to the forces, given how the parent's joint moved."""
    slope = 0.0
    for j in range(len(parents)):
        if parents[j] < 0:
            _solve3(A[j], force[j], step[j])
            for i in range(3):
                moved[j, i] = step[j, i]
        else:
            before = moved[parents[j]]
            for i in range(3):
                force[j, i] += dot(A[j, i], before)
            x, y = _turn(force[j], basis[j], B[j])
            for i in range(3):
                step[j, i] = x * basis[j, 0, i] + y * basis[j, 1, i]
                moved[j, i] = before[i] + step[j, i]
        for i in range(3):
            slope += w[j] * (p[j, i] - q[j, i]) * moved[j, i]
    return slope


@kernel
def _solve3(A, force, out):
    """out = −A⁻¹ force, A symmetric and positive definite."""
    l00 = np.sqrt(A[0, 0])
    l10, l20 = A[1, 0] / l00, A[2, 0] / l00
    l11 = np.sqrt(A[1, 1] - l10 * l10)
    l21 = (A[2, 1] - l20 * l10) / l11
    l22 = np.sqrt(A[2, 2] - l20 * l20 - l21 * l21)
    a = -force[0] / l00
    b = (-force[1] - l10 * a) / l11
    c = (-force[2] - l20 * a - l21 * b) / l22
    out[2] = c / l22
    out[1] = (b - l21 * out[2]) / l11
    out[0] = (a - l10 * out[1] - l20 * out[2]) / l00


@kernel
def _moved(p, u, step, size, parents, lengths, turned, out):
    """Joints ``out`` and directions ``turned`` after a share ``size`` of the step."""
    for j in range(len(parents)):
        if parents[j] < 0 or lengths[j] <= 0.0:
            turned[j] = u[j]
            continue
        for i in range(3):
            turned[j, i] = u[j, i] + size * step[j, i] / lengths[j]
        length = np.sqrt(dot(turned[j], turned[j]))
        for i in range(3):
            turned[j, i] /= length
    for j in range(len(parents)):
        for i in range(3):
            if parents[j] < 0:
                out[j, i] = p[j, i] + size * step[j, i]
            else:
                out[j, i] = out[parents[j], i] + lengths[j] * turned[j, i]


@kernel
def _add_curvature(parents, starts, below, u, basis, A, P, B, bond, answer, hessian):
    """Add one frame's second derivatives by the lengths.

    ``bond[k]`` is the force at the current joint per metre of bone k. It travels to the root;
    every joint on the way yields to it and takes its share of the curvature.
    """
    for j in range(len(parents) - 1, -1, -1):
        under = below[starts[j] : starts[j + 1]]
        for k in under:
            if parents[j] < 0:
                _solve3(A[j], bond[k], answer[k])
            else:
                x, y = _turn(bond[k], basis[j], B[j])
                for i in range(3):
                    answer[k, i] = x * basis[j, 0, i] + y * basis[j, 1, i]
        for k in under:
            for m in under:
                hessian[k, m] += dot(answer[k], bond[m])
        if parents[j] < 0:
            continue
        for k in under:
            for i in range(3):
                bond[k, i] += dot(A[j, i], answer[k])
            shared = dot(bond[k], u[j])
            hessian[k, j] += shared
            hessian[j, k] += shared
        for i in range(3):
            bond[j, i] = dot(P[j, i], u[j])
        hessian[j, j] += dot(bond[j], u[j])
