"""A stream of markers, posed while it comes in.

    python examples/90_live.py

Here the stream is a generated take, replayed three times as fast as it was made.
"""

from osteon import synth
from osteon.live import Replay, run_live
from osteon.values import Take

take = synth.perform(
    synth.human(), synth.exercise(seconds=60, rate=60), noise=0.001, skin=1.0, swaps=2
)
stream = Replay(Take(recordings=(take.recording,)), speed=3.0)
heights = []
skeleton, summary = run_live(
    stream, [lambda frame, pose: heights.append(pose.joints[:, 2].max())], say=print
)
print(f"{summary['poses']} poses from {summary['frames']} frames")
if skeleton is not None and heights:
    print(f"{len(skeleton.bodies)} bodies; the highest joint reached {max(heights):.2f} m")
