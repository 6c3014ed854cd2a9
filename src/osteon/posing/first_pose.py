"""A first pose for each frame from its own markers, without help from its neighbours.

From the root outwards every body is turned, in closed form, so that its markers lie best (Wahba's
problem) while its joint stays where the parent puts it. Markers further out take part as if their
joints were at rest, with little weight; the rest pose itself takes part with very little. So one
formula serves bodies with three markers, two, one (the shortest turn from rest) and none.
"""

import numpy as np

from osteon.maths import (
    between,
    chain,
    cross,
    dot,
    exp,
    inverse,
    kernel,
    multiply,
    quat,
    read_only,
    rotate,
)
from osteon.posing.rig import IN_BODY, TRANSLATION, Rig, RigTree
from osteon.typing import Array, Indices, Mask

OUTWARD_WEIGHT = 1e-4
"""Ratio: weight of a marker one joint further out. Chosen: a body's own markers decide where there
are any."""
REST_SHARE = 1e-6
"""Ratio: weight of the rest pose beside all markers of the body together. Chosen: decides only what
they leave open."""


def has_evidence(observed: Array, weights: Array) -> Mask:
    """Return (n_frames,) whether a frame shows three markers that are not all in a line."""
    seen = np.isfinite(observed[..., 0]) & (weights > 0.0)
    count = seen.sum(axis=-1)
    enough = count >= 3
    few = np.flatnonzero(enough & (count < 8))  # with more, a line is not to be feared
    if len(few):
        points = np.where(seen[few, :, None], observed[few], 0.0)
        points -= (points.sum(axis=1) / count[few, None])[:, None]
        points *= seen[few, :, None]
        spread = np.linalg.eigvalsh(np.einsum("fmi,fmj->fij", points, points))
        enough[few] = spread[:, 1] > 1e-4 * spread[:, 2]
    return enough


def start_frames(rig: Rig, observed: Array, *, weights: Array, rest: Array) -> tuple[Array, Array]:
    """Rotations (n_frames, n_bodies, 4) and root places (n_frames, 3) to start a fit from.

    Parameters
    ----------
    observed : (n_frames, n_markers, 3)
    weights : (n_frames or 1, n_markers)
    rest : (n_frames or 1, n_bodies, 4)
    """
    tree, n_frames = rig.tree, len(observed)
    seen = np.isfinite(observed[..., 0])
    trust = np.where(seen, weights, 0.0)
    observed = np.where(seen[..., None], observed, 0.0)
    rest = np.broadcast_to(rest, (n_frames, tree.n_bodies, 4))
    distance = _joints_between(tree)
    offsets = np.broadcast_to(rig.offsets, (n_frames, tree.n_bodies, 3))
    standing, joints = chain.forward_kinematics(rest, offsets, tree.parents.tolist())
    markers = chain.place_points(standing, joints, tree.marker_bodies.tolist(), rig.places)
    local = np.array(rest)
    turned, places = np.empty((n_frames, tree.n_bodies, 4)), np.empty((n_frames, tree.n_bodies, 3))
    for body, parent in enumerate(tree.parents):
        reach = np.where(distance[body] >= 0, OUTWARD_WEIGHT ** distance[body].clip(0), 0.0) * trust
        # as the body sees them from its joint, while all joints below are at rest
        at_rest = quat.rotate(
            quat.inverse(standing[:, body, None]), markers - joints[:, body, None]
        )
        if parent < 0:
            turned[:, 0], places[:, 0] = _fit_root(at_rest, observed, reach)
            local[:, 0] = turned[:, 0]
            continue
        above = turned[:, parent]
        places[:, body] = places[:, parent] + quat.rotate(above, rig.offsets[body])
        arms = quat.rotate(quat.inverse(above)[:, None], observed - places[:, body, None])
        local[:, body] = _best_turn(tree, body, _match(at_rest, arms, reach, rest[:, body]))
        turned[:, body] = quat.multiply(above, local[:, body])
    return local, places[:, 0]


def on_joints(tree: RigTree, rotations: Array) -> Array:
    """Local rotations (..., n_bodies, 4) with what their joints do not allow taken out."""
    allowed = np.array(rotations, dtype=np.float64, order="C")
    _take_out(
        *map(read_only, (tree.first_dof, tree.dof_kind, tree.dof_axis, tree.rest)),
        allowed.reshape(-1, tree.n_bodies, 4),
    )
    return allowed


@kernel
def _take_out(first_dof, dof_kind, dof_axis, rest, rotations):
    """Take out of rotations (n, n_bodies, 4) what their joints do not allow, in place."""
    for body in range(len(rest)):
        first, last = first_dof[body], first_dof[body + 1] - 1
        r = (rest[body, 0], rest[body, 1], rest[body, 2], rest[body, 3])
        while first <= last and dof_kind[first] == TRANSLATION:
            first += 1
        if last - first == 2:
            continue
        for frame in range(len(rotations)):
            q = rotations[frame, body]
            turn = multiply((q[0], q[1], q[2], q[3]), inverse(r))
            if last < first:
                turn = (1.0, 0.0, 0.0, 0.0)
            elif dof_kind[last] != IN_BODY:
                turn = _twist(turn, dof_axis[first])
            else:
                axis = rotate(r, (dof_axis[last, 0], dof_axis[last, 1], dof_axis[last, 2]))
                lead = _lead(turn, dof_axis[first], axis)
                turn = multiply(lead, _twist(between(lead, turn), axis))
            turn = multiply(turn, r)
            for i in range(4):
                q[i] = turn[i]


