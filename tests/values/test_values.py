"""Values refuse what is inconsistent, cannot be changed, and remember what was done."""

import dataclasses

import numpy as np
import pytest

from conftest import assert_close, assert_rotations_close
from osteon.errors import BadValue, NotEnoughData, ShapeError, UnknownName
from osteon.maths import quat
from osteon.maths.over_frames import BLOCK_NUMBERS
from osteon.values import (
    Analog,
    Bodies,
    Body,
    GlidePath,
    Joint,
    Marker,
    Motion,
    Recording,
    Skeleton,
    Take,
)


def recording(n_frames=4, names=("A", "B"), **changes):
    positions = np.arange(n_frames * len(names) * 3, dtype=float).reshape(n_frames, len(names), 3)
    return Recording(**{"positions": positions, "names": names, "rate": 120.0, **changes})


def bodies(**changes):
    given = {
        "positions": np.zeros((3, 2, 3)),
        "rotations": 2.0 * quat.identity((3, 2)),
        "names": ("a", "b"),
        "rate": 60.0,
    }
    return Bodies(**{**given, **changes})


def skeleton():
    knee = Joint(in_parent=np.array([0, 0, -0.4]), in_body=np.array([0, 0, 0.1]))
    foot = Joint(in_parent=np.array([0, 0, -0.3]))
    return Skeleton((Body("thigh", None), Body("shin", "thigh", knee), Body("foot", "shin", foot)))


REFUSED = [
    (
        lambda: recording(positions=np.zeros((4, 3, 2))),
        ShapeError,
        "positions must have shape (n_frames, 2, 3), got (4, 3, 2)",
    ),
    (
        lambda: recording(names=("A", "A")),
        BadValue,
        "marker names must be unique, these appear twice: A",
    ),
    (
        lambda: recording(rate=0.0),
        BadValue,
        "rate must be a positive number of frames per second, got 0.0",
    ),
    (
        lambda: recording(rate=np.nan),
        BadValue,
        "rate must be a positive number of frames per second, got nan",
    ),
    (
        lambda: recording(rate=1e9),
        BadValue,
        "rate must be 1e+06 frames per second or less, got 1e+09",
    ),
    (
        lambda: recording(residuals=np.zeros((4, 3))),
        ShapeError,
        "residuals must have shape (4, 2), got (4, 3)",
    ),
    (
        lambda: recording(names=("LASI", "RASI")).index("LAIS"),
        UnknownName,
        "no marker named 'LAIS'; did you mean 'LASI' or 'RASI'?",
    ),
    (
        lambda: Analog(np.zeros((5, 2)), ("Fx",), ("N",), 1000.0),
        ShapeError,
        "analog values must have shape (n_samples, 1), got (5, 2)",
    ),
    (
        lambda: bodies(rotations=np.zeros((3, 2, 3))),
        ShapeError,
        "rotations must have shape (3, 2, 4), got (3, 2, 3)",
    ),
    (lambda: bodies().index("c"), UnknownName, "no body named 'c'; there are 2: a, b"),
    (
        lambda: Joint(kind="screw"),
        BadValue,
        "joint kind must be one of fixed, hinge, universal, ball, free, got 'screw'",
    ),
    (
        lambda: GlidePath((0, 1, 0), (1, 0, 0, 0), (0, 1, 1, 2), np.zeros((4, 3))),
        BadValue,
        "the angles of a gliding joint must go up from knot to knot",
    ),
    (
        lambda: GlidePath((0, 1, 0), (1, 0, 0, 0), (0, 1, 2), np.zeros((3, 3))),
        ShapeError,
        "a gliding joint needs 4 angles or more and a place for each, got 3 and 3",
    ),
    (
        lambda: Body("root", None, Joint(in_body=np.ones(3))),
        BadValue,
        "root 'root' must have its joint at its own origin",
    ),
    (
        lambda: Skeleton((Body("shin", "thigh"), Body("thigh", None))),
        BadValue,
        "body 'shin' stands before its parent 'thigh'",
    ),
    (
        lambda: Skeleton((Body("shin", "thihg"), Body("thigh", None))),
        UnknownName,
        "no parent body named 'thihg'; did you mean 'thigh'?",
    ),
    (
        lambda: Motion(skeleton(), quat.identity((5, 2)), np.zeros((5, 3)), 30.0),
        ShapeError,
        "rotations must have shape (n_frames, 3, 4), got (5, 2, 4)",
    ),
    (
        lambda: Motion(skeleton(), quat.identity((5, 3)), np.zeros((4, 3)), 30.0),
        ShapeError,
        "root must have shape (5, 3), got (4, 3)",
    ),
    (lambda: Take().recording(), NotEnoughData, "the file holds no markers"),
    (
        lambda: Take((recording(subject="Ann"), recording(subject="Bo"))).recording(),
        NotEnoughData,
        "the file holds markers of 2 subjects: Ann, Bo; choose one by its name (`subject`)",
    ),
]


