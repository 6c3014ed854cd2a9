"""A character's own file comes out with one more animation, and with all that it had."""

from pathlib import Path

import numpy as np
import pytest

import osteon as ost
from characters import mixamo_like
from conftest import real
from glb_files import khronos, parts, save
from osteon.formats import character_ending, read, write_character
from osteon.maths import quat
from osteon.values import Motion

KINDS = {
    "T": {},
    "metres": {"centimetres": False},
    "posed": {"posed": True},
    "plain_ends": {"ends": "nodes"},
    "unreal": {"style": "unreal", "details": True},
    "visor": {"visor": True, "posed": True},
    "vrm": {"style": "vrm", "details": True, "posed": True},
}


def dance(path: Path, rng: np.random.Generator) -> Motion:
    """Any turns of all bodies, on a path of the root."""
    skeleton = read(path).skeleton()
    turns = quat.exp(rng.normal(0.0, 0.5, (20, len(skeleton.bodies), 3)))
    return Motion(skeleton, turns, np.cumsum(rng.normal(0.0, 0.1, (20, 3)), axis=0), 50.0)


@pytest.mark.parametrize("kind", KINDS)
def test_joints_stand_where_the_motion_has_them(tmp_path, rng, kind):
    path = mixamo_like(tmp_path / "hero.glb", **KINDS[kind])
    motion = dance(path, rng)
    write_character(tmp_path / "out.glb", path, motion, "walk_01")
    found = read(tmp_path / "out.glb").motion()
    assert found.rate == pytest.approx(motion.rate)
    order = [found.skeleton.index(name) for name in motion.skeleton.names]
    # single precision, two metres away
    assert np.abs(found.world()[1][:, order] - motion.world()[1]).max() < 1e-5
    off = quat.angle(quat.between(found.world()[0][:, order], motion.world()[0]))
    assert off.max() < 1e-4


def test_all_else_stays(tmp_path, rng):
    path = real("characters/CesiumMan.glb")
    (before, numbers), motion = parts(path), dance(path, rng)
    write_character(tmp_path / "out.glb", path, motion, "walk_01")
    after, more = parts(tmp_path / "out.glb")
    assert more[: len(numbers)] == numbers
    for key, value in before.items():
        if isinstance(value, list) and key != "buffers":
            assert after[key][: len(value)] == value
        elif key != "buffers":
            assert after[key] == value
    assert [each.get("name") for each in after["animations"][-1:]] == ["walk_01"]
    told, own = khronos(tmp_path / "out.glb", Path(path))
    assert told["issues"]["messages"] == own["issues"]["messages"]


def test_a_vrm_stays_one(tmp_path, rng):
    """What tells its bones, its author and its rights is as it was."""
    path = mixamo_like(tmp_path / "ann.vrm", style="vrm", details=True)
    motion = dance(path, rng)
    assert character_ending(path) == "glb"
    write_character(tmp_path / "out.glb", path, motion, "walk_01")
    (before, numbers), (after, more) = parts(path), parts(tmp_path / "out.glb")
    assert more[: len(numbers)] == numbers
    for key in ("extensions", "extensionsUsed", "nodes", "meshes", "skins", "asset"):
        assert after[key] == before[key]
    bones = after["extensions"]["VRMC_vrm"]["humanoid"]["humanBones"]
    driven = {channel["target"]["node"] for channel in after["animations"][0]["channels"]}
    assert {bone["node"] for bone in bones.values()} <= driven
    told, own = khronos(tmp_path / "out.glb", path)
    assert told["issues"]["numErrors"] == own["issues"]["numErrors"] == 0
    assert told["issues"]["messages"] == own["issues"]["messages"]


def test_a_second_take_gets_a_name_of_its_own(tmp_path, rng):
    path = mixamo_like(tmp_path / "hero.glb")
    motion = dance(path, rng)
    write_character(tmp_path / "one.glb", path, motion, "walk")
    write_character(tmp_path / "two.glb", tmp_path / "one.glb", motion, "walk")
    names = [each["name"] for each in parts(tmp_path / "two.glb")[0]["animations"]]
    assert names[0] == "walk" and len(set(names)) == 2


def test_the_take_that_was_put_on_last_is_read(tmp_path, rng):
    """Before, the character's own animation came back instead of the take."""
    path = real("characters/CesiumMan.glb")
    own, first, second = read(path).motion(), dance(path, rng), dance(path, rng)
    write_character(tmp_path / "one.glb", path, first, "first")
    write_character(tmp_path / "two.glb", tmp_path / "one.glb", second, "second")
    assert read(path).motion().n_frames == own.n_frames != second.n_frames
    found = read(tmp_path / "two.glb").motion()
    assert found.n_frames == second.n_frames and "'second'" in found.source.problems[0]
    order = [found.skeleton.index(name) for name in second.skeleton.names]
    assert np.abs(found.world()[1][:, order] - second.world()[1]).max() < 1e-5


def test_nodes_told_by_matrices_are_told_by_parts(tmp_path, rng):
    """glTF lets no animation drive a matrix."""
    path = mixamo_like(tmp_path / "hero.glb")
    document, numbers = parts(path)
    joints = document["skins"][0]["joints"]
    for node in joints:
        turn = np.array(document["nodes"][node].pop("rotation"))[[3, 0, 1, 2]]
        matrix = np.eye(4)
        matrix[:3, :3] = quat.to_matrix(turn)
        matrix[:3, 3] = document["nodes"][node].pop("translation")
        document["nodes"][node]["matrix"] = matrix.T.ravel().tolist()
    save(path, document, numbers)
    motion = dance(path, rng)
    write_character(tmp_path / "out.glb", path, motion, "walk")
    assert not any("matrix" in parts(tmp_path / "out.glb")[0]["nodes"][node] for node in joints)
    found = read(tmp_path / "out.glb").motion()
    order = [found.skeleton.index(name) for name in motion.skeleton.names]
    assert np.abs(found.world()[1][:, order] - motion.world()[1]).max() < 1e-5


def test_what_is_no_character_is_told(tmp_path, rng):
    path = mixamo_like(tmp_path / "hero.glb")
    assert character_ending(path) == "glb"
    motion = dance(path, rng)
    ost.write(motion, tmp_path / "ours.glb")
    ost.write(motion, tmp_path / "plain.bvh")
    assert not character_ending(tmp_path / "ours.glb")
    assert not character_ending(tmp_path / "plain.bvh")
    other = dance(mixamo_like(tmp_path / "other.glb", prefix="other"), rng)
    with pytest.raises(ost.OsteonError, match="other bodies"):
        write_character(tmp_path / "out.glb", path, other, "walk")
    assert not (tmp_path / "out.glb").exists()
