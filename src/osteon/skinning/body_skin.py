"""A body to see a skeleton by: one smooth skin round all its bones, made for any rig.

Every bone gets a piece of flesh (:mod:`osteon.skinning.flesh_parts` by its name,
:mod:`osteon.skinning.flesh` by its length); the pieces melt together, and the surface where the
field of distances is zero is the skin. Each place of it goes with the bodies whose flesh is near.
"""

from collections.abc import Sequence

import numpy as np

from osteon.anatomy import body_size
from osteon.maths import quat
from osteon.skinning.flesh import FleshPose, Piece, plain_pieces, pose_of
from osteon.skinning.flesh_parts import (
    fingered_hands,
    hand_pieces,
    known_pieces,
    sole_heights,
)
from osteon.typing import Array
from osteon.values import CARRIERS, Motion, Skeleton, SkinnedMesh

TRIANGLE_COUNT = 5700
"""Count of triangles that the grid's cells are sized for; chosen: a little below the most."""
MOST_TRIANGLES = 6000
"""Count of triangles at most; chosen: smooth to the eye, and small in files and on pages."""
HAND_SHARE = 0.25
"""Share of the triangles that a hand with fingers has beside a body; chosen: half of them on what a
body does most with."""
REACH_RATIO = 2.5
"""Ratio of the distance from the flesh up to which the field is worked out to a cell; chosen: it is
needed near the surface only."""
MELT_RATIO = 0.4
"""Ratio of the way over which neighbouring pieces run into each other to a cell; chosen: no crease
that the grid would show as a tear."""
GAP_RATIO = 1.2
"""Ratio of the slit between strangers to a cell; chosen: a slit below one cell falls through the
grid."""
MOST_CELLS = 2e6
"""Count of the grid's cells at most; chosen: memory. A rig of little flesh far apart is made
coarser."""
EVENING_COUNT = 4
"""Count of times that weights are averaged with those beside them; chosen: bends over a few
triangles, not over limbs."""
CRUMB_COUNT = 20
"""Count of vertices below which a piece of the surface is dropped; chosen: leftovers between two
limbs are smaller, flesh is larger."""
MOSTLY_SHARE = 0.5
"""Share of a vertex that feet carry where it is theirs; chosen: most of it."""
SAMPLE_COUNT = 120
"""Count of frames of a motion from which its typical pose is taken; chosen: a mean needs no
more."""
REST_ANGLE = np.radians(50.0)
"""Radians (50°); if half the joints are turned further from rest, nobody stands in the rest pose.
Chosen: people do not turn half their joints so far all the time, frames of sensors do."""
LEAST_RATIO = 0.9
"""Ratio of the thinnest flesh to a cell; chosen: thinner tubes would fall through the grid."""


def make_skin(skeleton: Skeleton, pose: Array | None = None) -> SkinnedMesh:
    """Return a skin for the skeleton, of 6 000 triangles at most.

    Parameters
    ----------
    pose : (n_bodies, 4)
        Rotations to the parents' frames in which to put it on; by default the joints' rest.
    """
    placed = pose_of(skeleton, pose)
    meshes = [_skin_of(placed, pieces, share) for pieces, share in _groups(placed, _pieces(placed))]
    starts = np.cumsum([0, *(len(vertices) for vertices, *_ in meshes)])
    triangles = [own + start for (_, own, *_), start in zip(meshes, starts, strict=False)]
    vertices, bodies, weights = (np.concatenate([mesh[k] for mesh in meshes]) for k in (0, 2, 3))
    vertices = _on_soles(placed, vertices, bodies, weights)
    joined = np.concatenate(triangles)
    return SkinnedMesh(vertices, joined, bodies, weights, placed.rotations, placed.joints)


def _groups(pose: FleshPose, pieces: Sequence[Piece]) -> list[tuple[list[Piece], float]]:
    """The pieces that are one surface, and its share of the triangles: hands with fingers are finer
    than a body could be."""
    hands = fingered_hands(pose)
    if not hands:
        return [(list(pieces), 1.0)]
    own = {hand: hand for hand in hands}
    for body, parent in enumerate(pose.skeleton.parents):
        if parent in own:
            own[body] = own[parent]
    rest = [piece for piece in pieces if piece.body not in own]
    share = HAND_SHARE if rest else 1.0 / len(hands)
    groups = [([p for p in pieces if own.get(p.body) == hand], share) for hand in hands]
    return ([(rest, 1.0 - share * len(hands))] if rest else []) + groups


