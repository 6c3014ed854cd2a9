"""A stream whose tracks break off and come back under other names keeps its labels."""

import numpy as np
import pytest
from test_live import RATE, feed, played

from osteon import synth
from osteon.live.label_keeper import LabelKeeper
from osteon.live.stream_frames import StreamFrame
from osteon.values import Recording
from scattered_tracks import scattered


@pytest.fixture(scope="module")
def performance():
    script = synth.sequence(synth.walk(seconds=4.0, rate=RATE), synth.exercise(20.0, rate=RATE))
    return synth.perform(synth.human(), script, noise=0.001, skin=1.0, seed=6)


def broken(recording: Recording, *, known: bool) -> tuple[list[StreamFrame], dict[str, str]]:
    """Frames with tracks that break every 0.5 to 3 s and come back under a number; at first, where
    they are ``known``, under their labels. And the label of each name."""
    cut, truth = scattered(recording, seed=2, longest=3.0)
    first = cut.seen[0] & known
    names = tuple(
        label if first[column] else name
        for column, (name, label) in enumerate(zip(cut.names, truth, strict=True))
    )
    frames = []
    for number, (places, seen) in enumerate(zip(cut.positions, cut.seen, strict=True)):
        here = tuple(names[column] for column in np.flatnonzero(seen))
        frames.append(StreamFrame(number, here, places[seen]))
    return frames, dict(zip(names, truth, strict=True))


def shares(frames, truth, session, since: int) -> tuple[float, float]:
    """Of the samples from a frame on: under their label, under another's."""
    right = wrong = total = 0
    kept = session.memory
    for row, number in enumerate(kept.numbers):
        if number < since:
            continue
        places = kept.frames()[row]
        frame = frames[number]
        for name, place in zip(frame.names, frame.positions, strict=True):
            total += 1
            at = np.flatnonzero((places == place).all(axis=1))
            said = kept.names[at[0]] if len(at) else ""
            right += said == truth[name]
            wrong += said != truth[name] and said in truth.values()
    return right / total, wrong / total


@pytest.mark.parametrize("known", [True, False])
def test_labels_are_kept_through_breaks(performance, known) -> None:
    """Without the keeper next to nothing has its label after three seconds."""
    frames, truth = broken(performance.recording, known=known)
    frames = frames[: int(14.0 * RATE)]
    session, poses, said = feed(frames, skeleton=performance.truth.skeleton)
    since = int(3.5 * RATE)
    right, wrong = shares(frames, truth, session, since)
    assert right > 0.98
    assert wrong < 0.005
    true = performance.truth.joints
    apart = [np.linalg.norm(poses[n].joints - true[n], axis=-1) for n in poses if n > since]
    assert len(apart) > 0.98 * (len(frames) - since)
    assert np.median(apart) < 0.01
    told = [text for text in said if "by where the person's markers must be" in text]
    assert len(told) == 1
    assert session.keeper.n_given > performance.recording.n_markers


def test_a_stream_with_its_labels_is_left_alone(performance) -> None:
    frames = played(performance.recording)[:120]
    session, _, said = feed(frames, skeleton=performance.truth.skeleton)
    assert session.keeper.n_given == 0
    assert not said
    keeper = LabelKeeper(RATE)
    assert keeper.keep(frames[0])[0] is frames[0]


def test_ghosts_get_no_label(performance, rng) -> None:
    """Points 20 cm off all markers, while one in ten markers is hidden, stay what they are."""
    frames = []
    for frame in played(performance.recording)[:240]:
        shown = np.arange(len(frame.names)) % 10 != frame.number // 60
        ghosts = frame.positions[:3] + [0.0, 0.0, 1.0]
        names = tuple(np.array(frame.names)[shown]) + ("g1", "g2", "g3")
        frames.append(
            StreamFrame(frame.number, names, np.concatenate([frame.positions[shown], ghosts]))
        )
    session, _, _ = feed(frames, skeleton=performance.truth.skeleton)
    assert session.keeper.n_given == 0


def test_a_ghost_gives_the_label_back_when_its_marker_returns(performance) -> None:
    """A point 3 cm beside a hidden marker goes with it, and is still there when that comes back."""
    frames: list[StreamFrame] = []
    label = "LFWT"
    for frame in played(performance.recording)[:240]:
        at, names = frame.names.index(label), list(frame.names)
        places = frame.positions.copy()
        if frame.number >= 60:
            names[at] = "back"
            ghost = places[at] + [0.0, 0.03, 0.0]
            names, places = [*names, "ghost"], np.concatenate([places, ghost[None]])
        shown = np.array([name != "back" or frame.number >= 120 for name in names])
        kept = tuple(name for name, there in zip(names, shown, strict=True) if there)
        frames.append(StreamFrame(frame.number, kept, places[shown]))
    session, _, _ = feed(frames[:119], skeleton=performance.truth.skeleton)
    assert session.keeper.given.get("ghost") == label, "or there is nothing to give back"
    session, _, _ = feed(frames, skeleton=performance.truth.skeleton)
    assert session.keeper.given.get("back") == label
    assert "ghost" not in session.keeper.given
