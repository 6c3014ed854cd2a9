"""A bone on the ground that carries path and heading."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import osteon as ost
from characters import mixamo_like
from osteon import synth
from osteon.cli import osteon
from osteon.clips import in_place, resample, root_on_ground, with_root_bone
from osteon.human import figure_at_rest
from osteon.maths import quat
from osteon.pipeline.map_take import map_to
from osteon.values import Body, Joint, Motion, Skeleton


@pytest.fixture(scope="module")
def walked() -> Motion:
    return synth.act(synth.human(), synth.walk(2.0), seed=2).motion


def check_root(rooted: Motion, motion: Motion) -> None:
    """Joints are where they were; the root is on the ground, level, and sways less than hips."""
    order = [rooted.skeleton.index(name) for name in motion.skeleton.names]
    assert np.abs(rooted.world()[1][:, order] - motion.world()[1]).max() < 1e-9
    assert np.abs(rooted.root[:, 2]).max() == 0.0
    hips = motion.world()[1][:, order.index(order[0])]
    assert np.linalg.norm((rooted.root - hips)[:, :2], axis=-1).max() < 0.35  # half a stride
    up = quat.rotate(rooted.rotations[:, 0], np.array([0.0, 0.0, 1.0]))
    assert np.ptp(up, axis=0).max() < 1e-9


def test_a_walk_gets_a_root_bone(walked):
    rooted = with_root_bone(walked)
    assert rooted.skeleton.names == ("root", *walked.skeleton.names)
    assert rooted.skeleton.body("pelvis").parent == "root"
    check_root(rooted, walked)
    way = walked.root[-1] - walked.root[0]
    forward = figure_at_rest(walked.skeleton).axes()[:, 0]
    heading = quat.rotate(rooted.rotations[:, 0], forward)
    off = np.arctan2(heading[:, 1], heading[:, 0]) - np.arctan2(way[1], way[0])
    assert np.degrees(np.abs(np.angle(np.exp(1j * off)))).max() < 10.0
    # in place, the hips stay near one spot
    stays = in_place(rooted).world()[1][:, 1]
    assert np.ptp(stays[:, :2], axis=0).max() < 0.7
    assert resample(rooted, 30.0).offsets is not None


@pytest.mark.parametrize("ending", ["bvh", "glb", "fbx"])
def test_files_keep_it(tmp_path: Path, walked, ending):
    ost.write(walked, tmp_path / "walk.bvh")
    target = tmp_path / f"rooted.{ending}"
    words = ["convert", str(tmp_path / "walk.bvh"), str(target), "--root-bone"]
    assert CliRunner().invoke(osteon, words).exit_code == 0
    found = ost.read(target).motion()
    assert found.skeleton.names[:2] == ("root", "pelvis")
    order = [found.skeleton.index(name) for name in walked.skeleton.names]
    assert np.abs(found.world()[1][:, order] - walked.world()[1]).max() < 1e-5
    assert np.abs(found.root[:, 2]).max() < 1e-6


def test_a_characters_own_root_is_laid_on_the_ground(tmp_path, walked):
    """Hips of a walker are lower than those of the character at rest; its root is not."""
    path = mixamo_like(tmp_path / "hero.glb", style="unreal", spread=0.8)
    motion = map_to(ost.Take(motions=(walked,)), path).motion
    assert motion.skeleton.names[0] == "root" and motion.root[:, 2].max() < -0.03
    laid = root_on_ground(motion)
    assert laid.skeleton.names == motion.skeleton.names
    pelvis = motion.skeleton.index("pelvis")
    assert np.abs(laid.world()[1][:, pelvis:] - motion.world()[1][:, pelvis:]).max() < 1e-9
    assert np.abs(laid.root[:, 2]).max() == 0.0


def test_what_has_no_hips_is_told(walked):
    chain = Skeleton((Body("a", None), Body("b", "a", Joint("ball", (0.0, 0.0, 1.0)))))
    still = Motion(chain, quat.identity((3, 2)), np.zeros((3, 3)), 30.0)
    assert root_on_ground(still) is still
    with pytest.raises(ost.OsteonError, match="heading"):
        with_root_bone(still)
