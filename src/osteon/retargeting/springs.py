"""Where markers, posture and ground balance: the minimum of the physical model's energy.

The energy is that of [003] at rest: a spring from every point to what pulls it, and a weak one
from every joint to the neutral posture. Springs that are stretched too far have let go. Contacts
are points like markers, only stiffer. ``dynamics`` finds the same rest by simulation.
docs/methods.md §11.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from osteon.joint_limits import Bounds, make_bounds
from osteon.maths import quat
from osteon.posing import (
    PoseOptions,
    PoseProblem,
    PoseResult,
    Rig,
    solve_frames,
)
from osteon.typing import Array, Indices
from osteon.values import Skeleton

LET_GO_RATIO = 6.0
"""Ratio of a spring's stretch to what is usual for it from which it lets go. Chosen: skin and build
do not come near."""
NEAR_FRAMES = (-2, -1, 0, 1, 2)
"""Frames among which a sample may jump. Chosen: the median of five stands against two that are
wrong."""
USUAL_SECONDS = 0.2
"""Seconds over which it is told what is usual at a time. Chosen: postures last longer, jumps do
not."""
FAR_STRETCH = 0.1
"""Metres. Chosen: a spring stretched farther lets go however long it lasts, unless that is usual
for it."""
JUDGEMENT_ROUNDS = 2
"""Count of times that springs are judged again by what the others say. Chosen: so that one that
another's error pulled away is hung on again."""
IDLE_RATIO = 10.0
"""Ratio by which joints of bodies that nothing pulls are stiffer. Chosen: chains bend evenly."""
LIMIT_STIFFNESS = 30.0
"""Square metres per square radian: stiffness of a joint's limits. Chosen: markers hardly push a
joint beyond them."""


class Rest(Protocol):
    """Where a body came to rest in every frame."""

    @property
    def rotations(self) -> Array:
        """(n_frames, n_bodies, 4) local."""
        ...

    @property
    def root(self) -> Array:
        """(n_frames, 3)"""
        ...

    @property
    def held(self) -> tuple[int, ...]:
        """Frames that repeat another."""
        ...


class Settle(Protocol):
    """What brings the model to rest: ``equilibrium``, or a simulation."""

    def __call__(
        self,
        pulls: PoseProblem,
        start: tuple[Array, Array] | None = None,
        *,
        yields: float | None = None,
    ) -> Rest: ...


def firm_bounds(skeleton: Skeleton) -> Bounds:
    """Return the limits that a skeleton's joints have."""
    return make_bounds(skeleton)._replace(weight=np.full(1, LIMIT_STIFFNESS))


def posture_weights(rig: Rig, posture: float) -> Array:
    """Return the posture springs' stiffness (n_bodies,): little where markers tell turns."""
    pulled = np.isin(np.arange(rig.tree.n_bodies), rig.tree.marker_bodies)
    return np.where(pulled, posture, IDLE_RATIO * posture)


def equilibrium(
    pulls: PoseProblem, start: tuple[Array, Array] | None = None, *, yields: float | None = None
) -> PoseResult:
    """Return the pose of least energy in every frame.

    Parameters
    ----------
    pulls
        The springs: targets, stiffness of each against a marker's (0: it has let go), and the
        posture that joints are drawn to.
    yields
        Stretch from which a spring pulls no harder, metres; None: all pull the harder the farther.
    """
    if yields is None:
        return solve_frames(pulls, start=start, options=PoseOptions(max_iterations=60))
    return solve_frames(pulls, start=start, options=PoseOptions(loss="huber", loss_scale=yields))


def let_go_and_settle(
    pulls: PoseProblem,
    least: float,
    rate: float,
    start: tuple[Array, Array] | None = None,
    settle: Settle = equilibrium,
) -> tuple[Rest, np.ndarray]:
    """Find poses under the springs that hold, and which those are, (n_frames, n_points).

    At first all pull that do not jump, far ones no harder than near ones. Then springs are judged
    by their stretch, and again where only those that held pull: one that was pulled away by
    another's error is hung on again.

    Parameters
    ----------
    least
        A spring holds up to here whatever is usual, metres.
    rate
        Frames per second.
    settle
        What brings the model to rest.
    """
    steady = replace(pulls, weights=pulls.weights * ~_jumps(pulls.targets, least))
    poses = settle(steady, start, yields=least)
    holds = _judge(pulls, poses, least, rate)
    for _ in range(JUDGEMENT_ROUNDS):
        held = replace(pulls, weights=pulls.weights * holds)
        poses = settle(held, (poses.rotations, poses.root))
        holds = _judge(pulls, poses, least, rate)
    held = replace(pulls, weights=pulls.weights * holds)
    return settle(held, (poses.rotations, poses.root)), holds


