"""A first guess without labels or template: who hangs on whom, from motion alone.

Groups of markers that move together are the bodies, and ``tree_from_markers`` finds the tree. A
body that shares a joint with nothing, as a chair, is left out. What motion does not settle is said,
not hidden: see ``Guess.doubts``.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.articulation import segment, tell_one_body
from osteon.calibration.frame_choice import STANDING_TURN
from osteon.calibration.guess import Guess
from osteon.calibration.priors import BeliefRows
from osteon.calibration.scatter import Usual
from osteon.calibration.subject_model import SubjectModel
from osteon.calibration.tree_from_markers import (
    Edge,
    Group,
    alone,
    group,
    grow,
    in_frame,
    shares_no_joint,
    with_missing_links,
)
from osteon.cleaning import without_displaced
from osteon.errors import NotEnoughData
from osteon.maths import quat
from osteon.typing import Array, Share, unheard
from osteon.values import Recording

TREE_FRAMES = 300
"""Frames looked at, spread evenly over the take: chosen, for the tree costs pairs of bodies."""
DOUBTFUL_MISFIT = 0.015
"""Metres of misfit above which a joint is named as doubtful: chosen, beyond the skin of most."""
UNTOLD_DEVIATION = 0.05
"""Metres of standard deviation above which motion leaves a joint's place open: chosen, a bone's
width."""
PLACE_SIGMA, JOINT_SIGMA = 0.05, 0.10
"""Metres. How far markers and joints may be from where motion first put them: chosen, wider than
that errs."""
ANY_SKIN_SIGMA, ANY_GLIDE_SIGMA = 0.003, 0.0003
"""Metres per axis. Skin and joints of a body of which nothing is known: chosen, a shank's and a
ball joint's."""
TRACK_SHARE = 0.5
"""Share of the take that a track must span to be a marker's; and of the markers seen at once that
must have such tracks for the take to be worth solving. Chosen."""


def guess_from_motion(recording: Recording, progress: Share = unheard) -> Guess:
    """Bodies, tree and joints of anything that moves."""
    in_pieces = _pieces(recording)
    groups = segment(recording)
    used = [name for group in groups for name in group]
    recording = without_displaced(recording.select(used), groups)
    rows = np.unique(np.linspace(0, recording.n_frames - 1, TREE_FRAMES).astype(int))
    observed = np.where(recording.measured[..., None], recording.positions, np.nan)[rows]
    bodies = [group(observed, np.array([used.index(n) for n in names])) for names in groups]
    if len(bodies) < 2:
        raise NotEnoughData(tell_one_body(recording))
    if not any(body.poses is not None for body in bodies):
        raise NotEnoughData(
            "no three markers move as one body, so nothing has a frame of its own; points that "
            "are joint centres go, with what hangs on what, to osteon fit FILE --tree TREE"
        )
    bodies, edges, props = _without_props(bodies, progress)
    guess = _guess(used, observed, bodies, edges)
    if props:
        told = ", ".join(used[marker] for body in props for marker in body.markers)
        in_pieces += (
            f"left out, for sharing no joint with the others: {told}; a prop, or a stray marker?",
        )
    return replace(guess, doubts=(*in_pieces, *guess.doubts))


def _pieces(recording: Recording) -> tuple[str, ...]:
    """A word where some tracks are but pieces; refuses a take of which most is in pieces.

    A marker that hides comes back under its name; a track that ends for good was cut off.
    """
    seen = recording.measured[:, recording.measured.any(axis=0)]
    lives = len(seen) - np.argmax(seen, axis=0) - np.argmax(seen[::-1], axis=0)
    n_short = int((lives < TRACK_SHARE * len(seen)).sum())
    at_once = int(np.median(seen.sum(axis=1)))
    if len(lives) - n_short < TRACK_SHARE * at_once:
        seconds = float(np.median(lives)) / recording.rate
        raise NotEnoughData(
            f"there are {len(lives)} tracks, {at_once} at a time, most of about {seconds:.1f} s: "
            "pieces of markers' tracks, too short to tell what moves together; join and label them "
            "(osteon label), then solve the result"
        )
    if not n_short:
        return ()
    told = f"{n_short} of {len(lives)} tracks last for less than half of the take"
    return (f"{told}: pieces of others? joined to them they would say more",)


def _without_props(
    bodies: list[Group], progress: Share
) -> tuple[list[Group], list[Edge], list[Group]]:
    """The bodies of the subject, the edges of their tree, and bodies that are none of it."""
    grown = list(bodies)
    edges = grow(grown, progress)
    linked = with_missing_links(bodies, edges)
    if len(linked) > len(bodies):
        bodies, grown = linked, list(linked)
        edges = grow(grown)
    free = alone(edges)
    rest = [body for place, body in enumerate(bodies) if place not in free]
    if not free or len(rest) < 2 or all(body.poses is None for body in rest):
        return grown, edges, []
    # others may hang on the prop for want of better: they are joined anew
    return rest, grow(rest), [bodies[place] for place in sorted(free)]


def _guess(names: Sequence[str], observed: Array, bodies: list[Group], edges: list[Edge]) -> Guess:
    """Everything as it stands in one frame of the take, which becomes the rest pose."""
    order, parents, hinges = _rooted(bodies, edges)
    reference = _reference_frame(observed, bodies, bodies[order[0]])
    label = {body: f"body_{place + 1:02d}" for place, body in enumerate(order)}
    at = [np.zeros(3)] + [_joint_in_world(edges[hinge], reference) for hinge in hinges[1:]]
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
    rig = SubjectModel(
        tuple(label[body] for body in order),
        tuple(parents),
        offsets,
        tuple(names[m] for m in kept),
        np.array(carriers, dtype=int),
        places,
    )
    unknown = np.full(rig.n_markers, np.nan)
    return Guess(
        rig,
        _beliefs(rig),
        np.zeros_like(offsets),
        _tips(rig),
        unknown,
        Usual.of_any_body(rig.n_bodies, ANY_SKIN_SIGMA, ANY_GLIDE_SIGMA),
        doubts=joint_doubts(bodies, edges, label),
    )


