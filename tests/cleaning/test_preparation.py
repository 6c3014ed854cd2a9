"""Solve, map, live and joints see a recording alike: its size, its up axis, its labels."""

from dataclasses import replace

import numpy as np
import pytest

from osteon import pipeline, synth
from osteon.articulation import bodies_of
from osteon.cleaning import prepare
from osteon.errors import BadValue
from osteon.live import Replay
from osteon.live.calibrator import calibrate_frames
from osteon.values import Recording, Take


@pytest.fixture(scope="module")
def walk():
    return synth.perform(synth.human(), synth.walk(seconds=2, rate=60), noise=0.0005)


def y_up(recording: Recording) -> Recording:
    return replace(recording, positions=recording.positions[..., [0, 2, 1]] * [1, 1, -1])


def as_used(recording: Recording, skeleton) -> dict[str, np.ndarray]:
    """By who uses it, places (n_frames, n, 3) of all markers, or of the bodies they are on."""
    take = Take(recordings=(recording,))
    played = Replay(take, speed=np.inf)
    return {
        "solve": pipeline.prepare_take(recording, pipeline.SolveOptions())[0].positions,
        "map": pipeline.map_to(take, skeleton).recording.positions,
        "live": np.stack([frame.positions for frame in played.frames()]),
        "joints": bodies_of(take).bodies.positions,
    }


def test_everybody_turns_a_table_upright_that_does_not_say_what_is_up(walk):
    skeleton = walk.truth.skeleton
    told, turned = as_used(walk.recording, skeleton), as_used(y_up(walk.recording), skeleton)
    for user, places in told.items():
        np.testing.assert_allclose(turned[user], places, atol=1e-9, err_msg=user)


def test_everybody_refuses_what_is_too_large_to_be_anybody(walk):
    large = replace(walk.recording, positions=1e3 * walk.recording.positions)
    take = Take(recordings=(large,))
    users = {
        "solve": lambda: pipeline.solve(take),
        "map": lambda: pipeline.map_to(take, walk.truth.skeleton),
        "replay": lambda: Replay(take),
        "calibrator": lambda: calibrate_frames(large),
        "joints": lambda: bodies_of(take),
    }
    for user, use in users.items():
        with pytest.raises(BadValue, match="are these millimetres"):
            pytest.fail(f"{user} took it: {use()}")


def test_map_tells_how_the_recording_was_read_as_solve_does(walk):
    take = Take(recordings=(y_up(walk.recording),))
    (solved,) = pipeline.solve(take)
    mapped = pipeline.map_to(take, walk.truth.skeleton)
    (told,) = [note for note in solved.warnings if "y judged" in note]
    assert told in mapped.warnings


def test_what_is_prepared_stays_as_it_is(walk):
    once, _ = prepare(y_up(walk.recording))
    twice, swaps = prepare(once)
    np.testing.assert_array_equal(twice.positions, once.positions)
    assert swaps == () and twice.source.problems == once.source.problems
