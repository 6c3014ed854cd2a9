"""The fit itself: joints, marker places and poses together, by Gauss–Newton (docs/methods.md §4).

Unknown are the shared numbers of a ``SubjectModel`` and, for every frame, where each body is and
how it is turned. Bodies are free; a joint is a term that pulls the two ends together, as firmly as
its ``Scatter`` says. So what glides, slides under skin or bends is misfit with a size of its own,
and neither forced into the markers nor into the joints' places. Frames couple only through the
shared numbers: each is eliminated on its own along the tree, and what remains is one small dense
system. A step costs O(frames · bodies).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from osteon.calibration._adjustment_kernel import (
    Eliminated,
    back_substitute,
    eliminate,
    pose_variances,
)
from osteon.calibration._adjustment_terms_kernel import FitTree, JointScatter, Misfits
from osteon.calibration.priors import Beliefs
from osteon.calibration.scatter import Scatter
from osteon.calibration.subject_model import SubjectModel
from osteon.maths import quat
from osteon.typing import Array, Share, unheard

LONGEST_TURN = 0.5
"""Radians that a body turns in one step at most: farther the linear model is not true (derived
from the sine, 4 % short)."""


@dataclass(frozen=True)
class FramePoses:
    """World orientation and place of every body, per frame."""

    rotations: Array
    """(n_frames, n_bodies, 3, 3)"""
    positions: Array
    """(n_frames, n_bodies, 3) the bodies' origins, their joints."""

    def move(self, steps: Array) -> "FramePoses":
        """Return the poses after tangent steps (n_frames, n_bodies, 6), place and turn."""
        turns = steps[..., 3:]
        size = np.linalg.norm(turns, axis=-1, keepdims=True)
        turns = turns * np.minimum(1.0, LONGEST_TURN / np.maximum(size, 1e-12))
        matrices = quat.to_matrix(quat.exp(turns))
        return FramePoses(matrices @ self.rotations, self.positions + steps[..., :3])

    def __getitem__(self, frames: np.ndarray) -> "FramePoses":
        return FramePoses(self.rotations[frames], self.positions[frames])


@dataclass(frozen=True)
class PoseVariances:
    """How unsure the poses leave what they explain, metres² and radians²."""

    markers: Array
    """(n_frames, n_markers) of modelled markers, sum of three coordinates."""
    gaps: Array
    """(n_frames, n_bodies, 3) of joints' gaps, along the axes of the parent's frame."""
    leans: Array
    """(n_frames, n_bodies) of turns from the parent, sum of three."""


@dataclass(frozen=True)
class Adjustment:
    """Where the fit ended."""

    rig: SubjectModel
    poses: FramePoses
    residuals: Array
    """(n_frames, n_markers, 3) model minus recording; 0 where not seen."""
    weights: Array
    """(n_frames, n_markers) robust weights, 0 where not seen."""
    gaps: Array
    """(n_frames, n_bodies, 3) joints as their bodies have them minus as parents have them, in the
    parent's frame."""
    leans: Array
    """(n_frames, n_bodies, 3) rotation vectors from the parent, in the parent's frame."""
    information: Array
    """(n_shared, n_shared) inverse covariance of the shared unknowns."""
    variances: PoseVariances
    iterations: int
    converged: bool


def adjust(
    rig: SubjectModel,
    observed: Array,
    poses: FramePoses,
    beliefs: Beliefs,
    scatter: Scatter,
    *,
    max_iterations: int = 60,
    tolerance: float = 1e-4,
    progress: Share = unheard,
) -> Adjustment:
    """Fit everything to the frames given.

    Parameters
    ----------
    observed : (n_frames, n_markers, 3)
        Metres; NaN where not seen.
    scatter
        How far markers and joints are from where a rigid model has them.
    tolerance
        Stop when an accepted step lowers the cost by less than this share.
    """
    damping, columns = 1e-3, SubtreeColumns.of(rig)
    state = _evaluate(rig, observed, poses, beliefs, scatter)
    converged, iterations = False, 0
    while not converged and iterations < max_iterations:
        iterations += 1
        progress(iterations / max_iterations)
        while True:
            shared_step, pose_steps = _Normal(state, beliefs, scatter, columns, damping).solve()
            candidate = _evaluate(
                state.rig.with_shared(state.rig.shared + shared_step),
                observed,
                state.poses.move(pose_steps),
                beliefs,
                scatter,
            )
            if candidate.cost <= state.cost or damping > 1e6:
                break
            damping *= 8.0
        gain = (state.cost - candidate.cost) / max(state.cost, 1e-300)
        converged = gain < tolerance
        if gain >= 0.0:
            state, damping = candidate, max(damping / 8.0, 1e-9)
    last = _Normal(state, beliefs, scatter, columns)
    return Adjustment(
        state.rig,
        state.poses,
        state.residuals,
        state.weights / scatter.precisions,
        state.local_gaps,
        state.leans,
        last.information,
        last.pose_variances(),
        iterations,
        converged,
    )


