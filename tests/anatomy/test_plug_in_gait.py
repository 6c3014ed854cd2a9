"""Plug-in Gait's legs: joint centres where they were put, and angles that its files hold."""

from dataclasses import replace

import numpy as np
import pytest
from test_clinical_angles import LANDMARKS, posed, sway

from conftest import assert_close, real
from osteon.anatomy import WornMarkers, find_angles
from osteon.anatomy.frame_recipes import FrameInput, FrameRecipe, frame
from osteon.anatomy.plug_in_gait import foot_as_it_stands, joint_beside
from osteon.formats import leg_measures, read
from osteon.maths import quat
from osteon.values import Motion, Recording

ABOVE, CENTRE = np.array([0.0, 0.0, 0.9]), np.array([0.02, 0.03, 0.5])
BONE = (ABOVE - CENTRE) / np.linalg.norm(ABOVE - CENTRE)


def leg(turn: float, lift: float, deep: float = 0.055) -> tuple[np.ndarray, ...]:
    """A knee with a marker beside it and a wand turned away from their plane, as (1, 3) each."""
    outward = quat.normalise(np.cross(BONE, [1.0, 0.0, 0.0]))
    mark = CENTRE + deep * (np.cos(lift) * outward - np.sin(lift) * BONE)
    away = quat.rotate(quat.from_axis_angle(BONE, np.array(-turn)), outward)
    wand = 0.5 * (ABOVE + CENTRE) + 0.12 * away
    return ABOVE[None], mark[None], wand[None]


@pytest.mark.parametrize("turn", [0.0, 0.2, -0.6])
@pytest.mark.parametrize("lift", [0.0, 0.2])
def test_a_joint_lies_beside_its_marker_in_the_plane_of_the_wand(turn, lift):
    found = joint_beside(*leg(turn, lift), 0.055, turn, lift)
    assert_close(found[0], CENTRE, 1e-9)


@pytest.mark.parametrize("rate", [50.0, 200.0])
def test_a_foot_is_level_while_it_stands_whatever_the_template_says(rate):
    """Half of a second it stands, half it swings up by 40°; the foot that is otherwise taken points
    15° too high, and 5° to the left, which nothing else tells."""
    time = np.arange(0.0, 4.0, 1.0 / rate)
    swing = np.maximum(np.sin(2.0 * np.pi * time), 0.0)
    turns = quat.exp(np.outer(np.radians(40.0) * swing, [0.0, 1.0, 0.0]))
    ankle = np.array([0.0, 0.0, 0.08]) + swing[:, None] * [0.3, 0.0, 0.1]
    toe = ankle + quat.rotate(turns, np.array([0.12, 0.0, -0.05]))
    side = quat.rotate(turns, np.array([0.0, -1.0, 0.0]))
    high, aside = np.radians([15.0, 5.0])
    way = [np.cos(high) * np.cos(aside), np.cos(high) * np.sin(aside), np.sin(high)]
    marks = [FrameInput(each, 0.005) for each in (ankle, toe, side)]
    other = [FrameInput(quat.rotate(turns, np.array(way)), 0.17), marks[2]]
    template = FrameRecipe("template", "", other, lambda x, z: frame("x", x, "z", z))
    found = foot_as_it_stands(marks, template, rate).segment("right_foot")
    ahead = quat.rotate(found.rotations[swing == 0.0], np.array([1.0, 0.0, 0.0]))
    assert_close(np.degrees(np.arcsin(ahead[:, 2])), np.zeros(len(ahead)), 0.1)
    assert_close(np.degrees(np.arctan2(ahead[:, 1], ahead[:, 0])), np.full(len(ahead), 5.0), 0.5)


LABELS = {
    "ASI": "asis",
    "PSI": "psis",
    "THI": "thigh_outer",
    "KNE": "knee_lateral",
    "TIB": "shin_outer",
    "ANK": "malleolus_lateral",
    "TOE": "metatarsal_2",
    "HEE": "heel",
}


def worn_markers(recording: Recording) -> WornMarkers:
    """The legs' markers under the template's names, and what the file states of the person."""
    sides = {"L": "left", "R": "right"}
    names = {
        f"{letter}{label}": f"{side}_{place}"
        for letter, side in sides.items()
        for label, place in LABELS.items()
    }
    own = recording.select(list(names))
    return WornMarkers(replace(own, names=tuple(names.values())), leg_measures(recording))


@pytest.mark.parametrize("name", ["Movement_trial", "Static_trial"])
def test_angles_are_those_that_the_file_holds(name):
    """Of a file that states its measures. Where the rig stands does not matter: markers decide. The
    model counts 0.5 and 0.314 radians in the hip for 28.4 and 18°: a millimetre, 0.2°."""
    recording = read(real(f"pycgm/Test_Files/{name}.c3d")).recordings[0]
    worn = worn_markers(recording)
    motion = posed({}, recording.n_frames)
    angles = find_angles(motion, LANDMARKS, "pig", worn)
    # a static trial's feet are level by another rule
    for joint in ("Hip", "Knee", "Ankle")[: 2 if name == "Static_trial" else 3]:
        for side in "LR":
            label = f"{side}{joint}Angles"
            stored = recording.positions[:, recording.index(label)] * 1e3
            for axis in range(3):
                ours = np.degrees(angles.of(angles.points[label][axis]))
                off = ours - stored[:, axis]
                assert np.nanmax(np.abs(off)) < 0.5, f"{label} {axis}"
    told = angles.segments["left_thigh"].told
    assert "wand's plane" in told and "144 mm" in told


def worn_by(motion: Motion, turned: float = 0.0) -> Recording:
    """Markers on every landmark, the left thigh's wand turned about the thigh, radians."""
    carried = motion.skeleton.marker_places(motion.skeleton.marker_names)
    points = np.array(motion.points(carried.bodies, carried.places))
    place = carried.names.index("left_thigh_outer")
    _, joints = motion.world()
    thigh, shin = (motion.skeleton.index(f"left_{part}") for part in ("thigh", "shin"))
    long = quat.normalise(joints[:, thigh] - joints[:, shin])
    turn = quat.from_axis_angle(long, np.full(len(long), turned))
    points[:, place] = joints[:, thigh] + quat.rotate(turn, points[:, place] - joints[:, thigh])
    return Recording(points, carried.names, motion.rate)


def test_what_wands_leave_open_is_told():
    """Nothing, where the person was measured; a wand that cannot be meant is named."""
    knees = {f"{side}_shin": (np.array([0.0, 1.0, 0.0]), sway(60.0)) for side in ("left", "right")}
    motion = posed(knees)

    def doubt(recording: Recording, **measures: float) -> str:
        worn = WornMarkers(recording, measures)
        return find_angles(motion, LANDMARKS, "pig", worn).segments["left_thigh"].doubt

    assert "hip rotation may be off by a constant" in doubt(worn_by(motion))
    assert "wand of the left thigh is" in doubt(worn_by(motion, np.radians(60.0)))
    assert doubt(worn_by(motion), left_knee_width=0.1) == ""


def test_measures_are_read_in_metres_and_radians_and_only_from_c3d():
    recording = read(real("pycgm/Test_Files/Movement_trial.c3d")).recordings[0]
    stated = leg_measures(recording)
    assert stated["left_knee_width"] == pytest.approx(0.144)
    assert stated["right_static_rotation"] == pytest.approx(-0.05, abs=0.005)
    assert leg_measures(replace(recording, source=replace(recording.source, head=b""))) == {}
