"""Bones of fixed length through joint positions that do not keep theirs (004 §3.3, METHODS §5)."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ossature.calibrate.joint_noise import Moments, debiased, length_moments
from ossature.errors import BadValue, NotEnoughData, ShapeError
from ossature.maths.quat import Array

WEAK = 1e-4
"""Weight of a filled-in position: enough to decide where nothing is seen, too little to pull."""
STEP = 1e-11
"""The lengths are found when a Newton step moves none farther, metres."""
GRADIENT = 1e-10
"""A frame is placed when no freedom of it pulls harder, metres."""
FRAME_ITERATIONS, LENGTH_ITERATIONS = 100, 50


class Status(enum.Enum):
    """Why the fit of the lengths ended."""

    GIVEN = "lengths given"
    DEBIASED = "lengths from the moments of the bones, in closed form"
    STEP_TOLERANCE = "step below tolerance"
    MAX_ITERATIONS = "iteration limit reached"
    STALLED = "no step lowers the cost"

    @property
    def converged(self) -> bool:
        return self not in (Status.MAX_ITERATIONS, Status.STALLED)


@dataclass(frozen=True, slots=True, eq=False)
class LengthFit:
    """Joints with bones of constant length, and how well they meet the data."""

    positions: Array
    """(n_frames, n_joints, 3) metres; always whole."""
    lengths: Array
    """(n_joints,) of the bone from each joint's parent, metres; NaN for the root."""
    standard_errors: Array
    """(n_joints,) of the lengths, metres; NaN where they were given and for the root."""
    noise: Array
    """(n_joints,) standard deviation of a coordinate of the bone's vector, metres."""
    residuals: Array
    """(n_frames, n_joints) distance from the fit to the data, metres; NaN where not seen."""
    held: tuple[int, ...]
    """Frames in which nothing was seen."""
    status: Status
    iterations: int
    """Newton steps for the lengths."""
    unsettled: tuple[int, ...] = ()
    """Frames whose own iteration did not settle."""
    disagreement: float = 0.0
    """With ``dividing``: RMS distance of the links' ideas of the joints they share, metres."""

    @property
    def rms(self) -> float:
        """Over all joints and frames seen, metres."""
        return float(np.sqrt(np.nanmean(self.residuals**2)))

    def __str__(self) -> str:
        return (
            f"{self.status.value}; {self.iterations} iterations, "
            f"RMS {1e3 * self.rms:.1f} mm, {len(self.unsettled)} frames unsettled"
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """What the kernel is given."""

    targets: Array
    weights: Array
    parents: NDArray[np.int64]
    starts: NDArray[np.int64]
    below: NDArray[np.int64]


def fit_lengths(
    positions: ArrayLike,
    parents: Sequence[int],
    *,
    lengths: ArrayLike | None = None,
    debias: bool = True,
    noise: float | None = None,
    dividing: bool = False,
) -> LengthFit:
    """Move joints as little as possible so that every bone keeps one length over the take.

    Minimises Σ‖p − q‖² subject to ‖p_child − p_parent‖ = l, in time linear in the frames.

    Parameters
    ----------
    positions : (n_frames, n_joints, 3)
        Joint centres q, metres; NaN where unknown.
    parents : (n_joints,)
        Index of each parent, −1 for the root; ``parents[j] < j``.
    lengths : (n_joints,), optional
        Known lengths, metres; NaN where to be found. The root's is not used.
    debias
        Take the noise of the joints out of the lengths. Least squares lengthens bones by about
        the noise variance over the length: 8 % for 1 cm on 5 cm. False: the paper's least squares.
    noise
        Standard deviation of one coordinate of a joint, metres; by default told from how each
        bone's length varies, see :func:`ossature.calibrate.joint_noise.debiased`.
    dividing
        Solve chains apart as the paper does, to compare with; they disagree where they meet.
    """
    positions, tree = _checked(positions, parents)
    known = _known(lengths, tree)
    moments = length_moments(positions, tree)
    if dividing:
        return _fit_divided(positions, tree, known, moments, debias=debias, noise=noise)
    return _fit_whole(positions, tree, known, moments, debias=debias, noise=noise)


def _fit_whole(
    positions: Array,
    tree: NDArray[np.int64],
    known: Array,
    moments: Moments,
    *,
    debias: bool,
    noise: float | None,
) -> LengthFit:
    bones = tree >= 0
    unknown = bones & np.isnan(known)
    unseen = np.flatnonzero(unknown & (moments.count == 0))
    if len(unseen):
        raise NotEnoughData(
            f"bone {unseen[0]} is never seen with both its ends; give its length or leave it out"
        )
    estimate = debiased(moments, noise) if debias else moments.mean_estimate()
    start = np.where(unknown, estimate.lengths, known)
    seen = np.isfinite(positions).all(axis=-1)
    problem = _problem(filled(positions, tree), np.where(seen, 1.0, WEAK), tree)
    if debias or not unknown.any():
        status = Status.DEBIASED if unknown.any() else Status.GIVEN
        placed, settled = _place(problem, start, problem.targets.copy())
        solved, errors, iterations = start, estimate.errors, 0
    else:
        # a bone of no length in the data has no direction that a step could follow
        free = unknown & (start > 0.0)
        solved, errors, placed, settled, status, iterations = _newton(problem, start, free)
    residuals = np.where(seen, np.linalg.norm(placed - problem.targets, axis=-1), np.nan)
    return LengthFit(
        placed,
        np.where(bones, solved, np.nan),
        np.where(unknown, errors, np.nan),
        estimate.noise,
        residuals,
        tuple(np.flatnonzero(~seen.any(axis=1)).tolist()),
        status,
        iterations,
        tuple(np.flatnonzero(~settled).tolist()),
    )


def _newton(
    problem: _Problem, lengths: Array, free: NDArray[np.bool_]
) -> tuple[Array, Array, Array, NDArray[np.bool_], Status, int]:
    """Least-squares lengths: Newton on the cost that is left when every frame is placed."""
    placed, settled = _place(problem, lengths, problem.targets.copy())
    cost, gradients, hessian = _system(problem, lengths, placed, free)
    status, iteration = Status.MAX_ITERATIONS, 0
    for iteration in range(1, LENGTH_ITERATIONS + 1):
        step = np.zeros_like(lengths)
        step[free] = -np.linalg.solve(hessian, gradients.sum(axis=0))
        size = _longest_step(lengths, step)
        while size > 1e-6:
            tried = lengths + size * step
            moved, settled = _place(problem, tried, placed.copy())
            cost_tried, gradients, hessian = _system(problem, tried, moved, free)
            if cost_tried <= cost * (1.0 + 1e-12):
                break
            size *= 0.5
        else:
            status = Status.STALLED
            break
        lengths, placed, cost = tried, moved, cost_tried
        if np.abs(size * step).max(initial=0.0) <= STEP:
            status = Status.STEP_TOLERANCE
            break
    errors = np.full(len(lengths), np.nan)
    errors[free] = _sandwich(gradients, hessian)
    return lengths, errors, placed, settled, status, iteration


def _longest_step(lengths: Array, step: Array) -> float:
    """Share of the step after which no bone has lost more than half of its length."""
    shrinking = step < 0.0
    return float(np.min(-0.5 * lengths[shrinking] / step[shrinking], initial=1.0))


def _sandwich(gradients: Array, hessian: Array) -> Array:
    """Standard errors from the scatter of the frames' gradients, neighbours taken together."""
    blocks = np.array_split(gradients, min(len(gradients), 32))
    sums = np.array([block.sum(axis=0) for block in blocks])
    steps = np.linalg.solve(hessian, sums.T)
    return np.sqrt(np.sum(steps**2, axis=1))
