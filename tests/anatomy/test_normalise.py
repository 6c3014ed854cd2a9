"""Frames of body and limbs: what they are, and that set-ups do not change them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from conftest import assert_close, assert_rotations_close, real
from model_rigs import acted, glided, gliding, true_points
from osteon import synth
from osteon.anatomy.default_pose import body_size, looked_at, other_side
from osteon.anatomy.limb_frames import in_limb_frames, normalise
from osteon.cli import osteon
from osteon.errors import NotEnoughData
from osteon.formats import read, write
from osteon.maths import quat
from osteon.values import Body, Frame, Joint, Motion, Skeleton


def act(script, seed=1):
    return synth.act(synth.human(), script, seed=seed).motion


@pytest.fixture(scope="module")
def calibration() -> Motion:
    return act(synth.exercise(20))


def worn(motion: Motion, seed: int) -> tuple[Motion, np.ndarray]:
    """The same motion on bodies whose frames are those of sensors worn anywhere, turned anyhow;
    and how each sensor is turned on its body."""
    rng = np.random.default_rng(seed)
    n = len(motion.skeleton.bodies)
    turns = quat.normalise(rng.normal(size=(n, 4)))
    shifts = rng.normal(scale=0.08, size=(n, 3))
    shifts[0] = 0.0
    bodies, rotations = [], motion.rotations.copy()
    for i, body in enumerate(motion.skeleton.bodies):
        parent = motion.skeleton.parents[i]
        back = quat.inverse(turns[i])
        joint = Joint("free")
        if parent >= 0:
            to_parent = quat.inverse(turns[parent])
            at = quat.rotate(to_parent, body.joint.in_parent - shifts[parent])
            joint = Joint("ball", at, quat.rotate(back, -shifts[i]))
            rotations[:, i] = quat.multiply(to_parent, rotations[:, i])
        rotations[:, i] = quat.multiply(rotations[:, i], turns[i])
        bodies.append(Body(body.name, body.parent, joint))
    return replace(motion, skeleton=Skeleton(tuple(bodies)), rotations=rotations), turns


def in_bodies(found, turns) -> np.ndarray:
    """Limb frames seen from the true bodies, (n_bodies, 4)."""
    frames = np.stack([body.frame.rotation for body in found.skeleton.bodies])
    return quat.multiply(turns, frames)


def test_body_and_limbs_look_right_front_and_up(calibration):
    """The performer's own frames are x right, y front, z up, and all limbs hang or stand."""
    found = normalise(calibration)
    upright = ("pelvis", "left_thigh", "right_shin", "left_upper_arm", "right_forearm")
    for name in upright:
        # 20 takes: the worst of these limbs 0.8° to 1.5°
        assert np.degrees(quat.angle(found.skeleton.body(name).frame.rotation)) < 2.5
    foot = quat.to_matrix(found.skeleton.body("left_foot").frame.rotation)
    tip = quat.normalise(calibration.skeleton.body("left_foot").tip)
    assert_close(foot[:, 2], -tip, 1e-9)
    assert foot[0, 0] > 0.99


def test_frames_lie_in_the_middle_of_limbs(calibration):
    found = normalise(calibration)
    thigh = found.skeleton.body("left_thigh")
    assert_close(thigh.frame.origin, [0.0, 0.0, -0.21])
    assert_close(found.skeleton.body("left_hand").frame.origin, [0.0, 0.0, -0.095])


def test_sensors_worn_anywhere_give_the_same_frames(calibration):
    """One performance, two ways of wearing sensors: the same frames to rounding."""
    one, two = (in_bodies(normalise(m), t) for m, t in (worn(calibration, 1), worn(calibration, 2)))
    assert_rotations_close(one, two, 1e-9)


def test_two_takes_of_one_subject_agree():
    """Different takes, sensors worn differently. Ten pairs: mean 0.05° to 0.15° per axis."""
    frames = []
    for seed in (1, 2):
        found, turns = worn(act(synth.exercise(30), seed), seed)
        frames.append(quat.to_matrix(in_bodies(normalise(found), turns)))
    apart = np.degrees(np.arccos(np.clip(np.sum(frames[0] * frames[1], axis=1), -1.0, 1.0)))
    assert apart.mean() < 0.3


