"""How well markers show each coordinate of a pose, and how it moves from frame to frame.

Frames of a clip stand 64 side by side. Places are seen from each frame's own root, which costs no
digits wherever the clip is.
"""

import numpy as np

from osteon.maths import FAST_MATH, cross, dot, inverse, kernel, multiply, rotate
from osteon.posing._kernels.lanes import LANES, L, forward
from osteon.posing._kernels.levenberg_marquardt import factor
from osteon.posing._kernels.normal_equations import (
    build_normal,
    gather_moments,
    place_markers,
    place_screws,
    pull_to_rest,
    total_cost,
)
from osteon.posing.rig import IN_BODY

U = np.uint64

N_SETTLING = 6
"""Frames until a filter that starts knowing nothing says something. Chosen."""


@kernel
def linearise_clip(model, lanes, observed, alone, rotations, root, normal, gradient, costs):
    """Normal matrix, gradient and cost of every frame, for unit noise.

    Parameters
    ----------
    observed, alone : (n_frames, n_markers, 3), (n_frames, n_bodies, 4)
        Markers, NaN where not seen, and rotations that joints are pulled to.
    rotations, root : (n_frames, n_bodies, 4), (n_frames, 3)
    normal, gradient, costs : (n_frames, n_entries), (n_frames, n_dofs), (n_frames,)
        The answers.
    """
    cost = np.zeros(LANES)
    for first in range(0, len(root), LANES):
        _linearise(model, lanes, observed, alone, rotations, root, first)
        total_cost(lanes, cost)
        _store(lanes.normal, normal, first)
        _store(lanes.step, gradient, first)
        _store(cost, costs.reshape(-1, 1), first)


@kernel
def coordinate_variances(model, lanes, observed, rotations, root, stiffness, variances):
    """Variance (n_frames, n_dofs) of every coordinate for unit noise, each frame for itself.

    ``stiffness`` is added to the diagonal; the others are as in ``linearise_clip``.
    """
    inverses, found = np.zeros(len(model.path) * LANES), np.zeros(len(model.dof_body) * LANES)
    for first in range(0, len(root), LANES):
        _linearise(model, lanes, observed, rotations, rotations, root, first)
        for dof in range(len(model.dof_body)):
            diagonal = (model.row_start[dof] + model.dof_depth[dof]) * L
            for n in range(L):
                lanes.normal[diagonal + n] += stiffness
        factor(model, lanes)
        _invert_diagonal(model, lanes, inverses, found)
        _store(found, variances, first)


@kernel
def joint_steps(dof_body, dof_kind, dof_axis, rotations, steps):
    """How far joints turn from each frame to the next, (n_frames − 1, n_dofs), radians."""
    for frame in range(len(steps)):
        known, turn = -1, (0.0, 0.0, 0.0)
        for dof in range(3, len(dof_body)):
            body = dof_body[dof]
            if body != known:
                before = inverse(_quadruple(rotations[frame, body]))
                turn = _log(multiply(_quadruple(rotations[frame + 1, body]), before))
                known = body
            steps[frame, dof] = dot(turn, _triple(dof_axis[dof]))
    for dof in range(3, len(dof_body)):
        if dof_kind[dof] == IN_BODY:  # with the one before it a universal joint, which has angles
            first, last = _triple(dof_axis[dof - 1]), _triple(dof_axis[dof])
            before = _universal(_quadruple(rotations[0, dof_body[dof]]), first, last)
            for frame in range(len(steps)):
                now = _universal(_quadruple(rotations[frame + 1, dof_body[dof]]), first, last)
                for k in range(2):
                    step = now[k] - before[k]
                    steps[frame, dof - 1 + k] = step - 2.0 * np.pi * np.rint(step / (2.0 * np.pi))
                before = now


@kernel
def _triple(v):
    return v[0], v[1], v[2]


@kernel
def _quadruple(q):
    return q[0], q[1], q[2], q[3]


