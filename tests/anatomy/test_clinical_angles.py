"""Joint angles with names: of a figure posed by hand, and against Plug-in Gait's own numbers."""

from dataclasses import replace

import numpy as np
import pytest

from conftest import assert_close, real
from osteon.anatomy import CONVENTIONS, angles_between, find_angles
from osteon.errors import NotEnoughData, UnknownName
from osteon.formats import read
from osteon.human import human
from osteon.maths import quat
from osteon.values import Body, Joint, Marker, Motion, Skeleton

FORWARD, LEFT, UP = np.eye(3)
MIRROR = {"left": 1.0, "right": -1.0}
LANDMARKS = {name: name for name in human().landmarks}


def figure(turned: dict[str, np.ndarray] | None = None) -> Skeleton:
    """The template in its rest pose with a marker on every landmark; bodies' frames turned."""
    template, turned = human(), turned or {}
    bodies = []
    for name, body in template.bodies.items():
        above = np.zeros(3) if body.parent is None else template.bodies[body.parent].at
        own, parents = (turned.get(each or "", quat.identity()) for each in (name, body.parent))
        markers = [
            Marker(landmark, quat.rotate(own, place.at - body.at))
            for landmark, place in template.landmarks.items()
            if place.body == name and place.at is not None
        ]
        place = np.zeros(3) if body.parent is None else quat.rotate(parents, body.at - above)
        bodies.append(Body(name, body.parent, Joint(in_parent=place), markers=tuple(markers)))
    return Skeleton(tuple(bodies))


def posed(turns: dict[str, tuple[np.ndarray, np.ndarray]], n_frames: int = 60) -> Motion:
    """The figure with joints turned: body → axis in its parent's frame, degrees over time."""
    skeleton = figure()
    rotations = quat.identity((n_frames, len(skeleton.bodies)))
    for name, (axis, degrees) in turns.items():
        angle = np.radians(np.broadcast_to(degrees, n_frames))
        rotations[:, skeleton.index(name)] = quat.from_axis_angle(axis, angle)
    return Motion(skeleton, rotations, np.zeros((n_frames, 3)), 100.0)


def reframed(motion: Motion, turned: dict[str, np.ndarray]) -> Motion:
    """The same motion of a rig whose bodies' frames are turned otherwise."""
    skeleton = figure(turned)
    own = np.stack([turned.get(name, quat.identity()) for name in skeleton.names])
    above = np.stack([own[p] if p >= 0 else quat.identity() for p in skeleton.parents])
    rotations = quat.multiply(quat.multiply(above, motion.rotations), quat.inverse(own))
    return replace(motion, skeleton=skeleton, rotations=rotations)


def sway(size: float, n_frames: int = 60) -> np.ndarray:
    return size * 0.5 * (1.0 - np.cos(np.linspace(0.0, 2.0 * np.pi, n_frames)))


def degrees_of(motion: Motion, convention: str, name: str) -> np.ndarray:
    return np.degrees(find_angles(motion, LANDMARKS, convention).of(name))


