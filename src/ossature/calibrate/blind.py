"""A first guess without labels or template: who hangs on whom, from motion alone.

Groups of markers that move together are the bodies. A tree grows from the largest of them: of all
bodies not yet on it, the one that turns most cleanly about a point of a body already there comes
next. The point found counts as a marker of the new body, so two markers are enough to go on from
(METHODS §3). What motion does not settle is said, not hidden: see ``Guess.doubts``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ossature.bodies.segment import segment
from ossature.calibrate.beliefs import BeliefRows
from ossature.calibrate.guess import Guess
from ossature.calibrate.pivot import Pivot, find_pivot
from ossature.calibrate.rig import Rig
from ossature.errors import NotEnoughData
from ossature.maths import quat
from ossature.maths.procrustes import generalised_procrustes
from ossature.maths.quat import Array
from ossature.maths.rigid import FULL
from ossature.values import Recording

FRAMES = 300
"""Frames looked at, spread evenly over the take."""
NEARNESS = 0.02
"""Metres of misfit that one metre between a joint and its bodies' markers counts as."""
DOUBTFUL = 0.015
"""Metres of misfit above which a joint is named as doubtful."""
UNTOLD = 0.05
"""Metres of standard deviation above which motion leaves a joint's place open."""
PLACE_SIGMA = 0.05
JOINT_SIGMA = 0.10


@dataclass(frozen=True)
class _Group:
    """A body while the tree grows."""

    markers: np.ndarray
    """(n,) columns."""
    poses: tuple[Array, Array] | None
    """(n_frames, 4) and (n_frames, 3), NaN where not fixed; None while nothing fixes a frame."""


@dataclass(frozen=True)
class _Edge:
    """A body on the tree, the body it hangs on, and the pivot in the latter's frame."""

    on: int
    body: int
    pivot: Pivot


def guess_from_motion(recording: Recording) -> Guess:
    """Bodies, tree and joints of anything that moves."""
    groups = segment(recording)
    used = [name for group in groups for name in group]
    recording = recording.select(used)
    rows = np.unique(np.linspace(0, recording.n_frames - 1, FRAMES).astype(int))
    observed = np.where(recording.measured[..., None], recording.positions, np.nan)[rows]
    bodies = [_group(observed, np.array([used.index(n) for n in names])) for names in groups]
    if len(bodies) < 2:
        raise NotEnoughData(
            f"all {len(used)} markers move as one body; there is no joint to be found"
        )
    if not any(body.poses is not None for body in bodies):
        raise NotEnoughData("no three markers move as one body, so nothing has a frame of its own")
    edges = _grow(observed, bodies)
    return _guess(used, observed, bodies, edges)


def _group(observed: Array, markers: np.ndarray) -> _Group:
    if len(markers) < 3:
        return _Group(markers, None)
    fit = generalised_procrustes(observed[:, markers]).fit
    fixed = (fit.status == FULL).sum() > 0.2 * len(observed)
    return _Group(markers, (fit.rotations, fit.positions) if fixed else None)


def _grow(observed: Array, bodies: list[_Group]) -> list[_Edge]:
    """Edges of the tree in the order they were found; ``bodies`` gain frames on the way."""
    framed = [i for i, body in enumerate(bodies) if body.poses is not None]
    attached = [max(framed, key=lambda i: len(bodies[i].markers))]
    waiting = [i for i in range(len(bodies)) if i not in attached]
    found: dict[tuple[int, int], Pivot | None] = {}
    edges: list[_Edge] = []
    while waiting:
        options = []
        for on in attached:
            for body in waiting:
                if (on, body) not in found:
                    found[on, body] = _pivot(observed, bodies[on], bodies[body])
                pivot = found[on, body]
                if pivot is not None:
                    options.append((pivot.misfit + NEARNESS * pivot.reach, on, body, pivot))
        if not options:
            break  # what is left is never seen together with what is attached
        _, on, body, pivot = min(options, key=lambda option: option[:3])
        edges.append(_Edge(on, body, pivot))
        if bodies[body].poses is None:
            bodies[body] = _framed_by_joint(observed, bodies[on], bodies[body], pivot)
        attached.append(body)
        waiting.remove(body)
    return edges


def _pivot(observed: Array, on: _Group, body: _Group) -> Pivot | None:
    """The point of ``on`` that all markers of ``body`` keep their distance to."""
    if on.poses is None:
        return None
    own = _in_frame(on.poses, observed[:, on.markers])
    other = _in_frame(on.poses, observed[:, body.markers])
    return find_pivot(own, other)


def _in_frame(poses: tuple[Array, Array], points: Array) -> Array:
    rotations, positions = poses
    return quat.rotate(quat.inverse(rotations)[:, None], points - positions[:, None])


def _framed_by_joint(observed: Array, on: _Group, body: _Group, pivot: Pivot) -> _Group:
    """A body of two markers and a joint has three points: enough for a frame."""
    if on.poses is None or len(body.markers) < 2:
        return body
    joint = on.poses[1] + quat.rotate(on.poses[0], pivot.point)
    points = np.concatenate([observed[:, body.markers], joint[:, None]], axis=1)
    try:
        fit = generalised_procrustes(points).fit
    except NotEnoughData:
        return body
    fixed = (fit.status == FULL).sum() > 0.2 * len(observed)
    return _Group(body.markers, (fit.rotations, fit.positions)) if fixed else body