def _skin_of(
    placed: FleshPose, pieces: Sequence[Piece], share: float
) -> tuple[Array, np.ndarray, np.ndarray, Array]:
    """Return vertices, triangles, bodies and weights of one surface, with a share of all
    triangles."""
    from osteon.skinning.flesh_surface import triangles_of

    skeleton, count = placed.skeleton, share * TRIANGLE_COUNT
    kin = _kinship(skeleton.parents, [piece.body for piece in pieces])
    finest = _finest(pieces)
    cell = max(1.5 * float(np.sqrt(3.0 * _area(pieces) / count)), finest)
    vertices, quads, flesh = _surface(placed, pieces, kin, cell)
    if not len(quads):  # limbs that lie in each other leave nothing between their slits
        kin = np.zeros_like(kin)
        vertices, quads, flesh = _surface(placed, pieces, kin, cell)
    goal = count  # the first, coarse one only tells how much surface there is
    while goal == count or 2 * len(quads) > share * MOST_TRIANGLES:
        cell = max(cell * float(np.sqrt(2 * len(quads) / goal)), finest)
        vertices, quads, flesh = _surface(placed, pieces, kin, cell)
        goal *= 0.95
    vertices = _draw_to(vertices, flesh, kin, cell)
    triangles = triangles_of(vertices, quads)
    return vertices, triangles, *_weights(vertices, triangles, flesh, kin, pieces)


def make_skin_for(motion: Motion) -> SkinnedMesh:
    """Return a skin for a moving skeleton, put on in its rest pose, or in its typical one where the
    rest pose says nothing, as of rigs whose frames are those of sensors."""
    return make_skin(motion.skeleton, natural_pose(motion))


