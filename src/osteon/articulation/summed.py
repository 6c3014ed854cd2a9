"""Joints from sums over many takes: nothing of the takes is needed but their statistics.

The statistics of takes add, and so the joints of a person come from a whole archive at the price of
one take. What needs frames in their order, slips and loops, is found in each take on its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from osteon.articulation import hierarchy
from osteon.articulation.body_source import PoseNoise, estimate_noise
from osteon.articulation.centre import PairFits, fit_pairs, joint_distances
from osteon.articulation.hierarchy import FINEST
from osteon.articulation.statistics import JointStatistics, checked_sums, read_npz, statistics_of
from osteon.errors import FormatError, NotEnoughData
from osteon.typing import Array
from osteon.values import Bodies, Connection, Joints, Skeleton


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """All that one take, or many, say about joints."""

    statistics: JointStatistics
    position: Array
    """(n_bodies,) mean square noise of places, times frames."""
    rotation: Array
    """(n_bodies, 3, 3) covariance of turning noise, times frames."""
    frames: int

    @classmethod
    def of(cls, bodies: Bodies) -> "Sums":
        """Of one take; its noise is judged from it."""
        noise, n = estimate_noise(bodies), bodies.n_frames
        return cls(JointStatistics.of(bodies), n * noise.position**2, n * noise.rotation, n)

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            self.statistics + other.statistics,
            self.position + other.position,
            self.rotation + other.rotation,
            self.frames + other.frames,
        )

    @property
    def noise(self) -> PoseNoise:
        """White noise over all takes."""
        return PoseNoise(np.sqrt(self.position / self.frames), self.rotation / self.frames)

    def save(self, path: Path) -> None:
        """Write as one .npz file."""
        own = {"position": self.position, "rotation": self.rotation, "frames": self.frames}
        self.statistics.save(path, **own)

    @classmethod
    def load(cls, path: Path) -> "Sums":
        wanted = ("names", "gram", "own", "count", "position", "rotation", "frames")
        parts = read_npz(path, wanted, "the saved sums of a take")
        statistics = statistics_of(path, parts)
        m = len(statistics.names)
        position = checked_sums(path, parts, "position", (m,))
        rotation = checked_sums(path, parts, "rotation", (m, 3, 3))
        frames = parts["frames"]
        if frames.shape != () or frames.dtype.kind not in "iu" or frames < 0:
            raise FormatError(path, "expected a number of frames", "frames")
        return cls(statistics, position, rotation, int(frames))


def joints_of_sums(sums: Sums, rate: float, *, subject: str = "") -> Joints:
    """The hierarchy and the joint centres that all takes together show."""
    statistics, names = sums.statistics, sums.statistics.names
    fits = fit_pairs(statistics, sums.noise)
    if fits.silent.all():
        raise NotEnoughData("nothing moves: no body turns against another in any take")
    tree = hierarchy.best_tree(_products(statistics, fits), fits, len(names))
    still = np.zeros(len(names))
    start = hierarchy.central_body(fits.first, fits.second, tree.edges, range(len(names)), still)
    order = hierarchy.parents_from(fits.first, fits.second, tree.edges, start)
    connections = [_connection(names, fits, *link) for link in order]
    return _joints(names[start], connections, np.zeros((0, len(connections))), rate, subject)


def joints_of_take(skeleton: Skeleton, bodies: Bodies) -> Joints:
    """A take of a subject whose joints are known, with its own residuals."""
    rows = [body for body in skeleton.bodies if body.parent is not None]
    distances = [
        joint_distances(
            bodies, body.name, body.parent or "", body.joint.in_body, body.joint.in_parent
        )
        for body in rows
    ]
    connections = [
        Connection(
            parent=body.parent or "",
            child=body.name,
            in_parent=body.joint.in_parent,
            in_child=body.joint.in_body,
            covariance=_padded(body.joint.covariance),
            rms=float(np.sqrt(np.nanmean(distance**2))),
            kind=body.joint.kind,
            axis_in_parent=body.joint.axes[0] if len(body.joint.axes) else None,
        )
        for body, distance in zip(rows, distances, strict=True)
    ]
    root = skeleton.bodies[0].name
    residuals = np.stack(distances, axis=-1)
    return _joints(root, connections, residuals, bodies.rate, skeleton.subject)


def _joints(
    root: str, connections: Sequence[Connection], residuals: Array, rate: float, subject: str
) -> Joints:
    return Joints(
        root=root,
        connections=tuple(connections),
        looseness={},
        residuals=residuals,
        rate=rate,
        subject=subject,
        history=("joints from the sums of all takes",),
    )


def _products(statistics: JointStatistics, fits: PairFits) -> Array:
    """Products of residuals; where bodies were missing here and there only their own squares."""
    count = statistics.count
    if (count == count.max()).all():
        products = hierarchy.residual_products(statistics, fits)
    else:
        products = np.diag(np.where(np.isfinite(fits.mean_square), fits.mean_square, 1e6))
    return products + FINEST**2 * np.eye(len(products))


def _connection(
    names: Sequence[str], fits: PairFits, parent: int, child: int, row: int
) -> Connection:
    centres, covariance, axes = fits.from_child(row, child)
    kind = "fixed" if fits.silent[row, 1:].any() else "hinge" if fits.silent[row, 0] else "ball"
    return Connection(
        parent=names[parent],
        child=names[child],
        in_parent=centres[3:],
        in_child=centres[:3],
        covariance=covariance,
        rms=float(np.sqrt(max(fits.mean_square[row], 0.0))),
        kind=kind,
        axis_in_parent=axes[1] if kind == "hinge" else None,
        axis_in_child=axes[0] if kind == "hinge" else None,
    )


def _padded(covariance: Array | None) -> Array:
    """(6, 6) of which only the parent's part is known."""
    whole = np.zeros((6, 6))
    if covariance is not None:
        whole[3:, 3:] = covariance
    return whole
