"""Tell a motion by the axes along which limbs really move; change a pose by meaning; find errors.

Run: python examples/60_movement_axes.py
"""

from dataclasses import replace

import numpy as np

import osteon as ost
from osteon import synth
from osteon.anatomy import edited, learn
from osteon.maths import quat

performer = synth.human()
motion = synth.act(performer, synth.exercise(seconds=30), seed=1).motion

# frames that do not depend on the recording: default pose, body planes, front
frames = ost.normalise(motion)
print(f"default pose in frame {frames.default_frame}, front known to {frames.front.confidence:.0%}")
print("because of", ", ".join(f"{kind} {vote:+.2f}" for kind, vote in frames.front.votes.items()))

# movement axes, and the whole motion as angles about them
told = ost.axes(motion)
for limb in ("left_upper_arm", "left_forearm", "left_thigh", "left_shin"):
    movement = told.compact.skeleton.body(limb).movement
    assert movement is not None
    print(f"{limb}: {', '.join(movement.parameters)}")
print(f"{7 + len(told.compact.names)} numbers a frame instead of {7 * len(performer.bodies)}")

# back from the angles to the poses
back = told.compact.motion()
apart = np.linalg.norm(back.world()[1] - motion.world()[1], axis=-1)
print(f"joints come back to {1000 * apart.mean():.3f} mm")

# "lift the left arm sideways by 40°": the forearm and the hand go along
lifted = edited(told.compact, {"left_upper_arm.sideways": np.radians(40.0)}, frames=0)
hand = performer.index("left_hand")
moved = lifted.motion().world()[1][0, hand] - back.world()[1][0, hand]
print(f"the left hand moved by {100 * np.linalg.norm(moved):.0f} cm")

# what a body does not do: learned from clean takes, found in another, and mended
watch = learn([synth.act(performer, synth.walk(8), seed=seed).motion for seed in range(3)])
clean = synth.act(performer, synth.walk(8), seed=9).motion
wrong = clean.rotations.copy()
flip = quat.from_axis_angle(np.array([0.0, 0.0, 1.0]), np.array(np.pi))
shin = performer.index("right_shin")
wrong[300:320, shin] = quat.multiply(wrong[300:320, shin], flip)
broken = replace(clean, rotations=wrong)
for limb, first, last in watch.check(broken).runs():
    print(f"improbable: {limb}, frames {first} to {last}")
off = quat.angle(quat.between(watch.mended(broken).rotations, clean.rotations)).max()
print(f"mended to {np.degrees(off):.1f}°")
