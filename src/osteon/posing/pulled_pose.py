"""One pose pulled by points of its own, which else stays as it is: for live streams."""

import numpy as np

from osteon.posing._kernels.normal_equations import make_model
from osteon.posing._kernels.single_frame import FrameLimits, fit_frame, make_work
from osteon.posing.rig import Rig
from osteon.typing import Array

PULL_LIMITS = FrameLimits(evaluations=12, tolerance=1e-3, gain=1e-4, scale=1e3, hold=1e-4)
"""Bounds of the time for a frame, and a pull to the pose that is given, square metres per square
radian, as weak as ``map``'s to the neutral posture. Chosen: a thousandth of a radian moves a foot
by a millimetre. The scale, in metres, is so wide that no point is doubted."""


class PulledPose:
    """A rig whose points are pulled, a frame at a time."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self._model, self._work = make_model(rig, 0.0), make_work(rig.tree)

    def pull(self, rotations: Array, root: Array, targets: Array, weights: Array) -> None:
        """Bring a pose (n_bodies, 4), (3,) to where all pulls balance, in place.

        Parameters
        ----------
        targets : (n_points, 3)
        weights : (n_points,)
            Stiffness of each pull; 0 leaves it out.
        """
        self._work.trust[:] = weights
        start = np.zeros(self.rig.tree.n_dofs)
        fit_frame(self._model, self._work, targets, rotations, root, start, PULL_LIMITS)