@kernel
def _log(q):
    """Rotation vector, the shorter way round."""
    sign = -1.0 if q[0] < 0.0 else 1.0
    sine = np.sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    ratio = sign * (2.0 * np.arctan2(sine, sign * q[0]) / sine if sine > 0.0 else 2.0)
    return ratio * q[1], ratio * q[2], ratio * q[3]


@kernel
def _universal(q, first, last):
    """Both angles of a universal joint; see ``first_pose.universal_angles``."""
    along = dot(last, first)
    flat = (last[0] - along * first[0], last[1] - along * first[1], last[2] - along * first[2])
    carried = rotate(q, last)
    lead = np.arctan2(dot(carried, cross(first, flat)), dot(carried, flat))
    sine, cosine = np.sin(0.5 * lead), np.cos(0.5 * lead)
    before = (cosine, -sine * first[0], -sine * first[1], -sine * first[2])
    follow = multiply(before, q)
    return lead, 2.0 * np.arctan2(dot(_triple(follow[1:]), last), follow[0])


@kernel(fastmath=FAST_MATH)
def _linearise(model, lanes, observed, alone, rotations, root, first):
    """Normal matrix, gradient and cost of 64 frames; beyond the last it is repeated."""
    _load(lanes.rotations, rotations, first)
    _load(lanes.rest, alone, first)
    for lane in range(LANES):
        frame = min(first + lane, len(root) - 1)
        for marker in range(observed.shape[1]):
            seen = np.isfinite(observed[frame, marker, 0])
            for i in range(3):
                away = observed[frame, marker, i] - root[frame, i] if seen else 0.0
                lanes.observed[(4 * marker + i) * LANES + lane] = away
            lanes.observed[(4 * marker + 3) * LANES + lane] = 1.0 if seen else 0.0
    forward(model, lanes)
    place_markers(model, lanes)
    pull_to_rest(model, lanes)
    gather_moments(model, lanes)
    place_screws(model, lanes)
    build_normal(model, lanes)


@kernel
def _load(lanes, poses, first):
    """Put poses (n_frames, n_bodies, 4) into lanes."""
    for lane in range(LANES):
        frame = min(first + lane, len(poses) - 1)
        for body in range(poses.shape[1]):
            for i in range(4):
                lanes[(4 * body + i) * LANES + lane] = poses[frame, body, i]


@kernel
def _store(lanes, rows, first):
    """Put quantities of lanes into the rows (n_frames, n_quantities) of their frames."""
    for lane in range(min(LANES, len(rows) - first)):
        for k in range(rows.shape[1]):
            rows[first + lane, k] = lanes[k * LANES + lane]


@kernel(fastmath=FAST_MATH)
def _invert_diagonal(model, lanes, inverse, variances):
    """Diagonal (n_dofs · LANES) of the inverse of the normal matrix that ``factor`` has factored.

    With H = LᵀDL and Z = H⁻¹, LZ = D⁻¹L⁻ᵀ, which is zero below its diagonal: so rows of Z follow
    from those nearer to the root, and along the paths no other entry is needed.
    """
    normal = lanes.normal
    for dof in range(U(len(model.dof_body))):
        start, depth = model.row_start[dof], model.dof_depth[dof]
        for j in range(depth):
            out = (start + j) * L
            for n in range(L):
                inverse[out + n] = 0.0
            for k in range(depth):
                later, earlier = max(j, k), min(j, k)
                known = (model.row_start[model.path[start + later]] + earlier) * L
                row = (start + k) * L
                for n in range(L):
                    inverse[out + n] -= normal[row + n] * inverse[known + n]
        own, diagonal = dof * L, (start + depth) * L
        for n in range(L):
            variances[own + n] = normal[diagonal + n]
        for k in range(depth):
            row = (start + k) * L
            for n in range(L):
                variances[own + n] -= normal[row + n] * inverse[row + n]
        for n in range(L):
            inverse[diagonal + n] = variances[own + n]


