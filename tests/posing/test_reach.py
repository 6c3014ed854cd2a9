"""Inverse kinematics within limits and without: targets met, limits kept, gradients exact."""

from dataclasses import replace

import numpy as np
import pytest

from conftest import assert_rotations_close, real
from limit_joints import ball_samples, motion_of
from oracles.angle_oracles import excess
from osteon import synth
from osteon.errors import BadValue, ShapeError, UnknownName
from osteon.formats import read
from osteon.joint_limits import KindOptions, hold_within, make_bounds
from osteon.joint_limits.find_limits import LimitOptions, limits
from osteon.joint_limits.within_limits import clamp
from osteon.maths import quat
from osteon.posing._kernels import lanes
from osteon.posing._kernels.limit_terms import pull_inside
from osteon.posing.inverse_kinematics import reach
from osteon.posing.rig import Rig, build_tree
from osteon.posing.solve_poses import solve
from osteon.values import Body, Joint, Marker, Motion, Recording, Skeleton

X, Y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])


def arm(rng) -> Skeleton:
    """Shoulder ball, elbow hinge with a rest of its own, wrist universal; limits from a motion."""
    n = 300
    shoulder, _ = ball_samples(rng, n, (50.0, 35.0), (-30.0, 30.0))
    rest = quat.exp(np.array([0.2, -0.4, 0.3]))
    elbow = quat.multiply(quat.from_axis_angle(Y, rng.uniform(0.2, 2.0, n)), rest)
    wrist = quat.multiply(
        quat.from_axis_angle(X, rng.uniform(-0.8, 0.8, n)),
        quat.from_axis_angle(Y, rng.uniform(-0.4, 0.6, n)),
    )
    bodies = [Body("trunk", None, Joint("free"))]
    for name, length in (("upper", 0.3), ("fore", 0.25), ("hand", 0.1)):
        above = bodies[-1]
        place = (0, 0, 0.2) if above.parent is None else above.tip
        bodies.append(Body(name, above.name, Joint(in_parent=place), tip=(0, 0, length)))
    bodies[-1] = replace(bodies[-1], markers=(Marker("KNUCKLE", (0.02, 0.0, 0.08)),))
    q = np.stack([np.broadcast_to(quat.identity(), (n, 4)), shoulder, elbow, wrist], axis=1)
    motion = Motion(Skeleton(tuple(bodies)), q, np.zeros((n, 3)), 60.0)
    return limits(motion, options=LimitOptions(zyz=True, samples=n))


def reachable(skeleton: Skeleton, rng, n=40) -> Motion:
    """Poses inside the limits: between the middle and poses that were sampled."""
    q = np.zeros((n, len(skeleton.bodies), 4))
    q[..., 0] = 1.0
    for i, body in enumerate(skeleton.bodies[1:], start=1):
        cone, joint = body.joint.limits.cone, body.joint
        if joint.kind == "hinge":
            angle = rng.uniform(*joint.limits.hinge, size=n)
            q[:, i] = quat.multiply(quat.from_axis_angle(joint.axes[0], angle), joint.rest)
        elif joint.kind == "universal":
            first, second = joint.axes
            q[:, i] = quat.multiply(
                quat.from_axis_angle(first, rng.uniform(-0.3, 0.3, n)),
                quat.multiply(quat.from_axis_angle(second, rng.uniform(-0.3, 0.3, n)), joint.rest),
            )
        else:
            swing = rng.uniform(-0.5, 0.5, size=(n, 1)) * cone.radii
            turn = quat.exp(np.einsum("ni,ij->nj", swing, cone.across))
            q[:, i] = quat.multiply(cone.centre, turn)
    return Motion(skeleton, q, np.zeros((n, 3)), 60.0)


def worst_excess(motion: Motion, shape="auto") -> float:
    """Degrees."""
    pairs = zip(np.swapaxes(motion.rotations, 0, 1)[1:], motion.skeleton.bodies[1:], strict=True)
    return max(float(np.degrees(excess(q, body.joint, shape)).max()) for q, body in pairs)


