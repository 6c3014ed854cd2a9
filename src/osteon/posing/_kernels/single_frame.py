"""One frame alone, as a stream brings it: the fit of ``levenberg_marquardt`` without lanes.

Sixty-four lanes share what a take's frames have in common; a single frame would pay for all of
them. Here markers are few and paths short, so the normal matrix is summed marker by marker along
the path that moves it. It fills the same rows as ``normal_equations`` does and is factored alike.
"""

from typing import NamedTuple

import numpy as np

from osteon.maths import FAST_MATH, kernel
from osteon.posing._kernels.lanes import U
from osteon.posing._kernels.levenberg_marquardt import FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING
from osteon.posing.rig import IN_BODY, IN_PARENT, TRANSLATION, RigTree


class Work(NamedTuple):
    """Memory that every frame uses again."""

    tips: np.ndarray
    """(n_bodies,) the last degree of freedom that moves a body; its row is the body's path."""
    frames: np.ndarray
    """(n_bodies + 1, 12) a 3×3 rotation row by row, then a place; frame 0 is the world."""
    points: np.ndarray
    """(n_markers, 7) place, what it lacks to the observed, weight."""
    screws: np.ndarray
    """(n_dofs, 6) axis in the world, place of the joint."""
    moves: np.ndarray
    """(3, longest path) how one marker moves with each freedom of its path."""
    normal: np.ndarray
    """One entry per element of ``path``."""
    gradient: np.ndarray
    factors: np.ndarray
    """The normal matrix damped, then LᵀDL."""
    step: np.ndarray
    rotations: np.ndarray
    """(n_bodies, 4) the trial."""
    root: np.ndarray
    before: np.ndarray
    """(n_bodies, 4) the pose that ``FrameLimits.hold`` pulls to."""
    trust: np.ndarray
    """(n_markers,) weight of each marker where it is seen; all one until told otherwise."""


class FrameLimits(NamedTuple):
    """When to stop, and what counts as far."""

    evaluations: int
    """A bound of the time that a frame may take."""
    tolerance: float
    """Stop when no joint turns by more than this, radians, and the root moves less, metres."""
    gain: float
    """Stop when a step lowers the cost by less than this share: along a valley that markers hardly
    see, the next frame may go on."""
    scale: float
    """Of the Geman–McClure loss, metres."""
    hold: float
    """Pull of each joint to the pose before, square metres per square radian: time decides what
    markers hardly see."""


def make_work(tree: RigTree) -> Work:
    tips = np.zeros(tree.n_bodies, dtype=U)
    for body in range(tree.n_bodies):
        own = np.flatnonzero(tree.dof_body == body)
        tips[body] = own[-1] if len(own) else tips[tree.parents[body]]
    return Work(
        tips=tips,
        frames=np.vstack([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], np.zeros((tree.n_bodies, 12))]),
        points=np.zeros((tree.n_markers, 7)),
        screws=np.zeros((tree.n_dofs, 6)),
        moves=np.zeros((3, int(tree.dof_depth.max()) + 1)),
        normal=np.zeros(len(tree.path)),
        gradient=np.zeros(tree.n_dofs),
        factors=np.zeros(len(tree.path)),
        step=np.zeros(tree.n_dofs),
        rotations=np.zeros((tree.n_bodies, 4)),
        root=np.zeros(3),
        before=np.zeros((tree.n_bodies, 4)),
        trust=np.ones(tree.n_markers),
    )


@kernel(fastmath=FAST_MATH)
def fit_frame(model, work, observed, rotations, root, velocity, limits):
    """Fit one frame in place, by Levenberg–Marquardt.

    Parameters
    ----------
    observed : (n_markers, 3)
        NaN where not seen.
    rotations, root : (n_bodies, 4), (3,)
        The pose before; then the pose.
    velocity : (n_dofs,)
        How far each freedom is expected to move; then how far it moved.

    Returns
    -------
    int
        Evaluations that were needed; one more than ``limits`` allow where the fit is not done.
    (n_seen,)
        How far each marker that was seen is from its place in the pose, smallest first.
    """
    _copy(rotations, work.before)
    evaluations = _descend(model, work, observed, rotations, root, velocity, limits)
    return evaluations, _errors(model, work, observed, rotations, root, limits)


