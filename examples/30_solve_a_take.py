"""From markers to a rig: the main job, in a few lines.

    python examples/30_solve_a_take.py [take.c3d]

Without a file, a performance is generated. Writes rig/ with motion.bvh, motion.glb and the report.
"""

import sys
from pathlib import Path

from osteon import delivery, pipeline, synth
from osteon.values import Take


def main(files: list[str]) -> None:
    script = synth.sequence(synth.walk(seconds=4), synth.exercise(seconds=12))
    made = synth.perform(synth.human(), script, noise=0.001, skin=1.0, gaps=0.02, seed=2)
    sources = files or [Take(recordings=(made.recording,))]
    for solved in pipeline.solve(*sources, progress=print):
        print(f"{len(solved.skeleton.bodies)} bodies, {1e3 * solved.rms:.2f} mm from the markers")
        for name, rms in list(solved.rms_per_marker().items())[:3]:
            print(f"  {name} {1e3 * rms:.1f} mm")
        for body in solved.skeleton.bodies:
            if body.length is not None:
                print(f"  {body.name}: {1e3 * body.length:.0f} mm")
        delivery.deliver(solved, Path("rig"))


if __name__ == "__main__":
    main(sys.argv[1:])
