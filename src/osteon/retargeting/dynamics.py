"""The physical model, simulated until it rests, frame after frame. [003].

Every frame the springs are hung on the next markers and the body moves until nothing moves any
more; where it rests is recorded. So speeds and masses leave no trace, and the rest is the one that
``equilibrium`` finds. A frame that will not settle is tried again in smaller steps; if it still
runs away it repeats the frame before it and is named.

It stands on its own: it begins in its neutral posture, laid where the first markers are, and lets
go of springs by their stretch in the simulation itself. ``equilibrium`` is a second opinion.
"""

from dataclasses import dataclass

import numpy as np

from osteon.maths import FULL, fit_rigid, quat
from osteon.posing import PoseProblem
from osteon.retargeting.friction import Feet, Soles
from osteon.retargeting.mujoco_model import (
    SPRING_STIFFNESS,
    Model,
    build_model,
    keep_within,
    local_poses,
    put_pose,
    set_posture,
    set_stiffness,
)
from osteon.retargeting.pins import with_points
from osteon.retargeting.springs import FAR_STRETCH, LET_GO_RATIO
from osteon.typing import Array
from osteon.values import Skeleton

MOST_STEPS = 60
"""Count of steps in which a frame settles at the most. Chosen: bounds the time."""
REST_SPEED = 1e-2
"""Radians or metres per second below which a body rests. Chosen: a step then moves it by less than
a tenth of a millimetre."""
RUNAWAY_SPEED = 1e3
"""Radians or metres per second. Chosen: no settling body reaches them."""
FAR_JUMP = 0.04
"""Metres. Chosen: markers that move farther than this in a frame are led there in several."""
FEWEST_POINTS = 3
"""Count of markers that show where the neutral posture is to be laid. Derived: three points have a
place and a turn."""
SETTLING_ROUNDS = 2
"""Count of times that springs and feet are judged again in a frame. Chosen: as ``equilibrium``
does."""
LEAST_SHIFT = 0.0005
"""Metres by which the ground must pull a point elsewhere for the body to settle anew. Chosen: too
little to see."""
LEARNING_SHARE = 0.1
"""Share by which the usual stretch of a spring follows the last one. Chosen: ten frames."""
MOST_RETRIES = 3
"""Count of times that the step is halved before a frame is held. Chosen: bounds the time."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """Where the body came to rest in every frame."""

    rotations: Array
    """(n_frames, n_bodies, 4) local."""
    root: Array
    """(n_frames, 3)"""
    held: tuple[int, ...]
    """Frames that would not settle, or show nothing, and repeat the one before."""
    holds: np.ndarray
    """(n_frames, n_springs) which springs have not let go."""


def simulate(
    pulls: PoseProblem,
    skeleton: Skeleton,
    masses: Array,
    *,
    start: tuple[Array, Array] | None = None,
    let_go: float | None = None,
    feet: Feet | None = None,
    rate: float = 1.0,
) -> Simulated:
    """Pull the skeleton through all frames.

    Parameters
    ----------
    masses : (n_bodies,)
        Kilograms.
    start
        Local rotations (n_frames, n_bodies, 4) and places of the root (n_frames, 3) near which
        each frame begins; by default where the one before came to rest, and the first in the
        neutral posture.
    let_go
        Springs stretched farther than this let go where it is far more than usual, metres; None:
        none does.
    feet
        What may touch the ground, which pushes it out and holds it by friction.
    rate
        Frames per second.
    """
    return _Simulation(pulls, skeleton, masses, let_go, feet, rate).run(start)


class _Simulation:
    """A model, and what is known of its springs and feet up to a frame."""

    def __init__(
        self,
        pulls: PoseProblem,
        skeleton: Skeleton,
        masses: Array,
        let_go: float | None,
        feet: Feet | None,
        rate: float,
    ) -> None:
        self._pulls, self._n_springs = pulls, pulls.rig.tree.n_markers
        self._rest = np.broadcast_to(pulls.rest, (pulls.n_frames, *pulls.rest.shape[-2:]))
        self._let_go, self._usual = let_go, np.full(self._n_springs, np.nan)
        self._soles = None if feet is None else Soles(feet, rate)
        rig = pulls.rig if feet is None else with_points(pulls.rig, feet.bodies, feet.places)
        posture = SPRING_STIFFNESS * pulls.rest_weights
        self._model = build_model(skeleton, rig, masses, posture=posture, rest=self._rest[0])
        self._carriers, self._places = rig.tree.marker_bodies, rig.places

    def run(self, start: tuple[Array, Array] | None) -> Simulated:
        pulls, model = self._pulls, self._model
        n_frames = pulls.n_frames
        turned = np.empty((n_frames, pulls.rig.tree.n_bodies, 4))
        root, held = np.empty((n_frames, 3)), []
        holds = np.ones((n_frames, self._n_springs), dtype=bool)
        self._begin(start)
        previous = np.full((len(self._carriers), 3), np.nan)
        for frame in range(n_frames):
            if start is not None:
                self._put(start[0][frame], start[1][frame])
            if len(pulls.rest) > 1:
                set_posture(model, self._rest[frame])
            weights = np.where(np.isfinite(pulls.targets[frame, :, 0]), pulls.weights[frame], 0.0)
            settled, holds[frame], previous = self._frame(frame, weights, previous)
            if not settled or not (weights > 0.0).any():
                held.append(frame)
            turned[frame] = model.data.xquat[model.bodies]
            root[frame] = model.data.xpos[model.bodies[0]]
        return Simulated(quat.unroll(local_poses(model, turned)), root, tuple(held), holds)

    def _begin(self, start: tuple[Array, Array] | None) -> None:
        """Lay the neutral posture where the first markers are, unless poses are given."""
        if start is not None:
            return
        self._put(self._rest[0], np.zeros(3))
        points, targets = self._points()[: self._n_springs], self._pulls.targets
        pulled = self._pulls.weights[0] > 0.0
        shown = np.isfinite(targets[..., 0]) & pulled
        enough = np.flatnonzero(shown.sum(axis=1) >= FEWEST_POINTS)
        if not len(enough):
            return
        first = int(enough[0])
        laid = fit_rigid(points[shown[first]], targets[None, first, shown[first]])
        if laid.status[0] != FULL:
            return
        local = np.array(self._rest[0])
        local[0] = quat.multiply(laid.rotations[0], local[0])
        self._put(local, laid.positions[0])

    def _put(self, rotations: Array, root: Array) -> None:
        put_pose(self._model, rotations, root)
        self._model.mujoco.mj_kinematics(self._model.model, self._model.data)

    def _points(self) -> Array:
        """(n_points, 3) where springs and soles are on the model now."""
        data, bodies = self._model.data, self._model.bodies[self._carriers]
        return data.xpos[bodies] + quat.rotate(np.array(data.xquat[bodies]), self._places)

    def _frame(self, frame: int, weights: Array, previous: Array) -> tuple[bool, np.ndarray, Array]:
        """Settle a frame; whether it did, which springs hold, and where points were pulled to."""
        n_springs = self._n_springs
        targets, firm = np.full((len(self._carriers), 3), np.nan), np.zeros(len(self._carriers))
        targets[:n_springs] = self._pulls.targets[frame]
        holds = self._steady(targets[:n_springs], weights)
        firm[:n_springs] = weights * holds
        if self._soles is not None:
            self._soles.begin(frame)
            targets[n_springs:], firm[n_springs:] = self._soles.react(self._points()[n_springs:])
        settled = self._settle(previous, targets, firm)
        for _ in range(SETTLING_ROUNDS):
            judged = self._judged(targets[:n_springs], weights)
            firm[:n_springs] = weights * judged
            changed = bool((judged != holds).any())
            holds = judged
            if self._soles is not None:
                pulled, stiff = self._soles.react(self._points()[n_springs:])
                moved = np.linalg.norm(pulled - targets[n_springs:], axis=1) > LEAST_SHIFT
                changed |= bool((moved & (stiff > 0.0)).any() or (stiff != firm[n_springs:]).any())
                targets[n_springs:], firm[n_springs:] = pulled, stiff
            if not changed:
                break
            settled &= self._settle(targets, targets, firm)
        self._learn(targets[:n_springs], weights * holds)
        return settled, holds, targets

    def _settle(self, previous: Array, targets: Array, firm: Array) -> bool:
        return _settle_frame(self._model, previous, targets, firm) >= 0

    def _stretch(self, targets: Array) -> Array:
        return np.linalg.norm(targets - self._points()[: self._n_springs], axis=-1)

    def _allowed(self) -> Array:
        """(n_springs,) up to which stretch each holds."""
        assert self._let_go is not None
        usual = np.where(np.isfinite(self._usual), self._usual, self._let_go / LET_GO_RATIO)
        return np.maximum(LET_GO_RATIO * usual, self._let_go)

    def _steady(self, targets: Array, weights: Array) -> np.ndarray:
        """(n_springs,) which targets move as those of the same body do, or near enough.

        A stray marker would drag the others along, and these would then seem stretched."""
        holds = np.ones(self._n_springs, dtype=bool)
        if self._let_go is None or not np.isfinite(self._usual).any():
            return holds
        away = targets - self._points()[: self._n_springs]
        shown, carriers = weights > 0.0, self._carriers[: self._n_springs]
        everywhere = np.median(away[shown], axis=0) if shown.any() else np.zeros(3)
        for body in np.unique(carriers[shown]):
            own = np.flatnonzero(shown & (carriers == body))
            middle = np.median(away[own], axis=0) if len(own) > 2 else everywhere
            far = np.linalg.norm(away[own] - middle, axis=1)
            bound = self._allowed()[own] + (0.0 if len(own) > 2 else FAR_STRETCH)
            holds[own] = far < bound
        return holds if holds[shown].mean() > 0.5 else np.ones(self._n_springs, dtype=bool)

    def _judged(self, targets: Array, weights: Array) -> np.ndarray:
        """(n_springs,) which hold by their stretch, also of those that have let go."""
        if self._let_go is None or not np.isfinite(self._usual).any():
            return np.ones(self._n_springs, dtype=bool)
        return ~((self._stretch(targets) > self._allowed()) & (weights > 0.0))

    def _learn(self, targets: Array, firm: Array) -> None:
        """What stretch is usual for each spring, lately."""
        stretch = self._stretch(targets)
        pulls = firm > 0.0
        fresh = pulls & ~np.isfinite(self._usual)
        self._usual[fresh] = stretch[fresh]
        known = pulls & ~fresh
        self._usual[known] += LEARNING_SHARE * (stretch - self._usual)[known]


def _settle_frame(model: Model, previous: Array, targets: Array, weights: Array) -> int:
    """Steps until the body rests on these targets; −1 where it would not, and it stays put."""
    before = model.data.qpos.copy()
    set_stiffness(model, weights)
    usual = model.model.opt.timestep
    taken = -1
    for retry in range(MOST_RETRIES + 1):
        model.model.opt.timestep = usual / 2**retry
        model.data.qpos[:], model.data.qvel[:] = before, 0.0
        model.data.qacc_warmstart[:] = 0.0
        taken = _lead(model, previous, targets, MOST_STEPS * 2**retry)
        if taken >= 0:
            break
    model.model.opt.timestep = usual
    if taken < 0:
        model.data.qpos[:], model.data.qvel[:] = before, 0.0
    model.mujoco.mj_kinematics(model.model, model.data)
    return taken


def _lead(model: Model, previous: Array, targets: Array, n_steps: int) -> int:
    """Move the targets to their places, in several steps where they are far, and settle."""
    jump = np.linalg.norm(targets - previous, axis=-1)
    far = float(np.nanmax(jump, initial=0.0)) if np.isfinite(jump).any() else 0.0
    stages = min(int(np.ceil(far / FAR_JUMP)), 8) or 1
    for stage in range(1, stages):
        share = stage / stages
        between = np.where(np.isfinite(previous), previous + share * (targets - previous), targets)
        _put_targets(model, between)
        if _settle(model, 6) < 0:
            return -1
    _put_targets(model, targets)
    return _settle(model, n_steps)


def _put_targets(model: Model, targets: Array) -> None:
    model.data.mocap_pos[model.mocap] = np.where(np.isfinite(targets), targets, 0.0)


def _settle(model: Model, n_steps: int) -> int:
    """Steps until nothing moves, at most ``n_steps``; −1 if it runs away."""
    step, data = model.mujoco.mj_step, model.data
    for taken in range(1, n_steps + 1):
        keep_within(model)
        step(model.model, data)
        fastest = float(np.abs(data.qvel).max())
        if not fastest < RUNAWAY_SPEED:  # NaN runs away too
            return -1
        if fastest < REST_SPEED and taken > 2:
            return taken
    return n_steps
