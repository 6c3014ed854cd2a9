"""Laws of editing: what is undone comes back, what meets meets."""

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from osteon.cli import osteon
from osteon.clips import in_place, loop, mirrored, resample, trim
from osteon.errors import BadValue, NotEnoughData
from osteon.formats import read, write
from osteon.human import human, naming_of, rename
from osteon.maths import quat
from osteon.values import Analog, Body, Joint, Mark, Motion, Skeleton, Take
from samples import some_bodies, some_markers

RNG = np.random.default_rng(11)


def motion_of_a_human(n_frames: int = 40) -> Motion:
    """Slow random turns of the template's bodies, whose left and right are mirror images."""
    places = {body.name: (body.parent, body.at) for body in human().bodies.values()}
    bodies = [
        Body(name, parent, Joint(in_parent=at - places[parent][1] if parent else np.zeros(3)))
        for name, (parent, at) in places.items()
    ]
    waves = np.sin(
        np.linspace(0.0, 4.0, n_frames)[:, None, None] + RNG.uniform(0, 6, (1, len(bodies), 3))
    )
    path = np.cumsum(0.01 * RNG.standard_normal((n_frames, 3)), axis=0) + [0.0, 0.0, 1.0]
    marks = (Mark("Foot Strike", 0.1, "Left"), Mark("Foot Off", 0.5, "Right"))
    return Motion(Skeleton(tuple(bodies)), quat.exp(0.5 * waves), path, 50.0, marks=marks)


def alike(one: Motion, other: Motion) -> None:
    np.testing.assert_allclose(one.world()[1], other.world()[1], atol=1e-9)
    turns = quat.angle(quat.between(one.rotations, other.rotations))
    np.testing.assert_allclose(turns, 0.0, atol=1e-6)


@pytest.mark.parametrize("scheme", ["osteon", "mixamo", "smpl", "rigify"])
def test_mirrored_joints_are_where_a_mirror_shows_the_other_side(scheme):
    given = motion_of_a_human()
    names = given.skeleton.names
    other = [
        name.replace("left", "?").replace("right", "left").replace("?", "right") for name in names
    ]
    called = rename(given, naming_of(given.skeleton, scheme).names, "called otherwise")
    seen = given.world()[1][:, [names.index(name) for name in other]] * [1.0, -1.0, 1.0]
    np.testing.assert_allclose(mirrored(called).world()[1], seen, atol=1e-9)


def test_mirrored_twice_is_itself_also_where_bones_differ_and_stretch():
    given = motion_of_a_human()
    uneven = given.skeleton.replacing(
        "left_shin",
        joint=Joint(
            in_parent=np.array([0.02, 0.0, -0.5]), rest=quat.exp(np.array([0.1, 0.2, 0.3]))
        ),
    )
    stretched = given.in_parents() + 0.01 * RNG.standard_normal((40, len(uneven.bodies), 3))
    for motion in (given, replace(given, skeleton=uneven), replace(given, offsets=stretched)):
        alike(mirrored(mirrored(motion)), motion)
        assert mirrored(mirrored(motion)).marks == motion.marks
    assert [mark.context for mark in mirrored(given).marks] == ["Right", "Left"]


def test_a_skeleton_without_sides_is_not_mirrored():
    worm = Skeleton((Body("a", None), Body("b", "a")))
    with pytest.raises(NotEnoughData, match="no sides"):
        mirrored(Motion.at_rest(worm))


def test_resampled_at_its_own_rate_is_itself_and_up_and_down_comes_back():
    given = motion_of_a_human()
    alike(resample(given, 50.0), given)
    alike(resample(resample(given, 150.0), 50.0), given)
    half = resample(given, 25.0)
    alike(half, replace(given.frames(0, 39, 2), marks=given.marks))
    assert half.rate == 25.0 and half.marks == given.marks


def test_a_turn_at_constant_speed_is_resampled_to_the_same_turn():
    spin = quat.exp(np.linspace(0.0, 3.0, 31)[:, None, None] * np.array([0.0, 0.0, 1.0]))
    given = Motion(Skeleton((Body("a", None),)), spin, np.zeros((31, 3)), 30.0)
    found = resample(given, 48.0)
    expected = np.arange(found.n_frames) / 48.0 * 3.0
    np.testing.assert_allclose(quat.angle(found.rotations[:, 0]), expected, atol=1e-9)


