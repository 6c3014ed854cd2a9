"""Keypoints → a person: constant bones, joints where they are, names, honest error bars."""

import numpy as np
import pytest

from conftest import real
from keypoint_scenes import SETS, scene
from osteon import fixed_lengths, pipeline, synth
from osteon.errors import NotEnoughData
from osteon.formats import read, write
from osteon.keypoints import calibrate_keypoints
from osteon.maths import quat
from osteon.values import Recording, Take

LIMBS = ("thigh", "shin", "foot", "upper_arm", "forearm", "hand")
BOTH = [f"{side}_{limb}" for side in ("left", "right") for limb in LIMBS]
WALK = scene("OpenCap-20")


def solve(recording: Recording, **options):
    (solved,) = pipeline.solve(
        Take(recordings=(recording,)), options=pipeline.SolveOptions(**options)
    )
    return solved


def off(solved, truth, bodies=BOTH) -> np.ndarray:
    """(n_frames, n_bodies) of joints from where they truly are, metres."""
    found, there = solved.motion.world()[1], truth.world()[1]
    ours = [solved.skeleton.index(body) for body in bodies]
    theirs = [truth.skeleton.index(body) for body in bodies]
    return np.linalg.norm(found[:, ours] - there[:, theirs], axis=-1)


@pytest.fixture(scope="module")
def noisy():
    return solve(WALK.seen(0.015, 0.03))


class TestNoiseAndJumps:
    def test_joints_are_nearer_than_keypoints(self, noisy):
        """23 mm before; simulated over ten seeds: 5 to 7 mm."""
        found = off(noisy, WALK.motion)
        assert np.median(found) < 0.009
        assert np.percentile(found, 95) < 0.025

    def test_bones_are_constant(self, noisy):
        joints = noisy.motion.world()[1]
        parents = np.array(noisy.skeleton.parents)
        lengths = np.linalg.norm(joints[:, 1:] - joints[:, parents[1:]], axis=-1)
        assert np.ptp(lengths, axis=0).max() < 1e-9

    def test_bones_are_as_long_as_they_are(self, noisy):
        """Lengths of limbs to 3 mm: 400 frames of 15 mm noise leave 1 mm, jumps as much."""
        for body in ("left_shin", "left_foot", "left_forearm", "left_hand"):
            ours = noisy.skeleton.body(body).joint.in_parent
            theirs = WALK.motion.skeleton.offsets[WALK.motion.skeleton.index(body)]
            assert np.linalg.norm(ours) == pytest.approx(np.linalg.norm(theirs), abs=0.003)

    def test_the_truth_lies_in_the_stated_region(self, noisy):
        turns, joints = noisy.motion.world()
        truth = WALK.motion.world()[1]
        for body in BOTH:
            index = noisy.skeleton.index(body)
            parent = noisy.skeleton.parents[index]
            away = joints[:, index] - truth[:, WALK.motion.skeleton.index(body)]
            mean = quat.rotate(quat.inverse(turns[:, parent]), away).mean(axis=0)
            covariance = noisy.skeleton.bodies[index].joint.covariance
            assert mean @ np.linalg.solve(covariance, mean) < 7.81
            assert 0.0005 < noisy.skeleton.bodies[index].joint.deviation < 0.010

    def test_it_is_announced(self, noisy):
        assert noisy.marker_set == "OpenCap-20" and noisy.points == "keypoints"
        assert any("20 keypoints (OpenCap-20): joint centres" in told for told in noisy.warnings)

    def test_limbs_do_not_jump(self, noisy):
        assert not any("in one frame" in told for told in noisy.warnings)

    def test_feet_stand_on_the_ground(self, noisy):
        feet = {contact.body for contact in noisy.contacts}
        assert feet == {"left_foot", "right_foot"}


def test_limbs_bend_as_far_as_they_do():
    """Without noise: the angle between the bones of a limb."""
    bent = scene("BODY-25", synth.exercise(12.0, rate=50.0))
    solved = solve(bent.seen())
    truth = bent.motion
    for lower in ("shin", "forearm"):
        for side in ("left", "right"):
            ours = solved.motion.rotations[:, solved.skeleton.index(f"{side}_{lower}")]
            theirs = truth.rotations[:, truth.skeleton.index(f"{side}_{lower}")]
            # how far they bend is independent of frames: the angle between the two bones
            rest = solved.skeleton.offsets[solved.skeleton.index(f"{side}_{_end(lower)}")]
            other = truth.skeleton.offsets[truth.skeleton.index(f"{side}_{_end(lower)}")]
            found = np.degrees(_angle(quat.rotate(ours, rest), rest))
            there = np.degrees(_angle(quat.rotate(theirs, other), other))
            assert np.median(np.abs(found - there)) < 5.0


