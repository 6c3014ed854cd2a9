"""Joint types, limits and bind poses of joints whose truth is known, and of real motions."""

import json
from dataclasses import replace

import numpy as np
import pytest

from conftest import assert_rotations_close, real
from limit_joints import ball_samples, motion_of, some_joint, wave
from oracles.angle_oracles import excess, inside_polygon, quaternion_rank
from osteon import synth
from osteon.errors import BadValue, NotEnoughData, OsteonError
from osteon.formats import read, write
from osteon.joint_limits.bind_poses import GIVEN_UP, check_binds
from osteon.joint_limits.find_limits import LimitOptions, limits
from osteon.joint_limits.kinds import KindOptions, find_kinds, turn_doubts
from osteon.joint_limits.limits_toml import apply_edits, read_edits
from osteon.joint_limits.ranges import (
    NARROWEST_RADIUS,
    RangeOptions,
    close_polygons,
    find_arc,
    find_cones,
)
from osteon.joint_limits.sampling import denoise, resample
from osteon.joint_limits.within_limits import clamp, nearest_in_polygon
from osteon.maths import euler, quat, rotations
from osteon.values import Cone, Joint, Limits, Marker
from samples import some_markers
from whole_values import assert_same

KINDS = ("fixed", "hinge", "universal", "ball")
X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


def one_group(n):
    return np.zeros(n, dtype=int)


def test_slow_frames_ask_for_no_more_samples(rng):
    """240 frames at 0.01 Hz last seven hours; between two of them nothing is known."""
    q, _, _ = some_joint(rng, "hinge", 240, 0.5)
    history = limits(motion_of(q, rate=0.01)).history
    assert history[-1].startswith(f"joint types and limits from {50 * 240} samples")


def test_kinds_of_synthetic_joints(rng):
    """30 to 1 000 samples, noise 0.5° to 3°, any rest, any signs: 99 % right, and the axis."""
    right, errors = [], []
    for _ in range(40):
        n, noise = int(np.exp(rng.uniform(np.log(30), np.log(1000)))), rng.uniform(0.5, 3.0)
        made = [some_joint(rng, kind, n, noise) for kind in KINDS]
        found = find_kinds(np.stack([q for q, _, _ in made], axis=1))
        right += [a == b for a, b in zip(found.kinds, KINDS, strict=True)]
        if found.kinds[1] == "hinge":
            cos = abs(found.axes[1][0] @ made[1][1])
            errors.append(np.degrees(np.arccos(min(1.0, cos))))
    # 1 600 joints so drawn: 99.8 % right; axis 0.36° in the median, 85 % below 1°
    assert np.mean(right) >= 0.98
    assert np.median(errors) < 0.8


@pytest.mark.slow
@pytest.mark.parametrize(("n", "noise"), [(30, 0.5), (30, 3.0), (100, 3.0), (1000, 3.0)])
def test_kinds_at_the_corners(rng, n, noise):
    made = [some_joint(rng, kind, n, noise)[0] for _ in range(600) for kind in KINDS]
    found = find_kinds(np.stack(made, axis=1))
    # 10 000 joints at 30 samples and 3°: 99.05 % right, so 2 400 scatter by 0.2 %
    assert np.mean(np.array(found.kinds) == np.tile(KINDS, 600)) >= 0.985


def test_skin_does_not_make_a_hinge_a_ball(rng):
    """A long thin body: what twists it by 6° only swings it by 2°, and is 2 % of what bends it."""
    turns = np.stack([wave(rng, 400, -0.5, 0.5), 0.1 * wave(rng, 400, -1.0, 1.0), np.zeros(400)])
    q = quat.exp(turns.T + np.radians(0.1) * rng.normal(size=(400, 3)))[:, None]
    doubts = np.diag([1.0, 9.0, 9.0])[None]
    found = find_kinds(q, doubts=doubts)
    assert find_kinds(q).kinds == ("universal",) and found.kinds == ("hinge",)
    assert 0.05 < found.crosstalk[0] < 0.1 and np.isnan(find_kinds(q).crosstalk[0])
    assert find_kinds(q, doubts=np.eye(3)[None]).kinds == ("universal",)