@kernel
def _copy(source, target):
    """Written out: ``target[:] = source`` takes numba three seconds to compile."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@kernel(fastmath=FAST_MATH)
def _descend(model, work, observed, rotations, root, velocity, limits):
    cost = _evaluate(model, work, observed, rotations, root, limits)
    work.step[:] = velocity
    velocity[:] = 0.0
    expected = _try_step(model, work, observed, rotations, root, limits)
    if expected < cost:
        cost = expected
        _accept(work, rotations, root, velocity)
    else:
        _evaluate(model, work, observed, rotations, root, limits)
    damping, fresh = FIRST_DAMPING, False
    for evaluation in range(1, limits.evaluations + 1):
        if not fresh:  # the pose evaluated last is the one to go on from
            _linearise(model, work, rotations, limits.hold)
            fresh = True
        _solve(model, work, damping)
        moved = np.max(np.abs(work.step))
        trial = _try_step(model, work, observed, rotations, root, limits)
        better = trial <= cost
        idle = better and cost - trial < limits.gain * cost
        damping = max(damping * (0.1 if better else 10.0), LEAST_DAMPING)
        if better:
            cost, fresh = trial, False
            _accept(work, rotations, root, velocity)
        if moved < limits.tolerance or idle or damping > MOST_DAMPING:
            return evaluation
    return limits.evaluations + 1


@kernel(fastmath=FAST_MATH)
def _errors(model, work, observed, rotations, root, limits):
    _evaluate(model, work, observed, rotations, root, limits)
    errors, n_seen = np.empty(len(observed)), 0
    for marker in range(U(len(observed))):
        if work.points[marker, 6] > 0.0:
            x, y, z = work.points[marker, 3], work.points[marker, 4], work.points[marker, 5]
            errors[n_seen] = np.sqrt(x * x + y * y + z * z)
            n_seen += 1
    return np.sort(errors[:n_seen])


@kernel(fastmath=FAST_MATH)
def _try_step(model, work, observed, rotations, root, limits):
    """The cost of the pose one step away, which is left in ``work``."""
    _copy(rotations, work.rotations)
    for i in range(3):
        work.root[i] = root[i] + work.step[i]
    for body in range(U(len(rotations))):
        for kind in (IN_PARENT, IN_BODY):
            a = b = c = 0.0
            for dof in range(model.first_dof[body], model.first_dof[body + U(1)]):
                if model.dof_kind[dof] == kind:
                    half = 0.5 * work.step[dof]
                    a += half * model.dof_axis[dof, 0]
                    b += half * model.dof_axis[dof, 1]
                    c += half * model.dof_axis[dof, 2]
            if a != 0.0 or b != 0.0 or c != 0.0:
                _turn(work.rotations, body, a, b, c, 1.0 if kind == IN_PARENT else -1.0)
    return _evaluate(model, work, observed, work.rotations, work.root, limits)


@kernel(fastmath=FAST_MATH)
def _turn(q, body, a, b, c, side):
    """Multiply by the rotation (1, a, b, c), made unit, from the left (1) or the right (−1)."""
    w, x, y, z = q[body, 0], q[body, 1], q[body, 2], q[body, 3]
    nw = w - a * x - b * y - c * z
    nx = x + a * w + side * (b * z - c * y)
    ny = y + b * w + side * (c * x - a * z)
    nz = z + c * w + side * (a * y - b * x)
    share = 1.0 / np.sqrt(nw * nw + nx * nx + ny * ny + nz * nz)
    q[body, 0], q[body, 1], q[body, 2], q[body, 3] = nw * share, nx * share, ny * share, nz * share


@kernel(fastmath=FAST_MATH)
def _accept(work, rotations, root, velocity):
    _copy(work.rotations, rotations)
    root[:] = work.root
    velocity += work.step


@kernel(fastmath=FAST_MATH)
def _evaluate(model, work, observed, rotations, root, limits):
    """Frames and markers of a pose, and its cost."""
    scale = limits.scale
    cost = _forward(model, work.frames, rotations, root)
    cost += _pull_back(work.before, rotations, limits.hold)
    for marker in range(U(len(observed))):
        point, f = work.points[marker], work.frames[model.marker_bodies[marker] + U(1)]
        x, y, z = model.places[marker, 0], model.places[marker, 1], model.places[marker, 2]
        square = 0.0
        for i in range(U(3)):
            r = U(3) * i
            point[i] = f[U(9) + i] + f[r] * x + f[r + U(1)] * y + f[r + U(2)] * z
            point[U(3) + i] = observed[marker, i] - point[i]
            square += point[U(3) + i] ** 2
        trust = work.trust[marker] if np.isfinite(observed[marker, 0]) else 0.0
        keep = scale * scale / (scale * scale + square) if trust > 0.0 else 0.0
        point[6] = trust * keep * keep
        cost += trust * keep * square if trust > 0.0 else 0.0
    return cost


@kernel(fastmath=FAST_MATH)
def _forward(model, frames, rotations, root):
    """World frames; returns what the joints' distance from rest costs."""
    cost = 0.0
    for body in range(U(len(rotations))):
        w, x, y, z = rotations[body]
        m00, m11, m22 = 1 - 2 * (y * y + z * z), 1 - 2 * (x * x + z * z), 1 - 2 * (x * x + y * y)
        m01, m10 = 2 * (x * y - w * z), 2 * (x * y + w * z)
        m02, m20 = 2 * (x * z + w * y), 2 * (x * z - w * y)
        m12, m21 = 2 * (y * z - w * x), 2 * (y * z + w * x)
        ox, oy, oz = model.offsets[body, 0], model.offsets[body, 1], model.offsets[body, 2]
        above, own = frames[model.parent_frame[body]], frames[body + U(1)]
        for i in range(U(3)):
            r = U(3) * i
            a, b, c = above[r], above[r + U(1)], above[r + U(2)]
            own[r] = a * m00 + b * m10 + c * m20
            own[r + U(1)] = a * m01 + b * m11 + c * m21
            own[r + U(2)] = a * m02 + b * m12 + c * m22
            own[U(9) + i] = above[U(9) + i] + a * ox + b * oy + c * oz if body > 0 else root[i]
        cost += 4.0 * model.rest_weights[body] * (x * x + y * y + z * z)
    return cost