def _jumps(targets: Array, least: float) -> np.ndarray:
    """(n_frames, n_points) which samples lie apart from those about them in time. Where a third of
    a frame does, the body itself is quick, and nothing is said."""
    around = np.stack(
        [
            np.take(targets, np.arange(len(targets)) + step, axis=0, mode="clip")
            for step in NEAR_FRAMES
        ]
    )
    seen = np.isfinite(targets[..., 0])
    middle = np.array(targets)
    middle[seen] = np.nanmedian(around[:, seen], axis=0)
    jumps = np.linalg.norm(targets - middle, axis=-1) > least
    return jumps & (jumps.sum(axis=1, keepdims=True) < targets.shape[1] / 3)


def _judge(pulls: PoseProblem, poses: Rest, least: float, rate: float) -> np.ndarray:
    """(n_frames, n_points) which springs hold, of all, also of those that have let go."""
    stretch = pulls.rig.distances(pulls.targets, poses.rotations, poses.root)
    return springs_that_hold(stretch, least, rate)


def springs_that_hold(errors: Array, least: float, rate: float) -> np.ndarray:
    """Judge (n_frames, n_points) which springs hold, by their stretch.

    A figure of other build stretches its springs for as long as a posture lasts; a stray marker
    jumps. So a spring lets go that is stretched far more than about that time, or very far.

    Parameters
    ----------
    errors : (n_frames, n_points)
        Metres; NaN = not seen.
    least
        A spring holds up to here whatever is usual, metres.
    rate
        Frames per second.
    """
    from scipy.ndimage import median_filter  # slow to load, rarely asked for

    seen = np.isfinite(errors)
    usual = np.zeros(errors.shape[1])
    known = seen.any(axis=0)
    usual[known] = np.nanmedian(errors[:, known], axis=0)
    filled = np.where(seen, errors, usual)
    window = min(2 * round(0.5 * USUAL_SECONDS * rate) + 1, len(errors))
    lately = median_filter(filled, size=(window, 1), mode="nearest")
    allowed = np.clip(
        LET_GO_RATIO * np.maximum(usual, lately),
        least,
        np.maximum(LET_GO_RATIO * usual, FAR_STRETCH),
    )
    return ~(errors > allowed)


BEND_STIFFNESS = 0.3
"""Square metres per square radian: stiffness of the springs that bend knees and elbows, against a
marker's. Chosen: it decides how much they bend, and leaves markers the rest."""
PLANE_WEIGHT = 0.1
"""Ratio of what the performer's plane of bending counts to the character's own. Chosen: it decides
for a straight limb, which has none."""


@dataclass(frozen=True, eq=False)
class Bends:
    """Knees and elbows of a character, which bend as much as the performer's do.

    A limb that is nearly straight grows hardly shorter when it bends: markers on bones that are
    some millimetres longer than the performer's would bend it by ten degrees. So a spring says how
    much a knee or an elbow bends. In which plane, and how it turns about itself, markers tell.
    """

    bodies: Indices
    """(n_bends,) the bodies below these joints."""
    upper: Array
    """(n_bends, 3) along the bone above the joint, in the parent's frame, unit length."""
    lower: Array
    """(n_bends, 3) along the bone below it, in the body's frame."""
    performers: Array
    """(n_frames, n_bends, 3) the lower bone's direction in the performer's pose, in the parent's
    frame."""


def bent_posture(
    bends: Bends, rotations: Array, rest: Array, weights: Array
) -> tuple[Array, Array]:
    """Return a rest pose in which these joints bend as the performer's, else as in ``rotations``.

    Parameters
    ----------
    rotations : (n_frames, n_bodies, 4)
        Local; where markers alone have the character.
    rest : (n_bodies, 4) or (n_frames, n_bodies, 4)
        The rest pose of all other joints.
    weights : (n_bodies,)
        Stiffness of the pull to it.

    Returns
    -------
    (n_frames, n_bodies, 4) and (n_bodies,)
    """
    own = rotations[:, bends.bodies]
    lower = quat.rotate(own, bends.lower)
    more = _angle(bends.upper, bends.performers) - _angle(bends.upper, lower)
    across = np.cross(bends.upper, lower + PLANE_WEIGHT * bends.performers)
    length = np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-12)
    posture = np.array(np.broadcast_to(rest, rotations.shape))
    posture[:, bends.bodies] = quat.multiply(quat.from_axis_angle(across / length, more), own)
    firmer = np.array(weights)
    firmer[bends.bodies] = BEND_STIFFNESS
    return posture, firmer


def _angle(one: Array, other: Array) -> Array:
    return np.arccos(np.clip(np.sum(one * other, axis=-1), -1.0, 1.0))
