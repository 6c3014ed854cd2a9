"""Bones of fixed length through joint positions that do not keep theirs.

[004] §3.3, docs/methods.md §5.
"""

import enum
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from osteon.errors import BadValue, NotEnoughData, ShapeError
from osteon.fixed_lengths.moments import debiased, length_moments, mean_lengths
from osteon.papers import Links, divide, join
from osteon.typing import Array, Indices, Mask

WEAK_WEIGHT = 1e-4
"""Ratio: weight of a filled-in position to one that is seen. Chosen: enough to decide where nothing
is seen, too little to pull."""
LAST_STEP = 1e-8
"""Metres: the lengths are found when a Newton step moves none farther. Chosen: what then remains is
of the order of its square."""
LAST_PULL = 1e-10
"""Metres: a frame is placed when no freedom of it pulls harder. Chosen."""
FRAME_ITERATIONS, LENGTH_ITERATIONS = 100, 50
"""At most, of a frame and of the lengths. Chosen: bounds time."""
LEAST_FRAMES = 500
"""Frames. Chosen: fewer are not worth a thread."""

T = TypeVar("T")


class FitStatus(enum.Enum):
    """Why the fit of the lengths ended."""

    GIVEN = "lengths given"
    DEBIASED = "lengths from the moments of the bones, in closed form"
    STEP_TOLERANCE = "step below tolerance"
    MAX_ITERATIONS = "iteration limit reached"
    STALLED = "no step lowers the cost"

    @property
    def converged(self) -> bool:
        return self not in (FitStatus.MAX_ITERATIONS, FitStatus.STALLED)


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
    status: FitStatus
    iterations: int
    """Newton steps for the lengths."""
    unsettled: tuple[int, ...] = ()
    """Frames whose own iteration did not settle."""
    doubtful: tuple[int, ...] = ()
    """Joints whose bone is no longer than its noise; the mean of what was seen stands for it."""
    disagreement: float = 0.0
    """With ``dividing``: RMS distance of the links' ideas of the joints they share, metres."""

    @property
    def rms(self) -> float:
        """Over all joints and frames seen, metres."""
        return float(np.sqrt(np.nanmean(self.residuals**2)))


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """What the kernel is given."""

    targets: Array
    weights: Array
    parents: Indices
    starts: Indices
    below: Indices


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
        bone's length varies, see :func:`osteon.fixed_lengths.moments.debiased`.
    dividing
        Solve chains apart as the paper does, to compare with; they disagree where they meet.
    """
    joints, tree = _checked(positions, parents)
    known = _known(lengths, tree)
    if noise is not None and not (np.isfinite(noise) and noise >= 0.0):
        raise BadValue(f"noise must be a standard deviation in metres, got {noise}")
    if not dividing:
        return _fit(joints, tree, known, debias=debias, noise=noise)
    links = divide(joints, tree)
    apart = _fit(
        joints[:, links.columns], links.parents, known[links.columns], debias=debias, noise=noise
    )
    return _put_together(apart, joints, tree, links)


def _fit(
    positions: Array,
    tree: Indices,
    known: Array,
    *,
    debias: bool,
    noise: float | None,
) -> LengthFit:
    moments = length_moments(positions, tree)
    bones = tree >= 0
    unknown = bones & np.isnan(known)
    unseen = np.flatnonzero(unknown & (moments.frames == 0))
    if len(unseen):
        raise NotEnoughData(
            f"the bone to joint {unseen[0]} is never seen with both its ends; give its length or "
            "leave it out"
        )
    estimate = debiased(moments, noise) if debias else mean_lengths(moments)
    start = np.where(unknown, estimate.lengths, np.where(bones, known, 0.0))
    seen = np.isfinite(positions).all(axis=-1)
    problem = _problem(filled(positions, tree), np.where(seen, 1.0, WEAK_WEIGHT), tree)
    if debias or not unknown.any():
        status = FitStatus.DEBIASED if unknown.any() else FitStatus.GIVEN
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
        tuple(np.flatnonzero(~seen.any(axis=-1)).tolist()),
        status,
        iterations,
        tuple(np.flatnonzero(~settled).tolist()),
        doubtful=tuple(np.flatnonzero(unknown & estimate.doubtful).tolist()) if debias else (),
    )


def _put_together(apart: LengthFit, positions: Array, tree: Indices, links: Links) -> LengthFit:
    """One skeleton again: every link starts where the one before has put their joint."""
    whole, disagreement = join(apart.positions, links, tree)
    own = links.own
    return replace(
        apart,
        positions=whole,
        lengths=apart.lengths[own],
        standard_errors=apart.standard_errors[own],
        noise=apart.noise[own],
        residuals=np.linalg.norm(whole - positions, axis=-1),
        disagreement=disagreement,
        doubtful=tuple(np.flatnonzero(np.isin(own, apart.doubtful)).tolist()),
    )


def _newton(
    problem: _Problem, lengths: Array, free: Mask
) -> tuple[Array, Array, Array, Mask, FitStatus, int]:
    """Least-squares lengths: Newton on the cost that is left when every frame is placed."""
    placed, settled = _place(problem, lengths, problem.targets.copy())
    cost, gradients, hessian = _system(problem, lengths, placed, free)
    status, iteration = FitStatus.MAX_ITERATIONS, 0
    while iteration < LENGTH_ITERATIONS:
        iteration += 1
        step = np.zeros_like(lengths)
        step[free] = -np.linalg.solve(hessian, gradients.sum(axis=0))
        size = _longest_step(lengths, step)
        while size > 1e-6:
            tried = lengths + size * step
            moved, settled = _place(problem, tried, placed.copy())
            cost_tried, gradients, hessian = _system(problem, tried, moved, free)
            if cost_tried <= cost * (1.0 + 1e-12) or np.abs(size * step).max() <= LAST_STEP:
                break
            size *= 0.5
        else:
            status = FitStatus.STALLED
            break
        lengths, placed, cost = tried, moved, cost_tried
        if np.abs(size * step).max(initial=0.0) <= LAST_STEP:
            status = FitStatus.STEP_TOLERANCE
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


def _system(
    problem: _Problem, lengths: Array, placed: Array, free: Mask
) -> tuple[float, Array, Array]:
    """Cost of the placed frames; its gradient by frame and curvature in the free lengths."""
    from osteon.fixed_lengths import (
        _length_kernel,  # numba loads only when a fit is made
    )

    n_joints = len(lengths)
    gradients = np.zeros((len(placed), n_joints))

    def work(frames: slice) -> tuple[float, Array]:
        hessian = np.zeros((n_joints, n_joints))
        cost = _length_kernel.length_system(
            problem.targets[frames],
            problem.weights[frames],
            problem.parents,
            problem.starts,
            problem.below,
            lengths,
            placed[frames],
            gradients[frames],
            hessian,
        )
        return cost, hessian

    costs, hessians = zip(*_in_threads(work, len(placed)), strict=True)
    hessian = np.sum(hessians, axis=0)[np.ix_(free, free)]
    values, vectors = np.linalg.eigh(hessian)
    # far from the answer the curvature may be negative; its size still tells how far to go
    values = np.maximum(np.abs(values), 1e-6 * np.abs(values).max(initial=1e-300))
    return sum(costs), gradients[:, free], (vectors * values) @ vectors.T


def _place(problem: _Problem, lengths: Array, start: Array) -> tuple[Array, Mask]:
    """Every frame on its own, lengths given; ``start`` is moved. Also which frames settled."""
    from osteon.fixed_lengths import _length_kernel

    settled = np.zeros(len(start), dtype=np.bool_)

    def work(frames: slice) -> None:
        _length_kernel.place_frames(
            problem.targets[frames],
            problem.weights[frames],
            problem.parents,
            lengths,
            LAST_PULL,
            FRAME_ITERATIONS,
            start[frames],
            settled[frames],
        )

    _in_threads(work, len(start))
    return start, settled


def _in_threads(work: Callable[[slice], T], n_frames: int) -> list[T]:
    """Stretches of frames at the same time: the kernels let go of the interpreter."""
    n_threads = min(os.cpu_count() or 1, -(-n_frames // LEAST_FRAMES))
    edges = np.linspace(0, n_frames, n_threads + 1).astype(int).tolist()
    stretches = [slice(first, last) for first, last in pairwise(edges)]
    if n_threads < 2:
        return [work(stretch) for stretch in stretches]
    with ThreadPoolExecutor(n_threads) as threads:
        return list(threads.map(work, stretches))


def _problem(targets: Array, weights: Array, tree: Indices) -> _Problem:
    below: list[list[int]] = [[] for _ in tree]
    for joint, parent in enumerate(tree):
        while parent >= 0:
            below[parent].append(joint)
            parent = tree[parent]
    starts = np.concatenate([[0], np.cumsum([len(joints) for joints in below])]).astype(np.int64)
    flat = np.array([joint for joints in below for joint in joints], dtype=np.int64)
    # one memory layout: the kernels are compiled once
    targets, weights = np.ascontiguousarray(targets), np.ascontiguousarray(weights)
    return _Problem(targets, weights, tree, starts, flat)


def filled(positions: Array, parents: Sequence[int] | Indices) -> Array:
    """Positions (n_frames, n_joints, 3) without gaps.

    A missing joint is where its bone's vector, carried over the gap in a straight line, puts it;
    a root goes in a straight line itself. Only a guess: the fit gives it next to no weight.
    """
    whole = np.array(positions)
    for joint, parent in enumerate(parents):
        base = np.zeros(3) if parent < 0 else whole[:, parent]
        vector = np.array(positions[:, joint] - base)
        missing = ~np.isfinite(vector).all(axis=-1)
        if missing.all():
            vector[:] = 0.0
        elif missing.any():
            frames, seen = np.flatnonzero(missing), np.flatnonzero(~missing)
            for axis in range(3):
                vector[missing, axis] = np.interp(frames, seen, vector[seen, axis])
        whole[missing, joint] = (base + vector)[missing]
    return whole


def _checked(positions: ArrayLike, parents: Sequence[int]) -> tuple[Array, Indices]:
    joints, tree = np.array(positions, dtype=float), np.array(parents, dtype=np.int64)
    if joints.ndim != 3 or joints.shape[1:] != (len(tree), 3):
        raise ShapeError(
            f"positions must have shape (n_frames, {len(tree)}, 3) for {len(tree)} parents, "
            f"got {joints.shape}"
        )
    if (tree >= np.arange(len(tree))).any() or (tree < -1).any():
        raise BadValue("parents must stand before their children, −1 for the root")
    if len(tree) < 2 or not (tree >= 0).any():
        raise NotEnoughData("a skeleton needs two joints or more with a bone between them")
    joints[~np.isfinite(joints).all(axis=-1)] = np.nan
    if not np.isfinite(joints).any():
        raise NotEnoughData("no joint is seen in any frame")
    return joints, tree


def _known(lengths: ArrayLike | None, tree: Indices) -> Array:
    if lengths is None:
        return np.full(len(tree), np.nan)
    known = np.array(lengths, dtype=float)
    if known.shape != tree.shape:
        raise ShapeError(f"lengths must have shape ({len(tree)},), got {known.shape}")
    if (known[tree >= 0] < 0.0).any() or np.isinf(known).any():
        raise BadValue("lengths must not be negative or infinite")
    return known
