"""USD: usd-core's own validators are silent, and its skinning queries put joints where ours are."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from osteon.errors import BadValue, MissingExtra, NotEnoughData
from osteon.formats import read, write
from rigs import hinge_chain, human, move

pxr = pytest.importorskip("pxr", reason="usd-core is not installed: pip install 'osteon[usd]'")
FRAMES = (0, 1, 17, 59)
TOLERANCE = 1e-4
"""Metres, the 0.1 mm we promise; float32 alone leaves about a micrometre."""


def opened(path):
    from pxr import Usd, UsdSkel

    stage = Usd.Stage.Open(str(path))
    skeleton = next(UsdSkel.Skeleton(p) for p in stage.Traverse() if p.IsA(UsdSkel.Skeleton))
    cache = UsdSkel.Cache()
    root = UsdSkel.Root(stage.GetDefaultPrim())
    cache.Populate(root, Usd.PrimDefaultPredicate)
    return stage, skeleton, cache.GetSkelQuery(skeleton)


@pytest.mark.parametrize("skeleton", [human(), hinge_chain()], ids=["human", "hinges"])
def test_joints_stand_where_ours_do(tmp_path, skeleton):
    from pxr import Usd

    motion = move(skeleton, 60)
    write(motion, tmp_path / "a.usda")
    stage, prim, query = opened(tmp_path / "a.usda")
    assert tuple(prim.GetJointNamesAttr().Get()) == skeleton.names
    assert stage.GetTimeCodesPerSecond() == motion.rate
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0, 59)
    _, places = motion.world()
    for frame in FRAMES:
        matrices = query.ComputeJointSkelTransforms(Usd.TimeCode(frame))
        theirs = np.array([matrix.ExtractTranslation() for matrix in matrices])
        assert np.linalg.norm(theirs - places[frame], axis=-1).max() < TOLERANCE


@pytest.mark.parametrize("value", [move(human(), 5), human()], ids=["motion", "skeleton"])
def test_the_validators_of_usd_find_nothing(tmp_path, value):
    from pxr import UsdGeom, UsdValidation

    write(value, tmp_path / "a.usda")
    stage, _, _ = opened(tmp_path / "a.usda")
    assert UsdGeom.GetStageUpAxis(stage) == "Z" and UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    assert len(validators) > 5
    found = UsdValidation.ValidationContext(validators).Validate(stage)
    assert [error.GetErrorAsString() for error in found] == []


def test_the_whole_skeleton_is_in_the_custom_data(tmp_path):
    write(human(), tmp_path / "a.usda")
    stage, prim, _ = opened(tmp_path / "a.usda")
    assert stage.GetDefaultPrim().GetName() == "somebody"
    (tmp_path / "b.json").write_text(prim.GetPrim().GetCustomDataByKey("osteon"))
    back = read(tmp_path / "b.json").skeleton()
    assert back.body("left_shin").joint.limits.hinge == (-0.1, 2.5)
    assert [m.name for m in back.body("head").markers] == ["head_1"]


def test_names_become_paths(tmp_path):
    chain = hinge_chain(3)
    names = ("1 hip", "größe/2", "größe 2")
    bodies = [
        replace(body, name=name, parent=parent)
        for body, name, parent in zip(chain.bodies, names, (None, *names), strict=False)
    ]
    write(replace(chain, bodies=tuple(bodies)), tmp_path / "a.usda")
    stage, prim, _ = opened(tmp_path / "a.usda")
    assert stage.GetDefaultPrim().GetName() == "figure"
    assert list(prim.GetJointsAttr().Get()) == [
        "_1_hip",
        "_1_hip/größe_2",
        "_1_hip/größe_2/größe_2_",
    ]
    assert tuple(prim.GetJointNamesAttr().Get()) == names


def test_what_cannot_be_written_is_said(tmp_path, monkeypatch):
    with pytest.raises(BadValue, match="in metres with z up"):
        write(human(), tmp_path / "a.usda", up="y")
    motion = move(human(), 3)
    rotations = np.array(motion.rotations)
    rotations[1, 2] = np.nan
    with pytest.raises(NotEnoughData, match="frame 1 has no pose, which USD cannot say"):
        write(replace(motion, rotations=rotations), tmp_path / "a.usda")
    monkeypatch.setitem(sys.modules, "pxr.Gf", None)
    with pytest.raises(MissingExtra, match=r"pip install 'osteon\[usd\]'"):
        write(human(), tmp_path / "a.usda")
    assert list(tmp_path.iterdir()) == []