def changes(motion: Motion, convention: str, name: str) -> np.ndarray:
    """From the first frame, which is the rest pose."""
    angles = degrees_of(motion, convention, name)
    return angles - angles[0]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    ("body", "axis", "isb", "pig", "opensim"),
    [
        ("thigh", -LEFT, "hip_flexion", "HipAngles_X", "hip_flexion"),
        ("shin", LEFT, "knee_flexion", "KneeAngles_X", "knee_angle"),
        ("foot", -LEFT, "ankle_dorsiflexion", "AnkleAngles_X", None),
    ],
)
def test_a_leg_that_swings_forwards_flexes_on_both_sides(side, body, axis, isb, pig, opensim):
    # a turn about −left lifts what hangs down to the front; a knee bends to the back
    motion = posed({f"{side}_{body}": (axis, sway(40.0))})
    names = {"isb": f"{side}_{isb}", "pig": f"{side[0].upper()}{pig}"}
    names |= {} if opensim is None else {"opensim": f"{opensim}_{side[0]}"}
    for convention, name in names.items():
        # the template's limbs lean a little, so axes are not quite square; Plug-in Gait's hip and
        # knee centres are beside those that turn
        most = 3.0 if convention == "pig" else 0.4
        assert np.abs(changes(motion, convention, name) - sway(40.0)).max() < most


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_leg_that_moves_to_the_middle_adducts_and_one_whose_toes_turn_in_rotates_in(side):
    inwards = posed({f"{side}_thigh": (-MIRROR[side] * FORWARD, sway(15.0))})
    assert np.abs(changes(inwards, "isb", f"{side}_hip_adduction") - sway(15.0)).max() < 0.4
    toes_in = posed({f"{side}_thigh": (-MIRROR[side] * UP, sway(20.0))})
    rotated = changes(toes_in, "isb", f"{side}_hip_internal_rotation")
    assert np.abs(rotated - sway(20.0)).max() < 0.6
    assert_close(rotated, changes(toes_in, "opensim", f"hip_rotation_{side[0]}"), 1e-6)


@pytest.mark.parametrize("convention", ["isb", "opensim"])
@pytest.mark.parametrize("more", [set(), {"right_instep"}])
def test_heel_and_toes_alone_do_not_tell_how_a_foot_leans(convention, more):
    """They lie near one line with the ankle: 12 mm beside it must not turn the foot over."""
    bent = 15.0 * np.sin(np.linspace(0.0, 6.0, 60))
    motion = posed({"right_foot": (-LEFT, bent)})
    bodies = list(motion.skeleton.bodies)
    place = motion.skeleton.index("right_foot")
    kept = [
        mark
        for mark in bodies[place].markers
        if mark.name in {"right_heel", "right_metatarsal_2"} | more
    ]
    beside = tuple(replace(mark, position=mark.position + 0.012 * LEFT) for mark in kept)
    bodies[place] = replace(bodies[place], markers=beside)
    motion = replace(motion, skeleton=replace(motion.skeleton, bodies=tuple(bodies)))
    angles = find_angles(motion, LANDMARKS, convention)
    name = "right_ankle_dorsiflexion" if convention == "isb" else "ankle_angle_r"
    assert np.abs(np.degrees(angles.of(name)) - bent).max() < 5.0
    assert "beside the shin's axis" in angles.segments["right_foot"].told
    if convention == "isb":
        assert np.abs(np.degrees(angles.of("right_ankle_inversion"))).max() < 3.0


def test_heel_and_toe_markers_may_sit_high_if_they_sit_equally_high():
    """On thick soles both are 25 mm higher than the template's; ankle and outer toes are not."""
    bent = 15.0 * np.sin(np.linspace(0.0, 6.0, 60))
    motion = posed({"right_foot": (-LEFT, bent)})
    bodies = list(motion.skeleton.bodies)
    place = motion.skeleton.index("right_foot")
    high = {"right_heel", "right_metatarsal_2", "right_toe"}
    raised = tuple(
        replace(mark, position=mark.position + 0.025 * UP * (mark.name in high))
        for mark in bodies[place].markers
    )
    bodies[place] = replace(bodies[place], markers=raised)
    higher = replace(motion, skeleton=replace(motion.skeleton, bodies=tuple(bodies)))
    for name in ("right_ankle_dorsiflexion", "right_ankle_inversion", "right_foot_toes_up"):
        assert np.abs(degrees_of(higher, "isb", name) - degrees_of(motion, "isb", name)).max() < 0.5