@kernel
def likeliest_noise(track, variance, grid, window, likelihood, scratch, best):
    """Of each frame (n_frames,) the process noise of the grid under which its surroundings are
    likeliest; see ``process_noise``.

    Candidates are the innermost axis of the working memory (n_frames, n_candidates): side by side
    they are vector instructions.
    """
    _filter(track, variance, grid**2, likelihood)
    for _ in range(3):  # three boxes after one another are nearly a bell
        _average(likelihood, window, scratch)
        likelihood[:] = scratch
    for frame in range(len(track)):
        best[frame] = grid[np.argmax(likelihood[frame])]


@kernel(fastmath=FAST_MATH)
def _average(values, window, mean):
    """Mean over an odd number of frames around each; the last values stand beyond the ends."""
    last, reach, share = len(values) - 1, window // 2, 1.0 / window
    total = np.zeros(values.shape[1])
    for around in range(-reach, reach + 1):
        total += values[min(max(around, 0), last)]
    for frame in range(last + 1):
        entering, leaving = min(frame + reach + 1, last), max(frame - reach, 0)
        for k in range(len(total)):
            mean[frame, k] = share * total[k]
            total[k] += values[entering, k] - values[leaving, k]


@kernel(fastmath=FAST_MATH)
def _filter(track, variance, process, likelihood):
    """Log-likelihood of each sample given those before it: x₊ = 3x − 3x₋ + x₋₋ + noise.

    States are rows of one array: x, x₋, x₋₋, their covariances xx, yy, zz, xy, xz, yz, and what is
    left of the sample, squared and over its variance, and that variance.
    """
    state = np.zeros((11, len(process)))
    state[:3], state[3:6] = track[0], 1.0
    for frame in range(len(track)):
        if frame > 0:
            _predict(state, process)
        seen = np.isfinite(variance[frame])
        if seen:
            _correct(state, track[frame], variance[frame])
        if seen and frame >= N_SETTLING:
            for k in range(len(process)):
                likelihood[frame, k] = -0.5 * (state[9, k] + np.log(state[10, k]))
        else:
            likelihood[frame] = 0.0


@kernel(fastmath=FAST_MATH)
def _predict(state, process):
    for k in range(len(process)):
        x, y, z = state[0, k], state[1, k], state[2, k]
        pxx, pyy, pzz = state[3, k], state[4, k], state[5, k]
        pxy, pxz, pyz = state[6, k], state[7, k], state[8, k]
        to_x = 3.0 * pxx - 3.0 * pxy + pxz
        to_y = 3.0 * pxy - 3.0 * pyy + pyz
        to_z = 3.0 * pxz - 3.0 * pyz + pzz
        state[0, k], state[1, k], state[2, k] = 3.0 * x - 3.0 * y + z, x, y
        state[3, k] = 3.0 * to_x - 3.0 * to_y + to_z + process[k]
        state[4, k], state[5, k] = pxx, pyy
        state[6, k], state[7, k], state[8, k] = to_x, to_y, pxy


@kernel(fastmath=FAST_MATH)
def _correct(state, sample, variance):
    for k in range(state.shape[1]):
        pxx, pxy, pxz = state[3, k], state[6, k], state[7, k]
        total, miss = pxx + variance, sample - state[0, k]
        share = 1.0 / total
        gx, gy, gz = pxx * share, pxy * share, pxz * share
        state[0, k] += gx * miss
        state[1, k] += gy * miss
        state[2, k] += gz * miss
        state[4, k] -= gy * pxy
        state[5, k] -= gz * pxz
        state[8, k] -= gy * pxz
        state[3, k], state[6, k], state[7, k] = pxx - gx * pxx, pxy - gx * pxy, pxz - gx * pxz
        state[9, k], state[10, k] = miss * miss * share, total
