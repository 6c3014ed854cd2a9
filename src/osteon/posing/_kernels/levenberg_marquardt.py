"""Levenberg–Marquardt over many frames, one frame in each lane, each with its own damping.

When a frame is done its lane loads the next one, so that a hard frame holds up nobody else. Where
every frame has a start that is any lane's next. A frame whose start is NaN goes on from the
solution of the frame before it: there each lane works through a stretch of the take of its own.

The damped normal matrix of a tree is factored LᵀDL from the leaves to the root, which fills in
nothing [Featherstone 2008, ch. 8]. Measured: the three rows of a ball joint taken off at once, in
place or out of a copy that interleaves them, took a third longer and more.
"""

import enum
from typing import NamedTuple

import numpy as np

from osteon.maths import FAST_MATH, kernel, read_only
from osteon.posing._kernels.lanes import (
    LANES,
    L,
    PoseModel,
    U,
    forward,
    make_lanes,
    take_step,
)
from osteon.posing._kernels.limit_terms import add_bounds, pull_inside
from osteon.posing._kernels.normal_equations import (
    SQUARED,
    build_normal,
    gather_moments,
    place_markers,
    place_screws,
    pull_to_rest,
    reweight,
    total_cost,
)

UNDECIDED = -1
"""Code of a fit that goes on, defined here."""

FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-4, 1e-12, 1e8
"""Ratios: share of the diagonal that is added to it. Chosen: nearly a Gauss–Newton step at first,
never none, and a fit that asks for the most has stalled."""


class Status(enum.IntEnum):
    """Why the fit of a frame ended."""

    CONVERGED = 0
    ITERATION_LIMIT = 1
    STALLED = 2
    HELD = 3

    @property
    def text(self) -> str:
        return {
            Status.CONVERGED: "step below tolerance",
            Status.ITERATION_LIMIT: "iteration limit reached",
            Status.STALLED: "no step lowers the cost",
            Status.HELD: "too few markers; nearest solved frame held",
        }[self]


CONVERGED, ITERATION_LIMIT, STALLED, HELD = map(int, Status)


class Task(NamedTuple):
    """A take to solve and where the answers go; all arrays span the whole take."""

    observed: np.ndarray
    """(n_frames, n_markers, 3)"""
    weights: np.ndarray
    """(n_frames or 1, n_markers)"""
    rest: np.ndarray
    """(n_frames or 1, n_bodies, 4)"""
    rotations: np.ndarray
    """(n_frames, n_bodies, 4) start, then solution."""
    root: np.ndarray
    """(n_frames, 3) start, then solution."""
    marker_error: np.ndarray
    """(n_frames, n_markers)"""
    cost: np.ndarray
    """(n_frames,)"""
    iterations: np.ndarray
    """(n_frames,)"""
    status: np.ndarray
    """(n_frames,) HELD on entry: leave the frame alone."""


def make_task(
    observed: np.ndarray,
    weights: np.ndarray,
    rest: np.ndarray,
    rotations: np.ndarray,
    root: np.ndarray,
) -> Task:
    """Return frames to solve from these poses; a NaN pose goes on from the frame before it."""
    n_frames, n_markers = observed.shape[:2]
    return Task(
        read_only(observed),
        read_only(weights),
        read_only(rest),
        rotations,
        root,
        marker_error=np.full((n_frames, n_markers), np.nan),
        cost=np.zeros(n_frames),
        iterations=np.zeros(n_frames, dtype=np.int64),
        status=np.full(n_frames, UNDECIDED),
    )


class Rules(NamedTuple):
    """When to stop, and what counts as far."""

    max_iterations: int
    tolerance: float
    loss: int
    loss_scale: float


