"""ASF/AMC: Acclaim's skeleton and motion, against hand-made files and the CMU archive."""

import shutil

import numpy as np
import pytest

from conftest import assert_close, assert_rotations_close, real
from osteon.errors import BadValue, FormatError, WrongContent
from osteon.formats import read, write
from osteon.maths import quat
from osteon.values import Body, Joint, Limits, Motion, Skeleton
from rigs import hinge_chain, human, move, single_body

INCH = 0.0254

ASF = """# a comment
:version 1.10
:name somebody
:units
  mass 1.0
  length 0.5
  angle deg
:documentation
   free text, with :colons inside
:root
   order TX TY TZ RX RY RZ
   axis XYZ
   position 0 0 0
   orientation 0 0 0
:bonedata
  begin
     id 1
     name thigh
     direction 0 -1 0
     length 2
     axis 0 0 90 XYZ
    dof rx rz
    limits (-160.0 20.0)
           (-70.0 inf)
  end
  begin
     id 2
     name peg
     direction 0 -1 0
     length 1
     axis 0 0 0 XYZ
  end
  begin
     id 3
     name foot
     direction 0 0 1
     length 3
     axis 0 0 0 XYZ
    dof rx
    limits (-45, 90)
  end
:hierarchy
  begin
    root thigh
    thigh peg
    peg foot
  end
"""
AMC = """#!OML:ASF somewhere.ASF
:FULLY-SPECIFIED
:DEGREES
7
root 1 2 3 0 0 0
thigh 0 0
foot 0
8
root 1 2 3 0 90 0
thigh 90 0
foot 90
"""


def put(tmp_path, asf: str = ASF, amc: str = AMC):
    (tmp_path / "s.asf").write_text(asf)
    (tmp_path / "s_01.amc").write_text(amc)
    return tmp_path / "s_01.amc"


def test_every_number_by_hand(tmp_path):
    """Unit 2 inches; (x, y, z) of ours is (z, x, y) of the file."""
    motion = read(put(tmp_path)).motion()
    unit = INCH / 0.5
    assert motion.skeleton.names == ("root", "thigh", "peg", "foot")
    assert [b.joint.kind for b in motion.skeleton.bodies] == ["free", "universal", "fixed", "hinge"]
    rotations, places = motion.world()
    in_file = places[..., [1, 2, 0]] / unit
    assert_close(in_file[0], [[1, 2, 3], [1, 2, 3], [1, 0, 3], [1, -1, 3]])
    # root 90° about y: x → −z, z → x. The thigh's x axis is the world's y at rest, which is the
    # bone's own line: turning about it moves nothing but the foot's heading, z → x
    assert_close(in_file[1], [[1, 2, 3], [1, 2, 3], [1, 0, 3], [1, -1, 3]])
    tip = motion.skeleton.body("foot").tip
    assert tip is not None
    ends = (places[:, 3] + quat.rotate(rotations[:, 3], tip))[..., [1, 2, 0]] / unit
    assert_close(ends[0], [1, -1, 6])
    # the foot's own 90° about x turns its end from z to −y
    assert_close(ends[1], [1, -4, 3])
    assert (motion.source.unit, motion.source.first_frame, motion.rate) == ("in/0.5", 7, 120.0)
    assert any("120 frames per second assumed" in problem for problem in motion.source.problems)


def test_axes_and_limits(tmp_path):
    skeleton = read(put(tmp_path)).skeleton()
    thigh, foot = skeleton.body("thigh").joint, skeleton.body("foot").joint
    # next to the parent first: z of the file is our x; the turned x of the thigh is the file's y
    assert_close(thigh.axes, [[1, 0, 0], [0, 0, 1]])
    assert_close(foot.axes, [[0, 1, 0]])
    assert thigh.limits and foot.limits
    assert [axis for axis, _, _ in thigh.limits.euler] == ["z", "x"]
    assert_close([r[1:] for r in thigh.limits.euler], np.radians([[-70, np.inf], [-160, 20]]))
    assert_close(foot.limits.hinge, np.radians([-45, 90]))


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("order TX TY TZ RX RY RZ", "order RX RY RZ TX TY TZ", "root {3} {4} {5} {0} {1} {2}"),
        ("order TX TY TZ RX RY RZ", "order TZ TY TX RX RY RZ", "root {2} {1} {0} {3} {4} {5}"),
    ],
)
def test_the_roots_order_is_the_files(old, new, same, tmp_path):
    plain = read(put(tmp_path)).motion()
    lines = [
        same.format(*line.split()[1:]) if line.startswith("root") else line
        for line in AMC.split("\n")
    ]
    motion = read(put(tmp_path, ASF.replace(old, new), "\n".join(lines))).motion()
    assert_close(motion.world()[1], plain.world()[1])