def natural_pose(motion: Motion) -> Array | None:
    """Return (n_bodies, 4) local rotations to stand in; None: the skeleton's rest pose will do.

    Rest poses of rigs made by people are upright, limbs apart. Frames of sensors may be anything:
    then the joints are turned far from rest all the time, and their mean is taken instead.
    """
    known = np.flatnonzero(np.isfinite(motion.rotations[..., 0]).all(axis=1))
    if not len(known):
        return None
    some = motion.rotations[known[:: max(1, len(known) // SAMPLE_COUNT)]]
    # the first eigenvector of Σ q·qᵀ is the mean rotation, whatever the signs
    mean = np.linalg.eigh(np.einsum("fbi,fbj->bij", some, some))[1][..., -1]
    turned = quat.angle(quat.between(motion.skeleton.rest, mean))[1:]
    if not len(turned) or np.median(turned) < REST_ANGLE:
        return None
    return mean


def find_carriers(
    pose: FleshPose, vertices: Array, triangles: np.ndarray
) -> tuple[np.ndarray, Array]:
    """Return bodies and weights (n_vertices, 4) of any mesh over a posed skeleton."""
    pieces = _pieces(pose)
    kin = _kinship(pose.skeleton.parents, [piece.body for piece in pieces])
    return _weights(vertices, triangles, _pack(pose, pieces, 0.0), kin, pieces)


def body_extent(pose: FleshPose) -> tuple[Array, Array]:
    """Return lowest and highest corner (3,) of the body's box."""
    from osteon.skinning.flesh_surface import HIGH_COLUMN, LOW_COLUMN

    flesh = _pack(pose, _pieces(pose), 0.0)
    return flesh[:, LOW_COLUMN : LOW_COLUMN + 3].min(axis=0), flesh[
        :, HIGH_COLUMN : HIGH_COLUMN + 3
    ].max(axis=0)


def _pieces(pose: FleshPose) -> list[Piece]:
    known = known_pieces(pose) | hand_pieces(pose)
    size = body_size(pose.skeleton) or 1.0
    pieces: list[Piece] = []
    for body in range(len(pose.joints)):
        pieces += known[body] if body in known else plain_pieces(pose, body, size)
    return pieces


def _area(pieces: Sequence[Piece]) -> float:
    """Return the surface of all tubes, metres²; where they run into each other it counts twice."""
    total = 0.0
    for piece in pieces:
        length = np.linalg.norm(piece.end - piece.start) + piece.wide.min() + piece.deep.min()
        total += np.pi * float(np.mean(piece.wide + piece.deep)) * float(length)
    return total


def _finest(pieces: Sequence[Piece]) -> float:
    """Return the edge of cells of which ``MOST_CELLS`` fill the body's box, metres."""
    ends = np.stack([end for piece in pieces for end in (piece.start, piece.end)])
    thick = max(float(max(piece.wide.max(), piece.deep.max())) for piece in pieces)
    return float(np.cbrt(np.prod(np.ptp(ends, axis=0) + 2.0 * thick) / MOST_CELLS))


def _surface(
    pose: FleshPose, pieces: Sequence[Piece], kin: np.ndarray, cell: float
) -> tuple[Array, np.ndarray, Array]:
    """Return vertices and quadrilaterals, and the flesh they were made of."""
    from osteon.skinning.flesh_surface import HIGH_COLUMN, LOW_COLUMN, surface_nets

    flesh = _pack(pose, pieces, LEAST_RATIO * cell)
    low = flesh[:, LOW_COLUMN : LOW_COLUMN + 3].min(axis=0) - 3.0 * cell
    high = flesh[:, HIGH_COLUMN : HIGH_COLUMN + 3].max(axis=0) + 3.0 * cell
    shape = np.ceil((high - low) / cell).astype(int) + 1
    grid = np.moveaxis(np.indices(shape), 0, -1).reshape(-1, 3)
    values = _field(low + cell * grid, flesh, kin, cell)
    vertices, quads = surface_nets(values.reshape(shape))
    vertices, quads = _without_crumbs(vertices, quads)
    return low + cell * vertices, quads, flesh


def _without_crumbs(vertices: Array, quads: np.ndarray) -> tuple[Array, np.ndarray]:
    """Return the surface without its smallest loose pieces."""
    edges = np.concatenate([quads[:, [0, 1]], quads[:, [1, 2]], quads[:, [2, 3]]])
    piece = _loose_pieces(edges, len(vertices))
    size = np.bincount(piece)
    kept = size[piece] >= min(CRUMB_COUNT, size.max(initial=0))
    numbers = np.cumsum(kept) - 1
    return vertices[kept], numbers[quads[kept[quads[:, 0]]]]


def _loose_pieces(edges: np.ndarray, n_vertices: int) -> np.ndarray:
    """Return (n_vertices,) the first vertex of the piece that each belongs to."""
    first, before = np.arange(n_vertices), None
    while before is None or (first != before).any():
        before = first.copy()
        np.minimum.at(first, before[edges[:, 0]], before[edges[:, 1]])
        np.minimum.at(first, before[edges[:, 1]], before[edges[:, 0]])
        first = first[first]
    return first


def _field(points: Array, flesh: Array, kin: np.ndarray, cell: float) -> Array:
    """Return the field (n,), negative inside the flesh, metres."""
    from osteon.skinning.flesh_surface import field_at

    values, points = np.empty(len(points)), np.ascontiguousarray(points)
    field_at(points, flesh, kin, REACH_RATIO * cell, MELT_RATIO * cell, GAP_RATIO * cell, values)
    return values


def _draw_to(points: Array, flesh: Array, kin: np.ndarray, cell: float) -> Array:
    """Return points moved onto the zero of the field, by half a cell at most: two steps of
    Newton's."""
    step = 0.02 * cell
    for _ in range(2):
        value = _field(points, flesh, kin, cell)
        ahead = [_field(points + step * axis, flesh, kin, cell) for axis in np.eye(3)]
        slope = (np.stack(ahead, axis=-1) - value[:, None]) / step
        move = -slope * (value / np.maximum(np.sum(slope**2, axis=-1), 0.25))[:, None]
        length = np.linalg.norm(move, axis=-1, keepdims=True)
        points = points + move * np.minimum(1.0, 0.5 * cell / np.maximum(length, 1e-12))
    return points


def _on_soles(pose: FleshPose, vertices: Array, bodies: np.ndarray, weights: Array) -> Array:
    """Return the vertices with flat soles: a coarse grid swells below thin feet."""
    vertices, soles = vertices.copy(), sole_heights(pose)
    for height in set(soles.values()):
        own = [body for body, level in soles.items() if level == height]
        on = np.sum(weights * np.isin(bodies, own), axis=1) > MOSTLY_SHARE
        vertices[on, 2] = np.maximum(vertices[on, 2], height)
    return vertices


def _pack(pose: FleshPose, pieces: Sequence[Piece], least: float) -> Array:
    """Return the pieces as rows for the kernel, none thinner than ``least`` metres."""
    starts = np.stack([piece.start for piece in pieces])
    ways = np.stack([piece.end for piece in pieces]) - starts
    lengths = np.maximum(np.linalg.norm(ways, axis=-1, keepdims=True), 1e-6)
    axes, fronts = ways / lengths, np.stack([piece.front for piece in pieces])
    radii = np.stack([np.stack([piece.wide, piece.deep]) for piece in pieces])
    radii = np.maximum(radii, least)
    shifts = np.stack([piece.shift for piece in pieces])
    reach = (radii.max(axis=(1, 2)) + np.abs(shifts).max(axis=1))[:, None]
    columns = (
        starts,
        axes,
        lengths,
        np.cross(fronts, axes),
        fronts,
        radii[..., [0, -1]].min(axis=1),
        np.minimum(starts, starts + ways) - reach,
        np.maximum(starts, starts + ways) + reach,
        _depths(pose.skeleton.parents)[[piece.body for piece in pieces], None],
        radii.reshape(len(pieces), -1),
        shifts,
    )
    return np.ascontiguousarray(np.concatenate(columns, axis=1))


def _depths(parents: Sequence[int]) -> np.ndarray:
    depths = np.zeros(len(parents), dtype=np.int64)
    for body, parent in enumerate(parents):
        depths[body] = 0 if parent < 0 else depths[parent] + 1
    return depths


def _kinship(parents: Sequence[int], bodies: Sequence[int]) -> np.ndarray:
    """Return (n_pieces, n_pieces) 0 the same or next to each other, 1 one body between, 2
    strangers."""
    steps = np.full((len(parents), len(parents)), 9)
    for body, parent in enumerate(parents):
        steps[body, body] = 0
        if parent >= 0:
            steps[body, :body] = steps[parent, :body] + 1
            steps[:body, body] = steps[body, :body]
    kin = np.clip(steps - 1, 0, 2)
    return kin[np.ix_(bodies, bodies)].astype(np.int64)


def _weights(
    vertices: Array, triangles: np.ndarray, flesh: Array, kin: np.ndarray, pieces: Sequence[Piece]
) -> tuple[np.ndarray, Array]:
    """Return bodies and weights (n_vertices, 4): each body by how near its flesh is, evened out
    along the surface. Vertices at one place, as along the seams of textures, get the same."""
    from osteon.skinning.flesh_surface import carriers_at

    places, welded = np.unique(vertices, axis=0, return_inverse=True)
    on = np.array([piece.body for piece in pieces])
    shares = np.zeros((len(places), max(on.max() + 1, CARRIERS)))
    carriers_at(places, flesh, kin, on, shares)
    shares /= shares.sum(axis=1, keepdims=True)
    shares = _evened(shares, welded.reshape(-1)[triangles], places)
    bodies = np.argsort(-shares, axis=1)[:, :CARRIERS]
    weights = np.take_along_axis(shares, bodies, axis=1)
    weights[weights < 0.02 * weights[:, :1]] = 0.0
    bodies[weights == 0.0] = 0
    weights /= weights.sum(axis=1, keepdims=True)
    return bodies[welded.reshape(-1)], weights[welded.reshape(-1)]


def _evened(shares: Array, triangles: np.ndarray, places: Array) -> Array:
    """Return values on vertices (n, ...) drawn to the mean over those beside them; the nearer count
    more, or short edges would tear where weights change."""
    ends = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    length = np.linalg.norm(places[ends[:, 1]] - places[ends[:, 0]], axis=-1)
    near = np.median(length) / np.maximum(length, 0.05 * np.median(length))
    own = np.arange(len(places))
    ends = np.concatenate([ends, ends[:, ::-1], np.stack([own, own], axis=-1)])
    near = np.concatenate([near, near, np.ones(len(own))])
    order = np.argsort(ends[:, 0], kind="stable")
    at, other = ends[order].T
    first = np.searchsorted(at, own)
    near = near[order] / np.add.reduceat(near[order], first)[at]
    for _ in range(EVENING_COUNT):
        shares = 0.5 * shares + 0.5 * np.add.reduceat(near[:, None] * shares[other], first)
    return shares
