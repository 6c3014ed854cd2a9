"""Where markers, posture and ground balance: the minimum of the physical model's energy.

The energy is that of paper 003 at rest: a spring from every point to what pulls it, and a weak one
from every joint to the neutral posture. Springs that are stretched too far have let go. Contacts
are points like markers, only stiffer. ``dynamics`` finds the same rest by simulation. METHODS §11.
"""

from dataclasses import dataclass

import numpy as np

from ossature.pose.bounds import Bounds, make_bounds
from ossature.pose.frames import PoseOptions, PoseResult, solve_frames
from ossature.pose.tree import Rig
from ossature.values import Skeleton
from ossature.values.arrays import Array

LET_GO = 6.0
"""A spring stretched by this many times what is usual for it lets go."""
IDLE = 10.0
"""Joints of bodies that nothing pulls are this many times stiffer: chains bend evenly."""
LIMIT = 1.0
"""Stiffness of a joint's limits, square metres per square radian."""


@dataclass(frozen=True, eq=False)
class Pulls:
    """What pulls a skeleton in every frame: the model that both solvers bring to rest."""

    rig: Rig
    targets: Array
    """(n_frames, n_points, 3) metres; NaN where nothing pulls."""
    weights: Array
    """(n_frames, n_points) stiffness of each spring against a marker's; 0: it has let go."""
    rest_weights: Array
    """(n_bodies,) stiffness of each joint's posture spring against a marker's, square metres per
    square radian."""
    rest: Array
    """(n_bodies, 4) the neutral posture, local rotations."""
    bounds: Bounds
    """The joints' limits."""

    @property
    def n_frames(self) -> int:
        return len(self.targets)


def firm_bounds(skeleton: Skeleton) -> Bounds:
    """The limits that a skeleton's joints have."""
    return make_bounds(skeleton)._replace(weight=np.full(1, LIMIT))


def posture_weights(rig: Rig, posture: float) -> Array:
    """(n_bodies,) stiffness of the posture springs: little where markers say how bodies turn."""
    pulled = np.isin(np.arange(rig.tree.n_bodies), rig.tree.marker_bodies)
    return np.where(pulled, posture, IDLE * posture)


def equilibrium(pulls: Pulls, start: tuple[Array, Array] | None = None) -> PoseResult:
    """The pose of least energy in every frame."""
    return _solve(pulls, start, PoseOptions(tolerance=1e-5, max_iterations=60))


def robust_start(
    pulls: Pulls, scale: float, start: tuple[Array, Array] | None = None
) -> PoseResult:
    """Poses that far markers hardly disturb: to judge from which springs let go.

    Parameters
    ----------
    scale
        Distance at which a marker begins to be doubted, metres.
    """
    return _solve(pulls, start, PoseOptions(loss="geman-mcclure", loss_scale=scale))


def _solve(pulls: Pulls, start: tuple[Array, Array] | None, options: PoseOptions) -> PoseResult:
    return solve_frames(
        pulls.rig,
        pulls.targets,
        start=start,
        weights=pulls.weights,
        rest=pulls.rest,
        rest_weights=pulls.rest_weights,
        bounds=pulls.bounds,
        options=options,
    )


def springs_that_hold(errors: Array, least: float) -> np.ndarray:
    """(n_frames, n_points) which springs hold, by their stretch under a robust fit.

    Parameters
    ----------
    errors : (n_frames, n_points)
        Metres; NaN = not seen.
    least
        A spring holds up to here whatever is usual, metres.
    """
    usual = np.zeros(errors.shape[1])
    seen = np.isfinite(errors).any(axis=0)
    usual[seen] = np.nanmedian(errors[:, seen], axis=0)
    return ~(errors > np.maximum(LET_GO * usual, least))
