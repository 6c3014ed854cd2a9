"""Fills numba's cache with the kernels of a solve, so that test processes need not each do so."""

from ossature import pipeline, synth
from ossature.values import Take

script = synth.walk(seconds=1)
take = synth.perform(synth.human(), script, noise=0.001, gaps=0.02, swaps=1, seed=5)
pipeline.solve(Take(recordings=(take.recording,)))
