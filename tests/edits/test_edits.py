"""Edits by hand: laws of the draft, of the rig, of poses, and of the file they are kept in."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from conftest import assert_close, assert_rotations_close
from osteon import synth
from osteon.cleaning.gaps import fill
from osteon.cleaning.preparation import smooth
from osteon.edits.edits_json import (
    Edit,
    Edits,
    RecordingId,
    Settings,
    by_stage,
    edits_path,
    placed_on,
    read_edits,
    write_edits,
)
from osteon.edits.motion_edits import MotionDraft, SetPlant, SetPose, compact_of, pose_at
from osteon.edits.recording_edits import Cut, Draft, Fill, Filter, SwapLabels, apply_edits
from osteon.edits.replay import add_axes, describe_motion, edit_motion
from osteon.edits.rig_edits import (
    Assign,
    Place,
    SetKind,
    SetLimits,
    SetParent,
    SetRoot,
    edit_rig,
    origins_of,
)
from osteon.errors import BadValue, FormatError, NotEnoughData, OsteonError, UnknownName
from osteon.formats import content_hash, write
from osteon.maths import quat
from osteon.posing.contacts import Contact
from osteon.values import Motion, Recording
from samples import hide


@pytest.fixture(scope="module")
def performance():
    return synth.perform(synth.human(), synth.walk(seconds=3), noise=0.001, gaps=0.02, seed=5)


@pytest.fixture(scope="module")
def recording(performance) -> Recording:
    return performance.recording


@pytest.fixture(scope="module")
def motion(performance) -> Motion:
    return performance.truth.motion


CHANGES = [
    Cut(("LTHI", "LKNE"), 100, 140),
    Fill(("LTHI",), 90, 150),
    Filter(("RANK",), 50, 300, 4.0),
    SwapLabels("LWRA", "LWRB", 20, 60),
    Cut(("LWRA",), 30, 40),
    Fill(("LWRA",), 30, 40, "rigid"),
]
ALL = [
    *CHANGES,
    Assign("LTHI", "left_thigh"),
    Place("LTHI", "left_thigh", (0.1, 0.0, 0.0)),
    SetParent("head", "spine"),
    SetRoot("chest"),
    SetKind("left_shin", "hinge", ((0.0, 1.0, 0.0),)),
    SetLimits("left_shin", hinge=(0.0, 120.0)),
    SetPlant("left_foot", 3, 40, on=True),
    SetPose(50, {"left_hand": (0.1, 0.2, 1.0)}, {"left_thigh.bend": 0.3}),
]


def test_a_cut_hides_and_a_fill_is_the_fill_of_that_stretch(recording):
    cut = apply_edits(recording, [Cut(("LTHI",), 100, 140)])
    assert_close(cut.positions, hide(recording, "LTHI", 100, 140).positions)
    # the whole take lies within the seconds that a fill looks at
    both = apply_edits(recording, [Cut(("LTHI",), 100, 140), Fill(("LTHI",), 95, 145)])
    whole = fill(cut).positions[95:146, recording.index("LTHI")]
    assert_close(both.positions[95:146, recording.index("LTHI")], whole)


def test_filled_samples_are_no_evidence(recording):
    edited = apply_edits(recording, [Cut(("LTHI",), 100, 140), Fill(("LTHI",), 100, 140)])
    column = recording.index("LTHI")
    assert edited.seen[100:141, column].all()
    assert not edited.measured[100:141, column].any()
    assert (edited.measured == recording.measured)[:, : column - 1].all()


def test_a_filter_is_the_filter_of_its_frames(recording):
    edited = apply_edits(recording, [Filter(("RANK",), 0, recording.n_frames - 1, 5.0)])
    column = recording.index("RANK")
    assert_close(edited.positions[:, column], smooth(recording, 5.0).positions[:, column])
    others = [m for m in range(recording.n_markers) if m != column]
    assert_close(edited.positions[:, others], recording.positions[:, others])


def test_a_filter_leaves_no_step_at_its_ends(recording):
    """A shaken marker, calmed in the middle: no frame jumps farther than the shaking itself."""
    times = np.arange(400) / 100.0
    shaken = 0.01 * np.sin(2 * np.pi * 20.0 * times)[:, None, None] * np.ones(3)
    take = Recording(shaken, ("a",), 100.0)
    calm = apply_edits(take, [Filter(("a",), 100, 300, 2.0)]).positions
    assert np.abs(calm[150:250]).max() < 1e-3
    steps = np.abs(np.diff(calm[:, 0], axis=0)).max()
    assert steps <= np.abs(np.diff(shaken[:, 0], axis=0)).max() + 1e-12


def test_swapping_twice_changes_nothing(recording):
    swap = SwapLabels("LWRA", "LWRB", 20, 60)
    once, twice = apply_edits(recording, [swap]), apply_edits(recording, [swap, swap])
    a, b = recording.index("LWRA"), recording.index("LWRB")
    assert_close(once.positions[20:61, a], recording.positions[20:61, b])
    assert_close(twice.positions, recording.positions)


def test_undoing_everything_gives_back_every_bit(recording):
    draft = Draft(recording)
    before = draft.positions.copy(), draft.residuals.copy()
    for edit in CHANGES:
        draft.apply(edit)
    assert not np.array_equal(draft.positions, before[0], equal_nan=True)
    for edit in reversed(CHANGES):
        assert draft.undo().edit == edit
    assert np.array_equal(draft.positions, before[0], equal_nan=True)
    assert np.array_equal(draft.residuals, before[1], equal_nan=True)
    assert draft.recording() is recording


def test_an_edit_tells_what_it_did_and_leaves_the_original_alone(recording):
    before = recording.positions.copy()
    edited = apply_edits(recording, CHANGES)
    assert np.array_equal(recording.positions, before, equal_nan=True)
    assert edited.history[-len(CHANGES) :] == tuple(f"by hand: {e.sentence}" for e in CHANGES)


@pytest.mark.parametrize(
    ("edit", "match"),
    [
        (Cut(("NOPE",), 0, 5), "no marker named 'NOPE'"),
        (Cut((), 0, 5), "different markers, got none"),
        (Cut(("LTHI", "LTHI"), 0, 5), "different markers"),
        (Cut(("LTHI",), 5, 2), "first before last; got 5 to 2"),
        (Cut(("LTHI",), 0, 10_000), "frames must lie in"),
        (Cut(("LTHI",), -1, 2), "frames must lie in"),
        (SwapLabels("LTHI", "LTHI", 0, 5), "different markers"),
        (Filter(("LTHI",), 0, 50, 600.0), "half the frame rate"),
        (Filter(("LTHI",), 0, 50, float("nan")), "half the frame rate"),
    ],
)
def test_a_draft_refuses_what_makes_no_sense_and_stays_as_it_was(recording, edit, match):
    draft = Draft(recording)
    with pytest.raises(OsteonError, match=match):
        draft.apply(edit)
    assert np.array_equal(draft.positions, recording.positions, equal_nan=True)
    assert not draft.patches


def test_edits_that_change_nothing_are_refused(recording):
    draft = Draft(recording, [Cut(("LTHI",), 0, recording.n_frames - 1)])
    with pytest.raises(BadValue, match="nothing to cut"):
        draft.apply(Cut(("LTHI",), 10, 20))
    with pytest.raises(BadValue, match="this method finds no way"):
        draft.apply(Fill(("LTHI",), 10, 20))
    column = recording.index("RTHI")
    seen = np.flatnonzero(recording.seen[:, column])[0]
    with pytest.raises(BadValue, match="no sample is missing"):
        draft.apply(Fill(("RTHI",), int(seen), int(seen)))


@pytest.mark.parametrize("edit", ALL, ids=lambda edit: type(edit).__name__)
def test_every_edit_survives_json_and_has_words(edit):
    again = msgspec.json.decode(msgspec.json.encode(edit), type=Edit)
    assert again == edit
    assert edit.sentence and edit.touches.meets(edit.touches)


def test_every_edit_is_of_one_stage():
    glued = Place("LTHI", "hip", (0.0, 0.0, 0.1), "troll.bvh")
    sorted_ = by_stage([*ALL, glued])
    assert sorted_.recording == tuple(CHANGES)
    assert [type(edit) for edit in sorted_.rig] == [Assign, Place, SetParent, SetRoot]
    assert [type(edit) for edit in sorted_.limits] == [SetKind, SetLimits]
    assert [type(edit) for edit in sorted_.motion] == [SetPlant, SetPose]
    assert sorted_.character == (glued,)
    assert placed_on([*ALL, glued], "troll.bvh") == {"LTHI": glued}


@pytest.mark.parametrize(
    ("one", "other", "meets"),
    [
        (Cut(("A", "B"), 0, 9), Filter(("B",), 9, 20), True),
        (Cut(("A", "B"), 0, 9), Filter(("B",), 10, 20), False),
        (Cut(("A", "B"), 0, 9), SwapLabels("C", "D", 0, 9), False),
        (Cut((), 0, 9), Cut(("A",), 0, 9), False),
        (Assign("A", "head"), Place("A", "chest", (0.0, 0.0, 0.0)), True),
        (SetPose(5, {"head": (0, 0, 0)}), SetPose(5, {"left_hand": (0, 0, 0)}), True),
        (SetPose(5, {"head": (0, 0, 0)}), SetPose(6, {"head": (0, 0, 0)}), False),
        (SetPlant("foot", 0, 9, on=True), SetPlant("foot", 5, 6, on=False), True),
        (SetPlant("foot", 0, 9, on=True), SetPlant("hand", 5, 6, on=False), False),
        (SetParent("head", "chest"), SetParent("head", "spine"), True),
        (SetParent("head", "chest"), SetKind("head", "ball"), False),
        (SetRoot("head"), SetRoot("chest"), False),
    ],
)
def test_two_edits_meet_where_they_are_about_the_same(one, other, meets):
    assert one.touches.meets(other.touches) is meets
    assert other.touches.meets(one.touches) is meets


def test_a_file_of_edits_reads_back_the_same(tmp_path, recording):
    take = tmp_path / "take.c3d"
    write(recording, take)
    edits = Edits(
        RecordingId("take.c3d", content_hash(take)),
        tuple(ALL),
        (CHANGES[0],),
        Settings(smooth=True),
    )
    write_edits(edits, edits_path(take))
    assert edits_path(take).name == "take.edits.json"
    assert read_edits(edits_path(take), take) == edits


def test_edits_of_another_recording_are_refused(tmp_path, recording):
    take, other = tmp_path / "take.c3d", tmp_path / "other.c3d"
    write(recording, take)
    write(apply_edits(recording, CHANGES[:1]), other)
    write_edits(Edits(RecordingId("take.c3d", content_hash(take))), edits_path(take))
    with pytest.raises(FormatError, match=r"made on another recording \(take.c3d\)"):
        read_edits(edits_path(take), other)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"format": "osteon.skeleton", "version": 1}',
        b'{"format":"osteon.edits","version":2,"recording":{"file":"a","sha256":""}}',
        b'{"format":"osteon.edits","version":1,"recording":{"file":"a","sha256":""},'
        b'"edits":[{"edit":"cut","markers":["A"],"first":0}]}',
        b'{"format":"osteon.edits","version":1,"recording":{"file":"a","sha256":""},'
        b'"edits":[{"edit":"shred"}]}',
    ],
)
def test_what_is_no_file_of_edits_is_refused(tmp_path, text):
    path = tmp_path / "take.edits.json"
    path.write_bytes(text)
    with pytest.raises(FormatError, match="not a file of edits"):
        read_edits(path)


# rig


def world_on(skeleton, motion):
    """Joints of another hierarchy of the same bodies, posed as the motion has them."""
    turned, origins = origins_of(motion)
    order = [motion.skeleton.index(name) for name in skeleton.names]
    turned, origins = turned[:, order], origins[:, order]
    in_body = np.stack([body.joint.in_body for body in skeleton.bodies])
    parents = skeleton.parents
    rotations = turned.copy()
    for child, parent in enumerate(parents):
        if parent >= 0:
            rotations[:, child] = quat.multiply(quat.inverse(turned[:, parent]), turned[:, child])
    root = origins[:, 0] + quat.rotate(turned[:, 0], in_body[0])
    again = Motion(skeleton, rotations, root, motion.rate)
    return origins, again.world()[1] - quat.rotate(again.world()[0], in_body[None])


@pytest.mark.parametrize("root", ["pelvis", "chest", "head", "left_foot"])
def test_another_root_moves_no_body(recording, motion, root):
    skeleton = edit_rig(recording, motion, [SetRoot(root)])
    assert skeleton.names[0] == root and skeleton.bodies[0].parent is None
    assert sorted(skeleton.names) == sorted(motion.skeleton.names)
    wanted, found = world_on(skeleton, motion)
    # the truth's joints hold exactly, so the bodies must be where they were
    assert_close(found, wanted, 1e-9)


def test_going_back_to_the_old_root_gives_the_old_joints(recording, motion):
    there = edit_rig(recording, motion, [SetRoot("left_shin")])
    back = edit_rig(recording, replace(motion, skeleton=motion.skeleton), [SetRoot("left_shin")])
    assert there.names == back.names
    again = edit_rig(recording, motion, [SetRoot("left_shin"), SetRoot("pelvis")])
    for body in motion.skeleton.bodies:
        other = again.body(body.name)
        assert other.parent == body.parent
        if body.parent is not None:
            assert_close(other.joint.in_parent, body.joint.in_parent)
            assert_close(other.joint.in_body, body.joint.in_body)
            assert_rotations_close(other.joint.rest, body.joint.rest)


def test_a_body_hung_elsewhere_is_joined_where_it_really_turns(recording, motion):
    """The thigh hung on the pelvis anew: the motion's own hip is found again."""
    loose = edit_rig(recording, motion, [SetParent("left_thigh", "chest")])
    assert loose.body("left_thigh").parent == "chest"
    again = edit_rig(recording, motion, [SetParent("left_thigh", "pelvis")]).body("left_thigh")
    true = motion.skeleton.body("left_thigh")
    # no noise in the truth's poses: what is left is arithmetic, and the prior along silent axes
    assert_close(again.joint.in_parent, true.joint.in_parent, 1e-3)
    assert_close(again.joint.in_body, true.joint.in_body, 1e-3)


