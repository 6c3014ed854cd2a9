"""What an FBX file's bones carry, as it was put on them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from osteon.errors import FormatError
from osteon.formats.fbx.nodes import FbxRecord
from osteon.formats.fbx.scene import SceneInFile
from osteon.formats.shared.flesh_ends import Flesh
from osteon.maths import quat
from osteon.typing import Array

MOST_CARRIERS = 4
"""Count of bodies that share a vertex; chosen: the rest carry next to nothing."""


class _Worn(NamedTuple):
    """A mesh's vertices that a bone carries."""

    vertices: np.ndarray
    """(n,) which of the geometry's."""
    weights: Array
    """(n,)"""
    places: Array
    """(n, 3) in the file's world, as bound."""


def read_flesh(scene: SceneInFile, chosen: Sequence[int], turn: Array) -> tuple[Flesh, Array]:
    """Return all that the chosen models carry, and their joints (n_bodies, 3) as it was put on
    them, in our world, to which ``turn`` (4,) goes from the file's; NaN where they carry none.
    No flesh where a mesh cannot be read: bones do without."""
    joints, parts = np.full((len(chosen), 3), np.nan), []
    try:
        for rows in _skins(scene, {place: body for body, place in enumerate(chosen)}):
            for _, body, joint in rows:
                joints[body] = joint
            parts.append(_together([(worn, body) for worn, body, _ in rows]))
    except FormatError:
        parts = []
    parts.append((np.zeros((0, 3)), *np.zeros((2, 0, MOST_CARRIERS))))
    places, carriers, weights = (np.concatenate(each) for each in zip(*parts, strict=True))
    metres = scene.unit()[0]
    flesh = Flesh(quat.rotate(turn, metres * places), carriers.astype(int), weights)
    return flesh, quat.rotate(turn, metres * joints)


def _skins(
    scene: SceneInFile, body_of: dict[int, int]
) -> Iterator[list[tuple[_Worn, np.ndarray, Array]]]:
    """Yield of each geometry what bodies carry of it: vertices, the body of each, and the place
    (3,) of the body's joint in the file's world."""
    for number, record in scene.objects.items():
        if record.name != "Geometry":
            continue
        vertices = scene.file.numbers(record.find("Vertices"), float)
        vertices = vertices[: len(vertices) // 3 * 3].reshape(-1, 3)
        rows = []
        for skin, _ in scene.under(number, "Deformer"):
            for cluster, _ in scene.under(skin, "Deformer"):
                for model, _ in scene.under(cluster, "Model"):
                    body = body_of.get(scene.places[model])
                    found = _worn(scene, scene.objects[cluster], vertices)
                    if body is not None and found is not None:
                        worn, joint = found
                        rows.append((worn, np.full(len(worn.vertices), body), joint))
        if rows:
            yield rows


def _worn(scene: SceneInFile, cluster: FbxRecord, vertices: Array) -> tuple[_Worn, Array] | None:
    """Return what a bone carries, and the place (3,) of its joint; None where the file does not say
    it in whole."""
    indices = scene.file.numbers(cluster.find("Indexes"), np.int64)
    weights = scene.file.numbers(cluster.find("Weights"), float)
    way, bound = (_matrix(scene, cluster, name) for name in ("Transform", "TransformLink"))
    if way is None or bound is None or len(indices) != len(weights) or not len(indices):
        return None
    if indices.min() < 0 or indices.max() >= len(vertices):
        return None
    to_world = bound @ way  # from the mesh's space to the bone's, and on to the world
    places = vertices[indices] @ to_world[:3, :3].T + to_world[:3, 3]
    good = np.isfinite(places).all(axis=1) & (weights > 0.0)
    return _Worn(indices[good], weights[good], places[good]), bound[:3, 3]


def _matrix(scene: SceneInFile, cluster: FbxRecord, name: str) -> Array | None:
    numbers = scene.file.numbers(cluster.find(name), float)
    whole = len(numbers) == 16 and np.isfinite(numbers).all()
    return numbers.reshape(4, 4).T if whole else None


def _together(rows: list[tuple[_Worn, np.ndarray]]) -> tuple[Array, np.ndarray, Array]:
    """Return places (n, 3), carriers and weights (n, MOST_CARRIERS) of the vertices of one mesh."""
    vertices, weights, places = (
        np.concatenate(each) for each in zip(*(w for w, _ in rows), strict=True)
    )
    bodies = np.concatenate([body for _, body in rows])
    order = np.lexsort((-weights, vertices))  # of each vertex the heaviest first
    vertices, weights, places, bodies = (
        each[order] for each in (vertices, weights, places, bodies)
    )
    first = np.flatnonzero(np.diff(vertices, prepend=-1))
    counts = np.diff(np.append(first, len(vertices)))
    rank = np.arange(len(vertices)) - np.repeat(first, counts)
    kept, row = rank < MOST_CARRIERS, np.repeat(np.arange(len(first)), counts)
    carriers = np.zeros((len(first), MOST_CARRIERS), int)
    shares = np.zeros((len(first), MOST_CARRIERS))
    carriers[row[kept], rank[kept]] = bodies[kept]
    shares[row[kept], rank[kept]] = weights[kept]
    return places[first], carriers, shares / shares.sum(axis=1, keepdims=True)