def test_radians(tmp_path):
    plain = read(put(tmp_path)).motion()
    radians = AMC.replace(":DEGREES", ":RADIANS").replace("90", repr(np.pi / 2))
    assert_rotations_close(read(put(tmp_path, ASF, radians)).motion().rotations, plain.rotations)
    asf = ASF.replace("angle deg", "angle rad").replace("0 0 90 XYZ", f"0 0 {np.pi / 2!r} XYZ")
    assert_rotations_close(read(put(tmp_path, asf)).motion().rotations, plain.rotations)


def test_an_asf_alone_is_a_skeleton(tmp_path):
    put(tmp_path)
    take = read(tmp_path / "s.asf")
    assert take.kinds == ("skeleton",) and take.skeleton().subject == "somebody"


def test_where_the_skeleton_is_looked_for(tmp_path):
    path = put(tmp_path)
    (tmp_path / "s.asf").rename(tmp_path / "other.asf")
    assert read(path).motion().source.detail == "skeleton other.asf"
    shutil.copy(tmp_path / "other.asf", tmp_path / "third.asf")
    with pytest.raises(FormatError, match=r"put s_01.asf or s.asf beside it \(2 others there\)"):
        read(path)
    shutil.copy(tmp_path / "other.asf", tmp_path / "S_01.ASF")
    assert read(path).motion().source.detail == "skeleton S_01.ASF"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("foot 90\n", "", "1 whole frames are there, then the file ends without 'foot'"),
        ("foot 0\n", "", "line 10: bone 'foot' was missing in earlier frames"),
        ("foot 90", "foot 90 1", r"line 11: foot has 1 degrees of freedom, got \['90', '1'\]"),
        ("foot 90", "foot nan", "line 11: foot has 1 degrees of freedom"),
        ("foot 90", "toe 90", "line 11: bone 'toe' is not in s.asf"),
        ("foot 90", "thigh 1 1", "line 11: bone 'thigh' appears twice"),
        ("8\n", "9\n", "line 8: expected frame 8, got '9'"),
        ("7\n", "", "line 4: a frame number must come before"),
        (AMC[AMC.index("7") :], "", "holds no frames"),
    ],
)
def test_what_is_wrong_in_the_motion_is_said(old, new, message, tmp_path):
    assert old in AMC
    with pytest.raises(FormatError, match=message):
        read(put(tmp_path, ASF, AMC.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("length 0.5", "length 0", "line 6: length must be above zero"),
        ("direction 0 0 1", "direction 0 0", "line 36: expected 3 numbers, got '0 0'"),
        ("dof rx rz", "dof rx tz", "line 22: dof 'rx tz': osteon reads rotations"),
        ("           (-70.0 inf)\n", "", "line 16: bone 'thigh' has 2 dof but 1 limits"),
        ("peg foot", "foot peg", "line 46: bone 'peg' has a parent already"),
        ("peg foot", "peg toe", "line 46: bone 'toe' is not in :bonedata"),
        ("    peg foot\n", "", "line 33: bone 'foot' does not hang on the root"),
        ("name peg", "name foot", "there are two bones named 'foot'"),
        (":hierarchy", ":other", "no :hierarchy section"),
        ("XYZ\n    dof rx rz", "XYY\n    dof rx rz", "line 21: expected an order of axes"),
        ("order TX", "order UX", "line 11: root order"),
    ],
)
def test_what_is_wrong_in_the_skeleton_is_said(old, new, message, tmp_path):
    assert old in ASF
    with pytest.raises(FormatError, match=message):
        read(put(tmp_path, ASF.replace(old, new, 1)))


@pytest.mark.parametrize("rig", [human, hinge_chain, single_body])
def test_any_motion_is_written_and_read(rig, tmp_path):
    """Joints that lie apart from their parent's end, frames off their joints: all come back."""
    motion = move(rig(), 40, rate=100.0)
    write(motion, tmp_path / "a.amc")
    again = read(tmp_path / "a.amc").motion()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.amc", "a.asf"]
    assert again.skeleton.names == motion.skeleton.names and again.rate == 100.0
    assert_rotations_close(again.rotations, motion.rotations, 1e-10)
    np.testing.assert_allclose(again.world()[1], motion.world()[1], atol=1e-9)
    for body in motion.skeleton.bodies:
        if body.tip is not None:
            tip = again.skeleton.body(body.name).tip
            np.testing.assert_allclose(tip, body.tip - body.joint.in_body, atol=1e-10)


