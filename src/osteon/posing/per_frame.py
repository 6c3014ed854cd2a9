"""Poses of a rig from marker positions: every frame a damped least-squares fit of its own.

What poses are fitted to, a ``PoseProblem``, is said once and handed on from stage to stage.
"""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from osteon.errors import BadValue, ShapeError
from osteon.joint_limits import Bounds
from osteon.maths import quat
from osteon.posing._kernels.lanes import LANES, PoseModel, make_model
from osteon.posing._kernels.levenberg_marquardt import (
    UNDECIDED,
    Rules,
    Status,
    Task,
    make_task,
    solve_range,
)
from osteon.posing._kernels.normal_equations import (
    GEMAN_MCCLURE,
    HUBER,
    SQUARED,
)
from osteon.posing.first_pose import has_evidence, on_joints, start_frames
from osteon.posing.rig import Rig
from osteon.typing import Array, Indices, Share, unheard
from osteon.values import Skeleton

REST_WEIGHT = 1e-8
"""Pull of each joint to its rest, square metres per square radian. A marker error of σ metres
balances a joint σ / √REST_WEIGHT radians from rest; chosen so small that it only settles what no
marker sees."""
COLLAR_BONE_WEIGHT = 1e-4
"""The same for collar bones, of which a marker or two show no turn about their own length: it would
be left to noise and skin, and take shoulders along. 1 mm at a marker weighs as 0.1 rad, more than a
collar bone mostly turns. Chosen on four people with bones known: without it shoulders of a walk
under skin are 24 and 37 mm off, with it 7 and 14, with ten times it 5 and 9, and markers of real
takes then 1 % farther away."""
FRAME_MARKERS = 3
"""Count of markers that show every turn of a body: derived, three points off a line."""
LOSSES = {"squared": SQUARED, "huber": HUBER, "geman-mcclure": GEMAN_MCCLURE}

BLOCK_FRAMES = 128 * LANES
"""That one call of the kernel takes. Chosen: enough to track along, few enough to share out."""

_WIDER_FITS = ((64.0, 1e-3, 1e-3), (8.0, 1e-5, 1e-3))
"""Ratio of the loss scale to its own; pull to rest, square metres per square radian; tolerance,
radians and metres. A loss that forgets far markers has local minima, and so has a limb that few
markers show: these fits come first and choose where the next one starts. Chosen: each reaches eight
times as far as the next, and is rough."""

FAR_COST = 9.0
"""In lower quartiles of the take, that makes a frame doubtful. Chosen: three times their error."""


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
        object.__setattr__(self, "weights", _frame_rows(self.weights, (tree.n_markers,)))
        object.__setattr__(self, "rest", _frame_rows(self.rest, (tree.n_bodies, 4)))
        pull = np.broadcast_to(np.asarray(self.rest_weights, dtype=np.float64), tree.n_bodies)
        object.__setattr__(self, "rest_weights", pull)

    @property
    def n_frames(self) -> int:
        return len(self.targets)

    def task(self) -> Task:
        """Return every frame yet to be solved, without a start."""
        n_frames, tree = self.n_frames, self.rig.tree
        rotations = np.full((n_frames, tree.n_bodies, 4), np.nan)
        root = np.full((n_frames, 3), np.nan)
        return make_task(self.targets, self.weights, self.rest, rotations, root)


def rest_weights_of(skeleton: Skeleton) -> Array:
    """Return (n_bodies,) how firmly each joint of a performer is pulled to its rest."""
    loose = [
        body.name.endswith("clavicle") and len(body.markers) < FRAME_MARKERS
        for body in skeleton.bodies
    ]
    return np.where(loose, COLLAR_BONE_WEIGHT, REST_WEIGHT)


