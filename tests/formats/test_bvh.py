"""BVH: what files of many hands hold, and what ours hold for others."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from conftest import assert_close, assert_rotations_close, real
from osteon.errors import FormatError, NotEnoughData, OsteonError, WrongContent
from osteon.formats import read, write
from osteon.formats.shared.text_table import _parse_fast
from osteon.formats.shared.units import (
    CMU_UNIT,
    judge_unit,
    judge_up,
    metres_per,
    to_z_up,
    turn_points,
)
from osteon.maths import quat
from osteon.values import Body, Joint, Motion, Skeleton
from rigs import hinge_chain, human, move, single_body

REAL = [
    ("cmu-02/02_01.bvh", 344, 120.0, CMU_UNIT),
    ("cmu-01/01_01.bvh", 2752, 120.0, CMU_UNIT),
    ("cmu-asfamc-variants/Swagger.bvh", 581, 120.0, "cm"),
    ("bvhtoolbox/test_freebvh.bvh", 69, 30.0, "cm"),
    ("bvhtoolbox/test_mocapbank.bvh", 455, 30.0, "cm"),
]

SMALL = """HIERARCHY
ROOT hip
{
  OFFSET 9 9 9
  CHANNELS 6 Xposition Yposition Zposition Yrotation Xrotation Zrotation
  JOINT ankle
  {
    OFFSET 0 -0.4 0
    CHANNELS 2 Zrotation Xrotation
    JOINT slider
    {
      OFFSET 0.1 0 0
      CHANNELS 3 Zposition Xposition Yposition
      End Site
      {
        OFFSET 0 -0.1 0.2
      }
    }
  }
  JOINT plate
  {
    OFFSET 0 0.1 0
    End Site
    {
      OFFSET 0 0.3 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.01
0 1 0 0 0 0 0 0 0.3 0.1 0.2
1 1 2 90 0 0 90 0 0.5 0.6 0.7
"""


def read_text(tmp_path, text: str | bytes):
    path = tmp_path / "a.bvh"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read(path)


def in_file(motion: Motion) -> np.ndarray:
    """Joints in the world as the file gives them."""
    turn = quat.inverse(to_z_up(motion.source.up))
    return turn_points(motion.world()[1], turn) / metres_per(motion.source.unit)


def token_reader(path) -> tuple[list[str], np.ndarray]:
    """Names and joints in the file's world, read in the plainest way: a second opinion."""
    words, at = path.read_text().split(), 1
    names, parents, offsets, channels, nest = [], [], [], [], []
    while words[at] != "MOTION":
        word = words[at]
        if word in ("ROOT", "JOINT"):
            parents.append(nest[-1] if nest else -1)
            names.append(words[at + 1])
            channels.append([])
            nest.append(len(names) - 1)
        elif word == "End":
            nest.append(None)
        elif word == "OFFSET" and nest[-1] is not None:
            offsets.append([float(w) for w in words[at + 1 : at + 4]])
        elif word == "CHANNELS":
            channels[nest[-1]] = words[at + 2 : at + 2 + int(words[at + 1])]
        elif word == "}":
            nest.pop()
        at += 1
    values = np.array(words[at + 6 :], dtype=float).reshape(int(words[at + 2]), -1)
    turns, places, column = [], [], 0
    for joint, parent in enumerate(parents):
        turn, place = np.eye(3), np.tile(offsets[joint], (len(values), 1))
        for channel in channels[joint]:
            value, axis = values[:, column], "XYZ".index(channel[0])
            column += 1
            if channel.endswith("position"):
                place[:, axis] = value
            else:
                unit = np.eye(3)[axis]
                turn = turn @ quat.to_matrix(quat.from_axis_angle(unit, np.radians(value)))
        if parent >= 0:
            place = places[parent] + np.einsum("fij,fj->fi", turns[parent], place)
            turn = turns[parent] @ turn
        turns.append(turn)
        places.append(place)
    return names, np.stack(places, axis=1)


@pytest.mark.parametrize(("name", "n_frames", "rate", "unit"), REAL)
def test_real_files(name, n_frames, rate, unit, tmp_path):
    """Read as a second reader does, in a human's size and upright; written back the same."""
    path = real(name)
    motion = read(path).motion()
    names, places = token_reader(path)
    assert (motion.n_frames, motion.rate, motion.source.unit) == (n_frames, rate, unit)
    assert motion.source.up == "y" and not motion.source.up_known
    assert list(motion.skeleton.names) == names
    np.testing.assert_allclose(in_file(motion), places, atol=1e-9)
    head = next(i for i, n in enumerate(names) if n.lower().endswith("head"))
    assert 1.0 < np.median(motion.world()[1][:, head, 2]) < 1.9
    write(motion, tmp_path / "again.bvh")
    again_names, again = token_reader(tmp_path / "again.bvh")
    assert again_names == names
    np.testing.assert_allclose(again, places, atol=1e-6)


def test_orders_positions_and_ends(tmp_path):
    """Every number of this file can be followed by hand; y up, metres."""
    motion = read_text(tmp_path, SMALL).motion()
    assert motion.skeleton.names == ("hip", "ankle", "slider", "plate")
    assert [body.joint.kind for body in motion.skeleton.bodies] == [
        "free",
        "universal",
        "free",
        "fixed",
    ]
    places = in_file(motion)
    # the root's OFFSET gives way to its channels; the slider's too, named in another order
    assert_close(places[0], [[0, 1, 0], [0, 0.6, 0], [0.1, 0.8, 0.3], [0, 1.1, 0]])
    # hip turned 90° about y: x → −z; ankle 90° about z: (x, y) → (y, −x) before that
    assert_close(places[1], [[1, 1, 2], [1, 0.6, 2], [1.5, 1.2, 2.7], [1, 1.1, 2]])
    tips = [body.tip for body in motion.skeleton.bodies]
    assert tips[0] is None and tips[1] is None
    turn = to_z_up("y")
    assert_close(tips[2], turn_points(np.array([0, -0.1, 0.2]), turn))
    assert_close(tips[3], turn_points(np.array([0, 0.3, 0]), turn))
    assert motion.offsets is not None
    assert any("plate" in problem for problem in motion.source.problems)
    assert "read as m, y up" in motion.source.problems[0]


def test_sliding_joints_survive_writing(tmp_path):
    motion = read_text(tmp_path, SMALL).motion()
    write(motion, tmp_path / "b.bvh")
    again = read(tmp_path / "b.bvh").motion()
    assert again.offsets is not None
    np.testing.assert_allclose(again.world()[1], motion.world()[1], atol=1e-7)
    assert_close(again.skeleton.offsets, motion.skeleton.offsets)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace(" ", "\t"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n  {", " {").replace("ROOT hip\n{", "ROOT hip {"),
        lambda text: text.replace("rotation", "Rotation").replace("JOINT", "Joint"),
        lambda text: text.rstrip(),
        lambda text: text.replace("0.1 0.2\n", "0.1\n0.2\n\n"),
    ],
    ids=["crlf", "cr", "tabs", "bom", "brackets", "case", "no last line end", "wrapped"],
)
def test_ways_of_writing_the_same(change, tmp_path):
    motion, plain = read_text(tmp_path, change(SMALL)).motion(), read_text(tmp_path, SMALL).motion()
    assert_close(motion.world()[1], plain.world()[1])
    assert motion.skeleton.names == plain.skeleton.names and motion.rate == plain.rate


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Frames: 2", "Frames: 3", "3 frames of 11 channels are promised, 2 frames are there"),
        ("Frames: 2", "Frames: 1", "1 frames of 11 channels are promised, 2 frames are there"),
        ("Frames: 2", "Frames: 2147483648", "2147483648 frames .* 2 frames are there"),
        ("Frames: 2", "Frames: two", "line 30: expected a number of frames, got 'two'"),
        ("0.01", "0", "line 31: Frame Time must be above zero"),
        ("0.01", "nan", "line 31: Frame Time must be above zero"),
        (" 0.1 0.2\n", " 0.1\n", "line 32: .* 1 frames and 10 values .* this line has 10 values"),
        (" 0.1 0.2\n", " 0.1 x\n", "line 32: expected a number, got 'x'"),
        (" 0.1 0.2\n", " 0.1 nan\n", "line 32: expected a number, got 'nan'"),
        ("0 -0.4 0", "0 down 0", "line 8: expected a number, got 'down'"),
        ("2 Zrotation Xrotation", "9 Zrotation", "line 9: joint 'ankle' declares 9 channels"),
        ("2 Zrotation Xrotation", "2 Zrotation Xscale", "line 9: expected a channel .*'Xscale'"),
        ("Zposition Xposition", "Xposition Xposition", "same position channel twice"),
        ("JOINT plate", "ROOT plate", "line 20: 'ROOT' does not belong here"),
        ("JOINT plate", "JOINT", "line 20: a joint without a name"),
        ("    OFFSET 0 -0.4 0\n", "", "line 6: joint 'ankle' has no OFFSET"),
        ("}\nMOTION", "MOTION", "1 brackets are not closed"),
        ("MOTION", "", "no MOTION section"),
        ("Frame Time:", "Time:", "line 30: expected 'Frames:' and 'Frame Time:'"),
    ],
)
def test_what_is_wrong_is_said(old, new, message, tmp_path):
    assert old in SMALL
    with pytest.raises(FormatError, match=message):
        read_text(tmp_path, SMALL.replace(old, new, 1))


def test_joints_without_channels_do_not_fill_the_memory(tmp_path):
    """A few hundred kilobytes that would ask for 20 GB."""
    joints = "".join(f"JOINT j{i}\n{{\nOFFSET 0 0 0\n}}\n" for i in range(6000))
    text = "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n" + joints + "}\nMOTION\n"
    with pytest.raises(FormatError, match="6001 joints have only 1 channels"):
        read_text(tmp_path, text + "Frames: 100000\nFrame Time: 1\n" + "0\n" * 100000)


def test_a_deep_chain_is_no_trouble(tmp_path):
    n = 1200
    joints = "".join(
        f"{'JOINT' if i else 'ROOT'} j{i}\n{{\nOFFSET 0 1 0\nCHANNELS 1 Xrotation\n"
        for i in range(n)
    )
    text = f"HIERARCHY\n{joints}{'}' * n}\nMOTION\nFrames: 1\nFrame Time: 1\n{'0 ' * n}\n"
    assert len(read_text(tmp_path, text).motion().skeleton.bodies) == n


def test_several_roots_are_several_motions(tmp_path):
    tree = "ROOT {0}\n{{\nOFFSET 0 0 0\nCHANNELS 3 Xposition Yposition Zposition\n}}\n"
    text = "HIERARCHY\n" + tree.format("ann") + tree.format("bob")
    take = read_text(tmp_path, text + "MOTION\nFrames: 1\nFrame Time: 0.1\n1 2 3 4 5 6\n")
    assert [motion.skeleton.subject for motion in take.motions] == ["ann", "bob"]
    assert_close(in_file(take.motion("bob"))[0], [[4, 5, 6]])
    with pytest.raises(WrongContent, match="one skeleton, there are 2"):
        write(take, tmp_path / "b.bvh")


def test_names_used_twice_get_a_number(tmp_path):
    text = SMALL.replace("JOINT plate", "JOINT ankle").replace("JOINT slider", "JOINT ankle_2")
    motion = read_text(tmp_path, text).motion()
    assert motion.skeleton.names == ("hip", "ankle", "ankle_2", "ankle_3")
    assert any("became ankle_3" in problem for problem in motion.source.problems)


def test_no_frames_is_a_skeleton(tmp_path):
    text = SMALL[: SMALL.index("Frames")] + "Frames: 0\nFrame Time: 0.01\n"
    assert read_text(tmp_path, text).skeleton().names == ("hip", "ankle", "slider", "plate")


@pytest.mark.parametrize(
    ("seconds", "rate"),
    [("0.0083333", 120), (".008333", 120), ("0.01", 100), ("0.0333667", 1 / 0.0333667)],
)
def test_rates_are_whole_where_the_digits_allow(seconds, rate, tmp_path):
    assert read_text(tmp_path, SMALL.replace("0.01\n", seconds + "\n")).motion().rate == rate


@pytest.mark.parametrize("rig", [human, hinge_chain, single_body])
@pytest.mark.parametrize("unit", [None, "m", "mm"])
@pytest.mark.parametrize("up", [None, "z"])
def test_our_motions_are_written_as_promised(rig, unit, up, tmp_path):
    """Centimetres and y up unless asked; nodes at the joints; names the same."""
    motion = move(rig(), 50)
    write(motion, tmp_path / "a.bvh", unit=unit, up=up)
    names, places = token_reader(tmp_path / "a.bvh")
    order = [motion.skeleton.index(name) for name in names]
    x, y, z = np.moveaxis(motion.world()[1][:, order] / metres_per(unit or "cm"), -1, 0)
    expected = np.stack([x, y, z] if up == "z" else [x, z, -y], axis=-1)
    np.testing.assert_allclose(places, expected, atol=1e-6 / metres_per(unit or "cm"))
    assert sorted(names) == sorted(motion.skeleton.names)


def lying_cranes() -> Skeleton:
    """Bodies whose names and sizes say nothing: 4 cm and 8 m."""
    near, far = Joint("ball", (0, 0.04, 0)), Joint("ball", (0, 8.0, 0))
    return Skeleton((Body("a", None, Joint("free")), Body("b", "a", near), Body("c", "b", far)))


def small_linkage() -> Skeleton:
    return Skeleton((Body("a", None, Joint("free")), Body("b", "a", Joint("ball", (0, 0.04, 0)))))


@pytest.mark.parametrize("rig", [human, single_body, small_linkage, lying_cranes])
@pytest.mark.parametrize("unit", ["m", "cm", "mm", "in"])
@pytest.mark.parametrize("up", ["y", "z"])
def test_our_files_tell_their_conventions_whatever_they_hold(rig, unit, up, tmp_path):
    motion = move(rig(), 5)
    write(motion, tmp_path / "a.bvh", unit=unit, up=up)
    again = read(tmp_path / "a.bvh").motion()
    assert (again.source.unit, again.source.up) == (unit, up)
    order = [again.skeleton.index(name) for name in motion.skeleton.names]
    np.testing.assert_allclose(again.world()[1][:, order], motion.world()[1], atol=1e-7)


def test_a_human_comes_back_whole(tmp_path):
    motion = move(human(), 50)
    write(motion, tmp_path / "a.bvh")
    again = read(tmp_path / "a.bvh").motion()
    assert (again.source.unit, again.source.up) == ("cm", "y")
    order = [again.skeleton.index(name) for name in motion.skeleton.names]
    assert_rotations_close(again.rotations[:, order], motion.rotations, 1e-8)
    np.testing.assert_allclose(again.world()[1][:, order], motion.world()[1], atol=1e-7)
    for body in motion.skeleton.bodies:
        if body.tip is not None:
            tip = again.skeleton.body(body.name).tip
            np.testing.assert_allclose(tip, body.tip - body.joint.in_body, atol=1e-8)


def test_channels_run_smoothly_through_full_turns(tmp_path):
    """A spin of five turns with a tumble over the pole: no channel jumps between frames."""
    angle = np.linspace(0, 10 * np.pi, 600)
    spin = quat.from_axis_angle(np.array([0.0, 0.0, 1.0]), angle)
    tumble = quat.from_axis_angle(np.array([1.0, 0.0, 0.0]), 0.6 * angle)
    motion = Motion(single_body(), quat.multiply(spin, tumble)[:, None], np.zeros((600, 3)), 60.0)
    write(motion, tmp_path / "a.bvh", up="z")  # so that spin and tumble are channels of their own
    text = (tmp_path / "a.bvh").read_text()
    values = np.array(text[text.index("Frame Time") :].split()[3:], dtype=float).reshape(600, 6)
    assert np.abs(np.diff(values, axis=0)).max() < 5.0


def test_a_frame_without_a_pose_is_refused(tmp_path):
    motion = move(single_body(), 3)
    rotations = motion.rotations.copy()
    rotations[1] = np.nan
    broken = Motion(motion.skeleton, rotations, motion.root, motion.rate)
    with pytest.raises(NotEnoughData, match="frame 1 has no pose"):
        write(broken, tmp_path / "a.bvh")
    assert not list(tmp_path.iterdir())


def test_names_with_blanks_are_made_safe(tmp_path):
    bodies = (Body("my hip", None, Joint("free")), Body("my_hip", "my hip"))
    write(move(Skeleton(bodies), 2), tmp_path / "a.bvh")
    assert read(tmp_path / "a.bvh").motion().skeleton.names == ("my_hip", "my_hip_")


@pytest.mark.parametrize(
    ("reach", "unit"), [(0.2, "m"), (1.4, "m"), (18, "cm"), (140, "cm"), (1400, "mm")]
)
def test_the_unit_is_judged_from_the_size(reach, unit):
    offsets = np.array([[0, 0, 0], [0, 0.5 * reach, 0.0]])
    tips = np.array([[np.nan] * 3, [0, 0, 0.5 * reach]])
    assert judge_unit(["a", "b"], offsets, tips, [-1, 0]) == unit


def test_up_is_judged_from_the_feet_then_from_the_floor(rng):
    n = 80
    names, other = ["Hips", "Head", "LeftFoot"], ["a", "b", "c"]
    figure = np.array([[0, 0, 0.9], [0, 0, 1.6], [0.1, 0, 0.05]])
    walk = (
        figure + np.stack([0 * np.arange(n), np.linspace(0, 4, n), 0 * np.arange(n)], -1)[:, None]
    )
    walk = walk + rng.normal(scale=0.01, size=walk.shape)
    y_up = turn_points(walk, quat.inverse(to_z_up("y")))
    for unit in ("m", "cm"):
        assert judge_up(names, walk, unit)[0] == "z" and judge_up(names, y_up, unit)[0] == "y"
    still = walk[:1]
    assert judge_up(other, walk, "cm") == ("z", "the lowest point keeps its z")
    assert judge_up(other, still, "cm") == ("y", "as most files in cm")
    assert judge_up(other, still, "m") == ("z", "as most files in m")
    assert judge_up(names, still, "cm")[0] == "z"


WORDS = st.sampled_from(
    [*SMALL.split(), "\n", "End", "Site", "nan", "1e400", "-", "\x00", "ROOT x {"]
)


@settings(max_examples=150, deadline=None)
@given(start=st.integers(0, 60), words=st.lists(WORDS, max_size=60), tail=st.booleans())
def test_words_in_any_order_are_read_or_refused(start, words, tail, tmp_path_factory):
    """A good beginning, then words of the format as they come."""
    kept = SMALL.split(" ")
    text = " ".join([*kept[:start], *words, *(kept[start:] if tail else [])])
    path = tmp_path_factory.mktemp("words") / "a.bvh"
    path.write_text("HIERARCHY " + text.removeprefix("HIERARCHY"))
    with contextlib.suppress(OsteonError):
        read(path)


def test_large_blocks_are_scanned_as_small_ones(rng):
    """The compiled scanner rounds every plain decimal as ``float`` does, or stands back."""
    texts = [
        f"{x:.{d}f}"
        for x, d in zip(rng.normal(0, 200, 3000), rng.integers(0, 9, 3000), strict=True)
    ]
    texts += ["1.", ".5", "+3", "-0", "9007199254740991", "0.1234567890123456", "1e3"]
    for text in texts:
        found = _parse_fast(text.encode())
        assert found is None or found.tolist() == [float(text)]
    assert _parse_fast(" ".join(texts[:3000]).encode()).tolist() == [float(t) for t in texts[:3000]]
    for text in ("1e3", "nan", "1..2", "--1", "1,5", "x", "99999999999999999999", "-", "\x00"):
        assert _parse_fast(text.encode()) is None
