"""What is held true about a subject before any frame is seen."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from osteon.calibration.subject_model import SubjectModel
from osteon.typing import Array

MIRROR = np.diag([1.0, -1.0, 1.0])
"""Left and right, in a body whose y axis points left."""


@dataclass(frozen=True)
class Beliefs:
    """Linear beliefs: ``matrix @ shared`` is ``target``, give or take ``sigma``."""

    matrix: Array
    """(n_rows, n_shared)"""
    target: Array
    """(n_rows,) metres"""
    sigma: Array
    """(n_rows,) metres"""

    def cost(self, shared: Array) -> float:
        """Return half the squares by which ``shared`` misses the beliefs, in deviations."""
        residual = self._residual(shared)
        return 0.5 * float(residual @ residual)

    def normal(self, shared: Array) -> tuple[Array, Array]:
        """Return normal matrix and gradient of the cost at ``shared``."""
        return self._information.copy(), self._weighted.T @ self._residual(shared)

    @cached_property
    def _weighted(self) -> Array:
        return self.matrix / self.sigma[:, None]

    @cached_property
    def _information(self) -> Array:
        """(n_shared, n_shared), wherever the subject is: beliefs are linear."""
        return self._weighted.T @ self._weighted

    def _residual(self, shared: Array) -> Array:
        return (self.matrix @ shared - self.target) / self.sigma


class Near(NamedTuple):
    """Where a joint lies, seen from the markers around it."""

    markers: np.ndarray
    """(n,) which."""
    shares: Array
    """(n,) how much each counts; sums to 1."""
    away: Array
    """(3,) from their weighted mean to the joint."""
    distance: float
    """How far the markers are, metres."""


class BeliefRows:
    """Collects beliefs about the joints and markers of a rig, one point at a time."""

    def __init__(self, rig: SubjectModel) -> None:
        self._rig = rig
        self._blocks: list[tuple[Array, Array, Array | float]] = []

    def marker_at(self, marker: int, place: Array, sigma: float) -> None:
        """A marker sits here on its body."""
        self._add([(self._rig.marker_columns(marker), np.eye(3))], place, sigma)

    def joint_at(self, body: int, offset: Array, sigma: Array | float) -> None:
        """The joint of ``body`` lies here in its parent; ``sigma`` is one number or (3,)."""
        self._add([(self._rig.joint_columns(body), np.eye(3))], offset, sigma)

    def joint_beside(self, body: int, near: "Near", sigma: Array | float) -> None:
        """The joint of ``body`` lies beside its parent's markers."""
        joint = (self._rig.joint_columns(body), np.eye(3))
        self._add([joint, *self._minus_mean(near)], near.away, sigma)

    def origin_beside(self, near: "Near", sigma: Array | float) -> None:
        """The body's own joint, its origin, lies beside its markers."""
        self._add(self._minus_mean(near), near.away, sigma)

    def twins(self, left: int, right: int, sigma: float) -> None:
        """Two joints mirror each other."""
        columns = self._rig.joint_columns
        self._add([(columns(left), np.eye(3)), (columns(right), -MIRROR)], np.zeros(3), sigma)

    def midway(self, body: int, sigma: float) -> None:
        """The joint of ``body`` lies between left and right."""
        block = np.zeros((1, self._rig.n_shared))
        block[0, self._rig.joint_columns(body).start + 1] = 1.0
        self._blocks.append((block, np.zeros(1), sigma))

    def all_stay(self, sigma: float) -> Beliefs:
        """Return the beliefs that joints and markers are where the rig has them."""
        for body in range(1, self._rig.n_bodies):
            self.joint_at(body, self._rig.offsets[body], sigma)
        for marker in range(self._rig.n_markers):
            self.marker_at(marker, self._rig.places[marker], sigma)
        return self.beliefs()

    def beliefs(self) -> Beliefs:
        matrices, targets, sigmas = zip(*self._blocks, strict=True)
        rows = [
            np.broadcast_to(sigma, len(target))
            for target, sigma in zip(targets, sigmas, strict=True)
        ]
        return Beliefs(np.concatenate(matrices), np.concatenate(targets), np.concatenate(rows))

    def _minus_mean(self, near: "Near") -> list[tuple[slice, Array]]:
        columns = self._rig.marker_columns
        pairs = zip(near.markers.tolist(), near.shares.tolist(), strict=True)
        return [(columns(marker), -share * np.eye(3)) for marker, share in pairs]

    def _add(self, terms: list[tuple[slice, Array]], target: Array, sigma: Array | float) -> None:
        block = np.zeros((3, self._rig.n_shared))
        for columns, factor in terms:
            block[:, columns] += factor
        self._blocks.append((block, np.asarray(target, dtype=float), sigma))