def test_trimmed_frames_and_marks_keep_their_moment():
    given = replace(motion_of_a_human(), held=(3, 12))
    found = trim(given, 5, 20)
    alike(found, given.frames(5, 20))
    assert found.held == (7,)
    assert [(mark.label, round(mark.time, 9)) for mark in found.marks] == [("Foot Strike", 0.0)]
    with pytest.raises(BadValue, match="0:39"):
        trim(given, 5, 40)


def test_a_recording_is_cut_with_its_channels_and_marks(tmp_path):
    """By C3D and back: samples, channels, moments of marks and numbers of frames are the cut's."""
    rng = np.random.default_rng(4)
    whole = replace(
        some_markers(rng, 30),
        marks=(Mark("off", 2 / 120), Mark("strike", 12 / 120, "Left"), Mark("late", 25 / 120)),
        analog=Analog(rng.normal(size=(300, 2)), ("Fz", "emg"), ("N", "V"), 1200.0),
    )
    write(whole, tmp_path / "whole.c3d")
    cut = ["convert", str(tmp_path / "whole.c3d"), str(tmp_path / "cut.c3d"), "--frames", "5:20"]
    assert CliRunner().invoke(osteon, cut).exit_code == 0
    full, part = (read(tmp_path / f"{name}.c3d").recording() for name in ("whole", "cut"))
    assert np.array_equal(part.positions, full.positions[5:21], equal_nan=True)
    assert part.analog is not None and full.analog is not None
    assert np.array_equal(part.analog.values, full.analog.values[50:210])
    assert [mark.label for mark in part.marks] == ["strike"]
    assert part.marks[0].time == pytest.approx(7 / 120, abs=1e-5)
    assert part.source.first_frame - full.source.first_frame == 5


def test_bodies_are_cut_too_and_what_only_motions_do_is_refused(tmp_path):
    bodies = some_bodies(np.random.default_rng(4))
    part = trim(bodies, 2, 7)
    assert np.array_equal(part.positions, bodies.positions[2:8], equal_nan=True)
    write(Take(bodies=(bodies,)), tmp_path / "bodies.csv")
    words = ["convert", str(tmp_path / "bodies.csv"), str(tmp_path / "x.csv"), "--rate", "30"]
    told = CliRunner().invoke(osteon, words)
    assert isinstance(told.exception, NotEnoughData) and "--frames" in str(told.exception)


def test_a_looped_end_meets_the_start_and_the_rest_is_left_alone():
    given = motion_of_a_human()
    found, ends = loop(given, 0.3)
    apart = quat.angle(quat.between(found.rotations[-1], found.rotations[0]))
    np.testing.assert_allclose(apart, 0.0, atol=1e-7)
    assert found.root[-1, 2] == pytest.approx(found.root[0, 2])
    np.testing.assert_array_equal(found.root[:, :2], given.root[:, :2])
    alike(found.frames(0, 24), given.frames(0, 24))
    turns = quat.angle(quat.between(given.rotations[-1], given.rotations[0]))
    assert ends.turn == pytest.approx(turns.max())
    assert ends.travel == pytest.approx(np.linalg.norm((given.root[-1] - given.root[0])[:2]))
    with pytest.raises(BadValue, match="less than"):
        loop(given, 10.0)


def test_in_place_keeps_height_and_pose():
    given = motion_of_a_human()
    found = in_place(given)
    np.testing.assert_array_equal(found.rotations, given.rotations)
    np.testing.assert_array_equal(found.root[:, 2], given.root[:, 2])
    assert np.ptp(found.root[:, :2], axis=0).max() == 0.0


def test_the_command_line_cuts_in_its_order(tmp_path):
    given = motion_of_a_human()
    write(given, tmp_path / "take.bvh")
    flags = ["--frames", "4:31", "--mirror", "--in-place", "--loop", "0.2", "--rate", "25"]
    target = tmp_path / "cut.glb"
    ran = CliRunner().invoke(osteon, ["convert", str(tmp_path / "take.bvh"), str(target), *flags])
    assert ran.exit_code == 0, ran.output
    expected = resample(loop(in_place(mirrored(trim(given, 4, 31))), 0.2)[0], 25.0)
    found = read(target).motion()
    order = [found.skeleton.index(name) for name in expected.skeleton.names]
    np.testing.assert_allclose(found.world()[1][:, order], expected.world()[1], atol=1e-4)
    assert "apart" in ran.output