def test_a_marker_goes_where_it_is_said_to(recording, motion):
    skeleton = edit_rig(recording, motion, [Assign("LTHI", "left_thigh")])
    found = next(m for m in skeleton.body("left_thigh").markers if m.name == "LTHI")
    # 1 mm of noise over some 350 frames: the median is good to 0.1 mm; skin does not slide here
    column, index = recording.index("LTHI"), motion.skeleton.index("left_thigh")
    turned, origins = origins_of(motion)
    paths = origins[:, index] + quat.rotate(turned[:, index], found.position)
    apart = np.linalg.norm(paths - recording.positions[:, column], axis=-1)
    assert np.nanmedian(apart) < 0.003
    placed = edit_rig(recording, motion, [Place("LTHI", "head", (0.0, 0.1, 0.2))])
    assert [b.name for b in placed.bodies if any(m.name == "LTHI" for m in b.markers)] == ["head"]
    none = edit_rig(recording, motion, [Assign("LTHI", "head"), Assign("LTHI", "")])
    assert not [b.name for b in none.bodies if any(m.name == "LTHI" for m in b.markers)]


@pytest.mark.parametrize(
    ("edit", "match"),
    [
        (SetParent("pelvis", "head"), "is the root"),
        (SetParent("left_thigh", "left_foot"), "hangs on 'left_thigh' itself"),
        (SetParent("left_thigh", "tail"), "no body named 'tail'"),
        (SetRoot("tail"), "no body named 'tail'"),
        (Assign("NOPE", "head"), "no marker named 'NOPE'"),
        (Assign("LTHI", "tail"), "no body named 'tail'"),
        (Place("LTHI", "tail", (0.0, 0.0, 0.0)), "no body named 'tail'"),
    ],
)
def test_a_rig_refuses_what_cannot_be(recording, motion, edit, match):
    with pytest.raises(OsteonError, match=match):
        edit_rig(recording, motion, [edit])