def information_at(
    rig: SubjectModel, observed: Array, poses: FramePoses, beliefs: Beliefs, scatter: Scatter
) -> Array:
    """Return the inverse covariance (n_shared, n_shared) of the shared unknowns, nothing fitted."""
    state = _evaluate(rig, observed, poses, beliefs, scatter)
    return _Normal(state, beliefs, scatter, SubtreeColumns.of(rig)).information


@dataclass(frozen=True)
class _State:
    rig: SubjectModel
    poses: FramePoses
    residuals: Array
    weights: Array
    """(n_frames, n_markers) of the squared residual, robust weight included."""
    gaps: Array
    """(n_frames, n_bodies, 3) in the world; ``local_gaps`` in the parent's frame."""
    local_gaps: Array
    leans: Array
    """(n_frames, n_bodies, 3) rotation vectors from the parent, in the parent's frame."""
    cost: float


def _evaluate(
    rig: SubjectModel, observed: Array, poses: FramePoses, beliefs: Beliefs, scatter: Scatter
) -> _State:
    carriers, rotations = rig.marker_bodies, poses.rotations
    model = poses.positions[:, carriers] + np.einsum(
        "fmij,mj->fmi", rotations[:, carriers], rig.places
    )
    seen = np.isfinite(observed[..., 0])
    residuals = np.where(seen[..., None], model - observed, 0.0)
    squared = np.einsum("fmi,fmi->fm", residuals, residuals)
    # Geman–McClure: quadratic for honest markers, flat for impossible ones
    soft = 1.0 + squared / scatter.outliers**2
    weights = np.where(seen, scatter.precisions / soft**2, 0.0)
    above = np.array([max(parent, 0) for parent in rig.parents])
    arms = np.einsum("fbij,bj->fbi", rotations[:, above], rig.offsets)
    gaps = poses.positions - poses.positions[:, above] - arms
    gaps[:, 0] = 0.0
    local = np.einsum("fbji,fbj->fbi", rotations[:, above], gaps)
    leans = quat.log(quat.from_matrix(np.swapaxes(rotations[:, above], -1, -2) @ rotations))
    leans[:, 0] = 0.0
    off = np.einsum("fbij,bj->fbi", rotations - rotations[:, above], scatter.axes)
    cost = float(np.sum(np.where(seen, scatter.precisions * squared / soft, 0.0)))
    cost += float(np.einsum("fbi,bij,fbj->", local, scatter.gap_precisions, local))
    cost += float(np.einsum("fbi,fbi,b->", leans, leans, scatter.lean_precisions))
    cost += float(np.einsum("fbi,fbi,b->", off, off, scatter.axis_precisions))
    cost = 0.5 * cost + beliefs.cost(rig.shared)
    return _State(rig, poses, residuals, weights, gaps, local, leans, cost)


