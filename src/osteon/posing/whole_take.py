"""Poses of a whole clip together: markers, and joints that do not jerk without reason.

The marker cost of every frame is joined by one term per degree of freedom and frame: the third
difference of its coordinate over time, divided by its process noise. That is the posterior of a
motion driven by random jerk and seen through noisy markers, so there is no lag and nothing to tune:
the markers' noise is read off the fits frame by frame, the joints' from how likely each next frame
is (``process_noise``). It changes along the clip: a still stretch is smoothed well, a kick is left
alone. The normal matrix is banded over frames; its Cholesky factors cost O(frames).

Memory is bounded: windows are solved one after the other. Each starts from the last frames of the
one before, which stand, and looks ahead beyond those that it keeps. So the third differences run
through, and no seam is left.
"""

from dataclasses import dataclass

import numpy as np

from osteon.maths import moving_least, quat, read_only
from osteon.posing._kernels.coordinate_noise import (
    coordinate_variances,
    joint_steps,
    likeliest_noise,
    linearise_clip,
)
from osteon.posing._kernels.lanes import Lanes, PoseModel, make_lanes, make_model
from osteon.posing._kernels.time_band import EMPTY, factor_clip, substitute_band
from osteon.posing.per_frame import PoseProblem, PoseResult
from osteon.posing.rig import Rig
from osteon.typing import Array

NOISE_GRID = 10.0 ** np.arange(-5.0, 0.3, 0.25)
"""Standard deviations of a third difference that are tried, radians or metres per frame³. Chosen:
from a still limb to a kick, four to a decade."""
THIRD_WEIGHTS = np.array([-1.0, 3.0, -3.0, 1.0])
"""Ratios of four frames in a third difference: defined by it."""
JERK_ORDER = len(THIRD_WEIGHTS) - 1
"""Of the differences that are kept small."""
WINDOW_FRAMES, AHEAD_FRAMES = 1024, 128
"""Frames that a window keeps, and how many more it looks ahead. Chosen: by there its end is
forgotten."""
MOST_STEPS = 8
"""Count of steps of a window. Chosen: mostly two or three are enough."""
FAST_SHRINKING = 0.25
"""Ratio of a step to the one before up to which the normal matrix is kept. Chosen: a new one costs
as much as three steps, in which this is a hundredth."""
STEP_TOLERANCE = 1e-4
"""Radians and metres that a further step would move a frame. Chosen: joints are known to some
5e-3."""
ALONE_WEIGHT = 1e-5
"""Pull to the pose of the frame alone, square metres per square radian. Chosen: decides what no
marker sees; without it the free turn of a hand with one marker is any parabola over time."""
SETTLED_STIFFNESS = 1e12
"""Ratio to the stiffness of a marker. Chosen: beside it nothing moves a frame that the window
before has settled."""
UNSEEN_STIFFNESS = 1e-8
"""Ratio to the stiffness of a marker a metre away. Chosen: a coordinate that no marker shows has a
variance, which is large."""


def process_noise(tracks: Array, variances: Array, window: float) -> Array:
    """Standard deviation (n_frames, n_tracks) of each track's third difference.

    For every candidate a Kalman filter runs along the track; how likely it finds each next sample
    (its innovation) is averaged over a window, and the likeliest candidate wins.

    Parameters
    ----------
    tracks : (n_frames, n_tracks)
        Coordinates with independent errors.
    variances : (n_frames, n_tracks)
        Of these errors; inf where there is no evidence.
    window
        Standard deviation of the window, which is nearly Gaussian, frames.
    """
    box = 1 + 2 * round(window)  # three boxes of this length: 3 (box² − 1) / 12 is near window²
    best = np.empty(tracks.shape[::-1])
    likelihood, scratch = np.empty((2, len(tracks), len(NOISE_GRID)))
    for row, track, variance in zip(best, tracks.T, variances.T, strict=True):
        track, variance = np.ascontiguousarray(track), np.ascontiguousarray(variance)
        likeliest_noise(track, variance, NOISE_GRID, box, likelihood, scratch, row)
    # a start or a stop stays sharp: around it the larger noise counts, not the mean
    return -moving_least(np.ascontiguousarray(-best.T), 1 + 2 * round(window))