def test_kinds_of_the_arm(rng):
    kinds = [body.joint.kind for body in arm(rng).bodies]
    assert kinds == ["free", "ball", "hinge", "universal"]


def test_targets_within_reach_are_met_within_limits(rng):
    skeleton = arm(rng)
    truth = reachable(skeleton, rng)
    assert worst_excess(truth, "cone") < 1e-3
    turned, joints = truth.world()
    hand = skeleton.index("hand")
    tip = joints[:, hand] + quat.rotate(turned[:, hand], np.array([0, 0, 0.1]))
    targets = {"hand": joints[:, hand], "hand tip": tip}
    result = reach(skeleton, targets, limits="cone", root="held")
    assert worst_excess(result.motion, "cone") < 0.1
    assert np.median(result.error) < 0.002
    np.testing.assert_allclose(result.motion.root, 0.0, atol=1e-9)


@pytest.mark.parametrize("shape", ["auto", "cone", "ellipse", "zyz"])
def test_targets_out_of_reach_leave_the_limits_kept(rng, shape):
    skeleton = arm(rng)
    targets = {"hand tip": rng.normal(size=(200, 3))}
    result = reach(skeleton, targets, limits=shape, root="held")
    assert worst_excess(result.motion, shape) < 0.1
    free = reach(skeleton, targets, limits="none", root="held")
    assert worst_excess(free.motion, shape) > 20
    assert free.error.mean() < result.error.mean()


def test_hinges_and_universals_stay_on_their_axes(rng):
    skeleton = arm(rng)
    result = reach(skeleton, {"KNUCKLE": rng.normal(size=(50, 3))}, limits="none", root="held")
    elbow = skeleton.body("fore").joint
    turn = quat.multiply(result.motion.rotations[:, 2], quat.inverse(elbow.rest))
    np.testing.assert_allclose(np.cross(turn[:, 1:], elbow.axes[0]), 0.0, atol=1e-9)


def test_poses_change_smoothly_as_a_target_crosses_the_boundary(rng):
    """No jump where a limit becomes active: poses move in proportion to the target."""
    skeleton = arm(rng)
    start = reachable(skeleton, rng, 1)
    here = start.world()[1][0, 3]
    way = np.linspace(0.0, 1.0, 400)[:, None] * np.array([0.25, 0.1, -0.15]) + here
    fixed = replace(
        start, rotations=np.repeat(start.rotations, 400, axis=0), root=np.zeros((400, 3))
    )
    result = reach(skeleton, {"hand": way}, start=fixed, limits="cone", root="held")
    steps = np.degrees(
        quat.angle(quat.between(result.motion.rotations[1:], result.motion.rotations[:-1]))
    )
    assert worst_excess(result.motion, "cone") < 0.1
    assert steps.max() < 3.0  # the target moves 0.8 mm a step


def test_missing_targets_and_free_roots(rng):
    skeleton = arm(rng)
    target = np.array([[1.0, 2.0, 3.0], [np.nan] * 3])
    result = reach(skeleton, {"trunk": target})
    assert result.error[0, 0] < 1e-3 and np.isnan(result.error[1, 0])
    with pytest.raises(UnknownName, match="did you mean 'hand'"):
        reach(skeleton, {"hannd": target})
    with pytest.raises(ShapeError, match="must have shape"):
        reach(skeleton, {"hand": np.zeros(2)})
    with pytest.raises(ShapeError, match="same number of frames"):
        reach(skeleton, {"hand": np.zeros((2, 3)), "fore": np.zeros((3, 3))})
    with pytest.raises(BadValue, match="root must be"):
        reach(skeleton, {"hand": target}, root="loose")
    with pytest.raises(BadValue, match="at least one target"):
        reach(skeleton, {})


