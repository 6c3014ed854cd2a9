"""Frames in which pins leave a limb two ways to lie, and each frame chose for itself."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import binary_dilation

from osteon.maths import quat, runs
from osteon.posing import REFERENCE_RATE, SUDDEN_TURN, PoseProblem
from osteon.retargeting.springs import Rest, Settle
from osteon.typing import Array

ASIDE_SECONDS = 0.06
"""Seconds before and after a sudden turn that are solved again with it. Chosen: a foot that is
rolled over comes back as soon as its next point stands."""
MORE_TURN = 1.5
"""Ratio of a turn to that of the poses given from which on it is not theirs. Chosen."""


@dataclass(frozen=True, eq=False)
class Rested:
    """Poses as ``Rest`` has them."""

    rotations: Array
    root: Array
    held: tuple[int, ...]


def without_flips(
    pulls: PoseProblem, settle: Settle, poses: Rest, given: Array, rate: float
) -> Rest:
    """Return poses at rest under ``pulls`` with frames around sudden turns solved again, from
    between the frames before and after them; where that turns as fast they stay.

    Parameters
    ----------
    given
        (n_frames, n_bodies, 4) Poses that lead: what turns suddenly in these may.
    rate
        Frames per second.
    """
    rotations, root = np.array(poses.rotations), np.array(poses.root)
    aside = max(1, round(ASIDE_SECONDS * rate))
    least = SUDDEN_TURN * REFERENCE_RATE / rate
    sudden = _turns(rotations) > np.maximum(least, MORE_TURN * _turns(given))
    if not sudden.any():
        return poses
    wide = binary_dilation(sudden.any(axis=1), np.ones(2 * aside + 1))
    for first, last in runs(wide):
        inside = slice(first + 1, last + 1)  # pairs first … last join the frames first … last + 1
        share = np.linspace(0.0, 1.0, last - first + 2)[1:-1, None]
        start = (
            quat.slerp(rotations[first], rotations[last + 1], share),
            root[first] + share * (root[last + 1] - root[first]),
        )
        again = settle(_of_frames(pulls, inside), start)
        tried = np.concatenate([rotations[first : first + 1], again.rotations,
                                rotations[last + 1 : last + 2]])  # fmt: skip
        if _turns(tried).max() < _turns(rotations[first : last + 2]).max():
            rotations[inside], root[inside] = again.rotations, again.root
    return Rested(rotations, root, poses.held)


def _turns(rotations: Array) -> Array:
    """(n_frames − 1, n_bodies) how far each joint turns to the next frame, radians."""
    return quat.angle(quat.between(rotations[:-1], rotations[1:]))


def _of_frames(pulls: PoseProblem, frames: slice) -> PoseProblem:
    weights, rest = (
        each if len(each) == 1 else each[frames] for each in (pulls.weights, pulls.rest)
    )
    return replace(pulls, targets=pulls.targets[frames], weights=weights, rest=rest)
