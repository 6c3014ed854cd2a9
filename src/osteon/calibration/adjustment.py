"""The fit itself: joints, marker places and poses together, by Gauss–Newton (docs/methods.md §4).

Unknown are the shared numbers of a ``SubjectModel`` and, for every frame, the root's place and the
orientation of every body. These are absolute (world from body), so a marker's derivative with
respect to a body on its path is one cross product with the arm that this body carries. Frames
couple only through the shared numbers: each frame is eliminated on its own and what remains is
one small dense system (Schur complement). A step costs O(frames).
"""

from dataclasses import dataclass

import numpy as np

from osteon.calibration._adjustment_kernel import accumulate
from osteon.calibration.listening import Share, unheard
from osteon.calibration.priors import Beliefs
from osteon.calibration.subject_model import SubjectModel
from osteon.maths import quat
from osteon.typing import Array

MARKER_SIGMA = 0.010
"""Metres. What a marker's skin may do; the noise of a camera is far smaller."""
REST_SIGMA = 5.0
"""Radians. How far bodies are from the rest pose relative to their parents: decides only where
markers are silent. At 1 the hanging arms of a walk pulled shoulders 40 mm inwards on synthetic
performers, for the rest pose stretches the arms out; from 3 to 10 the pull is lost in the noise."""
OUTLIER = 4.0
"""Residuals beyond this many standard deviations lose weight."""
FIRST_OUTLIER = 20.0
"""The same while poses are rough: a limb that starts the wrong way round because a gap hid half of
its markers must still be turned by the other half."""


@dataclass(frozen=True)
class FramePoses:
    """World orientation of every body and the root's place, per frame."""

    rotations: Array
    """(n_frames, n_bodies, 3, 3)"""
    root: Array
    """(n_frames, 3)"""

    def moved(self, step: Array) -> "FramePoses":
        """After a tangent step (n_frames, 3 + 3 n_bodies)."""
        turn = quat.to_matrix(quat.exp(step[:, 3:].reshape(len(step), -1, 3)))
        return FramePoses(turn @ self.rotations, self.root + step[:, :3])


@dataclass(frozen=True)
class Adjustment:
    """Where the fit ended."""

    rig: SubjectModel
    poses: FramePoses
    residuals: Array
    """(n_frames, n_markers, 3) model minus recording; 0 where not seen."""
    information: Array
    """(n_shared, n_shared) inverse covariance of the shared unknowns at the assumed noise."""
    iterations: int
    converged: bool


def adjust(
    rig: SubjectModel,
    observed: Array,
    poses: FramePoses,
    beliefs: Beliefs,
    *,
    outlier: float = OUTLIER,
    max_iterations: int = 60,
    tolerance: float = 1e-4,
    progress: Share = unheard,
) -> Adjustment:
    """Fit everything to the frames given.

    Parameters
    ----------
    observed : (n_frames, n_markers, 3)
        Metres; NaN where not seen.
    outlier
        Standard deviations beyond which residuals lose weight.
    tolerance
        Stop when an accepted step lowers the cost by less than this share.
    """
    damping = 1e-3
    state = _evaluate(rig, observed, poses, beliefs, outlier)
    information = np.zeros((rig.n_shared, rig.n_shared))
    converged, iterations = False, 0
    while not converged and iterations < max_iterations:
        iterations += 1
        progress(iterations / max_iterations)
        system = _linearise(state, beliefs)
        while True:
            shared_step, pose_step, information = _solve(system, damping)
            candidate = _evaluate(
                state.rig.with_shared(state.rig.shared + shared_step),
                observed,
                state.poses.moved(pose_step),
                beliefs,
                outlier,
            )
            if candidate.cost <= state.cost or damping > 1e6:
                break
            damping *= 8.0
        gain = (state.cost - candidate.cost) / max(state.cost, 1e-300)
        converged = gain < tolerance
        if gain >= 0.0:
            state, damping = candidate, max(damping / 8.0, 1e-9)
    return Adjustment(state.rig, state.poses, state.residuals, information, iterations, converged)


@dataclass(frozen=True)
class _State:
    rig: SubjectModel
    poses: FramePoses
    seen: np.ndarray
    residuals: Array
    weights: Array
    """(n_frames, n_markers) of the squared residual, robust weight included."""
    lean: Array
    """(n_frames, n_bodies − 1, 3) rotation vectors from the parent, in the parent's frame."""
    cost: float