# kinds and limits


def test_limits_said_by_hand_hold_in_a_motion_from_a_file(motion):
    said = [SetKind("left_shin", "hinge"), SetLimits("left_shin", hinge=(-5.0, 20.0))]
    told_one = describe_motion(motion, said, Settings()).motion
    joint = told_one.skeleton.body("left_shin").joint
    assert joint.kind == "hinge"
    assert_close(joint.limits.hinge, np.radians([-5.0, 20.0]))
    index = motion.skeleton.index("left_shin")
    turn = (
        quat.log(quat.multiply(told_one.rotations[:, index], quat.inverse(joint.rest[None])))
        @ joint.axes[0]
    )
    assert turn.min() >= np.radians(-5.0) - 1e-9 and turn.max() <= np.radians(20.0) + 1e-9
    others = [i for i in range(len(motion.skeleton.bodies)) if i != index]
    assert_rotations_close(told_one.rotations[:, others], motion.rotations[:, others])


@pytest.mark.parametrize(
    "edit",
    [
        SetPose(60, {"left_hand": (0.3, 0.4, 1.6)}, found=False),
        SetPlant("left_foot", 40, 50, on=True, found=False),
    ],
)
def test_limits_found_later_change_no_edit_of_the_motion(motion, edit):
    asked = Settings(limits=True)
    before = edit_motion(describe_motion(motion, [edit], Settings()), [edit]).motion
    after = edit_motion(describe_motion(motion, [edit], asked), [edit]).motion
    assert np.array_equal(after.rotations, before.rotations)
    assert np.array_equal(after.root, before.root)
    assert after.skeleton.body("left_shin").joint.limits is not None
    # one that was made within the limits keeps to them
    known = msgspec.structs.replace(edit, found=True)
    within = edit_motion(describe_motion(motion, [known], asked), [known]).motion
    assert not np.array_equal(within.rotations, before.rotations)


