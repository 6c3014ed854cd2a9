"""The physical model, simulated until it rests, frame after frame. [003].

Every frame the springs are hung on the next markers and the body moves until nothing moves any
more; where it rests is recorded. So speeds and masses leave no trace. The first frame begins in the
neutral posture, laid where its markers are. A frame that will not settle is tried again in smaller
steps; if it still runs away it repeats its neighbour and is named.

A simulation is called as ``equilibrium`` is, again and again: springs are judged by their stretch
in it, feet stand where they stand in it, and the ground pushes what is below it there. Nothing of
it comes from ``equilibrium``, which is a second opinion. Frames that are pulled as they were the
last time rest where they did, and are not simulated again.
"""

from dataclasses import dataclass

import numpy as np

from osteon.maths import FULL, fit_rigid, quat
from osteon.posing import PoseProblem, Status, has_evidence, repeat_nearest
from osteon.retargeting.mujoco_model import (
    SPRING_STIFFNESS,
    Model,
    build_model,
    coordinates_of,
    keep_within,
    local_poses,
    points_of,
    put_pose,
    set_stiffness,
)
from osteon.typing import Array
from osteon.values import Skeleton

MOST_STEPS = 60
"""Count of steps in which a frame settles at the most, for each stage in which it is led. Chosen:
bounds the time."""
REST_SPEED = 1e-2
"""Radians or metres per second below which a body rests. Chosen: a step then moves it by less than
a tenth of a millimetre."""
RUNAWAY_SPEED = 1e3
"""Radians or metres per second. Chosen: no settling body reaches them."""
FAR_JUMP = 0.04
"""Metres. Chosen: markers that move farther than this in a frame are led there in several."""
MOST_STAGES = 8
"""Count of stages in which markers are led to a frame. Chosen: bounds the time."""
LEADING_STEPS = 6
"""Count of steps in a stage. Chosen: the next stage goes on from there."""
MOST_RETRIES = 3
"""Count of times that the step is halved before a frame is held. Chosen: bounds the time."""
EASING_RATIOS = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0)
"""Ratios of the neutral posture's stiffness at first to its own. Chosen: from as stiff as markers
are down to its own."""
EASING_STEPS = 200
"""Count of steps of the first pose at each of these ratios at the most. Chosen: bounds time."""
TURNED_OVER = 1.0
"""Radians between two frames from which it is looked at whether a limb has turned over. Chosen: at
60 frames a second no limb turns as fast."""
LOWER_SHARE = 0.99
"""Share of its energy below which a frame's other pose is taken. Chosen: above rounding."""
YIELD_ROUNDS = 6
"""Count of times in a frame that it is told anew which springs yield. Chosen: bounds the time."""
YIELD_TOLERANCE = 0.05
"""Share of a spring's stiffness. Chosen: what yields is only judged by its stretch."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """Where the body came to rest in every frame."""

    rotations: Array
    """(n_frames, n_bodies, 4) local."""
    root: Array
    """(n_frames, 3)"""
    held: tuple[int, ...]
    """Frames that would not settle, or show too little, and repeat the nearest."""


class Simulation:
    """A skeleton with masses that springs can pull.

    Parameters
    ----------
    masses : (n_bodies,)
        Kilograms.
    """

    def __init__(self, skeleton: Skeleton, masses: Array) -> None:
        self._skeleton, self._masses = skeleton, masses
        self._last: tuple[PoseProblem, Array, Simulated] | None = None

    def __call__(
        self,
        pulls: PoseProblem,
        start: tuple[Array, Array] | None = None,
        *,
        yields: float | None = None,
    ) -> Simulated:
        """Pull the skeleton through all frames.

        Parameters
        ----------
        start
            Local rotations (n_frames, n_bodies, 4) and places of the root (n_frames, 3) in which
            frames begin; None: each where the one before came to rest, and the first in the
            neutral posture.
        yields
            Stretch from which a spring pulls no harder, metres; None: none yields.
        """
        firm = np.where(np.isfinite(pulls.targets[..., 0]), pulls.weights, 0.0)
        rotations, root, same = self._as_before(pulls, firm)
        shown = has_evidence(pulls.targets, firm)
        fresh, settled = np.flatnonzero(shown & ~same), shown & same
        if len(fresh):
            run = _Run(self._skeleton, self._masses, pulls, yields, start)
            turned = np.empty((len(fresh), *rotations.shape[1:]))
            for row, frame in enumerate(fresh):
                run.begin(int(frame), firm[frame])
                settled[frame], firm[frame] = run.settle(int(frame), firm[frame])
                turned[row], root[frame] = run.pose()
            rotations[fresh] = local_poses(run.model, turned)
            if yields is None:
                run.turn_back(rotations, root, firm, settled)
        status = np.where(settled, Status.CONVERGED, Status.HELD)
        repeat_nearest(status, rotations, root)
        found = Simulated(quat.unroll(rotations), root, tuple(np.flatnonzero(~settled).tolist()))
        self._last = pulls, firm, found
        return found

    def _as_before(self, pulls: PoseProblem, firm: Array) -> tuple[Array, Array, np.ndarray]:
        """Poses of the last time, and (n_frames,) which frames are pulled as they were then.

        Springs ``firm`` (n_frames, n_points) that are new may be there, where they do not pull."""
        n_frames, tree = pulls.n_frames, pulls.rig.tree
        nothing = np.zeros((n_frames, tree.n_bodies, 4)), np.zeros((n_frames, 3))
        if self._last is None:
            return *nothing, np.zeros(n_frames, dtype=bool)
        last, before, found = self._last
        own = before.shape[1]
        same = np.all(firm[:, :own] == before, axis=1) & ~np.any(firm[:, own:] > 0.0, axis=1)
        there = np.isclose(pulls.targets[:, :own], last.targets, rtol=0.0, atol=0.0)
        same &= np.all(there.all(axis=-1) | (before == 0.0), axis=1)
        same &= np.all(pulls.rest == last.rest, axis=(1, 2))
        same &= np.array_equal(pulls.rest_weights, last.rest_weights)
        same[list(found.held)] = False
        return np.array(found.rotations), np.array(found.root), same


class _Run:
    """One pull through the frames."""

    def __init__(
        self,
        skeleton: Skeleton,
        masses: Array,
        pulls: PoseProblem,
        yields: float | None,
        start: tuple[Array, Array] | None,
    ) -> None:
        posture = SPRING_STIFFNESS * pulls.rest_weights
        self.model = build_model(skeleton, pulls.rig, masses, posture=posture, rest=pulls.rest[0])
        self._pulls, self._yields = pulls, yields
        self._postures = coordinates_of(self.model, pulls.rest)
        self._starts = None if start is None else coordinates_of(self.model, *start)
        self._previous: Array | None = None

    def begin(self, frame: int, firm: Array) -> None:
        """Stand as in the start, else where the frame before rests; hang the frame's posture."""
        self._hang_posture(frame)
        if self._starts is not None:
            self.model.data.qpos[:] = self._starts[frame]
            self.model.mujoco.mj_kinematics(self.model.model, self.model.data)
        elif self._previous is None:
            self._lay_neutral(frame, firm > 0.0)
            self._ease_into(frame, firm)
            self._previous = points_of(self.model)

    def _hang_posture(self, frame: int) -> None:
        if len(self._postures) > 1:
            self.model.model.qpos_spring[7:] = self._postures[frame, 7:]

    def turn_back(self, rotations: Array, root: Array, firm: Array, settled: np.ndarray) -> None:
        """Where a limb turns over between two frames, let the poses of either side go on into the
        other for as long as springs are less stretched so; a stray marker turns limbs over."""
        self._previous = None
        over = quat.angle(quat.between(rotations[:-1], rotations[1:])).max(axis=1) > TURNED_OVER
        for first in np.flatnonzero(over & settled[:-1] & settled[1:]).tolist():
            for frame, step in ((first + 1, 1), (first, -1)):
                while 0 <= frame < len(settled) and settled[frame]:
                    near = rotations[frame - step], root[frame - step]
                    if not self._better(frame, near, firm[frame], rotations, root):
                        break
                    frame += step

    def _better(
        self, frame: int, near: tuple[Array, Array], firm: Array, rotations: Array, root: Array
    ) -> bool:
        """Whether a frame rests lower from another start; if so it is put there."""
        self._hang_posture(frame)
        put_pose(self.model, *near)
        settled, _ = self.settle(frame, firm)
        turned, place = self.pose()
        local = local_poses(self.model, turned)
        energies = [
            self._energy(frame, firm, *pose)
            for pose in ((local, place), (rotations[frame], root[frame]))
        ]
        if not settled or energies[0] > LOWER_SHARE * energies[1]:
            return False
        rotations[frame], root[frame] = local, place
        return True

    def _energy(self, frame: int, firm: Array, rotations: Array, root: Array) -> float:
        """Of springs and posture, twice, in those of a marker's."""
        pulls = self._pulls
        targets = pulls.targets[frame : frame + 1]
        stretch = pulls.rig.distances(targets, rotations[None], root[None])[0]
        rest = pulls.rest[frame if len(pulls.rest) > 1 else 0]
        bent = quat.angle(quat.between(rest, rotations))[1:]
        pulled = firm > 0.0
        springs = float(firm[pulled] @ stretch[pulled] ** 2)
        return springs + float(pulls.rest_weights[1:] @ bent**2)

    def _lay_neutral(self, frame: int, shown: np.ndarray) -> None:
        """Stand in the neutral posture where the frame's markers are."""
        neutral = np.array(self._pulls.rest[frame if len(self._pulls.rest) > 1 else 0])
        put_pose(self.model, neutral, np.zeros(3))
        laid = fit_rigid(points_of(self.model)[shown], self._pulls.targets[None, frame, shown])
        if laid.status[0] == FULL:
            neutral[0] = quat.multiply(laid.rotations[0], neutral[0])
            put_pose(self.model, neutral, laid.positions[0])

    def _ease_into(self, frame: int, firm: Array) -> None:
        """Go from the neutral posture to the first pose, held by springs that grow slack: limbs
        then turn as little as they must, and not the wrong way round."""
        model, targets = self.model.model, self._pulls.targets[frame]
        own = model.jnt_stiffness.copy(), model.dof_damping.copy(), model.dof_armature.copy()
        held = model.jnt_stiffness, model.dof_damping, model.dof_armature
        set_stiffness(self.model, firm)
        _put_targets(self.model, targets)
        for firmer in EASING_RATIOS:
            for now, at_last in zip(held, own, strict=True):
                now[:] = firmer * at_last
            if _settle(self.model, EASING_STEPS) < 0:
                self._lay_neutral(frame, firm > 0.0)
        for now, at_last in zip(held, own, strict=True):
            now[:] = at_last
        self.model.mujoco.mj_kinematics(model, self.model.data)

    def settle(self, frame: int, firm: Array) -> tuple[bool, Array]:
        """Return whether the body came to rest, else it stays put, and how firm springs were."""
        model, targets = self.model, self._pulls.targets[frame]
        before, usual = model.data.qpos.copy(), model.model.opt.timestep
        taken, pulled = -1, firm
        for retry in range(MOST_RETRIES + 1):
            model.model.opt.timestep = usual / 2**retry
            model.data.qpos[:], model.data.qvel[:] = before, 0.0
            model.data.qacc_warmstart[:] = 0.0
            taken, pulled = self._lead(targets, firm, 2**retry)
            if taken >= 0:
                break
        model.model.opt.timestep = usual
        if taken < 0:
            model.data.qpos[:], model.data.qvel[:] = before, 0.0
        model.mujoco.mj_kinematics(model.model, model.data)
        if self._previous is not None:
            self._previous = targets
        return taken >= 0, pulled

    def pose(self) -> tuple[Array, Array]:
        """Return the bodies' turns in the world (n_bodies, 4) and the root's place."""
        bodies, data = self.model.bodies, self.model.data
        return data.xquat[bodies], data.xpos[bodies[0]]

    def _lead(self, targets: Array, firm: Array, finer: int) -> tuple[int, Array]:
        """Move the targets to their places, in several stages where they are far, and settle."""
        model, stages, previous = self.model, 1, self._previous
        if previous is not None:
            shown = (firm > 0.0) & np.isfinite(previous[:, 0])
            far = np.linalg.norm(targets - previous, axis=-1)[shown].max(initial=0.0)
            stages = min(int(np.ceil(far / FAR_JUMP)), MOST_STAGES) or 1
            set_stiffness(model, firm)
            for stage in range(1, stages):
                between = previous + stage / stages * (targets - previous)
                _put_targets(model, np.where(shown[:, None], between, targets))
                if _settle(model, LEADING_STEPS * finer) < 0:
                    return -1, firm
        _put_targets(model, targets)
        return self._yielding(targets, firm, MOST_STEPS * stages * finer)

    def _yielding(self, targets: Array, firm: Array, n_steps: int) -> tuple[int, Array]:
        """Settle, while springs that are stretched far pull no harder than at the yield."""
        taken, pulled = 0, self._yielded(targets, firm)
        for _ in range(YIELD_ROUNDS):
            set_stiffness(self.model, pulled)
            taken = _settle(self.model, n_steps)
            if taken < 0:
                return -1, firm
            again = self._yielded(targets, firm)
            if np.abs(again - pulled).max() < YIELD_TOLERANCE:
                break
            pulled = again
        return taken, pulled

    def _yielded(self, targets: Array, firm: Array) -> Array:
        if self._yields is None:
            return firm
        stretch = np.linalg.norm(targets - points_of(self.model), axis=-1)
        over = (firm > 0.0) & (stretch > self._yields)
        return np.where(over, firm * self._yields / np.where(over, stretch, 1.0), firm)


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