def _frame_rows(values: Array, row: tuple[int, ...]) -> Array:
    """Return (n_frames or 1, *row) of what is given for every frame, for all, or for all of a
    row."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim <= len(row):
        values = np.broadcast_to(values, row)[None]
    return np.require(values, requirements=["C", "W"])  # kernels know one kind of array


@dataclass(frozen=True, slots=True)
class PoseOptions:
    """How poses are fitted."""

    max_iterations: int = 30
    tolerance: float = 1e-5
    """Stop when no joint turns by more than this, radians, and the root moves less, metres."""
    loss: str = "squared"
    """``squared``, ``huber`` or ``geman-mcclure``."""
    loss_scale: float = 0.02
    """Distance at which a robust loss begins to doubt a marker, metres."""
    threads: int = 1

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise BadValue(f"loss must be one of {', '.join(LOSSES)}, got {self.loss!r}")
        if not (self.tolerance > 0.0 and self.loss_scale > 0.0):
            raise BadValue("tolerance and loss_scale must be positive")


@dataclass(frozen=True, slots=True, eq=False)
class PoseResult:
    """Poses, and how well they explain the markers."""

    rotations: Array
    """(n_frames, n_bodies, 4) to the parent's frame from the body's."""
    root: Array
    """(n_frames, 3)"""
    marker_error: Array
    """(n_frames, n_markers) distance from model to data, metres; NaN = not seen."""
    cost: Array
    """(n_frames,) weighted, robust sum of squares and the rest prior, square metres."""
    iterations: Indices
    """(n_frames,)"""
    status: Indices
    """(n_frames,) a Status each."""

    @property
    def held(self) -> tuple[int, ...]:
        """Frames without evidence of their own."""
        return tuple(np.flatnonzero(self.status == Status.HELD).tolist())

    @property
    def rms(self) -> float:
        """Over all markers and frames, metres."""
        return float(np.sqrt(np.nanmean(self.marker_error**2)))


def solve_frames(
    problem: PoseProblem,
    *,
    start: tuple[Array, Array] | None = None,
    options: PoseOptions | None = None,
    progress: Share = unheard,
) -> PoseResult:
    """Fit the rig to every frame.

    Parameters
    ----------
    start : ((n_frames, n_bodies, 4), (n_frames, 3))
        Rotations and root places to start from; a NaN frame goes on from the frame before it.
        Without a start, frames start from their markers or from a solved neighbour.
    """
    options, rig = options or PoseOptions(), problem.rig
    task, model = problem.task(), make_model(rig, problem.rest_weights, problem.bounds)
    task.status[~has_evidence(task.observed, task.weights)] = Status.HELD
    if start is not None:
        task.rotations[:], task.root[:] = on_joints(rig.tree, start[0]), start[1]
    fits = [*(_WIDER_FITS if options.loss == "geman-mcclure" else ()), (1.0, 0.0, 0.0)]
    for done, (wider, rest_weight, tolerance) in enumerate(fits):
        task.status[task.status != Status.HELD] = UNDECIDED
        firm = model._replace(rest_weights=np.maximum(model.rest_weights, rest_weight))
        firm.rest_weights[0] = 0.0
        rules = replace(
            options,
            loss_scale=wider * options.loss_scale,
            tolerance=max(tolerance, options.tolerance),
        )
        _track(rig, firm, task, rules, lambda share, n=done: progress((n + share) / len(fits)))
    repeat_nearest(task.status, task.rotations, task.root)
    return PoseResult(
        quat.unroll(task.rotations),
        task.root,
        task.marker_error,
        task.cost,
        task.iterations,
        task.status,
    )


def _track(rig: Rig, model: PoseModel, task: Task, options: PoseOptions, progress: Share) -> None:
    """Start the frames that have no start, go along the take, and try again where it went wrong."""
    _start_heads(rig, task)
    run(model, task, options, progress)
    # their own start twice, then the frames before and after: what is usual for the take may show
    # only after the first repair
    for beside in (0, 0, -1, 1):
        doubtful = _doubtful(task)
        if len(doubtful) == 0:
            return
        if beside:
            near = np.clip(doubtful + beside, 0, len(task.root) - 1)
            start = task.rotations[near], task.root[near]
        else:
            start = _own_start(rig, task, doubtful)
        _retry(model, task, options, doubtful, start)


def _start_heads(rig: Rig, task: Task) -> None:
    """Frames with nothing solved just before them in their stretch start from their markers."""
    head = np.zeros(len(task.root), dtype=bool)
    head[[first for first, _ in _stretches(len(head))]] = True
    head[1:] |= task.status[:-1] == Status.HELD
    frames = np.flatnonzero(head & (task.status != Status.HELD) & np.isnan(task.rotations[:, 0, 0]))
    if len(frames):
        task.rotations[frames], task.root[frames] = _own_start(rig, task, frames)


def _own_start(rig: Rig, task: Task, frames: Indices) -> tuple[Array, Array]:
    weights, rest = _rows(task.weights, frames), _rows(task.rest, frames)
    return start_frames(rig, task.observed[frames], weights=weights, rest=rest)


def _rows(array: Array, frames: Indices) -> Array:
    return array if len(array) == 1 else array[frames]


def _doubtful(task: Task) -> Indices:
    """Frames that did not converge, or ended far worse than the take: local minima show there."""
    solved = task.status != Status.HELD
    if not solved.any():
        return np.zeros(0, dtype=np.int64)
    seen = np.maximum(np.isfinite(task.marker_error).sum(axis=1), 1)
    mean = task.cost / seen
    far = mean > FAR_COST * np.quantile(mean[solved], 0.25) + 1e-8
    return np.flatnonzero(solved & (far | (task.status != Status.CONVERGED)))


def _retry(
    model: PoseModel, task: Task, options: PoseOptions, frames: Indices, start: tuple[Array, Array]
) -> None:
    """Solve these frames from another start; keep what ends lower."""
    again = make_task(
        task.observed[frames],
        _rows(task.weights, frames),
        _rows(task.rest, frames),
        np.array(start[0], order="C"),
        np.array(start[1], order="C"),
    )
    again.status[np.isnan(again.root[:, 0])] = Status.HELD
    run(model, again, options)
    better = (again.status != Status.HELD) & (again.cost < task.cost[frames])
    for new, old in zip(again[3:], task[3:], strict=True):
        old[frames[better]] = new[better]


def repeat_nearest(status: Indices, rotations: Array, root: Array) -> None:
    """Frames without evidence repeat the nearest solved frame."""
    solved = np.flatnonzero(status != Status.HELD)
    held = np.flatnonzero(status == Status.HELD)
    if len(solved) == 0:
        rotations[:], root[:] = quat.identity(), 0.0
        return
    right = np.searchsorted(solved, held).clip(0, len(solved) - 1)
    left = (right - 1).clip(0)
    nearer = np.abs(solved[left] - held) <= np.abs(solved[right] - held)
    source = np.where(nearer, solved[left], solved[right])
    rotations[held], root[held] = rotations[source], root[source]


def run(model: PoseModel, task: Task, options: PoseOptions, progress: Share = unheard) -> None:
    rules = Rules(
        options.max_iterations, options.tolerance, LOSSES[options.loss], options.loss_scale
    )
    blocks = list(_blocks(len(task.root)))
    if options.threads == 1 or len(blocks) == 1:
        for first, last in blocks:
            solve_range(model, task, rules, first, last)
            progress(last / len(task.root))
        return
    with ThreadPoolExecutor(options.threads) as pool:  # the kernel lets go of the interpreter
        list(pool.map(lambda block: solve_range(model, task, rules, *block), blocks))


def _blocks(n_frames: int) -> Iterator[tuple[int, int]]:
    """Equal shares of the take, none larger than BLOCK_FRAMES."""
    n_blocks = max(1, -(-n_frames // BLOCK_FRAMES))
    edges = np.linspace(0, n_frames, n_blocks + 1).astype(int).tolist()
    return itertools.pairwise(edges)


def _stretches(n_frames: int) -> Iterator[tuple[int, int]]:
    """What each lane of each block works through."""
    for first, last in _blocks(n_frames):
        stretch = max(1, -(-(last - first) // LANES))
        for begin in range(first, last, stretch):
            yield begin, min(begin + stretch, last)