def test_limits_said_by_hand_hold_for_poses_made_before(motion):
    pose = SetPose(60, {"left_foot": (0.3, 0.4, 1.0)}, found=False)
    said = [pose, SetKind("left_shin", "hinge"), SetLimits("left_shin", hinge=(-5.0, 20.0))]
    done = edit_motion(describe_motion(motion, said, Settings()), said).motion
    joint = done.skeleton.body("left_shin").joint
    turned = done.rotations[60, done.skeleton.index("left_shin")]
    turn = quat.log(quat.multiply(turned, quat.inverse(joint.rest))) @ joint.axes[0]
    assert np.radians(-5.0) - 1e-9 <= turn <= np.radians(20.0) + 1e-9


def test_axes_said_by_hand_are_taken(motion):
    found = describe_motion(motion, [], Settings(limits=True)).skeleton
    said = SetKind("left_shin", "hinge", ((0.0, 2.0, 0.0),)).change(found)
    assert_close(said.body("left_shin").joint.axes, [[0.0, 1.0, 0.0]])
    with pytest.raises(BadValue, match="hinge joint has 1 axes, got 2"):
        SetKind("left_shin", "hinge", ((0, 1, 0), (1, 0, 0))).change(found)
    with pytest.raises(BadValue, match="must have a length"):
        SetKind("left_shin", "hinge", ((0.0, 0.0, 0.0),)).change(found)
    with pytest.raises(UnknownName, match="no body named 'tail'"):
        SetLimits("tail", hinge=(0.0, 1.0)).change(found)


