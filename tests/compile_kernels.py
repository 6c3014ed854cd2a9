"""Fills numba's cache with the kernels of most stages, so that test processes need not do so."""

from pathlib import Path
from tempfile import TemporaryDirectory

from ossature import pipeline, synth
from ossature.values import Take

script = synth.walk(seconds=1)
performed = synth.perform(synth.human(), script, noise=0.001, gaps=0.02, swaps=1, seed=5)
take = Take(recordings=(performed.recording,))
with TemporaryDirectory() as folder:
    pipeline.deliver(pipeline.solve(take)[0], Path(folder))
pipeline.map_to(take, "figure")