@pytest.mark.parametrize(("make", "error", "message"), REFUSED, ids=[m for _, _, m in REFUSED])
def test_inconsistent_values_are_refused_in_one_line(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message
    assert isinstance(caught.value, ValueError | KeyError | NotEnoughData)


@pytest.mark.parametrize(
    "value",
    [
        recording(residuals=np.ones((4, 2))),
        bodies(),
        Joint(covariance=np.eye(3), axes=np.eye(3)[:1]),
        Marker("A", np.zeros(3), covariance=np.eye(3)),
        Motion(skeleton(), quat.identity((5, 3)), np.zeros((5, 3)), 30.0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_cannot_be_changed(value):
    for field in dataclasses.fields(value):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, field.name, None)
        array = getattr(value, field.name)
        if isinstance(array, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0.0


def test_values_do_not_share_the_callers_array():
    positions = np.zeros((4, 2, 3))
    held = recording(positions=positions)
    positions[:] = 9.0
    assert (held.positions == 0.0).all()


def test_float32_is_widened_and_half_a_point_is_none():
    positions = np.zeros((4, 2, 3), dtype=np.float32)
    positions[1, 0, 2] = np.nan
    positions[2, 1, 0] = np.inf
    held = recording(positions=positions)
    assert held.positions.dtype == np.float64
    assert np.argwhere(~held.seen).tolist() == [[1, 0], [2, 1]]
    assert np.isnan(held.positions[1, 0]).all() and np.isnan(held.positions[2, 1]).all()


def test_body_rotations_are_unit_and_half_a_pose_is_none():
    positions = np.zeros((3, 2, 3))
    positions[1, 1, 0] = np.nan
    held = bodies(positions=positions)
    assert_close(np.linalg.norm(held.rotations[held.seen], axis=-1), 1.0)
    assert np.isnan(held.rotations[1, 1]).all()
    assert held.seen.sum() == 5


def test_history_grows_and_the_original_stays():
    first = recording()
    second = first.with_positions(first.positions + 1.0, did="moved by 1 m")
    third = second.select(["B"], did="kept B")
    assert first.history == ()
    assert second.history == ("moved by 1 m",)
    assert third.history == ("moved by 1 m", "kept B")
    assert_close(third.positions[:, 0], first.positions[:, 1] + 1.0)


def test_model_outputs_are_left_out_of_markers():
    held = recording(names=("A", "KneeAngles"), outputs=frozenset(["KneeAngles"]))
    assert held.markers().names == ("A",)
    assert held.markers().outputs == frozenset()
    assert recording().markers().history == ()


@pytest.mark.parametrize(
    ("residuals", "measured"),
    [
        (None, [[1, 1], [1, 0]]),
        ([[0.1, 0.0], [0.2, np.nan]], [[1, 0], [1, 0]]),
        ([[np.nan, 0.0], [np.nan, np.nan]], [[1, 0], [1, 0]]),
        # a file that writes nothing but zeros does not tell filled from measured
        ([[0.0, 0.0], [0.0, np.nan]], [[1, 1], [1, 0]]),
    ],
)
def test_measured_is_what_a_camera_saw(residuals, measured):
    positions = np.zeros((2, 2, 3))
    positions[1, 1] = np.nan
    held = recording(positions=positions, residuals=residuals)
    assert held.measured.tolist() == np.array(measured, dtype=bool).tolist()


def test_skeleton_offsets_place_the_joints():
    rig = skeleton()
    assert rig.parents == (-1, 0, 1)
    assert_close(rig.offsets, [[0, 0, 0], [0, 0, -0.4], [0, 0, -0.4]])
    assert rig.children("thigh") == ("shin",)
    root = np.array([[1.0, 2.0, 3.0]])
    bent = quat.identity((1, 3))
    bent[0, 1] = quat.exp(np.array([np.pi / 2, 0, 0]))
    q_world, p_world = Motion(rig, bent, root, 30.0).world()
    assert_close(p_world[0], [[1, 2, 3], [1, 2, 2.6], [1, 2.4, 2.6]], 1e-12)
    assert_rotations_close(q_world[0, 2], bent[0, 1])


@pytest.mark.parametrize("stretched", [False, True])
def test_worlds_of_some_bodies_are_those_of_all_across_blocks(stretched, rng):
    n_frames = 2 * BLOCK_NUMBERS // (7 * 3) + 5
    turned = quat.normalise(rng.normal(size=(n_frames, 3, 4)))
    offsets = rng.normal(size=(n_frames, 3, 3)) if stretched else None
    motion = Motion(skeleton(), turned, rng.normal(size=(n_frames, 3)), 30.0, offsets)
    for some, all_of_them in zip(motion.world_of([2, 0]), motion.world(), strict=True):
        assert np.array_equal(some, all_of_them[:, [2, 0]])


def test_all_markers_selected_are_the_recording_itself():
    held = recording()
    assert held.select(held.names) is held
    assert held.select(held.names[::-1]).names == held.names[::-1]
    assert held.select(held.names, "picked").history[-1] == "picked"


@pytest.mark.parametrize("residuals", [None, np.zeros((4, 2)), np.full((4, 2), 1e-4)])
def test_filled_samples_are_no_evidence(residuals):
    positions = recording().positions.copy()
    positions[1, 0] = np.nan
    held = recording(positions=positions, residuals=residuals)
    filled = ~held.seen
    after = held.with_filled(recording().positions, filled, did="filled")
    assert after.seen.all()
    assert np.argwhere(~after.measured).tolist() == [[1, 0]]
    again = after.with_filled(after.positions, after.positions[..., 0] == 6.0, did="again")
    assert np.argwhere(~again.measured).tolist() == [[1, 0]]


def test_a_joint_is_as_uncertain_as_in_its_worst_direction(rng):
    """That lies along no axis: the diagonal alone tells less."""
    turn = quat.to_matrix(quat.normalise(rng.normal(size=4)))
    joint = Joint(covariance=turn @ np.diag([0.01, 0.03, 0.02]) ** 2 @ turn.T)
    assert joint.deviation == pytest.approx(0.03)
    assert joint.ellipsoid is not None
    assert_close(abs(joint.ellipsoid[1] @ turn[:, [1, 2, 0]]), np.eye(3), 1e-9)
    assert Joint().deviation is None
    assert Joint(covariance=np.full((3, 3), np.nan)).deviation is None


def _arm() -> Skeleton:
    """A root with an arm and a short one beside it; the arm's joint is not at its own origin."""
    root = Body("root", None, Joint("free"), markers=[Marker("A", (0.1, 0, 0))])
    arm = Body(
        "arm",
        "root",
        Joint(in_parent=(0, 0, 1), in_body=(0, 0.5, 0)),
        tip=(0, 2.5, 0),
        markers=[Marker("B", (0, 0.5, 0)), Marker("C", (0, 1.5, 0))],
    )
    return Skeleton([root, arm, Body("beside", "root", Joint(in_parent=(1, 0, 0)))])


def test_bones_end_at_the_joints_they_carry_and_at_their_tip():
    skeleton = _arm()
    assert skeleton.children_of(0) == (1, 2) and skeleton.children_of(1) == ()
    assert_close(np.array(skeleton.bone_ends(0)), [[0, 0, 1], [1, 0, 0]])
    assert_close(np.array(skeleton.bone_ends(1)), [[0, 2, 0]])
    assert skeleton.bone_ends(2) == []


def test_markers_are_placed_from_their_joint():
    names, bodies, places = _arm().marker_places({"C", "A", "elsewhere"})
    assert names == ("A", "C") and bodies.tolist() == [0, 1]
    assert_close(places, [[0.1, 0, 0], [0, 1, 0]])
    assert _arm().marker_places(()).places.shape == (0, 3)


def test_one_body_is_replaced_and_the_rest_stays():
    skeleton = _arm()
    changed = skeleton.replacing("arm", tip=(0, 1.5, 0))
    assert_close(changed.body("arm").tip_from_joint, [0, 1, 0])
    assert changed.body("root") is skeleton.body("root")
    with pytest.raises(UnknownName):
        skeleton.replacing("leg", tip=None)


def test_a_part_of_a_motion_moves_as_the_whole_does(rng):
    skeleton = _arm()
    turns = quat.normalise(rng.standard_normal((10, 3, 4)))
    whole = Motion(skeleton, turns, rng.standard_normal((10, 3)), 100.0, held=(1,))
    part = whole.frames(2, 8, 3)
    assert part.n_frames == 3 and part.held == () and part.rate == pytest.approx(100.0 / 3)
    tip = np.array([[0.0, 2.0, 0.0]])
    assert_close(part.points([1], tip), whole.points([1], tip)[2:9:3])
    turned, joints = whole.world()
    assert_close(whole.points([1], tip)[:, 0], joints[:, 1] + quat.rotate(turned[:, 1], tip[0]))


def test_a_gliding_joint_goes_through_its_knots_and_is_level_beyond():
    rest = quat.exp(np.array([0.2, 0.0, 0.1]))
    places = np.array([(0, 0, 0), (1, 2, 0), (-1, 0, 3), (0, 0, 0.5)]) / 1000
    path = GlidePath((0, 1, 0), rest, (-0.5, 0.0, 0.7, 1.2), places)
    angles = np.array([-2.0, *path.angles, 2.0])
    turned = quat.multiply(quat.from_axis_angle(np.array([0.0, 1.0, 0.0]), angles), rest)
    assert_close(path.angles_of(turned), angles)
    assert_close(path.at(angles), places[[0, 0, 1, 2, 3, 3]])
    near = np.array([-0.5, -0.4999, 1.1999, 1.2])
    assert np.abs(np.diff(path.at(near)[[0, 1, 2, 3]], axis=0)[[0, 2]]).max() < 1e-9
    assert path.shown == (0.0, 0.7)
    assert path.travel == pytest.approx(np.sqrt(4 + 4 + 9) / 1000)