# poses and plants


def changed_motion(motion, edit):
    """The motion and its contacts after one edit."""
    draft = MotionDraft(motion)
    draft.apply(edit)
    return draft.motion(), draft.contacts


def test_a_pulled_hand_arrives_and_only_its_time_changes(motion):
    hand = motion.skeleton.index("left_hand")
    target = motion.world()[1][150, hand] + [0.03, 0.0, 0.05]
    edit = SetPose(150, {"left_hand": tuple(target.tolist())}, spread=0.2)
    changed, _ = changed_motion(motion, edit)
    # reach stops at a thousandth of a radian a step: a tenth of a millimetre at the hand
    assert np.linalg.norm(changed.world()[1][150, hand] - target) < 1e-4
    moved = np.flatnonzero(np.abs(changed.rotations - motion.rotations).max(axis=(1, 2)) > 0)
    around = round(0.2 * motion.rate)
    assert (moved[0], moved[-1]) == (150 - around, 150 + around)
    assert np.array_equal(changed.root, motion.root)


def test_a_pose_of_one_frame_is_the_drag_itself(motion):
    target = motion.world()[1][150, motion.skeleton.index("left_hand")] + [0.0, 0.05, 0.0]
    edit = SetPose(150, {"left_hand": tuple(target.tolist())}, spread=0.0)
    alone, error = pose_at(motion.frames(150, 150), edit)
    changed, _ = changed_motion(motion, edit)
    assert error is not None and error < 1e-4
    assert_rotations_close(changed.rotations[150], alone.rotations[0])
    assert np.array_equal(changed.rotations[149], motion.rotations[149])


