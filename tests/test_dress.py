"""Meshes told in limb frames: they stay on their limbs, and fit people of other sizes."""

import numpy as np
import pytest
from click.testing import CliRunner

from ossature import synth
from ossature.anatomy.dress import dressed, read_meshes
from ossature.anatomy.frames import normalise
from ossature.cli import ossature
from ossature.errors import FormatError, NotEnoughData, UnknownName
from ossature.formats import read, write
from ossature.formats.obj import read_obj

ROD = "# a rod along the limb\nv 0 0 -0.5\nv 0.1 0 0\nv 0 0 0.5\nv -0.1 0 0\nf 1 2 3 4\n"


@pytest.fixture
def rods(tmp_path):
    folder = tmp_path / "meshes"
    folder.mkdir()
    for name in ("left_thigh", "right_forearm", "head"):
        (folder / f"{name}.obj").write_text(ROD)
    return folder


def acted(height):
    return synth.act(synth.human(height), synth.exercise(10), seed=1).motion


@pytest.mark.parametrize("height", [1.2, 1.75])
def test_a_mesh_reaches_from_joint_to_joint(rods, height):
    found = normalise(acted(height))
    mesh, rig = dressed(found, read_meshes(rods)), found.rig()
    thigh = rig.skeleton.index("left_thigh")
    worn = mesh.vertices[mesh.bodies[:, 0] == thigh]
    assert np.ptp(worn[:, 2]) == pytest.approx(0.42 * height / 1.75)
    # in the rest pose all frames are parallel: the rod's upper end is the hip, where the node sits
    hip = sum(rig.skeleton.offsets[i] for i in (0, thigh))
    assert np.linalg.norm(worn - hip, axis=-1).min() < 1e-9
    np.testing.assert_allclose(np.linalg.norm(mesh.normals(), axis=-1), 1.0)


def test_command_line(tmp_path, rods):
    write(acted(1.75), tmp_path / "take.oss")
    args = ["normalise", str(tmp_path / "take.oss"), "-o", str(tmp_path), "--meshes", str(rods)]
    done = CliRunner().invoke(ossature, args)
    assert done.exit_code == 0, done.output
    back = read(tmp_path / "dressed.glb").motion()
    joints = acted(1.75).world()[1]
    order = [back.skeleton.index(name) for name in synth.human().names]
    np.testing.assert_allclose(back.world()[1][:, order], joints, atol=1e-5)


def test_what_cannot_be_worn_is_refused(tmp_path, rods):
    (rods / "left_wing.obj").write_text(ROD)
    with pytest.raises(UnknownName, match="left_wing"):
        dressed(normalise(acted(1.75)), read_meshes(rods))
    with pytest.raises(NotEnoughData, match="holds no mesh"):
        read_meshes(tmp_path)
    for text in ("v 1 2 3\n", "v 1 2\nf 1 1 1\n", "v 1 2 3\nf 1 2 9\n", "v a b c\n"):
        (tmp_path / "bad.obj").write_text(text)
        with pytest.raises(FormatError):
            read_obj(tmp_path / "bad.obj")