@dataclass(frozen=True, slots=True, eq=False)
class SmoothResult:
    """Smoothed poses and the noise that was found."""

    rotations: Array
    """(n_frames, n_bodies, 4)"""
    root: Array
    """(n_frames, 3)"""
    marker_error: Array
    """(n_frames, n_markers) distance from model to data, metres; NaN = not seen."""
    marker_noise: float
    """Standard deviation of a marker per axis, metres."""
    process: Array
    """(n_frames, n_dofs) standard deviation of each coordinate's third difference."""


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """Frames that are solved together."""

    rig: Rig
    observed: Array
    alone: Array
    """(n_frames, n_bodies, 4) rotations of the frames alone."""
    process: Array
    noise: float
    settled: int
    """How many of the first frames stand."""
    memory: Array
    """(at least n_frames · n_dofs, …) for the normal matrix; the same for all windows."""


def smooth_frames(problem: PoseProblem, poses: PoseResult, *, rate: float) -> SmoothResult:
    """Smooth poses that were solved frame by frame.

    Parameters
    ----------
    problem
        That ``poses`` were solved from; its rig and targets count, weights and limits do not.
    rate
        Frames per second.
    """
    rig, observed = problem.rig, problem.targets
    noise = marker_noise(rig, observed, poses)
    variances = noise**2 * _coordinate_variances(rig, observed, poses)
    tracks = np.cumsum(coordinate_steps(rig, poses.rotations, poses.root), axis=0)
    tracks = np.concatenate([np.zeros((1, rig.tree.n_dofs)), tracks])
    process = process_noise(tracks, variances, window=0.1 * rate)
    rotations, root = np.array(poses.rotations), np.array(poses.root)
    longest, n_dofs = JERK_ORDER + WINDOW_FRAMES + AHEAD_FRAMES, rig.tree.n_dofs
    rows = min(len(observed), longest) * n_dofs
    memory = np.empty((rows, JERK_ORDER * n_dofs + 1 + EMPTY))
    for first in range(0, len(observed), WINDOW_FRAMES):
        settled = min(first, JERK_ORDER)
        reach = slice(first - settled, first + WINDOW_FRAMES + AHEAD_FRAMES)
        window = _Window(
            rig, observed[reach], poses.rotations[reach], process[reach], noise, settled, memory
        )
        found = _solve_window(window, rotations[reach], root[reach])
        for whole, part in zip((rotations, root), found, strict=True):
            whole[first : first + WINDOW_FRAMES] = part[settled : settled + WINDOW_FRAMES]
    error = rig.distances(observed, rotations, root)
    return SmoothResult(quat.unroll(rotations), root, error, noise, process)


def marker_noise(rig: Rig, observed: Array, poses: PoseResult) -> float:
    """Standard deviation of a marker per axis, from what the fits frame by frame leave over."""
    n_free = 3 * np.isfinite(poses.marker_error).sum(axis=1) - rig.tree.n_dofs
    squares = np.nansum(poses.marker_error**2, axis=1)
    told = n_free > 0
    return float(np.sqrt(squares[told].sum() / max(n_free[told].sum(), 1))) + 1e-7


def coordinate_steps(rig: Rig, rotations: Array, root: Array) -> Array:
    """Return (n_frames − 1, n_dofs) how far each degree of freedom moves from frame to frame."""
    tree = rig.tree
    steps = np.empty((len(root) - 1, tree.n_dofs))
    joint_steps(tree.dof_body, tree.dof_kind, tree.dof_axis, read_only(rotations), steps)
    steps[:, :3] = np.diff(root, axis=0)
    return steps