class LaneProgress(NamedTuple):
    """What each lane remembers between sweeps."""

    frame: np.ndarray
    """Which frame the lane holds; −1: the lane is idle."""
    last: np.ndarray
    """End of the lane's stretch."""
    queue: np.ndarray
    """(1,) the next frame that is free for any lane; −1: each keeps to its own stretch."""
    reference: np.ndarray
    """(3, LANES) point of the world that the lane's coordinates start at."""
    trial_cost: np.ndarray
    cost: np.ndarray
    moved: np.ndarray
    """Largest entry of the last step; inf where the pose was loaded or restored."""
    verdict: np.ndarray
    """UNDECIDED, or the status to write once the best pose has been evaluated again."""
    go: np.ndarray
    """1 where the trial became the pose and may step on, 0 elsewhere."""
    iterations: np.ndarray
    rotations: np.ndarray
    """Best pose so far, as in Lanes."""
    root: np.ndarray


def solve_range(model: PoseModel, task: Task, rules: Rules, first: int, last: int) -> None:
    """Solve frames first…last − 1, in place."""
    lanes = make_lanes(model)
    stretch = -(-(last - first) // LANES)
    starts = first + stretch * np.arange(LANES)
    apart = np.isfinite(task.rotations[first:last, 0, 0]) | (task.status[first:last] == HELD)
    progress = LaneProgress(
        frame=np.minimum(starts, last) - 1,
        last=np.full(LANES, last) if apart.all() else np.minimum(starts + stretch, last),
        queue=np.array([first if apart.all() else -1]),
        reference=np.zeros((3, LANES)),
        trial_cost=np.zeros(LANES),
        cost=np.full(LANES, np.inf),
        moved=np.full(LANES, np.inf),
        verdict=np.full(LANES, UNDECIDED),
        go=np.zeros(LANES),
        iterations=np.zeros(LANES, dtype=np.int64),
        rotations=lanes.rotations.copy(),
        root=lanes.root.copy(),
    )
    sweep(model, lanes, task, rules, progress)


@kernel
def sweep(model, lanes, task, rules, progress):
    """Step all lanes together until each has come to the end of its stretch.

    Lanes whose pose is not the one evaluated last, for it was rejected or is another frame's, are
    evaluated again before the step, with all others: an evaluation is a sixth of a sweep.
    """
    busy = 0
    for lane in range(LANES):
        busy += _load_next(task, lanes, progress, lane)
    while busy > 0:
        _evaluate(model, lanes, rules, progress.trial_cost)
        _judge(lanes, progress, rules)
        anew = False
        for lane in range(LANES):
            if progress.frame[lane] >= 0 and _finished(progress, lane):
                _store(task, lanes, progress, lane)
                loaded = _load_next(task, lanes, progress, lane)
                busy += loaded - 1
                anew = anew or loaded == 1
            anew = anew or (progress.frame[lane] >= 0 and progress.go[lane] < 0.5)
        if anew:
            _evaluate(model, lanes, rules, progress.trial_cost)
            _stand(lanes, progress)
        gather_moments(model, lanes)
        place_screws(model, lanes)
        build_normal(model, lanes)
        add_bounds(model, lanes)
        damp(model, lanes)
        factor(model, lanes)
        substitute(model, lanes)
        take_step(model, lanes, progress.go)
        _measure_step(lanes, progress)


@kernel
def _evaluate(model, lanes, rules, cost):
    forward(model, lanes)
    place_markers(model, lanes)
    if rules.loss != SQUARED:
        reweight(lanes, rules.loss, rules.loss_scale)
    pull_to_rest(model, lanes)
    pull_inside(model, lanes)
    total_cost(lanes, cost)


@kernel
def _judge(lanes, progress, rules):
    """Accept or reject each lane's trial, set its damping and decide whether it is done."""
    for lane in range(LANES):
        if progress.frame[lane] < 0:
            continue
        stepped = progress.moved[lane] < np.inf
        accepted = not stepped or progress.trial_cost[lane] <= progress.cost[lane]
        progress.go[lane] = 1.0 if accepted else 0.0
        if accepted:
            progress.cost[lane] = progress.trial_cost[lane]
        if stepped:
            damping = lanes.damping[lane] * (0.1 if accepted else 10.0)
            lanes.damping[lane] = max(damping, LEAST_DAMPING)
            if progress.moved[lane] < rules.tolerance:
                progress.verdict[lane] = CONVERGED
            elif progress.iterations[lane] >= rules.max_iterations:
                progress.verdict[lane] = ITERATION_LIMIT
            elif damping > MOST_DAMPING:
                progress.verdict[lane] = STALLED
    _keep_best(lanes.rotations, progress.rotations, progress.go)
    _keep_best(lanes.root, progress.root, progress.go)


@kernel
def _stand(lanes, progress):
    """Take up every lane's pose, evaluated just now; those that are done do not step on."""
    for lane in range(LANES):
        if progress.frame[lane] >= 0:
            progress.cost[lane] = progress.trial_cost[lane]
            progress.go[lane] = 1.0
    _keep_best(lanes.rotations, progress.rotations, progress.go)
    _keep_best(lanes.root, progress.root, progress.go)
    for lane in range(LANES):
        if progress.verdict[lane] != UNDECIDED:
            progress.go[lane] = 0.0


@kernel(fastmath=FAST_MATH)
def _keep_best(trial, best, go):
    """Both become the trial where it was accepted, the best before it elsewhere."""
    for row in range(np.uint64(0), np.uint64(len(trial)), L):
        for n in range(L):
            kept = trial[row + n] if go[n] > 0.5 else best[row + n]
            trial[row + n] = kept
            best[row + n] = kept


@kernel(fastmath=FAST_MATH)
def _measure_step(lanes, progress):
    moved, step = progress.moved, lanes.step
    moved[:] = 0.0
    for row in range(np.uint64(0), np.uint64(len(step)), L):
        for n in range(L):
            moved[n] = max(moved[n], abs(step[row + n]))
    for lane in range(LANES):
        if progress.go[lane] > 0.5:
            progress.iterations[lane] += 1
        else:
            moved[lane] = np.inf


@kernel
def _finished(progress, lane):
    """A verdict stands and the marker errors at hand are those of the best pose."""
    return progress.verdict[lane] != UNDECIDED and progress.go[lane] > 0.5


@kernel
def _store(task, lanes, progress, lane):
    frame = progress.frame[lane]
    for body in range(task.rotations.shape[1]):
        for i in range(4):
            task.rotations[frame, body, i] = progress.rotations[(4 * body + i) * LANES + lane]
    for i in range(3):
        task.root[frame, i] = progress.root[i * LANES + lane] + progress.reference[i, lane]
    for marker in range(task.marker_error.shape[1]):
        if lanes.observed[(4 * marker + 3) * LANES + lane] > 0.0:
            square = 0.0
            for i in range(3):
                square += lanes.points[(8 * marker + 3 + i) * LANES + lane] ** 2
            task.marker_error[frame, marker] = np.sqrt(square)
    task.cost[frame] = progress.cost[lane]
    task.iterations[frame] = progress.iterations[lane]
    task.status[frame] = progress.verdict[lane]


@kernel
def _load_next(task, lanes, progress, lane):
    """Load the lane's next frame that has evidence; 0 if there is none and the lane falls idle."""
    frame = _following(task, progress, lane)
    if frame >= progress.last[lane]:
        progress.frame[lane] = -1
        progress.go[lane] = 0.0
        for marker in range(task.observed.shape[1]):
            lanes.observed[(4 * marker + 3) * LANES + lane] = 0.0
        return 0
    _load_markers(task, lanes, progress, lane, frame)
    _load_pose(task, lanes, progress, lane, frame)
    progress.frame[lane] = frame
    progress.cost[lane] = np.inf
    progress.moved[lane] = np.inf
    progress.verdict[lane] = UNDECIDED
    progress.iterations[lane] = 0
    lanes.damping[lane] = FIRST_DAMPING
    return 1


@kernel
def _following(task, progress, lane):
    """The next frame that has evidence; the end where there is none."""
    shared = progress.queue[0] >= 0
    frame = progress.queue[0] if shared else progress.frame[lane] + 1
    while frame < progress.last[lane] and task.status[frame] == HELD:
        frame += 1
    if shared:
        progress.queue[0] = frame + 1
    return frame


@kernel
def _load_markers(task, lanes, progress, lane, frame):
    """Markers from their centre; the centre moves the lane's root along."""
    weights = task.weights[min(frame, len(task.weights) - 1)]
    n_seen = 0
    cx = cy = cz = 0.0
    for marker in range(task.observed.shape[1]):
        seen = weights[marker] > 0.0 and np.isfinite(task.observed[frame, marker, 0])
        lanes.observed[(4 * marker + 3) * LANES + lane] = weights[marker] if seen else 0.0
        if seen:
            n_seen += 1
            cx += task.observed[frame, marker, 0]
            cy += task.observed[frame, marker, 1]
            cz += task.observed[frame, marker, 2]
    share = 1.0 / max(n_seen, 1)
    centre = (cx * share, cy * share, cz * share)
    for i in range(3):
        for marker in range(task.observed.shape[1]):
            seen = lanes.observed[(4 * marker + 3) * LANES + lane] > 0.0
            value = task.observed[frame, marker, i] - centre[i] if seen else 0.0
            lanes.observed[(4 * marker + i) * LANES + lane] = value
        old = progress.reference[i, lane]
        lanes.root[i * LANES + lane] = progress.root[i * LANES + lane] + old - centre[i]
        progress.reference[i, lane] = centre[i]


@kernel
def _load_pose(task, lanes, progress, lane, frame):
    rest = task.rest[min(frame, len(task.rest) - 1)]
    start = task.rotations[frame]
    given = np.isfinite(start[0, 0])
    for body in range(len(rest)):
        for i in range(4):
            lanes.rest[(4 * body + i) * LANES + lane] = rest[body, i]
            best = progress.rotations[(4 * body + i) * LANES + lane]
            lanes.rotations[(4 * body + i) * LANES + lane] = start[body, i] if given else best
    if given:
        for i in range(3):
            lanes.root[i * LANES + lane] = task.root[frame, i] - progress.reference[i, lane]


@kernel(fastmath=FAST_MATH)
def damp(model, lanes):
    """Levenberg–Marquardt: raise each diagonal entry by its lane's share, and a little more.

    The little more keeps directions that no marker sees where they are.
    """
    normal, share = lanes.normal, lanes.damping
    for dof in range(U(len(model.dof_body))):
        diagonal = (model.row_start[dof] + model.dof_depth[dof]) * L
        for n in range(L):
            normal[diagonal + n] += share[n] * normal[diagonal + n] + 1e-10 + model.stiffness[dof]


@kernel(fastmath=FAST_MATH)
def factor(model, lanes):
    """Normal matrix to LᵀDL in place, from the leaves to the root; 1/D stands on the diagonal.

    The step is taken along: Lᵀ is undone on the way.
    """
    normal, step, share = lanes.normal, lanes.step, lanes.scratch
    n_dofs = U(len(model.dof_body))
    for up in range(U(1), n_dofs + U(1)):
        dof = n_dofs - up
        start, depth = model.row_start[dof], model.dof_depth[dof]
        diagonal, row, own = (start + depth) * L, start * L, dof * L
        for n in range(L):
            normal[diagonal + n] = 1.0 / normal[diagonal + n]
        for climb in range(U(1), depth + U(1)):
            k = depth - climb
            above, entry = model.path[start + k], (start + k) * L
            for n in range(L):
                share[n] = normal[entry + n] * normal[diagonal + n]
            target = model.row_start[above] * L
            for j in range(k + U(1)):
                _subtract(share, normal, row + j * L, normal, target + j * L)
            _subtract(share, step, own, step, above * L)
            for n in range(L):
                normal[entry + n] = share[n]


@kernel(fastmath=FAST_MATH)
def _subtract(share, source, s, target, t):
    for n in range(L):
        target[t + n] -= share[n] * source[s + n]


@kernel(fastmath=FAST_MATH)
def substitute(model, lanes):
    """Undo D and L: the gradient has become the step."""
    normal, step = lanes.normal, lanes.step
    for dof in range(U(len(model.dof_body))):
        start, depth, own = model.row_start[dof], model.dof_depth[dof], dof * L
        diagonal = (start + depth) * L
        for n in range(L):
            step[own + n] *= normal[diagonal + n]
        for entry in range(start, start + depth):
            e, s = entry * L, model.path[entry] * L
            for n in range(L):
                step[own + n] -= normal[e + n] * step[s + n]
