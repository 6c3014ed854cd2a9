"""Generate performances whose truth is known, and look at what was made.

Run: python examples/10_generate_a_performance.py
"""

import numpy as np

from osteon import synth

# a human walks: what the cameras saw, and what was true
walk = synth.perform(
    synth.human(height=1.82),
    synth.walk(seconds=10),
    noise=0.001,
    skin=1.0,
    gaps=0.05,
    swaps=20,
    seed=3,
)
print(f"{walk.recording.n_markers} markers × {walk.recording.n_frames} frames")
print(f"missing: {walk.truth.missing.mean():.1%}, swapped: {len(walk.truth.swaps)} times")
first = walk.truth.contacts[0]
print(f"{first.body} stands from frame {first.frames[0]} to {first.frames[1]}")

# the wooden linkage of [000] with a magnetic sensor on every part
linkage = synth.sense(
    synth.linkage(),
    synth.exercise(seconds=30),
    noise=0.004,
    moving_noise=0.007,
    orientation_noise=np.radians(1.0),
    slips=[synth.Slipped("left_forearm", frame=1800, shift=(0.0, 0.02, 0.0))],
    seed=6,
)
joints = linkage.truth.joints
shoulders = [linkage.truth.skeleton.index(f"{side}_upper_arm") for side in ("left", "right")]
apart = np.linalg.norm(joints[0, shoulders[0]] - joints[0, shoulders[1]])
print(f"{linkage.bodies.n_bodies} sensors; shoulders {100 * apart:.1f} cm apart")

# joint angles are part of the truth
angles = np.degrees(synth.joint_angles(walk.truth.motion))
for dof, column in zip(synth.dofs(walk.truth.skeleton), angles.T, strict=True):
    if dof.body == "left_shin":
        print(f"left knee about {dof.label}: {column.min():.0f}° to {column.max():.0f}°")