def test_opensims_thigh_goes_by_the_plane_of_the_leg_which_sliding_flesh_leaves_alone():
    """Flesh turns the thigh's markers as the knee bends, so the shin seems to swing askew."""
    bend = 35.0 + 20.0 * np.sin(np.linspace(0.0, 4.0 * np.pi, 60))
    motion = posed({})
    shin = motion.skeleton.index("right_shin")
    askew = quat.from_axis_angle(FORWARD, np.radians(0.15 * (bend - 35.0)))
    rotations = motion.rotations.copy()
    rotations[:, shin] = quat.multiply(askew, quat.from_axis_angle(LEFT, np.radians(bend)))
    sure = [
        replace(body, joint=replace(body.joint, covariance=9e-6 * np.eye(3)))
        for body in motion.skeleton.bodies
    ]
    moved = Motion(Skeleton(tuple(sure)), rotations, motion.root, motion.rate)
    knees = {"right_knee_lateral", "right_knee_medial"}
    seen = {name: place for name, place in LANDMARKS.items() if name not in knees}
    found = {each: find_angles(moved, seen, each) for each in ("isb", "opensim")}
    assert "mean plane of the leg" in found["opensim"].segments["right_thigh"].told
    # 0.15 rad is 8.6°: by so much the swing is turned, whose share is one in four
    assert np.abs(np.degrees(found["isb"].of("right_hip_internal_rotation"))).min() > 6.0
    assert np.abs(np.degrees(found["opensim"].of("hip_rotation_r"))).max() < 4.5


def test_the_trunk_bends_forwards_to_the_right_and_turns_left():
    names = ("trunk_flexion", "trunk_bending_right", "trunk_rotation_left")
    for axis, name in zip((LEFT, FORWARD, UP), names, strict=True):
        motion = posed({"spine": (axis, sway(25.0))})
        assert np.abs(changes(motion, "isb", name) - sway(25.0)).max() < 1.0, name


@pytest.mark.parametrize("side", ["left", "right"])
def test_an_elbow_that_bends_flexes_and_arms_sideways_are_lifted_by_a_right_angle(side):
    motion = posed({f"{side}_forearm": (MIRROR[side] * -UP, sway(80.0))})
    flexed = changes(motion, "isb", f"{side}_elbow_flexion")
    assert np.abs(flexed - sway(80.0)).max() < 3.0
    lifted = degrees_of(motion, "isb", f"{side}_shoulder_elevation")
    assert np.abs(lifted - 90.0).max() < 12.0  # by how far the template's trunk leans


def test_angles_do_not_depend_on_how_the_rigs_frames_are_turned(rng):
    motion = posed({"right_shin": (LEFT, sway(60.0)), "right_thigh": (-LEFT, sway(30.0))})
    legs = [f"{s}_{part}" for s in ("left", "right") for part in ("thigh", "shin")]
    turned = {name: quat.exp(np.radians(rng.normal(scale=8.0, size=3))) for name in legs}
    for convention in CONVENTIONS:
        before = find_angles(motion, LANDMARKS, convention)
        after = find_angles(reframed(motion, turned), LANDMARKS, convention)
        shown = [n for n in before.names if "knee" in n.lower() or "hip" in n.lower()]
        for name in (name for name in shown if "left" not in name and name[0] != "L"):
            if not name.endswith("_l"):
                assert_close(after.of(name), before.of(name), 1e-9)


def test_turning_round_three_times_wraps_nothing():
    motion = posed({"pelvis": (UP, np.linspace(0.0, 1080.0, 300))}, 300)
    turned = degrees_of(motion, "isb", "pelvis_lab_rotation_left")
    # the template's pelvis is tilted by 3°, which a turn about its own axis feels
    assert np.abs(turned - turned[0] - np.linspace(0.0, 1080.0, 300)).max() < 0.1


def test_a_walker_is_told_along_the_way_walked_and_in_the_laboratory():
    motion = posed({"pelvis": (UP, np.full(60, 30.0))})
    way = np.outer(np.linspace(0.0, 3.0, 60), [np.cos(np.radians(30)), np.sin(np.radians(30)), 0.0])
    motion = replace(motion, root=way)
    assert np.abs(degrees_of(motion, "isb", "pelvis_rotation_left")).max() < 0.1
    assert np.abs(degrees_of(motion, "isb", "pelvis_lab_rotation_left") - 30.0).max() < 0.1
    assert np.abs(degrees_of(motion, "opensim", "pelvis_rotation") - 30.0).max() < 0.1