@kernel
def _twist(q, axis):
    """The part of a rotation that turns about an axis; none where every part would serve."""
    along = q[1] * axis[0] + q[2] * axis[1] + q[3] * axis[2]
    size = np.sqrt(q[0] * q[0] + along * along)
    share = 1.0 / size if size > 0.0 else 0.0
    w = share * q[0] if size > 0.0 else 1.0
    return w, share * along * axis[0], share * along * axis[1], share * along * axis[2]


@kernel
def _lead(q, first, last):
    """The first turn of a universal joint: it alone moves the second axis."""
    along = dot(last, first)
    flat = (last[0] - along * first[0], last[1] - along * first[1], last[2] - along * first[2])
    carried = rotate(q, last)
    angle = np.arctan2(dot(carried, cross(first, flat)), dot(carried, flat))
    return exp((angle * first[0], angle * first[1], angle * first[2]))


def universal_angles(q: Array, first: Array, last: Array) -> Array:
    """Return (..., 2) angles of rotations that a universal joint allows, radians."""
    flat = last - (last @ first) * first
    carried = quat.rotate(q, last)
    angle = np.arctan2(carried @ np.cross(first, flat), carried @ flat)
    follow = quat.between(quat.from_axis_angle(first, angle), q)
    return np.stack([angle, 2.0 * np.arctan2(follow[..., 1:] @ last, follow[..., 0])], axis=-1)


def _joints_between(tree: RigTree) -> Indices:
    """Return (n_bodies, n_markers) joints from a body out to a marker; −1 where it is not further
    out."""
    distance = np.full((tree.n_bodies, tree.n_markers), -1)
    for marker, carrier in enumerate(tree.marker_bodies):
        body, steps = carrier, 0
        while body >= 0:
            distance[body, marker] = steps
            body, steps = tree.parents[body], steps + 1
    return distance


def _fit_root(at_rest: Array, observed: Array, reach: Array) -> tuple[Array, Array]:
    total = np.maximum(reach.sum(axis=1), 1e-300)[:, None]
    middle = np.einsum("fm,fmi->fi", reach, at_rest) / total
    target = np.einsum("fm,fmi->fi", reach, observed) / total
    arms, targets = at_rest - middle[:, None], observed - target[:, None]
    match = _match(arms, targets, reach, quat.identity((len(reach),)))
    q = quat.from_matrix(quat.nearest_matrix(match))
    return q, target - quat.rotate(q, middle)


def _match(arms: Array, targets: Array, weights: Array, expected: Array) -> Array:
    """Return (n_frames, 3, 3) matrix M: the best rotation R of ``arms`` onto ``targets`` maximises
    tr(RᵀM). Where markers leave it free it stays as ``expected``."""
    match = np.einsum("fm,fmi,fmj->fij", weights, targets, arms)
    size = np.einsum("fm,fmi,fmi->f", weights, arms, arms) + 1e-12
    return match + (REST_SHARE * size)[:, None, None] * quat.to_matrix(expected)


def _best_turn(tree: RigTree, body: int, match: Array) -> Array:
    """Return the rotation (n_frames, 4) within a joint's freedom that maximises tr(Rᵀ match)."""
    dofs = [d for d in np.flatnonzero(tree.dof_body == body) if d >= 3]
    rest = tree.rest[body]
    match = match @ quat.to_matrix(quat.inverse(rest))
    if not dofs:
        return np.broadcast_to(rest, (len(match), 4))
    if len(dofs) == 3:
        return quat.multiply(quat.from_matrix(quat.nearest_matrix(match)), rest)
    first, last = tree.dof_axis[dofs[0]], quat.rotate(rest, tree.dof_axis[dofs[-1]])
    if len(dofs) == 1:
        return quat.multiply(_best_turn_about(first, match), rest)
    q = quat.from_matrix(quat.nearest_matrix(match))
    lead, follow = q, quat.from_axis_angle(last, universal_angles(q, first, last)[..., 1])
    for _ in range(8):  # one angle at a time; each is closed form
        lead = _best_turn_about(first, match @ quat.to_matrix(quat.inverse(follow)))
        follow = _best_turn_about(last, quat.to_matrix(quat.inverse(lead)) @ match)
    return quat.multiply(quat.multiply(lead, follow), rest)


def _best_turn_about(axis: Array, match: Array) -> Array:
    x, y, z = axis
    sine = (
        x * (match[:, 2, 1] - match[:, 1, 2])
        + y * (match[:, 0, 2] - match[:, 2, 0])
        + z * (match[:, 1, 0] - match[:, 0, 1])
    )
    cosine = np.trace(match, axis1=1, axis2=2) - np.einsum("i,fij,j->f", axis, match, axis)
    return quat.from_axis_angle(axis, np.arctan2(sine, cosine))
