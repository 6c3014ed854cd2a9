"""Walk, solve, and read the left knee over the gait cycle, beside another session.

Run: python examples/65_gait_cycles.py
"""

import numpy as np

import osteon as ost
from osteon import pipeline, synth
from osteon.gait import bands_of, between_takes, spreads_of
from osteon.values import Take

# two takes of one person, as cameras see them
performer = synth.human()
seen = [
    synth.perform(performer, synth.walk(seconds=5), noise=0.0005, seed=seed).recording
    for seed in (1, 2)
]
solved = ost.solve(*(Take(recordings=(recording,)) for recording in seen))
takes = [pipeline.gait(one, ost.angles(one)) for one in solved]

# when feet come and go
for event in takes[0].events[:4]:
    print(f"{event.time:.3f} s: {event.side} {event.kind} (by {event.source})")

# the numbers of both sides, all cycles together
for (number, side), found in spreads_of(takes).items():
    if number in ("speed", "stride_length", "stance"):
        print(f"{number} {side}: {found.mean:.2f} ± {found.deviation:.2f}, {found.count} cycles")

# an angle over the cycle: mean and standard deviation, and how much the takes differ
knee = bands_of(takes)["knee_flexion", "left"]
peak = int(np.argmax(knee.mean))
print(f"left knee bends most at {peak} % of the cycle: {np.degrees(knee.mean[peak]):.0f}°")
apart = np.degrees(between_takes(takes)["knee_flexion", "left"])
print(f"between the two takes: {apart:.2f}° rms")