@kernel(fastmath=FAST_MATH)
def _pull_back(before, rotations, hold):
    """What the distance of the joints from the pose before costs; a root goes where it will."""
    cost = 0.0
    for body in range(U(1), U(len(rotations))):
        cosine = 0.0
        for i in range(U(4)):
            cosine += before[body, i] * rotations[body, i]
        cost += 4.0 * hold * (1.0 - cosine * cosine)
    return cost


@kernel(fastmath=FAST_MATH)
def _turned(a, b, side):
    """Scalar and vector of the turn from a to b, in the parent's frame (1) or the body's (−1)."""
    s = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    x = a[0] * b[1] - a[1] * b[0] - side * (b[2] * a[3] - b[3] * a[2])
    y = a[0] * b[2] - a[2] * b[0] - side * (b[3] * a[1] - b[1] * a[3])
    z = a[0] * b[3] - a[3] * b[0] - side * (b[1] * a[2] - b[2] * a[1])
    return s, x, y, z


@kernel(fastmath=FAST_MATH)
def _linearise(model, work, rotations, hold):
    """Normal matrix and gradient of the pose evaluated last."""
    _place_screws(model, work)
    work.normal[:] = 0.0
    work.gradient[:] = 0.0
    for marker in range(U(len(model.marker_bodies))):
        if work.points[marker, 6] > 0.0:
            _add_marker(model, work, marker)
    for dof in range(U(3), U(len(model.dof_body))):
        body = model.dof_body[dof]
        weight, w = model.rest_weights[body], rotations[body, 0]
        for i in range(U(3)):
            axis = model.dof_axis[dof, i]
            work.gradient[dof] -= 2.0 * weight * w * rotations[body, U(1) + i] * axis
        if body > 0:
            side = -1.0 if model.dof_kind[dof] == IN_BODY else 1.0
            s, x, y, z = _turned(work.before[body], rotations[body], side)
            axis = model.dof_axis[dof]
            work.gradient[dof] -= 2.0 * hold * s * (x * axis[0] + y * axis[1] + z * axis[2])
            weight += hold
        work.normal[model.row_start[dof] + model.dof_depth[dof]] += weight