@pytest.mark.parametrize("shape", ["auto", "cone", "ellipse", "zyz"])
def test_gradients_of_the_excess_are_exact(rng, shape):
    """Each excess against finite differences of turns in the parent's frame."""
    q, _ = ball_samples(rng, 300)
    hinge = quat.from_axis_angle(quat.normalise(np.ones(3)), rng.uniform(0, 1, 300))
    skeleton = limits(motion_of(q, hinge), options=LimitOptions(zyz=True, samples=300))
    tree = build_tree((-1, 0, 0), ("ball",) * 3, [np.zeros((0, 3))] * 3, [])
    rig = Rig(tree, np.zeros((3, 3)), np.zeros((0, 3)))
    model = lanes.make_model(rig, np.zeros(3), make_bounds(skeleton, shape))
    poses = quat.normalise(rng.normal(size=(3, 64, 4)))
    poses[2] = quat.from_axis_angle(skeleton.bodies[2].joint.axes[0], rng.uniform(-3, 3, 64))

    def excesses(local):
        memory = lanes.make_lanes(model)
        memory.rotations[:] = np.moveaxis(local, -1, 1).ravel()
        pull_inside(model, memory)
        return memory.bounds.reshape(-1, 3, 4, 64).copy()

    middle, step = excesses(poses), 1e-6
    for axis in range(3):
        turn = quat.exp(step * np.eye(3)[axis])
        ahead, behind = (excesses(quat.multiply(t, poses)) for t in (turn, quat.inverse(turn)))
        slope = (ahead[:, :, 0] - behind[:, :, 0]) / (2 * step)
        same = (middle[:, :, 0] != 0) & (np.abs(slope) < 50)  # not across a seam
        if axis == 0:
            assert same.sum() > 30
        ball_only = slice(0, 1)  # a hinge's angle moves by turns off its axis only to second order
        np.testing.assert_allclose(
            (slope * same)[ball_only], (middle[:, :, 1 + axis] * same)[ball_only], atol=2e-4
        )


def test_learned_limits_bring_poses_nearer_to_the_recorded(rng):
    """[001] Fig. 8: end effectors of the second half, limits of the first."""
    motion = read(real("cmu-02/02_01.amc")).motion()
    half = motion.n_frames // 2
    first = replace(motion, rotations=motion.rotations[:half], root=motion.root[:half])
    second = replace(motion, rotations=motion.rotations[half::4], root=motion.root[half::4])
    known = limits(first)
    ends = ("lhand", "rhand", "lfoot", "rfoot", "head")
    targets = {name: second.world()[1][:, known.index(name)] for name in ends}
    zero = np.array(np.broadcast_to(quat.identity(), second.rotations.shape))
    zero[:, 0] = second.rotations[:, 0]
    start = replace(second, rotations=zero)
    errors = {}
    for shape in ("none", "cone", "auto"):
        found = reach(known, targets, start=start, limits=shape, root="held").motion
        between = quat.between(found.rotations[:, 1:], second.rotations[:, 1:])
        errors[shape] = np.degrees(quat.angle(between)).mean()
        if shape != "none":
            assert worst_excess(found, shape) < 0.1
    assert errors["auto"] < errors["cone"] < errors["none"]


def test_a_recording_is_solved_within_limits(rng):
    """Markers show poses far outside what the joints were seen to do."""
    skeleton = arm(rng)
    places = 0.05 * np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, 0.5]])
    bodies = [
        replace(b, markers=tuple(Marker(f"{b.name}{i}", p) for i, p in enumerate(places)))
        for b in skeleton.bodies
    ]
    skeleton = replace(skeleton, bodies=tuple(bodies))
    turned, joints = reachable(skeleton, rng, 30).world()
    beyond = quat.multiply(turned, quat.exp(rng.normal(scale=0.4, size=(30, 4, 3))))
    positions = (joints[:, :, None] + quat.rotate(beyond[:, :, None], places)).reshape(30, 16, 3)
    names = [marker.name for body in skeleton.bodies for marker in body.markers]
    recording = Recording(positions, tuple(names), 60.0)
    assert worst_excess(solve(recording, skeleton).motion) > 5
    assert worst_excess(solve(recording, skeleton, limits="auto").motion) < 0.1