def _beliefs(rig: SubjectModel):
    rows = BeliefRows(rig)
    for marker in range(rig.n_markers):
        rows.marker_at(marker, rig.places[marker], PLACE_SIGMA)
    for body in range(1, rig.n_bodies):
        rows.joint_at(body, rig.offsets[body], JOINT_SIGMA)
    return rows.beliefs()


def _tips(rig: SubjectModel) -> dict[str, Array]:
    """Leaves end at the marker farthest from their joint."""
    tips = {}
    for body in set(range(rig.n_bodies)) - set(rig.parents):
        own = rig.places[rig.marker_bodies == body]
        if len(own):
            tips[rig.names[body]] = own[np.argmax(np.linalg.norm(own, axis=-1))]
    return tips


def joint_doubts(bodies: list[Group], edges: list[Edge], label: dict[int, str]) -> tuple[str, ...]:
    """A sentence about each joint that motion does not settle."""
    doubts = []
    loose = shares_no_joint(edges)
    for edge in edges:
        if edge.on not in label:
            continue
        pair = f"{label[edge.on]} and {label[edge.body]}"
        if edge in loose:
            doubts.append(
                f"{pair} share no joint, the nearest were joined: no common point is steadier than "
                f"{1e3 * edge.pivot.misfit:.0f} mm; two subjects in one recording? "
                "osteon label tells people apart"
            )
        elif edge.pivot.misfit > DOUBTFUL_MISFIT:
            doubts.append(
                f"the joint between {pair} is doubtful: no common point is steadier than "
                f"{1e3 * edge.pivot.misfit:.0f} mm"
            )
        elif edge.pivot.sigma > UNTOLD_DEVIATION and edge.pivot.turned < STANDING_TURN:
            doubts.append(
                f"{pair} hardly turn against each other: where their joint lies, and whether "
                "they have one, is a guess"
            )
        elif edge.pivot.sigma > UNTOLD_DEVIATION:
            doubts.append(
                f"{pair} turn about one axis only: where along it their joint lies is a guess"
            )
    lost = len(bodies) - len(label)
    if lost:
        groups = "1 group of markers is" if lost == 1 else f"{lost} groups of markers are"
        doubts.append(f"{groups} never seen with the others; left out")
    return tuple(doubts)


def _reference_frame(observed: Array, bodies: list[Group], root: Group) -> int:
    """The frame that shows most bodies and markers, of those that show the root."""
    count = np.isfinite(observed[..., 0]).sum(axis=1).astype(float)
    for body in bodies:
        if body.poses is not None:
            count += 10.0 * np.isfinite(body.poses[1][:, 0])
    count[~np.isfinite(observed[:, root.markers, 0]).any(axis=1)] = -1.0
    return int(np.argmax(count))


def _joint_in_world(edge: Edge, frame: int) -> Array:
    known = np.flatnonzero(np.isfinite(edge.path[:, 0]))
    return edge.path[known[np.argmin(np.abs(known - frame))]]


def _all_markers(observed: Array, bodies: list[Group], frame: int) -> Array:
    """(n_markers, 3) in one frame; those not seen there are put where their body says."""
    points = observed[frame].copy()
    for body in bodies:
        if body.poses is None or not np.isfinite(body.poses[1][frame, 0]):
            continue
        local = in_frame(body.poses, observed[:, body.markers])
        for column, marker in enumerate(body.markers):
            seen = np.isfinite(local[:, column, 0])
            if not np.isfinite(points[marker, 0]) and seen.any():
                middle = np.median(local[seen, column], axis=0)
                rotation, position = body.poses[0][frame], body.poses[1][frame]
                points[marker] = position + quat.rotate(rotation, middle)
    return points


def _rooted(bodies: list[Group], edges: list[Edge]) -> tuple[list[int], list[int], list[int]]:
    """Tree order from the most central body that three markers show, of the largest tree.

    Returns bodies, index of each one's parent in that order, and for each the edge it hangs by.
    """
    on_tree = sorted({edge.on for edge in edges} | {edge.body for edge in edges})
    near: dict[int, list[tuple[int, int]]] = {body: [] for body in on_tree}
    for place, edge in enumerate(edges):
        near[edge.on].append((edge.body, place))
        near[edge.body].append((edge.on, place))
    candidates = [body for body in on_tree if len(bodies[body].markers) >= 3]

    def rank(body: int) -> tuple[int, int, int, int]:
        layers = _layers(near, body)
        shown = sum(len(bodies[other].markers) for layer in layers for other in layer)
        return -shown, len(layers), -len(near[body]), -len(bodies[body].markers)

    if not candidates:
        raise NotEnoughData("no body of three markers is seen together with another: no joint")
    root = min(candidates, key=rank)
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


def _layers(near: dict[int, list[tuple[int, int]]], root: int) -> list[set[int]]:
    """Bodies by how many joints lie between them and a body, from none on."""
    layers, seen = [{root}], {root}
    while layer := {body for inner in layers[-1] for body, _ in near[inner]} - seen:
        layers.append(layer)
        seen |= layer
    return layers
