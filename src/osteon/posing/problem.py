"""What poses are fitted to: said once, and handed on from stage to stage."""

from dataclasses import dataclass

import numpy as np

from osteon.errors import ShapeError
from osteon.joint_limits import Bounds
from osteon.posing._kernels.levenberg_marquardt import Task, make_task
from osteon.posing._kernels.normal_equations import PoseModel, make_model
from osteon.posing.rig import Rig
from osteon.typing import Array

REST_WEIGHT = 1e-8
"""Pull of each joint to its rest, square metres per square radian. A marker error of σ metres
balances a joint σ / √REST_WEIGHT radians from rest; chosen so small that it only settles what no
marker sees."""


@dataclass(frozen=True, slots=True, eq=False)
class PoseProblem:
    """A rig, where its markers were seen in every frame, and what its joints are pulled to."""

    rig: Rig
    targets: Array
    """(n_frames, n_markers, 3) metres; NaN where not seen."""
    weights: Array = 1.0  # type: ignore[assignment]
    """(n_frames or 1, n_markers) trust in each marker; 0 leaves it out. Given as one number, for
    each marker, or for each in every frame."""
    rest_weights: Array = REST_WEIGHT  # type: ignore[assignment]
    """(n_bodies,) pull of each joint to the rest, square metres per square radian; the root has no
    rest. Given as one number or for each joint."""
    rest: Array = (1.0, 0.0, 0.0, 0.0)  # type: ignore[assignment]
    """(n_frames or 1, n_bodies, 4) local rotations of the rest pose. Given as one rotation, for
    each body, or for each in every frame."""
    bounds: Bounds | None = None
    """Limits of the joints, which pull back what leaves them."""

    def __post_init__(self) -> None:
        tree, targets = self.rig.tree, np.ascontiguousarray(self.targets, dtype=np.float64)
        if targets.ndim != 3 or targets.shape[1:] != (tree.n_markers, 3):
            wanted = f"(n_frames, {tree.n_markers}, 3)"
            raise ShapeError(f"targets must have shape {wanted}, got {targets.shape}")
        object.__setattr__(self, "targets", targets)
        object.__setattr__(self, "weights", _rows(self.weights, (tree.n_markers,)))
        object.__setattr__(self, "rest", _rows(self.rest, (tree.n_bodies, 4)))
        pull = np.broadcast_to(np.asarray(self.rest_weights, dtype=np.float64), tree.n_bodies)
        object.__setattr__(self, "rest_weights", pull)

    @property
    def n_frames(self) -> int:
        return len(self.targets)

    def model(self, *, root_held: bool = False) -> PoseModel:
        """Return the rig as the kernels walk over it."""
        return make_model(self.rig, self.rest_weights, self.bounds, root_held=root_held)

    def task(self) -> Task:
        """Return every frame yet to be solved, without a start."""
        n_frames, tree = self.n_frames, self.rig.tree
        rotations = np.full((n_frames, tree.n_bodies, 4), np.nan)
        root = np.full((n_frames, 3), np.nan)
        return make_task(self.targets, self.weights, self.rest, rotations, root)


def _rows(values: Array, row: tuple[int, ...]) -> Array:
    """Return (n_frames or 1, *row) of what is given for every frame, for all, or for all of a
    row."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim <= len(row):
        values = np.broadcast_to(values, row)[None]
    return np.require(values, requirements=["C", "W"])  # kernels know one kind of array
