"""The physical model, simulated until it rests, frame after frame. [003].

Every frame the springs are hung on the next markers and the body moves until nothing moves any
more; where it rests is recorded. So speeds and masses leave no trace, and the rest is the one that
``equilibrium`` finds. A frame that will not settle is tried again in smaller steps; if it still
runs away it repeats the frame before it and is named.
"""

from dataclasses import dataclass

import numpy as np

from osteon.maths import quat
from osteon.posing import PoseProblem
from osteon.retargeting.mujoco_model import (
    SPRING_STIFFNESS,
    Model,
    build_model,
    get_pose,
    keep_within,
    put_pose,
    set_posture,
    set_stiffness,
)
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


def simulate(
    pulls: PoseProblem, skeleton: Skeleton, masses: Array, start: tuple[Array, Array]
) -> Simulated:
    """Pull the skeleton through all frames.

    Parameters
    ----------
    masses : (n_bodies,)
        Kilograms.
    start
        Local rotations (n_bodies, 4) and place of the root to begin with.
    """
    rest = np.broadcast_to(pulls.rest, (pulls.n_frames, *pulls.rest.shape[-2:]))
    model = build_model(
        skeleton, pulls.rig, masses, posture=SPRING_STIFFNESS * pulls.rest_weights, rest=rest[0]
    )
    put_pose(model, *start)
    n_frames = pulls.n_frames
    rotations = np.empty((n_frames, len(skeleton.bodies), 4))
    root, held = np.empty((n_frames, 3)), []
    previous = np.full(pulls.targets.shape[1:], np.nan)
    for frame in range(n_frames):
        weights = np.where(np.isfinite(pulls.targets[frame, :, 0]), pulls.weights[frame], 0.0)
        if len(pulls.rest) > 1:
            set_posture(model, rest[frame])
        steps = _settle_frame(model, previous, pulls.targets[frame], weights)
        if steps < 0 or not (weights > 0.0).any():
            held.append(frame)
        rotations[frame], root[frame] = get_pose(model)
        previous = pulls.targets[frame]
    return Simulated(quat.unroll(rotations), root, tuple(held))


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
