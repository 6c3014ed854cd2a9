"""Whether a standing trial is of the person, and of the session, that a take shows."""

from dataclasses import replace

import numpy as np
import pytest

from conftest import real
from osteon import pipeline, synth
from osteon.formats import read
from osteon.identity import SAME_PLACES_RMS, compare_places
from osteon.values import Recording, Take


@pytest.fixture(scope="module")
def walk() -> synth.Performance:
    return synth.perform(synth.human(), synth.walk(4.0), seed=1, noise=0.0005, skin=0.01)


def test_one_session_is_one_whatever_the_skin_does(walk):
    one = walk.recording
    half = one.n_frames // 2
    first, second = (
        Recording(part, one.names, one.rate)
        for part in (one.positions[:half], one.positions[half:])
    )
    change = compare_places(first, second, walk.truth.skeleton)
    assert change is not None and change.rms < 0.5 * SAME_PLACES_RMS


def test_a_larger_person_is_another_and_the_distance_that_shows_it_is_named(walk):
    larger = replace(walk.recording, positions=1.08 * walk.recording.positions)
    change = compare_places(walk.recording, larger, walk.truth.skeleton)
    # 8 % of distances of 0.1 to 0.4 m are 8 to 30 mm
    assert change is not None and change.rms > SAME_PLACES_RMS
    assert change.new == pytest.approx(1.08 * change.known)


def test_few_shared_markers_tell_nothing(walk):
    few = walk.recording.select(walk.recording.names[:2])
    assert compare_places(walk.recording, few, walk.truth.skeleton) is None


def test_markers_hardly_seen_together_tell_nothing(walk):
    gone = np.array(walk.recording.positions)
    gone[5:] = np.nan
    part = Recording(gone, walk.recording.names, walk.recording.rate)
    assert compare_places(walk.recording, part, walk.truth.skeleton) is None


@pytest.mark.parametrize(("scale", "told"), [(1.0, False), (1.08, True)])
def test_a_static_of_another_person_is_told(scale, told):
    folder = real("nimble-opencap-s4")
    (still,) = read(folder / "static1.trc").recordings
    other = Take(recordings=(replace(still, positions=scale * still.positions),))
    (solved,) = pipeline.solve(read(folder / "walking1.trc"), static=(other,))
    assert any("of another person" in note for note in solved.warnings) == told