def _coordinate_variances(rig: Rig, observed: Array, poses: PoseResult) -> Array:
    """Return (n_frames, n_dofs) of the coordinates for unit marker noise; inf where frames are
    held."""
    model = make_model(rig, 0.0)
    variances = np.zeros((len(observed), rig.tree.n_dofs))
    given = map(read_only, (observed, poses.rotations, poses.root))
    coordinate_variances(model, make_lanes(model), *given, UNSEEN_STIFFNESS, variances)
    variances[list(poses.held)] = np.inf
    return variances


@dataclass(frozen=True, slots=True, eq=False)
class _Evaluated:
    """A window in a pose."""

    rotations: Array
    root: Array
    cost: float
    gradient: Array
    """(n_frames, n_dofs) along which the cost falls."""
    normal: Array
    """(n_frames, len(path)) of the markers, for unit noise."""


def _solve_window(window: _Window, rotations: Array, root: Array) -> tuple[Array, Array]:
    """Return the pose in which the window costs least.

    Frames alone are a good start: the factor of the normal matrix, which costs most, is mostly
    right for all steps. It is made anew where steps do not shrink fast.
    """
    if len(root) <= JERK_ORDER:
        return rotations, root
    model = make_model(window.rig, ALONE_WEIGHT)
    kernel = model, make_lanes(model)
    now = _evaluate(window, kernel, rotations, root)
    band, last = _factored(window, now.normal), 1.0  # a radian, before the first step
    for _ in range(MOST_STEPS):
        step = now.gradient.copy()
        substitute_band(band, step.reshape(-1))
        step[: window.settled] = 0.0
        there, share = _lower(window, kernel, now, step)
        if there is None:
            break
        now, size = there, np.abs(step).max()
        if share == 1.0 and size * size < STEP_TOLERANCE * last:  # steps shrink alike: the next
            break
        if share < 1.0 or size > FAST_SHRINKING * last:
            band = _factored(window, now.normal)
        last = size
    return now.rotations, now.root


def _lower(
    window: _Window, kernel: tuple[PoseModel, Lanes], now: _Evaluated, step: Array
) -> tuple[_Evaluated | None, float]:
    """Return the window a step further, shortened until the cost falls, and the share of it."""
    for share in (1.0, 0.5, 0.25, 0.1):
        moved = window.rig.move(now.rotations, now.root, share * step)
        there = _evaluate(window, kernel, *moved)
        if there.cost < now.cost:
            return there, share
    return None, 0.0


def _evaluate(
    window: _Window, kernel: tuple[PoseModel, Lanes], rotations: Array, root: Array
) -> _Evaluated:
    precision, tree = window.noise**-2.0, window.rig.tree
    normal = np.empty((len(root), len(tree.path)))
    gradient, costs = np.empty((len(root), tree.n_dofs)), np.empty(len(root))
    given = map(read_only, (window.observed, window.alone, rotations, root))
    linearise_clip(*kernel, *given, normal, gradient, costs)
    jerk = np.diff(coordinate_steps(window.rig, rotations, root), JERK_ORDER - 1, axis=0)
    weighted = _jerk_weights(window) * jerk
    gradient *= precision
    for lag, share in enumerate(THIRD_WEIGHTS):
        gradient[lag : lag + len(jerk)] -= share * weighted
    total = precision * costs.sum() + np.sum(weighted * jerk)
    return _Evaluated(rotations, root, float(total), gradient, normal)


def _jerk_weights(window: _Window) -> Array:
    return window.process[1 : 1 + len(window.process) - JERK_ORDER] ** -2.0


def _factored(window: _Window, normal: Array) -> Array:
    """Return the factor of the window's normal matrix; see ``factor_clip``."""
    tree, precision = window.rig.tree, window.noise**-2.0
    owner = np.repeat(np.arange(tree.n_dofs), tree.dof_depth + 1)
    band = window.memory[: len(normal) * tree.n_dofs]
    settled = np.where(np.arange(len(normal)) < window.settled, SETTLED_STIFFNESS * precision, 0.0)
    weights = _jerk_weights(window)
    factor_clip(tree.path, owner, normal, precision, weights, THIRD_WEIGHTS, settled, band)
    return band