def test_limb_frames_move_with_their_bodies(calibration):
    found = normalise(calibration)
    told = found.rig()
    _, joints = calibration.world()
    rotations, places = told.world()
    assert_close(places, joints, 1e-9)
    frames = np.stack([body.frame.rotation for body in found.skeleton.bodies])
    assert_rotations_close(rotations, quat.multiply(calibration.world()[0], frames), 1e-9)


def test_markers_stay_where_they_were(calibration):
    told = normalise(calibration).rig()
    before, after = synth.markers(calibration), synth.markers(told)
    assert before.names == after.names
    assert_close(after.positions, before.positions, 1e-9)


@pytest.mark.parametrize("script", [synth.walk(5), synth.chicken_walk(6), synth.kicks(6)])
def test_front_is_found_without_names(script):
    motion = act(script)
    names = {name: f"body_{i:02}" for i, name in enumerate(motion.skeleton.names)}
    bodies = [
        replace(body, name=names[body.name], parent=body.parent and names[body.parent])
        for body in motion.skeleton.bodies
    ]
    found = normalise(replace(motion, skeleton=Skeleton(tuple(bodies))))
    assert "sides" not in found.front.votes and found.front.confidence > 0.5
    assert quat.to_matrix(found.skeleton.bodies[0].frame.rotation)[1, 1] > 0.9


def test_walking_backwards_does_not_turn_the_front():
    motion = act(synth.walk(5))
    backwards = replace(motion, rotations=motion.rotations[::-1], root=motion.root[::-1])
    found = normalise(backwards)
    assert found.front.votes["walking"] < -0.8 and found.front.votes["feet"] > 0.8
    assert quat.to_matrix(found.skeleton.bodies[0].frame.rotation)[1, 1] > 0.9


def test_the_default_pose_is_the_standing_one():
    """A second of standing among ten of high steps with waving arms."""
    wild = act(synth.chicken_walk(10))
    n = round(wild.rate)
    still = quat.identity((n, len(wild.skeleton.bodies)))
    motion = replace(
        wild,
        rotations=np.concatenate([wild.rotations[:600], still, wild.rotations[600:]]),
        root=np.concatenate([wild.root[:600], wild.root[[600] * n], wild.root[600:]]),
    )
    assert 600 <= normalise(motion).default_frame < 600 + n


def test_costs_have_no_unit(calibration):
    """A giant in the same pose costs the same."""
    bodies = [
        replace(
            body,
            joint=replace(
                body.joint,
                in_parent=7.0 * body.joint.in_parent,
                in_body=7.0 * body.joint.in_body,
            ),
            tip=None if body.tip is None else 7.0 * body.tip,
        )
        for body in calibration.skeleton.bodies
    ]
    giant = replace(calibration, skeleton=Skeleton(tuple(bodies)), root=7.0 * calibration.root)
    assert body_size(giant.skeleton) == pytest.approx(7.0 * body_size(calibration.skeleton))
    assert_close(normalise(giant).costs.total, normalise(calibration).costs.total, 1e-9)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("left_thigh", "right_thigh"),
        ("LeftUpLeg", "RightUpLeg"),
        ("lfemur", "rfemur"),
        ("L_Hand", "R_Hand"),
        ("hand.L", "hand.R"),
    ],
)
def test_names_of_sides(left, right):
    assert other_side(left, {left, right, "lowerback"}) == right
    assert other_side("lowerback", {left, right, "lowerback"}) is None
    assert other_side(right, {left, right}) is None


def test_frames_without_pose_are_passed_over(calibration):
    rotations = calibration.rotations.copy()
    rotations[::2] = np.nan
    gappy = replace(calibration, rotations=rotations)
    assert np.isfinite(rotations[looked_at(gappy)]).all()
    assert np.isfinite(normalise(gappy).skeleton.bodies[3].frame.rotation).all()
    rotations[:] = np.nan
    with pytest.raises(NotEnoughData, match="no frame has a whole pose"):
        normalise(replace(calibration, rotations=rotations))