def test_only_markers_that_were_solved_with_tell_of_skin(rng):
    motion = motion_of(quat.from_axis_angle(X, wave(rng, 100, 0.0, 1.0)))
    places = [(0.0, 0.05, 0.0), (0.05, 0.0, 0.2), (0.0, -0.05, 0.2), (-0.05, 0.0, 0.1)]
    for rms, known in ((None, False), (0.002, True)):
        markers = [Marker(f"m{i}", place, rms) for i, place in enumerate(places)]
        bodies = [
            replace(body, markers=[replace(m, name=f"{body.name}_{m.name}") for m in markers])
            for body in motion.skeleton.bodies
        ]
        worn = replace(motion, skeleton=motion.skeleton.with_bodies(bodies, "markers put on"))
        doubts = turn_doubts(worn)
        assert (doubts is not None) == known
    # a cluster 0.2 m long and 0.1 m wide about its joint: a twist is told worst
    assert doubts is not None and np.argmax(np.diag(doubts[1])) == 2


def hinge_width(q, *, denoise: bool) -> tuple[Joint, float]:
    options = LimitOptions(samples=len(q), denoise=denoise)
    joint = limits(motion_of(q), options=options).bodies[1].joint
    assert joint.kind == "hinge" and joint.limits is not None and joint.limits.hinge
    return joint, joint.limits.hinge[1] - joint.limits.hinge[0]


def test_raw_hinge_limits_are_what_was_sampled(rng):
    """The interval ends within 2° of the sampled angles, whatever the noise."""
    for _ in range(20):
        n, noise = int(rng.integers(30, 1000)), rng.uniform(0.5, 3.0)
        q, axis, _ = some_joint(rng, "hinge", n, noise)
        joint, width = hinge_width(q, denoise=False)
        turned = quat.multiply(q, quat.inverse(joint.rest))
        sampled = rotations.twist_angle(turned, np.sign(joint.axes[0] @ axis) * axis)
        arc = find_arc(sampled, one_group(n), RangeOptions())
        assert abs(width - (arc.high - arc.low)) < np.radians(2.0)


def test_hinge_limits_are_where_the_joint_went(rng):
    """Noise that widens the samples by up to 8° at each end is taken out: 2° are left."""
    raw, calmed = [], []
    for _ in range(20):
        n, noise = int(rng.integers(200, 1000)), rng.uniform(0.5, 3.0)
        q, _, angle = some_joint(rng, "hinge", n, noise)
        for widths, clean in ((raw, False), (calmed, True)):
            widths.append(0.5 * np.degrees(hinge_width(q, denoise=clean)[1] - np.ptp(angle)))
    # 240 joints so drawn: within 1.5° at each end, 0.15° in the median; raw 2.9° in the median
    assert np.abs(calmed).max() < 2.0
    assert np.median(np.abs(calmed)) < 0.3 * np.median(raw)


def test_calming_leaves_clean_motion_and_missing_frames(rng):
    q = quat.from_axis_angle(X, wave(rng, 300, 0.0, 1.0))[:, None]
    assert denoise(q, np.zeros(1)) is q
    shaky = quat.multiply(q, quat.exp(np.radians(1.0) * rng.normal(size=(300, 1, 3))))
    shaky[40:60] = np.nan
    calmed = denoise(shaky, np.radians([1.0]))
    assert np.isnan(calmed[40:60]).all() and np.isfinite(np.delete(calmed, range(40, 60), 0)).all()
    left = quat.angle(quat.between(q, calmed))
    assert np.degrees(np.sqrt(np.nanmean(left**2))) < 0.8  # 1.7° with the noise


def test_the_rank_of_the_quaternions_agrees(rng):
    made = [some_joint(rng, kind, 300, 0.0)[0] for kind in KINDS]
    assert quaternion_rank(np.stack(made, axis=1), 1e-3).tolist() == [1, 2, 4, 4]


