"""Where on its axis a joint lies that motion leaves open there."""

import numpy as np
import pytest

from osteon.articulation import FinishedJoint, GroupJoint
from osteon.calibration.joint_evidence import with_bones_across

AXIS = np.array([1.0, 0.0, 0.0])
LEG = [-1, 0, 1, 2]
"""Pelvis, thigh, shin and foot: the joints of the last three are hip, knee and ankle."""


def joint(height: float, aside: float, along: float) -> GroupJoint:
    """One whose bodies have their origins at the world's, ``along`` metres unsure on its axis."""
    at = np.array([aside, 0.0, height])
    spread = np.diag([along**2, 1e-6, 1e-6])
    covariance = np.block([[spread, spread], [spread, spread]]) + 1e-8 * np.eye(6)
    axes, none = np.stack([AXIS, AXIS]), np.zeros((3, 3))
    finished = FinishedJoint(0, 0, 0, "hinge", np.tile(at, 2), covariance, axes, one_axis=True)
    return GroupJoint(finished, none, none, (0.001, 0.001))


def leg(along: float) -> dict[int, GroupJoint]:
    """A knee 5 cm beside the line from hip to ankle, on its axis."""
    return {1: joint(0.9, 0.0, 0.002), 2: joint(0.5, 0.05, along), 3: joint(0.1, 0.0, 0.002)}


def test_a_knee_open_along_its_axis_goes_between_hip_and_ankle():
    before, found = leg(0.3)[2].joint, with_bones_across(leg(0.3), LEG)[2].joint
    assert abs(found.centres[0]) < 0.005 and abs(found.centres[3]) < 0.005
    np.testing.assert_allclose(found.centres[1:3], before.centres[1:3], atol=1e-4)
    deviations = [np.sqrt(each.covariance[3, 3]) for each in (found, before)]
    assert 0.02 < deviations[0] < 0.3 * deviations[1]


@pytest.mark.parametrize("along", [0.001, 0.003])
def test_what_motion_tells_stays(along):
    found = with_bones_across(leg(along), LEG)[2].joint
    assert abs(found.centres[0] - 0.05) < 0.001


def test_joints_of_bones_that_branch_or_end_stay():
    known = {body: joint(0.5, 0.05, 0.3) for body in (1, 2, 3)}
    found = with_bones_across(known, [-1, 0, 0, 0])
    assert all(found[body].joint is known[body].joint for body in known)