def _evaluate(
    rig: SubjectModel,
    observed: Array,
    poses: FramePoses,
    beliefs: Beliefs,
    outlier: float = OUTLIER,
) -> _State:
    joints = joint_places(rig, poses)
    carriers = rig.marker_bodies
    model = joints[:, carriers] + np.einsum(
        "fmij,mj->fmi", poses.rotations[:, carriers], rig.places
    )
    seen = np.isfinite(observed[..., 0])
    residuals = np.where(seen[..., None], model - observed, 0.0)
    squared = np.einsum("fmi,fmi->fm", residuals, residuals) / MARKER_SIGMA**2
    # Geman–McClure: quadratic for honest markers, flat for impossible ones
    soft = 1.0 + squared / outlier**2
    weights = np.where(seen, 1.0 / (soft**2 * MARKER_SIGMA**2), 0.0)
    parents = np.array(rig.parents[1:], dtype=int)
    relative = np.swapaxes(poses.rotations[:, parents], -1, -2) @ poses.rotations[:, 1:]
    lean = quat.log(quat.from_matrix(relative))
    cost = 0.5 * float(np.sum(np.where(seen, squared / soft, 0.0)))
    cost += 0.5 * float(np.sum(lean**2)) / REST_SIGMA**2
    cost += beliefs.normal(rig.shared)[2]
    return _State(rig, poses, seen, residuals, weights, lean, cost)


def joint_places(rig: SubjectModel, poses: FramePoses) -> Array:
    """(n_frames, n_bodies, 3) joints in the world."""
    joints = np.zeros((len(poses.root), rig.n_bodies, 3))
    joints[:, 0] = poses.root
    for body, parent in enumerate(rig.parents):
        if parent >= 0:
            joints[:, body] = joints[:, parent] + poses.rotations[:, parent] @ rig.offsets[body]
    return joints


@dataclass(frozen=True)
class _System:
    pose: Array
    """(n_frames, d, d)"""
    cross: Array
    """(n_frames, d, n_shared)"""
    shared: Array
    pose_gradient: Array
    shared_gradient: Array


def _linearise(state: _State, beliefs: Beliefs) -> _System:
    rig, n_frames, d = state.rig, len(state.residuals), 3 + 3 * state.rig.n_bodies
    normal, gradient, _ = beliefs.normal(rig.shared)
    system = _System(
        pose=np.zeros((n_frames, d, d)),
        cross=np.zeros((n_frames, d, rig.n_shared)),
        shared=normal,
        pose_gradient=np.zeros((n_frames, d)),
        shared_gradient=gradient,
    )
    accumulate(
        state.poses.rotations,
        state.residuals,
        state.weights,
        rig.marker_bodies,
        np.array(rig.parents),
        rig.offsets,
        rig.places,
        system.pose,
        system.cross,
        system.shared,
        system.pose_gradient,
        system.shared_gradient,
    )
    _add_rest(state, system.pose, system.pose_gradient)
    return system


def _add_rest(state: _State, normal: Array, gradient: Array) -> None:
    """The pull towards the rest pose, as a spring between each body and its parent."""
    weight = 1.0 / REST_SIGMA**2
    for body, parent in enumerate(state.rig.parents):
        if parent < 0:
            continue
        pull = weight * np.einsum(
            "fij,fj->fi", state.poses.rotations[:, parent], state.lean[:, body - 1]
        )
        own, other = slice(3 + 3 * body, 6 + 3 * body), slice(3 + 3 * parent, 6 + 3 * parent)
        gradient[:, own] += pull
        gradient[:, other] -= pull
        diagonal = weight * np.eye(3)
        normal[:, own, own] += diagonal
        normal[:, other, other] += diagonal
        normal[:, own, other] -= diagonal
        normal[:, other, own] -= diagonal


def _solve(system: _System, damping: float) -> tuple[Array, Array, Array]:
    """Shared step, pose steps, and the information left for the shared unknowns."""
    size = system.pose.shape[-1]
    diagonal = np.einsum("fii->fi", system.pose)
    floor = 1e-9 * diagonal.max()
    damped = system.pose + np.eye(size) * (damping * diagonal + floor)[:, None, :]
    right = np.concatenate([system.cross, system.pose_gradient[..., None]], axis=-1)
    eliminated = np.linalg.solve(damped, right)
    by_shared, by_gradient = eliminated[..., :-1], eliminated[..., -1]
    n_shared = system.shared.shape[0]
    flat = system.cross.reshape(-1, n_shared)
    information = system.shared - flat.T @ by_shared.reshape(-1, n_shared)
    gradient = system.shared_gradient - flat.T @ by_gradient.reshape(-1)
    lifted = information + damping * np.diag(np.diag(system.shared))
    shared_step = -np.linalg.solve(lifted, gradient)
    pose_step = -(by_gradient + by_shared @ shared_step)
    return shared_step, pose_step, information