def test_too_few_joints_are_refused():
    motion = synth.act(synth.hinge(), synth.exercise(3)).motion
    with pytest.raises(NotEnoughData, match="body planes need 4"):
        normalise(motion)


def test_command_line(tmp_path, calibration):
    write(calibration, tmp_path / "take.bvh")
    args = ["normalise", str(tmp_path / "take.bvh"), "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(osteon, [*args, "--formats", "bvh,glb,osteon", "--json"])
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    pose = facts["default_pose"]
    assert pose["cost"] == pytest.approx(pose["flatness"] + pose["width"] + pose["spread"])
    assert facts["front"]["confidence"] > 0.5
    skeleton = json.loads((tmp_path / "out" / "skeleton.json").read_text())
    assert all(len(body["frame"]["rotation"]) == 4 for body in skeleton["bodies"])
    told = read(tmp_path / "out" / "normalised.osteon").motion()
    order = [told.skeleton.index(name) for name in calibration.skeleton.names]
    # BVH keeps six digits
    assert_close(told.world()[1][:, order], calibration.world()[1], 1e-5)


def test_cmu_halves_agree():
    """Two halves of a vigorous take: the paper's recordings agree to 6.82° on average."""
    motion = read(real("cmu-01/01_01.amc")).motion()
    half = motion.n_frames // 2
    frames = []
    for part in (slice(0, half), slice(half, None)):
        cut = replace(motion, rotations=motion.rotations[part], root=motion.root[part])
        found = normalise(cut)
        frames.append(np.stack([quat.to_matrix(b.frame.rotation) for b in found.skeleton.bodies]))
    apart = np.degrees(np.arccos(np.clip(np.sum(frames[0] * frames[1], axis=1), -1.0, 1.0)))
    assert np.median(apart) < 6.82


def test_a_knee_that_its_motion_leaves_open_is_laid_in_line():
    """Moved 60 mm along its axis and said to be that uncertain: the thigh's frame stays."""
    motion = synth.act(synth.human(), synth.walk(4), seed=1).motion
    skeleton = motion.skeleton
    shift = np.array([0.06, 0.0, 0.0])
    bodies = [
        replace(
            body,
            joint=replace(
                body.joint,
                in_parent=body.joint.in_parent + shift,
                in_body=body.joint.in_body + shift,
                covariance=np.diag([0.1, 0.005, 0.005]) ** 2,
            ),
        )
        if body.name == "left_shin"
        else body
        for body in skeleton.bodies
    ]
    laid = replace(motion, skeleton=skeleton.with_bodies(bodies, "knee moved"))
    surely = [replace(b, joint=replace(b.joint, covariance=None)) for b in bodies]
    wrong = replace(motion, skeleton=skeleton.with_bodies(surely, "knee moved"))
    true = normalise(motion).skeleton.body("left_thigh").frame
    turned = [
        np.degrees(quat.angle(quat.between(true.rotation, found.rotation)))
        for found in (normalise(m).skeleton.body("left_thigh").frame for m in (laid, wrong))
    ]
    # 60 mm on 430 mm are 8°; what is left of it is the share that the line does not decide
    assert turned[0] < 1.5 and turned[1] > 6.0


def test_gliding_joints_go_on_gliding_in_limb_frames(rng):
    """Nothing moves in the world: joints are where their paths had them."""
    skeleton = gliding()
    frames = [
        Frame(0.1 * rng.normal(size=3) * (body.parent is not None), quat.exp(rng.normal(size=3)))
        for body in skeleton.bodies
    ]
    bodies = zip(skeleton.bodies, frames, strict=True)
    framed = replace(skeleton, bodies=tuple(replace(body, frame=frame) for body, frame in bodies))
    motion = acted(framed, rng)
    told = in_limb_frames(motion)
    before, after = true_points(glided(motion)), true_points(glided(told))
    for body in skeleton.names[1:]:
        assert_close(after[body], before[body], 1e-9)
    assert np.abs(after["knee"] - true_points(told)["knee"]).max() > 0.002