def _end(lower: str) -> str:
    return {"shin": "foot", "forearm": "hand"}[lower]


def _angle(a, b):
    return np.arccos(np.clip(np.sum(quat.normalise(a) * quat.normalise(b), axis=-1), -1.0, 1.0))


@pytest.mark.parametrize("name", sorted(SETS))
def test_every_set_gives_a_person(name):
    known = scene(name)
    solved = solve(known.seen(0.005))
    assert solved.marker_set == name
    assert {"pelvis", "chest", "head", *BOTH} <= set(solved.skeleton.names)
    limbs = [body for body in BOTH if not body.endswith("hand")]
    assert np.median(off(solved, known.motion, limbs)) < 0.012


def test_a_skeleton_of_before_is_kept():
    first = solve(WALK.seen(0.010))
    again = solve(WALK.seen(0.010, seed=5), skeleton=first.skeleton)
    assert np.allclose(again.skeleton.offsets, first.skeleton.offsets)
    assert np.median(off(again, WALK.motion)) < 0.010


def test_a_passport_is_taken_as_it_is():
    first = solve(WALK.seen(0.010))
    passport = pipeline.make_passport(first.skeleton, [first.motion], [], 0.010)
    again = solve(WALK.seen(0.010, seed=5), passport=passport)
    assert np.allclose(again.skeleton.offsets, first.skeleton.offsets)
    assert any("do not tell people apart" in told for told in again.warnings)


def test_a_limb_out_of_sight_does_not_stop_the_others():
    recording = WALK.seen(0.010)
    points = recording.positions.copy()
    hidden = [WALK.names.index(name) for name in ("LElbow", "LWrist")]
    points[150:300, hidden] = np.nan
    solved = solve(Recording(points, WALK.names, recording.rate))
    others = [body for body in BOTH if not body.startswith(("left_forearm", "left_hand"))]
    assert np.median(off(solved, WALK.motion, others)) < 0.010
    assert np.isfinite(solved.motion.rotations).all()


def test_frames_in_any_order_give_the_same_lengths():
    """As those that a batch or a stream chooses; jumps included (simulated: 2 mm)."""
    recording = WALK.seen(0.010, 0.03)
    mixed = np.random.default_rng(3).permutation(recording.n_frames)
    shuffled = Recording(recording.positions[mixed], WALK.names, recording.rate)
    found = calibrate_keypoints([shuffled], SETS["OpenCap-20"].match(WALK.names), in_order=False)
    truth = WALK.motion.skeleton
    for body in ("left_shin", "left_foot", "left_forearm", "left_hand"):
        ours = np.linalg.norm(found.skeleton.body(body).joint.in_parent)
        assert ours == pytest.approx(np.linalg.norm(truth.offsets[truth.index(body)]), abs=0.005)


def test_keypoints_never_seen_are_refused():
    nothing = np.full((50, 20, 3), np.nan)
    with pytest.raises(NotEnoughData):
        solve(Recording(nothing, WALK.names, 50.0))


@pytest.mark.parametrize("name", sorted(SETS))
def test_fit_needs_no_tree(name):
    result = fixed_lengths.fit(scene(name).seen(0.005))
    assert len(result.lengths) >= 15
    assert result.rms < 0.05


def test_everything_is_written(tmp_path):
    from click.testing import CliRunner

    from osteon.cli import osteon

    write(Take(recordings=(WALK.seen(0.010),)), tmp_path / "walk.trc")
    folder = tmp_path / "out"
    ran = CliRunner().invoke(osteon, ["solve", str(tmp_path / "walk.trc"), "-o", str(folder)])
    assert ran.exit_code == 0, ran.output
    for file in ("motion.bvh", "motion.glb", "report.html", "skeleton.json", "summary.json"):
        assert (folder / file).stat().st_size > 0
    assert "20 keypoints (OpenCap-20)" in ran.output


def test_real_squats_are_a_person():
    solved = solve(read(real("keypoints-opencap/squats.trc")).recording())
    assert solved.rms < 0.015
    joints = solved.motion.world()[1]
    hips, ankle = joints[:, 0, 2], joints[:, solved.skeleton.index("left_foot"), 2]
    assert np.ptp(hips) > 0.3 and np.ptp(ankle) < 0.1