def test_the_three_thresholds(rng):
    """A hinge with a small second freedom: 20° and 3°, noise 0.2°."""
    turns = np.stack([wave(rng, 400, -0.6, 0.6), wave(rng, 400, -0.07, 0.07), np.zeros(400)])
    q = quat.exp(turns.T + np.radians(0.2) * rng.normal(size=(400, 3)))[:, None]
    kinds = {rule: find_kinds(q, KindOptions(rule)).kinds[0] for rule in ("noise", "variance95")}
    assert kinds == {"noise": "universal", "variance95": "hinge"}
    assert find_kinds(q, KindOptions("absolute", eigenvalue=1e-4)).kinds == ("universal",)
    assert find_kinds(q, KindOptions("absolute", eigenvalue=1e-2)).kinds == ("hinge",)
    assert find_kinds(q, KindOptions(minimum=5.0)).kinds == ("hinge",)
    with pytest.raises(BadValue, match="threshold must be one of"):
        KindOptions("loud")


def cone_of(q) -> Cone:
    mean = rotations.frechet_mean(q)
    cones, _ = find_cones(q[:, None], mean[None], Z[None], one_group(len(q)), RangeOptions())
    return cones[0]


def test_a_cone_comes_back(rng):
    q, _ = ball_samples(rng)
    cone = cone_of(q)
    np.testing.assert_allclose(np.degrees(cone.radii), (40, 25), atol=2.5)
    np.testing.assert_allclose(np.degrees(np.ptp(cone.twist)), 55, atol=2.0)
    joint = Joint("ball", limits=Limits(cone=cone))
    assert np.degrees(excess(q, joint)).max() < 0.02
    assert np.degrees(excess(q, joint, "ellipse")).max() < 0.02


def draw_from_cone(rng, cone: Cone, n: int):
    box = rng.uniform(cone.polygon.min(axis=0), cone.polygon.max(axis=0), size=(20 * n, 2))
    swing = box[inside_polygon(box, cone.polygon)][:n]
    twist = rng.uniform(*cone.twist, size=len(swing))
    return quat.multiply(cone.centre, rotations.join(swing, twist, cone.axis, cone.across))


def share_inside(drawn, q):
    """Share of poses within 5° of the convex hull of the sampled rotation vectors."""
    mean = rotations.frechet_mean(q)
    logs, drawn = (quat.log(quat.between(mean, each)) for each in (q, drawn))
    directions = quat.normalise(np.random.default_rng(0).normal(size=(400, 3)))
    reach = (logs @ directions.T).max(axis=0) + np.radians(5.0)
    return np.mean(np.all(drawn @ directions.T <= reach, axis=1))


def test_poses_from_the_cone_were_possible(rng):
    """Drawn at random from our cone 95 % lie within 5° of what was sampled; from the box few."""
    shares = []
    for _ in range(8):
        q, _ = ball_samples(rng, 500, rng.uniform(10, 45, size=2), (-rng.uniform(5, 30), 20.0))
        shares.append(share_inside(draw_from_cone(rng, cone_of(q), 500), q))
    assert min(shares) >= 0.95
    small = quat.exp(np.radians(15.0) * rng.uniform(-1, 1, size=(500, 3)))
    arcs = [
        find_arc(angle, one_group(500), RangeOptions()) for angle in euler.zyz_from_quat(small).T
    ]
    box = euler.zyz_to_quat(np.stack([rng.uniform(a.low, a.high, 500) for a in arcs], axis=-1))
    assert share_inside(draw_from_cone(rng, cone_of(small), 500), small) >= 0.95
    assert share_inside(box, small) < 0.3  # 13 % by the simulation of docs/methods.md E2.5


def test_corners_that_coincide_throw_nobody_out():
    corners = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-16], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    closed = np.append(corners, corners[:1], axis=0)[None]
    for x, y in np.random.default_rng(0).uniform(-0.9, 0.9, size=(100, 2)):
        assert nearest_in_polygon(x, y, closed, 0, len(corners)) == (x, y)


