"""Files for other programs: at rest the figure stands on the ground, its front where they look."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glb_files import parts
from osteon.formats import read, write
from osteon.formats.glb.read import Skinned, read_glb_mesh
from osteon.formats.shared.standing_pose import standing_pose
from osteon.maths import quat
from osteon.values import Body, Joint, Skeleton
from rigs import hinge_chain, human, move


def test_a_figure_stands_and_looks_to_the_front():
    for yaw in (0.0, 1.0, -2.5):
        turn = quat.from_axis_angle(np.array([0.0, 0.0, 1.0]), np.array(yaw))
        root, *others = human().bodies
        root = replace(root, joint=replace(root.joint, rest=turn))
        skeleton = replace(human(), bodies=(root, *others))
        pose = standing_pose(skeleton, None)
        assert pose.vertices[:, 2].min() == pytest.approx(0.0, abs=1e-12)
        place = dict(zip(skeleton.names, pose.joints, strict=True))
        left = place["left_thigh"] - place["right_thigh"]
        # who looks along −y has its left along x
        assert left / np.linalg.norm(left) == pytest.approx([1.0, 0.0, 0.0], abs=1e-9)


def test_what_is_no_human_is_not_turned():
    skeleton = Skeleton((Body("a", None), Body("b", "a", Joint("ball", (0.3, 0.2, -1.0)))))
    pose = standing_pose(skeleton, None)
    assert pose.joints == pytest.approx(np.array([[0, 0, 1.0], [0.3, 0.2, 0.0]]))


@pytest.mark.parametrize("skeleton", [human(), hinge_chain()], ids=["human", "hinges"])
def test_nodes_rest_as_the_skin_is_bound(tmp_path, skeleton):
    """In the file's world the rest pose is the bound one, on the ground; the take has its name."""
    motion = move(skeleton, 5)
    motion = replace(motion, source=replace(motion.source, file="walk_07.c3d"))
    write(motion, tmp_path / "a.glb")
    skin = read_glb_mesh(tmp_path / "a.glb")
    assert isinstance(skin, Skinned)
    assert skin.mesh.vertices[:, 2].min() == pytest.approx(0.0, abs=1e-6)
    document = parts(tmp_path / "a.glb")[0]
    assert [each["name"] for each in document["animations"]] == ["walk_07"]
    root = document["nodes"][1]
    assert root["translation"] == pytest.approx(skin.mesh.joints[0].tolist(), abs=1e-6)
    np.testing.assert_allclose(
        read(tmp_path / "a.glb").motion().world()[1], motion.world()[1], atol=1e-5
    )


def test_usd_rests_on_the_ground(tmp_path: Path):
    usd = pytest.importorskip("pxr.Usd")
    skel = pytest.importorskip("pxr.UsdSkel")
    write(human(), tmp_path / "a.usda")
    stage = usd.Stage.Open(str(tmp_path / "a.usda"))
    (prim,) = [each for each in stage.Traverse() if each.IsA(skel.Skeleton)]
    found = skel.Skeleton(prim).GetBindTransformsAttr().Get()
    np.testing.assert_allclose(
        [list(matrix.ExtractTranslation()) for matrix in found],
        standing_pose(human(), None).joints,
        atol=1e-9,
    )