def test_pulling_at_the_root_takes_the_figure_along(motion):
    place = motion.world()[1][100, 0] + [0.1, 0.0, 0.0]
    changed, _ = changed_motion(motion, SetPose(100, {"pelvis": tuple(place.tolist())}))
    assert_close(changed.root[100], place, 1e-3)


def test_a_slider_sets_its_angle_and_turns_nothing_else(motion):
    known = add_axes(motion)
    compact = compact_of(known.frames(100, 100))
    edit = SetPose(100, parameters={"left_thigh.bend": 0.4}, spread=0.0)
    then, error = pose_at(known.frames(100, 100), edit)
    assert error is None
    angles = compact_of(then).angles[0]
    assert abs(angles[compact.index("left_thigh.bend")] - 0.4) < 1e-6
    others = [i for i, name in enumerate(known.skeleton.names) if name != "left_thigh"]
    assert np.array_equal(then.rotations[:, others], known.rotations[100:101, others])


@pytest.mark.parametrize(
    ("edit", "match"),
    [
        (SetPose(5), "needs targets or parameters"),
        (SetPose(-1, {"head": (0, 0, 0)}), "frame must lie in"),
        (SetPose(5, {"tail": (0, 0, 0)}), "no joint, tip or marker named 'tail'"),
        (SetPose(5, {"head": (float("nan"), 0, 0)}), "must be finite"),
        (SetPose(5, {"head": (0, 0, 0)}, spread=1e9), "spread must lie in"),
        (SetPose(5, parameters={"head.bend": 1.0}), "movement axes are not known"),
        (SetPlant("tail", 3, 5, on=True), "no body named 'tail'"),
        (SetPlant("left_foot", 5, 3, on=True), "first before last"),
    ],
)
def test_a_motion_refuses_what_cannot_be(motion, edit, match):
    with pytest.raises(OsteonError, match=match):
        changed_motion(motion, edit)


def test_a_bone_that_stretches_is_not_pulled_at(motion):
    offsets = np.broadcast_to(
        motion.skeleton.offsets, (motion.n_frames, *motion.skeleton.offsets.shape)
    )
    loose = replace(motion, offsets=offsets)
    with pytest.raises(NotEnoughData, match="bones stretch"):
        SetPose(5, {"head": (0.0, 0.0, 1.0)}).change(loose, 0, None)


def test_a_planted_foot_stands_still(motion):
    foot = motion.skeleton.index("left_foot")
    edit = SetPlant("left_foot", 140, 160, on=True)
    changed, contacts = changed_motion(motion, edit)
    place = changed.world()[1][140:161, foot]
    # reach's tolerance, a tenth of a millimetre
    assert np.abs(place - place.mean(axis=0)).max() < 2e-4
    assert contacts == (Contact("left_foot", (140, 160)),)
    moved = np.flatnonzero(np.abs(changed.rotations - motion.rotations).max(axis=(1, 2)) > 0)
    assert moved[0] >= 140 - 0.25 * motion.rate - 1 and moved[-1] <= 161 + 0.25 * motion.rate


def test_plants_are_joined_and_cut(motion):
    contacts = (Contact("left_foot", (10, 20)), Contact("right_foot", (15, 30)))
    joined = SetPlant("left_foot", 18, 40, on=True).change_contacts(contacts, motion.n_frames)
    assert joined == (Contact("left_foot", (10, 40)), Contact("right_foot", (15, 30)))
    cut = SetPlant("left_foot", 20, 25, on=False).change_contacts(joined, motion.n_frames)
    assert cut == (
        Contact("left_foot", (10, 19)),
        Contact("right_foot", (15, 30)),
        Contact("left_foot", (26, 40)),
    )