def test_polygons_are_convex_and_touch(rng):
    points = rng.normal(size=(50, 2)) * (3, 1)
    angles = 2 * np.pi * np.arange(16) / 16
    reach = (points @ np.stack([np.cos(angles), np.sin(angles)])).max(axis=0)
    polygon = close_polygons(reach[None], NARROWEST_RADIUS)[0]
    assert inside_polygon(points, polygon).all()
    outside = rng.normal(size=(200, 2)) * 6
    closed = np.append(polygon, polygon[:1], axis=0)[None]
    near = np.array([nearest_in_polygon(x, y, closed, 0, len(polygon)) for x, y in outside])
    assert inside_polygon(near + 1e-9 * (polygon.mean(axis=0) - near), polygon).all()
    moved = ~inside_polygon(outside, polygon)
    candidates = (
        polygon[:, None]
        + np.linspace(0, 1, 200)[:, None] * (np.roll(polygon, -1, axis=0) - polygon)[:, None]
    )
    distance = np.linalg.norm(outside[:, None] - candidates.reshape(-1, 2), axis=-1).min(axis=1)
    found = np.linalg.norm(outside - near, axis=-1)
    assert np.all(found[moved] <= distance[moved] + 1e-9) and not found[~moved].any()


@pytest.mark.parametrize("shape", ["auto", "cone", "ellipse", "zyz"])
def test_clamping_lands_inside_and_leaves_the_inside_alone(rng, shape):
    q, _ = ball_samples(rng, 400)
    joint = limits(motion_of(q), options=LimitOptions(zyz=True, samples=400)).bodies[1].joint
    assert joint.kind == "ball"
    assert np.degrees(excess(q, joint, shape)).max() < 0.02
    anywhere = quat.normalise(rng.normal(size=(300, 4)))
    held = clamp(anywhere, joint, shape)
    assert np.degrees(excess(held, joint, shape)).max() < 0.1
    assert np.degrees(excess(anywhere, joint, shape)).max() > 20


def test_a_quantile_and_a_margin(rng):
    angles = np.concatenate([np.linspace(0, 1, 98), [-0.9, 1.8]])
    groups = one_group(100)
    whole, most = (find_arc(angles, groups, RangeOptions(q)) for q in (1.0, 0.95))
    assert (whole.low, whole.high) == pytest.approx((-0.9, 1.8))
    assert most.low >= 0.0 and most.high <= 1.0
    wider = find_arc(angles, groups, RangeOptions(1.0, margin=10.0))
    assert wider.high - whole.high == pytest.approx(np.radians(10))


def test_motions_of_different_rigs_are_told_apart():
    turning = quat.exp(np.linspace(0.0, 1.0, 50)[:, None] * X)
    with pytest.raises(BadValue, match="different skeletons: one has a body 'bone_1'"):
        limits([motion_of(turning, turning), motion_of(turning)])


def test_two_motions_are_general_or_specific():
    one, two = (quat.from_axis_angle(X, np.linspace(*ends, 200)) for ends in ((0, 1.0), (0.4, 2.0)))
    for combine, ends in (("general", (0.0, 2.0)), ("specific", (0.4, 1.0))):
        options = LimitOptions(ranges=RangeOptions(combine=combine))
        joint = limits([motion_of(one), motion_of(two)], options=options).bodies[1].joint
        angle = np.sort(np.sign(joint.axes[0] @ X) * np.array(joint.limits.hinge))
        np.testing.assert_allclose(angle, ends, atol=1e-6)


def test_excluded_frames_do_not_count():
    angle = np.linspace(0, 1, 200)
    angle[120:130] = 2.5
    motion = motion_of(quat.from_axis_angle(X, angle))
    joint = limits(motion, exclude=[(119, 130)]).bodies[1].joint
    np.testing.assert_allclose(np.ptp(joint.limits.hinge), 1.0, atol=1e-6)
    with pytest.raises(BadValue, match="FIRST:LAST"):
        limits(motion, exclude=[(30, 20)])


def test_resampling_by_slerp(rng):
    q = quat.from_axis_angle(X, np.linspace(0, 2, 11))
    dense = resample(q, 101)
    np.testing.assert_allclose(quat.log(dense)[:, 0], np.linspace(0, 2, 101), atol=1e-12)
    q[4] = np.nan
    assert np.isnan(resample(q, 21)[7:10]).all() and np.isfinite(resample(q, 21)[10:]).all()


def test_a_feasible_bind_pose_stays(rng):
    joint = limits(motion_of(quat.from_axis_angle(X, wave(rng, 100, -0.5, 1.0)))).bodies[1].joint
    assert joint.limits.bind.feasible and joint.limits.bind.choice == "bind pose"


