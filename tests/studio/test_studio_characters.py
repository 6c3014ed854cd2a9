"""Skins and characters that the studio's page is given."""

from pathlib import Path

import numpy as np
import pytest

from osteon import synth
from osteon.edits.rig_edits import Place
from osteon.errors import OsteonError
from osteon.formats import write
from osteon.maths import quat
from osteon.pipeline import solve
from osteon.studio.document import OpenTake, Revisions
from osteon.studio.replies import character_at
from osteon.studio.skins import character_skin, skin_of
from osteon.values import Take


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A walk, and the performer's own rig without markers as a character."""
    folder = tmp_path_factory.mktemp("characters")
    recording = synth.perform(synth.human(), synth.walk(seconds=2), noise=0.001, seed=11).recording
    write(recording, folder / "walk.c3d")
    write(solve(Take(recordings=(recording,)))[0].motion, folder / "hero.bvh")
    return folder


def opened(folder: Path, *, solved: bool) -> OpenTake:
    take = OpenTake(folder / "walk.c3d", "walk.c3d", "", Revisions())
    if solved and take.recording is not None:
        take.install(solve(Take(recordings=(take.recording,)))[0], take.key())
    return take


def test_an_unsolved_take_has_no_skin_and_guesses_no_marker(folder):
    take = opened(folder, solved=False)
    assert skin_of(take) is None
    assert character_at(folder / "hero.bvh", take).placed == ()


def test_a_solved_rig_is_dressed(folder):
    take = opened(folder, solved=True)
    skin = skin_of(take)
    assert skin is not None and take.solved is not None
    assert len(skin.joints) == len(take.solved.skeleton.bodies)


def test_markers_are_guessed_where_the_performer_carries_them(folder):
    """The character is the performer's own rig, so every marker belongs where it was found."""
    take = opened(folder, solved=True)
    hero = character_at(folder / "hero.bvh", take)
    assert take.solved is not None
    carriers = {m.name: b.name for b in take.solved.skeleton.bodies for m in b.markers}
    assert {placed.marker: placed.body for placed in hero.placed} == carriers
    assert not any(placed.by_hand for placed in hero.placed)


def test_what_was_glued_by_hand_comes_first(folder):
    take = opened(folder, solved=True)
    take.edits.append(Place("LKNE", "left_shin", (0.01, 0.02, 0.03), character="hero.bvh"))
    take.edits.append(Place("LANK", "left_shin", (0.01, 0.02, 0.03), character="other.bvh"))
    placed = {each.marker: each for each in character_at(folder / "hero.bvh", take).placed}
    assert placed["LKNE"].by_hand and placed["LKNE"].position == (0.01, 0.02, 0.03)
    assert not placed["LANK"].by_hand


def test_a_character_stands_in_its_rest_pose(folder):
    hero = character_at(folder / "hero.bvh", opened(folder, solved=False))
    joints, turned = np.array(hero.joints), np.array(hero.turned)
    for index, body in enumerate(hero.rig.bodies):
        if body.parent >= 0:
            arm = quat.rotate(turned[body.parent], np.array(body.offset))
            # places travel as doubles; only rounding is between the two
            np.testing.assert_allclose(joints[index], joints[body.parent] + arm, atol=1e-9)
    skin = character_skin(folder / "hero.bvh")
    assert skin is not None and len(skin.joints) == len(joints)


def test_a_character_that_is_not_there_is_told_so(folder):
    with pytest.raises(OsteonError, match=r"nobody\.bvh"):
        character_at(folder / "nobody.bvh", opened(folder, solved=False))
