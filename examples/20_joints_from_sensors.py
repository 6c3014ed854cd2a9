"""Joints, hierarchy and limb lengths from magnetic sensors: the wooden linkage of [000]."""

import osteon as ost
from osteon import synth
from osteon.articulation import limb_table, play_back, table_text

# Six sensors strapped anywhere on a linkage of five ball joints, 7 mm and 1° of noise.
take = synth.sense(
    synth.linkage(),
    synth.exercise(30, rate=60, together=True),
    noise=0.004,
    moving_noise=0.007,
    orientation_noise=0.0175,
    seed=1,
)

found = ost.joints(take.bodies)
print(f"root: {found.root}")
for link in found.connections:
    worst = 1000 * link.ellipsoid[0][0]
    print(f"  {link.child} on {link.parent}: {link.kind}, known to ±{worst:.1f} mm")

measured = {
    "torso:head:left_upper_arm": 0.390,
    "torso:left_upper_arm:right_upper_arm": 0.343,
    "left_upper_arm": 0.314,
    "right_upper_arm": 0.286,
}
print(table_text(limb_table(found, measured)))

motion = play_back(take.bodies, found)
print(f"{motion.n_frames} frames, joints together by construction")