@pytest.mark.parametrize(
    ("choice", "angle"), [("mid-range", 1.0), ("circular mean", 0.9), ("nearest sample", 0.5)]
)
def test_an_infeasible_bind_pose_is_replaced(choice, angle):
    angles = np.concatenate([np.linspace(0.5, 1.0, 150), np.linspace(1.0, 1.5, 75)])
    motion = motion_of(quat.from_axis_angle(X, angles))
    options = LimitOptions(bind=choice, samples=225)
    bind = limits(motion, options=options).bodies[1].joint.limits.bind
    assert (bind.feasible, bind.choice) == (False, choice)
    assert bind.excess == pytest.approx(0.5)
    assert quat.angle(bind.rotation) == pytest.approx(angle, abs=0.02)


def test_a_mean_vector_that_vanishes_is_said():
    """A hinge that goes all the way round has no middle; two opposite poses have none either."""
    angles = np.concatenate([np.full(50, 0.5 * np.pi), np.full(50, -0.5 * np.pi)])
    joint = Joint("hinge", axes=[X], limits=Limits(hinge=(0.5 * np.pi, 1.5 * np.pi)))
    turned = quat.from_axis_angle(X, angles)[:, None]
    bind = check_binds([joint], turned, quat.identity((1,)), "circular mean")[0]
    assert bind.choice == GIVEN_UP == "unlimited or not enough motion"


def test_missing_frames_and_too_few_are_told_apart(rng):
    q = quat.from_axis_angle(X, wave(rng, 100, 0.0, 1.0))
    gappy = q.copy()
    gappy[30:40] = np.nan
    found = limits(motion_of(gappy)).bodies[1].joint
    assert found.kind == "hinge"
    with pytest.raises(NotEnoughData, match="1 frame with a pose"):
        limits(motion_of(q[:1]))
    with pytest.raises(NotEnoughData, match="at least one motion"):
        limits([])


def test_what_was_found_survives_files(tmp_path, rng):
    q, _ = ball_samples(rng, 200)
    found = limits(motion_of(q, quat.from_axis_angle(X, wave(rng, 200, 0.3, 1.0))),
                   options=LimitOptions(zyz=True))  # fmt: skip
    for name in ("skeleton.json", "rig.osteon", "rig.glb"):
        write(found, tmp_path / name)
        again = read(tmp_path / name).skeleton()
        for one, other in zip(found.bodies, again.bodies, strict=True):
            assert_same(one.joint.limits, other.joint.limits)
            assert_rotations_close(one.joint.rest, other.joint.rest)


def test_the_command_writes_kinds_limits_and_evidence(command, tmp_path, rng):
    tilt = quat.normalise(rng.normal(size=4))
    path = tmp_path / "swing.bvh"
    write(motion_of(quat.multiply(quat.from_axis_angle(X, wave(rng, 200, 0, 1)), tilt)), path)
    code, out, _ = command("limits", path, "-o", tmp_path / "rig")
    assert code == 0 and "hinge" in out
    joint = json.loads((tmp_path / "rig" / "skeleton.json").read_text())["bodies"][1]["joint"]
    assert joint["type"] == "hinge" and len(joint["axes"]) == 1
    assert joint["limits"]["evidence"]["samples"] > 100
    facts = json.loads((tmp_path / "rig" / "summary.json").read_text())["joints"]["bone_0"]
    assert facts["type"] == "hinge" and not facts["bind"]["feasible"]
    np.testing.assert_allclose(np.ptp(facts["hinge_deg"]), np.degrees(1.0), atol=0.5)


