"""Takes whose labels nobody knows: what belongs to nobody is left out and told."""

import numpy as np

from osteon import synth
from osteon.pipeline import SolveOptions, solve
from osteon.pipeline.unknown_markers import still_markers
from osteon.values import Recording, Take


def beside(recording: Recording, names: tuple[str, ...]) -> Recording:
    """The recording under nonsense, with markers on a thing that stands three metres away."""
    n = recording.n_frames
    rng = np.random.default_rng(0)
    thing = np.array([[3.0, 3.0, 0.5 + 0.2 * i] for i in range(len(names))])
    placed = thing + 0.0005 * rng.normal(size=(n, len(names), 3))
    both = np.concatenate([recording.positions, placed], axis=1)
    nonsense = tuple(f"X{i}Q" for i in range(recording.n_markers))
    return Recording(both, (*nonsense, *names), recording.rate)


def test_things_that_never_move_are_left_out_and_told() -> None:
    walk = synth.perform(synth.human(), synth.walk(seconds=4), noise=0.001, seed=3).recording
    taken = beside(walk, ("T1", "T2", "T3"))
    assert still_markers([taken]) == ["T1", "T2", "T3"]
    (solved,) = solve(Take(recordings=(taken,)), options=SolveOptions(template="none"))
    assert not {"T1", "T2", "T3"} & solved.skeleton.marker_names
    assert any("never moving" in text and "T1, T2, T3" in text for text in solved.warnings)


def test_feet_that_stand_are_no_things() -> None:
    """Who exercises on the spot has markers that hardly move, and some that move a little more."""
    done = synth.perform(synth.human(), synth.exercise(6.0), noise=0.001, seed=3).recording
    assert still_markers([done]) == []
    standing = Recording(np.repeat(done.positions[:1], 50, axis=0), done.names, done.rate)
    assert still_markers([standing]) == []
