"""Compiles the kernels of most stages: into numba's cache, so that test processes need not do so,
or into the folder that is named, for a wheel to carry."""

import gc
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from osteon.cli import OBJECTS_BETWEEN_SWEEPS
from osteon.maths.compiled import compile_for_wheel

if len(sys.argv) > 1:
    compile_for_wheel(Path(sys.argv[1]))

from osteon import delivery, pipeline, synth
from osteon.human import recognise
from osteon.keypoints import steady_tracks
from osteon.labelling import label
from osteon.values import Take

gc.set_threshold(OBJECTS_BETWEEN_SWEEPS)
script = synth.walk(seconds=1)
performed = synth.perform(synth.human(), script, noise=0.001, gaps=0.02, swaps=1, seed=5)
take = Take(recordings=(performed.recording,))
with TemporaryDirectory() as folder:
    delivery.deliver(pipeline.solve(take)[0], Path(folder))
pipeline.map_to(take, "figure")
worn = recognise(performed.recording.names)
assert worn is not None
label(performed.recording, marker_set=worn[0])
steady_tracks(performed.recording.positions, performed.recording.rate)
