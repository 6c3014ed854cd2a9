"""Bodies → Joints: centres, axes, hierarchy, loops, slips, and how far to trust them (000)."""

from ossature.joints.find import joints
from ossature.joints.statistics import JointStatistics

__all__ = ["JointStatistics", "joints"]
