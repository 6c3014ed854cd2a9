"""All frames of a clip in given poses: their normal matrices, 64 side by side, and what follows.

Places are seen from each frame's own root, which costs no digits wherever the clip is.
"""

import numpy as np

from osteon.maths import FAST_MATH, cross, dot, inverse, kernel, multiply, rotate
from osteon.posing._kernels.coordinate_noise import invert_diagonal
from osteon.posing._kernels.normal_equations import (
    LANES,
    L,
    build_normal,
    forward,
    gather_moments,
    place_markers,
    place_screws,
    pull_to_rest,
    total_cost,
)
from osteon.posing._kernels.tree_factor import factor
from osteon.posing.rig import IN_BODY


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
    inverse, found = np.zeros(len(model.path) * LANES), np.zeros(len(model.dof_body) * LANES)
    for first in range(0, len(root), LANES):
        _linearise(model, lanes, observed, rotations, rotations, root, first)
        for dof in range(len(model.dof_body)):
            diagonal = (model.row_start[dof] + model.dof_depth[dof]) * L
            for n in range(L):
                lanes.normal[diagonal + n] += stiffness
        factor(model, lanes)
        invert_diagonal(model, lanes, inverse, found)
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