def _guess(
    names: Sequence[str], observed: Array, bodies: list[_Group], edges: list[_Edge]
) -> Guess:
    """Everything as it stands in one frame of the take, which becomes the rest pose."""
    reference = _reference_frame(observed, bodies)
    joints = {edge.body: _joint_in_world(bodies[edge.on], edge, reference) for edge in edges}
    order, parents, hinges = _rooted(bodies, edges)
    label = {body: f"body_{place + 1:02d}" for place, body in enumerate(order)}
    at = [np.zeros(3)] + [joints[hinge] for hinge in hinges[1:]]
    points = _all_markers(observed, bodies, reference)
    root = order[0]
    at[0] = np.nanmean(points[bodies[root].markers], axis=0)
    offsets = np.array([at[i] - at[p] if p >= 0 else np.zeros(3) for i, p in enumerate(parents)])
    carriers: list[int] = []
    kept: list[int] = []
    for place, body in enumerate(order):
        for marker in bodies[body].markers:
            if np.isfinite(points[marker, 0]):
                carriers.append(place)
                kept.append(int(marker))
    places = np.array([points[m] - at[c] for m, c in zip(kept, carriers, strict=True)])
    rig = Rig(
        tuple(label[body] for body in order),
        tuple(parents),
        offsets,
        tuple(names[m] for m in kept),
        np.array(carriers, dtype=int),
        places,
    )
    return Guess(
        rig, _beliefs(rig), np.zeros_like(offsets), _tips(rig), _doubts(bodies, edges, label)
    )


def _beliefs(rig: Rig):
    rows = BeliefRows(rig)
    for marker in range(rig.n_markers):
        rows.marker_at(marker, rig.places[marker], PLACE_SIGMA)
    for body in range(1, rig.n_bodies):
        rows.joint_at(body, rig.offsets[body], JOINT_SIGMA)
    return rows.beliefs()


def _tips(rig: Rig) -> dict[str, Array]:
    """Leaves end at the marker farthest from their joint."""
    tips = {}
    for body in set(range(rig.n_bodies)) - set(rig.parents):
        own = rig.places[rig.marker_bodies == body]
        if len(own):
            tips[rig.names[body]] = own[np.argmax(np.linalg.norm(own, axis=-1))]
    return tips


def _doubts(bodies: list[_Group], edges: list[_Edge], label: dict[int, str]) -> tuple[str, ...]:
    doubts = []
    for edge in edges:
        pair = f"{label[edge.on]} and {label[edge.body]}"
        if edge.pivot.misfit > DOUBTFUL:
            doubts.append(
                f"the joint between {pair} is doubtful: no common point is steadier than "
                f"{1e3 * edge.pivot.misfit:.0f} mm"
            )
        elif edge.pivot.sigma > UNTOLD:
            doubts.append(
                f"{pair} hardly turn against each other: where their joint lies, and whether "
                "they have one, is a guess"
            )
    lost = len(bodies) - len(label)
    if lost:
        doubts.append(f"{lost} groups of markers are never seen with the others and were left out")
    return tuple(doubts)


def _reference_frame(observed: Array, bodies: list[_Group]) -> int:
    """The frame that shows most bodies and markers."""
    count = np.isfinite(observed[..., 0]).sum(axis=1).astype(float)
    for body in bodies:
        if body.poses is not None:
            count += 10.0 * np.isfinite(body.poses[1][:, 0])
    return int(np.argmax(count))


def _joint_in_world(on: _Group, edge: _Edge, frame: int) -> Array:
    assert on.poses is not None
    rotations, positions = on.poses
    fixed = np.flatnonzero(np.isfinite(positions[:, 0]))
    nearest = fixed[np.argmin(np.abs(fixed - frame))]
    return positions[nearest] + quat.rotate(rotations[nearest], edge.pivot.point)


def _all_markers(observed: Array, bodies: list[_Group], frame: int) -> Array:
    """(n_markers, 3) in one frame; those not seen there are put where their body says."""
    points = observed[frame].copy()
    for body in bodies:
        if body.poses is None or not np.isfinite(body.poses[1][frame, 0]):
            continue
        local = _in_frame(body.poses, observed[:, body.markers])
        for column, marker in enumerate(body.markers):
            seen = np.isfinite(local[:, column, 0])
            if not np.isfinite(points[marker, 0]) and seen.any():
                middle = np.median(local[seen, column], axis=0)
                rotation, position = body.poses[0][frame], body.poses[1][frame]
                points[marker] = position + quat.rotate(rotation, middle)
    return points


def _rooted(bodies: list[_Group], edges: list[_Edge]) -> tuple[list[int], list[int], list[int]]:
    """Tree order from the most central body that three markers show.

    Returns bodies, index of each one's parent in that order, and for each the body whose edge it
    hangs by (the joint of an edge is filed under the body that was attached by it).
    """
    on_tree = sorted({edge.on for edge in edges} | {edge.body for edge in edges})
    near: dict[int, list[tuple[int, int]]] = {body: [] for body in on_tree}
    for edge in edges:
        near[edge.on].append((edge.body, edge.body))
        near[edge.body].append((edge.on, edge.body))
    candidates = [body for body in on_tree if len(bodies[body].markers) >= 3]
    root = min(candidates, key=lambda b: (_depth(near, b), -len(near[b]), -len(bodies[b].markers)))
    order, parents, hinges = [root], [-1], [-1]
    place = 0
    while place < len(order):
        for body, hinge in near[order[place]]:
            if body not in order:
                order.append(body)
                parents.append(place)
                hinges.append(hinge)
        place += 1
    return order, parents, hinges


def _depth(near: dict[int, list[tuple[int, int]]], root: int) -> int:
    """How many joints lie between a body and the one farthest from it."""
    depth, layer, seen = -1, {root}, {root}
    while layer:
        depth += 1
        layer = {body for inner in layer for body, _ in near[inner]} - seen
        seen |= layer
    return depth
