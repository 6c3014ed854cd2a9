"""Recordings whose tracks are cut into nameless pieces, as cameras deliver them."""

import numpy as np

from osteon.maths import runs
from osteon.values import Recording


def scattered(
    recording: Recording, seed: int, gap: float = 0.1, longest: float = 6.0
) -> tuple[Recording, list[str]]:
    """Tracks cut into nameless pieces of 0.5 to ``longest`` seconds with gaps of up to ``gap``
    seconds, in any order; and the label of each."""
    rng, pieces = np.random.default_rng(seed), []
    for marker in range(recording.n_markers):
        for first, last in runs(recording.seen[:, marker]):
            at = first
            while at <= last:
                end = min(last, at + round(rng.uniform(0.5, longest) * recording.rate) - 1)
                pieces.append((marker, at, end))
                at = end + 1 + round(rng.uniform(0.0, gap) * recording.rate)
    order = rng.permutation(len(pieces))
    positions = np.full((recording.n_frames, len(pieces), 3), np.nan)
    for column, (marker, first, last) in enumerate(pieces[each] for each in order):
        positions[first : last + 1, column] = recording.positions[first : last + 1, marker]
    names = tuple(f"*{column}" for column in range(len(pieces)))
    truth = [recording.names[pieces[each][0]] for each in order]
    return Recording(positions, names, recording.rate), truth