def test_limits_found_in_a_take_contain_it():
    """A knee that skin twists by 5° as it bends is a hinge; its markers are where they are.

    Held to the hinge, markers 5 cm from the axis are off by 50 mm · 5° rms / √2 ≈ 3 mm.
    """
    time = np.linspace(0.0, 6.0, 300)
    bend = 0.7 + 0.5 * np.sin(2.0 * time)
    skin = quat.from_axis_angle(np.array([0.0, 0.0, 1.0]), np.radians(7.0) * np.cos(5.0 * time))
    knee = quat.multiply(quat.from_axis_angle(X, bend), skin)
    places = 0.05 * np.array([[1.0, 1, -2], [-1, 1, -4], [1, -1, -6]])
    names = [
        ("thigh", None, Joint("free")),
        ("shin", "thigh", Joint(in_parent=np.array([0.0, 0.0, -0.4]))),
    ]
    bodies = [
        Body(
            name,
            parent,
            joint,
            markers=tuple(Marker(f"{name}{i}", p) for i, p in enumerate(places)),
        )
        for name, parent, joint in names
    ]
    still = np.broadcast_to(quat.identity(), knee.shape)
    poses = np.stack([still, knee], axis=1)
    motion = Motion(Skeleton(tuple(bodies)), poses, np.zeros((300, 3)), 50.0)
    known = limits(motion, options=LimitOptions(kinds=KindOptions(minimum=8.0)))
    assert known.body("shin").joint.kind == "hinge"
    labels, carriers, at = motion.skeleton.marker_places()
    recording = Recording(motion.points(carriers, at), labels, 50.0)
    assert solve(recording, known).rms > 2e-3
    assert solve(recording, known, limits="auto").rms < 1e-4


def test_the_compiled_clamp_is_the_plain_one(rng):
    """Hinges and cones of a walk, poses far outside, inside and near the edges."""
    walk = synth.perform(synth.human(), synth.walk(seconds=2), seed=3).truth.motion
    skeleton = limits(walk)
    size = rng.choice([0.0, 0.2, 2.0], size=(walk.n_frames, 1, 1))
    turns = size * rng.normal(size=(*walk.rotations.shape[:2], 3))
    poses = quat.multiply(walk.rotations, quat.exp(turns))
    held = hold_within(skeleton, poses, "cone")
    for index, body in enumerate(skeleton.bodies):
        if body.parent is not None:
            plain = clamp(poses[:, index], body.joint, "cone")
            assert_rotations_close(held[:, index], plain, 1e-9)


def test_a_zyz_box_is_reached_from_far_off(rng):
    """By way of the cones: straight from the bind pose, poses stick at the walls of the boxes."""
    motion = read(real("cmu-02/02_01.amc")).motion()
    skeleton = limits(motion, options=LimitOptions(zyz=True))
    some = slice(0, None, 20)
    ends = ("lhand", "rhand", "lfoot", "rfoot", "head")
    targets = {name: motion.world()[1][some, skeleton.index(name)] for name in ends}
    poses = np.array(np.broadcast_to(quat.identity(), motion.rotations[some].shape))
    poses[:, 0] = motion.rotations[some, 0]
    start = replace(motion, rotations=poses, root=motion.root[some], held=())
    found = reach(skeleton, targets, start=start, limits="zyz", root="held")
    assert worst_excess(found.motion, "zyz") < 0.1
    # 3 to 8 mm, as the boxes differ a little; 56 mm straight from the bind pose
    assert 1e3 * found.error.mean() < 20.0
