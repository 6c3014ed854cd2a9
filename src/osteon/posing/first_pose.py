"""A first pose for each frame from its own markers, without help from its neighbours.

From the root outwards every body is turned, in closed form, so that its markers lie best (Wahba's
problem) while its joint stays where the parent puts it. Markers further out take part as if their
joints were at rest, with little weight; the rest pose itself takes part with very little. So one
formula serves bodies with three markers, two, one (the shortest turn from rest) and none.
"""

import numpy as np

from osteon.maths import chain, quat
from osteon.posing.rig import IN_BODY, Rig, RigTree
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
    rotations = np.array(rotations, dtype=np.float64)
    for body, rest in enumerate(tree.rest):
        turn = _on_axes(tree, body, quat.multiply(rotations[..., body, :], quat.inverse(rest)))
        rotations[..., body, :] = quat.multiply(turn, rest)
    return rotations


def _on_axes(tree: RigTree, body: int, q: Array) -> Array:
    """Return the part of turns from the joint's rest (..., 4) that its axes allow."""
    dofs = [d for d in np.flatnonzero(tree.dof_body == body) if d >= 3]
    if len(dofs) == 3:
        return q
    if not dofs:
        return quat.identity(q.shape[:-1])
    first, last = tree.dof_axis[dofs[0]], quat.rotate(tree.rest[body], tree.dof_axis[dofs[-1]])
    if tree.dof_kind[dofs[-1]] != IN_BODY:
        return _twist(q, first)
    lead = _twist_before(q, first, last)
    return quat.multiply(lead, _twist(quat.between(lead, q), last))


def universal_angles(q: Array, first: Array, last: Array) -> Array:
    """Return (..., 2) angles of rotations that a universal joint allows, radians."""
    lead = _twist_before(q, first, last)
    follow = quat.between(lead, q)
    halves = [(lead[..., 1:] @ first, lead[..., 0]), (follow[..., 1:] @ last, follow[..., 0])]
    return np.stack([2.0 * np.arctan2(sine, cosine) for sine, cosine in halves], axis=-1)


def _twist_before(q: Array, first: Array, last: Array) -> Array:
    """Return the first turn of a universal joint: it alone moves the second axis."""
    flat = last - (last @ first) * first
    carried = quat.rotate(q, last)
    angle = np.arctan2(carried @ np.cross(first, flat), carried @ flat)
    return quat.from_axis_angle(first, angle)


def _twist(q: Array, axis: Array) -> Array:
    """Return the part of a rotation that turns about ``axis``."""
    along = q[..., 1:] @ axis
    angle = 2.0 * np.arctan2(along, q[..., 0])
    return quat.from_axis_angle(axis, angle)


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
    q = _on_axes(tree, body, quat.from_matrix(quat.nearest_matrix(match)))
    if not dofs or len(dofs) == 3:
        return quat.multiply(q, rest)
    first, last = tree.dof_axis[dofs[0]], quat.rotate(rest, tree.dof_axis[dofs[-1]])
    if len(dofs) == 1:
        return quat.multiply(_best_turn_about(first, match), rest)
    lead = _twist_before(q, first, last)
    follow = quat.between(lead, q)
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
