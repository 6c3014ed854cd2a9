"""A take without labels in the studio: it is labelled as it is solved, and its edits replay so."""

import numpy as np

from osteon import synth
from osteon.edits import Settings, solve_edited
from osteon.formats import write
from osteon.studio.document import OpenTake, Revisions
from osteon.studio.jobs import solve_snapshot, take_snapshot
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