@kernel(fastmath=FAST_MATH)
def _place_screws(model, work):
    for dof in range(U(len(model.dof_body))):
        body, screw = model.dof_body[dof], work.screws[dof]
        carrier = body + U(1) if model.dof_kind[dof] == IN_BODY else model.parent_frame[body]
        f = work.frames[carrier]
        x, y, z = model.dof_axis[dof, 0], model.dof_axis[dof, 1], model.dof_axis[dof, 2]
        for i in range(U(3)):
            r = U(3) * i
            screw[i] = f[r] * x + f[r + U(1)] * y + f[r + U(2)] * z
            screw[U(3) + i] = work.frames[body + U(1), U(9) + i]


@kernel(fastmath=FAST_MATH)
def _add_marker(model, work, marker):
    point, tip = work.points[marker], work.tips[model.marker_bodies[marker]]
    start, n, weight = model.row_start[tip], model.dof_depth[tip] + U(1), point[6]
    mx, my, mz = work.moves[0], work.moves[1], work.moves[2]
    for k in range(n):
        dof = model.path[start + k]
        s = work.screws[dof]
        if model.dof_kind[dof] == TRANSLATION:
            mx[k], my[k], mz[k] = s[0], s[1], s[2]
        else:
            x, y, z = point[0] - s[3], point[1] - s[4], point[2] - s[5]
            mx[k], my[k], mz[k] = s[1] * z - s[2] * y, s[2] * x - s[0] * z, s[0] * y - s[1] * x
    for k in range(n):
        dof = model.path[start + k]
        x, y, z = weight * mx[k], weight * my[k], weight * mz[k]
        work.gradient[dof] += x * point[3] + y * point[4] + z * point[5]
        row = work.normal[model.row_start[dof] : model.row_start[dof] + k + U(1)]
        for j in range(U(len(row))):
            row[j] += x * mx[j] + y * my[j] + z * mz[j]


@kernel(fastmath=FAST_MATH)
def _solve(model, work, damping):
    """The damped step, by LᵀDL from the leaves to the root, which fills in nothing."""
    factors, step, n_dofs = work.factors, work.step, U(len(model.dof_body))
    factors[:] = work.normal
    step[:] = work.gradient
    for dof in range(n_dofs):
        diagonal = model.row_start[dof] + model.dof_depth[dof]
        factors[diagonal] += damping * factors[diagonal] + 1e-10
    for up in range(U(1), n_dofs + U(1)):
        dof = n_dofs - up
        start, depth = model.row_start[dof], model.dof_depth[dof]
        inverse = 1.0 / factors[start + depth]
        factors[start + depth] = inverse
        for climb in range(U(1), depth + U(1)):
            k = depth - climb
            above = model.path[start + k]
            share, target = factors[start + k] * inverse, model.row_start[above]
            for j in range(k + U(1)):
                factors[target + j] -= share * factors[start + j]
            step[above] -= share * step[dof]
            factors[start + k] = share
    for dof in range(n_dofs):
        start, depth = model.row_start[dof], model.dof_depth[dof]
        step[dof] *= factors[start + depth]
        for entry in range(start, start + depth):
            step[dof] -= factors[entry] * step[model.path[entry]]
