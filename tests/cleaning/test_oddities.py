"""Recordings that show no person as they are: mirrored, exchanged, turned, scaled; and people."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from conftest import real
from osteon import delivery, pipeline, synth
from osteon.cleaning.odd_recordings import mend, oddities, other_side
from osteon.cleaning.size_and_up import stands_along, upright
from osteon.cli import osteon
from osteon.errors import BadValue, NotEnoughData
from osteon.formats import read, write
from osteon.human.marker_sets import recognise
from osteon.live.calibrator import calibrate_frames
from osteon.maths import quat
from osteon.synth.joint_coordinates import to_rotations
from osteon.values import Motion, Take

TURNS = {
    "x": lambda p: p[..., [2, 1, 0]] * [1, 1, -1],
    "y": lambda p: p[..., [0, 2, 1]] * [1, 1, -1],
    "-y": lambda p: p[..., [0, 2, 1]] * [1, -1, 1],
    "-z": lambda p: p * [1, -1, -1],
}
"""By the axis that points up afterwards, what turns z up."""

TAKES = {
    "CMU walk": "cmu-02/02_01.c3d",
    "CMU jumps and climbs": "cmu-01/01_01.c3d",
    "running, legs and trunk": "anatomical-truth/hamner-03-run400/real.trc",
    "squats": "anatomical-truth/opencap-4-squats1/real.trc",
    "drop jump": "nimble-opencap-s4/DJ1.trc",
    "lower body alone": "c3d-org/sample_10/TYPE-3.c3d",
    "standing": "pycgm/ROM/Sample_Static.c3d",
    "treadmill": "gaitalytics/treadmill_events.c3d",
    "crouched freeform": "nimble-c3d/nick_freeform_001.c3d",
    "tennis": "kineticstoolkit/kinematics_tennis_serve_2players.c3d",
    "ten frames": "opensim-core/gait10dof18musc_walk_CRLF_line_ending.trc",
}
POSTURES = {
    "sits": {"thigh": 90, "shin": -90},
    "squats deeply": {"thigh": 120, "shin": -130, "chest": -30},
    "touches the toes": {"thigh": 120, "chest": -60},
    "is a ball": {"thigh": 130, "shin": -145, "chest": -80, "head": -45},
    "kneels": {"shin": -130},
    "does a split": {"left_thigh": 90, "right_thigh": -60},
    "bends backwards": {"chest": 60, "thigh": -30},
}
"""Degrees of flexion."""


def found_in(recording):
    known = recognise(recording.names)
    assert known is not None
    return known[1]


def whats(recording) -> list[str]:
    return [odd.what for odd in oddities(recording, found_in(recording))]


def mirrored(recording):
    return recording.with_positions(recording.positions * [-1.0, 1.0, 1.0], did="")


def exchanged(recording, which="all"):
    return mend(Take(recordings=(recording,)), swap_sides=which).recordings[0]


@pytest.fixture(scope="module")
def walk():
    script = synth.walk(seconds=2, rate=60)
    return synth.perform(synth.human(), script, noise=0.0005, skin=1.0).recording


@pytest.fixture(params=TAKES, scope="module")
def take(request):
    recording = read(real(TAKES[request.param])).recordings[0].markers()
    return upright(recording, found_in(recording))


def test_people_are_not_accused(take):
    assert whats(take) == []


def test_mirror_images_are_told(take):
    for wrong in (mirrored(take), exchanged(take)):
        (what,) = whats(wrong)
        assert "mirror image" in what
    assert whats(mirrored(exchanged(take))) == []  # a body again


@pytest.mark.parametrize("posture", POSTURES)
def test_no_posture_makes_a_mirror_image(posture, rng):
    def held(skeleton, rng):
        ways = synth.dofs(skeleton)
        wanted = [
            next((v for body, v in POSTURES[posture].items() if dof.body.endswith(body)), 0.0)
            if dof.label == "x"
            else 0.0
            for dof in ways
        ]
        angles = np.radians(np.array(wanted) + 8.0 * rng.standard_normal((20, len(ways))))
        rotations = to_rotations(skeleton, angles)
        rotations[:, 0] = quat.normalise(rng.standard_normal((20, 4)))  # and any way round
        return synth.Act(Motion(skeleton, rotations, np.zeros((20, 3)), 60.0))

    recording = synth.perform(synth.human(), held, noise=0.001, skin=1.0).recording
    assert whats(recording) == []
    assert "mirror image" in whats(mirrored(recording))[0]


@pytest.mark.parametrize("limb", ["legs", "arms"])
def test_a_pair_of_limbs_on_the_wrong_sides_is_told(walk, limb):
    assert whats(walk) == []
    (odd,) = oddities(exchanged(walk, limb), found_in(walk))
    assert f"the {limb} are on the wrong side" in odd.what
    assert odd.mends == (f"--swap-sides {limb}",)


@pytest.mark.parametrize(("size", "tall"), [(0.24, " cm tall"), (2.0, " m tall")])
def test_people_that_nobody_is_like_are_asked_about(walk, size, tall):
    (odd,) = oddities(replace(walk, positions=size * walk.positions), found_in(walk))
    assert tall in odd.what
    factor = float(odd.mends[0].split()[1])
    again = mend(Take(recordings=(replace(walk, positions=size * walk.positions),)), scale=factor)
    assert whats(again.recordings[0]) == []


@pytest.mark.parametrize("size", [0.35, 1.4])
def test_children_and_giants_are_not(walk, size):
    assert whats(replace(walk, positions=size * walk.positions)) == []


@pytest.mark.parametrize("way", TURNS)
def test_a_table_that_does_not_say_what_is_up_is_stood_up_and_told(walk, way):
    turned = replace(walk, positions=TURNS[way](walk.positions))
    stood = upright(turned, found_in(walk))
    np.testing.assert_allclose(stood.positions, walk.positions, atol=1e-12)
    assert f"{way} judged" in stood.source.problems[-1]
    assert whats(stood) == []


@pytest.mark.parametrize("way", TURNS)
def test_a_file_that_says_the_wrong_axis_is_told(walk, way):
    source = replace(walk.source, up_known=True)
    turned = replace(walk, positions=TURNS[way](walk.positions), source=source)
    assert upright(turned, found_in(walk)) is turned
    (odd,) = oddities(turned, found_in(walk))
    assert f"{way} points up" in odd.what and odd.mends == ("--upright",)
    stood = mend(Take(recordings=(turned,)), upright=True).recordings[0]
    np.testing.assert_allclose(stood.positions, walk.positions, atol=1e-12)


def test_without_a_set_what_stands_on_a_floor_shows_what_is_up(walk):
    unnamed = replace(walk, names=tuple(f"M{i}" for i in range(walk.n_markers)))
    turned = replace(unnamed, positions=TURNS["y"](walk.positions))
    assert upright(turned, {}).history[-1:] == ("turned from y up to z up",)
    assert upright(unnamed, {}) is unnamed


@pytest.mark.parametrize("up_known", [True, False])
def test_who_lies_is_not_stood_up(up_known):
    standing = read(real("pycgm/ROM/Sample_Static.c3d")).recordings[0].markers()
    for turn, to_x in itertools.product(("y", "-y"), (False, True)):  # on the back, on the front
        points = TURNS[turn](standing.positions)
        points = points[..., [1, 0, 2]] * [1, -1, 1] if to_x else points
        points = points - np.nanmin(points, axis=(0, 1)) + [1.5, 1.2, 0.02]
        source = replace(standing.source, up_known=up_known)
        lying = replace(standing, positions=points, source=source)
        assert stands_along(lying, found_in(lying)) == "z"


def test_who_stands_on_the_hands_is_not_turned_over(walk):
    points = np.array(TURNS["-z"](walk.positions))
    points[..., 2] -= np.nanmin(points[..., 2]) - 0.4
    hands = [
        index
        for index, label in enumerate(walk.names)
        if label in found_in(walk) and found_in(walk)[label].body.endswith(("forearm", "hand"))
    ]
    points[:, hands, 2] = 0.1
    assert stands_along(replace(walk, positions=points), found_in(walk)) == "z"


def test_one_command_mends_what_solve_tells(walk, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(mirrored(walk), "walk.c3d")
    (solved,) = pipeline.solve("walk.c3d")
    told = solved.warnings[0]
    assert "mirror image" in told
    assert delivery.summary_of(solved)["warnings"][0] == told
    write(walk, "right.c3d")
    (right,) = pipeline.solve("right.c3d")
    assert not [note for note in right.warnings if "mirror" in note]
    lengths = {body.name: body.length for body in right.skeleton.bodies}
    command, other = told.partition("mend it with: osteon ")[2].split(", or ")
    for options in (command, f"{command.partition(' --')[0]} {other}"):
        assert CliRunner().invoke(osteon, options.split()).exit_code == 0
        (again,) = pipeline.solve("mended-walk.c3d")
        # millimetres may be rounded the other way: a C3D holds single precision
        plain = [[re.sub(r"\d+", "", note) for note in one.warnings] for one in (again, right)]
        assert plain[0] == plain[1]
        for side, opposite in (("left", "right"), ("right", "left")):
            # who stays mirrored and has the labels exchanged has the other leg on this side
            leg = opposite if "--swap-sides" in options else side
            for part in ("thigh", "shin"):
                length = again.skeleton.body(f"{side}_{part}").length
                assert length == pytest.approx(lengths[f"{leg}_{part}"], abs=5e-4)


def test_live_and_map_tell_it_as_well(walk):
    wrong = mirrored(walk)
    assert "mirror image" in calibrate_frames(wrong).doubts[0]
    mapped = pipeline.map_to(Take(recordings=(wrong,)), "figure")
    assert "mirror image" in mapped.warnings[0]


@pytest.mark.parametrize(
    ("label", "other"),
    [
        ("LASI", "RASI"),
        ("RELB", "LELB"),
        ("r_knee", "L_knee"),
        ("HeelLeft", "HeelRight"),
        ("C7", None),
        ("CLAV", None),
    ],
)
def test_the_other_side_is_the_label_that_differs_in_its_side(label, other):
    labels = ("LASI", "RASI", "RELB", "LELB", "r_knee", "L_knee", "HeelLeft", "HeelRight", "C7")
    assert other_side(label, (*labels, "CLAV")) == other


def test_what_cannot_be_mended_is_said(walk):
    unnamed = replace(walk, names=tuple(f"M{i}" for i in range(walk.n_markers)))
    with pytest.raises(BadValue, match="no two labels differ"):
        mend(Take(recordings=(unnamed,)), swap_sides="all")
    with pytest.raises(NotEnoughData, match="only markers can be mended"):
        mend(Take(), mirror=True)
