"""Learn what joints are and how far they go from a motion, then reach within those limits.

Run: python examples/40_joint_limits.py
"""

import numpy as np

import osteon as ost
from osteon import synth

# a human walks for ten seconds; any motion read from a BVH, ASF/AMC or GLB would do
walk = synth.perform(synth.human(), synth.walk(seconds=10), seed=3).truth.motion
skeleton = ost.limits(walk)
for name in ("left_shin", "left_forearm", "left_thigh", "left_upper_arm"):
    joint = skeleton.body(name).joint
    assert joint.limits is not None and joint.limits.evidence is not None
    spread = np.degrees(joint.limits.evidence.spread).round(1)
    print(f"{name}: {joint.kind}, spread {spread}°")

# lift the left hand by 10 cm, the pelvis stays where it is
place = walk.world()[1][0, skeleton.index("left_hand")] + np.array([0.0, 0.0, 0.1])
start = ost.Motion(skeleton, walk.rotations[:1], walk.root[:1], walk.rate)
for limits in ("none", "auto"):
    found = ost.reach(skeleton, {"left_hand": place}, start=start, limits=limits, root="held")
    print(f"limits {limits}: the hand comes within {1000 * found.error[0, 0]:.0f} mm")
