"""Find labels again: tracks without names, cut into pieces, of a person who is known.

Run: python examples/35_label_tracks.py
"""

from itertools import pairwise

import numpy as np

import osteon as ost
from osteon import synth

# a walk, as a camera system without labels gives it: every track in pieces of about a second
person = synth.human()
walk = synth.perform(person, synth.walk(seconds=5), noise=0.001, skin=1.0, seed=1).recording
rng, tracks, truth = np.random.default_rng(1), [], []
for marker, name in enumerate(walk.names):
    cuts = [0, *np.sort(rng.choice(walk.n_frames, 4, replace=False)), walk.n_frames]
    for first, last in pairwise(cuts):
        track = np.full((walk.n_frames, 3), np.nan)
        track[first:last] = walk.positions[first:last, marker]
        tracks.append(track)
        truth.append(name)
names = tuple(f"*{number}" for number in range(len(tracks)))
nameless = ost.Recording(np.stack(tracks, axis=1), names, walk.rate)

found = ost.label(nameless, skeleton=person)
right = sum(p.n_frames for p in found.pieces if p.label == truth[names.index(p.track)])
print(f"{len(tracks)} tracks, {100 * found.labelled:.1f} % of the samples labelled")
print(f"{100 * right / nameless.seen.sum():.1f} % of the samples labelled right")

# nothing known: pieces of one marker under one name
steady = ost.label(nameless, marker_set="none")
print(f"by motion alone: {steady.recording.n_markers} names for {walk.n_markers} markers")
