"""A surface that bones carry: every place of it moves with up to four bodies."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from osteon.errors import BadValue, ShapeError
from osteon.maths import quat
from osteon.typing import Array
from osteon.values.array_checks import freeze, settle, unit_quaternions

CARRIERS = 4
"""Count of bodies that carry a place at most, defined by glTF, in which skins are written."""


@dataclass(frozen=True, slots=True, eq=False)
class SkinnedMesh:
    """Triangles on a skeleton, with the pose in which they were put on it (linear blend skinning).

    A place v of the surface is moved to Σ wᵢ·(pᵢ + qᵢ·rᵢ⁻¹·(v − jᵢ)) by bodies i whose rotation
    and joint are (rᵢ, jᵢ) in the pose here, and (qᵢ, pᵢ) in the world.
    """

    vertices: Array
    """(n_vertices, 3) in the rest pose, metres."""
    triangles: np.ndarray
    """(n_triangles, 3) indices of vertices, anticlockwise from outside."""
    bodies: np.ndarray
    """(n_vertices, 4) indices of the bodies that carry each vertex."""
    weights: Array
    """(n_vertices, 4) how much each of them does: not negative, sum 1."""
    rotations: Array
    """(n_bodies, 4) rest pose: rotation to the world from each body's frame."""
    joints: Array
    """(n_bodies, 3) rest pose: place of each body's joint in the world, metres."""

    def __post_init__(self) -> None:
        freeze(self, vertices=("n_vertices", 3), joints=("n_bodies", 3))
        n_vertices, n_bodies = len(self.vertices), len(self.joints)
        freeze(self, weights=(n_vertices, CARRIERS), rotations=(n_bodies, 4))
        off = np.abs(self.weights.sum(axis=1) - 1.0)
        if (self.weights < 0.0).any() or off.max(initial=0.0) > 1e-6:
            raise BadValue("weights of a vertex must be 0 or more and add up to 1")
        triangles = _indices(self.triangles, ("n_triangles", 3), n_vertices, "triangles")
        bodies = _indices(self.bodies, (n_vertices, CARRIERS), n_bodies, "bodies")
        rotations = unit_quaternions(self.rotations)
        settle(self, rotations=rotations, triangles=triangles, bodies=bodies)

    @classmethod
    def of_triangles(
        cls, corners: Sequence[tuple[int, Array]], rotations: Array, joints: Array
    ) -> "SkinnedMesh":
        """Return triangles that one body each carries, with corners of their own: faces are flat.

        Parameters
        ----------
        corners
            Body, and corners (3 · n_triangles, 3) that it carries.
        """
        vertices = np.concatenate([places for _, places in corners])
        bodies, weights = np.zeros((2, len(vertices), CARRIERS))
        bodies[:, 0] = np.repeat([b for b, _ in corners], [len(places) for _, places in corners])
        weights[:, 0] = 1.0
        triangles = np.arange(len(vertices)).reshape(-1, 3)
        return cls(vertices, triangles, bodies, weights, rotations, joints)

    def moved(self, rotations: Array, joints: Array) -> Array:
        """Return the vertices (..., n_vertices, 3) on bodies somewhere else.

        Parameters
        ----------
        rotations, joints : (..., n_bodies, 4), (..., n_bodies, 3)
            Of the bodies in the world, as ``Motion.world()`` gives them.
        """
        turns = quat.to_matrix(quat.multiply(rotations, quat.inverse(self.rotations)))
        shifts = joints - np.einsum("...bij,bj->...bi", turns, self.joints)
        placed = np.zeros((*joints.shape[:-2], *self.vertices.shape))
        for column in range(CARRIERS):
            carriers, weight = self.bodies[:, column], self.weights[:, column, None]
            turned = np.einsum("...vij,vj->...vi", turns[..., carriers, :, :], self.vertices)
            placed += weight * (turned + shifts[..., carriers, :])
        return placed

    def normals(self) -> Array:
        """Return unit normals (n_vertices, 3) at rest: the faces around, by their areas."""
        a, b, c = (self.vertices[self.triangles[:, corner]] for corner in range(3))
        across = np.cross(b - a, c - a)
        summed = np.zeros_like(self.vertices)
        for corner in range(3):
            np.add.at(summed, self.triangles[:, corner], across)
        length = np.linalg.norm(summed, axis=-1, keepdims=True)
        up = np.array([0.0, 0.0, 1.0])
        return np.where(length > 0.0, summed / np.where(length > 0.0, length, 1.0), up)


def _indices(values: np.ndarray, shape: tuple, limit: int, name: str) -> np.ndarray:
    array = np.array(values, dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != shape[1] or shape[0] not in (len(array), "n_triangles"):
        raise ShapeError(f"{name} must have shape {shape}, got {array.shape}")
    if array.size and not (array.min() >= 0 and array.max() < limit):
        raise BadValue(f"{name} must be indices from 0 to {limit - 1}, got {array.max()}")
    array.flags.writeable = False
    return array
