"""A take without labels in the studio: it is labelled as it is solved, and its edits replay so."""

import numpy as np
import pytest

from osteon import synth
from osteon.edits import SetLabel, Settings, solve_edited
from osteon.errors import NotEnoughData
from osteon.formats import write
from osteon.labelling import SaidLabel, label, relabel
from osteon.maths import runs
from osteon.studio.document import OpenTake, Revisions
from osteon.studio.jobs import label_snapshot, solve_snapshot, take_snapshot
from osteon.studio.replies import labels_of
from osteon.typing import unheard
from scattered_tracks import scattered


def test_a_take_in_pieces_is_solved_by_its_set_and_replays(tmp_path) -> None:
    walk = synth.perform(synth.human(), synth.walk(seconds=2), noise=0.001, seed=2).recording
    cut, _ = scattered(walk, seed=1, longest=1.0)
    path = tmp_path / "walk.c3d"
    write(cut, path)
    take = OpenTake(path, "walk.c3d", "", Revisions())
    take.set_settings(Settings(template="CMU 41"))
    shot = take_snapshot(take)
    solved, _ = solve_snapshot(shot, unheard)
    take.install(solved, shot.key)
    assert set(solved.recording.names) == set(walk.names)
    assert take.summary is not None
    assert any("labelled by the set CMU 41" in text for text in take.summary["warnings"])
    assert take.residuals().shape == (cut.n_frames, cut.n_markers)
    again = solve_edited(path, take.as_edits())
    np.testing.assert_array_equal(again.motion.rotations, solved.motion.rotations)


def test_labels_said_by_hand_count_when_it_is_solved_and_replay(tmp_path) -> None:
    walk = synth.perform(synth.human(), synth.walk(seconds=2), noise=0.001, seed=2).recording
    cut, truth = scattered(walk, seed=1, longest=1.0)
    path = tmp_path / "walk.c3d"
    write(cut, path)
    take = OpenTake(path, "walk.c3d", "", Revisions())
    take.set_settings(Settings(template="CMU 41", label=True))
    take.labelled = label_snapshot(take_snapshot(take), unheard)
    table = labels_of(take)
    assert table is not None and table.labelled > 0.98
    track = truth.index("LFIN")
    first, last = runs(cut.seen[:, track])[0]
    take.make(SetLabel(cut.names[track], first, last, ""), take.revisions.current)
    table = labels_of(take)
    assert table is not None
    [row] = [each for each in table.rows if each.track == cut.names[track]]
    assert row.by_hand and not row.label
    shot = take_snapshot(take)
    solved, _ = solve_snapshot(shot, unheard)
    finger = solved.recording.positions[first : last + 1, solved.recording.index("LFIN")]
    assert np.isnan(finger).all()
    again = solve_edited(path, take.as_edits())
    np.testing.assert_array_equal(again.motion.rotations, solved.motion.rotations)


def test_a_label_given_by_hand_is_taken_from_others_in_its_frames() -> None:
    walk = synth.perform(synth.human(), synth.walk(seconds=2), noise=0.001, seed=2).recording
    found = label(walk, marker_set="none")
    one, other = found.pieces[0], found.pieces[1]
    said = relabel(found, walk, [SaidLabel(other.track, other.first, other.last, one.label)])
    held = [
        (piece.track, piece.label)
        for piece in said.pieces
        if piece.track in (one.track, other.track)
    ]
    assert held == [(one.track, ""), (other.track, one.label)]
    with pytest.raises(NotEnoughData, match="no piece of the track"):
        relabel(found, walk, [SaidLabel("nobody", 0, 10, "m01")])
