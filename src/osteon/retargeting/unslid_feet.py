"""Feet that slide while they are on the ground, set down where they would stand.

Each foot is shifted against its own sliding, about the middle of every step, and from one step's
shift to the next's while it is in the air: heel, ball and toes roll over the ground as they did,
each in its place.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from osteon.maths import moving_mean
from osteon.posing import PoseProblem, Stance, Standing, find_stances, slid_by, sole_paths
from osteon.retargeting.carry import pose_points
from osteon.retargeting.springs import equilibrium, firm_bounds, posture_weights
from osteon.typing import Array
from osteon.values import Motion, Skeleton

STANCE_STIFFNESS, SWING_STIFFNESS = 300.0, 10.0
"""Ratios of a foot's pull to that of other bodies, on the ground and in the air. Chosen: on the
ground hips and trunk give way, in the air the foot follows."""
KNEE_SHARE = 0.5
"""Share of a foot's shift that its shin is pulled along. Chosen: a knee is between hip and foot."""
POSTURE_STIFFNESS = 1e-4
"""Square metres per square radian: pull of joints to the poses given. Chosen: as ``map`` has it."""
STANDING_SHARE = 0.5
"""Share of a step that a point stands from which on the foot does. Chosen: the rest is rolling."""
STILL_DISTANCE = 0.008
"""Metres that a sole that stands gets along the ground. Chosen: as far as a standing point wanders
(``posing.contacts``)."""
LANDING_SECONDS = 0.1
"""Seconds in which a foot's pull grows from that in the air to that on the ground. Chosen."""


def unslid(motion: Motion, standing: Standing) -> Motion:
    """Return the motion with feet that do not slide where they are on the ground."""
    skeleton, points = motion.skeleton, pose_points(motion.skeleton)
    targets = motion.points(points.bodies, points.places)
    weights = np.tile(points.weights, (motion.n_frames, 1))
    stances = find_stances(motion, standing)
    for foot in {stance.sole.body for stance in stances}:
        own = [stance for stance in stances if stance.sole.body == foot]
        shift = foot_shift(motion, own, standing)
        firm = SWING_STIFFNESS * (STANCE_STIFFNESS / SWING_STIFFNESS) ** _down(motion, own)
        for body, share in _leg(skeleton, foot).items():
            pulled = points.bodies == body
            targets[:, pulled, :2] += share * shift[:, None]
            weights[:, pulled] *= firm[:, None] if share == 1.0 else 1.0
    rig = points.rig(skeleton)
    stiffness = posture_weights(rig, POSTURE_STIFFNESS)
    pulls = PoseProblem(rig, targets, weights, stiffness, motion.rotations, firm_bounds(skeleton))
    poses = equilibrium(pulls, (np.array(motion.rotations), np.array(motion.root)))
    return replace(motion, rotations=poses.rotations, root=poses.root)


def foot_shift(motion: Motion, stances: Sequence[Stance], standing: Standing) -> Array:
    """Return (n_frames, 2) how far a foot with these steps is to be shifted along the ground,
    metres."""
    shift = np.zeros((motion.n_frames, 2))
    for stance in stances:
        path = sole_paths(motion.frames(*stance.frames), stance.sole)[..., :2]
        slid = slid_by(path, stance.shares, standing.ground.belt / motion.rate)
        slid[_still(motion, stance, standing, slid)] = 0.0
        gone = np.cumsum(slid, axis=0)
        shift[stance.span] = gone.mean(axis=0) - gone
    spans = [stance.frames for stance in stances]
    shift[: spans[0][0]], shift[spans[-1][1] :] = shift[spans[0][0]], shift[spans[-1][1]]
    for (_, last), (first, _) in pairwise(spans):
        share = np.linspace(0.0, 1.0, first - last + 1)[:, None]
        share = share * share * (3.0 - 2.0 * share)
        shift[last : first + 1] = (1.0 - share) * shift[last] + share * shift[first]
    return shift


def _still(motion: Motion, stance: Stance, standing: Standing, slid: Array) -> np.ndarray:
    """(n_frames_of_it,) in which frames of a step a point stands that does so for most of it, and
    the sole gets nowhere: there is nothing to mend."""
    foot, (first, last) = motion.skeleton.names[stance.sole.body], stance.frames
    still = np.zeros(last - first + 1, dtype=bool)
    for plant in (plant for plant in standing.plants if plant.body == foot):
        begin, end = max(plant.frames[0], first), min(plant.frames[1], last)
        within = slice(begin - first, end - first)
        gone = np.linalg.norm(slid[within].sum(axis=0))
        if end - begin > STANDING_SHARE * (last - first) and gone < STILL_DISTANCE:
            still[within] = True
    return still


def _down(motion: Motion, stances: Sequence[Stance]) -> Array:
    """(n_frames,) 1 on the ground and 0 in the air, one going over into the other."""
    down = np.zeros(motion.n_frames)
    for stance in stances:
        down[stance.span] = 1.0
    size = max(1, round(LANDING_SECONDS * motion.rate))
    return np.maximum(down, moving_mean(down, 2 * size))


def _leg(skeleton: Skeleton, foot: int) -> dict[int, float]:
    """Return body → the share of the foot's shift that it takes: the shin, the foot, and what hangs
    on the foot."""
    shares = {foot: 1.0, skeleton.parents[foot]: KNEE_SHARE}
    for body, parent in enumerate(skeleton.parents):
        if shares.get(parent) == 1.0:
            shares[body] = 1.0
    return shares