class _Normal:
    """The normal equations about a state, poses eliminated."""

    def __init__(
        self,
        state: _State,
        beliefs: Beliefs,
        scatter: Scatter,
        columns: "SubtreeColumns",
        damping: float = 0.0,
    ) -> None:
        rig, n_frames = state.rig, len(state.residuals)
        size = (n_frames, rig.n_bodies, 6)
        self._state, self._columns, self._damping = state, columns, damping
        self._tree = FitTree(rig.marker_bodies, np.array(rig.parents), rig.offsets, rig.places)
        self.information, self.gradient = beliefs.normal(rig.shared)
        self._diagonal = np.diag(self.information) + _own_information(state, scatter)
        self._left = Eliminated(
            np.zeros((*size, 6)),
            np.zeros((*size, 6)),
            np.zeros((n_frames, 6, columns.blocks[:, 1].sum())),
            np.zeros(size),
        )
        shared, gradient = np.zeros_like(self.information), np.zeros_like(self.gradient)
        rotations = state.poses.rotations
        leans = np.einsum(
            "fbij,fbj->fbi", rotations[:, np.maximum(self._tree.parents, 0)], state.leans
        )
        eliminate(
            Misfits(rotations, state.residuals, state.weights, state.gaps, leans),
            self._tree,
            JointScatter(
                scatter.gap_precisions,
                scatter.lean_precisions,
                scatter.axes,
                scatter.axis_precisions,
            ),
            columns,
            damping,
            shared,
            gradient,
            self._left,
        )
        self._take_away(shared, gradient)
        self.information[np.ix_(columns.order, columns.order)] += shared
        self.gradient[columns.order] += gradient

    def _take_away(self, shared: Array, gradient: Array) -> None:
        """Take from the normal equations what the poses, being unknown, leave open."""
        for body, (start, n, first) in enumerate(self._columns.blocks):
            rows = self._left.crosses[:, :, start : start + n].reshape(-1, n)
            own = slice(first, first + n)
            shared[own, own] -= rows.T @ rows
            gradient[own] -= rows.T @ self._left.right[:, body].ravel()

    def solve(self) -> tuple[Array, Array]:
        """Return the shared step (n_shared,) and the pose steps (n_frames, n_bodies, 6)."""
        lifted = self.information + self._damping * np.diag(self._diagonal)
        shared = -np.linalg.solve(lifted, self.gradient)
        return shared, self.follow(shared)

    def follow(self, shared: Array) -> Array:
        """Return the pose steps (n_frames, n_bodies, 6) that belong to a shared step."""
        steps = np.zeros_like(self._left.right)
        ordered = shared[self._columns.order]
        back_substitute(self._tree.parents, self._columns.blocks, self._left, ordered, steps)
        return steps

    def pose_variances(self) -> PoseVariances:
        rig, n_frames = self._state.rig, len(self._left.right)
        found = PoseVariances(
            np.zeros((n_frames, rig.n_markers)),
            np.zeros((n_frames, rig.n_bodies, 3)),
            np.zeros((n_frames, rig.n_bodies)),
        )
        pose_variances(
            self._state.poses.rotations,
            self._tree,
            self._left,
            found.markers,
            found.gaps,
            found.leans,
        )
        return found


def _own_information(state: _State, scatter: Scatter) -> Array:
    """(n_shared,) what frames would tell of each shared unknown if all else were known."""
    joints = len(state.residuals) * np.einsum("bii->bi", scatter.gap_precisions[1:])
    return np.concatenate([joints.ravel(), np.repeat(state.weights.sum(axis=0), 3)])


class SubtreeColumns(NamedTuple):
    """The shared unknowns in an order in which those of every subtree stand together.

    A body's poses meet the unknowns of its own subtree only, its own joint's included. Side by side
    they are plain rows for the kernel, and one product of matrices over all frames.
    """

    order: np.ndarray
    """(n_shared,) which shared unknown stands where."""
    markers: np.ndarray
    """(n_markers,) where each one's three begin."""
    joints: np.ndarray
    """(n_bodies,) likewise; 0 for the root, which has none."""
    blocks: np.ndarray
    """(n_bodies, 3) where a body's columns begin in ``crosses``, how many they are, and at which
    of the ordered unknowns they begin."""

    @classmethod
    def of(cls, rig: SubjectModel) -> "SubtreeColumns":
        order: list[int] = []
        markers, joints = np.zeros(rig.n_markers, np.int64), np.zeros(rig.n_bodies, np.int64)
        firsts, counts = joints.copy(), joints.copy()

        def place(columns: slice) -> int:
            order.extend(range(*columns.indices(rig.n_shared)))
            return len(order) - 3

        def visit(body: int) -> None:
            firsts[body] = len(order)
            for child in np.flatnonzero(np.array(rig.parents) == body):
                visit(int(child))
            for marker in np.flatnonzero(rig.marker_bodies == body):
                markers[marker] = place(rig.marker_columns(int(marker)))
            if body > 0:
                joints[body] = place(rig.joint_columns(body))
            counts[body] = len(order) - firsts[body]

        visit(0)
        starts = np.cumsum(counts) - counts
        return cls(np.array(order), markers, joints, np.stack([starts, counts, firsts], axis=-1))