def test_hinges_and_universal_joints_stay_what_they_are(rng, tmp_path):
    """One or two degrees of freedom about skewed axes, limits where there are some."""
    a, b, _ = quat.to_matrix(quat.normalise(rng.normal(size=4))).T
    hinge = Joint("hinge", (0, 0, 0.3), axes=a[None], limits=Limits((-0.2, 2.0)))
    both = Joint("universal", (0, 0.2, 0.1), axes=np.stack([a, b]))
    frame = tuple(quat.normalise(rng.normal(size=4)).tolist())
    ranges = (("z", -1.0, 1.0), ("y", -0.5, 0.25), ("x", -3.0, np.inf))
    ball = Joint("ball", (0.1, 0, 0), limits=Limits(euler=ranges, frame=frame))
    bodies = (
        Body("hips", None, Joint("free")),
        Body("elbow", "hips", hinge),
        Body("wrist", "elbow", both),
        Body("shoulder", "hips", ball),
        Body("box", "hips", Joint("fixed", (0, 0, 1))),
    )
    angle, other = rng.uniform(-2, 2, size=(2, 30))
    rotations = quat.identity((30, 5))
    rotations[:, 1] = quat.from_axis_angle(a, angle)
    rotations[:, 2] = quat.multiply(quat.from_axis_angle(a, other), quat.from_axis_angle(b, angle))
    rotations[:, 3] = quat.exp(rng.normal(scale=0.4, size=(30, 3)))
    motion = Motion(Skeleton(bodies), rotations, np.zeros((30, 3)), 60.0)
    write(motion, tmp_path / "a.amc")
    again = read(tmp_path / "a.amc").motion()
    assert_rotations_close(again.rotations, motion.rotations, 1e-10)
    for body in bodies:
        assert again.skeleton.body(body.name).joint.kind == body.joint.kind
    found = {name: again.skeleton.body(name).joint for name in ("elbow", "wrist", "shoulder")}
    assert_close(found["elbow"].axes, [a], 1e-10)
    assert_close(found["wrist"].axes, [a, b], 1e-10)
    assert found["elbow"].limits and found["shoulder"].limits
    assert_close(found["elbow"].limits.hinge, (-0.2, 2.0), 1e-10)
    assert [axis for axis, _, _ in found["shoulder"].limits.euler] == ["z", "y", "x"]
    assert_close([r[1:] for r in found["shoulder"].limits.euler], [r[1:] for r in ranges], 1e-10)
    assert_rotations_close(np.array(found["shoulder"].limits.frame), np.array(frame), 1e-10)


def test_what_the_files_cannot_hold_is_refused(tmp_path):
    motion = move(hinge_chain(), 3)
    with pytest.raises(BadValue, match="y up"):
        write(motion, tmp_path / "a.amc", up="z")
    offsets = np.zeros((3, 5, 3))
    slack = Motion(motion.skeleton, motion.rotations, motion.root, motion.rate, offsets)
    with pytest.raises(WrongContent, match="change length"):
        write(slack, tmp_path / "a.amc")
    assert not list(tmp_path.iterdir())


def last_frame(path) -> dict[str, list[float]]:
    """The numbers of every bone, as they stand in the file."""
    rows = [line.split() for line in path.read_text().splitlines()]
    last = max(i for i, row in enumerate(rows) if len(row) == 1)
    return {row[0]: [float(word) for word in row[1:]] for row in rows[last + 1 :]}


@pytest.mark.parametrize(
    ("folder", "amc"),
    [("cmu-02", "02_01.amc"), ("cmu-01", "01_01.amc"), ("cmu-asfamc-variants", "35_01.amc")],
)
def test_the_archives_files_come_back_from_writing(folder, amc, tmp_path):
    motion = read(real(f"{folder}/{amc}")).motion()
    write(motion, tmp_path / amc)
    again = read(tmp_path / amc).motion()
    assert again.source.unit == "in/0.45" and again.source.first_frame == 1
    np.testing.assert_allclose(again.world()[1], motion.world()[1], atol=1e-9)
    original, written = last_frame(real(f"{folder}/{amc}")), last_frame(tmp_path / amc)
    assert set(original) == set(written)
    for name, values in original.items():
        np.testing.assert_allclose(written[name], values, atol=1e-6)
    kinds = [[b.joint.kind for b in m.skeleton.bodies] for m in (motion, again)]
    assert kinds[0] == kinds[1]
    assert motion.skeleton.names == again.skeleton.names
    for one, two in zip(motion.skeleton.bodies, again.skeleton.bodies, strict=True):
        assert (one.joint.limits is None) == (two.joint.limits is None)
        if one.joint.limits and two.joint.limits:
            assert_close(
                [r[1:] for r in one.joint.limits.euler], [r[1:] for r in two.joint.limits.euler]
            )


def test_ankles_of_the_archive_lie_on_the_markers():
    """Without any fit, the published ankle keeps its distance to the ankle marker."""
    motion = read(real("cmu-02/02_01.amc")).motion()
    markers = read(real("cmu-02/02_01.c3d")).recording()
    assert markers.n_frames == motion.n_frames
    places = motion.world()[1]
    for marker, foot in (("LANK", "lfoot"), ("RANK", "rfoot")):
        way = markers.positions[:, markers.index(marker)]
        way = way - places[:, motion.skeleton.index(foot)]
        distance = np.linalg.norm(way, axis=-1)
        assert np.abs(distance - np.median(distance)).max() < 0.003
        assert 0.03 < np.median(distance) < 0.07