def test_stated_deviations_are_what_misplaced_markers_do(rng):
    motion = posed({"right_shin": (LEFT, sway(60.0))})
    angles = find_angles(motion, LANDMARKS)
    column = angles.names.index("pelvis_tilt_forward")
    tilts = []
    for _ in range(200):
        pelvis = motion.skeleton.body("pelvis")
        markers = [
            replace(m, position=m.position + rng.normal(scale=0.005, size=3))
            for m in pelvis.markers
        ]
        skeleton = motion.skeleton.replacing("pelvis", markers=tuple(markers))
        tilts.append(find_angles(replace(motion, skeleton=skeleton), LANDMARKS).values[0, column])
    # of 200 draws a deviation is known to 5 %: three of these
    assert abs(np.std(tilts) / angles.deviations[column] - 1.0) < 0.15


def test_the_source_of_each_frame_is_told():
    bending = posed({"right_shin": (LEFT, sway(60.0))})
    segments = find_angles(bending, LANDMARKS).segments
    assert segments["right_thigh"].source == "motion"
    assert segments["left_thigh"].source == "landmarks"
    bare = find_angles(bending, {}).segments
    assert bare["left_thigh"].source == bare["pelvis"].source == "template"
    assert bare["left_thigh"].deviation[1] > segments["left_thigh"].deviation[1]


def test_what_cannot_be_done_is_said():
    motion = posed({})
    with pytest.raises(UnknownName, match="grood"):
        find_angles(motion, {}, "grood")
    nobody = [replace(b, name=f"b{i}", parent=None) for i, b in enumerate(motion.skeleton.bodies)]
    strange = replace(motion, skeleton=Skeleton(tuple(nobody)))
    with pytest.raises(NotEnoughData, match="human's name"):
        find_angles(strange, {})


AXES = {
    "HipAngles": ("PEL", "{S}FE"),
    "KneeAngles": ("{S}FE", "{S}TI"),
    "AnkleAngles": ("{S}TI", "{S}FO"),
    "ShoulderAngles": ("TRX", "{S}HU"),
    "SpineAngles": ("PEL", "TRX"),
    "NeckAngles": ("TRX", "HED"),
}
TURNED = {
    "TRX": ("+A", "-P", "+L"),
    "LHU": ("-A", "+P", "+L"),
    "RHU": ("-A", "+P", "+L"),
    "LFO": ("-P", "+A", "-L"),
    "RFO": ("-P", "+A", "-L"),
}
"""Front, up and right of the segments whose axes Plug-in Gait names otherwise."""


@pytest.mark.parametrize("label", AXES)
def test_plug_in_gaits_own_axes_give_its_own_angles(label):
    (recording,) = read(real("pycgm/Test_Files/Movement_trial.c3d")).recordings

    def points(name: str) -> np.ndarray:
        return recording.positions[:, recording.index(name)]

    def turns(segment: str) -> np.ndarray:
        ways = TURNED.get(segment, ("+A", "+P", "-L"))
        axes = [float(f"{w[0]}1") * (points(segment + w[1]) - points(segment + "O")) for w in ways]
        return quat.from_matrix(np.stack([quat.normalise(axis) for axis in axes], axis=-1))

    for side in ("left", "right"):
        upper, lower = (turns(name.format(S=side[0].upper())) for name in AXES[label])
        found = angles_between("pig", label, side, upper, lower)
        ours = np.degrees(np.stack([*found.values()], axis=-1))
        theirs = 1e3 * points(f"{side[0].upper()}{label}")
        # a C3D's floats, and axes drawn some centimetres long
        assert np.abs((ours - theirs + 180.0) % 360.0 - 180.0).max() < 0.05