def test_limits_changed_by_hand_are_taken(command, tmp_path, rng):
    path, rig = tmp_path / "swing.bvh", tmp_path / "rig"
    q, _ = ball_samples(rng, 200)
    write(motion_of(quat.from_axis_angle(X, wave(rng, 200, 0.2, 1)), q), path)
    assert command("limits", path, "-o", rig)[0] == 0
    first = read(rig / "skeleton.json").skeleton()
    again = apply_edits(first, read_edits(rig / "limits.toml"))
    for body in ("bone_0", "bone_1"):  # two digits of degrees
        one, other = (s.body(body).joint.limits.cone for s in (first, again))
        np.testing.assert_allclose(one.radii, other.radii, atol=1e-4)
    edits = tmp_path / "edits.toml"
    edits.write_text("[bone_0]\nhinge = [-10.0, 90.0]\n[bone_1]\nswing = [30, 20]\n")
    assert command("limits", path, "-o", rig, "--edits", edits)[0] == 0
    edited = read(rig / "skeleton.json").skeleton()
    np.testing.assert_allclose(edited.body("bone_0").joint.limits.hinge, np.radians([-10, 90]))
    np.testing.assert_allclose(edited.body("bone_1").joint.limits.cone.radii, np.radians([30, 20]))
    assert edited.body("bone_0").joint.limits.bind.feasible
    for text, problem in (
        ("[bone_0]\nhinge = [9, 1]\n", "must go up"),
        ("[bone_9]\n", "no body named"),
        ("[bone_0]\nhing = [1, 2]\n", "hing"),
        ("[bone_0", "edits.toml"),
    ):
        edits.write_text(text)
        code, _, err = command("limits", path, "-o", rig, "--edits", edits)
        assert code == 1 and problem in err and err.count("\n") == 1


def test_solving_within_learned_limits(command, tmp_path):
    """A walk teaches its limits; a walk with livelier skin is then solved within them."""
    for name, skin in (("calm", 0.0), ("soft", 1.0)):
        walk = synth.perform(synth.human(), synth.walk(seconds=1.5), seed=2, noise=5e-4, skin=skin)
        write(walk.recording, tmp_path / f"{name}.c3d")
    assert command("solve", tmp_path / "calm.c3d", "-o", tmp_path / "calm")[0] == 0
    learned = tmp_path / "rig"
    assert command("limits", tmp_path / "calm" / "motion.glb", "-o", learned)[0] == 0
    worst = {}
    for option in ("skeleton", "limits"):
        made = tmp_path / option
        arguments = (f"--{option}", learned / "skeleton.json", "-o", made)
        assert command("solve", tmp_path / "soft.c3d", *arguments)[0] == 0
        motion = read(made / "motion.glb").motion()
        pairs = zip(
            motion.skeleton.bodies[1:], np.swapaxes(motion.rotations, 0, 1)[1:], strict=True
        )
        worst[option] = max(np.degrees(excess(q, body.joint)).max() for body, q in pairs)
    assert worst["limits"] < 0.1 and worst["skeleton"] > 1.0
    code, _, err = command(
        "solve", tmp_path / "soft.c3d", *arguments, "--skeleton", learned / "skeleton.json"
    )
    assert code == 2 and "leave out --skeleton" in err


def test_the_command_refuses_kindly(command, tmp_path, rng):
    path = tmp_path / "still.bvh"
    write(motion_of(quat.identity((1,))), path)
    markers = tmp_path / "markers.csv"
    write(some_markers(rng), markers)
    for file, problem in ((path, "1 frame with a pose"), (markers, "no moving skeleton")):
        code, out, err = command("limits", file, "-o", tmp_path / "rig")
        assert (code, out) == (1, "") and problem in err and err.count("\n") == 1
    assert not (tmp_path / "rig").exists()
    assert command("limits", path, "-o", tmp_path / "rig", "--exclude", "a:b")[0] == 2


@pytest.mark.parametrize(
    "name", ["cmu-01/01_01.amc", "cmu-02/02_01.amc", "cmu-asfamc-variants/35_01.amc"]
)
def test_knees_and_elbows_are_hinges_hips_and_shoulders_balls(name):
    skeleton = limits(read(real(name)).motion())
    for side in "lr":
        for bone in ("tibia", "radius"):
            assert skeleton.body(side + bone).joint.kind == "hinge"
        for bone in ("femur", "humerus"):
            assert skeleton.body(side + bone).joint.kind == "ball"


def test_every_error_is_ours():
    for make in (
        lambda: RangeOptions(quantile=0.0),
        lambda: RangeOptions(combine="both"),
        lambda: RangeOptions(margin=400.0),
        lambda: LimitOptions(bind="any"),
        lambda: clamp(quat.identity(), Joint(), "box"),
    ):
        with pytest.raises(OsteonError):
            make()
